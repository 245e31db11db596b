import gzip
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from cmab_gym import evaluate, published
from cmab_gym.cli import main
from cmab_gym.paper.comparison import comparison
from cmab_gym.paper.panels import AGENTS, PANELS, Choice, Panel, on_ratings
from cmab_gym.paper.report import write_report
from cmab_gym.paper.reproduce import labelled, marks, panel_title, reproduce, run_panels

BY_NAME = {panel.name: panel for panel in PANELS}
OWN = Panel(1, "a", "mine", "CMAB-Tabular-v0", {"preset": "appendix"}, parameters="default")
PRESETS = Choice("preset", ("appendix", "table1-a"), "which table it is")


def reproduce_panel(panel, rounds, trials, seed):
    """Run one panel and its draws, and write nothing."""
    return next(run_panels([panel], rounds, trials, seed, workers=1))


def test_every_file_is_written(tmp_path):
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


def test_both_values_of_c_are_reported_where_bins_change_it(tmp_path):
    coarse = replace(OWN, env_id="CMAB-Latent-v0", env_kwargs={"preset": "two-arm-a", "bins": 10})
    outcome = reproduce_panel(coarse, 20, 2, seed=0)
    assert (outcome.competitive, outcome.without_bins) == (2, 1)
    write_report(tmp_path / "report.md", [outcome], comparison([outcome]))
    assert "without the table's bins it is 1." in (tmp_path / "report.md").read_text()
    assert reproduce_panel(BY_NAME["fig7a"], 20, 2, seed=0).without_bins is None


def test_the_same_seed_gives_the_same_numbers():
    first, again = (reproduce_panel(OWN, 60, 3, seed=4) for _ in range(2))
    assert comparison([first]).equals(comparison([again]))


def test_a_panel_has_a_lower_bound_where_one_can_be_computed():
    known = reproduce_panel(BY_NAME["fig5b"], 40, 2, seed=0)
    assert known.lower_bound.constant == pytest.approx(4.966, abs=5e-4)
    assert reproduce_panel(BY_NAME["fig10a"], 40, 2, seed=0).lower_bound is None


@pytest.mark.usefixtures("numpy_loops")
def test_workers_change_no_number(tmp_path):
    panels = [OWN, BY_NAME["fig5a"]]
    serial = reproduce(panels, tmp_path / "serial", 50, 2)
    parallel = reproduce(panels, tmp_path / "parallel", 50, 2, n_jobs=2)
    assert serial.equals(parallel)
    names = sorted(path.name for path in (tmp_path / "serial").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "parallel").iterdir())


def test_a_panel_runs_with_every_option_of_its_choice():
    own = reproduce_panel(OWN, 4800, 3, seed=1)
    other = reproduce_panel(replace(OWN, env_kwargs={"preset": "table1-a"}), 4800, 3, seed=1)
    both = reproduce_panel(replace(OWN, choices=(PRESETS,)), 4800, 3, seed=1)
    assert both.options == {"preset": {"appendix": own.values(), "table1-a": other.values()}}
    assert own.options == {}
    first = Choice("first_pulls", ("competitive", "all"), "which is first", of_agents=True)
    agents = OWN.with_option(first, "all").agents
    assert agents == {**OWN.agents, "c-ucb": "c-ucb(first_pulls='all')", "c-ts": agents["c-ts"]}
    table = comparison([both]).set_index("what")
    assert (table.low["C"], table.high["C"]) == (1, 2)


def test_agents_that_do_not_see_pseudo_rewards_run_once_for_all_panels():
    first, second = run_panels([BY_NAME["fig11a"], BY_NAME["fig11b"]], 60, 3, seed=5, workers=1)
    for agent in ("ucb", "ts"):
        assert first.results.regret(agent) is second.results.regret(agent)
    alone = evaluate(
        "CMAB-MovieLens-v0", published(*AGENTS), 60, 3, 5, env_kwargs={"task": "movie", "pad": 0.4}
    )
    for agent in AGENTS:
        assert_array_equal(second.results.regret(agent)[:, -1], alone.regret(agent)[:, -1])
    assert not (first.results.regret("c-ucb") == second.results.regret("c-ucb")).all()


def test_curves_show_their_parameters_and_the_published_values():
    movies = reproduce_panel(BY_NAME["fig11a"], 60, 2, seed=0)
    names = [run.label for run in labelled(movies).runs]
    assert names == ["ucb(B=5.0)", "ts(B=4.0, beta=1.0)", "c-ucb(B=5.0)", "c-ts(B=4.0, beta=1.0)"]
    assert marks(movies) is None  # they belong to round 4800
    long = replace(movies, results=replace(movies.results, checkpoints=(*range(59), 4800)))
    shown = marks(long)
    assert (shown.at, shown.name) == (4800, "published")
    assert shown.values == dict(zip(names, (1893, 1391, 222, 174), strict=True))
    stand_in = marks(replace(long, panel=BY_NAME["fig12a"]))
    assert stand_in.name == "published, other data"
    assert marks(replace(long, panel=BY_NAME["fig13a"])) is None  # nothing is published


def test_the_title_of_a_panel_says_what_differs():
    movies = reproduce_panel(BY_NAME["fig11a"], 20, 2, seed=0)
    assert panel_title(movies, comparison([movies])) == "(a) q = 0.1"
    wrong = replace(movies, competitive=50, measured=(50,))
    assert panel_title(wrong, comparison([wrong])) == "(a) q = 0.1\ndiffers: C"


def test_real_ratings_replace_a_stand_in(tmp_path):
    """Make up a file in the layout of goodreads_interactions_poetry.json.gz."""
    rng = np.random.default_rng(0)
    path = tmp_path / "goodreads_interactions_poetry.json.gz"
    with gzip.open(path, "wt") as file:
        for user in range(300):
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
    manifest = reproduce_panel(real, 50, 2, seed=0).results.manifest
    assert "UCSD" in manifest["provenance"]["source"]
    assert len(manifest["means"]) == 25
    arguments = ["reproduce", "12a", "--rounds", "30", "--trials", "2", "--jobs", "1"]
    out = tmp_path / "out"
    assert main([*arguments, "--data", str(path), "--out", str(out)]) == 0
    report = (out / "report.md").read_text()
    assert "stands in" not in report
    assert main([*arguments, "--out", str(out)]) == 0
    assert "stands in" in (out / "report.md").read_text()
    assert main([*arguments, "--data", str(tmp_path / "none"), "--out", str(out)]) == 2


def test_unexpected_verdicts_are_listed_and_make_the_command_fail(tmp_path, capsys, monkeypatch):
    arguments = ["reproduce", "11b", "14a", "--rounds", "30", "--trials", "2", "--jobs", "1"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    report = (tmp_path / "out" / "report.md").read_text()
    assert "No verdict is unexpected." in report
    assert "## Known differences\n\n- fig14a, C: " in report
    monkeypatch.setattr("cmab_gym.paper.comparison.KNOWN_DIFFERENCES", {})
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert "unexpected verdicts: 1\n  fig14a C: differs (ours 11, published 14)" in err
    assert (
        "## Unexpected verdicts\n\n- fig14a, C: differs"
        in (tmp_path / "out" / "report.md").read_text()
    )


def test_at_least_one_panel_is_needed():
    with pytest.raises(ValueError, match="no panels given"):
        reproduce([], "out")


def test_the_command_reproduces_figures_and_panels(tmp_path, capsys):
    arguments = ["reproduce", "5", "fig11a", "--rounds", "40", "--trials", "2", "--jobs", "1"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert "3/3 panels" in err
    assert "not compared" in out
    assert (tmp_path / "out" / "fig11a.parquet").exists()
    assert main(["reproduce", "6", "--out", str(tmp_path / "none")]) == 2
    assert "no panel '6': expected figures (5, 7, " in capsys.readouterr().err
