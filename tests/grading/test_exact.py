"""Right agents get all points; wrong ones read where they went wrong, and why."""

from dataclasses import replace

import numpy as np
import pytest
from submissions import C_UCB, COINS, RUNNING_MEANS, UCB

from cmab_gym.agents.make import make_agent
from cmab_gym.grading import ASSIGNMENTS, Instance, Mistake
from cmab_gym.grading.exact import WrongRound, first_wrong_round
from cmab_gym.grading.mistakes import C_UCB_MISTAKES, UCB_MISTAKES
from cmab_gym.grading.trials import Trial
from cmab_gym.models import TabularModel

STARS = Instance("stars", "CMAB-MovieLens-v0", {"task": "genre"}, shuffled=True)
REWARDS = ASSIGNMENTS["ucb"].instances[3]
TABLE = Instance("table", "CMAB-Tabular-v0", {"preset": "three-armed"}, shuffled=True)
# Of UCB: what is replaced, by what, and a part of the sentence.
MISTAKES = {
    "swapped": (
        "2 * np.log(self.n.sum()) / self.n",
        "2 * np.log(self.n) / self.n.sum()",
        "rounds and the pulls are swapped",
    ),
    "t + 1": ("np.log(self.n.sum())", "np.log(self.n.sum() + 1)", "not the round that begins"),
    "t - 1": ("np.log(self.n.sum())", "np.log(self.n.sum() - 1)", "the last one included"),
    "t of the arm": ("np.log(self.n.sum())", "np.log(self.n)", "not those of the arm"),
    "horizon": ("np.log(self.n.sum())", "np.log(self.problem.horizon)", "not the horizon"),
    "factor": ("np.sqrt(2 *", "np.sqrt(", "factor 2"),
    "root": ("np.sqrt(", "(", "square root in the bonus is missing"),
    "B": ("self.B *", "", "B, the length of the interval"),
    "largest reward": ("problem.reward_range", "problem.reward_bounds[1]", "minus the smallest"),
    "log10": ("np.log(", "np.log10(", "to the base 10"),
    "greedy": ("self.B *", "0 *", "bonus is missing"),
    "smallest": ("np.argmax", "np.argmin", "smallest index is pulled"),
    "unpulled": (
        "if 0 in self.n:\n            return int(np.argmin(self.n))\n        return np.argmax("
        "self.s / self.n + self.B * np.sqrt(2 * np.log(self.n.sum()) / self.n))",
        "n = np.maximum(self.n, 1)\n        return np.argmax("
        "self.s / n + self.B * np.sqrt(2 * np.log(max(self.n.sum(), 1)) / n))",
        "each is pulled before any other",
    ),
    "pulls from 1": (
        "np.zeros(problem.n_arms), np.zeros",
        "np.ones(problem.n_arms), np.zeros",
        "do not count a pull that was not made",
    ),
}


@pytest.mark.parametrize("instance", [COINS, STARS, REWARDS], ids=lambda each: each.name)
@pytest.mark.parametrize("source", [UCB, RUNNING_MEANS], ids=["sums", "running means"])
def test_ucb_is_right(grade, instance, source):
    found = grade(source, instances=(instance,), trials=2, rounds=200)
    assert found.score == 10, found.outcomes[0].feedback


@pytest.mark.parametrize("instance", [TABLE, STARS], ids=lambda each: each.name)
def test_c_ucb_is_right(grade, instance):
    found = grade(C_UCB, reference="c-ucb", instances=(instance,), trials=2, rounds=200)
    assert found.score == 10, found.outcomes[0].feedback


@pytest.mark.parametrize("name", MISTAKES)
def test_the_likely_mistake_is_named(grade, name):
    old, new, sentence = MISTAKES[name]
    assert old in UCB
    found = grade(UCB.replace(old, new), instances=(REWARDS,), rounds=120, mistakes=UCB_MISTAKES)
    assert found.score == 0
    assert "is right." in found.outcomes[0].feedback
    assert sentence in found.outcomes[0].feedback


def test_the_wrong_round_is_shown_with_counts_means_and_both_indices(grade):
    last = UCB.replace("np.argmin(self.n)", "self.n.size - 1 - np.argmin(self.n[::-1])")
    (outcome,) = grade(last).outcomes
    assert outcome.feedback.split("\n") == [
        "Trial 1. Round 1: it pulled arm 1; arm 0 is right.",
        "Arms 0 and 1 have the same index: ties go to the lowest arm.",
        "   arm   pulls      mean     index",
        "     0       0         -       inf  <- right",
        "     1       0         -       inf  <- pulled",
    ]


def test_arms_left_out_of_the_table_may_have_the_same_index():
    first = np.arange(9) == 0
    index, zeros = np.full(9, np.inf), np.zeros(9)
    found = WrongRound(1, 8, first, zeros.astype(int), zeros, index, np.ones(9, dtype=bool), False)
    assert found.explained().split("\n")[-1] == "   ... and 2 other arms"


def wrong_round(rewards, arms, reference="ucb"):
    problem = TabularModel([[0, 1], [1, 0]], [0.5, 0.5]).problem
    arms, rewards = np.array(arms), np.array(rewards, dtype=float)
    trial = Trial(problem, arms, rewards, np.zeros(arms.size), 0.0)
    return first_wrong_round(make_agent(reference), trial)


def test_the_first_wrong_round_by_hand():
    # After one pull of each: indices 1 + sqrt(2 ln 2) and sqrt(2 ln 2).
    found = wrong_round([1, 0, 0], [0, 1, 1])
    assert (found.t, found.arm, found.right.tolist()) == (3, 1, [True, False])
    assert found.pulls.tolist() == [1, 1]
    assert found.means.tolist() == [1, 0]
    assert found.index == pytest.approx([1 + np.sqrt(2 * np.log(2)), np.sqrt(2 * np.log(2))])
    assert not found.tie
    assert wrong_round([1, 0, 0], [0, 1, 0]) is None


def test_a_tie_counts_only_between_arms_with_the_same_rewards_in_the_same_order():
    assert wrong_round([1, 1, 1], [0, 1, 1]).tie
    assert wrong_round([1, 1, 1], [0, 1, 0]) is None
    # Both have the mean 1/3 of three rewards, but in another order: rounding may decide.
    assert wrong_round([1, 0, 0, 0, 1, 0, 1], [0, 1, 0, 0, 1, 1, 1]) is None


def test_c_ucb_that_is_ucb_is_recognised(grade):
    (outcome,) = grade(
        UCB, reference="c-ucb", instances=(STARS,), rounds=200, mistakes=C_UCB_MISTAKES
    ).outcomes
    assert "not competitive  <- pulled" in outcome.feedback
    assert "Likely mistake: it is UCB" in outcome.feedback


def test_c_ucb_may_add_any_one_of_several_best_arms_to_the_competitive_ones(grade):
    # In round 10 of a trial five significant arms share the best mean. Only some are competitive.
    padded = replace(STARS, env_kwargs={"task": "genre", "pad": 0.2})
    for seed in range(6):
        found = grade(C_UCB, reference="c-ucb", instances=(padded,), rounds=60, trials=3, seed=seed)
        assert found.score == 10, found.outcomes[0].feedback


def test_pseudo_rewards_that_are_read_the_wrong_way_round_are_recognised(grade):
    transposed = C_UCB.replace("pseudo_rewards[:, arm, j]", "pseudo_rewards[arm, :, j]")
    (outcome,) = grade(
        transposed, reference="c-ucb", instances=(TABLE,), mistakes=C_UCB_MISTAKES
    ).outcomes
    assert "Likely mistake: the arms of the pseudo-rewards are swapped" in outcome.feedback


def test_an_agent_without_an_index_cannot_be_graded_exactly(grade):
    with pytest.raises(ValueError, match="expected an agent that has an index"):
        grade(UCB, reference="random")
    with pytest.raises(ValueError, match=r"the mistake 'it guesses' .* expected an agent that has"):
        grade(UCB, mistakes=(Mistake("it guesses", "random"),))
    with pytest.raises(ValueError, match="it draws random numbers"):
        grade(UCB, reference="ts")
