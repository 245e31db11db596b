"""`CMAB-Ratings-v0` and `from_ratings`: a bandit from any table of ratings."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cmab_gym
from cmab_gym.cli import main
from cmab_gym.envs.ratings import ratings_model
from cmab_gym.envs_data import Ratings, SparseSurveyWarning, Split, listed_arms, take_survey


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 3000
    taste = rng.normal(size=80)
    users, items = rng.integers(0, 80, n), rng.integers(0, 12, n) ** 2 // 12
    stars = np.clip(np.round(2 * (3 + taste[users] + 0.1 * items)) / 2, 0.5, 5)
    return pd.DataFrame(
        {
            "who": [f"user {user}" for user in users],
            "what": items,
            "kind": np.where(items < 4, "old", "new"),
            "stars": stars,
            "when": rng.permutation(n),
        }
    )


COLUMNS = {"user": "who", "item": "what", "rating": "stars"}


def test_a_frame_a_csv_and_a_parquet_file_give_the_same_model(frame, tmp_path):
    csv, parquet = tmp_path / "r.csv", tmp_path / "r.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet)
    env_kwargs = {"n_arms": 5, "pad": 0.1, **COLUMNS}
    models = [
        cmab_gym.from_ratings(source, **env_kwargs).unwrapped.model
        for source in (frame, csv, str(parquet))
    ]
    assert models[0].n_arms == 5
    assert models[0].problem.reward_bounds == (0.5, 5.0)
    for other in models[1:]:
        assert_allclose(other.means, models[0].means)
        assert_array_equal(other.problem.pseudo_rewards, models[0].problem.pseudo_rewards)


def test_a_segment_of_users_is_the_new_population(frame, tmp_path):
    frame = frame.assign(land=frame["who"].str[-1].isin(list("02468")).map({True: "A", False: "B"}))
    new = frame[frame["land"] == "A"].drop_duplicates(["who", "what"], keep="last")
    csv, parquet = tmp_path / "r.csv", tmp_path / "r.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet)
    env_kwargs = {"n_arms": 5, "segment_by": "land", "segment": "A", **COLUMNS}
    for source in (frame, csv, parquet):
        model = ratings_model(source, **env_kwargs)
        for name, mean in zip(model.arm_names, model.means, strict=True):
            assert mean == pytest.approx(new[new["what"] == int(name[5:])]["stars"].mean())
        assert model.provenance["split"] == {"segment": "A"}
        assert model.provenance["training_users"] == frame[frame["land"] == "B"]["who"].nunique()
    with pytest.raises(ValueError, match=r"unknown segment 'C': expected one of \(users\) A"):
        ratings_model(frame, **{**env_kwargs, "segment": "C"})


def test_a_user_in_two_segments_is_refused(frame):
    moved = frame.assign(land=np.where(np.arange(len(frame)) < 2000, "A", "B"))
    with pytest.raises(
        ValueError, match=r"in several segments of the frame, \['A', 'B'\]: expected"
    ):
        ratings_model(moved, **COLUMNS, segment_by="land", segment="A")
    moved.loc[5, "land"] = None
    with pytest.raises(ValueError, match=r"row 6, counted from 1, is .*\(no land\)"):
        ratings_model(moved, **COLUMNS, segment_by="land", segment="A")


def test_items_n_arms_and_category_choose_the_arms(frame):
    counts = frame.drop_duplicates(["who", "what"])["what"].value_counts()
    chosen = ratings_model(frame, **COLUMNS, items=[3, 0])
    assert chosen.arm_names == ("item 3", "item 0")
    most = ratings_model(frame, **COLUMNS, n_arms=4)
    top = sorted(counts.index, key=lambda item: (-counts[item], item))[:4]
    assert most.arm_names == tuple(f"item {item}" for item in top)
    kinds = ratings_model(frame, **COLUMNS, category="kind")
    assert kinds.arm_names == ("new", "old")


def test_a_survey_can_be_used_as_data(frame):
    ratings = Ratings.from_columns(
        frame["who"].to_numpy(), frame["what"].to_numpy(), frame["stars"].to_numpy()
    )
    survey = take_survey(ratings, listed_arms(ratings, [0, 1, 3]), Split(0.3))
    env = cmab_gym.from_ratings(survey, mask=1.0)
    assert env.unwrapped.model.arm_names == survey.arm_names
    assert (env.unwrapped.problem.pseudo_rewards[~np.eye(3, dtype=bool)] == 5).all()


@pytest.mark.parametrize(
    "env_kwargs",
    [
        {"method": "mean+sd", "deviations": 2},
        {"method": "soft", "delta": 0.3},
        {"method": "hoeffding"},
        {"min_support": 4},
        {"split": "random", "split_seed": 3},
        {"split": "by-time", "time": "when"},
        {"train_share": 0.2},
    ],
)
def test_every_argument_of_the_survey_changes_the_table(frame, env_kwargs):
    base = ratings_model(frame, **COLUMNS, n_arms=4).problem
    other = ratings_model(frame, **COLUMNS, n_arms=4, **env_kwargs).problem
    assert (other.pseudo_rewards != base.pseudo_rewards).any()


def test_the_support_may_have_ratings_that_do_not_occur(frame):
    support = np.arange(0, 5.5, 0.5)
    problem = ratings_model(frame, **COLUMNS, n_arms=4, reward_support=support).problem
    assert_array_equal(problem.reward_support, support)
    assert problem.reward_bounds == (0, 5)


def test_a_changed_file_is_read_again(frame, tmp_path):
    path = tmp_path / "r.csv"
    frame.to_csv(path, index=False)
    first = ratings_model(path, **COLUMNS, n_arms=3)
    frame.assign(stars=1.0 + (np.arange(len(frame)) % 2)).to_csv(path, index=False)
    assert ratings_model(path, **COLUMNS, n_arms=3).problem.reward_bounds == (1, 2)
    assert first.problem.reward_bounds == (0.5, 5)


def test_a_changed_folder_or_companion_is_read_again(tmp_path):
    rows = [(user, item, 1 + (user + item) % 2) for user in range(9) for item in (1, 2)]
    ratings = tmp_path / "ratings.csv"
    text = "".join(f"{user},{item},{star}\n" for user, item, star in rows)
    ratings.write_text("user_id,book_id,rating\n" + text)
    books = tmp_path / "books.csv"
    books.write_text("book_id,authors,title\n1,A,Old\n2,B,Two\n")
    for data in (tmp_path, ratings):
        books.write_text("book_id,authors,title\n1,A,Old\n2,B,Two\n")
        assert "Old" in ratings_model(data, n_arms=2).arm_names
        books.write_text("book_id,authors,title\n1,A,Newer\n2,B,Two\n")
        assert "Newer" in ratings_model(data, n_arms=2).arm_names


def test_a_survey_with_arguments_of_its_making_is_refused(frame):
    survey = take_survey(
        given := Ratings.from_columns(
            frame["who"].to_numpy(), frame["what"].to_numpy(), frame["stars"].to_numpy()
        ),
        listed_arms(given, [0, 1]),
    )
    assert ratings_model(survey, pad=0.1).n_arms == 2
    for name, value in (
        *(("user", "who"), ("n_arms", 2), ("train_share", 0.1), ("method", "soft")),
        *(("min_support", 5), ("round_to", [1, 5]), ("reward_support", [1, 5])),
    ):
        with pytest.raises(ValueError, match="data is a Survey: expected only mask, pad and mask"):
            ratings_model(survey, **{name: value})


def test_one_command_makes_a_plot_from_a_csv(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "r.csv", index=False)
    arguments = f"run CMAB-Ratings-v0 --set data={tmp_path}/r.csv user=who item=what rating=stars"
    arguments += f" n_arms=5 --agents ucb c-ucb --rounds 50 --trials 3 --out {tmp_path}/out"
    assert main(arguments.split()) == 0
    assert (tmp_path / "out" / "regret.png").exists()
    assert "c-ucb" in capsys.readouterr().out


@pytest.fixture
def decimals(frame):
    """The same ratings with decimals that no two users have in common."""
    return frame.assign(stars=frame["stars"] + 0.001 * np.arange(len(frame)) / len(frame))


def test_a_survey_that_says_nothing_warns_once(decimals):
    data = {"data": decimals, **COLUMNS}
    unknown = pytest.warns(SparseSurveyWarning, match=r"^100\.0 % of the pseudo-rewards")
    with unknown as caught:
        env = cmab_gym.from_ratings(decimals, **COLUMNS)
    assert len(caught) == 1
    assert env.unwrapped.model.provenance["unknown_share"] > 0.9
    with unknown as caught:  # the last batch is shorter and so has its own environment
        cmab_gym.evaluate("CMAB-Ratings-v0", ["random"], 5, 3, env_kwargs=data, batch_size=2)
    assert len(caught) == 1


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_commands_print_the_share_of_unknown_pseudo_rewards(decimals, tmp_path, capsys, command):
    decimals.to_csv(tmp_path / "r.csv", index=False)
    arguments = f"{command} CMAB-Ratings-v0 --rounds 5 --set data={tmp_path}/r.csv n_arms=3"
    arguments += " user=who item=what rating=stars"
    if command == "run":
        arguments += f" --agents random --trials 2 --out {tmp_path}/out"
    assert main(arguments.split()) == 0
    assert capsys.readouterr().err.count("% of the pseudo-rewards are unknown") == 1
    assert main([*arguments.split(), "--set", "round_to=[1,2,3,4,5]"]) == 0
    assert "unknown" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("env_kwargs", "message"),
    [
        ({"user": "nobody"}, "user='nobody' is not a column of the frame"),
        ({"n_arms": 0}, "n_arms=0: expected an integer of at least 1"),
        ({"items": [3], "n_arms": 2}, r"n_arms=2, items=\[3\].*: expected at most one of them"),
        ({"reward_support": [1, 2, 2]}, "expected increasing numbers"),
        ({"n_arms": 99}, "n_arms=99: expected at most"),
        ({"items": [999]}, "item 999 has no rating"),
        ({"items": []}, r"items=\[\]: expected a list of ids, at least one"),
        ({"items": 3}, "items=3: expected a list of ids"),
        ({"items": [[3]]}, r"items=\[\[3\]\]: expected a list of ids"),
        ({"user": ["who"]}, r"'user': \['who'\].*: expected only names"),
        ({"genres": ["first"]}, r"unknown genres \['first'\]: did you mean 'first'"),
        ({"segment": ["A"]}, r"segment=\['A'\]: expected the name of one segment"),
        ({"items": "12"}, "items='12': expected a list of ids"),
        ({"split": "by-time"}, "expected ratings with times"),
        ({"method": "median"}, "unknown method 'median'"),
        ({"reward_support": [1, 2]}, r"rating 0.5: expected one of \[1. 2.\]"),
        ({"genres": "random"}, "has no genres"),
        ({"mask": 3}, "mask=3"),
        ({"round_to": 5}, "round_to=5: expected increasing numbers"),
        ({"round_to": [5]}, r"round_to=.*5.*: expected 2 or more increasing numbers"),
        ({"round_to": [6, 7]}, r"rating 0.5: expected one of \[6. 7.\]"),
    ],
)
def test_wrong_arguments_are_refused(frame, env_kwargs, message):
    with pytest.raises(ValueError, match=message):
        ratings_model(frame, **{**COLUMNS, **env_kwargs})


def test_missing_data_is_refused():
    with pytest.raises(ValueError, match="no ratings: pass data="):
        gym.make("CMAB-Ratings-v0")
    with pytest.raises(FileNotFoundError, match=r"none.csv does not exist"):
        gym.make("CMAB-Ratings-v0", data="none.csv")


def test_known_archives_need_no_columns(raw_data):
    small = ratings_model(raw_data / "ml-latest-small.zip", n_arms=10)
    assert small.problem.reward_support.size == 10
    assert small.arm_names[0] == "Forrest Gump (1994)"
    genres = ratings_model(raw_data / "ml-latest-small.zip", genres="all", train_share=0.3)
    assert "Children" in genres.arm_names
    books = raw_data / "goodreads_interactions_sample.csv"
    with pytest.warns(SparseSurveyWarning, match=r"^\d\d\.\d % of the pseudo-rewards are unknown"):
        assert ratings_model(books, n_arms=2, train_share=0.1).n_arms == 2
