"""Compare agents on an environment: `evaluate`, its `Results`, and their plot."""

from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.results import AgentRun, EvaluationError, Results

__all__ = ["AgentRun", "EvaluationError", "Results", "evaluate"]
