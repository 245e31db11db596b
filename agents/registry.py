"""Names of agents: built-in, registered by the user, or from installed packages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from cmab_gym import checks
from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.correlated.tightened import TightenedCBandit
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.loading import load_target

ENTRY_POINTS = "cmab_gym.agents"
# The class of the agent that plays an index policy, by the prefix of the agent's name.
INDEX_AGENTS: dict[str, type[IndexAgent]] = {
    "": IndexAgent,
    "c-": CBandit,
    "tc-": TightenedCBandit,
}

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class AgentSpec:
    """A name, its policy or agent class as "module:attribute" or the class itself, and its idea."""

    name: str
    target: str | type
    idea: str

    def load(self) -> Any:
        """Import the class."""
        return load_target(self.target) if isinstance(self.target, str) else self.target


# The built-in agents by idea, in the order in which they are listed.
_BUILT_IN: dict[str, dict[str, str]] = {
    "baselines": {
        "random": "policies.random_agent:RandomAgent",
        "greedy": "policies.greedy:Greedy",
        "epsilon-greedy": "policies.epsilon_greedy:EpsilonGreedy",
        "explore-then-commit": "policies.explore_then_commit:ExploreThenCommit",
        "successive-elimination": "policies.successive_elimination:SuccessiveElimination",
    },
    "optimism": {
        "ucb": "policies.ucb:UCB",
        "ucb-tuned": "policies.ucb_tuned:UCBTuned",
        "ucb-v": "policies.ucb_v:UCBV",
        "moss": "policies.moss:MOSS",
        "anytime-moss": "policies.anytime_moss:AnytimeMOSS",
        "kl-ucb": "policies.kl_ucb:KLUCB",
        "kl-ucb++": "policies.kl_ucb_plus_plus:KLUCBPlusPlus",
        "empirical-kl-ucb": "policies.empirical_kl_ucb:EmpiricalKLUCB",
        "bayes-ucb": "policies.bayes_ucb:BayesUCB",
        "imed": "policies.imed:IMED",
        "empirical-imed": "policies.empirical_imed:EmpiricalIMED",
        "clipped-ucb": "correlated.clipped_ucb:ClippedUCB",
    },
    "sampling": {
        "ts": "policies.ts:TS",
        "beta-ts": "policies.beta_ts:BetaTS",
        "dirichlet-ts": "policies.dirichlet_ts:DirichletTS",
        "npts": "policies.npts:NPTS",
        "gaussian-ts": "policies.gaussian_ts:GaussianTS",
    },
    "randomised": {
        "boltzmann": "randomised.boltzmann:Boltzmann",
        "gradient": "randomised.gradient:Gradient",
        "exp3": "randomised.exp3:EXP3",
        "exp3-ix": "randomised.exp3_ix:EXP3IX",
        "tsallis-inf": "randomised.tsallis_inf:TsallisINF",
    },
    "heavy tails": {
        "robust-ucb": "heavy_tails.robust_ucb:RobustUCB",
    },
    "many arms": {
        "subsampled-ucb": "policies.subsampled_ucb:SubsampledUCB",
        "subsampled-greedy": "policies.subsampled_greedy:SubsampledGreedy",
    },
    "from the lower bound": {
        "graves-lai": "correlated.graves_lai:GravesLai",
    },
    "from a survey": {
        "warm-ts": "survey.warm_ts:WarmTS",
        "survey-greedy": "survey.survey_greedy:SurveyGreedy",
        "min-ucb": "survey.min_ucb:MinUCB",
    },
    "from the factors of a survey": {
        "factor-ts": "survey.factor_ts:FactorTS",
        "v-ids": "survey.v_ids:VIDS",
    },
    "from the classes of a survey": {
        "class-ts": "survey.class_ts:ClassTS",
        "class-ucb": "survey.class_ucb:ClassUCB",
    },
    "told more": {
        "oracle": "told_more.oracle:Oracle",
        "ucb-n": "told_more.ucb_n:UCBN",
        "ucucb": "told_more.ucucb:UCUCB",
        "latent-ts": "told_more.latent_ts:LatentTS",
    },
    "learning": {
        "ppo": "rl.online:PPO",
        "a2c": "rl.online:A2C",
        "dqn": "rl.online:DQN",
    },
}
SPECS: dict[str, AgentSpec] = {
    name: AgentSpec(name, f"cmab_gym.agents.{target}", idea)
    for idea, agents in _BUILT_IN.items()
    for name, target in agents.items()
}


def register_agent(name: str) -> Callable[[Class], Class]:
    """Register a policy or agent class under a name: a class decorator.

    A policy (a class with `index`) is then known as `name`, `c-name` and `tc-name`.

    Raises:
        ValueError: the name belongs to another class, or is not a valid name.
    """
    _check_name(name)

    def add(cls: Class) -> Class:
        taken = SPECS.get(name)
        if taken is not None and _identity(taken.load()) != _identity(cls):
            raise ValueError(f"agent name {name!r} belongs to {taken.target}: choose another name")
        SPECS[name] = AgentSpec(name, cls, "your own")
        return cls

    return add


def agents_by_idea() -> dict[str, dict[str, Any]]:
    """Return the policy or agent class of each name without a prefix, by idea."""
    ideas: dict[str, dict[str, Any]] = {}
    for spec in _all_specs().values():
        ideas.setdefault(spec.idea, {})[spec.name] = spec.load()
    return ideas


def agent_names() -> list[str]:
    """List the names that `make_agent` knows, including those with a prefix."""
    names: list[str] = []
    for spec in _all_specs().values():
        prefixes = INDEX_AGENTS if is_policy(spec.load()) else ("",)
        names += [prefix + spec.name for prefix in prefixes]
    return names


def agent_class(name: str) -> Any:
    """Return the policy or agent class of a registered name.

    Raises:
        ValueError: the name is unknown.
    """
    specs = _all_specs()
    prefix, base = split_prefix(name)
    if base not in specs or (prefix and not is_policy(specs[base].load())):
        if name.endswith(".py"):
            raise ValueError(f"agent {name!r}: expected its class too, such as {name}:MyAgent")
        if "," in name:
            raise ValueError(f"agent {name!r}: expected one agent; put spaces between several")
        remedy = (
            f"; {' or '.join(each for each in INDEX_AGENTS if each)} before the name of a policy "
            "gives its correlated version; pass an agent of your own as file.py:Class or "
            "module:Class"
        )
        raise ValueError(checks.unknown("agent", name, agent_names(), list(specs)) + remedy)
    return specs[base].load()


def is_policy(thing: Any) -> bool:
    """Return whether a class or instance is an index policy, not an agent."""
    return hasattr(thing, "index") and not hasattr(thing, "act")


def split_prefix(name: str) -> tuple[str, str]:
    """Split "c-ucb" into "c-" and "ucb"; the prefix is "" if there is none."""
    prefix = next((each for each in INDEX_AGENTS if each and name.startswith(each)), "")
    return prefix, name.removeprefix(prefix)


def _all_specs() -> dict[str, AgentSpec]:
    return {**SPECS, **plugins(), **SPECS}  # the order of listing; ours take precedence


@cache
def plugins() -> dict[str, AgentSpec]:
    """Find the agents of installed packages; warn about those that cannot be used."""
    found = {}
    for point in entry_points(group=ENTRY_POINTS):
        try:
            _check_name(point.name)
            if point.name in SPECS:
                raise ValueError(f"{point.name!r} is built in")
            spec = AgentSpec(point.name, point.value, "from installed packages")
            spec.load()
            found[point.name] = spec
        except Exception as error:
            warnings.warn(
                f"agent {point.name!r} of an installed package ({point.value}) is left out: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
    return found


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name or set(name) & set(":() ") or split_prefix(name)[0]:
        raise ValueError(
            f"agent name {name!r}: expected a name without ':', parentheses, spaces or a prefix "
            "such as 'c-'"
        )


def _identity(cls: Any) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
