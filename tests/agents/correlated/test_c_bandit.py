"""The C-Bandit algorithm against its definition, and its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import paired_gain
from strategies import SEEDS, pull_histories, tabular_models

from cmab_gym import BanditProblem, evaluate, make_agent
from cmab_gym.agents import KLUCB, TS, UCB, CBandit, IndexAgent
from cmab_gym.competitive import best_mean
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import HistogramModel, TabularModel
from cmab_gym.pseudo_rewards import mask_and_pad


def c_ucb_after(problem, arms, rewards, **options):
    """Return c-ucb after these pulls, (rounds, trials) each, or (rounds,) for one trial."""
    arms, rewards = (np.array(each).reshape(len(each), -1) for each in (arms, rewards))
    agent = CBandit(UCB(), **options)
    agent.reset(problem, arms.shape[1], 0)
    for arm, reward in zip(arms, rewards, strict=True):
        agent.update(arm, reward)
    return agent


def rewards_for(model, arms, seed):
    rng = np.random.default_rng(seed)
    columns = [
        model.pull(model.draw(rng, len(arms)), column[:, None])[0][:, 0] for column in arms.T
    ]
    return np.stack(columns, axis=1)


def allowed_by_definition(problem, arms, rewards, log_factor, reference="significant"):
    """Section 3 of the paper for one trial, arm by arm; or its first version's reference."""
    n_arms, t = problem.n_arms, len(arms)
    rewards_of = [[r for a, r in zip(arms, rewards, strict=True) if a == k] for k in range(n_arms)]
    mean = [float(np.mean(each)) for each in rewards_of]
    needed = min(t / n_arms, max(1, log_factor * np.log(t)))
    if reference == "most-pulled":
        needed = max(len(each) for each in rewards_of)
    significant = [k for k in range(n_arms) if len(rewards_of[k]) >= needed]
    support = problem.reward_support.tolist()
    best = max(mean[k] for k in significant)

    def phi(l, k):  # noqa: E741
        if l == k:
            return mean[k]
        entries = problem.pseudo_rewards[l, k]
        return float(np.mean([entries[support.index(r)] for r in rewards_of[k]]))

    bound = [min(phi(l, k) for k in significant) for l in range(n_arms)]  # noqa: E741
    # Rounding may order means that are equal: then at least one of these is the best.
    leader = [k in significant and mean[k] > best - 1e-9 for k in range(n_arms)]
    others = [[k for k in range(n_arms) if k != l] for l in range(n_arms)]  # noqa: E741
    unknown = [
        (problem.pseudo_rewards[l, others[l]] >= problem.reward_bounds[1]).all()
        for l in range(n_arms)  # noqa: E741
    ]
    return significant, np.array(bound) - best, np.array(leader), np.array(unknown)


@settings(deadline=None)
@given(st.data())
def test_allowed_arms_are_those_of_the_papers_definition(data):
    model = data.draw(tabular_models())
    arms = data.draw(pull_histories(model))
    rewards = rewards_for(model, arms, data.draw(SEEDS))
    options = {"log_factor": data.draw(st.sampled_from([np.inf, 1.3, 0.2]))}
    options["reference"] = data.draw(st.sampled_from(["significant", "most-pulled"]))
    agent = c_ucb_after(model.problem, arms, rewards, **options)
    allowed, significant = agent.allowed_arms(), agent.history.significant
    for trial in range(2):
        expected, margin, leader, unknown = allowed_by_definition(
            model.problem, arms[:, trial].tolist(), rewards[:, trial].tolist(), **options
        )
        assert expected
        assert np.flatnonzero(significant[trial]).tolist() == expected
        # Rounding decides the other arms.
        clear = (np.abs(margin) > 1e-9) & ~(leader & (leader.sum() > 1))
        np.testing.assert_array_equal(
            allowed[trial, clear], (margin > 0)[clear] | leader[clear] | unknown[clear]
        )
        assert allowed[trial, leader].any()


@settings(deadline=None)
@given(st.data())
def test_relabelling_the_arms_relabels_the_allowed_ones(data):
    model = data.draw(tabular_models())
    arms = data.draw(pull_histories(model))
    rewards = rewards_for(model, arms, data.draw(SEEDS))
    order = np.array(data.draw(st.permutations(range(model.n_arms))))
    other = TabularModel(np.asarray(model.outcomes)[:, order], model.probabilities)
    original = c_ucb_after(model.problem, arms, rewards)
    relabelled = c_ucb_after(other.problem, np.argsort(order)[arms], rewards)
    history = original.history
    clear = np.abs(history.bounds - best_mean(history.means, history.significant)) > 1e-9
    np.testing.assert_array_equal(
        np.where(clear, original.allowed_arms(), False)[:, order],
        np.where(clear[:, order], relabelled.allowed_arms(), False),
    )


def uninformative(problem, own_too=False):
    """Replace all pseudo-rewards of other arms, or all pseudo-rewards, by the largest reward."""
    high = problem.reward_bounds[1]
    table = mask_and_pad(problem.pseudo_rewards, problem.reward_support, high, pad=1e6)
    if own_too:
        table[:] = high
    return BanditProblem(table, problem.reward_support, problem.reward_bounds)


def assert_same_choices(one, other, model, problem, seed, rounds):
    """Check that both agents choose the same arms, round by round, in three trials."""
    rng = np.random.default_rng(seed)
    for agent in (one, other):
        agent.reset(problem, 3, seed)
    for _ in range(rounds):
        arms = one.act()
        np.testing.assert_array_equal(arms, other.act())
        rewards, _ = model.pull(model.draw(rng, 3), arms[:, None])
        for agent in (one, other):
            agent.update(arms, rewards[:, 0])


@settings(max_examples=50)
@given(tabular_models(), SEEDS, st.sampled_from([UCB(), UCB(B=0.3), TS(), KLUCB()]), st.booleans())
def test_without_knowledge_c_x_chooses_exactly_like_x(model, seed, policy, own_too):
    problem = uninformative(model.problem, own_too)
    assert_same_choices(IndexAgent(policy), CBandit(policy), model, problem, seed, 50)


def test_without_knowledge_choices_agree_for_rewards_whose_sum_is_rounded():
    """0.1 + 0.1 + ... is not n times 0.1: a sum divided by n would rule the best arm out."""
    support = np.array([0.0, 0.1])
    problem = BanditProblem(np.broadcast_to(support, (3, 3, 2)), support, (0, 0.1))
    model = HistogramModel([[1, 0], [0, 1], [0, 1]], problem)
    agents = IndexAgent(UCB()), CBandit(UCB())
    assert_same_choices(*agents, model, uninformative(problem), seed=1, rounds=400)


def test_only_arms_without_any_information_are_exempt():
    table = np.full((3, 3, 2), 1.0)
    table[np.arange(3), np.arange(3)] = [0, 1]
    table[2, 0, 0] = 0.9  # information about arm 2
    problem = BanditProblem(table, [0, 1], (0, 1))
    np.testing.assert_array_equal(problem.rows.unknown, [True, True, False])
    # All are significant; arm 0 is best. Arm 1 is unknown and may be pulled, arm 2 is ruled out.
    agent = c_ucb_after(problem, [0, 1, 2], [1, 0, 0])
    assert agent.allowed_arms().tolist() == [[True, True, False]]


def test_an_arm_whose_bound_equals_the_best_mean_is_competitive():
    table = [[[0, 1], [1, 1]], [[0.5, 1], [0, 1]]]
    # Arm 0 gives 1 twice: its mean is 1, and so is phi of arm 1, which is not significant.
    agent = c_ucb_after(BanditProblem(table, [0, 1], (0, 1)), [0, 1, 0], [1, 0, 1])
    assert agent.history.significant.tolist() == [[True, False]]
    assert agent.allowed_arms().tolist() == [[True, True]]


def test_the_allowed_arms_of_table_1_are_those_computed_by_hand():
    # Arm 0 gives 1, 1, 0: mean 2/3, phi of arm 1 = (.4 + .4 + .7) / 3 = .5. Arm 1 gives 0, once.
    agent = c_ucb_after(tabular_model("table1-a").problem, [0, 1, 0, 0], [1, 0, 1, 0])
    np.testing.assert_allclose(agent.history.phi[0], [[2 / 3, 0.8], [0.5, 0]])
    assert agent.history.significant.tolist() == [[True, False]]
    assert agent.allowed_arms().tolist() == [[True, False]]
    assert agent.act().tolist() == [0]


def test_phi_of_an_arm_given_itself_is_its_mean_even_in_bins():
    """The bin's upper edge is more than the reward: it must not be used for the arm itself."""
    edges = np.array([0.0, 0.5, 1.0])
    table = np.broadcast_to(edges[1:], (2, 2, 2)).copy()
    problem = BanditProblem(table, [0.25, 0.75], (0, 1), edges)
    agent = c_ucb_after(problem, [0, 1], [0.1, 0.7])
    np.testing.assert_allclose(agent.history.phi[0], [[0.1, 1.0], [0.5, 0.7]])
    # Arm 0 is ruled out by its own mean; arm 1, whose bound given arm 0 is lower, is the best.
    assert agent.allowed_arms().tolist() == [[False, True]]


def test_nothing_is_ruled_out_before_any_pull():
    agent = CBandit(UCB())
    agent.reset(tabular_model("table1-a").problem, 2, 0)
    assert agent.allowed_arms().all()


def test_pseudo_lower_bounds_rule_out_the_arm_found_by_hand():
    """Arm 1's rewards bound arm 0's mean by .8 or more from below: arm 2 is below and is out."""
    table = np.ones((3, 3, 2))
    table[np.arange(3), np.arange(3)] = [0, 1]
    table[2, 1] = 0.7
    lower = np.full((3, 3, 2), -np.inf)
    lower[0, 1] = 0.8, 0.9
    problem = BanditProblem(table, [0, 1], (0, 1), None, lower)
    # Means 0, 1/2, 0: only arm 1 is significant (2 of 4 pulls; the others have 1 < 4/3).
    pulls = [0, 1, 2, 1], [0, 1, 0, 0]
    assert c_ucb_after(problem, *pulls).allowed_arms().tolist() == [[True, True, True]]
    # The lower bound is (.9 + .8) / 2 = .85 > .7: arm 2 is ruled out, and arm 1 stays as the best.
    agent = c_ucb_after(problem, *pulls, lower_bounds=True)
    assert agent.allowed_arms().tolist() == [[True, True, False]]


@settings(max_examples=50)
@given(tabular_models(), SEEDS, st.sampled_from([None, -np.inf]))
def test_without_pseudo_lower_bounds_the_option_changes_nothing(model, seed, unknown):
    lower = None if unknown is None else np.full(model.problem.pseudo_rewards.shape, unknown)
    problem = TabularModel(model.outcomes, model.probabilities, pseudo_lower_bounds=lower).problem
    plain, with_lower = CBandit(UCB()), CBandit(UCB(), lower_bounds=True)
    assert_same_choices(plain, with_lower, model, problem, seed, 40)


@pytest.mark.parametrize("policy", ["ucb", "ts"])
def test_pseudo_lower_bounds_lower_the_regret_on_their_preset(policy):
    """By a tenth at least; the paired difference is 4 standard errors or more from 0."""
    names = [f"c-{policy}", f"c-{policy}(lower_bounds=True)"]
    results = evaluate("CMAB-Tabular-v0", names, 1000, 250, 0, env_kwargs={"preset": "two-sided"})
    regret, gain, error = paired_gain(results, *names)
    assert gain > 0.1 * regret
    assert gain > 4 * error


def test_the_option_is_part_of_how_an_agent_prints():
    assert repr(CBandit(UCB(), lower_bounds=True)) == "CBandit(UCB(B=None), lower_bounds=True)"
    assert repr(make_agent("c-ucb(B=2, lower_bounds=True)")) == (
        "CBandit(UCB(B=2), lower_bounds=True)"
    )


def test_the_factor_of_significance_is_a_parameter_of_an_agents_name():
    assert repr(make_agent("c-ucb(log_factor=8)")) == "CBandit(UCB(B=None), log_factor=8)"
    with pytest.raises(ValueError, match=r"log_factor=0: expected a number above 0"):
        make_agent("c-ucb(log_factor=0)")


def test_the_most_pulled_arm_may_be_the_only_reference():
    """Arm 1, of mean 1, is significant and rules arm 2 out; arm 0, pulled most, does not."""
    table = np.ones((3, 3, 2))
    table[np.arange(3), np.arange(3)] = [0, 1]
    table[2, 1, 1] = 0.6
    problem = BanditProblem(table, [0, 1], (0, 1))
    pulls = [0, 1, 2, 0, 1, 0], [0, 1, 0, 1, 1, 1]  # means 2/3, 1, 0
    assert c_ucb_after(problem, *pulls).allowed_arms().tolist() == [[True, True, False]]
    first = c_ucb_after(problem, *pulls, reference="most-pulled")
    assert first.history.significant.tolist() == [[True, False, False]]
    assert first.allowed_arms().tolist() == [[True, True, True]]
    assert repr(first) == "CBandit(UCB(B=None), reference='most-pulled')"
    with pytest.raises(ValueError, match="unknown reference 'best': expected one of"):
        make_agent("c-ucb(reference='best')")


def test_pseudo_rewards_rule_arms_out_until_a_round():
    """From the second round on all arms are allowed, so that nothing is left of the table."""
    named = ["ucb", "c-ucb(until=1)", "tc-ucb(until=1)", "warm-ts", "c-warm-ts(until=1)"]
    results = evaluate("CMAB-MovieLens-v0", named, 60, 3)
    ucb, c_ucb, tc_ucb, warm_ts, c_warm_ts = (results.regret(name) for name in named)
    np.testing.assert_array_equal([c_ucb, tc_ucb, c_warm_ts], [ucb, ucb, warm_ts])
    # By hand: arm 1 is ruled out after four rounds, and comes back.
    problem, pulls = tabular_model("table1-a").problem, ([0, 1, 0, 0], [1, 0, 1, 0])
    assert c_ucb_after(problem, *pulls, until=5).allowed_arms().tolist() == [[True, False]]
    assert c_ucb_after(problem, *pulls, until=4).allowed_arms().tolist() == [[True, True]]
    assert repr(make_agent("c-ucb(until=5)")) == "CBandit(UCB(B=None), until=5)"
    with pytest.raises(ValueError, match=r"until=0: expected"):
        make_agent("c-ucb(until=0)")
