import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cmab_gym.envs_data import Split


def users_of(counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, [2]), (0.29, [2]), (0.3, [0, 2]), (0.5, [0, 2]), (0.6, [0, 1, 2])],
)
def test_the_training_users_are_the_shortest_prefix_that_holds_more(share, expected):
    # 3, 2, 3, 1, 1 ratings of 10; the larger of equal users first: 2, 0, 1, 4, 3.
    trains = Split(share).training_users(users_of([3, 2, 3, 1, 1]))
    assert_array_equal(np.flatnonzero(trains), expected)


@given(
    st.lists(st.integers(1, 50), min_size=3, max_size=40),
    st.floats(0.01, 0.6),
    st.sampled_from(["heavy-users", "heavy-users-smaller-ids", "random", "by-time"]),
)
def test_any_split_holds_more_than_the_share_with_as_few_users_as_possible(counts, share, order):
    counts = np.array(counts)
    user = users_of(counts)
    try:
        trains = Split(share, order).training_users(user, np.arange(user.size))
    except ValueError:
        return  # too few users
    held = counts[trains].sum()
    assert held > share * counts.sum()
    users = {
        "heavy-users-smaller-ids": sorted(
            range(counts.size), key=lambda user: (-counts[user], user)
        ),
        "heavy-users": sorted(range(counts.size), key=lambda user: (-counts[user], -user)),
        "random": np.random.default_rng(0).permutation(counts.size),
        "by-time": np.arange(counts.size),
    }[order]
    chosen = users[: trains.sum()]
    assert trains[chosen].all()
    assert held - counts[chosen[-1]] <= share * counts.sum()


def test_users_who_rated_first_are_surveyed_first():
    user, times = np.array([0, 0, 1, 1, 2, 2]), np.array([5, 6, 1, 9, 3, 4])
    assert Split(0.3, "by-time").training_users(user, times).tolist() == [False, True, False]
    assert Split(0.4, "by-time").training_users(user, times).tolist() == [False, True, True]
    with pytest.raises(ValueError, match="expected ratings with times"):
        Split(0.3, "by-time").training_users(user)
    with pytest.raises(ValueError, match="all times are 0"):
        Split(0.3, "by-time").training_users(user, np.zeros(6, dtype=int))


def test_the_users_of_all_other_segments_are_surveyed():
    user, segments = users_of([3, 1, 2, 1]), np.array(["F-25", "M-25", "", "F-25"])
    trains = Split(segment="F-25").training_users(user, segments=segments)
    assert trains.tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match=r"'F-1': expected one of \(users\) F-25 \(2\), M-25"):
        Split(segment="F-1").training_users(user, segments=segments)
    with pytest.raises(ValueError, match=r"'F-25' is that of all 4 users"):
        Split(segment="F-25").training_users(user, segments=np.full(4, "F-25"))
    with pytest.raises(ValueError, match=r"without the segments of users: .* segment_by="):
        Split(segment="F-25").training_users(user)


def test_a_segment_may_be_named_by_an_integer():
    user, segments = users_of([3, 1, 2, 1]), np.array(["0", "1", "", "0"])
    for name in (0, "0", np.int64(0)):
        trains = Split(segment=name).training_users(user, segments=segments)
        assert trains.tolist() == [False, True, True, False]
    assert Split(segment=0) == Split(segment="0")


def test_random_splits_depend_only_on_their_seed():
    user = users_of([2] * 50)
    first = Split(0.5, "random", 1).training_users(user)
    assert_array_equal(Split(0.5, "random", 1).training_users(user), first)
    assert (Split(0.5, "random", 2).training_users(user) != first).any()
    assert first.sum() == 26


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "train_share=-1: expected a number from 0 to 1"),
        ((0.5, "heavy"), "unknown split 'heavy': did you mean 'heavy-users'"),
        ((0.3, "heavy-users", 0, "F-25"), "train_share=0.3, .*: expected only segment"),
        ((0.5, "random", -1), "split_seed=-1: expected an integer"),
    ],
)
def test_wrong_splits_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Split(*arguments)
