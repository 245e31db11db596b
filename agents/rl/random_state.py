"""The global random generators, lent to one learner at a time."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_numpy_random: Any = np.random  # its type stubs lack functions that it has
_lent = threading.Lock()  # the generators are the process's: two learners cannot have them at once


class GlobalRandomState:
    """A learner's own states of the global generators of Python, NumPy and torch.

    stable-baselines3 takes its random numbers from them. Each learner has its states put in their
    place while it runs, and the user's are put back: so neither sees the other's numbers.

    Args:
        seed: 0 or more, starts the learner's generators.
    """

    def __init__(self, seed: int) -> None:
        import torch

        self._python = random.Random(seed).getstate()  # noqa: S311
        self._numpy = np.random.MT19937(seed)
        self._torch = torch.Generator().manual_seed(seed).get_state()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Have this learner's states in place, and the user's again afterwards."""
        from torch import default_generator

        with _lent:
            python, torch = random.getstate(), default_generator.get_state()
            # NumPy's generator itself is exchanged, ten times faster than its state. It forgets
            # the second of a pair of normal numbers then, which only a whole state brings back.
            numpy = _numpy_random.get_bit_generator()
            pair = _numpy_random.get_state(legacy=False)
            try:
                random.setstate(self._python)
                _numpy_random.set_bit_generator(self._numpy)
                default_generator.set_state(self._torch)
                yield
            finally:
                self._python, self._torch = random.getstate(), default_generator.get_state()
                random.setstate(python)
                default_generator.set_state(torch)
                _numpy_random.set_bit_generator(numpy)
                if pair["has_gauss"]:
                    _numpy_random.set_state(pair)
