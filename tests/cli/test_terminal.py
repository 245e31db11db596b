"""Every command's tables in narrow terminals, and names that could disturb a terminal."""

import io
import re
import sys

import pytest
from hostile import HOSTILE
from pseudo_terminal import pseudo_terminal

from cmab_gym.cli import main
from cmab_gym.text import display_width, shown

INSPECT = [
    ["inspect", "CMAB-Tabular-v0", "--set", "preset=table1-b"],
    ["inspect", "CMAB-Tabular-v0", "--set", "preset=two-sided", "--rounds", "1000000000"],
    ["inspect", "CMAB-MovieLens-v0", "--set", "task=movie"],
    ["inspect", "CMAB-Goodreads-v0"],
    ["inspect", "CMAB-Tabular-v0", "--set", f"pmf={[[[[[[0.5, 0.5]]]]]]}"],  # seven arms
]
RUN = ["run", "CMAB-Tabular-v0", "--rounds", "30", "--trials", "3", "--agents", "ucb", "c-ts"]
WIDTHS = (40, 60, 80, 120)
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")


def printed(monkeypatch, columns, arguments):
    """Return what a command prints in a terminal, without its progress bar."""
    with pseudo_terminal(monkeypatch, columns) as output:
        assert main(arguments) == 0
    # The progress bar is rewritten in place, by control codes, and ends in a line of its own.
    shown_last = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", output[0]).split("\r")[-1]
    return shown_last.split("\n", 1)[1] if shown_last.startswith("running") else shown_last


@pytest.mark.parametrize("arguments", [["envs"], ["agents"], ["data", "list"], *INSPECT])
def test_no_number_is_cut_in_a_narrow_terminal(arguments, monkeypatch):
    monkeypatch.setenv("CMAB_GYM_DATA", "/x")
    numbers = set(NUMBER.findall(printed(monkeypatch, 500, arguments)))
    for columns in WIDTHS:
        out = printed(monkeypatch, columns, arguments)
        assert set(NUMBER.findall(out)) == numbers
        assert all(display_width(line) <= columns for line in out.split("\n"))


def test_a_narrow_terminal_shows_the_whole_summary_of_a_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMAB_GYM_COMPILED", "0")
    for columns in WIDTHS:
        out = printed(monkeypatch, columns, RUN)
        for column in ("regret", "sd", "95 %", "rounds/s"):
            assert column in out
        rows = [line for line in out.split("\n") if line.startswith(("ucb ", "c-ts "))]
        numbers = [number for row in rows for number in NUMBER.findall(row.partition(" ")[2])]
        assert len(numbers) == 2 * 6  # regret, sd, interval, share of the best arm, rounds/s
        assert all(display_width(line) <= columns for line in out.split("\n"))


def test_vacuous_bounds_are_not_printed_as_numbers(capsys):
    assert main(["inspect", "CMAB-Tabular-v0", "--set", "preset=table1-b"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "yes - more than T" in out  # 646,786 pulls in 5,000 rounds
    assert "80 ln T more than 500.0" in out  # a regret of 64,678.6, where 500 is the largest


@pytest.fixture
def hostile_ratings(tmp_path):
    """Ratings of items whose names could disturb a terminal, as arguments of a command."""
    path = tmp_path / "ratings.csv"
    names = [name for name in HOSTILE if name and "\ud800" not in name]
    names.append("a\x1b[2J\x1b]0;t\x07b\x9b1mc\x00")
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write("who,what,stars\n")
        for user in range(7):
            for i, name in enumerate(names):
                quoted = name.replace('"', '""')  # csv of Python 3.10 refuses \x00
                file.write(f'u{user},"{quoted}",{1 + user * i % 5}\n')
    columns = ["user=who", "item=what", "rating=stars", f"n_arms={len(names)}"]
    return ["CMAB-Ratings-v0", "--set", f"data={path}", *columns]


def test_hostile_names_are_text_in_a_terminal(hostile_ratings, monkeypatch):
    with pseudo_terminal(monkeypatch, 80) as output:
        assert main(["inspect", *hostile_ratings]) == 0
    for line in output[0].split("\n"):
        assert shown(line) == line  # no control code, and marks around right-to-left text
        assert display_width(line) <= 80
    for name in ("[bold red]x[/] & <b>]]>", '=HYPERLINK("http://x")', "Ba$$in", "n" * 20, "日本語"):
        assert name in output[0]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_what_an_encoding_lacks_is_replaced(encoding, hostile_ratings, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        assert main(["inspect", *hostile_ratings]) == 0
    out = stream.buffer.getvalue().decode(encoding)
    assert "Café" in out if encoding == "cp1252" else "Caf?" in out


def test_an_error_with_a_hostile_or_long_value_is_one_short_line(capsys):
    for value in ("\x1b[2J\r", "-" * 100_000, "\u202e"):
        assert main(["inspect", "CMAB-Tabular-v0", "--set", f"preset={value}"]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert len(err) < 2100
        assert shown(err[:-1]) == err[:-1]
