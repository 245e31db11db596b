"""`CMAB-Goodreads-v0`: which book does a new population like best?"""

from __future__ import annotations

from pathlib import Path

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.envs_data.bundle import SurveySpec, survey_of
from cmab_gym.models.histogram import HistogramModel


def goodreads_model(
    train_share: float = 0.5,
    mask: float = 0.1,
    pad: float = 0.1,
    mask_seed: int = 0,
    data: str | Path | None = None,
) -> HistogramModel:
    """Build the model of `CMAB-Goodreads-v0`; the arguments are those of `GoodreadsEnv`."""
    return survey_of(SurveySpec("goodreads", "book", train_share), data).model(mask, pad, mask_seed)


class GoodreadsEnv(BanditEnv):
    """A recommender without a history: Goodreads stars as rewards.

    Description:
        As in `MovieLensEnv`, with the 25 most rated books of goodbooks-10k (a 5 % sample of its
        users). The paper uses the poetry section of Goodreads, which may not be redistributed.

    Arms:
        `Discrete(25)`, the books, most rated first.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        1, 2, 3, 4 or 5 stars.

    Information:
        As in `MovieLensEnv`, with K = 25.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        train_share: share of the ratings that the survey uses: 0.5 (default) or 0.1; any other
            with `data`.
        mask: share p of the pseudo-rewards that are replaced by 5, as if unknown; default 0.1. It
            is rounded down to int(p K) entries of each row: 0.1 masks 2 of 25 books, 8 %.
        pad: buffer q that is added to the pseudo-rewards; default 0.1.
        mask_seed: seed of the choice that `mask` makes; default 0.
        data: "goodbooks-10k" once it is fetched, or the path of an archive of the same layout, to
            build any other table.
        horizon, step_info, draws, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Goodreads-v0`.

    Source:
        Gupta et al. (2021), Section 6.2, for the method. Ratings: goodbooks-10k by Zygmunt Zajac,
        CC BY-SA 4.0.

    Version history:
        v0: first version.

    Examples:
        >>> import gymnasium as gym
        >>> import cmab_gym
        >>> env = gym.make("CMAB-Goodreads-v0", mask=0.5)
        >>> env.action_space
        Discrete(25)
        >>> env.unwrapped.model.arm_names[0]
        'The Hunger Games (The Hunger Games, #1)'
    """

    build_model = staticmethod(goodreads_model)


class GoodreadsVectorEnv(BanditVectorEnv):
    """Many trials of `GoodreadsEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(goodreads_model)
