"""The settings of the online agents, in one place.

Each is a keyword of the algorithm's class in stable-baselines3; what is not named here is left as
it is there. Chosen on `CMAB-MovieLens-v0` with task="movie" by trials that the README's table does
not use; `settings="default"` names none.

A bandit has one state, and its rewards come at once: so nothing is discounted or bootstrapped
(gamma 0), and a network without hidden layers, one number for each arm, can say all there is.
"""

from __future__ import annotations

from typing import Any

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

# Agents that are trained beforehand: many episodes at once, and networks of this width.
N_ENVS = 64
WIDTH = 16
TRAINING: dict[str, dict[str, Any]] = {
    "ppo": {
        "n_steps": 128,
        "batch_size": 2048,
        "n_epochs": 3,
        "learning_rate": 2e-3,
        "gamma": 0.998,
        "gae_lambda": 0.98,
        "ent_coef": 0.02,  # with less, a longer training learns to settle on an arm too early
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
