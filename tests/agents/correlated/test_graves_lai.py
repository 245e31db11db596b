"""The agent of the lower bound: its programs compared with other ways to solve them."""

import numpy as np
import pytest
from hypothesis import given, settings
from reference import bernoulli_kl
from scipy.optimize import minimize
from strategies import SEEDS

from cmab_gym import BanditProblem, evaluate
from cmab_gym.agents.correlated.graves_lai import GravesLai
from cmab_gym.agents.correlated.graves_lai.exploration import cheapest_exploration
from cmab_gym.agents.correlated.graves_lai.nearest import NearestDistributions, divergences
from cmab_gym.envs.movielens import movielens_model
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.joint_rewards import JointRewards
from cmab_gym.models import TabularModel
from cmab_gym.theory import graves_lai_bound

# Arms 1 and 2 are worse than arm 0. If arm 1 were best, arm 2 would give 1 most of the time: its
# rewards tell more about arm 1 than those of arm 1 do.
INFORMATIVE = np.ones((3, 3, 2))
INFORMATIVE[[0, 1, 2], [0, 1, 2]] = [0, 1]
INFORMATIVE[1, 2] = [0.44, 0.51]
# P(R_0, R_1, R_2): arm 0 independent with mean .5, arm 2 with mean .2, arm 1 .44 or .49 given it.
MEANS = np.array([[0.56, 0.51], [0.44, 0.49]])  # P(R_1 | R_2)
PMF = 0.5 * np.ones((2, 1, 1)) * MEANS[None] * np.array([0.8, 0.2])


def solved(problem, arm, counts):
    nearest = NearestDistributions(JointRewards.of(problem))
    marginals = nearest.marginals(np.array([arm]), counts[None])
    information = divergences(counts[None], marginals) * counts.sum(axis=1)
    return information.sum(), marginals[0]


def test_without_information_the_nearest_distribution_moves_both_arms_to_one_mean():
    table = np.ones((2, 2, 2))
    table[[0, 1], [0, 1]] = [0, 1]
    problem = BanditProblem(table, [0, 1], (0, 1))
    counts = np.array([[40.0, 60.0], [14.0, 6.0]])  # means .6 and .3
    information, marginals = solved(problem, 1, counts)
    mean = (60 + 6) / 120
    np.testing.assert_allclose(marginals[:, 1], mean, atol=1e-4)
    exact = 100 * bernoulli_kl(0.6, mean) + 20 * bernoulli_kl(0.3, mean)
    assert information == pytest.approx(exact, abs=0.01)


# SciPy 1.15, the newest for Python 3.10, says so of the general solver's own steps.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_the_nearest_distribution_agrees_with_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    outcomes = np.argwhere(np.ones((2, 2, 2))).astype(float)
    model = TabularModel(outcomes, rng.dirichlet(np.ones(8)))
    table = np.minimum(model.problem.pseudo_rewards + rng.choice([0.05, 0.2, 1], (3, 3, 2)), 1)
    table[np.arange(3), np.arange(3)] = [0, 1]
    problem = BanditProblem(table, [0, 1], (0, 1))
    joint, counts = JointRewards.of(problem), rng.integers(1, 30, (3, 2)).astype(float)
    arm = int(model.means.argmax())  # the true distribution makes it the best
    found, marginals = solved(problem, arm, counts)
    others = np.delete(joint.rewards - joint.rewards[:, [arm]], arm, axis=1).T
    limits = np.vstack([joint.limits, others])
    shares = counts / counts.sum(axis=1, keepdims=True)

    def information(q):
        mean = np.clip(joint.rewards.T @ q, 1e-12, 1 - 1e-12)
        return (counts * np.log(shares / np.stack([1 - mean, mean], axis=1))).sum()

    with np.errstate(all="ignore"):
        general = minimize(
            information,
            model.probabilities,
            method="SLSQP",
            bounds=[(1e-9, 1)] * 8,
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1},
                {"type": "ineq", "fun": lambda q: -limits @ q},
            ],
            options={"maxiter": 500, "ftol": 1e-10},
        )
    np.testing.assert_allclose(marginals.sum(axis=1), 1, atol=1e-4)
    assert found <= general.fun + 0.02
    if general.success:
        assert found == pytest.approx(general.fun, abs=0.05)


@pytest.mark.parametrize(
    "model",
    [
        tabular_model("table1-b"),
        tabular_model("three-armed"),
        tabular_model(pmf=PMF, pseudo_rewards=INFORMATIVE),
    ],
    ids=["table1-b", "three-armed", "informative"],
)
def test_the_cheapest_exploration_is_that_of_the_lower_bound(model):
    """With the true distributions, the leader known, and few pulls before."""
    bound, best = graves_lai_bound(model), int(model.means.argmax())
    log_t = 20.0
    counts = model.reward_pmf * 1e-3
    counts[best] *= 1e10
    needed, gaps = np.full((1, model.n_arms), log_t), model.gaps[None] / model.problem.reward_range
    needed[0, best], gaps[0, best] = -np.inf, np.inf
    nearest = NearestDistributions(JointRewards.of(model.problem))
    needed[0, ~nearest.can_be_best] = -np.inf
    many = np.full(gaps.shape, 1e6)
    x = cheapest_exploration(nearest, counts[None], needed, gaps, many)
    assert x[0] @ model.gaps == pytest.approx(bound.constant * log_t, rel=0.02)


def test_a_bad_arm_is_pulled_for_what_it_tells():
    model = tabular_model(pmf=PMF, pseudo_rewards=INFORMATIVE)
    assert graves_lai_bound(model).pulls[1] == 0
    env_kwargs = {"pmf": PMF, "pseudo_rewards": INFORMATIVE}
    found = evaluate("CMAB-Tabular-v0", ["graves-lai", "c-imed"], 4000, 30, env_kwargs=env_kwargs)
    regret = {name: found.regret(name)[:, -1] for name in ("graves-lai", "c-imed")}
    # 31 against 16 on average, with a standard error of 4 for the difference.
    assert (regret["c-imed"] - regret["graves-lai"]).mean() > 5


def test_each_trial_is_what_it_is_alone():
    env_kwargs = {"preset": "three-armed"}
    together, alone = (
        evaluate("CMAB-Tabular-v0", ["graves-lai"], 60, 3, env_kwargs=env_kwargs, batch_size=size)
        for size in (3, 1)
    )
    np.testing.assert_array_equal(together.regret("graves-lai"), alone.regret("graves-lai"))


def test_it_exploits_once_the_table_says_enough():
    found = evaluate("CMAB-Tabular-v0", ["graves-lai"], 3000, 20, checkpoints=[2000, 3000])
    regret = found.regret("graves-lai")
    assert (regret[:, 1] - regret[:, 0]).mean() < 0.5


def test_problems_that_are_too_large_or_contradictory_are_refused():
    agent = GravesLai()
    with pytest.raises(ValueError, match=r"18 arms of 5 rewards have .* at most 256"):
        agent.reset(movielens_model("genre").problem, 1, 0)
    table = np.zeros((2, 2, 2))
    table[[0, 1], [0, 1]] = [0, 1]
    table[0, 1], table[1, 0] = -1, -1  # no reward is that low
    with pytest.raises(ValueError, match="no joint distribution respects"):
        agent.reset(BanditProblem(table, [0, 1], (0, 1)), 1, 0)
