"""Rendering: tables, pictures and windows."""

import copy
import io
import pickle
import sys

import gymnasium as gym
import numpy as np
import pytest
from bandits import IDS, NEEDS
from gymnasium.utils.env_checker import check_env
from hostile import HOSTILE
from numpy.testing import assert_array_equal

from cmab_gym.envs import rendering
from cmab_gym.envs.picture import Picture
from cmab_gym.envs.rendering import Screen
from cmab_gym.envs.scene import intervals
from cmab_gym.models import HistogramModel
from cmab_gym.problem import BanditProblem
from cmab_gym.text import display_width, shown


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    """Use an invisible window, and do not wait between frames."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(rendering.time, "sleep", lambda seconds: None)


@pytest.mark.parametrize("env_id", IDS)
def test_check_env_accepts_every_render_mode(env_id):
    env = gym.make(env_id, horizon=7, **NEEDS.get(env_id, {})).unwrapped
    assert env.metadata == {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 30}
    check_env(env)  # makes an environment with each render mode


def test_the_table_is_as_computed_by_hand():
    env = gym.make("CMAB-Tabular-v0", horizon=1000, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == (
        "round 0 of 1,000    regret 0.0    competitive 2 of 2 arms\n"
        "  arm     pulls      mean      95 % interval  competitive\n"
        "  arm 0       0         -    0.000 to    1.000  yes\n"
        "  arm 1       0         -    0.000 to    1.000  yes\n"
    )
    rewards = np.array([[env.step(arm)[1] for arm in (0, 1, 1)] for _ in range(10)])
    mean, other_mean = rewards[:, 0].mean(), rewards[:, 1:].mean()
    radius = [np.sqrt(np.log(2 / 0.05) / (2 * pulls)) for pulls in (10, 20)]
    # s10(r) is 0.7 for r = 0 and 0.4 for r = 1; s01(r) is 0.8 and 0.5. Only arm 1 has t/2 pulls.
    n_competitive = 1 + (0.8 - 0.3 * other_mean >= other_mean)
    lines = env.render().splitlines()
    assert lines[0] == f"round 30 of 1,000    regret 4.0    competitive {n_competitive} of 2 arms"
    assert lines[2].split() == (
        f"arm 0 10 {mean:.3f} {max(mean - radius[0], 0):.3f} to {min(mean + radius[0], 1):.3f} "
        f"{'yes' if n_competitive == 2 else 'no'}".split()
    )
    assert lines[3].split() == (
        f"> arm 1 20 {other_mean:.3f} {max(other_mean - radius[1], 0):.3f} to "
        f"{min(other_mean + radius[1], 1):.3f} yes".split()
    )


def test_intervals_contain_the_mean_in_95_percent_of_all_trials():
    # With coverage 95 %, less than 93.5 % of 2000 trials has a probability below 0.2 %.
    rng = np.random.default_rng(0)
    pulls = rng.integers(1, 200, 2000)
    means = rng.binomial(pulls, 0.5) / pulls * 4 + 1
    low, high = intervals(pulls, means, (1, 5), 4)
    assert ((low <= 3) & (high >= 3)).mean() > 0.935
    assert (low >= 1).all()
    assert (high <= 5).all()
    assert_array_equal(intervals(np.zeros(1, int), np.zeros(1), (1, 5), 4), [[1], [5]])


def test_a_picture_shows_nothing_of_earlier_scenes():
    model = gym.make("CMAB-MovieLens-v0").unwrapped.model
    screen, rng = Screen(model, 200, 2), np.random.default_rng(0)
    picture = Picture(screen.scene(0))
    for t in range(25):
        arms = rng.integers(0, model.n_arms, 2)
        rewards = model.pull(model.draw(rng, 2), arms[:, None])[0][:, 0]
        screen.update(arms, rewards)
        if t % 12 == 0:
            one, other = (picture.draw(screen.scene(trial)) for trial in (0, 1))
            assert_array_equal(one, Picture(screen.scene(0)).draw(screen.scene(0)))
            assert (one != other).any()
    assert one.dtype == np.uint8
    assert one.shape[2] == 3
    assert one.shape[0] % 2 == one.shape[1] % 2 == 0  # video encoders need even sizes
    screen.begin()
    assert_array_equal(
        picture.draw(screen.scene(0)), Picture(screen.scene(0)).draw(screen.scene(0))
    )


def test_the_bar_of_an_arm_with_few_pulls_is_paler():
    screen = Screen(gym.make("CMAB-Tabular-v0").unwrapped.model, 500)
    for arm, reward in [(1, 1.0)] + [(0, 1.0), (0, 0.0)] * 200:
        screen.update(np.array([arm]), np.array([reward]))
    picture = Picture(screen.scene(0)).draw(screen.scene(0)).astype(int)
    rows = picture[[72, 116], 240:880].sum(axis=2)  # through the middle of each arm
    ink = (rows < 200).sum(axis=1)
    assert ink[0] < 120  # the interval of 400 pulls
    assert ink[1] > 600  # that of one pull is the whole scale
    bars = picture[[80, 124], 250].sum(axis=1)
    assert bars[1] > bars[0] + 100  # pale


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])  # noqa: S301
def test_a_copy_renders_the_same(clone):
    env = gym.make("CMAB-Latent-v0", render_mode="rgb_array")
    env.reset(seed=0)
    env.step(1)
    env.render()
    other = clone(env)
    env.step(0)
    other.step(0)
    assert_array_equal(env.render(), other.render())


def test_a_window_opens_closes_and_opens_again():
    import pygame

    env = gym.make("CMAB-Tabular-v0", render_mode="human")
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    window = pygame.display.get_surface()
    assert window.get_size()[0] == 960
    column = np.array([window.get_at((300, y))[:3] for y in range(window.get_size()[1])])
    pale_blue = (210, 228, 240)  # of a bar after one pull
    assert (np.abs(column - pale_blue) <= 1).all(axis=1).any()
    env.close()
    assert pygame.display.get_surface() is None
    env.close()
    env.reset(seed=0)
    assert pygame.display.get_surface() is not None
    env.close()


def test_without_a_display_the_table_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(rendering, "pygame_with_a_display", lambda: None)
    env = gym.make("CMAB-Tabular-v0", render_mode="human")
    env.reset(seed=0)
    env.step(0)
    assert "round 1 of 5,000" in capsys.readouterr().out
    check_env(env.unwrapped)
    env.close()


def test_a_window_needs_a_display(monkeypatch):
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    pygame = rendering.pygame_with_a_display()
    assert pygame is None or pygame.display.get_driver() != "offscreen"
    monkeypatch.setitem(__import__("sys").modules, "pygame", None)
    assert rendering.pygame_with_a_display() is None


def test_without_a_render_mode_nothing_is_recorded(monkeypatch):
    for method in ("begin", "update"):
        monkeypatch.setattr(Screen, method, lambda *_: pytest.fail("recorded for a screen"))
    env = gym.make("CMAB-Tabular-v0")
    env.reset(seed=0)
    env.step(0)
    envs = gym.make_vec("CMAB-Tabular-v0", num_envs=2)
    envs.reset(seed=0)
    envs.step(np.array([0, 1]))


def test_a_missing_render_mode_is_a_warning_and_a_wrong_one_an_error():
    env = gym.make("CMAB-Tabular-v0").unwrapped
    env.reset(seed=0)
    with pytest.warns(UserWarning, match=r"without a render mode: expected one of .*'rgb_array'"):
        assert env.render() is None
    with (
        pytest.warns(UserWarning, match="not in the possible"),
        pytest.raises(ValueError, match="unknown render_mode 'rgb'"),
    ):
        gym.make("CMAB-Tabular-v0", render_mode="rgb")
    with pytest.raises(ValueError, match=r"unknown render_mode 'human'.*ansi, rgb_array"):
        gym.make_vec("CMAB-Tabular-v0", render_mode="human")


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_native_and_sync_vector_environments_render_the_same(mode):
    env_kwargs = {"num_envs": 2, "horizon": 3, "render_mode": mode}
    native = gym.make_vec("CMAB-MovieLens-v0", **env_kwargs)
    sync = gym.make_vec("CMAB-MovieLens-v0", vectorization_mode="sync", **env_kwargs)
    native.reset(seed=0)
    sync.reset(seed=0)
    for t in range(5):
        native.step(np.array([t, 3]))
        sync.step(np.array([t, 3]))
        for one, other in zip(native.render(), sync.render(), strict=True):
            assert_array_equal(one, other)


def test_render_mode_ansi_list_collects_the_tables():
    env = gym.make("CMAB-Tabular-v0", render_mode="ansi_list")
    env.reset(seed=0)
    env.step(0)
    assert [frame.split("    ")[0] for frame in env.render()] == [
        "round 0 of 5,000",
        "round 1 of 5,000",
    ]


def test_a_picture_of_hundreds_of_arms_has_a_limited_height():
    table = np.full((300, 300, 2), 1.0)
    table[np.arange(300), np.arange(300)] = [0, 1]
    model = HistogramModel(np.ones((300, 2)), BanditProblem(table, np.array([0.0, 1]), (0, 1)))
    assert Screen(model, 10).frame(0, "rgb_array").shape[0] < 1100


@pytest.fixture
def hostile_model():
    """A bandit with one arm for each hostile name."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, (len(HOSTILE), 3))
    problem = BanditProblem(np.full((*counts.shape[:1] * 2, 3), 3.0), (1.0, 2.0, 3.0), (1.0, 3.0))
    return HistogramModel(counts, problem, HOSTILE, "$x$\n\x1b" + "u" * 500)


def test_hostile_names_are_text_in_the_table_and_the_window(hostile_model, monkeypatch):
    screen = Screen(hostile_model, 100)
    lines = screen.frame(0, "ansi").split("\n")
    for line in lines:
        assert shown(line).strip("\u200e") == line.strip("\u200e")
    assert len({display_width(line) for line in lines[2:-1]}) == 1  # the columns are aligned
    monkeypatch.setattr(rendering, "pygame_with_a_display", lambda: None)
    for encoding in ("ascii", "cp1252"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            screen.show(0, 30)
        assert len(stream.buffer.getvalue().decode(encoding).splitlines()) == len(lines)


def test_hostile_names_are_drawn_in_the_picture(hostile_model):
    # Warnings, such as those of missing glyphs, are errors in the tests.
    assert Screen(hostile_model, 100).frame(0, "rgb_array").shape[1:] == (960, 3)
