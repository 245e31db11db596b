"""The table of exit codes: each code is what the table says."""

import re
import signal
from pathlib import Path

import pytest

from cmab_gym.cli import main
from cmab_gym.cli.errors import EXIT_CODES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
ENDS = """
import signal
class Ends:
    def reset(self, problem, rng):
        {what}
    def act(self):
        return 0
    def update(self, arm, reward):
        pass
"""
CASES = {
    0: "pass",
    1: "raise KeyError",
    129: "signal.raise_signal(signal.SIGHUP)",
    130: "signal.raise_signal(signal.SIGINT)",
    143: "signal.raise_signal(signal.SIGTERM)",
}


@pytest.mark.parametrize("code", EXIT_CODES)
def test_a_run_ends_with_the_code_of_the_table(code, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(ENDS.format(what=CASES.get(code, "pass")))
    agent = f"{tmp_path}/mine.py:" + ("Ends" if code in CASES else "Missing")
    run = ["run", "CMAB-Tabular-v0", "--trials", "2", "--rounds", "5", "--agents", agent]
    assert main([*run, "--out", str(tmp_path / "out")]) == code
    assert ("error" in capsys.readouterr().err) is (code != 0)
    if code > 128:
        assert f"({signal.Signals(code - 128).name})" in EXIT_CODES[code]


def test_help_and_the_page_have_the_same_table(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = capsys.readouterr().out.partition("exit codes:\n")[2]
    assert dict(re.findall(r"^  (\d+) +(.*)$", listed, re.MULTILINE)) == {
        str(code): meaning for code, meaning in EXIT_CODES.items()
    }
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == [*EXIT_CODES.items()]
