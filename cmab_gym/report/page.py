"""`write_report`: render results as one HTML page that needs no network."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from cmab_gym.evaluation.comparison.compare import by_environment
from cmab_gym.evaluation.results.results import Results, listed
from cmab_gym.evaluation.tables import PAIRS_LEGEND
from cmab_gym.extras import how_to_install
from cmab_gym.files import write_whole
from cmab_gym.report.charts import COLOURS, DASHES, SHAPES
from cmab_gym.report.sections import Section, section_of
from cmab_gym.text import shown

# What keeps the page below 2 MB, of which the charts' library takes 0.9.
_POINTS, _PAIRS = 8000, 1000  # of all curves, and of all tables of pairs
_FEWEST, _MOST = 10, 200  # points of a curve


def write_report(results: Results | Sequence[Results], path: str | Path) -> Path:
    """Write a report: one HTML page with charts, comparisons, settings and commands.

    The page needs no network and no other file. It appears whole or not at all.

    Args:
        results: of `evaluate`; several are put together within each environment.
        path: the file to write, such as "report.html".

    Raises:
        TypeError: the results are a folder: load it.
        ValueError: no agent finished, or the extra `report` is not installed.
        OSError: the file cannot be written.
    """
    path = Path(path)
    every = listed(results)
    groups = [group for group in by_environment(every) if any(each.finished for each in group)]
    if not groups:
        raise ValueError("no agent finished: expected results to report; see results.failures")
    _check_extra()
    curves = 2 * sum(
        len({run.label for each in group for run in each.finished}) for group in groups
    )
    most_points = min(_MOST, max(_FEWEST, _POINTS // curves))
    sections = [section_of(group, most_points, _PAIRS // len(groups)) for group in groups]
    html = _rendered(sections)
    write_whole(path, lambda part: part.write_text(html, encoding="utf-8", newline="\n"))
    return path


def _check_extra() -> None:
    try:
        for package in ("altair", "jinja2", "vl_convert"):
            import_module(package)
    except ImportError as error:
        raise ValueError(
            f"reports need the extra `report` ({error}): {how_to_install('report')}"
        ) from error


def _rendered(sections: Sequence[Section]) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cmab_gym.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("cmab_gym.report").joinpath("templates/page.css").read_text(encoding="utf-8")
    script = _script()
    return environment.get_template("page.html").render(
        sections=sections,
        looks=_looks,
        packed=_packed,
        legend=PAIRS_LEGEND,
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
    )


@cache  # it takes seconds
def _script() -> str:
    """Return the page's script with the libraries that it needs, as text of a script element."""
    import altair as alt
    import vl_convert

    own = files("cmab_gym.report").joinpath("templates/page.js").read_text(encoding="utf-8")
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle = vl_convert.javascript_bundle(own, vl_version=version)
    # They can only be in strings, where this changes nothing, and would end the element.
    return bundle.replace("\r", "").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _packed(value: Any) -> str:
    """Return JSON, compressed to a tenth and as ASCII text."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _hash(text: str) -> str:
    """Return the hash that the page's security policy allows."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _looks(agent: int) -> dict[str, str]:
    """Return the colour, the dashes and the shape of an agent in the charts."""
    shape = dict(zip(SHAPES, "●■▲◆✚", strict=True))
    return {
        "colour": COLOURS[agent % len(COLOURS)],
        "dashes": " ".join(map(str, DASHES[agent % len(DASHES)])),
        "shape": shape[SHAPES[agent % len(SHAPES)]],
    }
