"""Runs that go on where an interrupted one stopped, or that add agents and trials to a folder."""

import json
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cmab_gym import Results, evaluate
from cmab_gym.cli import main
from cmab_gym.evaluation import EvaluationInterrupted

LATENT = {"env_id": "CMAB-Latent-v0", "env_kwargs": {"preset": "two-arm-b", "draws": "rounds"}}
TABULAR = {"env_id": "CMAB-Tabular-v0", "env_kwargs": {"preset": "three-armed"}}
ROUNDS = 300
FIRST = """
class First:
    def reset(self, problem, rng): self.state = 0
    def act(self): return 0
    def update(self, arm, reward): pass
    def state_dict(self): return {"state": self.state}
    def load_state_dict(self, state): self.state = state["state"]
"""


class Mean:
    """A plain agent with a state."""

    def reset(self, problem, rng):
        self.rng, self.sums = rng, np.zeros((2, problem.n_arms))

    def act(self):
        greedy = int((self.sums[1] / np.maximum(self.sums[0], 1)).argmax())
        return greedy if self.rng.random() < 0.9 else int(self.rng.integers(self.sums.shape[1]))

    def update(self, arm, reward):
        self.sums[:, arm] += 1, reward

    def state_dict(self):
        return {"sums": self.sums}

    def load_state_dict(self, state):
        self.sums = state["sums"].copy()


class Stateless(Mean):
    state_dict = load_state_dict = None


class Interruption:
    """Progress that presses Ctrl-C once so many rounds were played."""

    def __init__(self, rounds):
        self.left = rounds

    def __call__(self, rounds):
        self.left -= rounds
        if self.left <= 0:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def often():
    """Save states, and report progress, as often as possible; play compiled runs in parts."""
    with (
        patch("cmab_gym.evaluation.playing.batch_state._SAVE_EVERY", 0.0),
        patch("cmab_gym.evaluation.playing.batch_state._SHARE", np.inf),
        patch("cmab_gym.evaluation.playing.progress._REPORT_EVERY", 0.0),
        patch("cmab_gym.evaluation.playing.compiled._NUMBERS", 2000),
    ):
        yield


def assert_same(one, other):
    assert [run.label for run in one.runs] == [run.label for run in other.runs]
    for mine, theirs in zip(one.runs, other.runs, strict=True):
        assert not mine.failure
        for name in ("regret", "best_arm_pulls", "reward", "competitive"):
            assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
        assert_array_equal(mine.pulls.counts(), theirs.pulls.counts())
        assert_array_equal(mine.pulls.last_rounds(), theirs.pulls.last_rounds())


def run_until(after, folder, /, **arguments):
    """Interrupt an evaluation; return its results so far."""
    with pytest.raises(EvaluationInterrupted) as raised:
        evaluate(**arguments, folder=folder, progress=Interruption(after))
    return raised.value.results


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize(
    "task",
    [
        {**TABULAR, "agents": ["random", "c-ucb", "exp3"]},
        {**TABULAR, "agents": {"tc-ts": "tc-ts", "mine": Mean, "ucb": "ucb"}},
        {**TABULAR, "agents": ["c-ts"], "delay": 3, "rewards_every": 5},
        {**LATENT, "agents": ["ucb-n", "ucucb", "latent-ts"]},
    ],
)
def test_an_interrupted_run_continues(task, compiled, monkeypatch, tmp_path):
    monkeypatch.setenv("CMAB_GYM_COMPILED", compiled)
    rounds = 100 if "latent-ts" in task["agents"] else ROUNDS
    task = {**task, "rounds": rounds, "trials": 3, "batch_size": 2}
    expected = evaluate(**task)
    total = 3 * rounds * len(task["agents"])
    for share in (0.2, 0.5, 0.9):
        run_until(share * total, tmp_path, **task, resume=share > 0.2)
        assert list((tmp_path / "unfinished").glob("*.npz"))
    played = []
    found = evaluate(**task, folder=tmp_path, resume=True)
    assert_same(found, expected)
    found.save(tmp_path)
    assert not (tmp_path / "unfinished").exists()
    again = evaluate(**task, folder=tmp_path, resume=True, progress=played.append)
    assert_same(again, expected)
    assert sum(played) == total  # as those before: nothing was left to play


def test_a_batch_that_was_interrupted_is_not_played_from_its_start(tmp_path):
    acted = []

    class Counting(Mean):
        def act(self):
            acted.append(1)
            return super().act()

    task = {**TABULAR, "agents": {"mine": Counting}, "rounds": 1000, "trials": 1}
    run_until(600, tmp_path, **task)
    first = len(acted)
    evaluate(**task, folder=tmp_path, resume=True)
    assert 600 <= first < 1000
    assert 1000 <= len(acted) <= 1000 + 16  # a state is saved every 16 rounds at most


def test_an_agent_without_a_state_is_played_from_the_start(tmp_path):
    task = {**TABULAR, "agents": {"mine": Stateless}, "rounds": 200, "trials": 2}
    run_until(200, tmp_path, **task)
    assert not list((tmp_path / "unfinished").glob("*.npz"))
    assert_same(evaluate(**task, folder=tmp_path, resume=True), evaluate(**task))


def test_a_damaged_state_is_played_from_the_start(tmp_path):
    task = {**TABULAR, "agents": ["c-ucb"], "rounds": 500, "trials": 2}
    run_until(500, tmp_path, **task)
    (state,) = (tmp_path / "unfinished").glob("*.npz")
    state.write_bytes(state.read_bytes()[:-200])
    assert_same(evaluate(**task, folder=tmp_path, resume=True), evaluate(**task))


@pytest.mark.parametrize(
    ("key", "value"), [("checkpoints", []), ("checkpoints", [2, 1]), ("versions", [])]
)
def test_a_wrong_description_of_an_unfinished_run_is_refused(key, value, tmp_path):
    task = {**TABULAR, "agents": ["ucb"], "rounds": 100, "trials": 2}
    run_until(100, tmp_path, **task)
    run = tmp_path / "unfinished" / "run.json"
    run.write_text(json.dumps({**json.loads(run.read_text()), key: value}))
    with pytest.raises(ValueError, match=r"run\.json cannot be read .*delete"):
        evaluate(**task, folder=tmp_path, resume=True)


def test_without_resume_nothing_of_an_earlier_run_is_used(tmp_path):
    task = {**TABULAR, "agents": ["c-ucb"], "rounds": 500, "trials": 2}
    run_until(500, tmp_path, **task)
    found = evaluate(**{**task, "seed": 1}, folder=tmp_path)
    assert_same(found, evaluate(**{**task, "seed": 1}))


def test_agents_and_trials_are_added_to_a_folder(tmp_path):
    task = {**TABULAR, "rounds": 50}
    evaluate(**task, agents=["ucb"], trials=2).save(tmp_path)
    added = evaluate(**task, agents=["ts"], trials=2, folder=tmp_path, resume=True)
    assert_same(added, evaluate(**task, agents=["ucb", "ts"], trials=2))
    added.save(tmp_path)
    more = evaluate(**task, agents=["ts", "ucb"], trials=5, folder=tmp_path, resume=True)
    assert_same(more, evaluate(**task, agents=["ts", "ucb"], trials=5))
    more.save(tmp_path)
    assert_same(Results.load(tmp_path), more)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, r"holds another run: results that differ in their seed \(0 and 1\)"),
        ({"rounds": 60}, "differ in their rounds"),
        ({"delay": 1}, "differ in their delay"),
        ({"checkpoints": 5}, "differ in their checkpoints"),
        ({"env_kwargs": {"preset": "table1-a"}}, "differ in their keyword arguments"),
        ({"trials": 2}, "has the trials 0 to 2: expected at least those, not 0 to 1"),
        ({"agents": ["ts"], "trials": 4}, "has agent 'ucb' with the trials up to 2: expected all"),
        ({"agents": {"ucb": "ts"}}, "has 'ucb' as 'ucb': expected 'ts'; give the agent another"),
    ],
)
def test_another_run_is_refused(changes, message, tmp_path):
    task = {**TABULAR, "agents": ["ucb"], "rounds": 50, "trials": 3}
    evaluate(**task).save(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=message):
        evaluate(**{**task, **changes}, folder=tmp_path, resume=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_resume_needs_a_folder():
    with pytest.raises(ValueError, match="resume=True without a folder: pass folder="):
        evaluate(**TABULAR, agents=["ucb"], rounds=5, trials=1, resume=True)


def test_the_command_resumes_and_keeps_what_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    play = "run CMAB-Tabular-v0 --rounds 500 --trials 2 --agents random c-ucb"

    def interrupted(command, rounds):
        interruption = Interruption(rounds)
        view = lambda *_: nullcontext(lambda batch: interruption(batch.pulls))  # noqa: E731
        with patch("cmab_gym.cli.commands.run.live_view", view):
            return main(command.split())

    assert interrupted(play, 1500) == 130
    assert "the same command with --resume goes on from here" in capsys.readouterr().out
    assert main(f"{play} --resume".split()) == 0
    assert_same(Results.load("results"), evaluate("CMAB-Tabular-v0", ["random", "c-ucb"], 500, 2))
    more = play.replace("--trials 2", "--trials 9")
    assert interrupted(f"{more} --resume", 6500) == 130
    assert "random did not finish" not in (out := capsys.readouterr().out)
    assert "c-ucb did not finish: results is unchanged" in out
    assert len(Results.load("results").trials) == 2
    assert main(f"{more} --resume".split()) == 0
    assert_same(Results.load("results"), evaluate("CMAB-Tabular-v0", ["random", "c-ucb"], 500, 9))
    assert main(f"{play} --resume".split()) == 2
    assert "has the trials 0 to 8: expected at least those" in capsys.readouterr().err
    assert json.loads((tmp_path / "results/manifest.json").read_text())["trials"] == 9


def test_results_of_another_version_of_an_agents_file_are_not_added_to(tmp_path):
    (tmp_path / "mine.py").write_text(FIRST)
    task = {**TABULAR, "agents": ["ucb", f"{tmp_path}/mine.py:First"], "rounds": 50}
    out = tmp_path / "out"
    evaluate(**task, trials=2).save(out)
    evaluate(**task, trials=3, folder=out, resume=True).save(out)
    (tmp_path / "mine.py").write_text(FIRST.replace("return 0", "return 1"))
    for trials in (3, 4):
        with pytest.raises(ValueError, match=r"the file of agent '.*mine.py:First' has changed si"):
            evaluate(**task, trials=trials, folder=out, resume=True)
    others = {**task, "agents": ["ucb"]}
    assert len(evaluate(**others, trials=3, folder=out, resume=True).finished) == 2
    later = evaluate(**task, trials=1, first_trial=3)
    with pytest.raises(ValueError, match=r"mine.py:First' changed between two results"):
        Results.load(out) + later


@pytest.mark.parametrize("interrupted", [False, True])
def test_an_agent_that_did_not_finish_may_be_corrected(tmp_path, interrupted):
    mine, out = tmp_path / "mine.py", tmp_path / "out"
    mine.write_text(FIRST if interrupted else FIRST.replace("return 0", "return 9"))
    task = {**TABULAR, "agents": ["ucb", f"{mine}:First"], "rounds": 200, "trials": 2}
    if interrupted:
        run_until(600, out, **task).save(out)
        assert list((out / "unfinished").glob("*.npz"))
    else:
        evaluate(**task, folder=out, on_error="keep").save(out)
    mine.write_text(FIRST.replace("return 0", "return 1"))
    assert_same(evaluate(**task, folder=out, resume=True), evaluate(**task))
