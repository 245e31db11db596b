"""`CMAB-MovieLens-v0`: which genre or movie does a new population like best?"""

from __future__ import annotations

from pathlib import Path

from cmab_gym import checks
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.envs_data.bundle import SurveySpec, survey_of
from cmab_gym.envs_data.surveys.split import SPLITS
from cmab_gym.models.histogram import HistogramModel


def movielens_model(
    task: str = "genre",
    train_share: float = 0.5,
    mask: float | None = None,
    pad: float | None = None,
    genre_draw: int = 0,
    mask_seed: int | None = None,
    segment: str = "",
    split: str = "heavy-users",
    data: str | Path | None = None,
) -> HistogramModel:
    """Build the model of `CMAB-MovieLens-v0`; the arguments are those of `MovieLensEnv`."""
    task = checks.choice("task", task, ("genre", "movie"))
    draw = checks.whole_number("genre_draw", genre_draw, 0)
    if draw and task == "movie":
        raise ValueError(
            f"genre_draw={draw} with task='movie': expected task='genre'; leave genre_draw out"
        )
    default_mask, default_pad = (0.25, 0.0) if task == "genre" else (0.0, 0.1)
    checks.choice("split", split, SPLITS)
    spec = SurveySpec("movielens", task, train_share, draw, segment, split)
    return survey_of(spec, data).model(
        default_mask if mask is None else mask,
        default_pad if pad is None else pad,
        draw if mask_seed is None else mask_seed,
    )


class MovieLensEnv(BanditEnv):
    """A recommender without a history: MovieLens ratings as rewards.

    Description:
        The users with the most ratings were surveyed, and their ratings give the pseudo-rewards.
        The other users are the new population: pulling an arm draws one of their ratings of it.

    Arms:
        `Discrete(18)`, the genres, or `Discrete(50)`, the most rated movies.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        1, 2, 3, 4 or 5 stars.

    Information:
        `reset`: pseudo_rewards float64 (K, K, 5); reward_support float64 (5,); reward_bounds
        float64 (2,), 1 and 5; survey_means float64 (K,) and survey_counts int64 (K,), the mean and
        the count of the surveyed users' ratings of each arm.
        `step`: pseudo_reward float64 (K,), s_lk of the pull for every arm l; reward_index int64;
        regret float, the sum of the gaps of this episode's pulls.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        task: "genre" (default) or "movie".
        train_share: share of the ratings that the survey uses: 0.5 (default) or 0.1; any other
            with `data`.
        mask: share p of the pseudo-rewards that are replaced by 5, as if unknown; default 0.25 for
            genres and 0 for movies, as in the first panels of the paper's figures. It is rounded
            down to int(p K) entries of each row: 0.25 masks 4 of 18 genres, 22.2 %.
        pad: buffer q that is added to the pseudo-rewards; default 0 for genres, 0.1 for movies.
        genre_draw: which random draw decides the genre of a movie that has several, 0 (default) to
            4; any other with `data`. Results depend on it.
        mask_seed: seed of the choice that `mask` makes; default genre_draw, so that each draw
            repeats both random choices of the paper.
        segment: gender and age of the new population, such as "F-25": all other users are
            surveyed. Ages are 1 (to 17), 18, 25, 35, 45, 50 and 56 (and older). Needs `data`.
        split: who is surveyed: "heavy-users" (default), those with the most ratings, and of users
            with equally many those with the larger ids; for movies also "heavy-users-smaller-ids";
            "random" with `data`.
        data: "ml-1m" once it is fetched, or the path of the archive, to build any other table.
        horizon, step_info, draws, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-MovieLens-v0`.

    Source:
        Gupta et al. (2021), Section 6.1, Figures 10, 11, 13 and 14. Ratings: Harper and Konstan
        (2015), MovieLens 1M; the package holds aggregates only.

    Version history:
        v0: first version.

    Examples:
        >>> import gymnasium as gym
        >>> import cmab_gym
        >>> env = gym.make("CMAB-MovieLens-v0", task="movie", pad=0.4)
        >>> env.action_space
        Discrete(50)
        >>> observation, info = env.reset(seed=0)
        >>> info["pseudo_rewards"].shape
        (50, 50, 5)
        >>> observation, reward, terminated, truncated, info = env.step(3)
        >>> sorted(info)
        ['pseudo_reward', 'regret', 'reward_index']
    """

    build_model = staticmethod(movielens_model)


class MovieLensVectorEnv(BanditVectorEnv):
    """Many trials of `MovieLensEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(movielens_model)
