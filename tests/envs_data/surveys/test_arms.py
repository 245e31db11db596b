import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cmab_gym.envs_data import Ratings, genre_arms, listed_arms, most_rated_arms


def ratings(items, **rest):
    items = np.array(items)
    return Ratings.from_columns(np.arange(items.size), items, np.ones(items.size), **rest)


RATED = ratings([30, 10, 20, 30, 20, 40], titles={10: "Ten", 30: "Thirty"})


def test_the_most_rated_items_are_arms_and_ties_are_broken_by_id():
    arms = most_rated_arms(RATED, 3)
    assert arms.names == ("item 20", "Thirty", "Ten")
    rows, arm = arms.of_ratings(RATED.items)
    assert_array_equal(rows, [0, 1, 2, 3, 4])
    assert_array_equal(arm, [1, 2, 0, 1, 0])
    with pytest.raises(ValueError, match="n_arms=5: expected at most 4"):
        most_rated_arms(RATED, 5)


def test_listed_items_are_arms_in_the_same_order():
    arms = listed_arms(RATED, [40, 10])
    assert arms.names == ("item 40", "Ten")
    assert_array_equal(arms.of_ratings(RATED.items)[1], [1, 0])
    with pytest.raises(ValueError, match=r"item 50 has no rating: expected ids such as 10, 20"):
        listed_arms(RATED, [50])
    with pytest.raises(ValueError, match="item 10 is listed twice: expected different items"):
        listed_arms(RATED, [40, 10, 10])
    with pytest.raises(ValueError, match=r"items=\[\]: expected a list of ids"):
        listed_arms(RATED, [])


def test_items_may_have_text_ids_and_be_listed_as_text():
    rated = ratings(["b", "a", "b"], titles={"a": "Title"})
    assert most_rated_arms(rated, 2).names == ("b", "Title")
    assert listed_arms(ratings(["7", "5"]), [5, "7"]).names == ("5", "7")
    assert listed_arms(ratings([7, 5]), [5, "7"]).names == ("item 5", "item 7")
    with pytest.raises(ValueError, match="item '7' is listed twice"):
        listed_arms(ratings([7, 5]), [7, "7"])


def test_a_movie_counts_for_all_the_first_or_a_random_genre():
    genres = {10: ("B", "A"), 20: ("A",), 30: ("C", "B", "A"), 99: ("D",)}
    rated = ratings([30, 10, 20, 30, 20, 40], genres=genres)
    every = genre_arms(rated, "all")
    assert every.names == ("A", "B", "C", "D")
    rows, arm = every.of_ratings(rated.items)
    assert_array_equal(rows, [0, 0, 0, 1, 1, 2, 3, 3, 3, 4])
    assert_array_equal(np.sort(arm[rows == 0]), [0, 1, 2])
    rows, arm = genre_arms(rated, "first").of_ratings(rated.items)
    assert_array_equal(rows, [0, 1, 2, 3, 4])
    assert_array_equal(arm, [2, 1, 0, 2, 0])
    rows, arm = genre_arms(rated, "random").of_ratings(rated.items)
    assert_array_equal(rows, [0, 1, 2, 3, 4])
    assert arm[0] == arm[3]
    assert arm[2] == arm[4] == 0
    with pytest.raises(ValueError, match="unknown genres 'each'"):
        genre_arms(rated, "each")
    with pytest.raises(ValueError, match="has no genres"):
        genre_arms(RATED)


def test_random_genres_are_even_reproducible_and_independent_of_the_ratings():
    genres = dict.fromkeys(range(1500), ("A", "B", "C"))
    everything, half = (ratings(list(range(n)), genres=genres) for n in (1500, 700))
    arms = genre_arms(everything, draw=4)
    assert_array_equal(genre_arms(everything, draw=4).arms, arms.arms)
    assert (genre_arms(everything, draw=5).arms != arms.arms).any()
    assert_array_equal(genre_arms(half, draw=4).arms, arms.arms[:700])
    # 1500 draws of 3: within 5 standard errors of 500.
    assert np.abs(np.bincount(arms.arms) - 500).max() < 5 * np.sqrt(1500 * 2 / 9)
