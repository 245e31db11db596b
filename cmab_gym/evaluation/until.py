"""`evaluate_until`: as many trials as it takes to compare the agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.evaluation.comparison.compare import ERROR
from cmab_gym.evaluation.comparison.looks import looks_at, widest_half_width
from cmab_gym.evaluation.evaluate import evaluate, labelled
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results import EvaluationError, EvaluationInterrupted, Results

MOST_TRIALS = 1000


def evaluate_until(
    env_id: str,
    agents: Sequence[Any] | Mapping[str, Any],
    half_width: float,
    *,
    most_trials: int = MOST_TRIALS,
    on_error: str = "raise",
    **arguments: Any,
) -> Results:
    """Run agents on more and more trials, until the differences between them are known well.

    After 20, 40, 80, ... trials it computes an interval of the difference in final regret of every
    two agents. It stops when the widest has at most this half width, or at the most trials. The
    numbers are those of `evaluate` with as many trials. `compare` corrects its intervals and p
    values for the looks, so that all of them together err with the stated probability.

    Args:
        env_id: as for `evaluate`.
        agents: as for `evaluate`.
        half_width: half the width of the intervals, in the unit of regret; above 0.
        most_trials: the limit, 1 or more.
        on_error: as for `evaluate`; an agent that fails is left out of the further trials.
        arguments: others of `evaluate`, except for `trials` and `first_trial`.

    Returns:
        The results. Their manifest has "until", the half width asked for; "looks", how many looks
        there could have been; and "half_width", that of the widest interval at the end.

    Raises:
        TypeError, ValueError: as `evaluate`; or there is one agent.
        EvaluationError: an agent failed; `error.results` holds those of the others.
        EvaluationInterrupted: Ctrl-C was pressed; `error.results` holds the trials up to the last
            look, or those of the first agents if there was none.

    Source: Bonferroni's correction for the looks; intervals of Student's distribution.

    Examples:
        >>> results = evaluate_until("CMAB-Tabular-v0", ["random", "ucb"], 5, rounds=500)
        >>> results.trials
        range(0, 20)
    """
    half_width = checks.positive("half_width", half_width)
    looks = looks_at(checks.whole_number("most_trials", most_trials, 1))
    for name in ("trials", "first_trial"):
        if name in arguments:
            raise TypeError(
                f"evaluate_until() has no argument {name!r}: the trials are those that it takes, "
                "at most most_trials"
            )
    checks.choice("on_error", on_error, ("raise", "keep"))
    done: Results | None = None
    reached = float("inf")
    playing = labelled(agents)
    if len(playing) < 2:
        raise ValueError(
            "one agent has no difference to another: expected at least two; to play one, use "
            "evaluate, or leave --until-half-width out"
        )
    failed: list[AgentRun] = []
    about: dict[str, Any] = {"until": half_width, "looks": len(looks)}
    for look in looks:
        first = 0 if done is None else done.trials.stop
        try:
            more = evaluate(
                env_id,
                playing,
                trials=look - first,
                first_trial=first,
                on_error="keep",
                **arguments,
            )
        except EvaluationInterrupted as error:
            if done is None:
                raise
            about |= {"half_width": reached, "interrupted": True}
            done = replace(done, manifest={**done.manifest, **about})
            raise EvaluationInterrupted(done) from error
        more = replace(more, runs=(*more.runs, *failed))
        failed = [AgentRun.failed(run.label, run.failure) for run in more.runs if run.failure]
        playing = {run.label: playing[run.label] for run in more.finished}
        done = more if done is None else done + more
        final = np.array([run.regret[:, -1] for run in done.finished])
        if not len(final):
            break
        reached = widest_half_width(final, ERROR / len(looks))
        if reached <= half_width:
            break
    assert done is not None  # noqa: S101
    done = replace(done, manifest={**done.manifest, **about, "half_width": reached})
    if on_error == "raise" and done.failures:
        raise EvaluationError(done) from next((run.cause for run in done.runs if run.cause), None)
    return done
