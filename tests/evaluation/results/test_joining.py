"""Joined results are those of one evaluation, and what does not belong together is refused."""

from dataclasses import replace

import pytest
from numpy.testing import assert_array_equal

from cmab_gym import Results, evaluate
from cmab_gym.evaluation import AgentRun

ENV = "CMAB-MovieLens-v0"


def run(agents=("ucb", "c-ucb"), trials=3, **kwargs):
    return evaluate(ENV, agents, **{"rounds": 30, "checkpoints": 3, **kwargs}, trials=trials)


@pytest.fixture(scope="module")
def whole():
    return run(["ucb", "c-ucb", "oracle"], 5)


def assert_same(one, other):
    assert one.to_pandas().equals(other.to_pandas())
    assert one.pulls_to_pandas().equals(other.pulls_to_pandas())
    assert (one.trials, one.checkpoints) == (other.trials, other.checkpoints)
    differ = {"seconds", "started", "batch_size"}
    mine, theirs = (
        {key: value for key, value in each.manifest.items() if key not in differ}
        for each in (one, other)
    )
    assert mine == theirs


def test_agents_and_trials_added_later_give_what_one_run_gives(whole, tmp_path):
    run(["ucb", "c-ucb"], 2).save(tmp_path)
    (Results.load(tmp_path) + run(["oracle"], 2)).save(tmp_path)
    later = run(["ucb", "c-ucb", "oracle"], 3, first_trial=2)
    (later + Results.load(tmp_path)).save(tmp_path)  # in any order
    assert_same(Results.load(tmp_path), whole)


def test_parts_that_fit_only_together(whole):
    parts = [
        run([name], trials, first_trial=first)
        for first, trials in ((0, 4), (4, 1))
        for name in ("ucb", "c-ucb", "oracle")
    ]
    assert_same(Results.concat(parts), whole)


def test_later_trials_keep_their_index(whole, tmp_path):
    later = run(["ucb"], 2, first_trial=3)
    assert later.to_pandas()["trial"].unique().tolist() == [3, 4]
    assert later.pulls_to_pandas()["trial"].unique().tolist() == [3, 4]
    assert_array_equal(later.regret("ucb"), whole.regret("ucb")[3:])
    assert Results.load(later.save(tmp_path)).trials == range(3, 5)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"rounds": 40}, "rounds"),
        ({"seed": 1}, r"seed \(0 and 1\)"),
        ({"checkpoints": [10]}, "checkpoints"),
        ({"env_kwargs": {"task": "movie"}}, "keyword arguments"),
        ({"delay": 2}, "delay"),
    ],
)
def test_results_of_other_tasks_are_refused(other, why):
    with pytest.raises(ValueError, match=f"differ in their {why}.* expected results of one task"):
        run(["ucb"]) + run(["c-ucb"], **other)


def test_the_same_trials_twice_are_refused():
    twice = "agent 'ucb' has trials 0 to 2 twice: expected them once; leave one of the two"
    with pytest.raises(ValueError, match=twice):
        run(["ucb"]) + run(["ucb"])


def test_missing_trials_are_refused():
    with pytest.raises(ValueError, match=r"trials 0 to 2 and trials 4 to 5: .*from 3 on"):
        run(["ucb"]) + run(["ucb"], 2, first_trial=4)
    with pytest.raises(ValueError, match=r"trials 0 to 2 and trials 2 to 3: .*from 3 on"):
        run(["ucb"]) + run(["ucb"], 2, first_trial=2)
    with pytest.raises(ValueError, match="agent 'c-ucb' has trials 0 to 2 and agent 'ucb' trials"):
        run() + run(["ucb"], 2, first_trial=3)
    with pytest.raises(ValueError, match="no results: expected at least one"):
        Results.concat([])


def test_one_label_for_two_agents_is_refused():
    with pytest.raises(ValueError, match=r"agent 'a' is 'ucb' and 'ts': expected one agent for"):
        run({"a": "ucb"}) + run({"a": "ts"}, first_trial=3)


def test_an_agent_that_failed_is_replaced_by_its_finished_run(whole):
    both = run(["ucb", "c-ucb", "oracle"], 5)
    failed = AgentRun.failed("c-ucb", "agent 'c-ucb': interrupted, 2 of 5 trials had finished")
    runs = tuple(failed if run.label == "c-ucb" else run for run in both.runs)
    interrupted = replace(both, runs=runs, manifest={**both.manifest, "interrupted": True})
    kept = interrupted + run(["ts"], 5)
    assert kept.failures == {"c-ucb": failed.failure}
    assert kept.manifest["interrupted"]
    again = run(["c-ucb"], 5)
    for repaired in (interrupted + again, Results.concat([interrupted, again])):
        assert_same(repaired, whole)


def test_a_part_that_failed_fails_the_agent():
    first = run(["ucb"], 2)
    failed = AgentRun.failed("ucb", "agent 'ucb', trial 3, round 9: no", first_trial=2)
    later = replace(run(["ucb"], 2, first_trial=2), runs=(failed,))
    assert (first + later).failures == {"ucb": failed.failure}
