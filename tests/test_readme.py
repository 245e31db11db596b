"""The README's examples, run as a reader would."""

import logging
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster

from cmab_gym.cli import main

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
# Blocks after the comment "rl" need that extra.
BLOCK = re.compile(r"(^<!-- rl -->\n)?^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
EVERY_BLOCK = BLOCK.findall(README)
BLOCKS = [(language, text) for mark, language, text in EVERY_BLOCK if not mark]
RL_BLOCKS = [(language, text) for mark, language, text in EVERY_BLOCK if mark]
INSTALLS = "python3 -m venv"


def blocks(language):
    return [text for name, text in BLOCKS if name == language]


def test_there_are_exactly_two_commands_for_a_fresh_machine():
    commands = [text for text in blocks("bash") if INSTALLS in text]
    assert len(commands) == 2
    run, test = commands
    assert all(command.count("\n") == 1 for command in commands)
    assert "cmab-gym run CMAB-MovieLens-v0 --agents ucb ts c-ucb c-ts" in run
    assert "pytest" in test


@pytest.fixture
def two_workers():
    """The cluster of the README's address, at another port."""
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster:
        yield cluster.scheduler_address


def test_python_blocks_and_commands_run(tmp_path, monkeypatch, capsys, two_workers):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ratings = {
        "who": rng.integers(0, 60, 900),
        "what": rng.integers(0, 12, 900),
        "stars": rng.integers(1, 6, 900),
    }
    pd.DataFrame(ratings).to_csv("ratings.csv", index=False)
    run_blocks(BLOCKS, {"tcp://127.0.0.1:8786": two_workers})
    out = capsys.readouterr().out
    assert "c-moss" in out
    assert "CMAB-Tabular-v0" in out
    assert "EpsilonGreedy" in out
    assert "24 finished: sweep/summary.csv" in out


def run_blocks(blocks, replaced):
    """Run blocks, with some texts replaced by others."""
    python = {"__name__": "readme"}  # one program, as a reader would go on
    for language, text in blocks:
        named = re.match(r"# (\w+\.py)\n", text)
        for old, new in replaced.items():
            text = text.replace(old, new)
        if language == "yaml":
            Path("sweep.yaml").write_text(text)
        if language == "python" and named:
            Path(named[1]).write_text(text)
        if language == "python":
            exec(compile(text, "README.md", "exec"), python)  # noqa: S102
        if language == "bash" and INSTALLS not in text:
            for line in text.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "cmab-gym"
                assert main(arguments) == 0, line


@pytest.mark.rl
def test_blocks_of_reinforcement_learning_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shorter = {"--trials 20": "--trials 1 --rounds 40", "--steps 2000000": "--steps 10000"}
    shorter["--trials 100"] = "--trials 2 --rounds 40"
    run_blocks(RL_BLOCKS, shorter)
    out = capsys.readouterr().out
    assert "dqn" in out
    assert "genre.zip" in out


def test_the_main_job_prints_the_readmes_table(tmp_path, capsys):
    command = next(text for text in blocks("bash") if "cmab-gym run" in text and INSTALLS in text)
    arguments = shlex.split(command.split("cmab-gym ", 1)[1])
    arguments[arguments.index("--out") + 1] = str(tmp_path)
    assert main(arguments) == 0
    printed = without_speed(capsys.readouterr().out)
    for row in without_speed(blocks("text")[0]):
        assert row in printed


def without_speed(table):
    return [line.split()[:-1] for line in table.splitlines() if re.search(r"\d %", line)]


@pytest.mark.parametrize("path", re.findall(r"\]\(((?:docs|envs_data)/[^)]+)\)", README))
def test_pictures_exist(path):
    assert (Path(__file__).resolve().parent.parent / path).stat().st_size > 10_000
