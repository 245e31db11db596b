from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy as np
import pytest
from small_archives import write_archives

from cmab_gym.envs_data.bundle import SurveySpec, build_tables, bundled_specs, bundled_survey

BUNDLED = files("cmab_gym.envs_data") / "bundled"


def test_the_folder_holds_exactly_the_listed_tables():
    names = {path.name for path in BUNDLED.iterdir() if path.name.endswith(".npz")}
    assert names == {f"{spec.name}.npz" for spec in bundled_specs()}
    assert len(names) == 16


@pytest.mark.parametrize("spec", bundled_specs(), ids=lambda spec: spec.name)
def test_a_bundled_table_names_its_source_and_holds_aggregates(spec):
    survey = bundled_survey(spec)
    n_arms = {"genre": 18, "movie": 50, "book": 25}[spec.task]
    assert survey.pseudo_rewards.shape == (n_arms, n_arms, 5)
    assert survey.test_counts.shape == (n_arms, 5)
    assert len(set(survey.arm_names)) == n_arms
    assert {"source", "licence", "sha256", "split", "test_half"} <= set(survey.provenance)
    assert survey.pseudo_rewards.min() >= 1
    assert survey.pseudo_rewards.max() <= 5


def test_the_movies_are_those_of_the_paper():
    provenance = bundled_survey(SurveySpec("movielens", "movie", 0.5)).provenance
    assert provenance["ratings"] == 109_804
    assert provenance["users"] == 6_025


def test_rebuilding_gives_the_same_bytes(raw_data, tmp_path):
    for path in build_tables(raw_data, tmp_path):
        assert path.read_bytes() == (BUNDLED / path.name).read_bytes(), path.name
    assert len(list(tmp_path.iterdir())) == 16


@pytest.mark.filterwarnings("ignore::cmab_gym.envs_data.SparseSurveyWarning")
def test_two_builds_into_one_folder_both_succeed(tmp_path):
    write_archives(tmp_path)
    alone = list(build_tables(tmp_path, tmp_path / "alone"))
    out = tmp_path / "both"
    first, second = build_tables(tmp_path, out), build_tables(tmp_path, out)
    with ThreadPoolExecutor(2) as pool:
        builds = list(pool.map(list, (first, second)))
    assert [len(written) for written in builds] == [16, 16]
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in alone)
    for path in alone:
        assert path.read_bytes() == (out / path.name).read_bytes()


def test_without_an_archive_no_table_is_built(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no ml-1m.zip: put the archive there"):
        list(build_tables(tmp_path, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_not_bundled_is_refused():
    with pytest.raises(
        ValueError, match=r"expected train_share 0.1 or 0.5 and genre_draw from 0 to 4"
    ):
        bundled_survey(SurveySpec("movielens", "genre", 0.9))
    with pytest.raises(ValueError, match="unknown source 'netflix'"):
        SurveySpec("netflix", "movie", 0.5)
    assert np.isclose(
        bundled_survey(SurveySpec("movielens", "genre", 0.5)).test_counts.sum(), 500_073
    )
