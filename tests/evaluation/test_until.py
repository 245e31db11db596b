"""Evaluations that add trials until the differences are known well."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cmab_gym import Results, compare, evaluate, evaluate_until
from cmab_gym.cli import main
from cmab_gym.evaluation import EvaluationError, EvaluationInterrupted

TABULAR, AGENTS = "CMAB-Tabular-v0", ["random", "ucb", "ts"]


class Fails:
    """Fails in the 31st trial."""

    begun = 0

    def reset(self, problem, rng):
        Fails.begun += 1
        self.trial = Fails.begun - 1

    def act(self):
        assert self.trial < 30
        return 0

    def update(self, arm, reward):
        pass


def half_width(pair):
    return (pair.high - pair.low) / 2


def test_trials_are_added_until_the_intervals_are_as_narrow_as_asked():
    wide = evaluate_until(TABULAR, AGENTS, 5, rounds=300, seed=3)
    narrow = evaluate_until(TABULAR, AGENTS, 2, rounds=300, seed=3)
    assert (wide.trials, narrow.trials) == (range(20), range(80))
    whole = evaluate(TABULAR, AGENTS, 300, 80, seed=3)
    for agent in AGENTS:
        assert_array_equal(narrow.regret(agent), whole.regret(agent))
        assert_array_equal(narrow.pulls(agent), whole.pulls(agent))
    for results, asked in ((wide, 5), (narrow, 2)):
        compared = compare(results)
        widest = max(map(half_width, compared.pairs))
        # Bootstrap intervals of 20 trials are a fifth narrower than Student's.
        assert 0.75 < widest / results.manifest["half_width"] < 1.1
        assert results.manifest["half_width"] <= asked
        assert "7 looks" in compared.notes[0]


def test_a_comparison_is_corrected_for_the_looks(tmp_path):
    looked = evaluate_until(TABULAR, AGENTS, 3, rounds=300)
    looked.save(tmp_path)
    plain = compare(evaluate(TABULAR, AGENTS, 300, len(looked.trials)))
    for pair, other in zip(compare(Results.load(tmp_path)).pairs, plain.pairs, strict=True):
        assert half_width(pair) > half_width(other)
        assert pair.p == pytest.approx(min(1, 7 * other.p))


def test_the_most_trials_are_a_limit():
    results = evaluate_until(TABULAR, AGENTS, 0.01, most_trials=30, rounds=50)
    assert results.trials == range(30)
    assert results.manifest["half_width"] > 0.01
    assert results.manifest["looks"] == 2


def test_one_agent_has_no_difference():
    with pytest.raises(ValueError, match="one agent has no difference to another"):
        evaluate_until(TABULAR, ["ucb"], 0.01, rounds=20)


def test_an_agent_that_fails_later_is_left_out_of_further_trials():
    agents = {"random": "random", "fails": Fails, "ucb": "ucb"}
    with pytest.raises(EvaluationError, match="agent 'fails', trial 30,") as caught:
        evaluate_until(TABULAR, agents, 1e-9, most_trials=80, rounds=20)
    results = caught.value.results
    assert [run.label for run in results.runs] == [*agents]
    assert [len(run.regret) for run in results.finished] == [80, 80]
    assert isinstance(caught.value.__cause__, AssertionError)


def test_an_interruption_keeps_the_trials_up_to_the_last_look():
    played = 0

    def progress(rounds):
        nonlocal played
        played += rounds
        if played > 2 * 20 * 50:
            raise KeyboardInterrupt

    with pytest.raises(EvaluationInterrupted) as caught:
        evaluate_until(TABULAR, ["ucb", "ts"], 1e-9, rounds=50, progress=progress)
    results = caught.value.results
    assert results.trials == range(20)
    assert results.manifest["interrupted"]
    assert results.manifest["looks"] == 7  # so that `compare` corrects for them
    assert np.isfinite(results.manifest["half_width"])
    assert_array_equal(results.regret("ts"), evaluate(TABULAR, ["ts"], 50, 20).regret("ts"))


def test_trials_cannot_be_given():
    with pytest.raises(TypeError, match=r"no argument 'trials'.*at most most_trials"):
        evaluate_until(TABULAR, AGENTS, 1, trials=3)
    with pytest.raises(ValueError, match="half_width=0"):
        evaluate_until(TABULAR, AGENTS, 0)


def test_the_command_says_how_well_the_differences_are_known(tmp_path, capsys):
    command = ["run", TABULAR, "--rounds", "300", "--until-half-width", "3", "--out"]
    assert main([*command, str(tmp_path / "out"), "--agents", *AGENTS]) == 0
    assert "the differences between all agents are known to within" in capsys.readouterr().out
    few = [*command, str(tmp_path / "few"), "--agents", *AGENTS, "--trials", "5"]
    assert main(few) == 0
    assert "wanted 3, not reached: raise --trials" in capsys.readouterr().out
    assert np.isfinite(Results.load(tmp_path / "out").manifest["half_width"])
    assert main([*command, str(tmp_path), "--agents", *AGENTS, "--first-trial", "3"]) == 2
    assert "--first-trial and --until-half-width: expected one" in capsys.readouterr().err
    assert main([*command[:5], "x", "--agents", "ucb"]) == 2
    assert "--until-half-width x: expected a number above 0" in capsys.readouterr().err
