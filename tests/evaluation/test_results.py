import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from waiting import LIMIT

from cmab_gym.evaluation import AgentRun, Results, evaluate, plot_regret
from cmab_gym.evaluation.plot import _drawn_labels
from cmab_gym.files import write_csv, write_whole
from cmab_gym.text import display_width
from cmab_gym.theory import LowerBound


@pytest.fixture(scope="module")
def results():
    return evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb", "random"], 200, 12, seed=1)


def test_the_summary_by_hand():
    runs = (
        AgentRun(
            "a", np.array([[1.0, 2], [2, 4], [2, 6]]), np.array([[1, 2], [1, 3], [2, 4]]), 0.5
        ),
    )
    row = Results((5, 10), runs, {}).summary().iloc[0]
    assert row["regret"] == 4
    assert row["sd"] == 2
    low, high = stats.t.interval(0.95, 2, 4, 2 / np.sqrt(3))
    assert_allclose([row["low"], row["high"]], [low, high])
    assert row["best_arm_share"] == pytest.approx(0.3)
    assert row["rounds_per_second"] == 60


def test_what_is_saved_can_be_read_without_the_package(results, tmp_path):
    folder = results.save(tmp_path / "new" / "folder")
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "results.parquet"]
    frame = pd.read_parquet(folder / "results.parquet")
    assert set(frame["agent"]) == {"ucb", "c-ucb", "random"}
    assert len(frame) == 3 * 12 * 100
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["env_id"] == "CMAB-Tabular-v0"
    assert (manifest["rounds"], manifest["trials"], manifest["seed"]) == (200, 12, 1)
    assert {"cmab-gym", "gymnasium", "numpy", "python"} <= set(manifest["versions"])
    assert set(manifest["agent_seconds"]) == {"ucb", "c-ucb", "random"}


def test_what_is_loaded_is_what_was_saved(results, tmp_path):
    read = Results.load(results.save(tmp_path))
    assert read.checkpoints == results.checkpoints
    for mine, theirs in zip(results.runs, read.runs, strict=True):
        assert mine.label == theirs.label
        assert_array_equal(mine.regret, theirs.regret)
        assert_array_equal(mine.best_arm_pulls, theirs.best_arm_pulls)
    assert read.manifest["seed"] == 1
    with pytest.raises(FileNotFoundError, match=r"has no results.parquet"):
        Results.load(tmp_path / "elsewhere")
    results.to_pandas().to_parquet(tmp_path / "results.parquet")
    with pytest.raises(ValueError, match=r"expected a table of Results\.save"):
        Results.load(tmp_path)


def test_no_damaged_byte_of_a_table_is_read(tmp_path):
    saved = evaluate("CMAB-Tabular-v0", ["ucb"], 30, 2, checkpoints=3).save(tmp_path)
    path = saved / "results.parquet"
    whole, numbers = path.read_bytes(), Results.load(saved).regret("ucb")
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(ValueError):
            # Some bytes say nothing, such as the name of the library that wrote the file.
            assert_array_equal(Results.load(saved).regret("ucb"), numbers)


# Saves the run in `new` over a copy of the one in `old`, again and again, each time in a process
# that is killed (or finds the disk full) one system call later than the time before.
SAVE_AND_DIE = """
import contextlib, errno, os, resource, shutil, signal, sys
from pathlib import Path
from cmab_gym import Results

base = Path(sys.argv[1])
new, target = Results.load(base / "new"), base / "target"


def saved_in_process(how, count):
    child = os.fork()
    if child > 0:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    left = count

    def look(event, arguments):
        nonlocal left
        if event in ("open", "os.rename", "os.remove") and str(target) in str(arguments[0]):
            left -= 1
            if left == 0 and how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")

    if how == "ulimit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (500 * count, 500 * count))
    else:
        sys.addaudithook(look)
    with contextlib.suppress(OSError):
        new.save(target)
        os._exit(0)
    os._exit(1)


for how in ("kill", "full", "ulimit"):
    for count in range(1, 100):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(base / "old", target)
        done = saved_in_process(how, count)
        shape = Results.load(target).regret("ucb").shape
        assert shape in ((2, 3), (4, 5)), shape
        is_new = shape == (2, 3)
        assert not (is_new and (target / "regret.png").exists())
        assert how == "kill" or not list(target.glob(".*"))
        print(how, is_new, done)
        if done:
            break
"""


def test_at_every_moment_a_run_can_be_loaded_whole(tmp_path):
    for name, trials, checkpoints in (("old", 4, 5), ("new", 2, 3)):
        run = evaluate("CMAB-Tabular-v0", ["ucb"], 30, trials, checkpoints=checkpoints)
        run.save(tmp_path / name)
    (tmp_path / "old" / "regret.png").touch()
    command = [sys.executable, "-W", "ignore", "-c", SAVE_AND_DIE, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    outcomes = [line.split() for line in done.stdout.splitlines()]
    for how in ("kill", "full", "ulimit"):
        own = [outcome for name, *outcome in outcomes if name == how]
        assert own[0] == ["False", "False"]  # the old run is there, and an error was raised
        assert own[-1] == ["True", "True"]


def test_pictures_of_an_earlier_run_are_deleted(results, tmp_path):
    for name in ("regret.png", "regret.svg", "mine.png"):
        (tmp_path / name).touch()
    results.save(tmp_path)
    results.save(tmp_path)  # the same run
    assert (tmp_path / "regret.png").exists()
    evaluate("CMAB-Tabular-v0", ["ucb"], 30, 2).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest.json",
        "mine.png",
        "results.parquet",
    ]


def test_failures_survive_saving(tmp_path):
    nothing = np.empty((0, 0))
    runs = (
        AgentRun("bad", nothing, nothing.astype(int), 0.1, "agent 'bad', trial 3, round 9: no"),
    )
    read = Results.load(Results((10,), runs, {"env_id": "x"}).save(tmp_path))
    assert read.failures == {"bad": "agent 'bad', trial 3, round 9: no"}
    assert read.to_pandas().empty


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")

    def fails(part):
        part.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match=rf"{target} could not be written \(disk full\)"):
        write_whole(target, fails)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileNotFoundError, match="none/file could not be written"):
        write_whole(tmp_path / "none" / "file", fails_to_open)


def fails_to_open(part):
    part.write_text("")


def test_temporary_files_of_killed_processes_are_deleted_later(tmp_path):
    target, left = tmp_path / "file", tmp_path / ".file.1-ab.partial"
    for age, stays in ((60, True), (7200, False)):
        left.touch()
        os.utime(left, (time.time() - age,) * 2)
        write_whole(target, fails_to_open)
        assert left.exists() == stays


def test_text_that_looks_like_a_formula_gets_an_apostrophe(tmp_path):
    frame = pd.DataFrame({"agent": ["=1+1", "@x", "-x", "c-ucb"], "regret": [-1.5, 0, 1, 2]})
    write_csv(tmp_path / "x.csv", frame)
    lines = (tmp_path / "x.csv").read_text().split()
    assert lines == ["agent,regret", "'=1+1,-1.5", "'@x,0.0", "'-x,1.0", "c-ucb,2.0"]


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_plot_is_written(results, tmp_path, kind):
    path = plot_regret(results, tmp_path / f"regret.{kind}")
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if kind == "png" else b"svg" in start or b"xml" in start
    assert list(tmp_path.iterdir()) == [path]


def test_a_plot_has_names_units_and_a_band_and_can_be_read_without_colour(results):
    from matplotlib.figure import Figure

    from cmab_gym.evaluation.plot import draw_regret

    axes = Figure().add_subplot()
    draw_regret(axes, results)
    assert axes.get_xlabel() == "round"
    assert axes.get_ylabel() == "cumulative regret (reward)"
    looks = {(str(line.get_linestyle()), line.get_marker()) for line in axes.get_lines()}
    assert len(looks) == 3
    assert len(axes.collections) == 3  # one band each
    ucb = axes.get_lines()[0].get_ydata()
    assert_allclose(ucb[1:], results.regret("ucb").mean(axis=0))
    texts = [text.get_text() for text in axes.texts]
    assert any(text.startswith("ucb ") for text in texts)
    heights = sorted(text.xy[1] for text in axes.texts)
    assert np.diff(heights).min() > 0.04 * axes.get_ylim()[1]


def test_values_from_elsewhere_are_hollow_marks_in_the_colour_of_their_agent(results):
    from matplotlib.figure import Figure

    from cmab_gym.evaluation.plot import Marks, draw_regret

    plain, axes = Figure().add_subplot(), Figure().add_subplot()
    draw_regret(plain, results)
    draw_regret(axes, results, marks=Marks(40, {"c-ucb": 7.5, "unknown": 1.0}, "published"))
    curves = {line.get_label().strip(): line for line in plain.get_lines()}
    mark, sample = axes.get_lines()[len(curves) :]
    assert mark.get_xydata().tolist() == [[40, 7.5]]
    assert mark.get_markerfacecolor() == "none"
    assert mark.get_markeredgecolor() == curves["c-ucb"].get_color()
    assert mark.get_marker() == curves["c-ucb"].get_marker()
    assert (sample.get_label(), len(sample.get_xdata())) == (" published", 0)


def test_a_lower_bound_is_a_thin_line_named_by_its_constant(results, tmp_path):
    from matplotlib.figure import Figure

    from cmab_gym.evaluation.plot import draw_regret

    bound = LowerBound(4.966, np.zeros(2))
    plain, axes = Figure().add_subplot(), Figure().add_subplot()
    draw_regret(plain, results)
    draw_regret(axes, results, bound)
    assert len(axes.get_lines()) == len(plain.get_lines()) + 1
    line = axes.get_lines()[-1]
    x, y = line.get_data()
    assert (x[0], x[-1]) == (1, results.checkpoints[-1])
    assert_allclose(y, 4.966 * np.log(x))
    assert line.get_linewidth() < axes.get_lines()[0].get_linewidth()
    assert "4.97 ln t" in [text.get_text() for text in axes.texts]
    assert "lower bound" in axes.get_legend().get_texts()[-1].get_text()
    path = tmp_path / "regret.png"
    without = plot_regret(results, path).read_bytes()
    assert plot_regret(results, path, lower_bound=bound).read_bytes() != without


def test_many_agents_with_odd_names_can_be_told_apart(tmp_path):
    from matplotlib.figure import Figure

    from cmab_gym.evaluation.plot import draw_regret

    labels = [*(f"a{number}" for number in range(20)), "_hidden", "cost $5 and $6", "x/y.py:Mine"]
    one = np.ones((2, 3))
    runs = tuple(AgentRun(label, one * i, one.astype(int), 1) for i, label in enumerate(labels))
    results = Results((1, 2, 3), runs, {"env_id": "x", "env_kwargs": {"pmf": np.ones((9, 9))}})
    axes = Figure().add_subplot()
    draw_regret(axes, results)
    lines = axes.get_lines()
    looks = {(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in lines}
    assert len(looks) == len(labels)
    texts = [text.get_text().strip() for text in axes.get_legend().get_texts()]
    assert texts[-3:] == ["_hidden", r"cost \$5 and \$6", "Mine"]
    assert plot_regret(results, tmp_path / "many.png").exists()


@pytest.fixture
def hostile_results():
    """Results of one agent for each hostile name, on an environment with such arguments."""
    one, labels = np.ones((2, 3)), [label.replace("\ud800", "") for label in HOSTILE if label]
    runs = tuple(AgentRun(label, one * i, one.astype(int), 1) for i, label in enumerate(labels))
    manifest = {"env_id": "x", "env_kwargs": {"a": labels}, "reward_unit": "$\n$"}
    return Results((1, 2, 3), runs, manifest)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_hostile_names_are_drawn_as_text(hostile_results, tmp_path, kind):
    # Warnings, such as those of missing glyphs or of a layout without room, are errors.
    path = plot_regret(hostile_results, tmp_path / f"regret.{kind}")
    if kind == "svg":
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314


def test_labels_that_look_alike_are_numbered():
    labels = ["ucb", "a\x00", "a\x01", "n" * 500]
    assert _drawn_labels(labels) == ["1: ucb", "2: a\ufffd", "3: a\ufffd", f"4: {'n' * 49}…"]
    assert _drawn_labels(labels[:2]) == ["ucb", "a\ufffd"]


@pytest.mark.parametrize("name", ["plot", "plot.", "plot.xyz", ".png"])
def test_a_plot_needs_an_extension_for_pictures(results, tmp_path, name):
    with pytest.raises(ValueError, match=r"expected a file name with an extension for pictures"):
        plot_regret(results, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_hostile_names_are_text_in_the_printed_table(hostile_results):
    lines = str(hostile_results).splitlines()
    assert len(lines) == 2 + len(hostile_results.runs)
    assert max(map(display_width, lines[1:])) < 140  # a name of 500 characters is shortened


def test_results_print_as_a_table(results):
    lines = str(results).splitlines()
    assert lines[1].split() == [
        *["agent", "regret", "sd", "low", "high", "best_arm_share"],
        "rounds_per_second",
    ]
    assert [line.split()[0] for line in lines[2:]] == ["ucb", "c-ucb", "random"]
    empty = Results((1,), (), {}).summary()
    assert empty.empty
    assert "best_arm_share" in empty.columns


def test_a_manifest_holds_arrays_in_full(tmp_path):
    pmf = np.full((3, 3, 3, 3), 1 / 81)
    results = evaluate("CMAB-Tabular-v0", ["ucb"], 20, 2, env_kwargs={"pmf": pmf})
    manifest = json.loads((results.save(tmp_path) / "manifest.json").read_text())
    assert_array_equal(manifest["env_kwargs"]["pmf"], pmf)
    assert manifest["all_env_kwargs"]["allow_invalid"] is False


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize(
    "names",
    [
        ("a name of some length", "another one", "third", "the fourth of them"),
        ("ucb(B=5.0)", "ts(B=4.0, beta=1.0)", "c-ucb(B=5.0)", "c-ts(B=4.0, beta=1.0)"),
    ],
)
def test_the_legend_of_a_figure_is_whole(results, tmp_path, number, names, monkeypatch):
    """And the panels have room: Matplotlib would warn, which is an error here."""
    from matplotlib.figure import Figure

    from cmab_gym.evaluation.plot import Marks, plot_panels

    boxes = []

    def look(figure, *_, **__):
        figure.draw_without_rendering()
        boxes.append((figure.legends[0].get_window_extent(), figure.bbox))
        (tmp_path / "picture").touch()

    monkeypatch.setattr(Figure, "savefig", lambda figure, part, **_: (look(figure), part.touch()))
    runs = tuple(replace(results.runs[0], label=name) for name in names)
    panel = replace(results, runs=runs)
    bounds, marks = LowerBound(1.0, np.zeros(2)), Marks(40, {names[0]: 7.5}, "published")
    plot_panels(
        [panel] * number,
        ["title"] * number,
        [tmp_path / "p.png"],
        "Figure",
        [bounds] * number,
        [marks] * number,
    )
    legend, whole = boxes[0]
    assert whole.x0 <= legend.x0
    assert legend.x1 <= whole.x1


def test_log_checkpoints_are_drawn_on_a_logarithmic_axis():
    from matplotlib.figure import Figure

    from cmab_gym.evaluation.plot import draw_regret

    for checkpoints, scale in (("log", "log"), (10, "linear")):
        axes = Figure().add_subplot()
        draw_regret(axes, evaluate("CMAB-Tabular-v0", ["ucb"], 100, 2, checkpoints=checkpoints))
        assert axes.get_xscale() == scale
        assert axes.get_xlim()[1] == 100


def test_nothing_to_plot(tmp_path):
    with pytest.raises(ValueError, match="no agent finished"):
        plot_regret(Results((1,), (), {}), tmp_path / "x.png")
