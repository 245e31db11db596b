"""Comparisons of agents: by hand, on planted differences, and on results of real runs."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from cmab_gym import Results, compare, evaluate
from cmab_gym.evaluation import AgentRun
from cmab_gym.evaluation.comparison import statistics
from cmab_gym.evaluation.comparison.compare import by_environment, results_in, what_differs
from cmab_gym.evaluation.tables import pairs_table

SIMULATED = 500


def results_of(seed=0, env_kwargs=None, **regret):
    """Results whose agents have these final regrets."""
    runs = [
        AgentRun(label, np.array([own], dtype=float).T, np.ones((len(own), 1), np.int64), 1.0)
        for label, own in regret.items()
    ]
    manifest = {"env_id": "E", "env_kwargs": env_kwargs or {}, "all_env_kwargs": env_kwargs or {}}
    return Results((10,), tuple(runs), {**manifest, "seed": seed})


def test_a_pair_by_hand():
    a, b = [10.0, 12, 14, 16, 18, 20, 22, 30], [21.0, 22, 25, 26, 20, 31, 33, 30]
    pair = compare(results_of(a=a, b=b)).pairs[0]
    assert (pair.first, pair.second, pair.trials) == ("a", "b", 8)
    assert pair.difference == np.mean(a) - np.mean(b)
    assert pair.ratio == pytest.approx(np.mean(a) / np.mean(b))
    assert pair.win_rate == 7.5 / 8  # seven wins and a tie
    # The 256 flips: 2 x 2 x (the tie's sign) are as far from 0 as the signs seen.
    assert pair.p == 4 / 256
    assert pair.better == "a"
    assert pair.low < pair.difference < pair.high < 0
    assert pair.ratio_low < pair.ratio < pair.ratio_high < 1
    sd = np.std(np.subtract(a, b), ddof=1)
    quantiles = stats.t.ppf(0.975, 7) + stats.t.ppf(0.8, 7)
    assert pair.detectable == pytest.approx(quantiles * sd / np.sqrt(8))
    words = f"a has {-pair.high:.1f} to {-pair.low:.1f} less regret than b; 8 trials can show"
    assert pair.sentence.startswith(words)


def test_the_table_and_the_sentence_round_in_the_same_way():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1, 1e3):
        pair = compare(results_of(a=rng.random(9) * scale, b=(9 + rng.random(9)) * scale)).pairs[0]
        low, high = pair.sentence.split()[2:5:2]  # a has 8.7 to 9.3 less regret than b; ...
        (row,) = pairs_table([pair]).rows
        assert row[2] == f"-{high} to -{low}"
        assert pair.sentence.endswith(f"9 trials can show a difference of {row[-1]}")


def test_the_interval_agrees_with_that_of_other_resamples_of_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.exponential(10, 40), rng.exponential(12, 40)
    found = compare(results_of(a=a, b=b), seed=1).pairs[0]
    expected = stats.bootstrap((a - b,), np.mean, n_resamples=20_000, random_state=rng)
    assert_allclose((found.low, found.high), expected.confidence_interval, atol=0.4)
    p = stats.permutation_test((a - b,), np.mean, permutation_type="samples", random_state=rng)
    assert found.p == pytest.approx(p.pvalue, abs=0.02)


def test_equal_agents_have_a_difference_of_exactly_0():
    own = [0.1, 0.7, 0.3, 12.5, 0.9, 4.4, 3.3]
    pair = compare(results_of(a=own, b=own)).pairs[0]
    assert (pair.difference, pair.low, pair.high, pair.detectable) == (0, 0, 0, 0)
    assert (pair.p, pair.win_rate) == (1, 0.5)
    assert (pair.ratio, pair.ratio_low, pair.ratio_high) == (1, 1, 1)
    assert pair.sentence == "a and b have equal regret in each of 7 trials"


def test_a_constant_difference_is_its_own_interval():
    own = np.arange(1.0, 11)
    pair = compare(results_of(a=own, b=own + 3)).pairs[0]
    assert (pair.difference, pair.low, pair.high, pair.p) == (-3, -3, -3, 2 / 2**10)
    assert pair.sentence == "a has 3.0 less regret than b; 10 trials can show a difference of 0"
    pair = compare(results_of(a=own, b=3 * own)).pairs[0]
    assert_allclose((pair.ratio, pair.ratio_low, pair.ratio_high), 1 / 3)


def test_regrets_of_0_have_no_ratio():
    pair = compare(results_of(a=[1.0] * 7, b=[0.0] * 7)).pairs[0]
    assert np.isnan([pair.ratio, pair.ratio_low, pair.ratio_high]).all()
    assert pair.better == "b"
    pair = compare(results_of(a=[1.0] * 7, b=[0.0] * 6 + [7.0])).pairs[0]
    assert pair.ratio == 1
    assert np.isnan(pair.ratio_high)


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_few_trials_show_nothing(trials):
    pair = compare(results_of(a=np.arange(trials) + 1.0, b=np.arange(trials) * 2 + 900.0)).pairs[0]
    assert pair.better is None
    assert pair.detectable == np.inf
    assert np.isnan(pair.low) == (trials == 1)
    assert pair.sentence.endswith("cannot show a difference; use at least 6")


@pytest.mark.parametrize("regret", [[0.0] * 6, [1e-300] * 6, [1e90] * 6, [0.1, 0.2] * 3])
def test_extreme_regrets_raise_no_warning(regret):
    compare(results_of(a=regret, b=[0.0, *regret[1:]], c=regret[::-1]), n_resamples=100)


def test_what_describes_an_agent_by_hand():
    table = compare(results_of(a=np.arange(20.0)[::-1], b=np.ones(20))).agents()
    row = table.iloc[0]
    assert list(table["agent"]) == ["a", "b"]
    assert (row["mean"], row["iqm"], row["50 %"], row["worst_tenth"]) == (9.5, 9.5, 9.5, 18.5)
    assert (row["5 %"], row["25 %"]) == pytest.approx((0.95, 4.75))
    skewed = statistics.describe(np.array([1.0, 1, 1, 1, 1, 1, 1, 93]))
    assert (skewed["mean"], skewed["iqm"], skewed["worst_tenth"]) == (12.5, 1, 93)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 30), st.booleans())
def test_swapping_two_agents_flips_all_signs(seed, trials, whole):
    a, b = np.random.default_rng(seed).exponential(10, (2, 1, trials))
    if whole:  # with ties
        a, b = np.ceil(a / 5), np.ceil(b / 5)
    one, other = (statistics.compare_paired(*pair, 0.05, 200, 0) for pair in ((a, b), (b, a)))
    for mine, theirs in (
        (one.difference, -other.difference),
        (one.low, -other.high),
        (one.p, other.p),
        (one.win_rate, 1 - other.win_rate),
        (one.ratio, 1 / other.ratio),
        (one.ratio_low, 1 / other.ratio_high),
        (one.detectable, other.detectable),
    ):
        assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def simulated(shift=0.0, agents=2, trials=20, seed=0):
    """Final regrets (agents, SIMULATED, trials) that share a part in each trial."""
    rng = np.random.default_rng(seed)
    shared = rng.exponential(30, (1, SIMULATED, trials))
    regret = 50 + shared + rng.normal(0, 5, (agents, SIMULATED, trials))
    regret[1:] += shift
    return regret


def shown(found, error):
    return (found.p <= error) & ((found.low > 0) | (found.high < 0))


def test_agents_of_one_law_differ_as_often_as_stated():
    """The intervals are those of 99 %: a right test of another seed fails once in 100."""
    found = statistics.compare_paired(*simulated(), 0.05, 399, 1)
    low, high = stats.binom.interval(0.99, SIMULATED, 0.05)
    assert low <= (found.p <= 0.05).sum() <= high
    assert shown(found, 0.05).sum() <= high
    # Of six pairs of four agents: the probability of any error.
    agents = simulated(agents=4, seed=1)
    first, second = np.triu_indices(4, 1)
    a, b = (agents[rows].reshape(-1, 20) for rows in (first, second))
    p = statistics.sign_flip_p(a - b, 999, 2).reshape(6, SIMULATED).T
    errors = (statistics.holm(p) <= 0.05).any(axis=1).sum()
    assert low / 2 <= errors <= high
    assert (p <= 0.05).any(axis=1).sum() > high  # without Holm's correction


def test_intervals_cover_the_difference_as_often_as_stated():
    found = statistics.compare_paired(*simulated(shift=2.0, trials=40), 0.05, 399, 3)
    covered = ((found.low <= -2) & (found.high >= -2)).mean()
    assert 0.91 <= covered <= 0.97  # a bootstrap of 40 trials covers a little less than 95 %


def test_a_difference_that_the_trials_can_show_is_shown_with_the_stated_power():
    trials, sd = 30, 5 * np.sqrt(2)
    quantiles = stats.t.ppf(0.975, trials - 1) + stats.t.ppf(0.8, trials - 1)
    shift = quantiles * sd / np.sqrt(trials)
    found = statistics.compare_paired(*simulated(shift, trials=trials), 0.05, 399, 4)
    assert_allclose(found.detectable.mean(), shift, rtol=0.02)
    low, high = stats.binom.interval(0.99, SIMULATED, statistics.POWER)
    assert low <= shown(found, 0.05).sum() <= high


def test_p_values_by_hand():
    all_lower = np.arange(1.0, 31)[np.newaxis]
    assert statistics.sign_flip_p(all_lower, 999, 0) == 1 / 1000  # only the signs seen
    assert statistics.sign_flip_p(all_lower[:, :7], 999, 0) == 2 / 2**7  # all flips
    # Sums in another order differ by rounding errors.
    assert statistics.sign_flip_p(np.array([[0.2, 0.6, 0.5, 0.7]]), 999, 0) == 2 / 16
    assert statistics.sign_flip_p(np.array([[1.0, 1, 1, -1]]), 999, 0) == 10 / 16


def test_holm_by_hand_on_the_last_axis():
    p = np.array([[0.01, 0.04, 0.03], [0.5, 0.4, 0.9], [0.02, 0.001, 0.02]])
    corrected = [[0.03, 0.06, 0.06], [1, 1, 1], [0.04, 0.003, 0.04]]
    assert_allclose(statistics.holm(p), corrected)


def test_all_pairs_are_corrected():
    regret = {name: np.random.default_rng(i).exponential(9, 30) for i, name in enumerate("abcd")}
    every = compare(results_of(**regret)).to_pandas()
    assert len(every) == 6
    pairs = [{name: regret[name] for name in pair} for pair in combinations("abcd", 2)]
    alone = [compare(results_of(**pair)).pairs[0] for pair in pairs]
    assert_allclose(every["p"], statistics.holm(np.array([pair.p for pair in alone])))
    alone = alone[0]
    assert every["low"][0] < alone.low < alone.high < every["high"][0]
    assert every["detectable"][0] > alone.detectable


def test_trials_pair_by_seed_and_index():
    a, b = [1.0, 2, 3, 4, 5, 6], [9.0, 8, 7, 6, 5, 4]
    together = compare([results_of(1, a=a, b=b), results_of(2, a=b, b=a[:4])])
    assert_array_equal(together.regret, [[*a, *b[:4]], [*b, *a[:4]]])
    assert together.notes == ("compared on the 10 trials that all agents have; some have 12",)
    apart = [results_of(2, b=a[:4]), results_of(1, a=a), results_of(2, a=b), results_of(1, b=b)]
    assert_array_equal(compare(apart).regret, together.regret[::-1])


def test_what_cannot_be_compared_is_refused():
    a = results_of(a=[1.0, 2])
    for wrong, message in (
        ([a], r"results of 1 agents \(a\)"),
        ([], "results of 0 agents"),
        ([a, results_of(1, b=[1.0, 2])], "a, b have no trial in common"),
        ([a, results_of(a=[1.0, 3], b=[1.0, 2])], "two different results for trial 1 of seed 0"),
        ([a, results_of(0, {"pad": 1}, b=[1.0, 2])], "that differ in their keyword arguments"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(wrong)
    four = results_of(**{name: [1.0, 2] for name in "abcd"})
    with pytest.raises(ValueError, match="n_resamples=119: expected at least 120 for 6 pairs"):
        compare(four, n_resamples=119)
    with pytest.raises(ValueError, match="n_resamples=5: expected an integer of at least 100"):
        compare(a, n_resamples=5)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"env_id": "F", "draws": "rounds"}, "environment"),
        ({"draws": "rounds"}, "draws"),
        ({"delay": 3}, "delay"),
        ({"rewards_every": 3}, "rewards_every"),
        ({"arm_names": ["a"]}, "arms"),
        ({"means": [1]}, "means"),
        ({"versions": {"cmab-gym": "1"}}, "version of cmab-gym"),
    ],
)
def test_other_rewards_are_another_environment(change, what):
    one = results_of(a=[1.0])
    other = replace(one, manifest={**one.manifest, **change})
    same = replace(one, manifest={**one.manifest, "seed": 5, "delay": 0, "n_jobs": 2})
    assert by_environment([one, other, same]) == [[one, same], [other]]
    assert what_differs(one, other) == what
    assert what_differs(one, replace(one, checkpoints=(20,))) == "rounds"


def test_an_agent_that_failed_is_named():
    results = results_of(a=[1.0, 2], b=[3.0, 4])
    failed = AgentRun.failed("c", "agent 'c' failed in trial 0")
    compared = compare(replace(results, runs=(*results.runs, failed)))
    assert compared.labels == ("a", "b")
    assert compared.notes == ("left out: agent 'c' failed in trial 0",)
    assert compared.notes[0] in str(compared)


def test_hostile_labels_stay_on_their_line():
    labels = [label for label in HOSTILE if label and "\ud800" not in label]
    lines = str(compare(results_of(**{label: [1.0] for label in labels}))).splitlines()
    n = len(labels)
    assert len(lines) == 2 + n + n * (n - 1) // 2


def test_a_title_is_plain_text():
    results = results_of(env_kwargs={"data": "a$b\n.csv"}, a=[1.0], b=[2.0])
    assert compare(results).title == "E (data=a$b .csv)"  # without what Matplotlib needs
    assert results.title == "E (data=a$b\n.csv)"


@pytest.mark.usefixtures("numpy_loops")
def test_results_of_runs_pair_with_loaded_ones(tmp_path):
    env_kwargs = {"pmf": np.array([[0.1, 0.6], [0.1, 0.2]])}
    both = evaluate("CMAB-Tabular-v0", ["ucb", "random"], 60, 8, env_kwargs=env_kwargs)
    first = evaluate("CMAB-Tabular-v0", ["ucb"], 60, 8, env_kwargs=env_kwargs)
    first.save(tmp_path / "sweep" / "task")
    alone = replace(both, runs=both.runs[1:])
    apart = compare([*results_in(tmp_path / "sweep"), alone])
    assert apart.pairs == compare(both).pairs
    assert apart.pairs[0].better == "ucb"
    assert apart.pairs[0].sentence in str(apart)
    with pytest.raises(FileNotFoundError, match=r"has no results\.parquet, and neither"):
        results_in(tmp_path / "elsewhere")
