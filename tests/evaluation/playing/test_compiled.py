"""The compiled loop gives the numbers of act, step and update, and stands for nothing else."""

import importlib.util
import subprocess
import sys
from unittest.mock import patch

import gymnasium as gym
import numba
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import SEEDS, tabular_models

from cmab_gym import evaluate, make_agent
from cmab_gym.agents import UCB, CBandit, IndexAgent
from cmab_gym.agents.correlated.tightened.vectors import TightenedVectors
from cmab_gym.envs import BanditVectorEnv, TabularVectorEnv
from cmab_gym.envs_data import Ratings, take_survey
from cmab_gym.envs_data.surveys.arms import listed_arms
from cmab_gym.envs_data.surveys.split import Split
from cmab_gym.evaluation import EvaluationError, playing
from cmab_gym.evaluation.playing import compiled_loop
from cmab_gym.evaluation.playing.batch import find_environment, find_model, make_environment
from cmab_gym.evaluation.playing.compiled import CompiledRun, is_enabled, supports
from cmab_gym.evaluation.playing.record import Record
from cmab_gym.models import HistogramModel, LatentModel, TabularModel
from cmab_gym.problem import BanditProblem
from cmab_gym.state import read_state, write_state
from cmab_gym.streams import TrialStreams, environment_generator, uniforms_at

AGENTS = ("ucb", "ts", "c-ucb", "c-ts")
CORRELATED = (
    "c-ucb",
    "c-ts",
    "c-ts(beta=0.1)",
    "c-ts(first_pulls='all')",
    "c-ucb(log_factor=1.3)",
    "c-ts(log_factor=0.3, beta=0.1)",
    "c-ucb(until=11)",
    "c-ucb(first_pulls='all', log_factor=2, until=30)",
)
TIGHTENED = ("tc-ucb", "tc-ts(beta=0.1, log_factor=2, until=400)", "tc-ucb(first_pulls='all')")
CASES = {
    "joint outcomes": ("CMAB-Tabular-v0", {"preset": "appendix"}),
    "continuous rewards": ("CMAB-Latent-v0", {"preset": "two-arm-b"}),
    "18 histograms": ("CMAB-MovieLens-v0", {"mask": 0.5}),
    "50 histograms": ("CMAB-MovieLens-v0", {"task": "movie"}),
}


@pytest.fixture
def compiled(monkeypatch):
    """Whether each agent of an evaluation ran in the compiled loop, in order."""
    found, of = [], CompiledRun.of

    def spy(*arguments):
        rounds = of(*arguments)
        found.append(rounds is not None)
        return rounds

    monkeypatch.setattr(CompiledRun, "of", spy)
    return found


@pytest.mark.parametrize("name", CASES)
def test_both_forms_give_the_same_results(name, compiled, in_both_forms):
    env_id, env_kwargs = CASES[name]
    agents = AGENTS + TIGHTENED
    loop, plain = in_both_forms(env_id, agents, 700, 7, env_kwargs=env_kwargs, checkpoints=700)
    assert compiled == [True] * 7 + [False] * 7
    assert loop.equals(plain)


@pytest.mark.parametrize("task", ["genre", "movie"])
def test_both_forms_start_from_the_same_survey(task, compiled, in_both_forms):
    agents = ["warm-ts", "c-warm-ts(weight=3.7, beta=1)", "c-warm-ts(first_pulls='all')"]
    env_kwargs = {"task": task}
    loop, plain = in_both_forms("CMAB-MovieLens-v0", agents, 300, 5, env_kwargs=env_kwargs)
    assert compiled == [True] * 3 + [False] * 3
    assert loop.equals(plain)


@pytest.mark.parametrize("checkpoints", ["log", [1], [3, 4, 299], 300, 7])
def test_both_forms_record_every_checkpoint(checkpoints, compiled, in_both_forms):
    loop, plain = in_both_forms("CMAB-Tabular-v0", ["c-ts"], 300, 5, checkpoints=checkpoints)
    assert compiled == [True, False]
    assert loop.equals(plain)


class GivenModel(BanditVectorEnv):
    """The environment of a model that a test made."""

    compiled_loop = True

    @staticmethod
    def build_model(model):
        return model


def assert_same_record(name, model, trials, seed, rounds):
    """The loop records what is recorded round by round, at every round."""
    agent, env = make_agent(name), GivenModel(trials, horizon=rounds, draws="pulls", model=model)
    env.reset(seed=seed)
    streams = TrialStreams.for_trials(seed, range(trials))
    whole, plain = (Record(model, trials, range(1, rounds + 1)) for _ in range(2))
    run = CompiledRun(agent, env, streams, whole)
    while run.play() < rounds:
        pass
    env.reset(seed=seed)
    agent.reset(model.problem, trials, seed)
    for t in range(rounds):
        arms = agent.act()
        _, rewards, _, _, info = env.step(arms)
        plain.add(t + 1, arms, rewards, info["regret"], agent)
        agent.update(arms, rewards)
    for name in ("regret", "best_arm_pulls", "reward", "competitive", "pulls", "last"):
        assert_array_equal(getattr(whole, name), getattr(plain, name), err_msg=name)


@given(tabular_models(), st.sampled_from(AGENTS), SEEDS, st.integers(1, 60))
@settings(max_examples=60)
def test_any_table_gives_the_same_regret(model, name, seed, rounds):
    assert_same_record(name, model, 3, seed, rounds)


def model_with_many_ties(seed):
    """Few different rewards and pseudo-rewards, true bounds or not, so that many are equal."""
    rng = np.random.default_rng(seed)
    n_arms, rewards = int(rng.integers(2, 6)), np.arange(3.0)
    table = rng.integers(0, 3, (n_arms, n_arms, 3)).astype(float)
    table[rng.random(n_arms) < 0.2] = 2.0  # arms about which nothing is known
    own = np.arange(n_arms)
    table[own, own] = np.maximum(table[own, own], rewards)
    return HistogramModel(
        rng.integers([1, 0, 0], [4, 3, 3], (n_arms, 3)),
        BanditProblem(table, rewards, (0.0, 2.0)),
    )


@given(SEEDS, st.sampled_from(CORRELATED))
@settings(max_examples=80)
def test_ties_are_broken_in_the_same_way(seed, name):
    assert_same_record(name, model_with_many_ties(seed), 20, seed, 60)


@given(SEEDS, st.sampled_from(TIGHTENED))
@settings(max_examples=15)
def test_tightened_bounds_are_the_same(seed, name):
    """Also where entries contradict each other, and many bounds are equal."""
    assert_same_record(name, model_with_many_ties(seed), 8, seed, 60)


@pytest.mark.parametrize("n_arms", range(1, 14))
def test_any_number_of_arms_gives_the_same_regret(n_arms):
    """The loop compares arms four at a time: none may be left out."""
    table = np.ones((n_arms, n_arms, 2))
    table[np.arange(n_arms), np.arange(n_arms)] = [0, 1]
    counts = np.random.default_rng(n_arms).integers(1, 9, (n_arms, 2))
    model = HistogramModel(counts, BanditProblem(table, [0, 1], (0, 1)))
    assert_same_record("c-ucb", model, 4, 1, 40)


def model_on_demand(seed):
    """Ratings by few users of each item, so that most pseudo-rewards are unknown."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((60, 25)) < rng.random(25))
    ratings = Ratings.from_columns(users, items, rng.integers(1, 6, users.size) / 2)
    arms = listed_arms(ratings, ratings.item_ids.tolist())
    with patch("cmab_gym.rows.LARGEST_TABLE", 0):
        return take_survey(ratings, arms, Split(0.3)).model(pad=0.1)


@pytest.mark.parametrize("name", ["c-ucb", "c-ts(beta=0.1)", "c-warm-ts"])
def test_rows_on_demand_give_the_same_regret(name):
    for trials in (1, 6):
        assert_same_record(name, model_on_demand(trials), trials, 2, 120)


def test_tightened_agents_refuse_rows_on_demand_in_both_forms():
    env = GivenModel(2, draws="pulls", model=model_on_demand(1))
    assert supports(make_agent("c-ucb"), env)
    assert not supports(make_agent("tc-ucb"), env)  # its `reset` says why


def test_an_error_of_the_linear_programs_is_reported_as_the_agents(monkeypatch, compiled):
    def fail(*arguments):
        raise RuntimeError("HiGHS: no memory")

    monkeypatch.setattr(TightenedVectors, "of_each", fail)
    with pytest.raises(EvaluationError, match=r"'tc-ucb', .*RuntimeError: HiGHS: no memory"):
        evaluate("CMAB-Tabular-v0", ["tc-ucb"], 300, 2, env_kwargs={"preset": "appendix"})
    assert compiled == [True]


class OnThresholds(HistogramModel):
    """Its thresholds are the first uniform numbers of trial 0, arm by arm."""

    @property
    def thresholds(self):
        keys = np.stack([environment_generator(1).integers(2**64, size=2, dtype=np.uint64)] * 2)
        sorted_ = np.sort(uniforms_at(keys, np.array([[0, 0], [1, 1]])).T, axis=1)
        return np.ascontiguousarray(sorted_)  # for another layout the loop would be compiled again


def histogram_on_thresholds():
    table = np.array([[[0.0, 1.0, 2.0], [0.5, 1.5, 2.0]], [[0.5, 1.0, 1.5], [0.0, 1.0, 2.0]]])
    problem = BanditProblem(table, np.array([0.0, 1.0, 2.0]), (0.0, 2.0))
    return OnThresholds(np.array([[1.0, 1.0, 2.0], [2.0, 1.0, 1.0]]), problem)


def latent_on_edges():
    """Rewards at the edges of the bins, the outermost included."""
    bounds = [lambda x: x, lambda x: 1 - x]
    return LatentModel(
        lambda rng, size: rng.integers(0, 5, size) / 4, bounds, bounds, (0.0, 1.0), bins=4
    )


@pytest.mark.parametrize("model", [histogram_on_thresholds(), latent_on_edges()])
@pytest.mark.parametrize("name", ["ucb", "c-ucb"])
def test_numbers_between_two_rewards_count_in_the_same_way(model, name):
    assert_same_record(name, model, 5, 1, 200)


def test_the_logarithm_of_many_rounds_is_that_of_each():
    """Otherwise the bonus of UCB, computed for many rounds together, would differ."""
    t = np.arange(1, 50_000)
    assert_array_equal(np.log(t), [np.log(each) for each in t.tolist()])


class OwnAct(IndexAgent):
    def act(self):
        return np.zeros(len(self.history.pulls), dtype=np.int64)


class OwnUCB(UCB):
    def index(self, history, rng):
        return -super().index(history, rng)


@pytest.mark.parametrize(
    "agent",
    [
        "random",
        "kl-ucb",
        "tc-kl-ucb",
        "c-ucb(lower_bounds=True)",
        "tc-ucb(lower_bounds=True)",
        "c-ucb(reference='most-pulled')",
        "clipped-ucb",
        OwnAct(UCB()),
        IndexAgent(OwnUCB()),
        CBandit(OwnUCB()),
    ],
    ids=repr,
)
def test_other_agents_run_round_by_round(agent, compiled):
    evaluate("CMAB-Tabular-v0", {"agent": agent}, 30, 2, env_kwargs={"preset": "two-sided"})
    assert compiled == [False]


class OwnStep(TabularVectorEnv):
    pass


def test_methods_set_on_an_object_are_not_ignored():
    env = make_environment(find_environment("CMAB-Tabular-v0", {}), 2, 9, {})
    assert supports(make_agent("c-ucb"), env)
    for agent, name in ((make_agent("c-ucb"), "act"), (make_agent("c-ucb"), "update")):
        setattr(agent, name, print)
        assert not supports(agent, env)
    agent = make_agent("ucb")
    object.__setattr__(agent.policy, "index", print)
    assert not supports(agent, env)
    env.step = print
    assert not supports(make_agent("c-ucb"), env)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (TabularVectorEnv(2, draws="pulls"), True),
        (GivenModel(2, draws="pulls", model=TabularModel(np.eye(2), [0.5, 0.5])), True),
        (OwnStep(2, draws="pulls"), False),
        (TabularVectorEnv(2), False),
        (RecordEpisodeStatistics(TabularVectorEnv(2, draws="pulls")), False),
    ],
    ids=["family", "declared", "subclass", "by rounds", "wrapped"],
)
def test_only_environments_that_declare_it_run_in_the_loop(env, expected):
    assert supports(make_agent("ucb"), env) is expected


def test_without_a_survey_the_error_is_that_of_the_agent():
    with pytest.raises(EvaluationError, match=r"agent 'warm-ts'.* no survey_means"):
        evaluate("CMAB-Tabular-v0", ["warm-ts"], 30, 2)


def test_every_family_of_the_package_declares_it():
    for env_id in [name for name in gym.registry if name.startswith("CMAB-")]:
        if env_id == "CMAB-Ratings-v0":  # needs data
            continue
        env = make_environment(find_environment(env_id, {}), 2, 10, {})
        assert supports(make_agent("c-ts"), env), env_id


def test_progress_adds_up_to_all_rounds():
    reported = []
    evaluate("CMAB-Tabular-v0", ["ts"], 3000, 3, progress=reported.append)
    assert sum(reported) == 9000


def test_a_loop_that_does_not_work_is_replaced_by_numpy(monkeypatch, compiled):
    def damaged(*arguments):
        raise EOFError("Ran out of input")

    monkeypatch.setattr(compiled_loop, "play_rounds", damaged)
    with pytest.warns(UserWarning, match="numba does not work here"):
        results = evaluate("CMAB-Tabular-v0", ["c-ucb"], 50, 2)
    assert compiled == [False]
    assert not results.failures


@pytest.mark.parametrize("name", [*AGENTS, "tc-ucb"])
@pytest.mark.parametrize("trials", [1, 3])
def test_nothing_is_compiled_while_rounds_run(name, trials):
    """`of` compiles the loop for the very array layouts that `play` uses."""
    env = make_environment(find_environment("CMAB-MovieLens-v0", {}), trials, 900, {})
    env.reset(seed=0)
    streams = TrialStreams.for_trials(0, range(trials))
    record = Record(env.unwrapped.model, trials, (900,))
    rounds = CompiledRun.of(make_agent(name), env, streams, record)
    before = list(compiled_loop.play_rounds.signatures)
    while rounds.play() < 900:
        pass
    assert compiled_loop.play_rounds.signatures == before


@pytest.mark.parametrize("trials", [1, 2, 30])
def test_one_compiled_version_serves_every_run(trials):
    """Compiling another one would take more than ten seconds."""
    runs = [
        (latent_on_edges(), ("ucb", "ts", "c-ucb", "c-ts")),
        (model_with_many_ties(0), ("ucb", "c-ucb", "tc-ucb")),
        (model_on_demand(1), ("ts", "warm-ts", "c-ts", "c-warm-ts")),
        (make_environment(find_environment("CMAB-MovieLens-v0", {}), 1, 9, {}).model, AGENTS),
    ]
    for model, names in runs:
        for name in names:
            env = GivenModel(trials, horizon=9, draws="pulls", model=model)
            env.reset(seed=0)
            streams = TrialStreams.for_trials(0, range(trials))
            run = CompiledRun(make_agent(name), env, streams, Record(model, trials, (9,)))
            while run.play() < 9:
                pass
    assert len(compiled_loop.play_rounds.signatures) == 1


def versions_of_a_run():
    return evaluate("CMAB-Tabular-v0", ["c-ucb"], 10, 2).manifest["versions"]


def test_the_switch_turns_the_loop_off(monkeypatch, compiled):
    assert is_enabled()
    assert versions_of_a_run()["numba"]
    monkeypatch.setenv("CMAB_GYM_COMPILED", "0")
    assert not is_enabled()
    assert "numba" not in versions_of_a_run()
    assert compiled == [True, False]


def run(program):
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert not done.returncode, done.stderr
    return done.stdout.split()


def test_numba_is_loaded_by_the_first_agent_that_uses_it():
    program = (
        "import sys, cmab_gym\n"
        "for agent in ('kl-ucb', 'c-ucb'):\n"
        "    cmab_gym.evaluate('CMAB-Tabular-v0', [agent], 10, 2)\n"
        "    print('numba' in sys.modules)\n"
    )
    assert run(program) == ["False", "True"]


def test_the_loop_is_compiled_without_a_cache_where_nothing_can_be_cached(monkeypatch, compiled):
    """Python stands for the compiled code here, since compiling takes seconds."""
    asked_for = []

    def njit(function, cache=False, **options):
        asked_for.append((function.__name__, cache))
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return function

    monkeypatch.setattr(numba, "njit", njit)
    spec = importlib.util.find_spec(compiled_loop.__name__)
    loop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loop)
    assert [cache for name, cache in asked_for if name == "play_rounds"] == [True, False]
    monkeypatch.setattr(playing, "compiled_loop", loop)
    results = evaluate("CMAB-Latent-v0", ["ts"], 10, 2)
    assert compiled == [True]
    assert not results.failures


STATE_CASES = {
    "finite": lambda: find_model("CMAB-MovieLens-v0", {"task": "movie"}),
    "continuous": lambda: find_model("CMAB-Latent-v0", {"preset": "two-arm-b"}),
    "rows on demand": lambda: model_on_demand(3),
}


@pytest.mark.parametrize("case", STATE_CASES)
@pytest.mark.parametrize("name", ["ucb", "ts", "c-ucb", "c-ts(log_factor=0.3, beta=0.1)"])
def test_a_compiled_run_continues_from_a_state(case, name, tmp_path):
    rounds, trials = 700, 3

    def new():
        model = STATE_CASES[case]()
        env = GivenModel(trials, horizon=rounds, draws="pulls", model=model)
        env.reset(seed=1)
        streams = TrialStreams.for_trials(0, range(trials))
        record = Record(model, trials, [100, rounds])
        return CompiledRun(make_agent(name), env, streams, record)

    expected, first, second = new(), new(), new()
    with patch("cmab_gym.evaluation.playing.compiled._NUMBERS", 2000):
        first.play(), first.play()  # the first may play the first round alone
    assert 1 < first.t < rounds
    write_state(tmp_path / "state.npz", first.state_dict())
    second.load_state_dict(read_state(tmp_path / "state.npz"))
    for run in (expected, first, second):
        while run.t < rounds:
            run.play()
        for of in ("regret", "best_arm_pulls", "reward", "competitive", "pulls", "last"):
            assert_array_equal(getattr(run.record, of), getattr(expected.record, of), err_msg=of)
