"""The settings of the RL agents: keyword arguments of the algorithms in stable-baselines3.

Arguments that are not listed keep stable-baselines3's defaults; `settings="default"` keeps all of
them. The tuned values were found on `CMAB-MovieLens-v0` with task="movie", with other trials than
those of the table in docs/reinforcement-learning.md.

A bandit has one state and immediate rewards. So nothing is discounted or bootstrapped (gamma 0),
and a network without hidden layers, with one output for each arm, is enough.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from cmab_gym import checks

# Arguments that this package sets itself.
RESERVED = ("policy", "env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model")

LINEAR: dict[str, Any] = {"net_arch": []}  # no hidden layer

TUNED: dict[str, dict[str, Any]] = {
    "PPO": {
        "policy_kwargs": LINEAR,
        "gamma": 0.0,
        "n_steps": 32,
        "batch_size": 32,
        "learning_rate": 0.05,
        "clip_range": 0.3,
    },
    "A2C": {
        "policy_kwargs": LINEAR,
        "gamma": 0.0,
        "n_steps": 16,
        "learning_rate": 0.15,
        "ent_coef": 0.01,
        "normalize_advantage": True,
        "use_rms_prop": False,
    },
    "DQN": {
        "policy_kwargs": LINEAR,
        "gamma": 0.0,
        "learning_starts": 50,
        "train_freq": 1,
        "batch_size": 256,
        "learning_rate": 0.005,
        "buffer_size": 5000,
        "exploration_fraction": 0.1,
        "exploration_final_eps": 0.02,
    },
}

# For agents that are trained before they play.
N_ENVS = 64  # episodes in lockstep
WIDTH = 16  # of the networks' hidden layers
TRAINING: dict[str, dict[str, Any]] = {
    "ppo": {
        "n_steps": 128,
        "batch_size": 2048,
        "n_epochs": 3,
        "learning_rate": 2e-3,
        "gamma": 0.998,
        "gae_lambda": 0.98,
        "ent_coef": 0.02,  # with less, long training leads to agents that settle too early
    },
    "a2c": {
        "n_steps": 32,
        "learning_rate": 2e-3,
        "gamma": 0.998,
        "gae_lambda": 0.98,
        "ent_coef": 0.02,
        "use_rms_prop": False,
        "normalize_advantage": True,
    },
}


def check_names(
    algorithm_class: Any, names: Iterable[str], reserved: tuple[str, ...] = RESERVED
) -> None:
    """Check that an algorithm of stable-baselines3 has settings of these names.

    Raises:
        ValueError: a name is unknown, or reserved.
    """
    known = [name for name in inspect.signature(algorithm_class).parameters if name not in reserved]
    for name in names:
        if name not in known:
            where = f"of {algorithm_class.__name__}"
            raise ValueError(checks.unknown("setting", name, known, where=where))
