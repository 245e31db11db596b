"""Track-and-Stop: pull in the proportions that tell the best arm with the fewest pulls."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.identification.api import SamplingAgent
from cmab_gym.agents.mathematics.bernoulli import bernoulli_kl, unit_means
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

_GROWTH = 1.05  # of the pulls from one computation of the proportions to the next
_LEAST_GAP = 1e-4  # of the means for which proportions are computed
_HALVINGS = 25  # of the interval that holds a root


class TrackAndStop(SamplingAgent):
    """Pull in the proportions that tell the best arm with the fewest pulls.

    Idea: every algorithm needs at least about ln(1 / delta) / g(w) pulls if it pulls in the
    proportions w, where g(w) is the least over arms l of the information per pull against "arm l is
    better than the best arm". Track the w* that maximises g at the means so far: pull the arm that
    lags most behind t w*, or, if an arm has fewer than sqrt(t) - K / 2 pulls, the one with fewest.
    Rewards are scaled to [0, 1], and kl is the divergence of Bernoulli distributions. w* is
    computed again when t has grown by 5 %.

    Stop when for the arm h with the largest mean and every other arm l, with their joint mean m,
    n_h kl(mean_h, m) + n_l kl(mean_l, m) >= ln((K - 1) / delta) + c_h + c_l. Here c is the
    logarithm of an arm's largest likelihood minus that of its mean likelihood, where the success
    probability is drawn from Beta(1/2, 1/2); about ln(n) / 2 + 0.23.

    Args:
        delta: the accepted probability of stopping with a wrong arm, between 0 and 1.

    Needs: rewards within known bounds, not only a `reward_sigma`.

    Cost per round: O(K), and O(K) with 600 logarithms when w* is computed.

    Guarantee: the arm is wrong with probability at most delta. For rewards in [0, 1] with mean mu,
    (x / mu)^r ((1 - x) / (1 - mu))^(1 - r) is convex in r, so that its mean is at most 1: products
    of it, their mean over x, and that of two arms are supermartingales; a union bound over the
    K - 1 pairs of the best arm and another. For rewards 0 and 1 the pulls are the fewest possible
    as delta goes to 0; rewards in between vary less, and fewer pulls would do.

    Source: Garivier and Kaufmann (2016), "Optimal best arm identification with fixed confidence":
    D-tracking, Theorem 5 and Lemma 4 for w*, and the generalised likelihood ratio. The threshold is
    that of their Section 4.2 for two arms (Krichevsky and Trofimov), without the bound on c.
    """

    _changing = ("_weights", "_next")

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IdentificationAgent.reset`.

        Raises:
            ValueError: only a `reward_sigma` is known of the rewards.
        """
        if problem.reward_sigma is not None:
            raise ValueError(
                f"reward_sigma={problem.reward_sigma:g}: expected rewards whose bounds say enough; "
                "use top-two-ts for sub-Gaussian rewards"
            )
        super().reset(problem, trials, rng)
        self._trial = np.arange(trials)
        self._weights: FloatArray = np.zeros((trials, problem.n_arms))
        self._next = 0

    def _choose(self) -> IntArray:
        pulls, t = self.history.pulls, self.history.t
        if t >= self._next:
            self._next = max(t + 1, int(t * _GROWTH))
            self._weights = best_proportions(unit_means(self.history))
        starved = pulls.min(axis=1, keepdims=True) < np.sqrt(t) - pulls.shape[1] / 2
        lag = np.where(starved, -pulls, t * self._weights - pulls)
        return argmax_with_random_ties(lag, self.rng.uniform())

    def _stops(self) -> BoolArray:
        from scipy.special import betaln

        pulls, means, trial = self.history.pulls, unit_means(self.history), self._trial
        best = self.best_arm()
        wins = pulls * means
        likelihood = _times_log(wins, means) + _times_log(pulls - wins, 1 - means)
        mixture = betaln(wins + 0.5, pulls - wins + 0.5) - np.log(np.pi)
        c = likelihood - mixture
        own, mean = pulls[trial, best][:, None], means[trial, best][:, None]
        joint = (own * mean + wins) / (own + pulls)
        evidence = own * bernoulli_kl(mean, joint) + pulls * bernoulli_kl(means, joint)
        evidence -= c + c[trial, best][:, None]
        evidence[trial, best] = np.inf
        stops: BoolArray = evidence.min(axis=1) >= np.log(max(pulls.shape[1] - 1, 1) / self.delta)
        return stops


def best_proportions(means: FloatArray) -> FloatArray:
    """Return the proportions of pulls that tell the best of some Bernoulli arms the soonest.

    Args:
        means: float64 (B, K), in [0, 1]. Arms within 1e-4 of the best count as 1e-4 worse.

    Returns:
        float64 (B, K), w*; each row sums to 1.

    Source: Garivier and Kaufmann (2016), Theorem 5: with y the information against each arm per
    pull of the best one, x_l(y) pulls of arm l are needed, and y is the root of
    sum_l kl(mean_best, m_l) / kl(mean_l, m_l) = 1, where m_l is the joint mean.

    Examples:
        >>> best_proportions(np.array([[0.5, 0.4, 0.2]])).round(3)
        array([[0.485, 0.488, 0.027]])
    """
    trial, best = np.arange(len(means)), means.argmax(axis=1)
    top = np.clip(means[trial, best], 2 * _LEAST_GAP, 1 - _LEAST_GAP)[:, None]
    others = np.clip(means, 0, top - _LEAST_GAP)
    most = bernoulli_kl(top, others)
    most[trial, best] = np.inf
    low, high = np.zeros(top.shape), most.min(axis=1, keepdims=True)
    for _ in range(_HALVINGS):
        y = (low + high) / 2
        joint = _joint_means(top, others, y)
        ratio = bernoulli_kl(top, joint) / np.maximum(bernoulli_kl(others, joint), 1e-300)
        ratio[trial, best] = 0.0
        above = ratio.sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, low, y), np.where(above, y, high)
    joint = _joint_means(top, others, low)
    pulls = (top - joint) / np.maximum(joint - others, 1e-300)
    pulls[trial, best] = 1.0
    weights: FloatArray = pulls / pulls.sum(axis=1, keepdims=True)
    return weights


def _joint_means(top: FloatArray, others: FloatArray, y: FloatArray) -> FloatArray:
    """Find m between an arm's mean and the best with kl(top, m) + x kl(mean, m) = y, (B, K).

    x = (top - m) / (m - mean) is the number of pulls of the arm for which m is the joint mean.
    """
    low, high = others.copy(), np.broadcast_to(top, others.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        pulls = (top - middle) / np.maximum(middle - others, 1e-300)
        enough = bernoulli_kl(top, middle) + pulls * bernoulli_kl(others, middle) > y
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return (low + high) / 2


def _times_log(count: FloatArray, share: FloatArray) -> FloatArray:
    product: FloatArray = count * np.log(np.where(count > 0, share, 1.0))
    return product
