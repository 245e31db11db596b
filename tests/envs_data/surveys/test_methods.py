"""The survey methods of Section 2.2 of the paper, compared with tables computed by hand."""

from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.envs_data import Method, validate
from cmab_gym.envs_data.surveys.pooled import Pooled

STARS = np.arange(1.0, 6)
# Users 0 and 1 gave arm 0 a 5, and arm 1 the ratings 1, 3 and 2; user 2 gave arm 0 a 1 and arm 1
# a 4; user 3 rated only arm 0.
ROWS = np.array(
    [(0, 0, 5), (0, 1, 1), (0, 1, 3), (1, 0, 5), (1, 1, 2), (2, 0, 1), (2, 1, 4), (3, 0, 2)]
)
BOUNDS = (1.0, 5.0)


def pooled(rows=ROWS, n_arms=2, support=STARS):
    rows = np.array(rows)
    level = np.searchsorted(support, rows[:, 2])
    return Pooled(rows[:, 0], rows[:, 1], level, rows[:, 0].max() + 1, n_arms, support)


def entry(method, l, k, j):  # noqa: E741
    return method.upper(pooled(), BOUNDS)[l, k, j]


def test_pooled_tables_equal_those_computed_by_hand():
    made = pooled()
    assert made.n_ratings[1, 0].tolist() == [1, 0, 0, 0, 3]
    assert made.n_raters[1, 0].tolist() == [1, 0, 0, 0, 2]
    assert made.mean[1, 0, [0, 4]].tolist() == [4, 2]
    assert np.isnan(made.mean[1, 0, 1])
    assert made.deviation[1, 0, 4] == pytest.approx(np.sqrt(2 / 3))
    # User 0, who gave arm 1 a 1 and a 3, gave arm 0 a 5.
    assert made.mean[0, 1].tolist()[:4] == [5, 5, 5, 1]
    assert made.n_ratings[0, 1].tolist() == [1, 1, 1, 1, 0]


def test_mean_is_the_pooled_mean_and_the_largest_reward_where_unknown():
    assert entry(Method(), 1, 0, 4) == 2
    assert entry(Method(), 1, 0, 2) == 5  # nothing is known
    assert_array_equal(Method().upper(pooled(), BOUNDS)[[0, 1], [0, 1]], [STARS, STARS])


def test_mean_plus_deviations_is_clipped_at_the_largest_reward():
    sd = np.sqrt(2 / 3)
    assert entry(Method("mean+sd"), 1, 0, 4) == pytest.approx(2 + sd)
    assert entry(Method("mean+sd", deviations=10), 1, 0, 4) == 5  # clipped
    assert entry(Method("mean+sd", deviations=0), 1, 0, 4) == 2


def test_soft_bounds_are_weakened_means():
    assert entry(Method("soft", delta=0.1), 1, 0, 4) == pytest.approx(0.9 * 2 + 0.5)
    assert entry(Method("soft", delta=0), 1, 0, 4) == 2


def test_hoeffding_counts_users():
    radius = 4 * np.sqrt(np.log(20) / (2 * 2))
    assert entry(Method("hoeffding"), 1, 0, 4) == pytest.approx(min(5, 2 + radius))
    many = pooled([(user, arm, 3) for user in range(800) for arm in (0, 1)])
    upper = Method("hoeffding", delta=0.1).upper(many, BOUNDS)
    assert upper[1, 0, 2] == pytest.approx(3 + 4 * np.sqrt(np.log(10) / 1600))


def test_the_bootstrap_interval_is_near_the_normal_one():
    rng = np.random.default_rng(0)
    rows = [(user, 0, 3) for user in range(400)]
    rows += [(user, 1, star) for user, star in enumerate(rng.integers(1, 6, 400))]
    made = pooled(rows)
    error = made.deviation[1, 0, 2] / np.sqrt(400)
    upper = Method("bootstrap").upper(made, BOUNDS)[1, 0, 2]
    # The normal quantile is 1.645; 200 resamples estimate it with an error of about 0.15.
    assert (upper - made.mean[1, 0, 2]) / error == pytest.approx(1.645, abs=0.4)
    assert upper == Method("bootstrap").upper(pooled(rows), BOUNDS)[1, 0, 2]


def test_entries_with_few_ratings_are_unknown():
    assert entry(Method(min_support=3), 1, 0, 4) == 2
    assert entry(Method(min_support=4), 1, 0, 4) == 5


@st.composite
def any_pooled(draw):
    # One integer for each row, as drawing three takes three times as long.
    codes = np.array(draw(st.lists(st.integers(0, 7 * 3 * 5 - 1), min_size=1, max_size=40)))
    return pooled(np.stack([codes // 15, codes // 5 % 3, codes % 5 + 1], axis=1), n_arms=3)


@given(any_pooled())
def test_tables_agree_with_the_definition(made):
    n_ratings, n_raters, mean, deviation = (np.full((3, 3, 5), np.nan) for _ in range(4))
    rows = list(zip(made.user.tolist(), made.arm.tolist(), STARS[made.level].tolist(), strict=True))
    for l, k, j in np.ndindex(3, 3, 5):  # noqa: E741
        users = {user for user, arm, star in rows if (arm, star) == (k, j + 1)}
        pooled_rows = [(user, star) for user, arm, star in rows if arm == l and user in users]
        n_ratings[l, k, j], n_raters[l, k, j] = len(pooled_rows), len(dict(pooled_rows))
        if pooled_rows:
            stars = [star for _, star in pooled_rows]
            mean[l, k, j], deviation[l, k, j] = fmean(stars), pstdev(stars)
    assert_array_equal(made.n_ratings, n_ratings)
    assert_array_equal(made.n_raters, n_raters)
    assert_allclose(made.mean, mean)  # NaN at the same entries
    assert_allclose(made.deviation, deviation, atol=1e-7)


@given(any_pooled(), st.sampled_from(["mean", "mean+sd", "soft", "hoeffding"]), st.floats(0.01, 1))
def test_upper_bounds_are_at_least_the_mean_and_stay_inside(made, name, delta):
    upper = Method(name, delta=delta).upper(made, BOUNDS)
    off = ~np.eye(3, dtype=bool)
    known = (made.n_ratings > 0) & off[:, :, None]
    assert (upper[known] >= made.mean[known] - 1e-9).all()
    assert (upper[off] <= 5).all()
    assert (upper[off] >= 1).all()


def test_relabelling_arms_and_users_relabels_the_table():
    order = np.array([1, 0])
    relabelled = ROWS.copy()
    relabelled[:, 1] = order[ROWS[:, 1]]
    relabelled[:, 0] = 3 - ROWS[:, 0]
    assert_allclose(
        Method().upper(pooled(relabelled), BOUNDS),
        Method().upper(pooled(), BOUNDS)[order][:, order],
    )


def test_validation_counts_violations_computed_by_hand():
    held_out = pooled([(0, 0, 5), (0, 1, 4), (1, 0, 5), (1, 1, 3), (2, 0, 1), (2, 1, 1)])
    table = Method().upper(pooled(), BOUNDS)
    # s_10(5) = 2 but 3.5 held out; s_10(1) = 4 holds; s_01(4) = 1 but 5; s_01(3), s_01(1) hold.
    found = validate(table, held_out)
    assert (found.entries, found.violated) == (5, 2)
    assert found.mean_excess == pytest.approx((1.5 + 4) / 2)
    assert found.largest_excess == 4
    assert found.share == 0.4
    assert validate(table, held_out, min_support=2).entries == 1
    assert validate(np.full_like(table, 5), held_out).violated == 0
    with pytest.raises(ValueError, match=r"table has shape \(1, 2\)"):
        validate([[1, 1]], held_out)


def test_a_confidence_bound_is_rarely_violated_by_similar_users():
    """Hoeffding at 5 %: of many entries of independent arms, far fewer than 5 % should fail."""
    rng = np.random.default_rng(1)
    rows = [(user, arm, rng.integers(1, 6)) for user in range(600) for arm in range(5)]
    training, test = pooled(rows[:1500], 5), pooled([(u - 300, a, s) for u, a, s in rows[1500:]], 5)
    plain, bounded = (
        validate(Method(name).upper(training, BOUNDS), test) for name in ("mean", "hoeffding")
    )
    assert plain.share > 0.3
    assert bounded.share < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "median"}, "unknown method 'median'"),
        ({"deviations": -1}, "deviations=-1: expected 0 or more"),
        ({"delta": 2}, "delta=2: expected a number from 0 to 1"),
        ({"name": "hoeffding", "delta": 0}, "expected a probability above 0"),
        ({"min_support": 0}, "min_support=0: expected an integer of at least 1"),
    ],
)
def test_wrong_methods_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Method(**arguments)
