"""Whole rounds in compiled loops do what act, step and update do, and stand for nothing else."""

import math
from contextlib import nullcontext

import gymnasium as gym
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import SEEDS, tabular_models

from cmab_gym import evaluate, make_agent
from cmab_gym.agents import TS, UCB, CBandit, IndexAgent, StandardErrorPolicy, fast
from cmab_gym.envs.vector import BanditVectorEnv
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
def test_every_round_is_that_of_act_step_and_update(name, simulated, in_both_forms):
    env_id, keywords = CASES[name]
    compiled, plain = in_both_forms(env_id, AGENTS, 700, 7, env_kwargs=keywords, checkpoints=700)
    assert simulated == [True] * 4 + [False] * 4
    assert compiled.equals(plain)


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
    """Play round by round in NumPy's form, and return the regret."""
    agent._compiled = False
    info = {}
    for _ in range(rounds):
        arms = agent.act()
        _, rewards, _, _, info = env.step(arms)
        agent.update(arms, rewards)
    return info["regret"]


def assert_same(name, model, trials, seed, rounds):
    """Simulated, an agent gets the same regret, and is left as it would be; return both."""
    agents = make_agent(name), make_agent(name)
    envs = [begun(agent, model, trials, seed) for agent in agents]
    simulation = Simulation.of(agents[0], envs[0], (rounds,))
    while simulation.play(nullcontext()) < rounds:
        pass
    assert_array_equal(simulation.regret[:, -1], play(agents[1], envs[1], rounds))
    assert agents[0].t == agents[1].t == rounds
    for key, value in state(agents[1]).items():
        assert_array_equal(state(agents[0])[key], value, err_msg=key)
    return agents, envs


def state(agent):
    owners = [agent, getattr(agent, "_bounds", None)]
    return {
        name: getattr(owner, name) for owner in owners for name in ARRAYS if hasattr(owner, name)
    }


@given(tabular_models(), st.sampled_from(AGENTS), SEEDS, st.integers(1, 60))
@settings(max_examples=60)
def test_the_agent_is_left_as_it_would_be_and_can_go_on(model, name, seed, rounds):
    agents, envs = assert_same(name, model, 3, seed, rounds)
    for _ in range(10):
        arms = agents[0].act()
        assert_array_equal(arms, agents[1].act())
        rewards = envs[0].step(arms)[1]
        assert_array_equal(rewards, envs[1].step(arms)[1])
        for agent in agents:
            agent.update(arms, rewards)


def rough_model(seed):
    """Few different rewards and pseudo-rewards, right or wrong, so that much is equal."""
    rng = np.random.default_rng(seed)
    n_arms, rewards = int(rng.integers(2, 6)), np.arange(3.0)
    table = rng.integers(0, 3, (n_arms, n_arms, 3)).astype(float)
    table[rng.random(n_arms) < 0.2] = 2.0  # arms of which nothing is known
    own = np.arange(n_arms)
    table[own, own] = np.maximum(table[own, own], rewards)
    return HistogramModel(
        rng.integers([1, 0, 0], [4, 3, 3], (n_arms, 3)),
        BanditProblem(table, rewards, (0.0, 2.0)),
    )


@given(SEEDS, st.sampled_from(["c-ts(beta=0.1)", "c-ts", "c-ucb"]))
@settings(max_examples=80)
def test_what_is_equal_is_taken_alike(seed, name):
    assert_same(name, rough_model(seed), 20, seed, 60)


class OnThresholds(HistogramModel):
    """Its uniform numbers are where one reward ends and the next begins."""

    def draw(self, rng, rounds):
        return rng.integers(0, 4, (rounds, 1)) / 4

    def lookup(self):
        return super().lookup()


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
    assert_same(name, model, 5, 1, 200)


@pytest.mark.parametrize("checkpoints", ["log", [1], [3, 4, 299], 300, 7])
def test_scores_are_recorded_at_every_checkpoint(checkpoints, simulated, in_both_forms):
    compiled, plain = in_both_forms("CMAB-Tabular-v0", ["c-ts"], 300, 5, checkpoints=checkpoints)
    assert simulated == [True, False]
    assert compiled.equals(plain)


@pytest.mark.parametrize(
    "z",
    [UCB().z, lambda t: np.log(t) ** 1.5, lambda t: np.log(t) ** 2, lambda t: 2.0 ** (-t / 5000)],
)
def test_z_of_many_rounds_is_that_of_each(z):
    """Else the forms would differ: NumPy takes powers of one number and of many otherwise."""
    t = np.arange(2, 50_000)
    assert_array_equal(z(t), np.concatenate([z(t[i : i + 1]) for i in range(t.size)]))


class Constant(StandardErrorPolicy):
    """Always as many standard errors above the mean."""

    prior_pulls = 2

    def variance(self, problem):
        return 0.25

    def z(self, t):
        return 1.5


class OneByOne(Constant):
    """Takes a single t alone, as `index` asks."""

    def z(self, t):
        return 1.0 if t < 100 else 2.0


class Greedy(Constant):
    def variance(self, problem):
        return 0


class Samples(Constant):
    samples = True


class NoArray(Constant):
    def z(self, t):
        return [math.sqrt(each) for each in t]


class Single(Constant):
    def z(self, t):
        return np.log(t).astype(np.float32)


@pytest.mark.parametrize("kind", [Constant, OneByOne, Greedy, Samples, NoArray, Single])
def test_a_policy_of_ones_own_is_simulated_too(kind, simulated, in_both_forms):
    agents = {"plain": IndexAgent(kind()), "correlated": CBandit(kind())}
    compiled, plain = in_both_forms("CMAB-MovieLens-v0", agents, 400, 4)
    assert simulated == [True, True, False, False]
    assert compiled.equals(plain)


class NotANumber(Constant):
    def z(self, t):
        return np.where(t > 40, np.nan, 1.0)


class Fails(Constant):
    def z(self, t):
        if np.max(t) >= 300:
            raise RuntimeError("no more")
        return np.ones(t.shape)


class ForEachArm(Constant):
    def z(self, t):
        return np.array([0.0, 5.0, 1.0])


class SometimesNone(Constant):
    def z(self, t):
        return None if np.max(t) > 200 else np.ones(t.shape)


class NoZ(StandardErrorPolicy):
    def variance(self, problem):
        return 1.0


class NoVariance(StandardErrorPolicy):
    samples = True


class VarianceOfArms(Constant):
    def variance(self, problem):
        return np.ones(problem.n_arms)


class Infinite(Constant):
    def variance(self, problem):
        return np.inf


class Debt(Constant):
    prior_pulls = -1


@pytest.mark.parametrize(
    ("kind", "t", "what"),
    [
        (NotANumber, 42, r"NotANumber\.z\(\[41\]\) returned \[nan\]: expected 1 finite numbers"),
        (Fails, 301, "RuntimeError: no more"),
        (ForEachArm, 4, r"ForEachArm\.z\(\[3\]\) returned \[0\. 5\. 1\.\]: expected 1 finite"),
        (SometimesNone, 202, r"SometimesNone\.z\(\[201\]\) returned nan: expected 1 finite"),
        (NoZ, 4, r"NoZ has neither z\(\) nor samples = True"),
        (NoVariance, 4, r"NoVariance has no variance\(\)"),
        (VarianceOfArms, 4, r"VarianceOfArms\.variance\(\)=array.*expected a number from 0"),
        (Infinite, 4, r"Infinite\.variance\(\)=inf: expected a number from 0"),
        (Debt, 4, r"Debt\.prior_pulls=-1: expected a number from 0"),
    ],
)
@pytest.mark.parametrize("switch", "10")
def test_a_policy_that_fails_is_named_in_both_forms(kind, t, what, switch, simulated, monkeypatch):
    monkeypatch.setenv("CMAB_GYM_COMPILED", switch)
    agents = {"mine": IndexAgent(kind()), "ucb": "ucb"}
    named = rf"agent 'mine', trials 0 to 2 in lockstep, round {t}: .*{what}"
    with pytest.raises(EvaluationError, match=named) as caught:
        evaluate("CMAB-Tabular-v0", agents, 1000, 3, env_kwargs={"preset": "three-armed"})
    assert simulated == [switch == "1"] * 2
    assert [run.label for run in caught.value.results.runs if not run.failure] == ["ucb"]


@pytest.mark.parametrize("rounds", [4, 6])  # 3 rounds are asked for at once, of 3 arms
def test_z_of_each_arm_is_never_taken_for_that_of_each_round(rounds):
    with pytest.raises(EvaluationError, match=r"round 4: .*ForEachArm\.z\(\[3\]\) returned"):
        evaluate(
            "CMAB-Tabular-v0",
            {"mine": IndexAgent(ForEachArm())},
            rounds,
            env_kwargs={"preset": "three-armed"},
        )


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_policy_is_not_asked_before_every_arm_was_pulled(rounds, simulated):
    evaluate("CMAB-Tabular-v0", [IndexAgent(NoZ())], rounds, env_kwargs={"preset": "three-armed"})
    assert simulated == [True]


class OwnAct(IndexAgent):
    def act(self):
        return np.zeros(len(self.pulls), dtype=np.int64)


class OwnIndex(UCB):
    def index(self, pulls, means, t, problem, rng):
        return -super().index(pulls, means, t, problem, rng)


def changed(agent):
    agent.allowed_arms = lambda: None
    return agent


@pytest.mark.parametrize(
    "agent",
    [
        "random",
        "kl-ucb",
        "tc-ucb",
        "c-ucb(lower_bounds=True)",
        OwnAct(UCB()),
        IndexAgent(OwnIndex()),
        changed(IndexAgent(UCB())),
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


class OwnDraw(TabularModel):
    def draw_trials(self, rngs, rounds):
        return super().draw_trials(rngs, rounds) + 10**9


class OwnProblem(Given):
    @property
    def problem(self):
        return self.model.problem.__class__(
            self.model.problem.pseudo_rewards,
            self.model.problem.reward_support,
            self.model.problem.reward_bounds,
        )


def own(name):
    def method(self, *arguments, **keywords):
        return getattr(Given, name)(self, *arguments, **keywords)

    return type("Own", (Given,), {name: method})


OUTCOMES, CHANCES = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.3, 0.7])


def simulation(env):
    agent = make_agent("ucb")
    env.reset(seed=0)
    agent.reset(env.problem, 2, 0)
    return Simulation.of(agent, env, (50,))


@pytest.mark.parametrize("name", ["step", "reset", "_play", "_seed", "_begin_episode"])
def test_environments_of_ones_own_are_not_passed_over(name):
    model = TabularModel(OUTCOMES, CHANCES)
    assert simulation(Given(2, horizon=50, model=model)) is not None
    assert simulation(own(name)(2, horizon=50, model=model)) is None
    instance = Given(2, horizon=50, model=model)
    setattr(instance, name, getattr(instance, name).__call__)
    assert simulation(instance) is None


def test_a_problem_of_ones_own_is_not_passed_over():
    assert simulation(OwnProblem(2, horizon=50, model=TabularModel(OUTCOMES, CHANCES))) is None


@pytest.mark.parametrize("kind", [OwnPull, OwnDraw])
def test_models_of_ones_own_are_not_passed_over(kind):
    assert simulation(Given(2, horizon=50, model=kind(OUTCOMES, CHANCES))) is None


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


@pytest.mark.parametrize("trials", [1, 3])
def test_the_loop_that_is_tried_before_is_the_one_that_plays(trials):
    """Else another one is compiled or loaded in mid-play, as for each layout of an array."""
    agent = make_agent("ts")
    env = begun(agent, TabularModel(np.eye(5), np.full(5, 0.2)), trials, 0)
    tried = numba.typeof(Simulation.of(agent, env, (600,))._no_noise)
    left = agent.rng.standard_normals(5).left()
    assert numba.typeof(left) == numba.typeof(left[:1]) == numba.typeof(left[3:9]) == tried


def test_ts_draws_no_noise_before_it_is_asked():
    agent = IndexAgent(TS())
    model = TabularModel(np.eye(5), np.full(5, 0.2))
    env = begun(agent, model, 2, 0)
    simulation = Simulation.of(agent, env, (50,))
    assert simulation.play(nullcontext()) == 5  # each arm once
    other = IndexAgent(TS())
    begun(other, model, 2, 0)
    assert_array_equal(agent.rng.standard_normal(5), other.rng.standard_normal(5))
