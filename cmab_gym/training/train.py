"""`train`: train an agent on random bandit problems and save it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.agents.rl.model_file import write_model
from cmab_gym.agents.rl.random_state import GlobalRandomState
from cmab_gym.agents.rl.settings import N_ENVS, RESERVED, TRAINING, WIDTH, check_names
from cmab_gym.files import check_writable
from cmab_gym.training.problems import ProblemDistribution, make_problems
from cmab_gym.versions import versions


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
    **overrides: Any,
) -> dict[str, Any]:
    """Train an agent and save it, for `make_agent(path)` and `cmab-gym run ENV --agents PATH`.

    Args:
        algorithm: "ppo" or "a2c".
        on: distribution of problems, "genre" or "bernoulli".
        path: the file to write; its name ends in .zip.
        steps: number of pulls in all episodes together, rounded up to whole rollouts.
        n_arms: K, for "bernoulli"; default 10. The trained agent plays any number of arms.
        horizon: rounds of an episode. The trained agent may play longer.
        seed: 0 or more; decides everything random.
        progress: called with the number of pulls since the last call.
        overrides: keyword arguments of the algorithm's class in stable-baselines3, which override
            those of `cmab_gym.agents.rl.settings`.

    Returns:
        The description in the file: algorithm, settings, distribution, seed, versions, time.

    Raises:
        ValueError: an argument is wrong, or the extra `rl` is not installed.
        KeyboardInterrupt: Ctrl-C was pressed; the agent so far is saved next to `path`, in a file
            that the error names.
    """
    name = checks.choice("algorithm", algorithm, TRAINING)
    problems = make_problems(on, n_arms)
    steps = checks.whole_number("steps", steps, 1)
    horizon = checks.whole_number("horizon", horizon, 1)
    seed = checks.whole_number("seed", seed, 0)
    path = _new_file(path)
    algorithm_class = getattr(stable_baselines3(), name.upper())
    check_names(algorithm_class, overrides, (*RESERVED, "policy_kwargs"))
    settings = {**TRAINING[name], **overrides}
    started, start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.perf_counter()
    model, interruption = _trained(
        algorithm_class, settings, problems, steps, horizon, seed, progress
    )
    path.parent.mkdir(parents=True, exist_ok=True)
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
    if interruption is not None:
        # Under another name, so that it does not replace an agent that was trained to the end.
        path = path.with_name(f"{path.stem}-interrupted.zip")
        write_model(path, model, {**description, "interrupted": True})
        what = f"the agent after {model.num_timesteps:,} rounds is in {path}"
        raise KeyboardInterrupt(what) from interruption
    write_model(path, model, description)
    return description


def n_pulls(algorithm: str, steps: int) -> int:
    """Return how many pulls `train` makes without overrides: steps, rounded up to whole rollouts.

    Args:
        algorithm: as for `train`.
        steps: as for `train`.

    Raises:
        ValueError: the algorithm is unknown.
    """
    rollout = TRAINING[checks.choice("algorithm", algorithm, TRAINING)]["n_steps"] * N_ENVS
    return int(-(-steps // rollout) * rollout)


def _trained(
    algorithm_class: Any,
    settings: dict[str, Any],
    problems: ProblemDistribution,
    steps: int,
    horizon: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> tuple[Any, KeyboardInterrupt | None]:
    """Return the model, and the interruption if there was one."""
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger

    from cmab_gym.agents.rl.arm_networks import ArmPolicy
    from cmab_gym.training.vec_env import ProblemVecEnv

    class Report(BaseCallback):
        def _on_step(self) -> bool:
            if progress is not None:
                progress(self.training_env.num_envs)
            return True

    env = ProblemVecEnv(problems, N_ENVS, horizon, np.random.default_rng(seed))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with more, rounding depends on the machine
    try:
        with GlobalRandomState(seed).in_use():
            model = algorithm_class(
                ArmPolicy, env, policy_kwargs={"width": WIDTH}, device="cpu", **settings
            )
            model.set_logger(Logger(None, []))
            try:
                model.learn(steps, Report(), log_interval=None)
            except KeyboardInterrupt as error:
                return model, error
    finally:
        torch.set_num_threads(threads)
    return model, None


def _new_file(name: str | Path) -> Path:
    """Check before the training that the file can be written.

    Raises:
        ValueError: the name does not end in .zip, or the folder is not writable.
    """
    path = Path(name)
    if path.suffix != ".zip" or path.is_dir():
        raise ValueError(f"path={str(name)!r}: expected a file name that ends in .zip")
    try:
        check_writable(path.parent)
    except OSError as error:
        raise ValueError(
            f"path={str(name)!r} cannot be written ({error}): choose a file in another folder"
        ) from error
    return path
