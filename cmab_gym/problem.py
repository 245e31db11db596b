"""`BanditProblem`: what a player of a correlated bandit may know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import FloatArray, IntArray, frozen, read_only
from cmab_gym.rows import LARGEST_TABLE, DenseRows, PseudoRewardRows, stored
from cmab_gym.survey_classes import SurveyClasses
from cmab_gym.survey_factors import SurveyFactors


@dataclass(frozen=True, eq=False, init=False)
class BanditProblem:
    """What a player knows before the first pull: arms, possible rewards, pseudo-rewards.

    Args:
        pseudo_rewards: float64 (K, K, R); entry [l, k, j] is s_{l,k}(r_j), an upper bound on the
            mean reward of arm l in those rounds in which arm k would give the reward r_j.
            Entry [k, k, j] is r_j, or more if the player does not use it. For many
            arms, a `PseudoRewardRows` that computes rows when an arm is first pulled.
        reward_support: float64 (R,), increasing: the possible rewards, or the midpoints of the
            bins of a continuous reward.
        reward_bounds: (low, high), the interval that holds every reward.
        reward_edges: float64 (R + 1,), the edges of the bins of a continuous reward; None if there
            are finitely many rewards.
        pseudo_lower_bounds: float64 (K, K, R), lower bounds on the same means, -infinity where
            nothing is known; None if no lower bound is known.
        survey_means: float64 (K,), the mean rating of each arm in a survey of other users, and the
            mean of all ratings where an arm has none; None if there was no survey.
        survey_counts: int64 (K,), the number of ratings behind each of these means.
        survey_factors: how the means of new users may differ from them; None if it was not learned.
        survey_classes: the kinds of users that the survey found; None if they were not learned.
        reward_sigma: a number such that every arm's rewards are sub-Gaussian with it: averages of n
            rewards are as near the mean as those of normal rewards with this standard deviation.
            None if nothing better than half the length of the interval of rewards is known
            (Hoeffding's lemma).
        horizon: how many rounds a trial has; None if the player does not know.

    Attributes:
        rows: the pseudo-rewards by the arm that is pulled.
        cuts: float64 (R - 1,), increasing numbers between neighbouring rewards or bins.

    Raises:
        ValueError: a shape does not fit, an entry is not finite or its size is above 1e100, the
            support is not increasing or not inside the bounds, pseudo_rewards[k, k] is below the
            reward, a lower bound is above the upper one, the means of the survey are outside the
            bounds or come without counts, the factors or classes are of other
            arms or come without means, reward_sigma is not above 0, or `horizon` is not a number
            of rounds.

    Source: Section 2.1, Definition 1, of Gupta, Chaudhari, Joshi and Yagan (2021), and its remark
    on pseudo-lower bounds in Section 3.

    Examples:
        Two arms with rewards 0 and 1. When arm 0 gives 1, the mean of arm 1 is at most 0.4.

        >>> table = np.array([[[0, 1], [0.8, 0.5]], [[0.7, 0.4], [0, 1]]])
        >>> problem = BanditProblem(table, [0, 1], reward_bounds=(0, 1))
        >>> problem.n_arms, problem.reward_range
        (2, 1.0)
        >>> problem.reward_index(np.array([1.0, 0.0])).tolist()
        [1, 0]
    """

    rows: PseudoRewardRows = field(repr=False)
    reward_support: FloatArray
    reward_bounds: tuple[float, float]
    reward_edges: FloatArray | None
    pseudo_lower_bounds: FloatArray | None
    survey_means: FloatArray | None
    survey_counts: IntArray | None
    survey_factors: SurveyFactors | None
    survey_classes: SurveyClasses | None
    reward_sigma: float | None
    horizon: int | None
    cuts: FloatArray = field(repr=False)

    def __init__(
        self,
        pseudo_rewards: ArrayLike | PseudoRewardRows,
        reward_support: ArrayLike,
        reward_bounds: tuple[float, float],
        reward_edges: ArrayLike | None = None,
        pseudo_lower_bounds: ArrayLike | None = None,
        survey_means: ArrayLike | None = None,
        survey_counts: ArrayLike | None = None,
        survey_factors: SurveyFactors | None = None,
        survey_classes: SurveyClasses | None = None,
        reward_sigma: float | None = None,
        horizon: int | None = None,
    ) -> None:
        store = partial(object.__setattr__, self)
        low, high = checks.interval("reward_bounds", reward_bounds)
        store("reward_support", checks.read_only("reward_support", reward_support))
        store("reward_bounds", (low, high))
        if reward_edges is not None:
            reward_edges = checks.read_only("reward_edges", reward_edges)
        store("reward_edges", reward_edges)
        self._check_rewards()
        if isinstance(pseudo_rewards, PseudoRewardRows):
            store("rows", pseudo_rewards)
        else:
            table = checks.numbers("pseudo_rewards", pseudo_rewards)
            self._check_table(table)
            store("rows", DenseRows(table, high))
        if pseudo_lower_bounds is not None:
            pseudo_lower_bounds = stored(checks.numbers("pseudo_lower_bounds", pseudo_lower_bounds))
        store("pseudo_lower_bounds", pseudo_lower_bounds)
        self._check_lower_bounds()
        store("survey_means", survey_means)
        store("survey_counts", survey_counts)
        store("survey_factors", survey_factors)
        store("survey_classes", survey_classes)
        self._store_survey()
        if reward_sigma is not None:
            reward_sigma = checks.positive("reward_sigma", reward_sigma)
        store("reward_sigma", reward_sigma)
        store("horizon", None if horizon is None else checks.whole_number("horizon", horizon, 1))
        store("cuts", self._interior_cuts())
        self._check_resolution()

    @classmethod
    def from_info(cls, info: Mapping[str, Any]) -> BanditProblem:
        """Build the problem from the info dict that `reset` of a single environment returns.

        Raises:
            ValueError: `info` is not such a dict; that of `step`, for example, lacks keys.
        """
        if not isinstance(info, Mapping):
            raise ValueError(f"info={info!r}: expected the info dict that `env.reset()` returns")
        needed = ("pseudo_rewards", "reward_support", "reward_bounds")
        missing = [key for key in needed if key not in info]
        if missing == ["pseudo_rewards"]:
            raise ValueError(
                "info has no 'pseudo_rewards', since the table is larger than "
                f"{LARGEST_TABLE // 2**20} MB: use `env.unwrapped.problem`, or choose fewer arms"
            )
        if missing:
            raise ValueError(
                f"info has no {missing[0]!r}: expected the info that `env.reset()` returns; "
                f"this one has {sorted(info) or 'no keys'}"
            )
        if np.ndim(info["pseudo_rewards"]) == 4:
            raise ValueError(
                "info is from a vector environment: expected that of a single one; all its "
                "environments have the same problem, `envs.unwrapped.problem`"
            )
        return cls(
            info["pseudo_rewards"],
            info["reward_support"],
            info["reward_bounds"],
            info.get("reward_edges"),
            info.get("pseudo_lower_bounds"),
            info.get("survey_means"),
            info.get("survey_counts"),
            SurveyFactors.from_arrays(info),
            SurveyClasses.from_arrays(info),
            info.get("reward_sigma"),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> BanditProblem:
        return self  # nothing in it can change

    def __reduce__(self) -> tuple[Any, ...]:
        # By the constructor: NumPy unpickles arrays that can be written to.
        rows = self.rows.table() if isinstance(self.rows, DenseRows) else self.rows
        return BanditProblem, (rows, *self._others(), self.horizon)

    def with_horizon(self, horizon: int) -> BanditProblem:
        """Return this problem for a player who knows how many rounds a trial has."""
        return BanditProblem(self.rows, *self._others(), horizon=horizon)

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return self.rows.n_arms

    @property
    def pseudo_rewards(self) -> FloatArray:
        """The whole table, float64 (K, K, R) as [l, k, j], read-only.

        Raises:
            ValueError: its rows are computed on demand, and it is too large to hold whole.
        """
        return self.rows.table("`pseudo_rewards`")

    @property
    def reward_range(self) -> float:
        """The length of the interval of rewards, the paper's B."""
        return self.reward_bounds[1] - self.reward_bounds[0]

    @property
    def tolerance(self) -> float:
        """The largest difference of means or pseudo-rewards that counts as a rounding error."""
        return tolerance_of(self.reward_bounds)

    def reward_index(self, rewards: FloatArray) -> IntArray:
        """Find the position of rewards in the support, or their bins.

        Args:
            rewards: float64, any shape, in the reward's unit.

        Returns:
            int64, the same shape: indices j of the last axis of `pseudo_rewards`.

        Raises:
            ValueError: a reward is not in the support, or outside the bounds of the bins.
        """
        index = self.cuts.searchsorted(rewards, side="right")
        if self.reward_edges is None:
            valid = np.abs(self.reward_support.take(index) - rewards) <= self.tolerance
        else:
            valid = (rewards >= self.reward_bounds[0]) & (rewards <= self.reward_bounds[1])
        if not valid.all():
            value = np.asarray(rewards)[~valid].flat[0]  # ~, so that NaN is wrong
            expected = f"a number inside {self.reward_bounds}"
            if self.reward_edges is None:
                expected = f"one of {self.reward_support}"
            raise ValueError(
                f"reward {value}: expected {expected}; pass rewards in the unit of the problem, "
                "as the environment gives them"
            )
        return index

    def _others(self) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any]:
        return (
            self.reward_support,
            self.reward_bounds,
            self.reward_edges,
            self.pseudo_lower_bounds,
            self.survey_means,
            self.survey_counts,
            self.survey_factors,
            self.survey_classes,
            self.reward_sigma,
        )

    def _check_rewards(self) -> None:
        support, (low, high) = self.reward_support, self.reward_bounds
        if support.ndim != 1 or support.size == 0:
            raise ValueError(f"reward_support has shape {support.shape}: expected (R,) with R >= 1")
        checks.moderate("reward_support", support)
        checks.moderate("reward_bounds", np.array(self.reward_bounds))
        if np.any(np.diff(support) <= 0):
            raise ValueError(f"reward_support={support}: expected increasing rewards; sort them")
        if support[0] < low or support[-1] > high:
            raise ValueError(
                f"reward_support={support}: expected rewards inside {self.reward_bounds}"
            )
        edges = self.reward_edges
        if edges is not None and not (
            edges.shape == (support.size + 1,)
            and (np.diff(edges) > 0).all()
            and (edges[0], edges[-1]) == (low, high)
        ):
            raise ValueError(
                f"reward_edges={edges}: expected {support.size + 1} increasing edges from {low:g} "
                f"to {high:g}, one bin around each of the {support.size} entries of reward_support"
            )

    def _check_table(self, table: FloatArray) -> None:
        support = self.reward_support
        n_arms = table.shape[0] if table.ndim else 0
        if n_arms == 0 or table.shape != (n_arms, n_arms, support.size):
            raise ValueError(
                f"pseudo_rewards has shape {table.shape}: expected (K, K, R) with "
                f"R = {support.size}, indexed [l, k, j] for s_lk(r_j)"
            )
        checks.moderate("pseudo_rewards", table, "an unknown entry is the largest reward")
        own = table[np.arange(n_arms), np.arange(n_arms)]
        short = (own < support - self.tolerance).any(axis=1)
        if short.any():
            arm = int(np.flatnonzero(short)[0])
            raise ValueError(
                f"pseudo_rewards[{arm}, {arm}] is {own[arm]}: expected the rewards themselves, "
                f"{support}; set s_kk(r) = r"
            )

    def _check_lower_bounds(self) -> None:
        lower = self.pseudo_lower_bounds
        if lower is None:
            return
        table = self.rows.table("`pseudo_lower_bounds`")
        if lower.shape != table.shape:
            raise ValueError(
                f"pseudo_lower_bounds has shape {lower.shape}: expected {table.shape}, that of "
                "pseudo_rewards"
            )
        wrong = ~(lower <= table + self.tolerance)  # ~, so that NaN is wrong
        if wrong.any():
            l, k, j = (int(indices[0]) for indices in np.nonzero(wrong))  # noqa: E741
            raise ValueError(
                f"pseudo_lower_bounds[{l}, {k}, {j}] = {lower[l, k, j]:g}: expected at most the "
                f"upper bound, {table[l, k, j]:g}; an unknown entry is -infinity"
            )

    def _store_survey(self) -> None:
        for name in ("survey_factors", "survey_classes"):
            learned: SurveyFactors | SurveyClasses | None = getattr(self, name)
            if learned is not None and (
                self.survey_means is None or learned.sigmas.size != self.n_arms
            ):
                raise ValueError(
                    f"{name} of {learned.sigmas.size} arms: expected those of the {self.n_arms} "
                    "arms, in addition to survey_means"
                )
        if self.survey_means is None and self.survey_counts is None:
            return
        means = checks.read_only(
            "survey_means", () if self.survey_means is None else self.survey_means
        )
        counts = np.array(() if self.survey_counts is None else self.survey_counts)
        (low, high), shapes = self.reward_bounds, (means.shape, counts.shape)
        if shapes != ((self.n_arms,),) * 2:
            raise ValueError(
                f"survey_means and survey_counts have shapes {shapes}: expected both, of shape "
                f"({self.n_arms},), one number for each arm"
            )
        inside = (means >= low - self.tolerance) & (means <= high + self.tolerance)
        if not inside.all():  # NaN is not inside
            raise ValueError(
                f"survey_means holds {means[~inside][0]:g}: expected means inside "
                f"{self.reward_bounds}; where an arm has no rating, the mean of all ratings"
            )
        if counts.dtype.kind not in "iu" or counts.min() < 0 or not counts.any():
            raise ValueError(
                f"survey_counts={counts}: expected whole numbers of ratings, 0 or more, not all 0"
            )
        object.__setattr__(self, "survey_means", means)
        object.__setattr__(self, "survey_counts", frozen(counts.astype(np.int64)))

    def _check_resolution(self) -> None:
        index = np.searchsorted(self.cuts, self.reward_support, side="right")
        wrong = np.flatnonzero(index != np.arange(index.size))
        if wrong.size:
            near = self.reward_support[max(wrong[0] - 1, 0) : wrong[0] + 2]
            raise ValueError(
                f"reward_support holds {near}: expected rewards that can be told apart in float64; "
                "merge or scale them"
            )

    def _interior_cuts(self) -> FloatArray:
        if self.reward_edges is not None:
            return self.reward_edges[1:-1]
        return read_only((self.reward_support[:-1] + self.reward_support[1:]) / 2)


def tolerance_of(reward_bounds: tuple[float, float]) -> float:
    """Return the largest difference of rewards in an interval that counts as a rounding error."""
    low, high = reward_bounds
    return 1e-9 * (high - low) + 1e-14 * max(abs(low), abs(high))


def scaled_rewards(rewards: Any, reward_bounds: tuple[float, float]) -> Any:
    """Map rewards in [low, high] to [0, 1], a float or an array; to 0 if only one is possible."""
    low, high = reward_bounds
    return (rewards - low) / ((high - low) or 1)


def check_scale(B: float | None) -> None:
    """Check the scale B of a policy.

    Args:
        B: length of the interval of rewards, in their unit; None takes that of the problem.

    Raises:
        ValueError: `B` is neither None nor a number above 0.
    """
    if B is not None:
        checks.positive("B", B, "it is the length of the interval of rewards")


def scale_of(B: float | None, problem: BanditProblem) -> float:
    """Return the scale B of a policy, by default that of the problem.

    Rewards in an interval of length B are sub-Gaussian with sigma = B / 2. So the default is
    2 `reward_sigma`, or the length of the interval of rewards if the problem has none.
    """
    if B is not None:
        return float(B)  # a small NumPy type would overflow
    return problem.reward_range if problem.reward_sigma is None else 2 * problem.reward_sigma


def check_horizon(horizon: int | None) -> None:
    """Check the horizon of a policy.

    Args:
        horizon: rounds of a trial; None takes that of the problem.

    Raises:
        ValueError: `horizon` is neither None nor an integer of at least 1.
    """
    if horizon is not None:
        checks.whole_number("horizon", horizon, 1)


def horizon_of(horizon: int | None, problem: BanditProblem) -> int:
    """Return the horizon of a policy, by default the one that the problem's player is told.

    Raises:
        ValueError: neither is known.
    """
    known = problem.horizon if horizon is None else int(horizon)
    if known is None:
        raise ValueError(
            "the horizon is unknown: expected the number of rounds of a trial, which evaluate() "
            "tells every agent; by hand, give the policy horizon=..."
        )
    return known
