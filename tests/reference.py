"""Formulas that several tests compare results with."""

import numpy as np


def bernoulli_kl(p, q):
    """Compute the Kullback-Leibler divergence of Bernoulli distributions with means p and q."""
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def paired_gain(results, agent, other):
    """Compare the final regret of two agents trial by trial.

    Returns:
        The mean regret of agent, how much less other's is on average, and the standard error of
        that difference.
    """
    regret = results.regret(agent)[:, -1]
    gain = regret - results.regret(other)[:, -1]
    return regret.mean(), gain.mean(), gain.std(ddof=1) / np.sqrt(gain.size)
