import sys

import numpy as np
import pytest

from cmab_gym.agents import (
    TS,
    UCB,
    CBandit,
    Copies,
    IndexAgent,
    RandomAgent,
    TightenedCBandit,
    agent_names,
    make_agent,
    published,
    register_agent,
    registry,
)
from cmab_gym.agents.make import agent_factory

PLAIN = """
class MyAgent:
    def __init__(self, arm=0):
        self.arm = arm
    def reset(self, problem, rng):
        pass
    def act(self):
        return self.arm
    def update(self, arm, reward):
        pass

class MyPolicy:
    def index(self, history, rng):
        return history.means.copy()

class Half:
    def reset(self, problem, rng): ...
    def act(self): ...
"""


@pytest.fixture
def my_file(tmp_path):
    path = tmp_path / "my_file.py"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "SPECS", dict(registry.SPECS))


BUILT_IN = [
    "random",
    *(prefix + name for name in ("ucb", "ts", "kl-ucb") for prefix in ("", "c-", "tc-")),
    *("ppo", "a2c", "dqn"),
]


def test_names():
    assert agent_names() == BUILT_IN
    assert isinstance(make_agent("random"), RandomAgent)
    assert repr(make_agent("ucb")) == "IndexAgent(UCB(B=None))"
    assert repr(make_agent("c-ucb(B=5)")) == "CBandit(UCB(B=5))"
    assert repr(make_agent("tc-ucb(B=5)")) == "TightenedCBandit(UCB(B=5))"
    assert repr(make_agent("c-ts(B=5, beta=0.8)")) == "CBandit(TS(B=5, beta=0.8))"
    assert repr(make_agent("ts(B=5)", B=2)) == "IndexAgent(TS(B=2, beta=1.0))"


def test_published_settings_are_a_choice_of_parameters():
    assert published("ucb", "c-ts", "random", "ucb(B=1)") == {
        "ucb": "ucb(B=5.0)",
        "c-ts": "c-ts(B=4.0, beta=1.0)",
        "random": "random",
        "ucb(B=1)": "ucb(B=1)",
    }


def test_a_file_of_ones_own(my_file):
    agent = make_agent(f"{my_file}:MyAgent(arm=1)")
    assert isinstance(agent, Copies)
    assert isinstance(make_agent(f"{my_file}:MyPolicy"), IndexAgent)
    assert isinstance(make_agent(f"c-{my_file}:MyPolicy"), CBandit)
    assert isinstance(make_agent(f"tc-{my_file}:MyPolicy"), TightenedCBandit)


def test_a_module_of_ones_own():
    assert repr(make_agent("cmab_gym.agents.policies.ucb:UCB(B=2)")) == "IndexAgent(UCB(B=2))"
    assert repr(make_agent("c-cmab_gym.agents.policies.ts:TS")) == "CBandit(TS(B=None, beta=1.0))"


def test_classes_and_instances():
    assert isinstance(agent_factory(UCB)(), IndexAgent)
    assert isinstance(agent_factory(TS(beta=2))(), IndexAgent)
    shared = CBandit(UCB())
    assert agent_factory(shared)() is not shared
    assert repr(agent_factory(shared)()) == repr(shared)


def test_a_decorator_registers(own_registry):
    @register_agent("greedy")
    class Greedy:
        """Play the best mean."""

        def index(self, history, rng):
            return history.means.copy()

    assert isinstance(make_agent("c-greedy"), CBandit)
    assert register_agent("greedy")(Greedy) is Greedy  # the same twice is silent
    with pytest.raises(ValueError, match="'greedy' belongs to"):
        register_agent("greedy")(UCB)
    with pytest.raises(ValueError, match="expected a name without ':'"):
        register_agent("c-greedy")


def test_an_entry_point_registers(monkeypatch):
    class Point:
        name, value = "theirs", "cmab_gym.agents.policies.ucb:UCB"

    monkeypatch.setattr(registry, "_entry_points", lambda: (Point,))
    registry.plugins.cache_clear()
    assert repr(make_agent("c-theirs")) == "CBandit(UCB(B=None))"
    registry.plugins.cache_clear()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ucb", "cmab_gym.agents.policies.ts:TS"),
        ("c-x", "cmab_gym.agents.policies.ts:TS"),
        ("gone", "no_such:Agent"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_told_and_left_out(name, value, monkeypatch):
    point = type("Point", (), {"name": name, "value": value})
    monkeypatch.setattr(registry, "_entry_points", lambda: (point,))
    registry.plugins.cache_clear()
    with pytest.warns(UserWarning, match=f"agent '{name}' of an installed package .* is left out"):
        assert repr(make_agent("ucb")) == "IndexAgent(UCB(B=None))"
    assert agent_names() == BUILT_IN
    registry.plugins.cache_clear()


def test_a_file_may_import_its_neighbour_and_have_any_name(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("ARM = 1\n")
    path = tmp_path / "agent (1).py"
    path.write_text("from neighbour_of_mine import ARM\n" + PLAIN)
    assert isinstance(make_agent(f"{path}:MyAgent(arm=1)"), Copies)
    other = tmp_path / "other"
    other.mkdir()
    (other / "agent (1).py").write_text(PLAIN.replace("self.arm = arm", "self.arm = 7"))
    agents = [make_agent(f"{folder}/agent (1).py:MyAgent") for folder in (tmp_path, other)]
    assert [agent.make().arm for agent in agents] == [0, 7]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ucb(B=0)", "B=0: expected a number above 0"),
        ("ts(beta=-1)", "beta=-1: expected a number above 0"),
        ("ts(B='x')", "B='x': expected a number above 0"),
        ("kl-ucb(c=-5)", "c=-5: expected 0 or more"),
    ],
)
def test_parameters_out_of_range(name, message):
    with pytest.raises(ValueError, match=message):
        make_agent(name)


def test_several_agents_are_not_one():
    for call in (published, make_agent):
        with pytest.raises(ValueError, match=r"agent \['ucb'\]: expected"):
            call(["ucb"])


@pytest.mark.parametrize("wrong", [UCB, "ucb", 5])
def test_an_index_agent_needs_a_policy(wrong):
    with pytest.raises(ValueError, match=r"expected an index policy, such as UCB\(\)"):
        CBandit(wrong)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ubc", r"unknown agent 'ubc': did you mean 'ucb'.*file.py:Class"),
        ("UCB", r"unknown agent 'UCB': did you mean 'ucb'"),
        ("c-random", r"unknown agent 'c-random'"),
        ("ucb(", r"expected name\(parameter=value"),
        ("ucb(5)", r"expected name\(parameter=value"),
        ("ucb(b=5)", r"UCB: .*'b'; its parameters are \['B'\]"),
        ("ucb(B=__import__('os'))", r"expected name\(parameter=value"),
        ("no_such_module:Agent", r"cannot import 'no_such_module'"),
        (
            "cmab_gym.agents.policies.ucb:UBC",
            r"unknown name in cmab_gym.agents.policies.ucb 'UBC': did you mean 'UCB'",
        ),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(ValueError, match=message):
        make_agent(name)


def test_wrong_files(my_file, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected path/to/file.py:Class"):
        make_agent("nowhere.py:MyAgent")
    with pytest.raises(ValueError, match="has no method update"):
        make_agent(f"{my_file}:Half")
    with pytest.raises(ValueError, match=r"unknown name .* 'Mine'.*known are MyAgent"):
        make_agent(f"{my_file}:Mine")
    with pytest.raises(ValueError, match="'c-' needs an index policy"):
        make_agent(f"c-{my_file}:MyAgent")
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    with pytest.raises(ValueError, match=r"cannot be imported: ZeroDivisionError"):
        make_agent(f"{broken}:MyAgent")
    assert "_cmab_gym_user_broken" not in sys.modules


def test_copies_are_independent(my_file):
    from cmab_gym.envs.tabular import tabular_model

    class Counts:
        def reset(self, problem, rng):
            self.total, self.rng = 0.0, rng

        def act(self):
            return int(self.rng.integers(2))

        def update(self, arm, reward):
            self.total += reward

    agent = agent_factory(Counts)()
    agent.reset(tabular_model().problem, 4, 0)
    arms = np.array([agent.act() for _ in range(50)])
    assert len({tuple(column) for column in arms.T.tolist()}) == 4
    agent.update(arms[0], np.arange(4.0))
    assert [copy.total for copy in agent._copies] == [0, 1, 2, 3]
