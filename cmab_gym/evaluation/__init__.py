"""Compare agents on an environment: evaluations, comparisons, sweeps, and their results."""

from cmab_gym.evaluation.agent_checker import check_agent
from cmab_gym.evaluation.comparison.compare import Comparison, Pair, compare
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.identify import Identification, identify
from cmab_gym.evaluation.plots import (
    plot_competitive,
    plot_distribution,
    plot_pulls,
    plot_regret,
)
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results import (
    EvaluationError,
    EvaluationInterrupted,
    Results,
)
from cmab_gym.evaluation.sweeps.sweep import sweep
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep
from cmab_gym.evaluation.until import evaluate_until

__all__ = [
    "AgentRun",
    "Comparison",
    "EvaluationError",
    "EvaluationInterrupted",
    "Identification",
    "Pair",
    "Results",
    "Sweep",
    "check_agent",
    "compare",
    "evaluate",
    "evaluate_until",
    "identify",
    "plot_competitive",
    "plot_distribution",
    "plot_pulls",
    "plot_regret",
    "sweep",
]
