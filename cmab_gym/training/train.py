"""`train`: train an agent beforehand on random bandit problems, and save it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.agents.rl.random_state import GlobalRandomState
from cmab_gym.agents.rl.settings import N_ENVS, TRAINING, WIDTH
from cmab_gym.files import check_writable
from cmab_gym.training.problems import DISTRIBUTIONS
from cmab_gym.versions import versions

_OURS = ("policy", "env", "seed", "device", "verbose", "tensorboard_log", "policy_kwargs")


def train(
    algorithm: str,
    on: str,
    path: str | Path,
    steps: int = 2_000_000,
    *,
    n_arms: int | None = None,
    horizon: int = 1000,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Train an agent and save it, for `make_agent(path)` and `cmab-gym run ENV --agents PATH`.

    Args:
        algorithm: "ppo" or "a2c".
        on: what distribution of problems: "genre" or "tabular".
        path: the file to write, which ends in .zip.
        steps: pulls to learn from, at least; in all episodes together.
        n_arms: K, for distributions that leave it open. The agent plays any number of arms.
        horizon: rounds of an episode. The agent may be played longer.
        seed: 0 or more, decides all that is random.
        progress: called with the number of pulls since the last call.
        changes: keywords of the algorithm in stable-baselines3, to win over the settings of
            `cmab_gym.agents.rl.settings`.

    Returns:
        What the file says of the training: algorithm, settings, distribution, seed, versions, time.

    Raises:
        ValueError: an argument is wrong, or the extra `rl` is not installed.
    """
    name = checks.choice("algorithm", algorithm, TRAINING)
    make_problems = DISTRIBUTIONS[checks.choice("distribution", on, DISTRIBUTIONS)]
    steps = checks.whole_number("steps", steps, 1)
    horizon = checks.whole_number("horizon", horizon, 1)
    seed = checks.whole_number("seed", seed, 0)
    path = _new_file(path)
    sb3 = stable_baselines3()
    cls = getattr(sb3, name.upper())
    known = [each for each in inspect.signature(cls).parameters if each not in _OURS]
    for each in changes:
        if each not in known:
            raise ValueError(checks.unknown(f"setting of {cls.__name__}", each, known))
    problems = make_problems() if n_arms is None else make_problems(n_arms)

    from cmab_gym.agents.rl.model_file import write_model

    settings = {**TRAINING[name], **changes}
    started, start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.perf_counter()
    model = _trained(cls, settings, problems, steps, horizon, seed, progress)
    description = {
        "algorithm": name,
        "settings": settings,
        "width": WIDTH,
        "n_envs": N_ENVS,
        "trained_on": on,
        "n_arms": problems.n_arms,
        "horizon": horizon,
        "steps": model.num_timesteps,
        "seed": seed,
        "versions": versions("gymnasium", "numpy", "stable-baselines3", "torch"),
        "started": started,
        "seconds": round(time.perf_counter() - start, 1),
    }
    write_model(path, model, description)
    return description


def _trained(
    cls: Any,
    settings: dict[str, Any],
    problems: Any,
    steps: int,
    horizon: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> Any:
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger

    from cmab_gym.agents.rl.arm_networks import ArmPolicy
    from cmab_gym.training.vec_env import ProblemVecEnv

    class Report(BaseCallback):
        def _on_step(self) -> bool:
            # A whole rollout is played to its end, which may be beyond the steps asked for.
            if progress is not None and self.num_timesteps <= steps:
                progress(self.training_env.num_envs)
            return True

    env = ProblemVecEnv(problems, N_ENVS, horizon, np.random.default_rng(seed))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with more, sums are rounded differently on another machine
    try:
        with GlobalRandomState(seed).lent():
            model = cls(ArmPolicy, env, policy_kwargs={"width": WIDTH}, device="cpu", **settings)
            model.set_logger(Logger(None, []))
            model.learn(steps, Report(), log_interval=None)
    finally:
        torch.set_num_threads(threads)
    return model


def _new_file(name: str | Path) -> Path:
    """Check now that the file can be written: after the training is too late to find it cannot."""
    path = Path(name)
    if path.suffix != ".zip" or path.is_dir():
        raise ValueError(f"file {str(name)!r}: expected a name that ends in .zip")
    try:
        check_writable(path.parent)
    except OSError as error:
        raise ValueError(
            f"file {str(name)!r} cannot be written ({error}): expected another"
        ) from error
    return path
