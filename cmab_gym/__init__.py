"""Correlated multi-armed bandits: Gymnasium environments, agents and their evaluation.

`import cmab_gym` registers the environments `CMAB-*-v0` with Gymnasium. Subpackages such as
`cmab_gym.theory` are imported when they are first used.
"""

import signal
import sys
from importlib import import_module
from pathlib import PurePath
from types import ModuleType

if (
    PurePath(*sys.orig_argv[1:2]).stem == "cmab-gym" or sys.orig_argv[1:3] == ["-m", "cmab_gym"]
) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # In the command itself Ctrl-C during the imports prints no traceback; later `main` handles it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from cmab_gym.agents import CBandit, IndexAgent, make_agent, published, register_agent
from cmab_gym.envs.ratings import from_ratings
from cmab_gym.envs.registration import register_environments
from cmab_gym.evaluation import (
    Results,
    Sweep,
    check_agent,
    compare,
    evaluate,
    evaluate_until,
    identify,
    plot_competitive,
    plot_distribution,
    plot_pulls,
    plot_regret,
    sweep,
)
from cmab_gym.problem import BanditProblem
from cmab_gym.report import write_report
from cmab_gym.versions import version_of

__version__ = version_of("cmab-gym")

__all__ = [
    "BanditProblem",
    "CBandit",
    "IndexAgent",
    "Results",
    "Sweep",
    "check_agent",
    "compare",
    "evaluate",
    "evaluate_until",
    "from_ratings",
    "identify",
    "make_agent",
    "plot_competitive",
    "plot_distribution",
    "plot_pulls",
    "plot_regret",
    "published",
    "register_agent",
    "register_environments",
    "sweep",
    "write_report",
]

_LAZY = ("envs_data", "paper", "theory", "training", "wrappers")

register_environments()


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
