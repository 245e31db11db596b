"""The file that students begin with."""

from __future__ import annotations

from cmab_gym.grading.assignment import Assignment
from cmab_gym.grading.built_in import ASSIGNMENTS

_TEMPLATE = '''\
r"""{text}

Complete the class and submit this file. `problem` has n_arms, pseudo_rewards (K, K, R),
reward_support (R,), reward_bounds (low, high), reward_range (high - low) and horizon, the number of
rounds of a trial. NumPy is available; cmab_gym, files, processes and the network are not.
The class is called without arguments, once for each trial.
{trial}"""

import numpy as np


class Agent:
    def reset(self, problem, rng):
        """Forget everything and begin a trial; rng is a NumPy generator."""

    def act(self):
        """Return an arm, an integer from 0 to problem.n_arms - 1."""
        raise NotImplementedError

    def update(self, arm, reward):
        """Learn from the reward of the arm that was pulled."""
'''


def template(assignment: Assignment) -> str:
    """Return the source of a submission without its methods."""
    text = assignment.text.replace('"""', "'''").rstrip("\\ \n")
    name = assignment.name
    built_in = ASSIGNMENTS.get(name) is assignment  # students have no file of another one
    trial = f"\nTry it: cmab-gym grade this_file.py --assignment {name}\n" if built_in else ""
    return _TEMPLATE.format(text=text, trial=trial)
