"""Independent streams of random numbers, one a trial, read in lockstep one row a round.

`SeedSequence(seed)` has one child per trial, and that has two: the environment's and the agent's.
So a trial's numbers depend on nothing but the seed and the trial's number: not on how many trials
run together, on the number of workers, or on which other agents run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray

ENVIRONMENT, AGENT = 0, 1

# How many numbers a block of noise holds in all: large enough to hide the cost of one call per
# trial, small enough to stay in the cache.
_BLOCK_NUMBERS = 1 << 18


def trial_seed(seed: int, trial: int, side: int) -> SeedSequence:
    """Return the seed of one side (`ENVIRONMENT` or `AGENT`) of one trial."""
    return SeedSequence(seed, spawn_key=(trial, side))


def environment_seed(seed: int, trial: int) -> int:
    """Return the integer that starts a trial's reward stream: `env.reset(seed=...)` replays it."""
    checks.whole_number("seed", seed, 0)
    words = trial_seed(seed, trial, ENVIRONMENT).generate_state(4)
    return sum(int(word) << (32 * place) for place, word in enumerate(words))


class RoundStream:
    """One row per round from B generators, drawn in blocks of rounds.

    Args:
        generators: B generators, one per trial.
        draw: function of (generators, rounds) that returns an array (rounds, B, ...).
        block: how many rounds are drawn at a time.
    """

    def __init__(
        self,
        generators: Sequence[Generator],
        draw: Callable[[Sequence[Generator], int], AnyArray],
        block: int,
    ) -> None:
        self._generators = generators
        self._draw = draw
        self.block = block
        self._next = block
        self._rows: AnyArray = np.empty(0)

    def next(self) -> AnyArray:
        """Return the next round's row, (B, ...); it is a view, to be read only."""
        if self._next == self.block:
            self._draw_block()
        row: AnyArray = self._rows[self._next]
        self._next += 1
        return row

    def left(self) -> AnyArray:
        """Return the rows left in the block, (rounds, B, ...), at least one; they stay unread."""
        if self._next == self.block:
            self._draw_block()
        return self._rows[self._next :]

    def skip(self, rounds: int) -> None:
        """Pass over rows that `left` returned."""
        self._next += rounds

    def _draw_block(self) -> None:
        self._rows = np.empty(0)  # lest the last block be kept beside the next
        self._rows = self._draw(self._generators, self.block)
        self._next = 0


class TrialStreams:
    """The random numbers of an agent that plays B trials in lockstep.

    Args:
        seeds: B seeds, one per trial.
    """

    def __init__(self, seeds: Sequence[SeedSequence]) -> None:
        self._seeds = tuple(seeds)
        self._normals: dict[int, RoundStream] = {}

    @classmethod
    def for_trials(cls, seed: int, trials: range) -> TrialStreams:
        """Return the agents' streams of the given trials of an evaluation with this seed."""
        return cls([trial_seed(seed, trial, AGENT) for trial in trials])

    def __len__(self) -> int:
        return len(self._seeds)

    @cached_property
    def generators(self) -> tuple[Generator, ...]:
        """B generators, one per trial, apart from those behind the methods below."""
        return self._make(0)

    def uniform(self) -> FloatArray:
        """Return the next uniform number in [0, 1) of each trial, (B,)."""
        return self.uniforms.next()

    def standard_normal(self, size: int) -> FloatArray:
        """Return the next `size` standard normal numbers of each trial, (B, size)."""
        return self.standard_normals(size).next()

    @cached_property
    def uniforms(self) -> RoundStream:
        """The stream behind `uniform`."""
        return RoundStream(self._make(1), _uniform, self._rows(1))

    def standard_normals(self, size: int) -> RoundStream:
        """Return the stream behind `standard_normal`."""
        if size not in self._normals:
            draw = partial(_standard_normal, size=size)
            self._normals[size] = RoundStream(self._make(2, size), draw, self._rows(size))
        return self._normals[size]

    def _make(self, *key: int) -> tuple[Generator, ...]:
        return tuple(
            Generator(PCG64(SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))))
            for seed in self._seeds
        )

    def _rows(self, size: int) -> int:
        # The block's length does not change the numbers: a generator that is asked for n and then
        # for m numbers gives the same as one asked for n + m.
        return max(1, _BLOCK_NUMBERS // max(1, size * len(self._seeds)))


def _uniform(rngs: Sequence[Generator], rounds: int) -> FloatArray:
    return np.stack([rng.random(rounds) for rng in rngs], axis=1)


def _standard_normal(rngs: Sequence[Generator], rounds: int, size: int) -> FloatArray:
    # By trial in memory, each drawn in its place: they are too many to be copied.
    numbers = np.empty((len(rngs), rounds, size))
    for rng, own in zip(rngs, numbers, strict=True):
        rng.standard_normal(out=own)
    return numbers.swapaxes(0, 1)


def as_streams(rng: TrialStreams | Generator | int, trials: int) -> TrialStreams:
    """Return rng as the streams of `trials` trials.

    Args:
        rng: the streams; or an integer seed, or a generator that draws one for each trial.
        trials: how many trials there are.

    Raises:
        ValueError: rng is none of these, or the streams of another number of trials.
    """
    if isinstance(rng, Generator):
        drawn = rng.integers(0, 2**63, size=trials)
        return TrialStreams([SeedSequence(int(seed)) for seed in drawn])
    if isinstance(rng, TrialStreams):
        if len(rng) != trials:
            raise ValueError(f"rng holds {len(rng)} streams: expected one for each of {trials}")
        return rng
    seed = checks.whole_number("rng", rng, 0, "or pass a NumPy generator")
    return TrialStreams.for_trials(seed, range(trials))
