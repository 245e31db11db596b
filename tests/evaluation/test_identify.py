import numpy as np
import pytest

from cmab_gym import identify
from cmab_gym.agents.identification import LUCB
from cmab_gym.cli import main
from cmab_gym.evaluation.identify import Identification


@pytest.mark.parametrize("agent", ["lucb", "c-lucb", "top-two-ts"])
def test_the_error_rate_is_within_delta(agent):
    # With an error probability of delta = 0.2, more than 33 of 100 in 1 of 1,600 seeds.
    found = identify("CMAB-Tabular-v0", agent, delta=0.2, trials=100)
    assert found.undecided == 0
    assert found.wrong.sum() <= 33
    assert (found.chosen == 0).mean() == 1 - found.error_rate


def test_c_lucb_is_lucb_where_the_table_says_nothing():
    kwargs = {"rewards": "bernoulli", "means": [0.2, 0.5, 0.9]}
    plain, correlated = (
        identify("CMAB-Independent-v0", agent, 0.1, 8, 3, kwargs, max_rounds=150)
        for agent in ("lucb", "c-lucb")
    )
    assert 0 < plain.undecided < 8
    np.testing.assert_array_equal(plain.samples, correlated.samples)
    np.testing.assert_array_equal(plain.chosen, correlated.chosen)


def test_c_lucb_needs_fewer_pulls_where_pseudo_rewards_rule_arms_out():
    plain, correlated = (
        identify("CMAB-Latent-v0", agent, trials=6, env_kwargs={"preset": "three-arm-b"})
        for agent in ("lucb", "c-lucb")
    )
    assert correlated.samples_interval[1] < plain.samples_interval[0]
    assert plain.error_rate == correlated.error_rate == 0


def test_the_pulls_of_a_trial_do_not_depend_on_the_others():
    few, more = (identify("CMAB-Tabular-v0", "top-two-ts", 0.1, trials) for trials in (3, 9))
    assert len(set(more.samples)) > 3
    np.testing.assert_array_equal(few.samples, more.samples[:3])
    np.testing.assert_array_equal(few.chosen, more.chosen[:3])


def test_a_trial_that_reaches_the_limit_is_undecided():
    steps = []
    found = identify("CMAB-Tabular-v0", "lucb", trials=3, max_rounds=50, progress=steps.append)
    assert found.samples.tolist() == [50] * 3
    assert found.chosen.tolist() == [-1] * 3
    assert (found.undecided, found.error_rate, steps) == (3, 0.0, [3])
    frame = found.to_pandas()
    assert list(frame.columns) == ["agent", "trial", "samples", "chosen", "wrong"]


class AfterFour(LUCB):
    """Returns arm 1 after 4 pulls in the first trial, and 5 in the others."""

    def done(self):
        return self.history.t >= np.where(np.arange(self._playing[1]) == 0, 4, 5)

    def best_arm(self):
        return np.full(self._playing[1], self.history.t - 4)


def test_samples_are_counted_until_a_trial_is_done_and_its_answer_stays():
    found = identify("CMAB-Tabular-v0", AfterFour, trials=3)
    assert found.samples.tolist() == [4, 5, 5]
    assert found.chosen.tolist() == [0, 1, 1]
    assert found.wrong.tolist() == [False, True, True]


class DoneForAll(LUCB):
    def done(self):
        return True


class NoArm(AfterFour):
    def best_arm(self):
        return np.full(self._playing[1], 2)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (DoneForAll, r"done\(\) returned bool of shape \(\): expected bool of shape \(3,\)"),
        (NoArm, r"best_arm\(\)\[0\] is 2: expected integer arms from 0 to 1"),
    ],
)
def test_an_agent_that_does_not_answer_for_each_trial_is_refused(agent, message):
    with pytest.raises(ValueError, match=message):
        identify("CMAB-Tabular-v0", agent, trials=3)


@pytest.mark.parametrize(
    ("errors", "trials", "low", "high"),
    [(0, 100, 0.0, 0.036217), (1, 10, 0.002529, 0.445016), (2, 2, 0.158114, 1.0)],
)
def test_the_interval_of_the_error_rate_is_clopper_and_pearsons(errors, trials, low, high):
    wrong = np.arange(trials) < errors
    ones = np.ones(trials, dtype=np.int64)
    found = Identification("a", 0.05, ones, ones, wrong)
    np.testing.assert_allclose(found.error_interval, (low, high), atol=1e-6)


def test_the_command_prints_a_table(capsys):
    arguments = ["identify", "CMAB-Tabular-v0", "--agents", "lucb", "c-lucb", "--trials", "4"]
    assert main([*arguments, "--delta", "0.2", "--max-rounds", "400"]) == 0
    out = capsys.readouterr().out
    for text in ("agent", "pulls", "undecided", "c-lucb", "0.0 to 60.2 %", "20 % of the trials"):
        assert text in out
    assert main([*arguments, "--max-rounds", "10"]) == 0
    assert "over 10" in capsys.readouterr().out


def test_the_command_prints_the_agents_that_finished_before_a_failure(tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from cmab_gym.agents.identification import LUCB\n"
        "class Mine(LUCB):\n    def act(self):\n        return [0.5]\n"
    )
    arguments = ["identify", "CMAB-Tabular-v0", "--trials", "1", "--delta", "0.2", "--agents"]
    assert main([*arguments, "lucb", "lucp"]) == 2
    assert capsys.readouterr().out == ""
    assert main([*arguments, "lucb", f"{mine}:Mine"]) == 2
    out, err = capsys.readouterr()
    assert "lucb" in out
    assert "error: act()[0] is" in err


@pytest.mark.parametrize("delta", ["0", "1.5", "x"])
def test_the_command_refuses_a_wrong_delta(delta, capsys):
    assert main(["identify", "CMAB-Tabular-v0", "--agents", "lucb", "--delta", delta]) == 2
    assert f"--delta {delta}: expected a number between 0 and 1" in capsys.readouterr().err
