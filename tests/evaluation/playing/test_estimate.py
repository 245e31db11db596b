"""What a batch will take, from a short run of it."""

import time

import pytest

from cmab_gym.agents.make import agent_factory
from cmab_gym.evaluation.playing.batch import Batch, find_environment
from cmab_gym.evaluation.playing.estimate import estimate

ROUNDS = 4000


class Steady:
    """Takes the same time for each round."""

    played = 0

    def reset(self, problem, rng):
        Steady.played = 0

    def act(self):
        Steady.played += 1
        time.sleep(0.001)
        return 0

    def update(self, arm, reward):
        pass


class Slows(Steady):
    """Takes twice as long from round 100."""

    def act(self):
        if self.played >= 100:
            time.sleep(0.001)
        return super().act()


class Fails(Steady):
    def act(self):
        raise KeyError("x")


def batch_of(agent, rounds=ROUNDS):
    spec = find_environment("CMAB-Tabular-v0", {})
    return Batch("mine", agent_factory(agent), range(1), spec, {}, (rounds,), 0)


@pytest.mark.parametrize(("agent", "each"), [(Steady, 0.001), (Slows, 0.002)])
def test_the_rounds_that_are_left_are_extrapolated(agent, each):
    found = estimate(batch_of(agent), seconds=0.4)
    assert Steady.played < ROUNDS / 4
    assert not found.failure
    # A sleep never takes less, and on a busy machine it takes longer.
    assert 0.8 * ROUNDS * each < found.seconds < 10 * ROUNDS * each


def test_a_run_that_ends_in_time_is_measured():
    found = estimate(batch_of(Steady, 20), seconds=60)
    assert Steady.played == 20
    assert 0.02 < found.seconds < 2
    assert len(found.run.regret) == 1


def test_what_only_the_first_agent_takes_is_start_up(monkeypatch):
    made, clock = [], time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + (1000 if made else 0))

    class Imports(Steady):
        """Takes 1000 seconds to make, but only for the first time."""

        def __init__(self):
            made.append(self)

    found = estimate(batch_of(Imports, 20), seconds=60)
    assert len(made) == 2
    assert 900 < found.start_up < 1100
    assert found.setup < 900


def test_a_failure_is_found():
    assert "KeyError: 'x'" in estimate(batch_of(Fails)).failure
