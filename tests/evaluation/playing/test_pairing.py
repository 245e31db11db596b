"""Rewards that pair: the n-th pull of an arm gives every agent the same reward."""

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from cmab_gym import BanditProblem, evaluate, make_agent
from cmab_gym.streams import TrialStreams, environment_seed
from cmab_gym.wrappers import FullInformation, vector

# With the number of trials: fewer of agents that are slow.
AGENTS = {"ucb": 2000, "ts": 2000, "kl-ucb": 500, "c-ucb": 2000, "c-ts": 2000, "tc-ts": 500}


def test_the_manifest_says_how_rewards_were_drawn():
    by_pulls = evaluate("CMAB-Tabular-v0", ["ucb"], 10, 2)
    by_rounds = evaluate("CMAB-Tabular-v0", ["ucb"], 10, 2, env_kwargs={"draws": "rounds"})
    assert (by_pulls.manifest["draws"], by_rounds.manifest["draws"]) == ("pulls", "rounds")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agents_regret_has_the_same_law_by_rounds_and_by_pulls(agent):
    """A two-sample Kolmogorov-Smirnov test.

    The seeds are fixed; for other seeds each agent fails with probability 0.001. The test finds
    distribution functions that differ by 0.06 with 2,000 trials each, and by 0.12 with 500.
    """
    final = {
        draws: evaluate(
            "CMAB-Tabular-v0",
            [agent],
            150,
            AGENTS[agent],
            seed,
            env_kwargs={"preset": "three-armed", "draws": draws},
            checkpoints=1,
        ).regret(agent)[:, -1]
        for seed, draws in enumerate(("rounds", "pulls"))
    }
    assert stats.ks_2samp(final["rounds"], final["pulls"]).pvalue > 0.001


def test_agents_that_pull_the_same_arms_have_nearly_the_same_regret():
    """The correlation of final regret on the movies is .97 by pulls, and .1 by rounds."""
    kwargs = {"task": "movie", "pad": 0.4}
    results = evaluate("CMAB-MovieLens-v0", ["c-ucb", "c-ts"], 5000, 100, env_kwargs=kwargs)
    both = [results.regret(agent)[:, -1] for agent in ("c-ucb", "c-ts")]
    assert np.corrcoef(both)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [("CMAB-MovieLens-v0", {"task": "movie"}), ("CMAB-Latent-v0", {"preset": "three-arm-b"})],
)
@pytest.mark.parametrize("native", [False, True])
def test_a_trial_is_replayed_in_a_loop_of_ones_own(env_id, kwargs, native):
    results = evaluate(env_id, ["c-ts"], 300, 4, seed=5, env_kwargs=kwargs, checkpoints=300)
    agent, seed = make_agent("c-ts"), environment_seed(5, 3)
    kwargs = {**kwargs, "horizon": 300, "draws": "pulls"}
    env = gym.make_vec(env_id, num_envs=1, **kwargs) if native else gym.make(env_id, **kwargs)
    env.reset(seed=[seed] if native else seed)
    problem: BanditProblem = env.unwrapped.problem
    agent.reset(problem, 1, TrialStreams.for_trials(5, range(3, 4)))
    regret = []
    for _ in range(300):
        arms = agent.act()
        _, reward, _, _, info = env.step(arms if native else int(arms[0]))
        agent.update(arms, np.atleast_1d(reward))
        regret.append(float(np.squeeze(info["regret"])))
    assert_array_equal(results.regret("c-ts")[3], regret)


@pytest.mark.parametrize("wrapper", ["scalar", "vector"])
def test_full_information_needs_a_joint_outcome(wrapper):
    if wrapper == "scalar":
        env, kind = gym.make("CMAB-Tabular-v0", draws="pulls"), FullInformation
    else:
        env = gym.make_vec("CMAB-Tabular-v0", num_envs=2, draws="pulls")
        kind = vector.FullInformation
    with pytest.raises(ValueError, match="FullInformation: with draws='pulls' a round has no"):
        kind(env)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    with pytest.raises(ValueError, match="no joint outcome: expected draws='rounds'"):
        _ = env.unwrapped.round_rewards


def test_an_unknown_way_to_draw_is_refused():
    with pytest.raises(ValueError, match=r"unknown draws 'pull'.*Expected one of: rounds, pulls"):
        gym.make("CMAB-Tabular-v0", draws="pull")
