import numpy as np
import pytest

from cmab_gym.streams import RoundStream, TrialStreams, as_streams, environment_seed, trial_seed


def test_a_trial_has_the_same_numbers_alone_and_among_others():
    together = TrialStreams.for_trials(7, range(5))
    alone = TrialStreams.for_trials(7, range(3, 4))
    for _ in range(300):
        np.testing.assert_array_equal(together.uniform()[3:4], alone.uniform())
        np.testing.assert_array_equal(together.standard_normal(2)[3:4], alone.standard_normal(2))


def test_the_length_of_a_block_does_not_change_the_numbers():
    def rows(block):
        generators = [np.random.default_rng(seed) for seed in (1, 2)]

        def draw(rngs, rounds):
            return np.stack([rng.standard_normal((rounds, 3)) for rng in rngs], axis=1)

        stream = RoundStream(generators, draw, block)
        return np.array([stream.next().copy() for _ in range(50)])

    np.testing.assert_array_equal(rows(1), rows(7))


def test_trials_sides_and_kinds_of_numbers_have_different_streams():
    seeds = [
        trial_seed(0, trial, side).generate_state(2).tolist() for trial in (0, 1) for side in (0, 1)
    ]
    assert len({tuple(seed) for seed in seeds}) == 4
    streams = TrialStreams.for_trials(0, range(2))
    first = [rng.random() for rng in streams.generators]
    assert len({*first, *streams.uniform()}) == 4


def test_the_environment_seed_is_the_state_of_its_seed_sequence():
    words = trial_seed(3, 5, 0).generate_state(4)
    assert environment_seed(3, 5) == sum(int(w) << (32 * i) for i, w in enumerate(words))


def test_as_streams_accepts_a_seed_a_generator_or_as_many_streams_as_trials():
    assert len(as_streams(0, 4)) == 4
    first, again, other = (as_streams(np.random.default_rng(s), 3).uniform() for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert len({*first, *other}) == 6
    with pytest.raises(ValueError, match="2 streams: expected one for each of 3"):
        as_streams(TrialStreams.for_trials(0, range(2)), 3)
    with pytest.raises(ValueError, match="rng=-1: expected an integer"):
        as_streams(-1, 3)
