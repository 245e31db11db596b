"""The examples in docstrings (`>>>`) run and print what they show."""

import doctest
import importlib
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import cmab_gym

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)
NEEDS_RL = re.compile(
    r"^ *(?:import|from) (?:torch|stable_baselines3|cmab_gym\.agents\.rl\.extra)\b", re.MULTILINE
)


def sources():
    """Map the name of each module to its source, without importing more than the packages."""

    def refuse(name):
        raise ImportError(f"{name} cannot be imported, so its examples would not run")

    found = pkgutil.walk_packages(cmab_gym.__path__, "cmab_gym.", onerror=refuse)
    names = ["cmab_gym", *(module.name for module in found)]
    return {name: Path(find_spec(name).origin).read_text(encoding="utf-8") for name in names}


SOURCES = {name: source for name, source in sources().items() if PROMPT.search(source)}
MODULES = [
    pytest.param(name, marks=[pytest.mark.rl] if NEEDS_RL.search(source) else [])
    for name, source in SOURCES.items()
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_print_what_they_show(name):
    docstrings = doctest.DocTestFinder().find(importlib.import_module(name), extraglobs={"np": np})
    examples = [example for docstring in docstrings for example in docstring.examples]
    assert len(examples) == len(PROMPT.findall(SOURCES[name]))
    assert not any(doctest.SKIP in example.options for example in examples)
    runner, report = doctest.DocTestRunner(optionflags=OPTIONS), []
    for docstring in docstrings:
        runner.run(docstring, out=report.append)
    assert not report, "".join(report)


def test_examples_are_found_in_all_three_folders():
    assert len(SOURCES) >= 31
    examples = {"cmab_gym.problem", "cmab_gym.agents.make", "cmab_gym.envs_data.surveys.taking"}
    assert examples <= set(SOURCES)
