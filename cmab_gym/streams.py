"""Independent random numbers for every trial: by round, or by the n-th pull of an arm.

`SeedSequence(seed)` has one child per trial, and each child has two: one for the environment and
one for the agent. So the random numbers of a trial depend only on the seed and the trial: not on
how many trials run together, the number of workers, or which other agents run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray, UInt64Array
from cmab_gym.state import Stateful, check_names, restored, state_of

ENVIRONMENT, AGENT = 0, 1
# Key of an environment's generator: a child of its seed, so that a player who makes a generator
# from the same integer draws other numbers.
_OF_ENVIRONMENT = 0x636D6162
_OF_PROBLEM = 0x636D6163  # the same for the generator of a bandit that is drawn at random
# SplitMix64: Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators".
STEP, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
UNIT = 2.0**-53

# Large enough to hide the cost of one call per trial, small enough for the cache.
_NUMBERS_PER_BLOCK = 1 << 18

Draw: TypeAlias = Callable[[Sequence[Generator], int], AnyArray]


def trial_seed(seed: int, trial: int, side: int) -> SeedSequence:
    """Return the seed of one side (`ENVIRONMENT` or `AGENT`) of one trial."""
    return SeedSequence(seed, spawn_key=(trial, side))


def environment_seed(seed: int, trial: int) -> int:
    """Return the integer with which `env.reset(seed=...)` replays the rewards of a trial."""
    checks.whole_number("seed", seed, 0)
    words = trial_seed(seed, trial, ENVIRONMENT).generate_state(4)
    return sum(int(word) << (32 * i) for i, word in enumerate(words))


def environment_generator(seed: int | None) -> Generator:
    """Return the generator of an environment with a seed; None seeds it from the system."""
    return Generator(PCG64(SeedSequence(seed, spawn_key=(_OF_ENVIRONMENT,))))


def problem_generator(seed: int) -> Generator:
    """Return the generator with which a bandit itself is drawn, such as the means of its arms."""
    return Generator(PCG64(SeedSequence(seed, spawn_key=(_OF_PROBLEM,))))


def uniforms_at(keys: UInt64Array, n: IntArray) -> FloatArray:
    """Return the n-th uniform number of each key, computed without the numbers before.

    Args:
        keys: uint64, any shape; random, one for each stream.
        n: int64, the same shape, 0 or more.

    Returns:
        float64 in [0, 1), the same shape.

    Source: SplitMix64, whose n-th state is the key plus n + 1 times a constant.

    Examples:
        >>> keys = np.full(3, 1234567, dtype=np.uint64)
        >>> uniforms_at(keys, np.arange(3)).round(6)
        array([0.35008 , 0.173644, 0.532207])
    """
    z = keys + (n.astype(np.uint64) + np.uint64(1)) * np.uint64(STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    uniforms: FloatArray = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * UNIT
    return uniforms


class RoundStream(Stateful):
    """One row per round from B generators, drawn in blocks of rounds.

    Args:
        generators: B generators, one per trial.
        draw: function of (generators, rounds) that returns an array (rounds, B, ...).
        block: the number of rounds that are drawn at a time.
    """

    _changing = ("_generators", "_rows", "_next")

    def __init__(
        self,
        generators: Sequence[Generator],
        draw: Draw,
        block: int,
    ) -> None:
        self._generators = generators
        self._draw = draw
        self._block = block
        self._next = 0
        self._rows: AnyArray = np.empty(0)

    def next(self) -> AnyArray:
        """Return the row of the next round, (B, ...), as a view that must not be written to."""
        if self._next == len(self._rows):
            self._draw_block()
        row: AnyArray = self._rows[self._next]
        self._next += 1
        return row

    def _draw_block(self) -> None:
        self._rows = np.empty(0)  # so that two blocks are never in memory
        self._rows = self._draw(self._generators, self._block)
        self._next = 0


class TrialStreams:
    """The random numbers of an agent that plays B trials in lockstep.

    Args:
        seeds: B seeds, one per trial.
    """

    def __init__(self, seeds: Sequence[SeedSequence]) -> None:
        self._seeds = tuple(seeds)
        self._streams: dict[tuple[str, int], RoundStream] = {}

    @classmethod
    def for_trials(cls, seed: int, trials: range) -> TrialStreams:
        """Return the agent's streams for some trials of an evaluation with this seed."""
        return cls([trial_seed(seed, trial, AGENT) for trial in trials])

    def __len__(self) -> int:
        return len(self._seeds)

    @cached_property
    def generators(self) -> tuple[Generator, ...]:
        """B generators, one per trial, independent of the streams below."""
        return self._make(0)

    def uniform(self) -> FloatArray:
        """Return the next uniform number in [0, 1) of each trial, (B,)."""
        return self._stream("uniform", 1).next()

    def standard_normal(self, size: int) -> FloatArray:
        """Return the next `size` standard normal numbers of each trial, (B, size)."""
        return self._stream("standard_normal", size).next()

    def random(self, size: int) -> FloatArray:
        """Return the next `size` uniform numbers in [0, 1) of each trial, (B, size)."""
        return self._stream("random", size).next()

    def uniform_generators(self) -> tuple[Generator, ...]:
        """Return new generators of the numbers of `uniform`, from the first one."""
        return self._make(1)

    def normal_generators(self, size: int) -> tuple[Generator, ...]:
        """Return new generators of the numbers of `standard_normal`, from the first one."""
        return self._make(2, size)

    def state_dict(self) -> dict[str, Any]:
        """Return the state: see `Stateful.state_dict`."""
        used = vars(self).get("generators", ())  # made when they are first needed
        state: dict[str, Any] = state_of({"streams": self._streams, "generators": used})
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state: see `Stateful.load_state_dict`."""
        check_names(self, state, ["streams", "generators"])
        for (kind, size), own in state["streams"].items():
            self._stream(kind, size).load_state_dict(own)
        if state["generators"]:
            restored(self.generators, state["generators"])

    def _stream(self, kind: str, size: int) -> RoundStream:
        if (kind, size) not in self._streams:
            rngs, draw = self._source(kind, size)
            self._streams[kind, size] = RoundStream(rngs, draw, self._rows(size))
        return self._streams[kind, size]

    def _source(self, kind: str, size: int) -> tuple[tuple[Generator, ...], Draw]:
        if kind == "uniform":
            return self.uniform_generators(), _uniform
        if kind == "standard_normal":
            return self.normal_generators(size), partial(_standard_normal, size=size)
        return self._make(3, size), partial(_random, size=size)

    def _make(self, *key: int) -> tuple[Generator, ...]:
        return tuple(
            Generator(PCG64(SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))))
            for seed in self._seeds
        )

    def _rows(self, size: int) -> int:
        # The length of a block does not change the numbers: drawing n numbers and then m gives the
        # same numbers as drawing n + m.
        return max(1, _NUMBERS_PER_BLOCK // max(1, size * len(self._seeds)))


def uniforms(rngs: Sequence[Generator], rounds: int) -> FloatArray:
    """Draw a uniform number in [0, 1) for each round from each of B generators, (B, rounds)."""
    return np.stack([rng.random(rounds) for rng in rngs])


def standard_normals(rngs: Sequence[Generator], rounds: int, size: int) -> FloatArray:
    """Draw `size` standard normal numbers for each round from each of B generators.

    Returns:
        float64 (B, rounds, size).
    """
    return _filled([rng.standard_normal for rng in rngs], rounds, size)


def _uniform(rngs: Sequence[Generator], rounds: int) -> FloatArray:
    return np.ascontiguousarray(uniforms(rngs, rounds).T)


def _standard_normal(rngs: Sequence[Generator], rounds: int, size: int) -> FloatArray:
    return standard_normals(rngs, rounds, size).swapaxes(0, 1)


def _random(rngs: Sequence[Generator], rounds: int, size: int) -> FloatArray:
    return _filled([rng.random for rng in rngs], rounds, size).swapaxes(0, 1)


def _filled(draws: Sequence[Callable[..., FloatArray]], rounds: int, size: int) -> FloatArray:
    """Return numbers drawn by each of B functions, float64 (B, rounds, size)."""
    # Drawn in place, trial by trial, to avoid a copy of a large array.
    numbers = np.empty((len(draws), rounds, size))
    for draw, own in zip(draws, numbers, strict=True):
        draw(out=own)
    return numbers


def as_streams(rng: TrialStreams | Generator | int, trials: int) -> TrialStreams:
    """Return the streams of B trials, from a seed, a generator, or streams.

    Args:
        rng: streams; or an integer seed; or a generator that draws one seed for each trial.
        trials: the number of trials, B.

    Raises:
        ValueError: `rng` is of another type, or holds streams of another number of trials.
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
