"""States of agents, environments and records: a run goes on from one as if nothing had happened."""

import numpy as np
import pytest
from bandits import for_every_agent

from cmab_gym import make_agent
from cmab_gym.agents.identification.names import IDENTIFICATION_AGENTS, make_identification_agent
from cmab_gym.agents.make import agent_factory
from cmab_gym.agents.registry import agent_names, agents_by_idea, split_prefix
from cmab_gym.evaluation.playing.batch import find_environment, make_environment
from cmab_gym.late_rewards import Arrivals, RoundQueue
from cmab_gym.state import StateError, read_state, restored, state_of, write_state
from cmab_gym.streams import TrialStreams, environment_seed

TRIALS, HALF = 3, 30
# The states of those that learn are in torch; the others need outcomes or sources: see
# tests/evaluation/results/test_resume.py.
NOT_HERE = {*agents_by_idea()["learning"], "ucb-n", "ucucb", "latent-ts"}
NAMES = [name for name in agent_names() if split_prefix(name)[1] not in NOT_HERE]
IDENTIFYING = list(IDENTIFICATION_AGENTS)
CASES = [
    *(("CMAB-Tabular-v0", {"preset": "three-armed"}, name) for name in NAMES),
    ("CMAB-Tabular-v0", {"preset": "two-sided"}, "c-ts(lower_bounds=True)"),
    ("CMAB-MovieLens-v0", {"mask": 0.5}, "c-ts(first_pulls='all', until=40)"),
    ("CMAB-MovieLens-v0", {}, "tc-ucb"),
    ("CMAB-Latent-v0", {"preset": "two-arm-b"}, "c-ucb"),
    ("CMAB-Latent-v0", {"preset": "two-arm-b", "draws": "rounds"}, "c-dirichlet-ts"),
    *(("CMAB-Tabular-v0", {"preset": "three-armed"}, name) for name in IDENTIFYING),
]


class Play:
    """An agent in an environment, round by round."""

    def __init__(self, env_id, env_kwargs, name):
        self.env = make_environment(
            find_environment(env_id, env_kwargs), TRIALS, 2 * HALF, env_kwargs
        )
        self.env.reset(seed=[environment_seed(0, trial) for trial in range(TRIALS)])
        identifies = name in IDENTIFYING
        self.agent = make_identification_agent(name, 0.1) if identifies else make_agent(name)
        model = self.env.unwrapped.model
        problem = for_every_agent(model.problem, model.means)
        self.agent.reset(problem, TRIALS, TrialStreams.for_trials(0, range(TRIALS)))

    def rounds(self, count):
        """Play, and return the arms and the regret of each round."""
        played = []
        for _ in range(count):
            arms = self.agent.act()
            _, rewards, _, _, info = self.env.step(arms)
            self.agent.update(arms, rewards)
            played.append(np.append(arms, info["regret"]))
        return np.stack(played)


@pytest.mark.parametrize(("env_id", "env_kwargs", "name"), CASES)
def test_the_continuation_equals_the_uninterrupted_run(env_id, env_kwargs, name, tmp_path):
    arguments = env_id, env_kwargs, name
    expected = Play(*arguments).rounds(2 * HALF)
    first = Play(*arguments)
    played = first.rounds(HALF)
    write_state(tmp_path / "state.npz", state_of([first.agent, first.env.unwrapped]))
    second = Play(*arguments)
    restored([second.agent, second.env.unwrapped], read_state(tmp_path / "state.npz"))
    assert np.array_equal(np.concatenate([played, second.rounds(HALF)]), expected)
    assert np.array_equal(first.rounds(HALF), expected[HALF:])  # saving changes nothing


class Counts:
    """A plain agent with a state of its own."""

    def reset(self, problem, rng):
        self.rng, self.pulls = rng, [0] * problem.n_arms

    def act(self):
        return int(self.rng.integers(len(self.pulls))) if self.rng.random() < 0.5 else 0

    def update(self, arm, reward):
        self.pulls[arm] += 1

    def state_dict(self):
        return {"pulls": self.pulls}

    def load_state_dict(self, state):
        self.pulls = list(state["pulls"])


def test_copies_of_a_plain_agent_continue_with_their_states_and_random_numbers():
    play = Play("CMAB-Tabular-v0", {}, "random")
    agents = [agent_factory(Counts)() for _ in range(2)]
    for agent in agents:
        agent.reset(play.env.unwrapped.problem, TRIALS, 5)
    for _ in range(9):
        agents[0].update(agents[0].act(), np.zeros(TRIALS))
    agents[1].load_state_dict(agents[0].state_dict())
    assert [agents[0].act().tolist() for _ in range(9)] == [
        agents[1].act().tolist() for _ in range(9)
    ]
    assert sum(agents[1].state_dict()["_copies"][0]["pulls"]) == 9


def test_an_agent_without_a_state_is_refused():
    class Silent:
        def reset(self, problem, rng): ...
        def act(self): ...
        def update(self, arm, reward): ...

    agent = agent_factory(Silent)()
    agent.reset(Play("CMAB-Tabular-v0", {}, "random").env.unwrapped.problem, 2, 0)
    with pytest.raises(StateError, match="Silent has no state that can be saved: expected the"):
        agent.state_dict()


def test_a_state_of_another_class_is_refused():
    state = Play("CMAB-Tabular-v0", {}, "random").agent.state_dict()
    with pytest.raises(StateError, match="expected rng, history, _acted, that of IndexAgent"):
        Play("CMAB-Tabular-v0", {}, "ucb").agent.load_state_dict(state)


def test_late_rewards_still_arrive():
    first, second = (RoundQueue(Arrivals(delay=2)) for _ in range(2))
    for t in range(1, 5):
        first.add((np.array([t]), 0.5))
    second.load_state_dict(first.state_dict())
    assert first.add(5) == second.add(5) == [(np.array([3]), 0.5)]


def test_a_file_keeps_values_as_they_are(tmp_path):
    state = {
        "array": np.array([[1.5, np.nan]]),
        "empty": np.empty((0, 3), np.int64),
        "numbers": [1, 2.5, float("inf"), None, True, "text", 2**127],
        "keys": {(1, (2, 3)): ("a", [np.array([True])])},
        "$array": {},
    }
    write_state(tmp_path / "state.npz", state)
    found = read_state(tmp_path / "state.npz")
    assert repr(found) == repr(state)
    assert found["empty"].shape == (0, 3)
    assert [each.name for each in tmp_path.iterdir()] == ["state.npz"]


def test_objects_and_damaged_files_are_refused(tmp_path):
    for strange in (object(), np.array([object()])):
        with pytest.raises(StateError, match="expected"):
            state_of(strange)
        with pytest.raises(StateError, match="expected arrays, numbers"):
            write_state(tmp_path / "state.npz", {"strange": strange})
    assert not list(tmp_path.iterdir())
    (tmp_path / "state.npz").write_bytes(b"PK damaged")
    with pytest.raises(ValueError, match=r"state\.npz cannot be read .*delete it"):
        read_state(tmp_path / "state.npz")
    np.savez(tmp_path / "state.npz", json=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        read_state(tmp_path / "state.npz")
