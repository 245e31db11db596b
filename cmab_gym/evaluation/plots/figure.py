"""Figures: made without pyplot, and saved whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cmab_gym.evaluation.results.results import Results, listed, short_labels
from cmab_gym.files import write_whole
from cmab_gym.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLE, _MISSING, _UNIT = 90, 110, 30  # columns of a terminal, at most


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches that needs no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure of some axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None  # noqa: S101 (axes belong to a figure)
    return figure


def picture_format(path: Path) -> str:
    """Return the format that a file's extension stands for.

    Raises:
        ValueError: Matplotlib cannot write it.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    kind, known = path.suffix.lstrip(".").lower(), FigureCanvasBase.get_supported_filetypes()
    if kind not in known:
        raise ValueError(
            f"path={str(path)!r}: expected a file name with an extension for pictures, such as "
            f"{path.stem}.png; known are {', '.join(f'.{each}' for each in sorted(known))}"
        )
    return kind


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture, whole or not at all.

    Raises:
        ValueError: Matplotlib cannot write files with this extension.
        OSError: the file cannot be written.
    """
    kind = picture_format(path)
    write_whole(path, lambda part: figure.savefig(part, format=kind))


def check_plot(results: Results, path: str | Path | None) -> Path | None:
    """Check the arguments of a plot, before anything is drawn; return the path.

    Raises:
        TypeError: the results are a folder: load it.
        ValueError: no agent finished, or Matplotlib cannot write files with this extension.
    """
    listed(results)
    if path is not None:
        picture_format(Path(path))
    if not results.finished:
        raise ValueError("no agent finished: expected results to plot; see results.failures")
    return None if path is None else Path(path)


def finished(axes: Axes, results: Results, title: str | None, path: Path | None) -> Figure:
    """Name the agents that are missing, set the title, write the picture, and return the figure.

    Args:
        axes: what was drawn.
        results: of the agents.
        title: above the axes; None for `default_title`.
        path: file to write; None writes none.
    """
    name_missing(axes, results)
    axes.set_title(default_title(results) if title is None else title, fontsize=10)
    figure = figure_of(axes)
    if path is not None:
        save_figure(figure, path)
    return figure


def default_title(results: Results) -> str:
    """Return the title of the results as Matplotlib draws it."""
    return drawn(results.title, most=_TITLE)


def drawn_unit(results: Results) -> str:
    """Return the unit of rewards and regret as Matplotlib draws it."""
    return drawn(results.manifest.get("reward_unit", "reward"), most=_UNIT)


def name_missing(axes: Axes, results: Results) -> None:
    """Write below the axes which agents did not finish, and so are not shown."""
    if results.failures:
        text = drawn(f"not finished: {', '.join(short_labels([*results.failures]))}", most=_MISSING)
        axes.set_xlabel(f"{axes.get_xlabel()}\n{text}".lstrip())
