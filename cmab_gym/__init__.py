"""Correlated multi-armed bandits: Gymnasium environments, agents and their evaluation.

`import cmab_gym` registers the environments `CMAB-*-v0` with Gymnasium.
"""

from cmab_gym.agents import CBandit, IndexAgent, make_agent, published, register_agent
from cmab_gym.envs.ratings import from_ratings
from cmab_gym.envs.registration import register_environments
from cmab_gym.evaluation import Results, Sweep, check_agent, evaluate, plot_regret, sweep
from cmab_gym.problem import BanditProblem

__version__ = "0.1.0"

__all__ = [
    "BanditProblem",
    "CBandit",
    "IndexAgent",
    "Results",
    "Sweep",
    "check_agent",
    "evaluate",
    "from_ratings",
    "make_agent",
    "plot_regret",
    "published",
    "register_agent",
    "register_environments",
    "sweep",
]

register_environments()
