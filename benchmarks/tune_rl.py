"""Search for the settings of online RL agents in `agents/rl/settings.py`.

`python benchmarks/tune_rl.py PPO 40` evaluates 40 random choices from the table below, each on the
same 4 trials of the movie task, and prints a JSON line for each. The seed differs from that of the
table in docs/reinforcement-learning.md, so that no trial is used for both. The settings in use come
from this search, and from varying its best choices by hand.
"""

import json
import sys

import numpy as np

from cmab_gym.agents import rl
from cmab_gym.evaluation import evaluate

NET_ARCH = [[], [], [64]]
CHOICES = {
    "PPO": {
        "n_steps": [8, 16, 32, 64],
        "n_epochs": [2, 4, 8, 10],
        "learning_rate": [0.005, 0.01, 0.02, 0.05, 0.1],
        "ent_coef": [0.0, 0.001, 0.01],
        "clip_range": [0.2, 0.3, 0.4],
        "normalize_advantage": [True, True, False],
    },
    "A2C": {
        "n_steps": [2, 5, 10, 16, 20],
        "learning_rate": [0.003, 0.01, 0.02, 0.05, 0.1, 0.15],
        "ent_coef": [0.0, 0.001, 0.01],
        "normalize_advantage": [False, True],
        "use_rms_prop": [False, True],
    },
    "DQN": {
        "learning_rate": [0.001, 0.003, 0.005, 0.01, 0.03],
        "train_freq": [1, 2],
        "batch_size": [32, 128, 256],
        "learning_starts": [50, 200],
        "exploration_fraction": [0.02, 0.05, 0.1, 0.2],
        "exploration_final_eps": [0.0, 0.01, 0.02, 0.05],
    },
}
TUNING_SEED = 1000


def draw(name: str, rng: np.random.Generator) -> dict[str, object]:
    """Draw settings; no reward is discounted, and a batch of PPO is a whole rollout."""
    chosen = {key: _one(values, rng) for key, values in CHOICES[name].items()}
    fixed = {"gamma": 0.0, "policy_kwargs": {"net_arch": _one(NET_ARCH, rng)}}
    if name == "PPO":
        fixed["batch_size"] = chosen["n_steps"]
    if name == "DQN":
        fixed["buffer_size"] = 5000
    return {**fixed, **chosen}


def _one(values: list, rng: np.random.Generator) -> object:
    return values[int(rng.integers(len(values)))]


def main(name: str, n_choices: int, trials: int = 4, seed: int = 0) -> None:
    """Evaluate random settings and print the mean regret of each."""
    rng = np.random.default_rng(seed)
    for _ in range(n_choices):
        settings = draw(name, rng)
        agent = getattr(rl, name)(settings="default", **settings)
        results = evaluate(
            "CMAB-MovieLens-v0",
            {name: agent},
            trials=trials,
            seed=TUNING_SEED,
            env_kwargs={"task": "movie"},
        )
        regret = results.regret(name)[:, -1]
        found = {"regret": round(regret.mean(), 1), "worst": round(regret.max(), 1), **settings}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
