"""Damaged files of every kind are read, or raise one error that names them.

CMAB_GYM_MUTANTS sets how many of each kind are tried, and `pytest -s` prints how many are
refused; 400 of each take a quarter of an hour.
"""

import os

import numpy as np
import pytest
from mutants import KINDS, mutated

from cmab_gym.agents.make import make_agent
from cmab_gym.cli import main

MUTANTS = int(os.environ.get("CMAB_GYM_MUTANTS", "6"))
PIECE = 50  # mutants of a test, so that none takes minutes


@pytest.mark.parametrize("first", range(0, MUTANTS, PIECE))
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_ends_in_one_error_that_names_it(kind, first, tmp_path):
    write, read = KINDS[kind]
    path = tmp_path / kind
    write(path)
    content, rng = path.read_bytes(), np.random.default_rng(first)
    read(path)
    messages, n_mutants = [], min(PIECE, MUTANTS - first)
    for _ in range(n_mutants):
        path.write_bytes(mutated(content, rng))
        try:
            read(path)
        except (ValueError, OSError) as error:
            messages.append(str(error))
    print(f"{kind}: {len(messages)} of {n_mutants} refused")
    assert len(messages) > n_mutants / 5
    assert [text for text in messages if kind not in text or len(text) > 3000] == []


@pytest.mark.parametrize(
    "hostile",
    [
        "-" * 100_000 + "1",
        "(" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "1" * 100_000,
        "\0",
        "*" * 9,
    ],
)
def test_hostile_values_end_in_one_error(hostile, capsys):
    with pytest.raises(ValueError, match="agent 'ucb"):
        make_agent(f"ucb(B={hostile})")
    assert main(["inspect", "CMAB-Tabular-v0", "--set", f"preset={hostile}"]) == 2
    assert capsys.readouterr().err.startswith("cmab-gym: error: ")
