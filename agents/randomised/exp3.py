"""EXP3: exponential weights for rewards that an adversary may choose."""

from __future__ import annotations

from dataclasses import dataclass

from cmab_gym.agents.randomised.estimated_losses import EstimatedLosses, exponential_rate
from cmab_gym.arrays import FloatArray


@dataclass(frozen=True)
class EXP3(EstimatedLosses):
    """Draw an arm with a probability that falls exponentially with its estimated losses.

    Probability of arm k in round t: proportional to exp(-eta_t L_k), where L_k is the sum of the
    losses of arm k divided by the probabilities with which it was drawn, and
    eta_t = rate sqrt(ln K / (t K)).

    Args:
        rate: factor of the learning rate, above 0. A smaller one explores more.

    Needs: bounds that hold the rewards tightly, since losses are scaled by them.

    Cost per round: O(K), with K Gumbel numbers.

    Guarantee: with rate 1, expected regret at most 2 sqrt(T K ln K) against the best arm for any
    sequence of rewards. Not as `c-exp3`: the candidates depend on averages.

    Source: Auer, Cesa-Bianchi, Freund and Schapire (2002); the rates and the bound from Bubeck and
    Cesa-Bianchi (2012), Section 3.
    """

    def log_weights(self, scores: FloatArray, t: int) -> FloatArray:
        """Return -eta_t L, float64 (B, K): see `RandomisedPolicy.log_weights`."""
        return -self.rate * exponential_rate(t, scores.shape[1]) * scores
