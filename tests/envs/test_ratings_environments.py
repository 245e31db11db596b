"""The environments of the bundled tables: MovieLens and Goodreads."""

import gymnasium as gym
import numpy as np
import pytest

from cmab_gym.envs.goodreads import goodreads_model
from cmab_gym.envs.movielens import movielens_model


def test_the_tasks_have_the_papers_arms():
    genre, movie, books = movielens_model(), movielens_model("movie"), goodreads_model()
    assert (genre.n_arms, movie.n_arms, books.n_arms) == (18, 50, 25)
    assert "Film-Noir" in genre.arm_names
    assert movie.arm_names[0] == "American Beauty (1999)"
    assert genre.reward_unit == "stars"
    for model in (genre, movie, books):
        np.testing.assert_array_equal(model.problem.reward_support, [1, 2, 3, 4, 5])
        assert model.problem.reward_bounds == (1, 5)


def test_the_defaults_are_the_papers_first_panels():
    for task, env_kwargs in (
        ("genre", {"mask": 0.25, "pad": 0}),
        ("movie", {"mask": 0, "pad": 0.1}),
    ):
        np.testing.assert_array_equal(
            movielens_model(task).problem.pseudo_rewards,
            movielens_model(task, **env_kwargs).problem.pseudo_rewards,
        )


@pytest.mark.parametrize("train_share", [0.5, 0.1])
def test_every_bundled_table_makes_an_environment(train_share):
    for env_kwargs in ({"task": "movie"}, *({"genre_draw": draw} for draw in range(5))):
        env = gym.make("CMAB-MovieLens-v0", train_share=train_share, **env_kwargs)
        env.reset(seed=0)
        assert env.step(0)[1] in (1, 2, 3, 4, 5)
    assert gym.make("CMAB-Goodreads-v0", train_share=train_share).reset(seed=0)


def test_genre_draws_masks_and_pads_change_the_table():
    base = movielens_model().problem.pseudo_rewards
    changes = (
        {"genre_draw": 1},
        {"mask_seed": 7},
        {"mask": 0.5},
        {"pad": 0.3},
        {"train_share": 0.1},
    )
    for change in changes:
        assert (movielens_model(**change).problem.pseudo_rewards != base).any(), change


def test_a_segment_needs_the_archive(raw_data):
    with pytest.raises(ValueError, match=r"segment='F-25' without data: .* data fetch ml-1m"):
        movielens_model(segment="F-25")
    model = movielens_model("movie", segment="F-25", data=raw_data / "ml-1m.zip")
    assert model.provenance["split"] == {"segment": "F-25"}
    users = model.provenance["users"], model.provenance["training_users"]
    assert users == (6_025, 6_025 - 558)


def test_a_full_mask_hides_all_pseudo_rewards_of_other_arms():
    table = movielens_model("movie", mask=1.0).problem.pseudo_rewards
    assert (table[~np.eye(50, dtype=bool)] == 5).all()


@pytest.mark.parametrize(
    ("env_kwargs", "message"),
    [
        ({"task": "genres"}, "unknown task 'genres': did you mean 'genre'"),
        ({"mask": -0.1}, "mask=-0.1: expected a number from 0 to 1"),
        ({"mask": 2}, "mask=2: expected a number from 0 to 1"),
        ({"pad": float("nan")}, "pad=nan: expected 0 or more"),
        (
            {"train_share": 0.3},
            "train_share=0.3 and genre_draw=0 without data: expected train_share 0.1 or 0.5 and "
            "genre_draw from 0 to 4; for others, run `cmab-gym data fetch ml-1m`, and pass data=",
        ),
        (
            {"task": "movie", "train_share": 0.3},
            "train_share=0.3 without data: expected train_share 0.1 or 0.5; for others, run `cm",
        ),
        ({"train_share": "x"}, "train_share='x': expected a number from 0 to 1"),
        ({"train_share": float("nan")}, "train_share=nan: expected a number from 0 to 1"),
        ({"pad": True}, "pad=True: expected 0 or more"),
        ({"genre_draw": 9}, "genre_draw from 0 to 4"),
        ({"genre_draw": -1}, "genre_draw=-1: expected an integer of at least 0"),
        ({"task": "movie", "genre_draw": 1}, "expected task='genre'; leave genre_draw out"),
        ({"mask_seed": 0.5}, "mask_seed=0.5: expected an integer"),
        ({"segment": ["F-25"]}, r"segment=\['F-25'\]: expected the name of one segment"),
    ],
)
def test_wrong_keyword_arguments_are_refused(env_kwargs, message):
    with pytest.raises(ValueError, match=message):
        movielens_model(**env_kwargs)


def test_a_missing_or_wrong_archive_is_refused(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"nowhere.zip does not exist: expected a ratings file"
    ):
        movielens_model(data="nowhere.zip")
    text = tmp_path / "ml-1m.zip"
    text.write_text("no ratings\n")
    with pytest.raises(ValueError, match="is not in a known format"):
        movielens_model(data=text)


def test_an_archive_of_another_source_is_refused(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user_id,book_id,rating\n" + "".join(f"{u},1,3\n" for u in range(9)))
    with pytest.raises(ValueError, match=r"holds Goodreads.*: expected MovieLens"):
        movielens_model("movie", data=path)


def test_the_raw_archive_gives_the_bundled_table_and_others(raw_data):
    archive = raw_data / "ml-1m.zip"
    same = movielens_model("movie", data=archive)
    np.testing.assert_array_equal(
        same.problem.pseudo_rewards, movielens_model("movie").problem.pseudo_rewards
    )
    other = movielens_model("movie", train_share=0.3, data=archive)
    assert (other.counts.sum(axis=1) > same.counts.sum(axis=1)).all()
    assert goodreads_model(0.2, data=raw_data / "goodbooks-10k-sample.zip").n_arms == 25
