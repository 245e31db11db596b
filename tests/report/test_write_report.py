"""What a report says, read as HTML."""

import shlex
import sys
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest

import cmab_gym
from cmab_gym import evaluate
from cmab_gym.cli import main
from cmab_gym.evaluation import compare
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.arm_pulls import ArmPulls
from cmab_gym.evaluation.results.results import Results
from cmab_gym.report import write_report
from cmab_gym.report.again import run_again
from cmab_gym.report.charts import COLOURS
from cmab_gym.report.pooling import pooled

pytestmark = pytest.mark.usefixtures("numpy_loops")


class Text(HTMLParser):
    """The text of a page, without its scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.parts = "", []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.inside = tag

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.parts.append(data)

    def __str__(self):
        return " ".join(" ".join(self.parts).split())


def text_of(results, folder):
    return str(Text(write_report(results, folder / "report.html")))


def run(label, final, n_checkpoints=1, **rest):
    """A run whose regret is the same at each checkpoint."""
    regret = np.repeat(np.array(final, dtype=float)[:, np.newaxis], n_checkpoints, axis=1)
    return AgentRun(label, regret, regret.astype(int), 1.0, **rest)


def results_of(*runs, checkpoints=(10,), **manifest):
    whole = {
        "env_id": "CMAB-Tabular-v0",
        "env_kwargs": {},
        "agents": {each.label: each.label for each in runs},
        "rounds": checkpoints[-1],
        "trials": len(runs[0].regret),
        "seed": 0,
        **manifest,
    }
    return Results(checkpoints, runs, whole)


def test_a_report_says_who_won_by_how_much_and_how_to_run_it_again(tmp_path):
    results = evaluate("CMAB-Tabular-v0", ["random", "ucb", "c-ucb"], 300, 12, seed=3)
    said = text_of(results, tmp_path)
    best = results.summary().sort_values("regret").iloc[0]
    assert f"{best.agent} has the least mean regret: {best.regret:.1f} " in said
    for pair in compare(results).pairs:
        assert pair.sentence in said
    assert (
        "cmab-gym run CMAB-Tabular-v0 --agents random ucb c-ucb --rounds 300 --trials 12 --seed 3"
    ) in said
    for word in (
        "interval",
        "worst tenth",
        "Pulls of each arm",
        "arm 0",
        "numpy",
        "unit of rewards",
    ):
        assert word in said


def test_pairs_are_the_worse_agent_minus_the_better_one(tmp_path):
    order = ["c-ucb", "random", "ucb"]
    one, *others = (
        evaluate("CMAB-Tabular-v0", [name], 300, 12, seed=seed) for seed in (0, 1) for name in order
    )
    said = text_of([one, *others], tmp_path)
    for pair in ("random - ucb", "random - c-ucb", "ucb - c-ucb"):
        assert f" {pair} " in said
    assert "seed 0, 1 " in said
    assert said.count(f"started {one.manifest['started'][:10]}") == 1


def test_few_agents_few_trials_and_failures_are_told(tmp_path):
    one = results_of(run("alone", [7.0]))
    assert "alone has a mean regret of 7.0 after 10 rounds (one trial)." in text_of(one, tmp_path)
    failed = AgentRun.failed("broken", "agent 'broken', trial 3: <b>no</b>")
    runs = run("a", [1.0, 2.0]), run("b", [0.0, 0.0]), failed
    said = text_of(results_of(*runs, told_more={"b": "the best arm"}), tmp_path)
    assert "b was told more than other agents: the best arm" in said
    assert "left out: agent 'broken', trial 3: <b>no</b>" in said
    assert "2 trials cannot show a difference" in said
    with pytest.raises(ValueError, match="no agent finished: expected results to report"):
        write_report(results_of(failed), tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_right_to_left_names_leave_the_words_after_them_in_place(tmp_path):
    said = text_of(results_of(run("אב", [2.0]), run("b", [1.0])), tmp_path)
    assert "\u200eאב\u200e and b: 1 trial cannot show a difference" in said


def test_a_report_of_an_older_run_says_what_was_not_recorded(tmp_path):
    old = results_of(run("a", [1.0, 2.0]), run("b", [3.0, 5.0]))
    said = text_of(old, tmp_path)
    assert "Pulls of each arm They were not recorded: run the agents again." in said
    assert "Size of the competitive set No agent rules arms out, or it was not recorded." in said


def test_trials_of_all_seeds_are_put_together_at_the_rounds_that_all_have():
    group = [
        results_of(run("a", [1.0, 2.0], 2), run("b", [5.0, 6.0], 2), checkpoints=(5, 10), seed=0),
        results_of(run("a", [3.0], 3), checkpoints=(2, 5, 10), seed=1),
        results_of(run("b", [5.0]), seed=0),  # a trial that a longer run has too
    ]
    whole = pooled(group)
    assert whole.checkpoints == (10,)
    assert {each.label: each.regret.tolist() for each in whole.runs} == {
        "a": [[1.0], [2.0], [3.0]],
        "b": [[5.0], [6.0]],
    }
    pulls = evaluate("CMAB-Tabular-v0", ["c-ucb"], 20, 2)
    (joined,) = pooled([pulls, Results(pulls.checkpoints, pulls.runs, {"seed": 1})]).runs
    np.testing.assert_array_equal(joined.competitive[2:], pulls.competitive("c-ucb"))
    np.testing.assert_array_equal(joined.pulls.counts()[2:], pulls.pulls("c-ucb"))


def test_settings_that_differ_are_listed(tmp_path):
    group = [
        results_of(run("a", [1.0]), seconds=1.25, started="day 2", versions={"numpy": "2.1"}),
        results_of(run("b", [2.0]), seconds=2.5, started="day 1", versions={"numpy": "2.0"}),
    ]
    said = text_of(group, tmp_path)
    for words in ("seconds 3.8 ", "started day 1 to day 2 ", "numpy 2.1, 2.0"):
        assert words in said


def test_each_environment_has_a_section(tmp_path):
    presets = ("table1-a", "table1-b")
    every = [
        evaluate("CMAB-Tabular-v0", ["ucb"], 20, 3, env_kwargs={"preset": preset})
        for preset in presets
    ]
    said = text_of(every, tmp_path)
    assert "2 environments" in said
    for preset in presets:
        assert f"CMAB-Tabular-v0 (preset={preset}) ucb has a mean regret of" in said


def test_a_large_report_stays_below_2_mb(tmp_path, monkeypatch):
    monkeypatch.setattr("cmab_gym.report.sections.compare", partial(compare, n_resamples=1820))
    rng, arms, checkpoints = np.random.default_rng(0), 2000, tuple(range(1, 1001))
    runs = []
    for number in range(14):
        pulls = ArmPulls.of(rng.poisson(1, (100, arms)), np.ones((100, arms), int))
        curves = rng.integers(0, 100, (100, 1000)).cumsum(axis=1)
        name = f"c-ts(beta={number})"
        runs.append(
            AgentRun(name, curves.astype(float), curves, 1.0, competitive=curves, pulls=pulls)
        )
    names = [f"film {arm}" for arm in range(arms)]
    results = results_of(*runs, checkpoints=checkpoints, arm_names=names, means=[*range(arms)])
    page = write_report(results, tmp_path / "report.html")
    assert page.stat().st_size < 2e6
    assert "1,980 other arms" in page.read_text(encoding="utf-8")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return np.dot(linear, (0.2126, 0.7152, 0.0722))


def test_colours_have_contrast_on_both_backgrounds():
    for background in ("#ffffff", "#15171c"):
        for colour in COLOURS:
            dark, light = sorted(map(luminance, (colour, background)))
            assert (light + 0.05) / (dark + 0.05) >= 3  # WCAG 2.2, criterion 1.4.11


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 4, "delay": 2, "rewards_every": 3},
        {"checkpoints": "log", "env_kwargs": {"preset": "table1-b"}},
        {"checkpoints": 7, "env_kwargs": {"pmf": [[0.1, 0.2], [0.3, 0.4]], "preset": None}},
    ],
)
def test_the_command_gives_the_same_numbers(options, tmp_path, capsys):
    agents = ["c-ucb(B=2, first_pulls='all')", "ts"]
    results = evaluate("CMAB-Tabular-v0", agents, 40, 3, **options)
    (command,) = run_again([results])
    assert "\"c-ucb(B=2, first_pulls='all')\"" in command
    program, *arguments = shlex.split(command)
    assert program == "cmab-gym"
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    again = Results.load(tmp_path)
    assert again.checkpoints == results.checkpoints
    assert again.to_pandas().equals(results.to_pandas())


@pytest.mark.parametrize("options", [{"checkpoints": [3, 40]}, {"first_trial": 5}])
def test_what_no_command_can_express_is_a_call_in_python(options, monkeypatch):
    results = evaluate("CMAB-Tabular-v0", ["ucb"], 40, 3, **options)
    (call,) = run_again([results])
    found = []
    monkeypatch.setattr(cmab_gym, "evaluate", lambda *args, **rest: found.append((args, rest)))
    exec(call)  # noqa: S102
    ((args, rest),) = found
    assert evaluate(*args, **rest).to_pandas().equals(results.to_pandas())


def test_objects_and_seeds_are_told_apart():
    results = results_of(run("mine", [1.0]), env_kwargs={"data": "<Ratings of me: 3 ratings>"})
    assert "cmab_gym.evaluate(" in run_again([results])[0]
    named = replace(results, manifest={**results.manifest, "env_kwargs": {}})
    assert "['mine']" in run_again([named])[0]
    for character in ('"', "$", "`", "\\\\", "!"):  # a shell changes them in double quotes
        hostile = run(f"my.py:A(s='{character}')", [1.0])
        assert f"--agents {shlex.quote(hostile.label)} " in run_again([results_of(hostile)])[0]
    seeds = [results_of(run("ucb", [1.0]), run("ts", [1.0]), seed=seed) for seed in (0, 1)]
    assert [f"--seed {seed}" in run_again(seeds)[seed] for seed in (0, 1)] == [True, True]
    agents = [results_of(run(name, [1.0])) for name in ("ucb", "my.py:A", "model.zip")]
    assert "--agents ucb my.py:A model.zip " in run_again(agents)[0]


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ValueError, match=r"pip install 'cmab-gym\[report\]'"):
        write_report(results_of(run("a", [1.0])), tmp_path / "report.html")


def test_the_command_writes_a_page(tmp_path, capsys):
    evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb"], 30, 8).save(tmp_path / "run")
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "run"), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"written to {out}\n"
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["report", str(tmp_path / "none")]) == 2
    assert "has no results.parquet" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert "page.html could not be written" in capsys.readouterr().err
