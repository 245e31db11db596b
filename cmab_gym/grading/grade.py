"""`Grader`: grade submissions for an assignment."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from os.path import isdir
from pathlib import Path

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.make import make_agent
from cmab_gym.arrays import FloatArray
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.grading.assignment import Assignment, Instance
from cmab_gym.grading.band import REFERENCE_TRIALS, band, checkpoints, share_of
from cmab_gym.grading.exact import first_wrong_round, likely_mistakes
from cmab_gym.grading.submission import Limits, Submission, SubmissionError, check_user
from cmab_gym.grading.trials import Trial, play_trial
from cmab_gym.models.base import BanditModel
from cmab_gym.models.draws import reward_source_of
from cmab_gym.streams import environment_generator


@dataclass(frozen=True)
class Outcome:
    """The result of a test.

    Args:
        name: the instance's.
        hidden: whether students see the points alone.
        points: given.
        max_points: possible.
        feedback: why, for the student.
        regret: mean over the trials; NaN if they were not played to the end.
        seconds: per round of the submission, with those of the grader; NaN likewise.
        reference_seconds: per round of the reference on this machine, one trial at a time.
    """

    name: str
    hidden: bool
    points: float
    max_points: float
    feedback: str
    regret: float = math.nan
    seconds: float = math.nan
    reference_seconds: float = math.nan


@dataclass(frozen=True)
class Grade:
    """The results of a submission.

    Args:
        submission: the name of its file.
        assignment: the name of the assignment.
        seed: the grader's.
        outcomes: one for each test.
    """

    submission: str
    assignment: str
    seed: int
    outcomes: tuple[Outcome, ...]

    @property
    def score(self) -> float:
        """The sum of the points."""
        return round(sum(outcome.points for outcome in self.outcomes), 6)

    @property
    def max_score(self) -> float:
        """The sum of the possible points."""
        return round(sum(outcome.max_points for outcome in self.outcomes), 6)

    @property
    def regret(self) -> float:
        """The sum of the regrets of all tests; NaN if one was not played to the end."""
        return sum(outcome.regret for outcome in self.outcomes)

    @property
    def time(self) -> float:
        """The time of a round divided by the reference's, on average over all tests."""
        ratios = [outcome.seconds / outcome.reference_seconds for outcome in self.outcomes]
        return float(np.mean(ratios))


class Grader:
    """Grades submissions for an assignment; the reference is run once for all of them.

    Args:
        assignment: what to grade.
        seed: of all rewards, of the numbering of arms and of bandits that are drawn. Keep it
            secret: students who know it can compute the rewards.
        limits: what a submission may use.
        user: the user that runs submissions; None for the present one. Only root can choose.

    Raises:
        ValueError: an instance is wrong, or the user cannot run submissions.
    """

    def __init__(
        self,
        assignment: Assignment,
        seed: int = 0,
        limits: Limits | None = None,
        user: str | None = None,
    ) -> None:
        self.assignment = assignment
        self.seed = checks.whole_number("seed", seed, 0)
        self.limits = Limits() if limits is None else limits
        self.user = user
        check_user(user)
        numbers = np.random.SeedSequence(self.seed).generate_state(len(assignment.instances))
        with without_survey_warnings():
            self._bandits = [
                _Bandit(assignment, instance, int(number))
                for instance, number in zip(assignment.instances, numbers, strict=True)
            ]

    def grade(self, path: str | Path) -> Grade:
        """Grade a submission; what is wrong with it takes points, but raises no error.

        Args:
            path: the student's file.
        """
        outcomes, left = [], self.limits.seconds
        for bandit in self._bandits:
            start = time.monotonic()
            try:
                played: list[Trial] | SubmissionError = self._play(bandit, Path(path), start + left)
            except SubmissionError as error:
                played = error
            left -= time.monotonic() - start  # the grader's own work below does not count
            outcomes.append(self._outcome(bandit, played))
        return Grade(str(path), self.assignment.name, self.seed, tuple(outcomes))

    def _play(self, bandit: _Bandit, path: Path, deadline: float) -> list[Trial]:
        given, shuffled = self.assignment, bandit.instance.shuffled
        # A process for each test: what it keeps cannot help, or harm, in the others.
        with Submission(path, self.limits, deadline, self.user) as submission:
            return [
                play_trial(submission, bandit.model, given.rounds, bandit.seed, i, shuffled)
                for i in range(given.trials)
            ]

    def _outcome(self, bandit: _Bandit, played: list[Trial] | SubmissionError) -> Outcome:
        given, instance = self.assignment, bandit.instance
        most = given.points / len(given.instances)
        if isinstance(played, SubmissionError):
            return Outcome(instance.name, instance.hidden, 0.0, most, f"Error: {played}.")
        wrong = bandit.what_is_wrong(played)
        return Outcome(
            instance.name,
            instance.hidden,
            0.0 if wrong else most,
            most,
            wrong or "Correct.",
            float(np.mean([trial.regret[-1] for trial in played])),
            sum(trial.seconds for trial in played) / (given.rounds * given.trials),
            bandit.reference_seconds(),
        )


class _Bandit:
    """An instance of an assignment, and what the reference does there."""

    def __init__(self, assignment: Assignment, instance: Instance, seed: int) -> None:
        self._assignment, self.instance, self.seed = assignment, instance, seed
        self.model: BanditModel = instance.model(seed)
        self.reference_seconds = cache(self._reference_seconds)
        self._reference_regret = cache(self._evaluate_reference)

    def what_is_wrong(self, trials: list[Trial]) -> str:
        """Say what is wrong with a submission; "" if nothing is."""
        if self._assignment.kind == "exact":
            return self._first_wrong_arm(trials)
        return self._outside_the_band(trials)

    def _first_wrong_arm(self, trials: list[Trial]) -> str:
        agent = make_agent(self._assignment.reference)
        assert isinstance(agent, IndexAgent)  # noqa: S101
        for number, trial in enumerate(trials, 1):
            wrong = first_wrong_round(agent, trial)
            if wrong is not None:
                found = [] if wrong.tie else likely_mistakes(self._assignment.mistakes, trial)
                likely = [f"Likely mistake: {sentence}." for sentence in found[:3]]
                return "\n".join([f"Trial {number}. {wrong.explained()}", *likely])
        return ""

    def _outside_the_band(self, trials: list[Trial]) -> str:
        given, share = self._assignment, share_of(self._assignment)
        for column, t in enumerate(checkpoints(given.rounds)):
            own = np.array([trial.regret[t - 1] for trial in trials])
            reference = self._reference_regret()[:, column]
            found = band(own, reference, share, both_sides=given.kind == "band")
            if not found.inside:
                too = "large" if found.mean > found.high else "small"
                low = f"from {found.low:.1f}" if given.kind == "band" else "up"
                return (
                    f"The mean regret after {t} rounds, {found.mean:.1f} over {own.size} trials, "
                    f"is too {too}: expected {low} to {found.high:.1f} (the reference's is "
                    f"{found.reference:.1f}; of {1 / share:,.0f} correct agents at most 1 is "
                    "outside)."
                )
        return ""

    def _evaluate_reference(self) -> FloatArray:
        """Return the regret of the reference in trials that no submission plays."""
        given = self._assignment
        results = evaluate(
            self.instance.env_id,
            [given.reference],
            rounds=given.rounds,
            trials=REFERENCE_TRIALS,
            seed=self.seed,
            env_kwargs=self.instance.kwargs(self.seed),
            checkpoints=checkpoints(given.rounds),
            first_trial=given.trials,
            record_pulls=False,
        )
        return results.runs[0].regret

    def _reference_seconds(self) -> float:
        """Measure a round of the reference, one trial at a time as submissions are played."""
        agent, rounds = make_agent(self._assignment.reference), self._assignment.rounds
        source = reward_source_of(self.model, "pulls", (environment_generator(self.seed),))
        agent.reset(self.model.problem.with_horizon(rounds), 1, self.seed)  # type: ignore[arg-type]
        start = time.perf_counter()
        for _ in range(rounds):
            arms = agent.act()
            agent.update(arms, source.take(arms)[0])
        return (time.perf_counter() - start) / rounds


def submissions_in(path: str | Path) -> list[Path]:
    """List the submissions at a path: a file; or the files *.py and */submission.py of a folder.

    Raises:
        ValueError: the folder has none, or the file is not a Python file.
        FileNotFoundError: there is nothing.
    """
    folder = Path(path)
    if not isdir(folder):
        if not folder.exists():
            raise FileNotFoundError(f"{path} does not exist: expected a submission, or a folder")
        if folder.suffix != ".py":
            raise ValueError(f"{path} is not a Python file: expected NAME.py, or a folder")
        return [folder]
    found = [*folder.glob("*.py"), *folder.glob("*/submission.py")]
    if not found:
        raise ValueError(f"{path} has no submission: expected *.py or */submission.py")
    return sorted(found)
