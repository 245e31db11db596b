"""The scripts of `--print-completion`."""

import shlex
import shutil
import subprocess
import sys

import pytest

from cmab_gym.agents.registry import agent_names
from cmab_gym.cli import main

pytest.importorskip("shtab")


def script(shell, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_environments_agents_files_and_folders(tmp_path, capsys):
    for name in ("mine.py", "model.zip", "other.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    run = ["run", "CMAB-MovieLens-v0", "--agents"]
    completed = {
        ("ru",): {"run"},
        ("run", "CMAB-Mo"): {"CMAB-MovieLens-v0"},
        (*run, "ucb", "m"): {"moss", "min-ucb", "mine.py", "model.zip"},
        (*run, "ucb", "--quie"): {"--quiet"},
        (*run, "ucb", "--out", "f"): {"folder"},
        ("identify", "CMAB-MovieLens-v0", "--agents", "c-"): {"c-lucb"},
        ("sweep", "o"): {"other.txt"},
        ("data", "fetch", "ml-100"): {"ml-100k"},
    }
    lines = [script("bash", capsys)]
    for words in completed:
        line = shlex.join(["cmab-gym", *words])
        lines.append(f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_cmab_gym")
        lines.append('echo "${COMPREPLY[@]}"')
    lines.append("complete -p cmab-gym")
    done = subprocess.run(
        ["bash", "--norc"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    *replies, registered = done.stdout.splitlines()
    assert [set(reply.split()) for reply in replies] == [*completed.values()]
    assert registered.endswith("-F _shtab_cmab_gym cmab-gym")


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_every_agent(shell, capsys):
    words = script(shell, capsys).replace("(", " ").replace(")", " ").split()
    assert {*agent_names(), "CMAB-MovieLens-v0"} <= set(words)


def test_without_shtab_the_error_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert "pip install 'cmab-gym[completion]'" in capsys.readouterr().err
    assert main(["--print-completion", "sh"]) == 2
