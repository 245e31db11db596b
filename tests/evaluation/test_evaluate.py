import gc
import json
import os
import re
import threading
import traceback
import tracemalloc
import weakref

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cmab_gym import make_agent, published
from cmab_gym.agents import TS, UCB, CBandit, IndexAgent, RandomAgent, registry
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.evaluation import EvaluationError, EvaluationInterrupted, check_agent, evaluate
from cmab_gym.evaluation.evaluate import checkpoint_rounds

TABULAR = "CMAB-Tabular-v0"
SETTINGS = {"env_kwargs": {"preset": "three-armed"}, "rounds": 60, "trials": 7, "seed": 3}
EVERY = ["random", "ucb", "c-ucb", "ts", "c-ts", "kl-ucb", "c-kl-ucb"]


class Plain:
    """Round robin, with a random start."""

    def reset(self, problem, rng):
        self.n_arms, self.arm = problem.n_arms, int(rng.integers(problem.n_arms))

    def act(self):
        return self.arm

    def update(self, arm, reward):
        self.arm = (arm + 1) % self.n_arms


class FailsLate(Plain):
    """Fails in the trial in which the random start is arm 0, after 4 rounds."""

    def reset(self, problem, rng):
        super().reset(problem, rng)
        self.left, self.fails = 4, self.arm == 0

    def act(self):
        return self.bad() if self.left <= 0 and self.fails else super().act()

    def update(self, arm, reward):
        super().update(arm, reward)
        self.left -= 1

    def bad(self):
        raise RuntimeError("out of ideas")


class TooLarge(FailsLate):
    def bad(self):
        return 2**70


class Negative(FailsLate):
    def bad(self):
        return -1


class Fractional(FailsLate):
    def bad(self):
        return 1.0


class NotANumber(FailsLate):
    def bad(self):
        return float("nan")


class Truth(FailsLate):
    def bad(self):
        return True


class FailsToLearn(Plain):
    def update(self, arm, reward):
        raise KeyError("arm")


class CannotBegin(Plain):
    def reset(self, problem, rng):
        raise RuntimeError("no")


class WrongBatch(RandomAgent):
    def act(self):
        return super().act()[:-1]


class FractionalBatch(RandomAgent):
    def act(self):
        return super().act() + 0.5


class LargeBatch(RandomAgent):
    def act(self):
        return np.where(np.arange(7) == 5, 3, super().act())


class HugeBatch(RandomAgent):
    def act(self):
        return [0, 0, 0, 0, 0, 2**70, 0]


def regrets(agents, **changes):
    results = evaluate(TABULAR, agents, **{**SETTINGS, **changes})
    return {run.label: run.regret for run in results.runs}


@pytest.mark.parametrize("batch_size", [1, 2, 7])
def test_batches_change_no_number(batch_size):
    together, apart = regrets([*EVERY, Plain]), regrets([*EVERY, Plain], batch_size=batch_size)
    for label, regret in together.items():
        assert_array_equal(apart[label], regret)


@pytest.mark.parametrize(
    ("env_id", "compiled"), [(TABULAR, "1"), ("CMAB-Latent-v0", "0"), ("CMAB-MovieLens-v0", "0")]
)
def test_workers_change_no_number(env_id, compiled, monkeypatch):
    monkeypatch.setenv("CMAB_GYM_COMPILED", compiled)
    keywords = {"rounds": 100, "trials": 5, "seed": 1}
    serial = evaluate(env_id, ["c-ucb", "c-ts"], **keywords)
    parallel = evaluate(env_id, ["c-ucb", "c-ts"], **keywords, n_jobs=2)
    for label in ("c-ucb", "c-ts"):
        assert_array_equal(parallel.regret(label), serial.regret(label))


def test_other_agents_and_their_order_change_no_number():
    every = regrets(EVERY)
    backwards = regrets(EVERY[::-1])
    for label in EVERY:
        assert_array_equal(backwards[label], every[label])
        assert_array_equal(regrets([label])[label], every[label])


def test_more_trials_or_rounds_only_add():
    short = evaluate(
        TABULAR, ["c-ts"], 60, 3, env_kwargs={"preset": "three-armed"}, checkpoints=[20, 60]
    )
    long = evaluate(
        TABULAR, ["c-ts"], 600, 5, env_kwargs={"preset": "three-armed"}, checkpoints=[20, 60]
    )
    assert_array_equal(long.regret("c-ts")[:3, :2], short.regret("c-ts"))


def test_seeds_matter():
    assert (regrets(["ts"], seed=4)["ts"] != regrets(["ts"])["ts"]).any()


def test_agents_by_name_class_and_instance_are_the_same():
    given = {"name": "c-ucb(B=2)", "instance": CBandit(UCB(B=2))}
    made = regrets(given)
    assert_array_equal(made["name"], made["instance"])
    assert_array_equal(
        regrets([TS(beta=2)])[repr(TS(beta=2))],
        regrets({"x": "ts(beta=2)"})["x"],
    )
    assert_array_equal(regrets([Plain])["Plain"], regrets({"p": Plain()})["p"])


def test_regret_never_falls_and_pulls_add_up():
    results = evaluate(TABULAR, EVERY, **SETTINGS, checkpoints=60)
    frame = results.to_pandas()
    scores = ["regret", "best_arm_pulls", "reward", "competitive"]
    assert list(frame.columns) == ["agent", "trial", "round", *scores]
    for _, rows in frame.groupby(["agent", "trial"]):
        assert rows["round"].tolist() == list(range(1, 61))
        assert (rows["regret"].diff().dropna() >= 0).all()
        assert rows["best_arm_pulls"].diff().dropna().isin([0, 1]).all()
        # Gaps are 0, .15 and .7: regret is at least .15 for each pull of another arm.
        others = rows["round"] - rows["best_arm_pulls"]
        assert (rows["regret"] >= 0.15 * others - 1e-9).all()
        assert (rows["regret"] <= 0.7 * others + 1e-9).all()


def test_the_random_agent_pays_the_mean_gap():
    results = evaluate(TABULAR, ["random"], 500, 200, env_kwargs={"preset": "three-armed"})
    mean_gap, sd = (0 + 0.15 + 0.7) / 3, 0.305
    error = abs(results.regret("random")[:, -1].mean() / 500 - mean_gap)
    assert error < 5 * sd / np.sqrt(500 * 200)  # false alarm below 1e-6


def test_an_agent_that_knows_the_best_arm_has_no_regret():
    class Knows(Plain):
        def act(self):
            return 0

    results = evaluate(TABULAR, [Knows], **SETTINGS)
    assert results.regret("Knows").max() == 0
    assert results.summary()["best_arm_share"].tolist() == [1.0]


def test_only_an_oracle_is_told_the_means_and_every_agent_the_horizon():
    told = []

    class Records(RandomAgent):
        def reset(self, problem, trials, rng):
            told.append((problem.horizon, hasattr(problem, "means")))
            super().reset(problem, trials, rng)

    results = evaluate(TABULAR, [Records, "oracle"], **SETTINGS)
    assert told == [(SETTINGS["rounds"], False)]
    assert results.regret("oracle").max() == 0
    assert results.manifest["told_more"] == {"oracle": "the mean reward of each arm"}
    Records.told = "all"
    with pytest.raises(EvaluationError, match="unknown value 'all' of told: expected one of: mea"):
        evaluate(TABULAR, [Records], **SETTINGS)
    oracle = make_agent("oracle")
    oracle.reset(tabular_model().problem, 1, 0)
    with pytest.raises(ValueError, match=r"does not tell the means: expected a ToldProblem"):
        oracle.act()


@pytest.mark.parametrize("policy", ["ucb", "c-ucb", "ts", "c-ts", "kl-ucb", "c-kl-ucb"])
def test_every_agent_learns_a_trivial_problem(policy):
    pmf = np.zeros((2, 2))
    pmf[0, 1] = 1.0  # arm 1 always gives 1, arm 0 never
    results = evaluate(TABULAR, [policy], 400, 20, env_kwargs={"pmf": pmf})
    assert results.regret(policy)[:, -1].max() < 40


@pytest.mark.parametrize(
    ("agent", "what"),
    [
        (FailsLate, "RuntimeError: out of ideas"),
        (TooLarge, rf"act\(\) returned {2**70} of type int: expected an integer arm from 0 to 2"),
        (Negative, r"act\(\) returned -1 of type int: expected an integer arm from 0 to 2"),
        (Fractional, r"act\(\) returned 1.0 of type float: expected an integer arm"),
        (NotANumber, r"act\(\) returned nan of type float: expected an integer arm"),
        (Truth, r"act\(\) returned True of type bool: expected an integer arm"),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 7])
def test_a_failing_agent_is_named_with_trial_and_round(agent, what, batch_size):
    starts = [int(s) for s in regrets_starts()]
    trial = starts.index(0)
    label = agent.__name__
    with pytest.raises(
        EvaluationError, match=f"agent '{label}', trial {trial}, round 5: {what}"
    ) as caught:
        evaluate(TABULAR, ["ucb", agent, "c-ts"], **SETTINGS, batch_size=batch_size)
    kept = caught.value.results
    assert [run.label for run in kept.finished] == ["ucb", "c-ts"]
    assert_array_equal(kept.regret("c-ts"), regrets(["c-ts"])["c-ts"])
    assert list(kept.failures) == [label]


def regrets_starts():
    """The random start of each trial's plain agent."""
    from cmab_gym.streams import TrialStreams

    return [rng.integers(3) for rng in TrialStreams.for_trials(3, range(7)).generators]


@pytest.mark.parametrize(
    ("agent", "what"),
    [
        (FailsToLearn, "trial 0, round 1: KeyError: 'arm'"),
        (CannotBegin, "trial 0, round 0: RuntimeError: no"),
        (WrongBatch, r"trials 0 to 6 in lockstep, round 1: .*shape \(6,\): expected \(7,\)"),
        (
            FractionalBatch,
            r"trial 0, round 1: act\(\)\[0\] is .* of type float64: expected integer arms",
        ),
        (LargeBatch, r"trial 5, round 1: act\(\)\[5\] is 3: expected integer arms from 0 to 2"),
        (HugeBatch, rf"trial 5, round 1: act\(\)\[5\] is {2**70} of type object: expected integer"),
    ],
)
def test_other_failures(agent, what):
    with pytest.raises(EvaluationError, match=what):
        evaluate(TABULAR, [agent], **SETTINGS)


def test_the_line_named_is_one_of_the_user(tmp_path):
    """Not one of the package, nor of the standard library in which the error was raised."""
    path = tmp_path / "wrong.py"
    path.write_text(
        "import json\nclass Wrong:\n    def index(self, history, rng):\n"
        "        return json.loads('{bad')\n"
    )
    for n_jobs in (1, 2):
        with pytest.raises(EvaluationError, match=r"JSONDecodeError: .*\(wrong.py line 4\)") as e:
            evaluate(TABULAR, [f"{path}:Wrong"], **SETTINGS, n_jobs=n_jobs)
        whole = "".join(traceback.format_exception(e.value))
        assert f'File "{path}", line 4, in index' in whole
        assert "decoder.py" in whole
        if n_jobs == 1:
            assert isinstance(e.value.__cause__, json.JSONDecodeError)
    path.write_text("class Wrong:\n    def index(self, history, rng):\n        return None\n")
    with pytest.raises(EvaluationError, match=r"each trial and arm$"):
        evaluate(TABULAR, [f"{path}:Wrong"], **SETTINGS)


def test_failures_can_be_kept_without_an_error():
    results = evaluate(TABULAR, [FailsToLearn, "ucb"], **SETTINGS, on_error="keep")
    assert set(results.failures) == {"FailsToLearn"}
    assert results.summary()["agent"].tolist() == ["ucb"]
    with pytest.raises(ValueError, match=r"no results of 'FailsToLearn': .* one of \['ucb'\]"):
        results.regret("FailsToLearn")


@pytest.mark.usefixtures("numpy_loops")
def test_failures_in_workers_are_told_too(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(
        "class Bad:\n    def reset(self, problem, rng): pass\n"
        "    def act(self): return 7\n    def update(self, arm, reward): pass\n"
    )
    name = f"{path}:Bad"
    results = evaluate(TABULAR, [name, "ucb"], **SETTINGS, n_jobs=2, on_error="keep")
    assert re.search(r"trial \d, round 1: act\(\) returned 7", results.failures[name])
    assert [run.label for run in results.finished] == ["ucb"]


@pytest.mark.usefixtures("numpy_loops")
@pytest.mark.parametrize(("on_error", "n_jobs"), [("keep", 1), ("raise", 1), ("keep", 2)])
def test_an_interruption_is_raised_with_the_finished_results(on_error, n_jobs):
    class Interrupts(RandomAgent):  # here, so that the workers need no module of tests
        def act(self):
            raise KeyboardInterrupt

    agents = {"ucb": "ucb", "stops": Interrupts(), "ts": "ts"}
    with pytest.raises(EvaluationInterrupted) as caught:
        evaluate(TABULAR, agents, **SETTINGS, n_jobs=n_jobs, on_error=on_error)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not isinstance(caught.value, Exception)
    results = caught.value.results
    if n_jobs == 1:
        assert [run.label for run in results.finished] == ["ucb"]
    assert "interrupted, 0 of 7 trials had finished" in results.failures["stops"]
    assert results.manifest["interrupted"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_agent_that_ended_is_not_kept_alive_by_its_error(error):
    made = []

    class Fails(RandomAgent):
        def __init__(self):
            made.append(weakref.ref(self))

        def act(self):
            raise error

    try:
        kept = evaluate(TABULAR, [Fails], **SETTINGS, on_error="keep")
    except EvaluationInterrupted as interruption:
        kept = interruption  # the results, and the error that they came with
    gc.collect()
    assert made
    assert not any(agent() for agent in made)
    assert kept


def test_an_error_that_is_its_own_cause_ends_the_agent():
    class Fails(RandomAgent):
        def act(self):
            error = RuntimeError("circle")
            raise error from error

    results = evaluate(TABULAR, [Fails], **SETTINGS, on_error="keep")
    assert "circle" in results.failures["Fails"]


class Exits(Plain):
    def act(self):
        raise SystemExit(3)


class NoException(BaseException):
    pass


class ExitsBatch(RandomAgent):
    def act(self):
        raise NoException(3)


@pytest.mark.parametrize("agent", [Exits, ExitsBatch])
def test_an_agent_that_exits_ends_only_itself(agent):
    results = evaluate(TABULAR, {"ucb": "ucb", "x": agent, "ts": "ts"}, **SETTINGS, on_error="keep")
    assert [run.label for run in results.finished] == ["ucb", "ts"]
    assert re.search("(SystemExit|NoException): 3", results.failures["x"])


class Vandal(Plain):
    """Tries every way that NumPy offers to change the table."""

    def reset(self, problem, rng):
        super().reset(problem, rng)
        for array in (problem.pseudo_rewards, problem.reward_support, problem.rows.unknown):
            while isinstance(array, np.ndarray):
                with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                    array.setflags(write=True)
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
                array = array.base
        np.seterr(all="raise")


def test_no_agent_can_change_the_problem_of_the_next():
    settings = np.geterr()
    results = evaluate(TABULAR, [Vandal, "c-ucb"], **SETTINGS)
    alone = evaluate(TABULAR, ["c-ucb"], **SETTINGS)
    assert_array_equal(results.regret("c-ucb"), alone.regret("c-ucb"))
    assert np.geterr() == settings


@pytest.mark.usefixtures("numpy_loops")
def test_a_worker_that_dies_takes_no_other_results_with_it():
    class Dies(RandomAgent):  # here, so that the workers need no module of tests
        def act(self):
            os._exit(1)

    results = evaluate(TABULAR, ["ucb", Dies, "ts"], **SETTINGS, n_jobs=2, on_error="keep")
    assert list(results.failures) == ["Dies"]
    assert "its worker process ended without a result" in results.failures["Dies"]
    assert_array_equal(results.regret("ts"), regrets(["ts"])["ts"])


def test_what_cannot_be_sent_to_workers_is_told_before_anything_is_played():
    locked = Plain()
    locked.lock = threading.Lock()
    with pytest.raises(ValueError, match=r"agent 'Plain' cannot be sent .*use n_jobs=1"):
        evaluate(TABULAR, {"Plain": _Holds(locked)}, **SETTINGS, n_jobs=2)


class _Holds(Plain):
    def __init__(self, held):
        self.held = held


@pytest.mark.usefixtures("numpy_loops")
def test_agents_and_environments_of_ones_own_play_in_workers(monkeypatch):
    monkeypatch.setattr(registry, "SPECS", dict(registry.SPECS))

    @registry.register_agent("mine")
    class Greedy:
        def index(self, history, rng):
            return history.means  # the agent's own array: it must come to no harm

    gym.register("CMAB-Own-v0", vector_entry_point="cmab_gym.envs.tabular:TabularVectorEnv")
    try:
        keywords = {"rounds": 60, "trials": 4, "env_kwargs": {"preset": "three-armed"}}
        serial = evaluate("CMAB-Own-v0", ["mine", "c-mine"], **keywords)
        parallel = evaluate("CMAB-Own-v0", ["mine", "c-mine"], **keywords, n_jobs=2)
    finally:
        del gym.registry["CMAB-Own-v0"]
    for label in ("mine", "c-mine"):
        assert_array_equal(serial.regret(label), parallel.regret(label))


def test_an_agent_may_write_into_the_arrays_it_is_given():
    class Scribbles(RandomAgent):
        def act(self):
            self.mine = np.zeros(7, dtype=np.int64)
            return self.mine

        def update(self, arms, rewards):
            arms[:], rewards[:], self.mine[:] = 1, 99, 2

    results = evaluate(TABULAR, [Scribbles], **SETTINGS)
    assert results.regret("Scribbles").max() == 0
    assert results.summary()["best_arm_share"].tolist() == [1.0]


def test_the_line_of_the_users_code_is_named(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(
        "class Late:\n    def reset(self, problem, rng): pass\n    def act(self): return 0\n"
        "    def update(self, arm, reward):\n        raise RuntimeError('boom')\n"
    )
    with pytest.raises(EvaluationError, match=r"RuntimeError: boom \(late.py line 5\)"):
        evaluate(TABULAR, [f"{path}:Late"], **SETTINGS)


def test_labels_of_instances_do_not_change_from_run_to_run():
    assert list(regrets([Plain(), UCB(B=2)])) == ["Plain", "UCB(B=2)"]
    results = evaluate(TABULAR, (agent for agent in ("ucb", "ts")), **SETTINGS)
    assert results.manifest["agents"] == {"ucb": "ucb", "ts": "ts"}


def test_equal_arms_are_all_best():
    pmf = np.array([[[0.1, 0.15], [0.15, 0.1]], [[0.15, 0.1], [0.1, 0.15]]])
    results = evaluate(TABULAR, ["ucb"], 50, 5, env_kwargs={"pmf": pmf})
    assert results.summary()["best_arm_share"].tolist() == [1.0]


@pytest.mark.usefixtures("numpy_loops")
def test_progress_adds_up_to_all_rounds():
    for keywords in ({}, {"batch_size": 2}, {"n_jobs": 2}):
        counted, seen = [], []
        watches = {"progress": counted.append, "watch": seen.append}
        results = evaluate(TABULAR, ["ucb", "ts"], **SETTINGS, **watches, **keywords)
        assert sum(counted) == sum(batch.pulls for batch in seen) == 2 * 60 * 7
        for run in results.runs:
            last = {batch.trials: batch for batch in seen if batch.label == run.label}
            assert sum(len(trials) for trials in last) == 7
            for trials, batch in last.items():
                regret = run.regret[trials.start : trials.stop, -1].mean()
                assert (batch.rounds, batch.regret) == (60, pytest.approx(regret))


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_regret_so_far_is_that_of_the_round(compiled, monkeypatch):
    monkeypatch.setenv("CMAB_GYM_COMPILED", compiled)
    monkeypatch.setattr("cmab_gym.evaluation.playing.progress._REPORT_EVERY", 0)
    # So that it plays in parts.
    monkeypatch.setattr("cmab_gym.evaluation.playing.compiled._NUMBERS", 9)
    seen = []
    results = evaluate(TABULAR, ["ucb"], 60, 3, checkpoints=range(1, 61), watch=seen.append)
    assert len(seen) > 5
    expected = [0.0, *results.regret("ucb").mean(axis=0)]
    for batch in seen:
        assert batch.regret == pytest.approx(expected[batch.rounds])


def test_a_failure_is_reported():
    seen = []
    with pytest.raises(EvaluationError):
        evaluate(TABULAR, {"bad": CannotBegin}, 20, 3, watch=seen.append)
    assert (seen[-1].label, seen[-1].failed, seen[-1].pulls) == ("bad", True, 0)


def test_horizon_of_one_and_a_single_trial():
    results = evaluate(TABULAR, ["c-ucb"], rounds=1, trials=1)
    assert results.checkpoints == (1,)
    row = results.summary().iloc[0]
    assert np.isnan(row["sd"])
    assert np.isnan(row["low"])


@pytest.mark.parametrize(
    ("checkpoints", "rounds", "expected"),
    [
        (100, 5000, tuple(range(50, 5001, 50))),
        (100, 7, (1, 2, 3, 4, 5, 6, 7)),
        (3, 10, (3, 6, 10)),
        ([4, 2], 9, (2, 4, 9)),
        ("log", 1, (1,)),
        ("log", 9, (1, 2, 3, 4, 5, 6, 7, 8, 9)),
        ("log", 35, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 35)),
    ],
)
def test_checkpoints(checkpoints, rounds, expected):
    assert checkpoint_rounds(checkpoints, rounds) == expected


def test_log_checkpoints_grow_with_the_logarithm_and_a_longer_run_has_those_of_a_shorter():
    long = checkpoint_rounds("log", 10_000_000)
    assert len(long) == 7 * 9 + 1
    assert set(checkpoint_rounds("log", 3000)) < set(long)


def test_a_run_ten_times_as_long_needs_no_more_memory():
    def peak(rounds):
        tracemalloc.start()
        evaluate(TABULAR, ["c-ts"], rounds, 256, checkpoints="log")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # whatever is only done once
    short, long = peak(1500), peak(15_000)  # even the short one draws all noise more than once
    # 9 checkpoints more, of 256 trials and 4 numbers; one number a round more would be 27 MB.
    assert long - short < 9 * 256 * 4 * 8 * 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds=0: expected an integer of at least 1"),
        ({"trials": 0}, "trials=0: expected an integer of at least 1"),
        ({"trials": 1.5}, "trials=1.5: expected an integer"),
        ({"seed": -1}, "seed=-1: expected an integer of at least 0"),
        ({"n_jobs": 0}, "n_jobs=0: .*or -1 for one per core"),
        ({"batch_size": 0}, "batch_size=0: expected an integer"),
        ({"checkpoints": [61]}, "checkpoint 61: expected rounds from 1 to 60"),
        ({"checkpoints": 0}, "checkpoints=0: expected an integer"),
        ({"checkpoints": "lin"}, "unknown checkpoints 'lin'"),
        ({"agents": []}, "no agents given"),
        ({"agents": "ucb"}, r"agents='ucb': expected a list, such as \['ucb'\]"),
        ({"agents": ["ucb", "ucb"]}, "two agents have the label 'ucb'"),
        ({"agents": ["ucb", "ucb()"]}, r"^'ucb' and 'ucb\(\)' are one agent: expected it once"),
        ({"agents": ["ts(B=1,beta=2)", "ts(beta=2.0, B=1)"]}, "are one agent: expected it once"),
        ({"agents": ["a(x=[{1}, {2: [3]}])", "a( x = [{1},{2:[3]}])"]}, "are one agent"),
        ({"agents": [3]}, "int has no method reset"),
        ({"agents": UCB()}, r"agents=UCB\(B=None\): expected a list"),
        ({"agents": {1: "ucb"}}, "agent label 1: expected a non-empty string"),
        ({"agents": {"\ud800": "ucb"}}, r"agent label '\\ud800': expected a non-empty string"),
        ({"checkpoints": [1.7]}, "checkpoint=1.7: expected an integer"),
        ({"env_kwargs": ["preset"]}, r"env_kwargs=\['preset'\]: expected a mapping"),
        ({"env_kwargs": {"num_envs": 3}}, "num_envs=3 is not accepted here"),
        ({"env_kwargs": {"autoreset_mode": "SameStep"}}, "autoreset_mode='SameStep' is not"),
        ({"agents": ["ubc"]}, "unknown agent 'ubc'"),
        ({"env_id": "CMAB-Tabluar-v0"}, "unknown environment .*did you mean 'CMAB-Tabular-v0'"),
        ({"env_id": "CartPole-v1"}, "CartPole-v1 is not a bandit"),
        ({"env_kwargs": {"horizon": 3}}, "rounds, trials and the evaluation decide it"),
        ({"env_kwargs": {"preset": "x"}}, "unknown preset 'x'"),
        ({"on_error": "ignore"}, "unknown on_error 'ignore'"),
    ],
)
def test_wrong_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(**{"env_id": TABULAR, "agents": ["ucb"], **SETTINGS, **changes})


@pytest.mark.parametrize("agent", [*EVERY, Plain, Plain(), TS(beta=3)])
def test_agents_keep_the_contract(agent):
    check_agent(agent)


def test_keyword_arguments_of_the_environment_are_sent_to_env_kwargs():
    with pytest.raises(
        TypeError, match=r"no argument 'preset': .*env_kwargs=\{'preset': 'appendix'"
    ):
        evaluate(TABULAR, ["ucb"], preset="appendix")
    env = gym.make(TABULAR)
    with pytest.raises(ValueError, match=r"the id of .*, such as 'CMAB-Tabular-v0'; .*env_kwargs="):
        evaluate(env, ["ucb"])


def test_the_contract_names_the_class_that_breaks_it():
    with pytest.raises(ValueError, match=r"^agent 'CannotBegin', trial 0, round 0: RuntimeError"):
        check_agent(CannotBegin)


def test_the_contract_finds_what_breaks_it():
    class Global(Plain):
        def act(self):
            return int(np.random.default_rng().integers(self.n_arms))

    class Mixes(RandomAgent):
        """Lets one trial's choices depend on the others'."""

        def act(self):
            problem, trials = self._playing
            return np.full(trials, int(super().act().sum() % problem.n_arms))

    class RemembersAll(RandomAgent):
        total = 0

        def act(self):
            self.total += 1
            problem, trials = self._playing
            return np.full(trials, self.total // 7 % problem.n_arms)

    with pytest.raises(ValueError, match="take all randomness from the rng"):
        check_agent(Global)
    with pytest.raises(ValueError, match=r"forget everything in reset\(\)"):
        check_agent(RemembersAll())
    with pytest.raises(ValueError, match=r"use only a trial.s own row"):
        check_agent(Mixes)
    with pytest.raises(ValueError, match=r"KeyError: .arm."):
        check_agent(FailsToLearn)


def test_published_settings_run():
    results = evaluate("CMAB-MovieLens-v0", published("ucb", "c-ts"), 100, 2)
    assert results.manifest["agents"] == {"ucb": "ucb(B=5.0)", "c-ts": "c-ts(B=4.0, beta=1.0)"}


def test_a_misspelt_argument_is_suggested():
    with pytest.raises(TypeError, match="no argument 'round': did you mean 'rounds'"):
        evaluate(TABULAR, ["ucb"], round=50)


def test_a_label_holds_no_address_in_memory():
    class Mine:
        def index(self, history, rng):
            return history.means

    results = evaluate(TABULAR, [IndexAgent(Mine())], 20, 2)
    assert [run.label for run in results.runs] == ["IndexAgent(Mine())"]
