"""The program of Graves and Lai: the cheapest pulls that tell the best arm from all others."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.correlated.graves_lai.nearest import NearestDistributions, divergences
from cmab_gym.agents.mathematics.dual_simplex import maximise
from cmab_gym.arrays import FloatArray

_CUTS = 12  # rounds of cuts
_MISSING = 0.1  # evidence that may be missing: less than one pull gives


def cheapest_exploration(
    nearest: NearestDistributions,
    counts: FloatArray,
    needed: FloatArray,
    gaps: FloatArray,
    most: FloatArray,
) -> FloatArray:
    """Find the pulls x of least cost that bring the evidence against each arm to what is needed.

    Minimises sum_k gap_k x_k such that sum_k (n_k + x_k) KL(P_k, Q_k) is at least needed_l for
    every distribution Q under which arm l is best. Each Q is a cut, a linear constraint on x. The
    linear program of the cuts found so far gives x, and the nearest Q of these pulls the next cuts.

    Args:
        nearest: the distributions by best arm.
        counts: float64 (n, K, R), how often each arm gave each reward.
        needed: float64 (n, K), the evidence needed; -infinity for arms that need none.
        gaps: float64 (n, K), above 0; infinity for an arm that must not be pulled.
        most: float64 (n, K): the search ends once x is that large wherever it is above 0.

    Returns:
        float64 (n, K), x, at most 10 times `most`.
    """
    pulls = counts.sum(axis=2)
    x = np.zeros(pulls.shape)
    left = np.arange(len(pulls))
    cuts = np.empty((left.size, 0, pulls.shape[1] + 1))  # KL(P_k, Q_k), then what is missing
    for _ in range(_CUTS):
        more = 1 + (x / pulls)[left]
        new = _cuts(nearest, counts[left], more[:, :, None], needed[left])
        missing = new[:, :, -1] - (new[:, :, :-1] * x[left][:, None]).sum(axis=2)
        going = (missing > _MISSING).any(axis=1)
        going &= ((x < most) & (x > 0))[left].any(axis=1) | (x[left] == 0).all(axis=1)
        if not going.any():
            break
        left = left[going]
        cuts = np.concatenate([cuts[going], new[going]], axis=1)
        x[left] = np.minimum(_cheapest(cuts, gaps[left]), 10 * most[left])
    return x


def _cuts(
    nearest: NearestDistributions, counts: FloatArray, more: FloatArray, needed: FloatArray
) -> FloatArray:
    """Return a cut for each arm of each program, float64 (n, K, K + 1)."""
    n, n_arms = needed.shape
    cuts = np.zeros((n, n_arms, n_arms + 1))
    cuts[:, :, -1] = -1.0  # 0 >= -1 for an arm that needs no evidence
    program, arm = np.nonzero(needed > -np.inf)
    marginals = nearest.marginals(arm, (counts * more)[program])
    divergence = divergences(counts[program], marginals)
    cuts[program, arm, :-1] = divergence
    gained = (divergence * counts[program].sum(axis=2)).sum(axis=1)
    cuts[program, arm, -1] = needed[program, arm] - gained
    return cuts


def _cheapest(cuts: FloatArray, gaps: FloatArray) -> FloatArray:
    """Minimise sum_k gap_k x_k over x >= 0 such that cuts[:, :, :-1] x >= cuts[:, :, -1]."""
    n, n_cuts, n_arms = cuts.shape[0], cuts.shape[1], gaps.shape[1]
    allowed = np.isfinite(gaps)
    tableau = np.zeros((n, n_cuts + 1, n_arms + n_cuts + 1))
    tableau[:, :-1, :n_arms] = -cuts[:, :, :-1] * allowed[:, None]
    tableau[:, :-1, -1] = -cuts[:, :, -1]
    slacks = np.arange(n_cuts)
    tableau[:, slacks, n_arms + slacks] = 1
    tableau[:, -1, :n_arms] = np.where(allowed, -gaps, 0)
    basis = np.tile(n_arms + slacks, (n, 1))
    maximise(tableau, basis)
    values = np.zeros((n, n_arms + n_cuts))
    np.put_along_axis(values, basis, tableau[:, :-1, -1], axis=1)
    infeasible = (values[:, n_arms:] < -_MISSING).any(axis=1)
    values[infeasible] = np.inf
    x: FloatArray = np.where(allowed, values[:, :n_arms].clip(0), 0)
    return x
