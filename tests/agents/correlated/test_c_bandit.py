"""The C-Bandit algorithm against its definition, and its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import SEEDS, pull_histories, tabular_models

from cmab_gym import BanditProblem, evaluate, make_agent
from cmab_gym.agents import KLUCB, TS, UCB, CBandit, IndexAgent
from cmab_gym.competitive import best_mean
from cmab_gym.models import HistogramModel, TabularModel
from cmab_gym.models.presets import TABULAR
from cmab_gym.problem import unknown_arms
from cmab_gym.pseudo_rewards import mask_and_pad


def play(agent, problem, arms, rewards, seed=0):
    agent.reset(problem, arms.shape[1], seed)
    for pulled, seen in zip(arms, rewards, strict=True):
        agent.update(pulled, seen)
    return agent


def rewards_for(model, arms, seed):
    rng = np.random.default_rng(seed)
    columns = [
        model.pull(model.draw(rng, len(arms)), column[:, None])[0][:, 0] for column in arms.T
    ]
    return np.stack(columns, axis=1)


def allowed_by_definition(problem, arms, rewards):
    """Section 3 of the paper for one trial, arm by arm."""
    n_arms, t = problem.n_arms, len(arms)
    seen = [[r for a, r in zip(arms, rewards, strict=True) if a == k] for k in range(n_arms)]
    mean = [float(np.mean(s)) for s in seen]
    significant = [k for k in range(n_arms) if len(seen[k]) >= t / n_arms]
    support = problem.reward_support.tolist()
    best = max(mean[k] for k in significant)

    def phi(l, k):  # noqa: E741
        if l == k:
            return mean[k]
        return float(np.mean([problem.pseudo_rewards[l, k, support.index(r)] for r in seen[k]]))

    bound = [min(phi(l, k) for k in significant) for l in range(n_arms)]  # noqa: E741
    # Rounding may order means that are equal: then one of them, or more, are the best.
    emp = [k in significant and mean[k] > best - 1e-9 for k in range(n_arms)]
    others = [[k for k in range(n_arms) if k != l] for l in range(n_arms)]  # noqa: E741
    nothing_known = [
        (problem.pseudo_rewards[l, others[l]] >= problem.reward_bounds[1]).all()
        for l in range(n_arms)  # noqa: E741
    ]
    return significant, np.array(bound) - best, np.array(emp), np.array(nothing_known)


@settings(deadline=None)
@given(st.data())
def test_allowed_arms_are_those_of_the_papers_definition(data):
    model = data.draw(tabular_models())
    arms = data.draw(pull_histories(model))
    rewards = rewards_for(model, arms, data.draw(SEEDS))
    agent = play(CBandit(UCB()), model.problem, arms, rewards)
    allowed, significant = agent.allowed_arms(), agent.history.significant
    for trial in range(2):
        expected, margin, emp, unknown = allowed_by_definition(
            model.problem, arms[:, trial].tolist(), rewards[:, trial].tolist()
        )
        assert np.flatnonzero(significant[trial]).tolist() == expected
        clear = (np.abs(margin) > 1e-9) & ~(emp & (emp.sum() > 1))  # rounding decides the others
        np.testing.assert_array_equal(
            allowed[trial, clear], (margin > 0)[clear] | emp[clear] | unknown[clear]
        )
        assert allowed[trial, emp].any()


@settings(deadline=None)
@given(st.data())
def test_some_arm_is_always_significant_and_allowed(data):
    model = data.draw(tabular_models())
    arms = data.draw(pull_histories(model))
    agent = play(CBandit(UCB()), model.problem, arms, rewards_for(model, arms, 0))
    assert agent.history.significant.any(axis=1).all()
    assert agent.allowed_arms().any(axis=1).all()


@settings(deadline=None)
@given(st.data())
def test_relabelling_the_arms_relabels_the_allowed_ones(data):
    model = data.draw(tabular_models())
    arms = data.draw(pull_histories(model))
    rewards = rewards_for(model, arms, data.draw(SEEDS))
    order = np.array(data.draw(st.permutations(range(model.n_arms))))
    other = TabularModel(np.asarray(model.outcomes)[:, order], model.probabilities)
    place = np.argsort(order)
    mine = play(CBandit(UCB()), model.problem, arms, rewards)
    relabelled = play(CBandit(UCB()), other.problem, place[arms], rewards)
    clear = np.abs(_margins(mine)) > 1e-9
    np.testing.assert_array_equal(
        np.where(clear, mine.allowed_arms(), False)[:, order],
        np.where(clear[:, order], relabelled.allowed_arms(), False),
    )


def _margins(agent):
    return agent.history.bounds - best_mean(agent.history.means, agent.history.significant)


def uninformative(model, own_too=False):
    """The same bandit for a player who knows nothing: every pseudo-reward is the maximum."""
    problem = model.problem
    high = problem.reward_bounds[1]
    table = mask_and_pad(problem.pseudo_rewards, problem.reward_support, high, pad=1e6)
    if own_too:
        table[:] = high
    return BanditProblem(table, problem.reward_support, problem.reward_bounds)


def assert_same_choices(one, other, model, problem, seed, rounds):
    """Both choose the same arms, round by round, in three trials."""
    rng = np.random.default_rng(seed)
    for agent in (one, other):
        agent.reset(problem, 3, seed)
    for _ in range(rounds):
        arms = one.act()
        np.testing.assert_array_equal(arms, other.act())
        rewards, _ = model.pull(model.draw(rng, 3), arms[:, None])
        for agent in (one, other):
            agent.update(arms, rewards[:, 0])


@settings(deadline=None)
@given(tabular_models(), SEEDS, st.sampled_from([UCB(), UCB(B=0.3), TS(), KLUCB()]), st.booleans())
def test_without_knowledge_c_x_chooses_exactly_like_x(model, seed, policy, own_too):
    problem = uninformative(model, own_too)
    plain, correlated = IndexAgent(policy), CBandit(policy)
    assert_same_choices(plain, correlated, model, problem, seed, 80)


def test_rewards_that_do_not_add_up_exactly_do_not_break_that_law():
    """0.1 + 0.1 + ... is not n times 0.1: a sum divided by n would rule the best arm out."""
    support = np.array([0.0, 0.1])
    problem = BanditProblem(np.broadcast_to(support, (3, 3, 2)), support, (0, 0.1))
    model = HistogramModel([[1, 0], [0, 1], [0, 1]], problem)
    knows_nothing = uninformative(model)
    agents = IndexAgent(UCB()), CBandit(UCB())
    for agent in agents:
        agent.reset(knows_nothing, 4, 1)
    rng = np.random.default_rng(0)
    for _ in range(400):
        arms = agents[0].act()
        np.testing.assert_array_equal(arms, agents[1].act())
        rewards, _ = model.pull(model.draw(rng, 4), arms[:, None])
        for agent in agents:
            agent.update(arms, rewards[:, 0])


def test_only_arms_of_which_nothing_is_known_are_exempt():
    high = np.full((3, 3, 2), 1.0)
    high[np.arange(3), np.arange(3)] = [0, 1]
    high[2, 0, 0] = 0.9  # something about arm 2
    problem = BanditProblem(high, [0, 1], (0, 1))
    np.testing.assert_array_equal(unknown_arms(problem), [True, True, False])
    # All significant; arm 0 is best. Arm 1 is unknown and may be played, arm 2 is set aside.
    arms, rewards = np.array([[0], [1], [2]]), np.array([[1.0], [0], [0]])
    agent = play(CBandit(UCB()), problem, arms, rewards)
    assert agent.allowed_arms().tolist() == [[True, True, False]]


def test_an_arm_whose_bound_equals_the_best_mean_is_competitive():
    table = [[[0, 1], [1, 1]], [[0.5, 1], [0, 1]]]
    problem = BanditProblem(table, [0, 1], (0, 1))
    # Arm 0 gives 1 twice: its mean is 1, and so is phi of arm 1, which is not significant.
    agent = play(CBandit(UCB()), problem, np.array([[0], [1], [0]]), np.array([[1.0], [0], [1]]))
    assert agent.history.significant.tolist() == [[True, False]]
    assert agent.allowed_arms().tolist() == [[True, True]]


def test_table_1_by_hand():
    preset = TABULAR["table1-a"]
    model = TabularModel(preset.outcomes, preset.probabilities, preset.pseudo_rewards)
    # Arm 0 gives 1, 1, 0: mean 2/3, phi of arm 1 = (.4 + .4 + .7) / 3 = .5. Arm 1 gives 0, once.
    agent = play(
        CBandit(UCB()),
        model.problem,
        np.array([[0], [1], [0], [0]]),
        np.array([[1.0], [0], [1], [0]]),
    )
    np.testing.assert_allclose(agent.history.phi[0], [[2 / 3, 0.8], [0.5, 0]])
    assert agent.history.significant.tolist() == [[True, False]]
    assert agent.allowed_arms().tolist() == [[True, False]]
    assert agent.act().tolist() == [0]


def test_phi_of_an_arm_with_respect_to_itself_is_its_mean_even_in_bins():
    """The bin's upper edge is more than the reward: it must not be used for the arm itself."""
    edges = np.array([0.0, 0.5, 1.0])
    table = np.broadcast_to(edges[1:], (2, 2, 2)).copy()
    problem = BanditProblem(table, [0.25, 0.75], (0, 1), edges)
    arms, rewards = np.array([[0], [1]]), np.array([[0.1], [0.7]])
    agent = play(CBandit(UCB()), problem, arms, rewards)
    np.testing.assert_allclose(agent.history.phi[0], [[0.1, 1.0], [0.5, 0.7]])
    # Arm 0 is set aside by its own mean, and arm 0's bound for arm 1 is below arm 1's mean.
    assert agent.allowed_arms().tolist() == [[False, True]]


def test_nothing_is_ruled_out_before_any_pull():
    agent = CBandit(UCB())
    agent.reset(TabularModel.from_pmf([[0.2, 0.2], [0.4, 0.2]]).problem, 2, 0)
    assert agent.allowed_arms().all()


def two_sided(lower, n_arms=3):
    """Rewards 0 and 1; of every arm given another only the pseudo-lower bounds are known."""
    table = np.ones((n_arms, n_arms, 2))
    own = np.arange(n_arms)
    table[own, own] = [0, 1]
    bounds = np.full((n_arms, n_arms, 2), -np.inf)
    for (arm, known), values in lower.items():
        bounds[arm, known] = values
    return BanditProblem(table, [0, 1], (0, 1), None, bounds)


def test_pseudo_lower_bounds_by_hand():
    """Arm 1's rewards say that arm 0's mean is at least .8: arm 2, known to be below, is out."""
    problem = two_sided({(0, 1): (0.8, 0.9)})
    table = problem.pseudo_rewards.copy()
    table[2, 1] = 0.7
    problem = BanditProblem(table, [0, 1], (0, 1), None, problem.pseudo_lower_bounds)
    # Means 0, 1/2, 0: arm 1 alone is significant (2 of 4 pulls; the others have 1 < 4/3).
    arms, rewards = np.array([[0], [1], [2], [1]]), np.array([[0.0], [1], [0], [0]])
    plain = play(CBandit(UCB()), problem, arms, rewards)
    assert plain.allowed_arms().tolist() == [[True, True, True]]
    lower = play(CBandit(UCB(), lower_bounds=True), problem, arms, rewards)
    # The floor is (.9 + .8) / 2 = .85 > .7: arm 2 is set aside, and arm 1 stays as the best seen.
    assert lower.allowed_arms().tolist() == [[True, True, False]]


@settings(deadline=None)
@given(tabular_models(), SEEDS, st.sampled_from([None, -np.inf]))
def test_without_pseudo_lower_bounds_the_option_changes_nothing(model, seed, unknown):
    lower = None if unknown is None else np.full(model.problem.pseudo_rewards.shape, unknown)
    problem = TabularModel(model.outcomes, model.probabilities, pseudo_lower_bounds=lower).problem
    plain, with_lower = CBandit(UCB()), CBandit(UCB(), lower_bounds=True)
    assert_same_choices(plain, with_lower, model, problem, seed, 60)


@pytest.mark.parametrize("policy", ["ucb", "ts"])
def test_pseudo_lower_bounds_lower_the_regret_on_the_preset_for_them(policy):
    """By a tenth at least; the paired difference is 4 standard errors or more from 0."""
    names = [f"c-{policy}", f"c-{policy}(lower_bounds=True)"]
    results = evaluate("CMAB-Tabular-v0", names, 1000, 1000, 0, env_kwargs={"preset": "two-sided"})
    plain, lower = (results.regret(name)[:, -1] for name in names)
    difference = plain - lower
    assert difference.mean() > 0.1 * plain.mean()
    assert difference.mean() > 4 * difference.std(ddof=1) / np.sqrt(difference.size)


def test_the_option_is_part_of_how_an_agent_prints():
    assert repr(CBandit(UCB(), True)) == "CBandit(UCB(B=None), lower_bounds=True)"
    assert repr(make_agent("c-ucb(B=2, lower_bounds=True)")) == (
        "CBandit(UCB(B=2), lower_bounds=True)"
    )
    with pytest.raises(ValueError, match=r"lower_bounds.*its parameters are \['B'\]"):
        make_agent("ucb(lower_bounds=True)")
