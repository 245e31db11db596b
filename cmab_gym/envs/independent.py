"""`CMAB-Independent-v0`: arms that say nothing about each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.independent import IndependentModel
from cmab_gym.models.reward_laws import BetaLaw, FiniteLaw, NormalLaw, RewardLaw, StudentLaw
from cmab_gym.streams import problem_generator

# The arguments of each kind of rewards; the first says what is drawn if it is not given.
REWARDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "normal": ("means", "sigma"),
        "student": ("means", "sigma", "freedom"),
        "bernoulli": ("means",),
        "beta": ("means", "concentration"),
        "finite": ("pmf", "support"),
    }
)
_TO_DRAW = ("n_arms", "problem_seed")
_N_ARMS, _N_REWARDS = 10, 5
_DRAWN_MEANS = (-4.0, 4.0)  # holds all but one in 16,000 of the means drawn from Normal(0, 1)


def independent_model(
    rewards: str = "normal",
    means: ArrayLike | None = None,
    sigma: float | None = None,
    freedom: float | None = None,
    concentration: float | None = None,
    pmf: ArrayLike | None = None,
    support: ArrayLike | None = None,
    n_arms: int | None = None,
    problem_seed: int | None = None,
    bins: int = 100,
) -> IndependentModel:
    """Build the model of `CMAB-Independent-v0`; the arguments are those of `IndependentEnv`."""
    checks.choice("rewards", rewards, REWARDS)
    _check_arguments(
        rewards,
        {
            "means": means,
            "sigma": sigma,
            "freedom": freedom,
            "concentration": concentration,
            "pmf": pmf,
            "support": support,
            "n_arms": n_arms,
            "problem_seed": problem_seed,
        },
    )
    n_arms = checks.whole_number("n_arms", _N_ARMS if n_arms is None else n_arms, 2)
    seed = checks.whole_number("problem_seed", 0 if problem_seed is None else problem_seed, 0)
    rng = problem_generator(seed)
    law: RewardLaw
    if rewards in ("normal", "student"):
        within = _DRAWN_MEANS if means is None else None
        means = rng.standard_normal(n_arms) if means is None else means
        sigma = 1.0 if sigma is None else sigma
        law = NormalLaw(means, sigma, within)
        if rewards == "student":
            law = StudentLaw(means, sigma, 3.0 if freedom is None else freedom, within)
    elif rewards == "finite":
        if pmf is None:
            size = _N_REWARDS if support is None else checks.numbers("support", support).size
            pmf = rng.dirichlet(np.ones(size), n_arms)
        law = FiniteLaw(pmf, support)
    else:
        means = rng.random(n_arms) if means is None else means
        if rewards == "bernoulli":
            law = FiniteLaw.bernoulli(means)
        else:
            law = BetaLaw(means, 2.0 if concentration is None else concentration)
    return IndependentModel(law, bins)


def _check_arguments(rewards: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that this kind of rewards would ignore."""
    own = REWARDS[rewards]
    given = [name for name, value in arguments.items() if value is not None]
    for name in given:
        if name not in (*own, *_TO_DRAW):
            raise ValueError(
                f"{name} with rewards={rewards!r}: expected {' and '.join(own)}; leave it out, or "
                "choose other rewards"
            )
    if own[0] in given and (drawn := [name for name in _TO_DRAW if name in given]):
        raise ValueError(
            f"{own[0]} and {drawn[0]}: expected one of them, since {drawn[0]} is about {own[0]} "
            "that are drawn at random; leave one out"
        )


class IndependentEnv(BanditEnv):
    """A classical bandit: independent arms, and pseudo-rewards that say nothing.

    Description:
        Each round draws the reward of every arm independently. All pseudo-rewards of other arms are
        the largest reward, so that `c-X` chooses exactly as `X`. It is the control for correlated
        bandits, and the testbed of textbooks: by default Sutton and Barto's 10 arms with means from
        Normal(0, 1) and rewards from Normal(mean, 1).

    Arms:
        `Discrete(K)`, K >= 2.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        "normal": continuous. Rewards more than 6 sigma beyond the interval of the means are
        clipped, at most two in 10^9, so that `reward_bounds` holds them all; an agent that needs
        the size of the noise should read `reward_sigma`, not the bounds. The interval of means is
        that of the given means, and (-4, 4) for drawn means, which tells nothing about them.
        "student": like "normal", but with heavy tails (Student's t distribution). All but one in
        10^9 are inside reward_bounds and the others clipped; there is no reward_sigma, as averages
        are less reliable than those of normal rewards.
        "beta": continuous, between 0 and 1. "bernoulli": 0 or 1. "finite": one of `support`.

    Information:
        `reset`: pseudo_rewards float64 (K, K, R), for each reward of the support or each bin;
        reward_support float64 (R,), the rewards or the bins' midpoints; reward_bounds float64 (2,),
        low and high; reward_edges float64 (R + 1,) and reward_bin_width float if rewards are
        continuous; reward_sigma float64, the standard deviation, if they are normal.
        `step`: pseudo_reward float64 (K,); reward_index int64, the reward or its bin; regret float,
        the sum of the gaps of this episode's pulls.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        rewards: "normal" (default), "student", "bernoulli", "beta" or "finite".
        means: K mean rewards; None draws them: from Normal(0, 1) for "normal" and "student",
            uniform between 0 and 1 for "bernoulli" and "beta".
        sigma: standard deviation of "normal" and "student"; default 1.
        freedom: degrees of freedom of "student", above 2; default 3. Fewer have heavier tails.
        concentration: a + b of beta rewards; default 2. A larger one makes them less random.
        pmf: (K, R), the probabilities of finitely many rewards; None draws each row uniformly from
            all distributions.
        support: (R,), these rewards; default R numbers from 0 to 1, five if pmf is drawn.
        n_arms: K, if means or pmf are drawn; default 10.
        problem_seed: the seed with which they are drawn; default 0. It alone decides the bandit,
            whatever the seed of `reset`, so that all trials of an evaluation share one bandit: to
            average over many bandits, evaluate once for each problem_seed.
        bins: R of continuous rewards.
        horizon, step_info, draws, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Independent-v0`.

    Source:
        Sutton and Barto (2018), Reinforcement Learning, Section 2.3.

    Version history:
        v0: first version.

    Examples:
        >>> import gymnasium as gym
        >>> import cmab_gym
        >>> env = gym.make("CMAB-Independent-v0", rewards="bernoulli", means=[0.9, 0.8])
        >>> observation, info = env.reset(seed=0)
        >>> info["pseudo_rewards"][1, 0]  # arm 1 when arm 0 gives 0 and 1
        array([1., 1.])
        >>> testbed = gym.make("CMAB-Independent-v0", problem_seed=3)
        >>> testbed.unwrapped.model.means.round(1)
        array([ 1.6,  0.2,  0.4,  0. , -0.6,  0.4, -1.9, -0.7,  0.5,  1.5])
    """

    build_model = staticmethod(independent_model)


class IndependentVectorEnv(BanditVectorEnv):
    """Many trials of `IndependentEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(independent_model)
