import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cmab_gym
from cmab_gym.cli import main, printing
from cmab_gym.cli.parser import COMMANDS

HEAVY = (
    "duckdb",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "scipy.stats",
    "torch",
)


def test_version_and_help_are_printed(capsys):
    for option in ("--version", "--help"):
        with pytest.raises(SystemExit) as ended:
            main([option])
        assert ended.value.code == 0
    assert cmab_gym.__version__ in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_its_options(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: cmab-gym {command}" in capsys.readouterr().out


def test_help_and_wrong_options_load_no_heavy_package():
    lines = [["--help"], *([command, "--help"] for command in COMMANDS), ["run", "--rounds", "0"]]
    program = (
        "import json, sys\n"
        "from cmab_gym.cli import main\n"
        f"for arguments in {lines!r}:\n"
        "    try:\n"
        "        main(arguments)\n"
        "    except SystemExit:\n"
        "        pass\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_lists_name_every_environment_and_agent(capsys, monkeypatch):
    monkeypatch.setattr(printing, "PIPE_WIDTH", 1000)  # so that nothing wraps
    assert main(["envs"]) == 0
    out = capsys.readouterr().out
    for word in ("CMAB-Tabular-v0", "CMAB-Latent-v0", "CMAB-MovieLens-v0", "CMAB-Goodreads-v0"):
        assert word in out
    assert main(["agents"]) == 0
    out = capsys.readouterr().out
    by_name = {line.split(" ")[0]: line for line in out.splitlines()}
    unprefixed = {name for name in cmab_gym.agents.agent_names() if name[:2] not in ("c-", "tc")}
    assert unprefixed <= set(by_name)
    assert by_name["ts"].endswith(" B=None beta=1.0")
    assert by_name["ppo"].endswith(" settings='tuned' horizon=5000 **overrides")
    for prefix in ("c-NAME", "tc-NAME"):
        assert by_name[prefix].endswith(" until=inf reference='significant'")
    assert "do not rule out" in by_name["c-NAME"]
    assert "tightened" in by_name["tc-NAME"]
    assert "of every agent except random, graves-lai, ucb-n, ppo, a2c, dqn:" in out
    assert "ppo, a2c, dqn: need the extra rl: pip install 'cmab-gym[rl]'" in out


def test_ctrl_c_during_the_imports_of_the_command_prints_no_traceback(tmp_path):
    # This stands for the real package, and gets Ctrl-C while it is imported.
    (tmp_path / "numpy.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    root = Path(cmab_gym.__file__).resolve().parents[1]
    (tmp_path / "cmab-gym").write_text("from cmab_gym.cli import main\nmain()\n")
    for arguments, traceback in (
        (["-m", "cmab_gym", "--version"], False),
        ([tmp_path / "cmab-gym", "--version"], False),
        (["-c", "import cmab_gym"], True),
    ):
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == -signal.SIGINT
        assert ("Traceback" in done.stderr) is traceback, done.stderr
