"""Behaviour without the extra `rl`."""

import json
import subprocess
import sys

import pytest

from cmab_gym import evaluate, make_agent
from cmab_gym.cli import main


@pytest.fixture
def without_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)


@pytest.mark.usefixtures("without_extra")
def test_the_error_names_the_extra(capsys):
    for name in ("ppo", "a2c", "dqn(gamma=0)"):
        with pytest.raises(ValueError, match=r"pip install 'cmab-gym\[rl\]'"):
            make_agent(name)
    with pytest.raises(ValueError, match=r"pip install 'cmab-gym\[rl\]'"):
        evaluate("CMAB-Tabular-v0", ["ts", "ppo"], rounds=10**9)
    assert main(["run", "CMAB-Tabular-v0", "--agents", "ppo"]) == 2
    assert "pip install 'cmab-gym[rl]'" in capsys.readouterr().err


def test_listing_the_agents_loads_no_torch():
    program = (
        "import json, sys\n"
        "from cmab_gym.cli import main\n"
        "assert main(['agents']) == 0\n"
        "print(json.dumps('torch' in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    *listed, torch = result.stdout.splitlines()
    assert json.loads(torch) is False
    assert any(line.startswith("ppo") and "settings" in line for line in listed)
