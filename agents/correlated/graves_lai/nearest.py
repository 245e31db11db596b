"""`NearestDistributions`: the joint distributions nearest to the rewards seen, by best arm."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.correlated.graves_lai.interior_point import likeliest
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.joint_rewards import JointRewards

_SLACK = 1e-6  # by which pseudo-rewards are raised, so that the distributions have an interior
_PRECISION = 3e-3  # of a log-likelihood ratio
_LEAST_PRECISION = 1e-5  # of a divergence


class NearestDistributions:
    """For each arm, the likeliest joint distribution under which that arm is best.

    The joint distributions Q respect the pseudo-rewards. The likeliest one minimises
    sum_k n_k KL(P_k, Q_k), where P_k is the empirical distribution of the n_k rewards of arm k.

    Args:
        joint: the joint outcomes.

    Attributes:
        can_be_best: bool (K,), the arms that are best under some distribution.

    Raises:
        ValueError: no joint distribution respects the pseudo-rewards.
    """

    def __init__(self, joint: JointRewards) -> None:
        rewards = joint.rewards
        n_arms = rewards.shape[1]
        ahead = [np.delete(rewards - rewards[:, [arm]], arm, axis=1).T for arm in range(n_arms)]
        limits = np.stack([np.vstack([joint.limits, each]) for each in ahead])
        self.can_be_best: BoolArray = np.array([_is_possible(each) for each in limits])
        if not self.can_be_best.any():
            raise ValueError(
                "no joint distribution respects the pseudo-rewards: they are not all upper bounds; "
                "use an agent that bounds each arm by itself, such as c-imed"
            )
        self._limits = limits - _SLACK
        positions = np.arange(joint.index.max() + 1)[:, None]
        gives = (joint.index.T[:, None] == positions).astype(np.float64)  # (K, R, N)
        self._observed = gives.reshape(-1, gives.shape[2])

    def marginals(self, arms: IntArray, counts: FloatArray) -> FloatArray:
        """Find the marginals of the likeliest distribution under which an arm is best.

        Args:
            arms: int64 (n,), arms that can be best.
            counts: float64 (n, K, R), how often each arm gave each reward; also fractions.

        Returns:
            float64 (n, K, R).
        """
        total = counts.sum(axis=(1, 2))
        q = likeliest(
            self._observed,
            counts.reshape(len(counts), -1) / total[:, None],
            self._limits[arms],
            np.minimum(_PRECISION / total, _LEAST_PRECISION),
        )
        marginals: FloatArray = (self._observed @ q[:, :, None]).reshape(counts.shape)
        return marginals


def divergences(counts: FloatArray, marginals: FloatArray) -> FloatArray:
    """Return KL(P_k, Q_k) of every arm, with the empirical distributions P_k of some counts.

    Args:
        counts: float64 (n, K, R), each arm with some.
        marginals: float64 (n, K, R), Q_k.

    Returns:
        float64 (n, K).
    """
    shares = counts / counts.sum(axis=2, keepdims=True)
    ratio = np.divide(shares, marginals, out=np.ones_like(shares), where=shares > 0)
    # The sum of q differs from 1 by the accuracy of the solution, which the second part corrects.
    found: FloatArray = (shares * np.log(ratio)).sum(axis=2) + marginals.sum(axis=2) - 1
    return found


def _is_possible(limits: FloatArray) -> bool:
    """Return whether a distribution q has limits @ q <= 0."""
    from scipy.optimize import linprog

    n_limits, n_outcomes = limits.shape
    total = np.ones((1, n_outcomes))
    found = linprog(np.zeros(n_outcomes), limits, np.zeros(n_limits), total, [1.0])
    return bool(found.success)
