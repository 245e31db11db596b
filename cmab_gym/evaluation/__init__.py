"""Compare agents on an environment: `evaluate`, its `Results`, their plot, and `check_agent`."""

from cmab_gym.evaluation.agent_checker import check_agent
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.plot import plot_regret
from cmab_gym.evaluation.results import (
    AgentRun,
    EvaluationError,
    EvaluationInterrupted,
    Results,
)
from cmab_gym.evaluation.sweep import sweep
from cmab_gym.evaluation.sweep_tasks import Sweep

__all__ = [
    "AgentRun",
    "EvaluationError",
    "EvaluationInterrupted",
    "Results",
    "Sweep",
    "check_agent",
    "evaluate",
    "plot_regret",
    "sweep",
]
