import gzip
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cmab_gym.cli import main
from cmab_gym.evaluation.results import AgentRun, Results
from cmab_gym.paper.panels import AGENTS, PANELS, Panel
from cmab_gym.paper.reproduce import (
    Reproduced,
    comparison,
    on_ratings,
    reproduce,
    reproduce_panel,
)

BY_NAME = {panel.name: panel for panel in PANELS}
OWN = Panel(1, "a", "mine", "CMAB-Tabular-v0", {"preset": "appendix"}, settings="default")


def reproduced(panel, ours, competitive, measured=(), ranges=None, checkpoints=(4800, 5000)):
    runs = tuple(
        AgentRun(agent, pd.DataFrame([[ours[agent]] * len(checkpoints)]).to_numpy(), None, 1.0)
        for agent in AGENTS
    )
    results = Results(checkpoints, runs, {})
    return Reproduced(panel, results, competitive, measured or (competitive,), ranges or {})


def verdicts(*arguments, **keywords):
    rows = comparison([reproduced(*arguments, **keywords)])
    return dict(zip(rows["what"], rows["verdict"], strict=True))


def test_verdicts_where_nothing_is_random():
    movies = BY_NAME["fig11a"]  # 1893, 1391, 222, 174; C = 6
    ours = {"ucb": 1893 * 1.06, "ts": 1391 * 1.08, "c-ucb": 222 * 0.8, "c-ts": 174 * 1.3}
    found = verdicts(movies, ours, 6)
    assert found == {
        "ucb": "agrees",
        "ts": "differs",
        "c-ucb": "agrees",
        "c-ts": "differs",
        "C": "agrees",
    }
    assert verdicts(movies, ours, 8, measured=(8, 6, 9))["C"] == "in range"
    assert verdicts(movies, ours, 8, measured=(8, 9))["C"] == "differs"


def test_verdicts_over_draws_and_stand_ins():
    genre = BY_NAME["fig10a"]  # 1817, 879, 262, 211; C = 4
    ours = {"ucb": 1300, "ts": 600, "c-ucb": 500, "c-ts": 400}
    ranges = {"ucb": (1300, 1600), "ts": (500, 600), "c-ucb": (300, 500), "c-ts": (100, 400)}
    found = verdicts(genre, ours, 7, ranges={**ranges, "C": (3, 7)})
    assert found["ucb"] == "in range"  # 1817 <= 1.2 * 1600
    assert found["ts"] == "differs"
    assert found["c-ucb"] == "in range"  # 262 >= 0.8 * 300
    assert found["C"] == "in range"
    poetry = BY_NAME["fig12a"]
    assert set(verdicts(poetry, ours, 3).values()) <= {"agrees", "other data"}


def test_what_was_not_published_or_not_played_long_enough_is_not_compared():
    ours = dict.fromkeys(AGENTS, 10.0)
    assert verdicts(OWN, ours, 2)["ucb"] == "not published"
    short = verdicts(BY_NAME["fig11a"], ours, 6, checkpoints=(100, 200))
    assert short["ucb"] == "not compared"
    assert short["C"] == "agrees"


def test_a_folder_with_everything(tmp_path):
    panels = [OWN, replace(OWN, letter="b"), BY_NAME["fig5a"]]
    counted = []
    table = reproduce(panels, tmp_path / "out", 60, 3, progress=counted.append)
    assert counted == [1, 1, 1]
    pictures = {"fig1.png", "fig1.svg", "fig5.png", "fig5.svg"}
    tables = {"fig1a.parquet", "fig1b.parquet", "fig5a.parquet", "comparison.csv", "report.md"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == pictures | tables
    assert set(pd.read_parquet(tmp_path / "out" / "fig5a.parquet")["agent"]) == set(AGENTS)
    written = pd.read_csv(tmp_path / "out" / "comparison.csv")
    assert written["ours"].tolist() == pytest.approx(table["ours"].tolist())
    report = (tmp_path / "out" / "report.md").read_text()
    for text in (
        "## Figure 1",
        "### (b) mine",
        "![Figure 5](fig5.png)",
        "not published",
        "| C | 1",
    ):
        assert text in report


def test_the_same_seed_gives_the_same_numbers():
    first, again = (reproduce_panel(OWN, 60, 3, seed=4) for _ in range(2))
    assert comparison([first]).equals(comparison([again]))


def test_panels_know_the_lower_bound_where_there_is_one():
    known = reproduce_panel(BY_NAME["fig5b"], 40, 2, seed=0)
    assert known.lower_bound.constant == pytest.approx(4.966, abs=5e-4)
    assert reproduce_panel(BY_NAME["fig10a"], 40, 2, seed=0).lower_bound is None


def test_workers_change_no_number(tmp_path):
    panels = [replace(OWN, draws=("preset", ("appendix", "table1-a"))), BY_NAME["fig5a"]]
    serial = reproduce(panels, tmp_path / "serial", 5000, 2)
    parallel = reproduce(panels, tmp_path / "parallel", 5000, 2, n_jobs=2)
    assert serial.equals(parallel)
    names = sorted(path.name for path in (tmp_path / "serial").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "parallel").iterdir())


def test_the_range_is_that_over_the_draws_the_panels_own_among_them():
    panel = replace(OWN, draws=("preset", ("appendix", "table1-a")))
    own = reproduce_panel(OWN, 4800, 3, seed=1)
    other = reproduce_panel(replace(OWN, env_kwargs={"preset": "table1-a"}), 4800, 3, seed=1)
    both = reproduce_panel(panel, 4800, 3, seed=1)
    for agent in AGENTS:
        means = [each.results.regret(agent)[:, -1].mean() for each in (own, other)]
        assert both.ranges[agent] == (min(means), max(means))
    assert both.ranges["C"] == (1, 2)
    assert own.ranges == {}


def test_real_ratings_take_the_place_of_a_stand_in(tmp_path):
    """A file in the layout of goodreads_interactions_poetry.json.gz, made up for this test."""
    rng = np.random.default_rng(0)
    path = tmp_path / "goodreads_interactions_poetry.json.gz"
    with gzip.open(path, "wt") as file:
        for user in range(80):
            for book in rng.permutation(30)[:20]:
                line = {
                    "user_id": f"u{user}",
                    "book_id": f"b{book}",
                    "rating": int(rng.integers(6)),
                }
                file.write(json.dumps(line) + "\n")
    poetry, movies = BY_NAME["fig12a"], BY_NAME["fig11a"]
    real, same = on_ratings([poetry, movies], path)
    assert same is movies
    assert not real.stand_in
    played = reproduce_panel(real, 50, 2, seed=0)
    assert "UCSD" in played.results.manifest["provenance"]["source"]
    assert len(played.results.manifest["means"]) == 25
    arguments = ["reproduce", "12a", "--rounds", "30", "--trials", "2", "--jobs", "1"]
    out = tmp_path / "out"
    assert main([*arguments, "--data", str(path), "--out", str(out)]) == 0
    report = (out / "report.md").read_text()
    assert "stands in" not in report
    assert main([*arguments, "--out", str(out)]) == 0
    assert "stands in" in (out / "report.md").read_text()
    assert main([*arguments, "--data", str(tmp_path / "none"), "--out", str(out)]) == 2


def test_no_panels():
    with pytest.raises(ValueError, match="no panels given"):
        reproduce([], "out")


def test_the_command(tmp_path, capsys):
    arguments = ["reproduce", "5", "fig11a", "--rounds", "40", "--trials", "2", "--jobs", "1"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert "3/3 panels" in err
    assert "not compared" in out
    assert (tmp_path / "out" / "fig11a.parquet").exists()
    assert main(["reproduce", "6", "--out", str(tmp_path / "none")]) == 2
    assert "no panel '6': expected figures or panels of 5a, 5b" in capsys.readouterr().err
