"""Sphinx: `sphinx-build -W -n docs site` builds the pages offline, with every warning an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

import cmab_gym  # noqa: E402

project = "cmab-gym"
author = "The cmab-gym developers"
project_copyright = author
release = cmab_gym.__version__
extensions = ["myst_nb", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "site", "**/.ipynb_checkpoints"]
suppress_warnings = ["ref.python"]  # two classes have an attribute phi

html_theme = "furo"
html_title = "cmab-gym"
html_show_sphinx = False
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4  # GitHub's
# The course is run at full size, in a folder that is removed.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds of a cell; that of a solution runs its whole lesson
nb_merge_streams = True
nitpicky = True
# Types of other packages, whose addresses are not known offline, and words in a list of results.
nitpick_ignore_regex = [
    (r"py:(class|exc)", r"(?!cmab_gym\.).*"),
    ("py:class", r"cmab_gym\.rows\.PseudoRewardRows"),
]

default_role = "code"
autodoc_typehints = "none"  # docstrings give shapes and units
autodoc_member_order = "bysource"
napoleon_custom_sections = [
    "Arms", "Observation", "Reward", "Information", "Episode end", "Arguments", "Description",
    "Registered ids", "Source", "Version history", "Needs", "Guarantee", "Index",
]  # fmt: skip

# Files outside docs/ are pages of the site too.
_OUTSIDE = {
    f"../{path}": f"generated/{page}.md" for page, path in generate.PAGES_OUTSIDE.items()
} | {"../README.md": "index.md", "../LICENSE": "generated/licence.md"}


def _links(app: Any, page: str, source: list[str]) -> None:
    """Lead links to files outside docs/ to their pages."""
    if not page.startswith("generated/"):
        source[0] = re.sub(
            r"\]\((\.\./[^)#]+)", lambda found: f"]({_OUTSIDE.get(found[1], found[1])}", source[0]
        )


def _solutions(app: Any, page: str, source: list[str]) -> None:
    """Begin solutions with the code of their lesson, unseen: they use its names."""
    if page.startswith("course/solutions-"):
        lesson = HERE / f"{page.replace('solutions', 'lesson')}.md"
        code = re.findall(r"(?ms)^```\{code-cell\}\n(.*?)^```$", lesson.read_text(encoding="utf-8"))
        cell = "\n".join(["```{code-cell}", ":tags: [remove-cell]", "", *code, "```"])
        source[0] = source[0].replace("\n---\n", f"\n---\n\n{cell}\n", 1)


def _math(display: str) -> Any:
    """Return a writer of formulas as MathML, which browsers show without scripts from the web."""

    def write(translator: Any, node: Any) -> None:
        text = node.astext().strip()
        translator.body.append(latex2mathml.converter.convert(text, display=display))
        raise nodes.SkipNode

    return write


def setup(app: Any) -> None:
    """Write the pages made from code, before Sphinx reads the others."""
    generate.write(HERE / "generated")
    app.add_html_math_renderer("mathml", (_math("inline"), None), (_math("block"), None))
    app.connect("source-read", _links)
    app.connect("source-read", _solutions)
