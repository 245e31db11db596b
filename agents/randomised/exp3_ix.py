"""EXP3-IX: exponential weights with implicit exploration."""

from __future__ import annotations

from dataclasses import dataclass

from cmab_gym.agents.randomised.estimated_losses import exponential_rate
from cmab_gym.agents.randomised.exp3 import EXP3


@dataclass(frozen=True)
class EXP3IX(EXP3):
    """EXP3 with estimates that are a little too small, and so vary less.

    Probability of arm k in round t: proportional to exp(-eta_t L_k), where L_k is the sum of the
    losses of arm k divided by p + eta_t / 2, for the probability p with which it was drawn, and
    eta_t = rate sqrt(ln K / (t K)).

    Args:
        rate: factor of the learning rate, above 0. A smaller one explores more.

    Needs: bounds that hold the rewards tightly, since losses are scaled by them.

    Cost per round: O(K), with K Gumbel numbers.

    Guarantee: with rate 1, regret of order sqrt(T K ln K) with high probability, for any sequence
    of rewards, not only in expectation. Not as `c-exp3-ix`.

    Source: Neu (2015), Explore no more.
    """

    def least_divisor(self, t: int, n_arms: int) -> float:
        """Return eta_t / 2: see `EstimatedLosses.least_divisor`."""
        return self.rate * exponential_rate(t, n_arms) / 2
