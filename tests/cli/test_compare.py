import pytest

from cmab_gym import evaluate
from cmab_gym.cli import main

pytestmark = pytest.mark.usefixtures("numpy_loops")

SWEEP = """
environments: [{id: CMAB-Tabular-v0, preset: [table1-a, table1-b]}]
agents: [ucb, random]
seeds: [0, 1]
rounds: 300
trials: 10
"""


def test_a_run_is_compared(tmp_path, capsys):
    evaluate("CMAB-Tabular-v0", ["random", "ucb"], 500, 20).save(tmp_path)
    assert main(["compare", str(tmp_path), "--resamples", "500"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("CMAB-Tabular-v0: final regret, 20 trials\n")
    for word in ("IQM", "worst tenth", "random - ucb", "less regret than random; 20 trials can"):
        assert word in out


def test_the_tasks_of_a_sweep_are_compared_within_each_environment(tmp_path, capsys):
    plan, out = tmp_path / "sweep.yaml", tmp_path / "sweep"
    plan.write_text(SWEEP)
    assert main(["sweep", str(plan), "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["compare", str(out), "--resamples", "500"]) == 0
    printed = capsys.readouterr().out
    for preset in ("table1-a", "table1-b"):
        assert f"CMAB-Tabular-v0 (preset={preset}): final regret, 20 trials" in printed
    assert printed.count("less regret than random") == 2


def test_folders_that_do_not_go_together_are_refused(tmp_path, capsys):
    for agent, rounds in (("ucb", 50), ("random", 60)):
        evaluate("CMAB-Tabular-v0", [agent], rounds, 3).save(tmp_path / agent)
    both = [str(tmp_path / "ucb"), str(tmp_path / "random")]
    assert main(["compare", *both]) == 2
    assert (
        "the results differ in their rounds; expected two agents with the same rewards"
        in capsys.readouterr().err
    )
    assert main(["compare", both[0]]) == 2
    assert "ucb: the results are of one agent;" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "none")]) == 2
    assert "has no results.parquet" in capsys.readouterr().err
    evaluate("CMAB-Tabular-v0", ["ts"], 50, 3).save(tmp_path / "ts")
    assert main(["compare", *both, str(tmp_path / "ts")]) == 0
    out = capsys.readouterr().out
    assert "CMAB-Tabular-v0: only random, nothing to compare (the rounds of" in out
    assert "ucb and ts: 3 trials cannot show a difference; use at least 6" in out
