"""The suite, its records, the ranking and the command."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from agent_files import MINE
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym import evaluate
from cmab_gym.cli import main
from cmab_gym.leaderboard import (
    BUNDLED,
    QUICK,
    SUITE,
    Records,
    Row,
    built_in_agents,
    leaderboard,
    play,
    plot_profile,
    plot_ranks,
)
from cmab_gym.leaderboard import records as records_module
from cmab_gym.leaderboard.board import neighbours
from cmab_gym.leaderboard.suite import LEFT_OUT
from cmab_gym.leaderboard.tables import ranked_cells
from cmab_gym.paper import PANELS
from cmab_gym.versions import NUMBERS

pytestmark = pytest.mark.usefixtures("numpy_loops")

TINY = replace(QUICK, tasks=QUICK.tasks[:3], rounds=40, trials=4)  # tables, latent, genres
MADE = {
    "versions": {"cmab-gym": "1", "numpy": "2", "python": "3"},
    "started": "2026",
    "files": {},
    "numbers": NUMBERS,
}


def played(agents, suite, out):
    return play(agents, suite, out, say=lambda message: None)


def row(agent, level, tasks=3, told=""):
    """A row with about this regret on the first tasks."""
    noise = 0.01 * np.random.default_rng(0).random((len(TINY.tasks), TINY.trials))
    regret, seconds = level + noise, np.ones(len(TINY.tasks))
    regret[tasks:], seconds[tasks:] = np.nan, np.nan
    return Row(agent, regret, seconds, MADE, told, "" if tasks == 3 else "no survey")


PLANTED = Records(
    TINY,
    np.ones(3),
    (row("worst", 0.9), row("best", 0.1), row("middle", 0.5), row("equal", 0.5),
     row("seer", 0.0, told="the means"), row("some", 0.3, tasks=2)),
)  # fmt: skip


def test_the_suite_has_all_presets_and_the_masks_and_pads_of_the_paper():
    names = [task.name for task in SUITE.tasks]
    assert len({*names}) == len(names)
    assert {panel.name for panel in PANELS if panel.figure > 9} < {*names}
    assert {"table1-a", "two-arm-b", "bernoulli"} < {*names}
    agents = built_in_agents()
    assert {"random", "c-ucb", "tc-ts", "warm-ts", "oracle"} < {*agents}
    assert not {*agents} & {name for names in LEFT_OUT.values() for name in names}


def test_planted_agents_get_their_places():
    table = leaderboard(PLANTED, n_resamples=100)
    assert table["agent"].tolist() == ["best", "equal", "middle", "worst", "seer", "some"]
    assert_array_equal(table["place"], [1, 2, 2, 4, np.nan, np.nan])
    assert_array_equal(table["would_be"], [np.nan] * 5 + [2])
    assert_array_equal(table["place_low"][:4], [1, 2, 2, 4])
    assert_array_equal(table["place_high"][:4], [1, 2, 2, 4])
    assert_array_equal(table["mean_rank"][:4], [1, 2.5, 2.5, 4])
    assert table["tasks"].tolist() == [3] * 5 + [2]
    assert (table["low"] <= table["iqm"]).all()
    assert (table["iqm"] <= table["high"]).all()
    assert np.isnan(table["genres"][5])
    assert_allclose(table["microseconds"], 1e6 / (40 * 4))
    assert table["told"][4] == "the means"
    (above, below) = neighbours(PLANTED, table, "middle", n_resamples=100)
    assert "middle has less regret than equal in 50 % of the trials (50 to 50 %" in above
    assert "middle has less regret than worst in 100 % of the trials (100 to 100 %" in below


@pytest.mark.parametrize("function", [leaderboard, plot_profile, plot_ranks])
def test_no_agent_with_a_place_and_an_unknown_statistic_are_refused(function):
    with pytest.raises(ValueError, match="no agent has a place: expected one that played all"):
        function(Records(TINY, np.ones(3), PLANTED.rows[4:]))
    with pytest.raises(ValueError, match="unknown by 'median'"):
        function(PLANTED, by="median")


def test_the_mean_counts_rare_failures_and_the_iqm_does_not():
    steady, gambler = row("steady", 0.3), row("gambler", 0.1)
    gambler.regret[:, 0] = 2.0
    records = Records(TINY, np.ones(3), (steady, gambler))
    by_iqm, by_mean = (leaderboard(records, by=by, n_resamples=100) for by in ("iqm", "mean"))
    assert by_iqm["agent"].tolist() == ["gambler", "steady"]
    assert by_mean["agent"].tolist() == ["steady", "gambler"]
    assert_array_equal(by_mean["mean"], by_iqm["mean"][::-1])
    assert by_mean["low"][1] < by_mean["mean"][1] < by_mean["high"][1]
    assert ranked_cells(by_mean, "mean").header[2] == "mean"
    labels = plot_ranks(records, by="mean").axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == [" steady", " gambler"]
    low, high = plot_profile(records).axes[0].get_xlim()
    assert low <= gambler.regret.min() < gambler.regret.max() <= high


def test_regret_is_divided_by_that_of_random_pulls(tmp_path):
    rows = played(["c-ucb", "warm-ts", "oracle"], TINY, tmp_path).rows
    task = TINY.tasks[1]
    same = evaluate(task.env_id, ["c-ucb"], 40, 4, env_kwargs=task.env_kwargs)
    means = np.array(same.manifest["means"])
    expected = same.final("c-ucb") / (40 * (means.max() - means).mean())
    assert_allclose(rows[0].regret[1], expected, rtol=1e-6)
    assert rows[0].played.all()
    assert_array_equal(rows[1].played, [False, False, True])
    assert "survey_means" in rows[1].failure
    assert not rows[2].regret.any()
    assert rows[2].told == "the mean reward of each arm"
    random = replace(TINY, rounds=100, trials=200, tasks=TINY.tasks[:1])
    (one,) = played(["random"], random, tmp_path).rows
    assert abs(one.regret.mean() - 1) < 5 * 0.1 / np.sqrt(200)  # sd of a trial: 1 / sqrt(100)


def test_another_agent_is_added_without_running_the_first_again(tmp_path):
    first = played(["ucb"], TINY, tmp_path)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/results.parquet")}
    again = played(["ucb", "ts"], TINY, tmp_path)
    assert all(path.stat().st_mtime_ns == time for path, time in written.items())
    assert len(list(tmp_path.glob("*/results.parquet"))) == 2 * len(written) == 6
    assert_array_equal(again.rows[0].regret, first.rows[0].regret)
    assert again.rows[1].played.all()


def test_records_are_read_as_written_and_refused_if_they_do_not_fit(tmp_path, monkeypatch):
    path = tmp_path / "records.npz"
    PLANTED.save(path)
    read = Records.load(path, TINY)
    assert read.agents == PLANTED.agents
    for one, two in zip(read.rows, PLANTED.rows, strict=True):
        assert_array_equal(one.regret, two.regret.astype(np.float32))
        assert (one.made, one.told, one.failure) == (two.made, two.told, two.failure)
    with pytest.raises(ValueError, match="other tasks, rounds or trials than the suite; play"):
        Records.load(path, replace(TINY, rounds=41))
    monkeypatch.setattr(records_module, "NUMBERS", NUMBERS + 1)
    with pytest.raises(ValueError, match=f"version {NUMBERS} of the random numbers: expected"):
        Records.load(path, TINY)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"records\.npz cannot be read"):
        Records.load(path, TINY)


def test_records_that_do_not_belong_together_are_not_added():
    new = Records(TINY, np.ones(3), (row("new", 0.2), row("best", 0.7)))
    both = PLANTED + new
    assert both.agents == [*PLANTED.agents, "new"]
    with pytest.raises(ValueError, match="other tasks, rounds or trials"):
        PLANTED + replace(new, suite=replace(TINY, seed=1))
    with pytest.raises(ValueError, match="task three-arm-b: random pulls have a regret of 1 in"):
        PLANTED + replace(new, scales=np.array([1, 1.1, 1]))
    other = replace(new.rows[0], made={**MADE, "numbers": 1})
    with pytest.raises(ValueError, match="of the random numbers: expected one"):
        PLANTED + replace(new, rows=(other,))


def test_pictures_show_every_ranked_agent(tmp_path):
    plot_profile(PLANTED, tmp_path / "profile.png", ["worst"])
    axes = plot_ranks(PLANTED, tmp_path / "ranks.png", ["worst"]).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [name.strip() for name in names] == ["best", "middle", "equal", "worst"]
    low, high = axes.get_xlim()
    assert [tick for tick in axes.get_xticks() if low <= tick <= high] == [1, 2, 3, 4]
    assert (tmp_path / "profile.png").is_file()


def test_the_command_ranks_a_user_s_agent_among_the_known_ones(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("cmab_gym.cli.commands.leaderboard.QUICK", TINY)
    path, out = tmp_path / "mine.py", tmp_path / "out"
    path.write_text(MINE)
    options = ["--quick", "--out", str(out), "--resamples", "100"]
    assert main(["leaderboard", f"{path}:Mine", "warm-ts", *options]) == 1
    printed, errors = capsys.readouterr()
    for word in ("95 % interval", "Mine", "c-ucb", "mine.py (SHA-256 ", "Mine has less regret"):
        assert word in printed
    # It needs a survey, which one of the tasks has.
    assert "warm-ts does not play all tasks: " in errors
    assert "no survey_means" in errors
    table = pd.read_csv(out / "leaderboard.csv")
    ranked = ["random", "ucb", "ts", "c-ucb", "c-ts", "Mine"]
    assert sorted(table["agent"][:6]) == sorted(ranked)
    assert table["agent"].tolist()[6:] == ["warm-ts"]
    assert table["place"].isna().tolist() == [False] * 6 + [True]
    assert (out / "profile.png").is_file()


def test_an_agent_is_given_once(tmp_path, capsys):
    assert main(["leaderboard", "random", "random", "--out", str(tmp_path)]) == 2
    assert "AGENT: random is given twice" in capsys.readouterr().err


def test_the_checked_in_records_are_those_of_the_suite(tmp_path, capsys):
    records = Records.load(BUNDLED, SUITE)
    assert {*records.agents} <= {*built_in_agents()}
    assert BUNDLED.stat().st_size < 500_000
    assert json.dumps(records.rows[0].made)
    by_agent = {row.agent: row for row in records.rows}
    assert not by_agent["oracle"].regret.any()
    random = by_agent["random"].regret
    assert abs(random.mean() - 1) < 0.02
    # A control: correlated versions pull the same arms where tables say nothing.
    control = [task.family == "control" for task in SUITE.tasks]
    assert_array_equal(by_agent["c-kl-ucb"].regret[control], by_agent["kl-ucb"].regret[control])
    assert main(["leaderboard", "--resamples", "100", "--out", str(tmp_path)]) == 0
    assert "c-ucb" in capsys.readouterr().out
