"""Temporary states of the global random generators, for one learner at a time."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_numpy_random: Any = np.random  # the type stubs lack some of its functions
_lock = threading.Lock()  # a process has one set of global generators


class GlobalRandomState:
    """A learner's own states of the global generators of Python, NumPy and torch.

    stable-baselines3 draws its random numbers from the global generators. They have the learner's
    states while it runs, and the user's states at all other times. So neither influences the
    other's numbers.

    Args:
        seed: 0 or more, seeds the learner's generators.
    """

    def __init__(self, seed: int) -> None:
        import torch

        self._python = random.Random(seed).getstate()  # noqa: S311
        self._numpy = np.random.MT19937(seed)
        self._torch = torch.Generator().manual_seed(seed).get_state()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Set the learner's states on entry, and the user's states again on exit."""
        from torch import default_generator

        with _lock:
            python, torch = random.getstate(), default_generator.get_state()
            # Exchanging NumPy's bit generator is ten times faster than exchanging its state, but
            # loses a cached normal number, which is restored below.
            numpy = _numpy_random.get_bit_generator()
            numpy_state = _numpy_random.get_state(legacy=False)
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
                if numpy_state["has_gauss"]:
                    _numpy_random.set_state(numpy_state)
