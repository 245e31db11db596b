"""Making of agents by name, from classes, files and installed packages."""

import re
import sys
from inspect import Parameter, signature
from pathlib import Path

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
from cmab_gym.envs.tabular import tabular_model

MY_FILE = """
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
IDEAS = {
    "baselines": "greedy epsilon-greedy explore-then-commit successive-elimination",
    "optimism": "ucb ucb-tuned ucb-v moss anytime-moss kl-ucb kl-ucb++ empirical-kl-ucb bayes-ucb "
    "imed empirical-imed clipped-ucb",
    "sampling": "ts beta-ts dirichlet-ts npts gaussian-ts",
    "randomised": "boltzmann gradient exp3 exp3-ix tsallis-inf",
    "heavy tails": "robust-ucb",
    "many arms": "subsampled-ucb subsampled-greedy",
    "from the lower bound": "graves-lai",
    "from a survey": "warm-ts survey-greedy min-ucb",
    "from the factors of a survey": "factor-ts v-ids",
    "from the classes of a survey": "class-ts class-ucb",
    "told more": "oracle ucb-n ucucb latent-ts",
}
BUILT_IN = [
    "random",
    *(
        prefix + name
        for names in IDEAS.values()
        for name in names.split()
        for prefix in (("",) if name in ("ucb-n", "graves-lai") else ("", "c-", "tc-"))
    ),
    *("ppo", "a2c", "dqn"),
]


@pytest.fixture
def my_file(tmp_path):
    path = tmp_path / "my_file.py"
    path.write_text(MY_FILE)
    return path


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Return a function that installs a package with one entry point."""

    def install(name, value):
        folder = tmp_path / "plugin-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)
        registry.plugins.cache_clear()

    yield install
    registry.plugins.cache_clear()


def test_agent_names_lists_the_built_in_agents():
    assert agent_names() == BUILT_IN
    assert isinstance(make_agent("random"), RandomAgent)


def test_the_page_of_agents_has_their_ideas_and_parameters():
    documented, idea = {}, ""
    page = Path(__file__).parents[2] / "docs" / "agents.md"
    for line in page.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"\*\*(.+?)\*\*", line):
            idea = heading[1].lower()
        elif line.startswith("| `"):
            names, *_, parameters = (re.findall("`(.+?)`", cell) for cell in line.split("|")[1:-1])
            documented.update({(idea, name): parameters for name in names})
    expected = {
        (idea, name): [
            each.name
            for each in signature(cls).parameters.values()
            if each.kind is not Parameter.VAR_KEYWORD
        ]
        for idea, classes in registry.agents_by_idea().items()
        for name, cls in classes.items()
    }
    assert documented == expected
    assert list(documented) == list(expected)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("ucb", "IndexAgent(UCB(B=None))"),
        ("c-ucb(B=5)", "CBandit(UCB(B=5))"),
        ("tc-ucb(B=5)", "TightenedCBandit(UCB(B=5))"),
        ("c-ts(B=5, beta=0.8)", "CBandit(TS(B=5, beta=0.8))"),
        ("cmab_gym.agents.policies.ucb:UCB(B=2)", "IndexAgent(UCB(B=2))"),
        ("c-cmab_gym.agents.policies.ts:TS", "CBandit(TS(B=None, beta=1.0))"),
    ],
)
def test_a_name_has_a_prefix_and_parameters(name, printed):
    assert repr(make_agent(name)) == printed


def test_arguments_take_precedence_over_parameters_in_the_name():
    assert repr(make_agent("ts(B=5)", B=2)) == "IndexAgent(TS(B=2, beta=1.0))"


def test_published_adds_the_parameters_of_the_paper():
    assert published("ucb", "c-ts", "random", "ucb(B=1)") == {
        "ucb": "ucb(B=5.0)",
        "c-ts": "c-ts(B=4.0, beta=1.0)",
        "random": "random",
        "ucb(B=1)": "ucb(B=1)",
    }


def test_a_class_in_a_file_is_an_agent_or_a_policy(my_file):
    assert isinstance(make_agent(f"{my_file}:MyAgent(arm=1)"), Copies)
    assert isinstance(make_agent(f"{my_file}:MyPolicy"), IndexAgent)
    assert isinstance(make_agent(f"c-{my_file}:MyPolicy"), CBandit)
    assert isinstance(make_agent(f"tc-{my_file}:MyPolicy"), TightenedCBandit)


def test_a_file_may_have_any_name_and_import_others_in_its_folder(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("ARM = 1\n")
    path = tmp_path / "agent (1).py"
    path.write_text("from neighbour_of_mine import ARM\n" + MY_FILE)
    assert isinstance(make_agent(f"{path}:MyAgent(arm=1)"), Copies)
    other = tmp_path / "other"
    other.mkdir()
    (other / "agent (1).py").write_text(MY_FILE.replace("self.arm = arm", "self.arm = 7"))
    agents = [make_agent(f"{folder}/agent (1).py:MyAgent") for folder in (tmp_path, other)]
    assert [agent.make().arm for agent in agents] == [0, 7]


def test_a_module_in_the_current_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_the_current_folder.py").write_text(MY_FILE)
    assert isinstance(make_agent("of_the_current_folder:MyAgent"), Copies)


@pytest.mark.skipif(sys.platform == "win32", reason="the current folder cannot be deleted")
def test_a_built_in_agent_needs_no_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert isinstance(make_agent("ucb"), IndexAgent)


def test_an_agent_may_be_given_as_a_class_or_an_instance():
    assert isinstance(agent_factory(UCB)(), IndexAgent)
    assert isinstance(agent_factory(TS(beta=2))(), IndexAgent)
    shared = CBandit(UCB())
    assert agent_factory(shared)() is not shared
    assert repr(agent_factory(shared)()) == repr(shared)


def test_a_decorator_registers_an_agent(monkeypatch):
    monkeypatch.setattr(registry, "SPECS", dict(registry.SPECS))

    @register_agent("mine")
    class Greedy:
        """Pull the arm with the best mean."""

        def index(self, history, rng):
            return history.means.copy()

    assert isinstance(make_agent("c-mine"), CBandit)
    assert register_agent("mine")(Greedy) is Greedy  # the same class again is accepted
    with pytest.raises(ValueError, match="'mine' belongs to"):
        register_agent("mine")(UCB)
    for wrong in ("c-mine", "", Greedy):  # the last one as a decorator without a name
        with pytest.raises(ValueError, match="expected a name without ':'"):
            register_agent(wrong)


def test_an_entry_point_registers_an_agent(install):
    install("theirs", "cmab_gym.agents.policies.ucb:UCB")
    assert repr(make_agent("c-theirs")) == "CBandit(UCB(B=None))"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ucb", "cmab_gym.agents.policies.ts:TS"),
        ("c-x", "cmab_gym.agents.policies.ts:TS"),
        ("gone", "no_such:Agent"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_left_out_with_a_warning(name, value, install):
    install(name, value)
    with pytest.warns(UserWarning, match=f"agent '{name}' of an installed package .* is left out"):
        assert repr(make_agent("ucb")) == "IndexAgent(UCB(B=None))"
    assert agent_names() == BUILT_IN


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ubc", r"unknown agent 'ubc': did you mean 'ucb'.*file.py:Class"),
        ("UCB", r"unknown agent 'UCB': did you mean 'ucb'"),
        ("c-random", r"unknown agent 'c-random'"),
        ("ucb(", r"expected name\(parameter=value"),
        ("ucb(5)", r"expected name\(parameter=value"),
        ("ucb(B=__import__('os'))", "the value of B= is neither a number nor a word"),
        ("ucb(b=5)", r"UCB: .*'b'; its parameters are \['B'\]"),
        ("ucb(lower_bounds=True)", r"lower_bounds.*its parameters are \['B'\]"),
        (
            "c-ucb(policy=1)",
            r"UCB: .*'policy'; its parameters are \['B', 'first_pulls', 'lower_bounds',",
        ),
        ("ucb(B=0)", "B=0: expected a number above 0"),
        ("ts(beta=-1)", "beta=-1: expected a number above 0"),
        ("ts(B='x')", "B='x': expected a number above 0"),
        ("kl-ucb(c=-5)", "c=-5: expected 0 or more"),
        ("no_such_module:Agent", r"cannot import 'no_such_module'"),
        (
            "cmab_gym.agents.policies.ucb:UBC",
            r"unknown name 'UBC' in cmab_gym.agents.policies.ucb: did you mean 'UCB'",
        ),
    ],
)
def test_a_wrong_name_or_parameter_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        make_agent(name)


def test_a_list_of_agents_is_refused():
    for call in (published, make_agent):
        with pytest.raises(ValueError, match=r"agent \['ucb'\]: expected"):
            call(["ucb"])


@pytest.mark.parametrize("wrong", [UCB, "ucb", 5])
def test_an_index_agent_needs_a_policy(wrong):
    with pytest.raises(ValueError, match=r"expected an index policy, such as UCB\(\)"):
        CBandit(wrong)


def test_wrong_files_are_refused(my_file, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected path/to/file.py:Class"):
        make_agent("nowhere.py:MyAgent")
    with pytest.raises(ValueError, match="has no method update"):
        make_agent(f"{my_file}:Half")
    with pytest.raises(ValueError, match=r"unknown name 'Mine' in .*expected one of: MyAgent"):
        make_agent(f"{my_file}:Mine")
    with pytest.raises(ValueError, match="'c-' needs an index policy"):
        make_agent(f"c-{my_file}:MyAgent")
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    modules = set(sys.modules)
    with pytest.raises(ValueError, match=r"cannot be imported: ZeroDivisionError"):
        make_agent(f"{broken}:MyAgent")
    assert set(sys.modules) == modules


def test_agents_from_one_factory_are_independent():
    made = []

    class Sums:
        def __init__(self):
            made.append(self)

        def reset(self, problem, rng):
            self.total, self.rng = 0, rng

        def act(self):
            return int(self.rng.integers(2))

        def update(self, arm, reward):
            self.total += int(reward)

    agent = agent_factory(Sums)()
    agent.reset(tabular_model().problem, 4, 0)
    arms = np.array([agent.act() for _ in range(50)])
    assert len({tuple(column) for column in arms.T.tolist()}) == 4
    agent.update(arms[0], np.array([0.0, 1, 1, 0]))
    assert [copy.total for copy in made[-4:]] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("my_agent.py", r"expected its class too, such as my_agent\.py:MyAgent"),
        ("ucb,c-ucb", "expected one agent; put spaces between several"),
    ],
)
def test_names_that_are_nearly_right_have_a_remedy_of_their_own(name, remedy):
    with pytest.raises(ValueError, match=remedy):
        make_agent(name)
