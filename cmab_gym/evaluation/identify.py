"""`identify`: how many pulls an agent needs to know the best arm, and how often it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.api import unchecked_update
from cmab_gym.agents.identification import IdentificationAgent, make_identification_agent
from cmab_gym.agents.identification.api import check_delta
from cmab_gym.arrays import BoolArray, IntArray
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.evaluation.evaluate import batch_size_of, label_of, trial_ranges
from cmab_gym.evaluation.playing.batch import find_environment, make_environment
from cmab_gym.evaluation.playing.progress import OnProgress
from cmab_gym.evaluation.results.results import half_width
from cmab_gym.streams import TrialStreams, environment_seed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Identification:
    """How one agent identified the best arm, in each of some trials.

    Args:
        agent: its name.
        delta: the error probability that it was given.
        samples: int64 (trials,), pulls until it stopped; `max_rounds` if it did not.
        chosen: int64 (trials,), the arm that it returned; -1 if it did not stop (undecided).
        wrong: bool (trials,), whether it returned an arm that is not a best one.
    """

    agent: str
    delta: float
    samples: IntArray
    chosen: IntArray
    wrong: BoolArray

    @property
    def undecided(self) -> int:
        """The number of trials that did not stop."""
        return int((self.chosen < 0).sum())

    @property
    def mean_samples(self) -> float:
        """The mean of `samples`: too small if a trial is undecided."""
        return float(self.samples.mean())

    @property
    def samples_interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean of `samples` (Student's t); NaN for one trial."""
        n = self.samples.size
        half = half_width(n, float(self.samples.std(ddof=1)) if n > 1 else 0.0)
        return self.mean_samples - half, self.mean_samples + half

    @property
    def error_rate(self) -> float:
        """The share of all trials that returned a wrong arm; an undecided one did not."""
        return float(self.wrong.mean())

    @property
    def error_interval(self) -> tuple[float, float]:
        """The 95 % interval of the error probability (Clopper and Pearson)."""
        from scipy.special import betaincinv

        n, errors = self.wrong.size, int(self.wrong.sum())
        low = betaincinv(errors, n - errors + 1, 0.025) if errors else 0.0
        high = betaincinv(errors + 1, n - errors, 0.975) if errors < n else 1.0
        return float(low), float(high)

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each trial: agent, trial, samples, chosen, wrong."""
        import pandas as pd

        columns = {"samples": self.samples, "chosen": self.chosen, "wrong": self.wrong}
        return pd.DataFrame({"agent": self.agent, "trial": range(self.wrong.size), **columns})


def identify(
    env_id: str,
    agent: Any,
    delta: float = 0.05,
    trials: int = 100,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    max_rounds: int = 100_000,
    progress: OnProgress | None = None,
) -> Identification:
    """Let an agent pull arms until it knows the best one, in many trials.

    The rewards are those of `evaluate` with the same seed: in trial i the n-th pull of an arm gives
    every agent the same reward, and the numbers of a trial depend only on `seed` and the trial.

    Args:
        env_id: a registered environment ("CMAB-Tabular-v0").
        agent: "lucb", "c-lucb", "lil-ucb", "top-two-ts" or "track-and-stop", also with parameters;
            or a class of your own, as for `make_identification_agent`.
        delta: the accepted probability of a wrong arm, between 0 and 1.
        trials: number of independent trials, 1 or more.
        seed: 0 or more.
        env_kwargs: keyword arguments of the environment.
        max_rounds: pulls after which a trial is undecided, 1 or more.
        progress: called with the number of trials that ended since the last call.

    Raises:
        ValueError: an argument is wrong, or the agent does not return arms and booleans.

    Examples:
        >>> import cmab_gym
        >>> cmab_gym.identify("CMAB-Tabular-v0", "c-lucb", delta=0.1, trials=5).error_rate
        0.0
    """
    delta = check_delta(delta)
    trials = checks.whole_number("trials", trials, 1)
    seed = checks.whole_number("seed", seed, 0)
    max_rounds = checks.whole_number("max_rounds", max_rounds, 1)
    spec, kwargs = find_environment(env_id, env_kwargs or {}), dict(env_kwargs or {})
    make_identification_agent(agent, delta)  # so that a wrong name raises before the environment
    samples = np.full(trials, max_rounds)
    chosen = np.full(trials, -1)
    best: BoolArray = np.empty(0, np.bool_)
    for batch in trial_ranges(trials, batch_size_of(None, trials, 1)):
        with without_survey_warnings():
            env = make_environment(spec, len(batch), max_rounds, kwargs)
        best = env.unwrapped.model.best_arms
        player = make_identification_agent(agent, delta)
        env.reset(seed=[environment_seed(seed, i) for i in batch], options={"info": False})
        player.reset(env.unwrapped.problem, len(batch), TrialStreams.for_trials(seed, batch))
        own = slice(batch.start, batch.stop)
        samples[own], chosen[own] = _play(player, env, max_rounds, progress or (lambda ended: None))
    wrong = (chosen >= 0) & ~best[chosen]
    return Identification(label_of(agent), delta, samples, chosen, wrong)


def _play(
    player: IdentificationAgent, env: Any, max_rounds: int, progress: OnProgress
) -> tuple[IntArray, IntArray]:
    """Play the trials of an environment; return `samples` and `chosen`, as in `Identification`."""
    trials, n_arms = env.num_envs, env.unwrapped.model.n_arms
    samples, chosen = np.full(trials, max_rounds), np.full(trials, -1)
    playing, update = np.ones(trials, np.bool_), unchecked_update(player)
    for t in range(1, max_rounds + 1):
        arms = checks.arms_in_range("act()", player.act(), trials, n_arms).copy()
        update(arms, env.step(arms)[1])
        # The pulls of a trial that is done are made, as all trials step together, but not counted;
        # what it returned stays.
        done = np.asarray(player.done())
        if done.shape != playing.shape or done.dtype != np.bool_:
            raise ValueError(
                f"done() returned {done.dtype} of shape {done.shape}: expected bool of shape "
                f"{playing.shape}, one for each trial"
            )
        stopped = np.flatnonzero(playing & done)
        if stopped.size:
            answer = checks.arms_in_range("best_arm()", player.best_arm(), trials, n_arms)
            samples[stopped], chosen[stopped] = t, answer[stopped]
            playing[stopped] = False
            progress(stopped.size)
        if not playing.any():
            return samples, chosen
    progress(int(playing.sum()))
    return samples, chosen
