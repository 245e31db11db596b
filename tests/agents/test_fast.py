"""Compiled inner loops (extra `fast`) give NumPy's numbers, and stay out of the way."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from cmab_gym import evaluate, make_agent
from cmab_gym.agents import UCB, IndexAgent, fast
from cmab_gym.agents.index_agent import argmax_with_random_ties
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.evaluation.simulation import Simulation

AGENTS = ("ucb", "kl-ucb", "c-ucb", "c-ts", "c-ucb(lower_bounds=True)", "tc-ucb", "tc-ts")
CASES = {
    "pseudo-lower bounds": ("CMAB-Tabular-v0", {"preset": "two-sided"}),
    "the appendix": ("CMAB-Tabular-v0", {"preset": "appendix"}),
    "continuous rewards": ("CMAB-Latent-v0", {"preset": "two-arm-b"}),
    "18 arms": ("CMAB-MovieLens-v0", {"mask": 0.5}),
    "50 arms": ("CMAB-MovieLens-v0", {"task": "movie"}),
}


@pytest.fixture(params=["1", "0"])
def form(request, monkeypatch):
    """Both forms, one after the other."""
    monkeypatch.setenv("CMAB_GYM_COMPILED", request.param)


@pytest.mark.parametrize("name", CASES)
def test_both_forms_give_the_same_numbers(name, monkeypatch, in_both_forms):
    monkeypatch.setattr(Simulation, "of", lambda *_: None)  # round by round
    env_id, keywords = CASES[name]
    compiled, plain = in_both_forms(env_id, AGENTS, 600, 7, env_kwargs=keywords)
    assert compiled.equals(plain)


@settings(deadline=None)  # the first call compiles
@given(
    arrays(np.float64, (3, 4), elements=st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf])),
    st.none() | arrays(np.bool_, (3, 4)),
    arrays(np.float64, 3, elements=st.floats(0, 1, exclude_max=True)),
)
def test_both_forms_break_ties_alike(index, allowed, uniform):
    masked = index if allowed is None else np.where(allowed, index, -np.inf)
    arms, valid = fast.kernels().argmax_with_random_ties(index, allowed, uniform)
    assert valid
    assert_array_equal(arms, argmax_with_random_ties(masked, uniform))


def test_an_index_that_is_nan_counts_where_its_arm_is_allowed():
    index = np.array([[0.0, np.nan], [np.nan, 1.0]])
    choose = fast.kernels().argmax_with_random_ties
    arms, valid = choose(index, ~np.isnan(index), np.zeros(2))
    assert valid
    assert arms.tolist() == [0, 1]
    assert not choose(index, None, np.zeros(2))[1]
    # Also as a row's last entry, and beside the largest.
    assert not choose(np.array([[np.inf, np.nan]]), None, np.zeros(1))[1]


@pytest.mark.parametrize("given", [list, np.int32, np.uint8, lambda arms: arms[::-1][::-1]])
def test_arms_may_come_in_any_form(given, monkeypatch):
    problem, played = tabular_model("three-armed").problem, []
    for switch in "10":
        monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
        agent = make_agent("c-ucb")
        agent.reset(problem, 4, 0)
        rng = np.random.default_rng(1)
        for _ in range(50):
            played.append(agent.act())
            agent.update(given(played[-1]), rng.choice(problem.reward_support, 4).tolist())
    assert_array_equal(played[:50], played[50:])


def pickled(agent):
    return pickle.loads(pickle.dumps(agent))  # noqa: S301


@pytest.mark.parametrize("twin", [copy.deepcopy, pickled])
@pytest.mark.parametrize("then", ["1", "0"])
@pytest.mark.parametrize("name", ["ts", "c-ts", "tc-ucb"])
def test_an_agent_is_copied_in_mid_trial_and_goes_on_in_either_form(name, then, twin, monkeypatch):
    problem = tabular_model("three-armed").problem
    agent = make_agent(name)
    agent.reset(problem, 5, 0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        agent.update(agent.act(), rng.choice(problem.reward_support, 5))
    monkeypatch.setenv("CMAB_GYM_COMPILED", then)
    other = twin(agent)
    for _ in range(40):
        arms, rewards = agent.act(), rng.choice(problem.reward_support, 5)
        assert_array_equal(other.act(), arms)
        agent.update(arms, rewards)
        other.update(arms, rewards)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("name", ["ucb", "c-ucb"])
@pytest.mark.parametrize(
    ("arms", "rewards"), [([0, 3], [0, 0]), ([0, -1], [0, 0]), ([0], [0]), ([0, 1], [0])]
)
def test_arms_that_are_none_change_nothing(name, arms, rewards):
    agent = make_agent(name)
    agent.reset(tabular_model("three-armed").problem, 2, 0)
    with pytest.raises(ValueError, match="expected"):
        agent.update(np.array(arms), np.array(rewards))
    assert agent.pulls.sum() == agent.t == 0


@pytest.mark.usefixtures("form")
def test_a_reward_that_is_none_changes_nothing():
    agent = make_agent("c-ucb")
    agent.reset(tabular_model("three-armed").problem, 1, 0)
    with pytest.raises(ValueError, match="expected"):
        agent.update(np.array([0]), np.array([np.nan]))
    assert agent.pulls.sum() == agent.t == 0


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("shape", [(1, 3), (3,)])
def test_a_subclass_may_allow_the_same_arms_in_all_trials(shape):
    class Second(IndexAgent):
        def allowed_arms(self):
            return np.array([False, True, False]).reshape(shape)

    agent = Second(UCB())
    agent.reset(tabular_model("three-armed").problem, 40, 0)
    for _ in range(3):
        agent.update(agent.act(), np.zeros(40))
    assert agent.act().tolist() == [1] * 40


def test_the_switch_and_what_is_missing(monkeypatch):
    assert fast.is_wanted()
    assert versions_of_a_run()["numba"]
    with monkeypatch.context() as patch:
        patch.setenv("CMAB_GYM_COMPILED", "0")
        assert not fast.is_wanted()
        assert "numba" not in versions_of_a_run()
    with monkeypatch.context() as patch:
        patch.setattr(fast, "_is_installed", lambda: False)
        assert not fast.is_wanted()
        assert "numba" not in versions_of_a_run()


def versions_of_a_run():
    results = evaluate("CMAB-Tabular-v0", ["c-ucb"], 10, 2)
    assert not results.failures
    return results.manifest["versions"]


def missing(patch):
    patch.setitem(sys.modules, "cmab_gym.agents.compiled", None)
    patch.delattr("cmab_gym.agents.compiled", raising=False)


def damaged(patch):
    def read():
        raise EOFError("Ran out of input")

    patch.setattr("cmab_gym.agents.compiled.play_a_round", read)


@pytest.mark.parametrize("fault", [missing, damaged])
def test_a_numba_that_does_not_work_is_done_without(fault, monkeypatch):
    assert fast.kernels() is not None
    fast.kernels.cache_clear()
    with monkeypatch.context() as patch:
        fault(patch)
        with pytest.warns(UserWarning, match="numba does not work here"):
            results = evaluate("CMAB-Tabular-v0", ["c-ucb"], 50, 2)
    fast.kernels.cache_clear()
    assert not results.failures
    assert fast.kernels() is not None


def test_where_nothing_can_be_kept_on_disk_it_is_compiled_all_the_same():
    program = (
        "import numba\n"
        "real = numba.njit\n"
        "def njit(function, cache=False, **options):\n"
        "    if cache:\n"
        "        raise RuntimeError('cannot cache function: no locator available')\n"
        "    return real(function, **options)\n"
        "numba.njit = njit\n"
        "from cmab_gym.agents import fast\n"
        "print(fast.kernels() is not None)"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["True"], done.stderr


def test_numba_is_loaded_by_the_first_agent_alone():
    program = (
        "import sys, cmab_gym\n"
        "agent = cmab_gym.make_agent('c-ucb')\n"
        "print('numba' in sys.modules)\n"
        "agent.reset(cmab_gym.envs.tabular.tabular_model('table1-a').problem, 2, 0)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr
