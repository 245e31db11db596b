"""Whole rounds in compiled loops do what act, step and update do, and stand for nothing else."""

from contextlib import nullcontext

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import SEEDS, tabular_models

from cmab_gym import evaluate, make_agent
from cmab_gym.agents import TS, UCB, CBandit, IndexAgent, StandardErrorPolicy, fast
from cmab_gym.envs.base import BanditVectorEnv
from cmab_gym.evaluation import EvaluationError
from cmab_gym.evaluation.play import find_environment, make_environment
from cmab_gym.evaluation.simulation import Simulation
from cmab_gym.models import HistogramModel, LatentModel, TabularModel
from cmab_gym.problem import BanditProblem

AGENTS = ("ucb", "ts", "c-ucb", "c-ts")
CASES = {
    "joint outcomes": ("CMAB-Tabular-v0", {"preset": "appendix"}),
    "continuous rewards": ("CMAB-Latent-v0", {"preset": "two-arm-b"}),
    "18 histograms": ("CMAB-MovieLens-v0", {"mask": 0.5}),
    "50 histograms": ("CMAB-MovieLens-v0", {"task": "movie"}),
}
ARRAYS = ("pulls", "means", "_sums", "_pseudo_sums", "_least", "_at", "_loose")


@pytest.fixture
def simulated(monkeypatch):
    """Whether each agent of an evaluation was simulated, in the order in which they played."""
    told, of = [], Simulation.of

    def spy(*arguments):
        simulation = of(*arguments)
        told.append(simulation is not None)
        return simulation

    monkeypatch.setattr(Simulation, "of", spy)
    return told


@pytest.mark.parametrize("name", CASES)
def test_every_round_is_that_of_act_step_and_update(name, simulated, monkeypatch):
    env_id, keywords = CASES[name]
    played = []
    for switch in "10":
        monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
        played.append(
            evaluate(env_id, AGENTS, 700, 7, env_kwargs=keywords, checkpoints=700).to_pandas()
        )
    assert simulated == [True] * 4 + [False] * 4
    assert played[0].equals(played[1])


class Given(BanditVectorEnv):
    """The environment of a model that a test made."""

    @staticmethod
    def build_model(model):
        return model


def begun(agent, model, trials, seed):
    env = Given(trials, horizon=1000, step_info="none", model=model)
    env.reset(seed=seed)
    agent.reset(model.problem, trials, seed)
    return env


def play(agent, env, rounds):
    """Play round by round, and return the regret."""
    info = {}
    for _ in range(rounds):
        arms = agent.act()
        _, rewards, _, _, info = env.step(arms)
        agent.update(arms, rewards)
    return info["regret"]


def state(agent):
    owners = [agent, getattr(agent, "_bounds", None)]
    return {
        name: getattr(owner, name) for owner in owners for name in ARRAYS if hasattr(owner, name)
    }


@given(tabular_models(), st.sampled_from(AGENTS), SEEDS, st.integers(1, 60))
@settings(max_examples=60)
def test_the_agent_is_left_as_it_would_be_and_can_go_on(model, name, seed, rounds):
    agents = make_agent(name), make_agent(name)
    envs = [begun(agent, model, 3, seed) for agent in agents]
    simulation = Simulation.of(agents[0], envs[0], (rounds,))
    if model.problem.reward_range == 0:  # all is one tie
        assert simulation is None
        return
    while simulation.play(nullcontext()) < rounds:
        pass
    assert_array_equal(simulation.regret[:, -1], play(agents[1], envs[1], rounds))
    assert agents[0].t == agents[1].t == rounds
    for key, value in state(agents[1]).items():
        assert_array_equal(state(agents[0])[key], value, err_msg=key)
    for _ in range(10):
        arms = agents[0].act()
        assert_array_equal(arms, agents[1].act())
        rewards = envs[0].step(arms)[1]
        assert_array_equal(rewards, envs[1].step(arms)[1])
        for agent in agents:
            agent.update(arms, rewards)


class OnThresholds(HistogramModel):
    """Its uniform numbers are where one reward ends and the next begins."""

    def draw(self, rng, rounds):
        return rng.integers(0, 4, (rounds, 1)) / 4


def on_thresholds():
    table = np.array([[[0.0, 1.0, 2.0], [0.5, 1.5, 2.0]], [[0.5, 1.0, 1.5], [0.0, 1.0, 2.0]]])
    problem = BanditProblem(table, np.array([0.0, 1.0, 2.0]), (0.0, 2.0))
    return OnThresholds(np.array([[1.0, 1.0, 2.0], [2.0, 1.0, 1.0]]), problem)


def on_cuts():
    """Rewards where one bin ends and the next begins, all of them at the ends too."""
    bounds = [lambda x: x, lambda x: 1 - x]
    return LatentModel(
        lambda rng, size: rng.integers(0, 5, size) / 4, bounds, bounds, (0.0, 1.0), bins=4
    )


@pytest.mark.parametrize("model", [on_thresholds(), on_cuts()], ids=["histogram", "latent"])
@pytest.mark.parametrize("name", ["ucb", "c-ucb"])
def test_numbers_between_two_rewards_count_alike(model, name):
    agents = make_agent(name), make_agent(name)
    envs = [begun(agent, model, 5, 1) for agent in agents]
    simulation = Simulation.of(agents[0], envs[0], (200,))
    while simulation.play(nullcontext()) < 200:
        pass
    assert_array_equal(simulation.regret[:, -1], play(agents[1], envs[1], 200))
    for key, value in state(agents[1]).items():
        assert_array_equal(state(agents[0])[key], value, err_msg=key)


@pytest.mark.parametrize("checkpoints", ["log", [1], [3, 4, 299], 300, 7])
def test_scores_are_recorded_at_every_checkpoint(checkpoints, simulated, monkeypatch):
    found = []
    for switch in "10":
        monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
        found.append(
            evaluate("CMAB-Tabular-v0", ["c-ts"], 300, 5, checkpoints=checkpoints).to_pandas()
        )
    assert simulated == [True, False]
    assert found[0].equals(found[1])


def test_z_of_many_rounds_is_that_of_each():
    """Else the forms would differ: NumPy may take many logarithms in another way than one."""
    t = np.arange(1, 100_000)
    one_by_one = [UCB().z(np.asarray(each)) for each in t.tolist()]
    assert_array_equal(UCB().z(t), one_by_one)


class Constant(StandardErrorPolicy):
    """Always as many standard errors above the mean."""

    prior_pulls = 2

    def variance(self, problem):
        return 0.25

    def z(self, t):
        return np.array(1.5)


def test_a_policy_of_ones_own_is_simulated_too(simulated, monkeypatch):
    found = []
    for switch in "10":
        monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
        agents = {"plain": IndexAgent(Constant()), "correlated": CBandit(Constant())}
        found.append(evaluate("CMAB-MovieLens-v0", agents, 400, 4).to_pandas())
    assert simulated == [True, True, False, False]
    assert found[0].equals(found[1])


class NotANumber(Constant):
    def z(self, t):
        return np.where(t > 40, np.nan, 1.0)


class Fails(Constant):
    def z(self, t):
        if np.max(t) > 300:
            raise RuntimeError("no more")
        return np.ones(t.shape)


@pytest.mark.parametrize(
    ("policy", "what"),
    [(NotANumber(), "nan: expected numbers"), (Fails(), "RuntimeError: no more")],
)
def test_a_policy_that_fails_is_named_and_takes_no_other_results_with_it(policy, what, simulated):
    agents = {"mine": IndexAgent(policy), "ucb": "ucb"}
    with pytest.raises(
        EvaluationError, match=rf"agent 'mine', trials .*round \d+: .*{what}"
    ) as caught:
        evaluate("CMAB-Tabular-v0", agents, 1000, 3)
    assert simulated == [True, True]
    assert [run.label for run in caught.value.results.runs if not run.failure] == ["ucb"]


class OwnAct(IndexAgent):
    def act(self):
        return np.zeros(len(self.pulls), dtype=np.int64)


class OwnIndex(UCB):
    def index(self, pulls, means, t, problem, rng):
        return -super().index(pulls, means, t, problem, rng)


class NoVariance(UCB):
    def variance(self, problem):
        return 0.0


@pytest.mark.parametrize(
    "agent",
    [
        "random",
        "kl-ucb",
        "tc-ucb",
        "c-ucb(lower_bounds=True)",
        OwnAct(UCB()),
        IndexAgent(OwnIndex()),
        CBandit(NoVariance()),
    ],
    ids=repr,
)
def test_what_has_its_own_way_plays_round_by_round(agent, simulated):
    evaluate("CMAB-Tabular-v0", {"agent": agent}, 30, 2, env_kwargs={"preset": "two-sided"})
    assert simulated == [False]


class OwnPull(TabularModel):
    def pull(self, outcomes, arms):
        rewards, index = super().pull(outcomes, arms)
        return rewards[::-1], index[::-1]


class OwnStep(Given):
    def step(self, actions):
        return super().step(actions)


def test_models_and_environments_of_ones_own_are_not_passed_over():
    outcomes, chances = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.3, 0.7])
    model = TabularModel(outcomes, chances)
    assert simulation(Given, model) is not None
    assert simulation(OwnStep, model) is None
    assert simulation(Given, OwnPull(outcomes, chances)) is None


def simulation(kind, model):
    env, agent = kind(2, horizon=50, model=model), make_agent("ucb")
    env.reset(seed=0)
    agent.reset(model.problem, 2, 0)
    return Simulation.of(agent, env, (50,))


def test_every_model_of_the_package_has_a_lookup():
    assert all("lookup" in vars(kind) for kind in (HistogramModel, LatentModel, TabularModel))


def test_a_wrapped_environment_is_not_passed_over():
    spec = find_environment("CMAB-Tabular-v0", {})
    env = make_environment(spec, 2, 50, {})
    agent = make_agent("ucb")
    env.reset(seed=0)
    agent.reset(env.unwrapped.problem, 2, 0)
    assert Simulation.of(agent, env, (50,)) is not None
    wrapped = gym.wrappers.vector.RecordEpisodeStatistics(env)
    assert Simulation.of(agent, wrapped, (50,)) is None


def test_progress_adds_up_to_all_rounds():
    told = []
    evaluate("CMAB-Tabular-v0", ["ts"], 3000, 3, progress=told.append)
    assert sum(told) == 9000


def test_a_loop_that_does_not_work_is_done_without(monkeypatch, simulated):
    def damaged(*arguments):
        raise EOFError("Ran out of input")

    monkeypatch.setattr(fast.kernels(), "play_rounds", damaged)
    with pytest.warns(UserWarning, match="numba does not work here"):
        results = evaluate("CMAB-Tabular-v0", ["c-ucb"], 50, 2)
    assert simulated == [False]
    assert not results.failures


def test_the_largest_of_any_number_of_arms_is_found():
    """The comparisons go in four chains: none of the places may be left out."""
    choose = fast.kernels().argmax_with_random_ties
    for n_arms in range(1, 14):
        arms, valid = choose(np.eye(n_arms), None, np.zeros(n_arms))
        assert valid
        assert_array_equal(arms, np.arange(n_arms))


def test_ts_draws_no_noise_before_it_is_asked():
    agent = IndexAgent(TS())
    env = begun(agent, TabularModel(np.eye(5), np.full(5, 0.2)), 2, 0)
    simulation = Simulation.of(agent, env, (50,))
    assert simulation.play(nullcontext()) == 5  # each arm once
    assert not agent.rng._normals
    assert simulation.play(nullcontext()) > 5
    assert agent.rng._normals.keys() == {5}
