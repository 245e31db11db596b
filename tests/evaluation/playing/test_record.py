"""What an evaluation records in addition to regret."""

import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym import Results, evaluate
from cmab_gym.evaluation.playing.batch import find_model
from cmab_gym.evaluation.playing.memory import peak_memory
from cmab_gym.evaluation.playing.record import Record
from cmab_gym.evaluation.results import results_file
from cmab_gym.evaluation.results.arm_pulls import ArmPulls
from cmab_gym.evaluation.results.parquet import read_table, write_table
from cmab_gym.evaluation.results.results import area_under
from cmab_gym.theory import analyse

GENRES = "CMAB-MovieLens-v0"


class Pulls:
    """Pulls given arms, one a round."""

    def __init__(self, arms):
        self.arms = arms

    def reset(self, problem, rng):
        self.left = list(self.arms)

    def act(self):
        return self.left.pop(0)

    def update(self, arm, reward):
        pass


@pytest.fixture(scope="module")
def results():
    return evaluate(GENRES, ["ucb", "c-ucb", "random"], 60, 4, seed=1, checkpoints=6)


def test_pulls_and_rewards_by_hand():
    agents = {"a": Pulls([1, 0, 1, 1, 0]), "b": Pulls([0, 0, 0, 0, 0])}
    always_one = {"pmf": [[0, 0], [0, 1]]}
    results = evaluate("CMAB-Tabular-v0", agents, 5, 2, checkpoints=[2], env_kwargs=always_one)
    assert results.pulls("a").tolist() == [[2, 3]] * 2
    assert results.last_pulls("a").tolist() == [[5, 4]] * 2
    assert results.pulls("b").tolist() == [[5, 0]] * 2
    assert results.last_pulls("b").tolist() == [[5, 0]] * 2
    assert results.reward("a").tolist() == [[2, 5]] * 2
    assert results.best_arm_share("a").tolist() == [1, 1]


def test_the_area_under_a_curve_by_hand():
    assert area_under((2, 4, 5), np.array([[2.0, 4, 4], [0, 0, 1]])).tolist() == [12, 0.5]
    assert area_under((10,), np.array([[3.0]])).tolist() == [15]


@pytest.mark.parametrize("name", ["ucb", "c-ucb", "random", "kl-ucb", "c-kl-ucb"])
@pytest.mark.parametrize("draws", ["pulls", "rounds"])
def test_pulls_explain_regret(name, draws):
    """Regret is the sum of pulls times gaps, and pulls add up to the rounds."""
    results = evaluate(GENRES, [name], 90, 3, env_kwargs={"draws": draws})
    pulls, last = results.pulls(name), results.last_pulls(name)
    gaps = find_model(GENRES, {}).gaps
    assert (pulls.sum(axis=1) == 90).all()
    assert_allclose(pulls @ gaps, results.final(name))
    assert_array_equal(pulls[:, gaps == 0].sum(axis=1) / 90, results.best_arm_share(name))
    assert (last.max(axis=1) == 90).all()
    assert ((pulls > 0) == (last > 0)).all()
    assert (pulls <= last).all()
    assert ((results.reward(name)[:, -1] >= 90) & (results.reward(name)[:, -1] <= 5 * 90)).all()


@pytest.mark.parametrize("name", ["kl-ucb", "c-ucb"])
def test_pulls_do_not_depend_on_checkpoints(name):
    few, many = (evaluate(GENRES, [name], 150, 3, checkpoints=n) for n in ([7], 150))
    assert_array_equal(few.pulls(name), many.pulls(name))
    assert_array_equal(few.last_pulls(name), many.last_pulls(name))
    assert_array_equal(few.best_arm_share(name), many.best_arm_share(name))
    assert_array_equal(few.reward(name), many.reward(name)[:, [6, 149]])


def test_the_competitive_set_is_that_of_the_agent():
    results = evaluate(GENRES, ["c-ucb", "tc-ucb", "c-kl-ucb", "ucb"], 50, 3, checkpoints=50)
    for name in ("c-ucb", "tc-ucb", "c-kl-ucb"):
        sizes = results.competitive(name)
        assert (sizes[:, 0] == 18).all()  # nothing is known before the first pull
        assert ((sizes >= 1) & (sizes <= 18)).all()
        assert sizes[:, -1].max() < 18
    with pytest.raises(ValueError, match="'ucb' has no competitive set: expected a correlated"):
        results.competitive("ucb")
    frame = results.to_pandas()
    assert frame[frame["agent"] == "ucb"]["competitive"].isna().all()


def test_all_arms_are_competitive_after_until(in_both_forms):
    loop, plain = in_both_forms(GENRES, ["c-ucb(until=30)"], 60, 2, checkpoints=6)
    assert loop.equals(plain)
    assert loop[loop["round"] > 30]["competitive"].eq(18).all()


def test_non_competitive_arms_are_left_early():
    """What Theorem 1 is about can be read from the results."""
    results = evaluate("CMAB-Latent-v0", ["c-ucb"], 400, 5, env_kwargs={"preset": "three-arm-a"})
    analysis = analyse(find_model("CMAB-Latent-v0", {"preset": "three-arm-a"}))
    last = results.last_pulls("c-ucb")[:, ~analysis.competitive]
    assert (last < 200).all()


def test_pulls_need_not_be_recorded(tmp_path):
    both = [evaluate(GENRES, ["c-ucb", "kl-ucb"], 40, 2, record_pulls=on) for on in (True, False)]
    assert both[0].to_pandas().equals(both[1].to_pandas())
    read = Results.load(both[1].save(tmp_path))
    for results in (both[1], read):
        assert results.pulls_to_pandas().empty
        with pytest.raises(ValueError, match=r"were not recorded: .*record_pulls=True"):
            results.pulls("c-ucb")


def test_recording_does_not_depend_on_batches_or_processes(results):
    other = evaluate(
        GENRES, ["ucb", "c-ucb", "random"], 60, 4, seed=1, checkpoints=6, batch_size=3, n_jobs=2
    )
    assert other.to_pandas().equals(results.to_pandas())
    assert other.pulls_to_pandas().equals(results.pulls_to_pandas())


def test_what_is_recorded_is_saved(results, tmp_path):
    read = Results.load(results.save(tmp_path))
    assert read.to_pandas().equals(results.to_pandas())
    assert read.pulls_to_pandas().equals(results.pulls_to_pandas())
    for name in ("ucb", "c-ucb", "random"):
        assert_array_equal(read.pulls(name), results.pulls(name))
        assert_array_equal(read.last_pulls(name), results.last_pulls(name))
        assert read.run(name).peak_memory == results.run(name).peak_memory
    # Any reader of Parquet sees the pulls as lists in the last row of each trial.
    frame = pd.read_parquet(tmp_path / "results.parquet")
    last = frame[frame["round"] == 60].iloc[0]
    assert last["arm_pulls"].tolist() == results.pulls("ucb")[0].tolist()
    assert frame[frame["round"] < 60]["arms"].isna().all()


def test_every_number_is_in_the_checksum(results, tmp_path):
    path = results.save(tmp_path) / "results.parquet"
    columns, metadata = read_table(path)
    for name, column in columns.items():
        if name in ("agent", "trial", "round"):  # the manifest has these
            continue
        if name in ("arms", "arm_pulls", "last_pulls"):
            changed = replace(column, values=column.values + (np.arange(column.values.size) == 3))
        else:
            changed = np.where(np.arange(column.size) == 40, column + 1, column)
        write_table(path, {**columns, name: changed}, metadata)
        with pytest.raises(ValueError, match="does not match its checksum"):
            Results.load(tmp_path)


def test_files_of_schema_1_load(results, tmp_path):
    """As version 0.1 wrote them: no schema, and regret and pulls of a best arm alone."""
    path = results.save(tmp_path) / "results.parquet"
    columns, metadata = read_table(path)
    manifest = json.loads(metadata["cmab_gym_manifest"])
    for name in ("schema", "agent_peak_memory", "n_arms", "first_trial"):
        del manifest[name]
    text = json.dumps(manifest)
    old = [replace(run, reward=np.empty((0, 0)), pulls=None) for run in results.runs]
    old = [replace(run, competitive=np.empty((0, 0), np.int64)) for run in old]
    digest = results_file._digest(text, old)
    kept = ("agent", "trial", "round", "regret", "best_arm_pulls")
    write_table(
        path,
        {name: columns[name] for name in kept},
        {"cmab_gym_manifest": text, "cmab_gym_sha256": digest},
    )
    read = Results.load(tmp_path)
    assert_array_equal(read.regret("c-ucb"), results.regret("c-ucb"))
    assert np.isnan(read.summary()["reward"]).all()
    with pytest.raises(ValueError, match="rewards of 'ucb' were not recorded: run it again"):
        read.reward("ucb")


def test_files_of_newer_schemas_are_refused(results, tmp_path):
    path = results.save(tmp_path) / "results.parquet"
    columns, metadata = read_table(path)
    newer = metadata["cmab_gym_manifest"].replace('"schema": 2', '"schema": 3')
    write_table(path, columns, {**metadata, "cmab_gym_manifest": newer})
    with pytest.raises(ValueError, match=r"has schema 3: expected 2 or less; .* upgrade"):
        Results.load(tmp_path)


def test_pulls_of_a_large_catalogue_take_little():
    pulls = np.zeros((100, 45_000), dtype=np.int64)
    pulls[:, :9] = 5
    own = ArmPulls.of(pulls, pulls)
    assert sum(array.nbytes for array in (own.trial, own.arm, own.pulls, own.last)) < 30_000
    assert_array_equal(ArmPulls.joined([own, own]).counts(), np.concatenate([pulls, pulls]))


def test_a_record_of_rounds_that_a_user_plays():
    model = find_model("CMAB-Tabular-v0", {})
    record = Record(model, 2, (1, 2))
    for t, arms in enumerate(np.array([[0, 1], [1, 1]]), start=1):
        record.add(t, arms, np.array([1.0, 0.0]), model.gaps[arms] * t, object())
    assert record.reward.tolist() == [[1, 2], [0, 0]]
    assert record.last.tolist() == [[1, 2], [0, 2]]
    assert record.competitive.shape == (2, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="it is 0 elsewhere")
def test_peak_memory_counts_arrays_and_never_falls():
    before, held = peak_memory(), np.ones(10**7)
    assert peak_memory() >= max(before, held.nbytes)
