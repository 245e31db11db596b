"""When rewards arrive: some rounds late, or several together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from cmab_gym import checks
from cmab_gym.state import Stateful

Round = TypeVar("Round")


@dataclass(frozen=True)
class Arrivals:
    """When the reward of each round arrives.

    After every `rewards_every` rounds, all rewards arrive whose round was at least `delay` rounds
    ago. Those that would arrive after the end of an episode never do.

    Args:
        delay: rounds, 0 or more.
        rewards_every: rounds, 1 or more.

    Raises:
        ValueError: an argument is out of range.

    Examples:
        >>> queue = RoundQueue(Arrivals(rewards_every=3))
        >>> [queue.add(t) for t in range(1, 7)]
        [[], [], [1, 2, 3], [], [], [4, 5, 6]]
        >>> queue = RoundQueue(Arrivals(delay=2))
        >>> [queue.add(t) for t in range(1, 7)]
        [[], [], [1], [2], [3], [4]]
    """

    delay: int = 0
    rewards_every: int = 1

    def __post_init__(self) -> None:
        checks.whole_number("delay", self.delay, 0, "it is a number of rounds")
        checks.whole_number("rewards_every", self.rewards_every, 1, "it is a number of rounds")

    @property
    def at_once(self) -> bool:
        """Whether each reward arrives in its own round."""
        return self.delay == 0 and self.rewards_every == 1


class RoundQueue(Stateful, Generic[Round]):
    """The rounds of one episode whose rewards have not arrived.

    Args:
        arrivals: when they arrive.
    """

    _changing = ("_waiting", "_t")

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._waiting: deque[Round] = deque()
        self._t = 0

    def add(self, played: Round) -> list[Round]:
        """Add a round, and return the rounds whose rewards arrive now, at most `rewards_every`."""
        self._waiting.append(played)
        self._t += 1
        if self._t % self._arrivals.rewards_every:
            return []
        arrived = len(self._waiting) - self._arrivals.delay
        return [self._waiting.popleft() for _ in range(arrived)]
