"""`CMAB-Latent-v0`: rewards that depend on a hidden random source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cmab_gym import checks
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.latent import LatentModel
from cmab_gym.models.latent_bounds import Bound
from cmab_gym.models.presets import LATENT


def latent_model(
    preset: str | None = None,
    latent: Any = None,
    lower: Sequence[Bound] | None = None,
    upper: Sequence[Bound] | None = None,
    latent_range: tuple[float, float] | None = None,
    reward_bounds: tuple[float, float] | None = None,
    bins: int | None = None,
    delta: float = 0.0,
) -> LatentModel:
    """Build the model of `CMAB-Latent-v0`; the arguments are those of `LatentEnv`."""
    own = [latent, lower, upper]
    if preset is not None and any(part is not None for part in own):
        raise ValueError(
            f"preset={preset!r} and your own latent, lower or upper: expected one of them"
        )
    if any(part is not None for part in own):
        if latent is None or upper is None:
            raise ValueError(
                "latent or upper is missing: expected latent and upper, and lower unless the "
                "rewards are functions of X"
            )
        lower = upper if lower is None else lower
        return LatentModel(latent, lower, upper, latent_range, reward_bounds, bins, delta)
    chosen = LATENT[checks.choice("preset", "two-arm-a" if preset is None else preset, LATENT)]
    bounds = chosen.reward_bounds if reward_bounds is None else reward_bounds
    return LatentModel(chosen.latent, chosen.lower, chosen.upper, latent_range, bounds, bins, delta)


class LatentEnv(BanditEnv):
    """A bandit whose arms depend on one hidden random source X.

    Description:
        Each round draws X; arm k's reward is uniform between lower_k(X) and upper_k(X). The player
        knows the functions, but not the distribution of X. So it knows the pseudo-rewards s_lk(r),
        the largest upper_l(x) over the x that allow the reward r of arm k.

    Arms:
        `Discrete(K)`, K >= 2: one for each pair of functions.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        Continuous, inside `reward_bounds`.

    Information:
        `reset`: pseudo_rewards float64 (K, K, R), the largest pseudo-reward over each of R bins of
        the reward, so that the table is an upper bound; reward_support float64 (R,), the bins'
        midpoints; reward_edges float64 (R + 1,); reward_bin_width float; reward_bounds float64
        (2,), low and high.
        `step`: pseudo_reward float64 (K,), those of the reward's bin; reward_index int64, the bin;
        regret float, the sum of the gaps of this episode's pulls.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        preset: "two-arm-a" (default), "two-arm-b", "three-arm-a", "three-arm-b", "three-arm-c".
            The functions of the three arms are a reconstruction: the paper only draws them.
        latent: the distribution of X, instead of a preset: a frozen `scipy.stats` distribution, or
            a function of (generator, size).
        lower, upper: K vectorised functions of X each; without lower, rewards are functions of X.
        latent_range: (low, high) of X; needed for a sampler or an unbounded distribution.
        reward_bounds: (low, high) of the rewards; default the extremes of the functions.
        bins: R, the number of bins; default 2,000, and fewer for more than 16 arms, so that the
            table takes at most 4 MB, but not fewer than 100. More bins make the table tighter; it
            is valid with any number.
        delta: probability that a reward belongs to another X (soft bounds), from 0 to 1.
        horizon, step_info, draws, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Latent-v0`.

    Source:
        Gupta et al. (2021), Section 2.3; Figures 6 to 9.

    Version history:
        v0: first version.

    Examples:
        >>> import gymnasium as gym
        >>> import cmab_gym
        >>> env = gym.make("CMAB-Latent-v0", preset="two-arm-a")  # X uniform on [0, 6]
        >>> env.unwrapped.model.means.round(3)
        array([6., 3.])
        >>> observation, info = env.reset(seed=0)
        >>> info["pseudo_rewards"].shape
        (2, 2, 2000)
        >>> float(info["reward_bin_width"].round(6))  # of rewards from -1 to 13
        0.007
    """

    build_model = staticmethod(latent_model)


class LatentVectorEnv(BanditVectorEnv):
    """Many trials of `LatentEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(latent_model)
