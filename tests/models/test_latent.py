import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cmab_gym.envs.independent import independent_model
from cmab_gym.envs.latent import latent_model
from cmab_gym.models import LatentModel
from cmab_gym.models.latent_bounds import largest_over_intervals
from cmab_gym.models.presets import LATENT


def uniform(rng, size):
    return rng.uniform(0, 6, size)


def line(x):
    return 2 * x - 1


def parabola(x):
    return (3 - x) ** 2 - 1


def above(function):
    return lambda x: function(x) + 2


def math_only(x):
    return math.sin(x) - 9


TWO_ARMS = {"lower": (line, parabola), "upper": (above(line), above(parabola))}


def two_arm_pseudo_reward_21(r):
    low, high = np.maximum(0, (r - 1) / 2), np.minimum(6, (r + 1) / 2)
    return 1 + np.maximum((3 - low) ** 2, (3 - high) ** 2)


def two_arm_pseudo_reward_12(r):
    return 2 * np.minimum(6, 3 + np.sqrt(r + 1)) + 1


@pytest.mark.parametrize("bins", [7, 100, 1000])
def test_the_table_is_a_close_upper_bound(bins):
    problem = latent_model("two-arm-a", bins=bins).problem
    r = np.linspace(-1, 10, 2001)
    index = problem.reward_index(r)
    for table, exact in (
        (problem.pseudo_rewards[1, 0], two_arm_pseudo_reward_21(r)),
        (problem.pseudo_rewards[0, 1], two_arm_pseudo_reward_12(r)),
    ):
        slack = table[index] - exact
        assert slack.min() >= -1e-9
        # Where the slope is infinite (r = -1 of arm 2), a bin is loose by the root of its size.
        assert np.median(slack) < 40 / bins


@pytest.mark.parametrize("preset", LATENT)
def test_more_bins_only_tighten_the_table(preset):
    coarse = latent_model(preset, bins=50).problem.pseudo_rewards
    fine = latent_model(preset, bins=150).problem.pseudo_rewards
    own = np.arange(len(coarse))
    for third in range(3):
        difference = fine[:, :, third::3] - coarse
        difference[own, own] = 0  # the upper edges of the bins, checked below
        assert difference.max() <= 1e-9
    assert (fine[own, own] <= coarse[own, own].repeat(3, axis=1) + 1e-12).all()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-3, 3), min_size=6, max_size=6),
    st.floats(0.01, 2),
    st.integers(2, 40),
    st.integers(0, 2**32 - 1),
)
def test_no_draw_exceeds_the_table(coefficients, width, bins, seed):
    """For wavy bounds, no upper bound at a drawn X exceeds the pseudo-reward of the bin."""
    a, b, c, d, e, f = coefficients

    def first(x):
        return a * np.sin(3 * x + b) + c * x

    def second(x):
        return d * np.abs(x - e) + f * x**2

    model = LatentModel(
        stats.uniform(0, 1),
        (first, second),
        (lambda x: first(x) + width, lambda x: second(x) + width),
        bins=bins,
    )
    x = np.random.default_rng(seed).random(2000)
    rng = np.random.default_rng(seed + 1)
    table, problem = model.problem.pseudo_rewards, model.problem
    for k, (given_arm, other) in enumerate(((first, second), (second, first))):
        rewards = given_arm(x) + width * rng.random(x.size)
        bound = table[1 - k, k, problem.reward_index(np.clip(rewards, *problem.reward_bounds))]
        assert (other(x) + width <= bound + 1e-9).all()


def test_a_peak_between_the_grid_points_is_not_missed():
    peak = 1 / np.pi

    def tent(x):
        return -np.abs(x - peak)

    model = LatentModel(stats.uniform(0, 1), (tent, line), (tent, line), bins=5000)
    reward = np.array([line(peak)])
    assert model.problem.pseudo_rewards[0, 1, model.problem.reward_index(reward)[0]] >= 0
    assert model.problem.reward_bounds[1] == pytest.approx(line(1))


def test_a_reward_at_a_peak_between_the_grid_points_is_clipped_to_the_bounds():
    peak = 1 / np.pi

    def tent(x):
        return -np.abs(x - peak)

    high = max(tent(np.linspace(0, 1, 200_001)))
    assert high < 0
    model = LatentModel(
        lambda rng, size: np.full(size, peak), (tent, tent), (tent, tent), (0, 1), bins=10
    )
    rng = np.random.default_rng(0)
    assert model.problem.reward_bounds[1] == model.draw(rng, 3).max() == high
    assert model.draw_arm(0, [rng], 3).max() == high


def test_a_sampler_gives_the_model_of_its_distribution_up_to_noise():
    sampled = LatentModel(uniform, **TWO_ARMS, latent_range=(0, 6))
    exact = LatentModel(stats.uniform(0, 6), **TWO_ARMS)
    np.testing.assert_array_equal(sampled.problem.pseudo_rewards, exact.problem.pseudo_rewards)
    # A million draws of sd 3.5: 0.02 is more than five standard errors.
    np.testing.assert_allclose(sampled.means, exact.means, atol=0.02)
    np.testing.assert_allclose(exact.means, [6, 3], atol=1e-6)


def test_rewards_lie_between_the_bounds():
    model = latent_model("two-arm-a")
    rewards, index = model.pull(model.draw(np.random.default_rng(0), 20_000), np.array([[0, 1]]))
    edges = model.problem.reward_edges
    assert (edges[index] <= rewards).all()
    assert (rewards <= edges[index + 1]).all()
    # Five standard errors of the mean.
    assert np.abs(rewards.mean(axis=0) - model.means).max() < 5 * 4 / np.sqrt(20_000)


def test_soft_bounds_follow_the_formula_of_the_paper():
    hard, soft = latent_model("two-arm-a"), latent_model("two-arm-a", delta=0.1)
    off = ~np.eye(2, dtype=bool)
    expected = 0.81 * hard.problem.pseudo_rewards[off] + 0.19 * 13
    np.testing.assert_allclose(soft.problem.pseudo_rewards[off], expected)
    np.testing.assert_allclose(soft.means, hard.means)
    phi = soft.exact_expected_pseudo_rewards()[off]
    np.testing.assert_allclose(phi, 0.81 * hard.exact_expected_pseudo_rewards()[off] + 0.19 * 13)
    rewards, _ = soft.pull(soft.draw(np.random.default_rng(0), 20_000), np.array([[0, 1]]))
    assert np.abs(rewards.mean(axis=0) - soft.means).max() < 5 * 4 / np.sqrt(20_000)


def test_with_soft_bounds_some_rewards_belong_to_another_value_of_the_source():
    # Both arms show X or both the other value with probability .7^2 + .3^2; five standard errors.
    same = (lambda x: x, lambda x: 1 * x)
    model = LatentModel(stats.uniform(0, 1), same, same, bins=10, delta=0.3)
    rewards = model.draw(np.random.default_rng(0), 10_000)
    assert abs((rewards[:, 0] == rewards[:, 1]).mean() - 0.58) < 5 * 0.5 / 100


def test_soft_bounds_stay_upper_bounds_where_a_reward_is_rare():
    """The first arm is near 0 for most X, so a high reward tells that it belongs to another X."""

    def steep(x):
        return 1 / (1 + np.exp(-100 * (x - 0.85)))

    model = LatentModel(stats.uniform(0.8, 0.2), (steep, line), (steep, line), bins=100, delta=0.1)
    rewards, index = model.pull(model.draw(np.random.default_rng(0), 400_000), np.array([[0, 1]]))
    table = model.problem.pseudo_rewards
    for given_arm, other in ((0, 1), (1, 0)):
        count = np.bincount(index[:, given_arm], minlength=100)
        total = np.bincount(index[:, given_arm], rewards[:, other], minlength=100)
        often = count > 500
        margin = 5 * 0.5 / np.sqrt(count[often])  # at least five standard errors
        assert (total[often] / count[often] <= table[other, given_arm, often] + margin).all()
    assert (model.exact_expected_pseudo_rewards() >= model.means[:, None] - 1e-9).all()


def test_steps_and_kinks_do_not_widen_the_bounds():
    def step(x):
        return (x > 0.5).astype(float)

    model = LatentModel(stats.uniform(0, 1), (step, step), (step, step))
    assert model.problem.reward_bounds == (0, 1)

    def capped_at_half(x):
        return np.minimum(x, 0.5)

    bounds = (capped_at_half, capped_at_half)
    capped = LatentModel(stats.uniform(0, 1), bounds, bounds, reward_bounds=(0, 0.5))
    assert capped.problem.reward_bounds == (0, 0.5)


def test_the_source_may_be_discrete():
    def fair(x):
        return np.where(x < 2.5, 0.0, 1.0)

    model = LatentModel(stats.randint(0, 6), (fair, line), (fair, line))
    np.testing.assert_allclose(model.means, [0.5, 4], atol=1e-3)
    rewards, _ = model.pull(model.draw(np.random.default_rng(0), 1000), np.array([[0, 1]]))
    assert set(rewards[:, 0]) == {0, 1}


def test_bin_probabilities_are_a_distribution_with_about_the_right_mean():
    model = latent_model("two-arm-b", bins=200)
    np.testing.assert_allclose(model.reward_pmf.sum(axis=1), 1)
    middle = model.reward_pmf @ model.problem.reward_support
    np.testing.assert_allclose(middle, model.means, atol=14 / 200 / 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"latent": stats.norm()}, r"ranges over \(-inf, inf\): expected finite.*truncate"),
        ({"latent_range": (0, 1)}, r"latent_range=\(0.0, 1.0\): expected to hold .*\(0, 6\)"),
        ({"lower": math_only}, r"lower=.*expected a list of functions"),
        ({"lower": (math_only, parabola)}, r"bound of arm 0 fails on an array.*np.vectorize"),
        ({"latent": 3}, r"latent=3: expected a frozen scipy.stats distribution"),
        ({"latent": stats.beta}, r"latent=<.*>: expected a frozen scipy.stats distribution"),
        ({"reward_bounds": 3}, r"reward_bounds=3: expected a pair"),
        ({"latent": uniform}, r"is a sampler: expected latent_range"),
        ({"lower": (above(above(line)), parabola)}, r"lower bound 3 of arm 0 is above.*swap"),
        ({"lower": (np.log, parabola)}, r"bound of arm 0 is -inf at X = 0"),
        ({"lower": (line,)}, r"1 lower and 2 upper bound functions"),
        ({"lower": (np.ones_like,) * 2, "upper": (np.ones_like,) * 2}, r"expected low < high"),
        ({"bins": 0}, r"bins=0: expected an integer of at least 1"),
        ({"delta": 1.5}, r"delta=1.5: expected a number from 0 to 1"),
        ({"reward_bounds": (0, 5)}, r"expected to hold all rewards, from -1 to 13"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_wrong_input_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        LatentModel(**{"latent": stats.uniform(0, 6), **TWO_ARMS, **changes})


def test_a_draw_outside_the_declared_range_is_refused():
    with pytest.raises(ValueError, match=r"expected inside \(0, 1\); widen latent_range"):
        LatentModel(uniform, **TWO_ARMS, latent_range=(0, 1))


def test_a_preset_excludes_a_source_of_your_own():
    with pytest.raises(ValueError, match="expected one of them"):
        latent_model("two-arm-a", latent=uniform)
    with pytest.raises(ValueError, match="expected latent and upper"):
        latent_model(latent=uniform)
    with pytest.raises(ValueError, match="unknown preset ''"):
        latent_model("")
    with pytest.raises(ValueError, match="unknown preset 'two-arm-c'"):
        latent_model("two-arm-c")


def test_without_lower_bounds_rewards_are_functions_of_the_source():
    model = latent_model(latent=stats.uniform(0, 6), upper=(line, parabola))
    outcomes = model.draw(np.random.default_rng(0), 100)
    np.testing.assert_allclose(parabola((outcomes[:, 0] + 1) / 2), outcomes[:, 1])


@given(st.integers(1, 100), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=25, deadline=None)
def test_prepared_rewards_have_the_bins_that_the_problem_finds(bins, low, width):
    bounds = (low, low + width)
    ends = [lambda x: low + width * x / 6, lambda x: low + 0 * x]
    model = LatentModel(stats.uniform(0, 6), ends, ends, (0, 6), bounds, bins=bins)
    edges = model.problem.reward_edges
    near = np.concatenate([np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)])
    rewards = np.clip(near, *bounds)
    prepared = model.prepare(np.stack([rewards, rewards], axis=1))
    index = [model.pull_one(prepared, row, 1)[1] for row in range(rewards.size)]
    np.testing.assert_array_equal(index, model.problem.reward_index(rewards))


def test_rewards_that_x_decides_do_not_depend_on_the_identity_of_the_lists():
    functions = [line, parabola]
    one = LatentModel(stats.uniform(0, 6), functions, functions)
    two = LatentModel(stats.uniform(0, 6), [line, parabola], [line, parabola])
    drawn = one.draw(np.random.default_rng(0), 50)
    np.testing.assert_array_equal(drawn, two.draw(np.random.default_rng(0), 50))


def test_many_trials_have_the_same_draws_as_few():
    model = latent_model("two-arm-b")
    together = model.draw_trials([np.random.default_rng(seed) for seed in range(70)], 20)
    for seed in (0, 31, 32, 69):
        np.testing.assert_array_equal(
            together[:, seed], model.draw(np.random.default_rng(seed), 20)
        )


def test_bins_of_a_tiny_range_are_found():
    ends = [lambda x: 1e-300 * x, lambda x: 0 * x]
    model = LatentModel(stats.uniform(0, 6), ends, ends, (0, 6), (0.0, 6e-300), bins=100)
    outcomes = model.draw(np.random.default_rng(0), 50)
    prepared = model.prepare(outcomes)
    index = [model.pull_one(prepared, row, 0)[1] for row in range(50)]
    np.testing.assert_array_equal(index, model.problem.reward_index(outcomes[:, 0]))


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(-1, 30), st.integers(-5, 5)), max_size=40)
)
def test_largest_over_intervals_agrees_with_the_definition(intervals):
    first = np.array([f for f, _, _ in intervals], dtype=np.int64)
    last = np.array([f for _, f, _ in intervals], dtype=np.int64)
    values = np.array([v for _, _, v in intervals], dtype=float)
    got = largest_over_intervals(first, last, values, 31)
    for position in range(31):
        covering = [v for f, g, v in intervals if f <= position <= g]
        assert got[position] == max(covering, default=-np.inf)


@pytest.mark.parametrize("preset", ["two-arm-b", "three-arm-b"])
def test_the_cells_of_the_source_hold_the_rewards_of_a_draw(preset):
    """Some cell can give the rewards of all arms in a round, since one X has given them."""
    model = latent_model(preset)
    low, high = model.source_rewards()
    assert low.shape == (model.n_arms, 100)
    rewards = model.draw(np.random.default_rng(0), 300)[:, :, None]
    assert ((low - 1e-9 <= rewards) & (rewards <= high + 1e-9)).all(axis=1).any(axis=1).all()
    width = np.subtract(*model.problem.reward_bounds[::-1])
    assert (low >= model.problem.reward_bounds[0]).all()
    assert (high - low).min() < width / 4


def test_a_model_without_a_source_says_so():
    with pytest.raises(ValueError, match="do not come from a hidden source: expected an environm"):
        independent_model().source_rewards()
