import gzip
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cmab_gym.cli import main
from cmab_gym.paper.comparison import comparison
from cmab_gym.paper.panels import AGENTS, PANELS, Panel, on_ratings
from cmab_gym.paper.reproduce import reproduce, run_panels

BY_NAME = {panel.name: panel for panel in PANELS}
OWN = Panel(1, "a", "mine", "CMAB-Tabular-v0", {"preset": "appendix"}, parameters="default")


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


def test_the_same_seed_gives_the_same_numbers():
    first, again = (reproduce_panel(OWN, 60, 3, seed=4) for _ in range(2))
    assert comparison([first]).equals(comparison([again]))


def test_a_panel_has_a_lower_bound_where_one_can_be_computed():
    known = reproduce_panel(BY_NAME["fig5b"], 40, 2, seed=0)
    assert known.lower_bound.constant == pytest.approx(4.966, abs=5e-4)
    assert reproduce_panel(BY_NAME["fig10a"], 40, 2, seed=0).lower_bound is None


@pytest.mark.usefixtures("numpy_loops")
def test_workers_change_no_number(tmp_path):
    panels = [replace(OWN, draws=("preset", ("appendix", "table1-a"))), BY_NAME["fig5a"]]
    serial = reproduce(panels, tmp_path / "serial", 500, 2)
    parallel = reproduce(panels, tmp_path / "parallel", 500, 2, n_jobs=2)
    assert serial.equals(parallel)
    names = sorted(path.name for path in (tmp_path / "serial").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "parallel").iterdir())


def test_the_range_covers_every_draw_and_the_panels_own():
    panel = replace(OWN, draws=("preset", ("appendix", "table1-a")))
    own = reproduce_panel(OWN, 4800, 3, seed=1)
    other = reproduce_panel(replace(OWN, env_kwargs={"preset": "table1-a"}), 4800, 3, seed=1)
    both = reproduce_panel(panel, 4800, 3, seed=1)
    for agent in AGENTS:
        means = [each.results.regret(agent)[:, -1].mean() for each in (own, other)]
        assert both.ranges[agent] == (min(means), max(means))
    assert both.ranges["C"] == (1, 2)
    assert own.ranges == {}


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
