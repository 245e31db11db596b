"""Randomised policies: scores by hand, the law of draws, and what the scores learn from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import brentq

from cmab_gym import evaluate
from cmab_gym.agents import CBandit, IndexAgent
from cmab_gym.agents.randomised.boltzmann import Boltzmann
from cmab_gym.agents.randomised.exp3 import EXP3
from cmab_gym.agents.randomised.exp3_ix import EXP3IX
from cmab_gym.agents.randomised.gradient import Gradient
from cmab_gym.agents.randomised.policy import softmax
from cmab_gym.agents.randomised.tsallis_inf import TsallisINF, log_tsallis_weights
from cmab_gym.envs.independent import independent_model
from cmab_gym.envs.tabular import tabular_model

PROBLEM = independent_model("finite", support=[1, 2, 5], n_arms=3).problem
RANDOMISED = [
    EXP3(rate=3),
    EXP3IX(rate=2),
    TsallisINF(),
    Gradient(),
    Gradient(baseline=False, step_size=1),
]


def scores_after(policy, pulls, problem=PROBLEM):
    """Return the scores of one trial after some pulls, (arm, reward) each, that were logged."""
    agent = IndexAgent(policy)
    agent.reset(problem, 1, 0)
    for arm, reward in pulls:
        agent.update([arm], [reward])
    return agent.history.memory["scores"][0]


def test_the_losses_of_exp3_are_those_computed_by_hand():
    # Losses of 2 and 1 are 3/4 and 1. Round 1: every arm has probability 1/3.
    first = 0.75 / (1 / 3)
    eta = np.sqrt(np.log(3) / (2 * 3))
    p = np.exp(-eta * first) / (np.exp(-eta * first) + 2)
    assert_allclose(scores_after(EXP3(), [(0, 2), (0, 1)]), [first + 1 / p, 0, 0])
    assert_allclose(scores_after(EXP3(), [(0, 2), (1, 1)]), [first, 2 / (1 - p), 0])
    p = np.exp(-3 * eta * first) / (np.exp(-3 * eta * first) + 2)
    assert_allclose(scores_after(EXP3(rate=3), [(0, 2), (0, 1)]), [first + 1 / p, 0, 0])


def test_exp3_ix_adds_half_the_learning_rate_to_the_probability():
    eta = np.sqrt(np.log(3) / 3)
    first = 0.75 / (1 / 3 + eta / 2)
    eta /= np.sqrt(2)
    p = np.exp(-eta * first) / (np.exp(-eta * first) + 2)
    assert_allclose(scores_after(EXP3IX(), [(0, 2), (0, 1)]), [first + 1 / (p + eta / 2), 0, 0])


def test_the_losses_of_tsallis_inf_are_those_computed_by_hand():
    first, eta = 0.75 * 3, 2 / np.sqrt(2)

    def p(x, loss):
        return 4 / (eta * (loss - x)) ** 2

    x = brentq(lambda x: p(x, first) + 2 * p(x, 0) - 1, -9, -0.1)
    expected = [first + 1 / p(x, first), 0, 0]
    assert_allclose(scores_after(TsallisINF(), [(0, 2), (0, 1)]), expected)


def test_the_preferences_of_the_gradient_bandit_are_those_computed_by_hand():
    # sigma is 4 / 2. The first reward is its own baseline; then 5 is compared with 2.
    assert_allclose(scores_after(Gradient(), [(0, 2)]), [0, 0, 0])
    step = 0.1 * 3 / 2
    second = np.array([-step / 3, 2 * step / 3, -step / 3])
    assert_allclose(scores_after(Gradient(), [(0, 2), (1, 5)]), second)
    p = np.exp(second) / np.exp(second).sum()
    step = 0.1 * (1 - 3.5) / 2
    third = second + step * (np.array([0, 0, 1]) - p)
    assert_allclose(scores_after(Gradient(), [(0, 2), (1, 5), (2, 1)]), third)
    assert_allclose(
        scores_after(Gradient(baseline=False, B=1), [(0, 2)]), np.array([2, -1, -1]) * 0.4 / 3
    )


@given(arrays(np.float64, (3, 7), elements=st.floats(0, 1e6)))
def test_the_probabilities_of_tsallis_inf_sum_to_1_and_have_one_normaliser(losses):
    weights = np.exp(log_tsallis_weights(losses))
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-9)
    x = losses - 2 / np.sqrt(weights)
    assert_allclose(x, x[:, :1] + 0 * x, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("n_arms", [2, 10, 5000])
def test_newtons_steps_suffice_for_equal_losses(n_arms):
    assert_allclose(np.exp(log_tsallis_weights(np.zeros((1, n_arms)))), 1 / n_arms, rtol=1e-12)


class Restricted(IndexAgent):
    """Allows arms 0 and 2 only."""

    def allowed_arms(self):
        return np.broadcast_to([True, False, True], self.history.pulls.shape)


@pytest.mark.parametrize("policy", RANDOMISED, ids=repr)
@pytest.mark.parametrize("kind", [IndexAgent, Restricted])
def test_arms_are_drawn_with_the_probabilities_that_the_scores_learn_from(policy, kind):
    """A chi-square test of 20,000 draws: false alarm 0.001 for another seed."""
    agent, seen = kind(policy), []

    class Watched(type(policy)):
        def learned(self, scores, probabilities, history):
            seen.append(probabilities)
            return super().learned(scores, probabilities, history)

    agent.policy = Watched(**vars(policy))
    agent.reset(PROBLEM, 200, 0)
    pulls = ((0, 2.0), (2, 1.0), (0, 5.0), (1, 5.0))
    for arm, reward in pulls[: 3 if kind is Restricted else 4]:
        agent.act()
        agent.update(np.full(200, arm), np.full(200, reward))
    arms = np.concatenate([agent.act() for _ in range(100)])
    agent.update(arms[:200], np.full(200, 2.0))
    p = seen[-1][0]
    assert_allclose(seen[-1], np.tile(p, (200, 1)))
    assert p.sum() == pytest.approx(1)
    assert (p[1] == 0) == (kind is Restricted)
    counts = np.bincount(arms, minlength=3)
    possible = p > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], 20_000 * p[possible]).pvalue > 0.001
    assert p.max() - p[possible].min() > 0.01  # so that uniform draws would fail


def test_a_logged_pull_of_an_arm_that_was_no_candidate_is_learned_from():
    agent = Restricted(EXP3())
    agent.reset(PROBLEM, 1, 0)
    agent.act()
    agent.update([1], [1.0])
    assert_allclose(agent.history.memory["scores"], [[0, 3, 0]])


def test_boltzmann_draws_from_the_softmax_of_the_means():
    agent = IndexAgent(Boltzmann(temperature=0.5))
    agent.reset(PROBLEM, 200, 0)
    for arm, reward in ((0, 1.0), (1, 2.0), (2, 5.0)):
        agent.update(np.full(200, arm), np.full(200, reward))
    arms = np.concatenate([agent.act() for _ in range(100)])
    p = np.exp(np.array([1, 2, 5]) / (0.5 * 4))
    counts = np.bincount(arms, minlength=3)
    assert stats.chisquare(counts, 20_000 * p / p.sum()).pvalue > 0.001


def test_softmax_of_huge_differences_has_no_overflow():
    assert softmax(np.array([[1e6, 0, -1e6]])).tolist() == [[1, 0, 0]]
    assert softmax(np.array([[1e6, 0, -1e6]]), np.array([[False, True, True]])).tolist() == [
        [0, 1, 0]
    ]


def test_estimated_losses_have_no_bias_among_the_candidates_of_a_correlated_agent():
    """The mean over trials of loss / p of each candidate is its loss: within 5 standard errors."""
    model, trials = tabular_model("table1-a"), 400
    agent = CBandit(EXP3(rate=20))
    agent.reset(model.problem, trials, 0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        arms = agent.act()
        candidates = agent.allowed_arms()
        before = agent.history.memory.get("scores", np.zeros((trials, 2))).copy()
        rewards = model.pull(model.draw(rng, trials), np.zeros((1, 1), int))[0][:, 0]
        agent.update(arms, rewards)  # both arms give this reward
        added = agent.history.memory["scores"] - before - candidates * (1 - rewards[:, None])
    assert not candidates.all()
    assert candidates.any(axis=0).all()
    for arm in (0, 1):
        own = added[candidates[:, arm], arm]
        assert abs(own.mean()) <= 5 * own.std() / np.sqrt(own.size) + 1e-12
    assert (added[~candidates] == 0).all()


def test_a_trial_does_not_depend_on_its_batch():
    agents = ["boltzmann", "c-gradient", "exp3", "c-exp3-ix", "c-tsallis-inf"]
    kwargs = {"preset": "three-armed"}
    one, other = (
        evaluate("CMAB-Tabular-v0", agents, 60, 5, env_kwargs=kwargs, batch_size=size)
        for size in (2, 5)
    )
    for name in agents:
        assert_array_equal(one.regret(name), other.regret(name))
    assert len({tuple(one.regret(name)[:, -1]) for name in agents}) == 5


@pytest.mark.parametrize(
    ("policy", "arguments", "message"),
    [
        (EXP3, {"rate": 0}, "rate=0: expected a number above 0"),
        (Gradient, {"step_size": -1}, "step_size=-1: expected a number above 0"),
        (Gradient, {"B": 0}, "B=0: expected a number above 0"),
        (Boltzmann, {"temperature": 0}, "temperature=0: expected a number above 0"),
    ],
)
def test_wrong_arguments_are_refused(policy, arguments, message):
    with pytest.raises(ValueError, match=message):
        policy(**arguments)
