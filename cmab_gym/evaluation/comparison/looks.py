"""When an evaluation that adds trials as needed looks at its results, and when it stops."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.comparison.statistics import all_pairs

FIRST_LOOK = 20  # trials


def looks_at(limit: int) -> tuple[int, ...]:
    """Return the numbers of trials after which to look: 20, doubled each time, and the limit.

    Looking several times and stopping once a difference shows makes errors more likely. If each
    look has a probability of error of 0.05 divided by the number of looks, the probability that any
    of them errs is at most 0.05, whichever is the last (Bonferroni).

    Examples:
        >>> looks_at(100)
        (20, 40, 80, 100)
    """
    counts, trials = [], FIRST_LOOK
    while trials < limit:
        counts.append(trials)
        trials *= 2
    return (*counts, limit)


def widest_half_width(regret: FloatArray, error: float) -> float:
    """Return half the width of the widest interval of all differences between two agents.

    Args:
        regret: float64 (agents, trials), the final regret; column i is the same trial for all.
        error: probability that any of the intervals misses the difference of the means
            (Bonferroni).

    Returns:
        Half the width of Student's interval of the paired differences that vary most; infinite for
        one trial, 0 if one agent is left.
    """
    from scipy.special import stdtrit

    agents, trials = regret.shape
    if agents < 2:
        return 0.0
    if trials < 2:
        return float("inf")
    first, second = all_pairs(agents)
    sd = (regret[first] - regret[second]).std(axis=1, ddof=1).max()
    return float(stdtrit(trials - 1, 1 - error / len(first) / 2) * sd / np.sqrt(trials))
