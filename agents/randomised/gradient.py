"""Gradient bandit: preferences that follow the gradient of the expected reward."""

from __future__ import annotations

from dataclasses import dataclass

from cmab_gym import checks
from cmab_gym.agents.randomised.policy import RandomisedPolicy, add_to_pulled
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of


@dataclass(frozen=True)
class Gradient(RandomisedPolicy):
    """Draw an arm with a probability that grows with its preference, which learns from rewards.

    Probability of arm k: p_k proportional to exp(H_k). After the reward r of arm a, H_a grows by
    step (r - baseline) (1 - p_a) / sigma, and every other H_k falls by
    step (r - baseline) p_k / sigma, with the step size `step_size`.

    Args:
        step_size: above 0. A smaller one explores more.
        baseline: whether r is compared with the average of the rewards before it. Without, the
            baseline is 0, and all arms look good if rewards are above 0.
        B: scale of the rewards, in their unit; None takes the problem's. sigma = B / 2, so that
            rewards with standard deviation 1 need no scaling, as in the book.

    Cost per round: O(K), with K Gumbel numbers.

    Guarantee: none on its regret; it is stochastic gradient ascent (REINFORCE) on the expected
    reward, and may stay with an arm that is not best for very long.

    Source: Williams (1992); Sutton and Barto (2018), Section 2.8, equation 2.12.
    """

    step_size: float = 0.1
    baseline: bool = True
    B: float | None = None

    def __post_init__(self) -> None:
        checks.positive("step_size", self.step_size, "it multiplies the rewards")
        check_scale(self.B)

    def log_weights(self, scores: FloatArray, t: int) -> FloatArray:
        """Return the preferences, float64 (B, K): see `RandomisedPolicy.log_weights`."""
        return scores

    def learned(
        self, scores: FloatArray, probabilities: FloatArray, history: History
    ) -> FloatArray:
        """Return the preferences after a round: see `RandomisedPolicy.learned`."""
        reward, before = history.last_reward, history.t - 1
        better = reward.copy()
        if self.baseline:  # of no rewards yet, it is the reward itself
            better -= (history.sums.sum(axis=1) - reward) / before if before else reward
        step = self.step_size * better / (scale_of(self.B, history.problem) / 2)
        return add_to_pulled(scores - step[:, None] * probabilities, history.last_arm, step)
