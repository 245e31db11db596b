"""The benchmarks' problem, their measurements, and the page that shows the results."""

import json
import pickle
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks")


def test_the_page_shows_the_recorded_results(tmp_path):
    import page

    copy = tmp_path / "performance.md"
    copy.write_text(page.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    results = json.loads((REPOSITORY / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    page.write(results, copy)
    assert copy.read_text(encoding="utf-8") == page.PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->\n\n| " in copy.read_text(encoding="utf-8") for name in page.TABLES)


def test_the_page_on_correlations_has_its_tables():
    import correlations

    text = correlations.PAGE.read_text(encoding="utf-8")
    for name in ("cases", "settings", "rivals"):
        assert f"<!-- {name} -->\n\n| " in text


def test_the_page_of_the_leaderboard_shows_the_checked_in_records(monkeypatch):
    import leaderboard

    from cmab_gym.leaderboard import BUNDLED, SUITE, Records

    # Fewer resamples: the intervals are not compared.
    records, board = Records.load(BUNDLED, SUITE), leaderboard.leaderboard
    monkeypatch.setattr(leaderboard, "leaderboard", lambda given: board(given, n_resamples=100))
    for name, table in leaderboard.tables(records).items():
        if name == "made":
            continue
        made = [line.split(" | ") for line in table.splitlines()[2:]]
        shown = leaderboard.page.rows(name, leaderboard.PAGE)
        assert [row[0] for row in shown] == [row[0].removeprefix("| ") for row in made]
        assert len(shown) > 5


def test_rivals_have_a_setting_for_each_combination_and_rows_of_others_stay():
    import correlations

    made = correlations.grid("c-ts", pads=(0.1, 0.2), beta=(1, 0.5))
    assert list(map(str, made)) == [
        "`c-ts(beta=1)`", "`c-ts(beta=1)`, `pad=0.2`", "`c-ts(beta=0.5)`",
        "`c-ts(beta=0.5)`, `pad=0.2`",
    ]  # fmt: skip
    before = correlations.page.rows("rivals", correlations.PAGE)
    films, agent, *numbers = before[0]
    changed = [films, agent, *numbers[:3], "-99.0 ± 1.0"]
    after = correlations.with_others([changed])
    assert after[0] == changed
    assert len(after) == len(before)


def test_the_page_on_identification_has_its_table():
    import identification

    text = (REPOSITORY / "docs" / "identification.md").read_text(encoding="utf-8")
    table = text.split("<!-- identification -->\n\n| ")[1]
    for name, (_, _, trials, _) in identification.CASES.items():
        agents = len(identification.IDENTIFICATION_AGENTS)
        assert table.count(f"| {name}, {trials} trials | ") == agents


def test_the_shared_problem_has_exact_pseudo_rewards():
    import problem

    model = problem.bernoulli_model(7)
    uniforms = (np.arange(80_000) + 0.5) / 80_000
    rewards, index = model.pull(uniforms[:, None], np.arange(7)[None, :])
    assert_allclose(model.means, rewards.mean(axis=0), atol=1e-4)
    for given in range(7):
        for reward in (0, 1):
            seen = rewards[index[:, given] == reward].mean(axis=0)
            assert_allclose(model.problem.pseudo_rewards[:, given, reward], seen, atol=2e-3)


@pytest.mark.parametrize(
    ("agent", "arms", "measured"),
    [
        ("ucb", 200, ["1", "20", "100", "1000"]),
        ("ucb", 1000, ["1", "20", "100"]),
        ("c-ucb", 200, ["1", "20", "100", "1000"]),
        ("c-ucb", 1000, ["1", "20", "100"]),
    ],
)
def test_cases_that_are_too_large_are_left_empty(monkeypatch, agent, arms, measured):
    import speed

    monkeypatch.setattr(speed, "rounds_per_second", lambda *case: 1)
    row = speed.row(agent, arms)
    assert list(row) == ["1", "20", "100", "1000"]
    assert [trials for trials, found in row.items() if found] == measured


def test_a_library_that_cannot_run_is_left_out_with_the_reason(tmp_path, capsys):
    import peers

    broken = peers.Peer("broken", "none.py")
    assert "none.py" in peers.run(broken, tmp_path)["failed"]
    assert "left out: broken" in capsys.readouterr().err
    speeds = {"ucb, 100 trials": 3000, "ucb, 1 trial": 300}
    found = {
        "cmab-gym": {"rounds_per_second": speeds, "version": "1"},
        "slow": {"rounds_per_second": {"ucb, 1 trial": 1500}, "version": "2"},
        "broken": {"failed": "why"},
    }
    assert peers.table(found)[1:] == [
        ("cmab-gym 1", "ucb, 100 trials", "3,000", "1.00", "0.10"),
        ("cmab-gym 1", "ucb, 1 trial", "300", "10.00", "1.00"),
        ("slow 2", "ucb, 1 trial", "1,500", "2.00", "0.20"),
        ("broken", "left out: why", "", "", ""),
    ]


def test_the_peak_memory_is_that_of_the_process_alone():
    import process

    mine = np.ones(30_000_000)  # 0.24 GB here, not there
    found = process.measured("import numpy; block = numpy.ones(20_000_000)")
    assert 0.16 < found["peak_gigabytes"] < 0.24
    assert mine.size > 0
    assert process.measured("import time; time.sleep(9)", limit=0.1) == {
        "failed": "given up after 0.1 s"
    }


def test_a_table_that_a_page_does_not_have_is_an_error(tmp_path):
    import page

    path = tmp_path / "page.md"
    path.write_text("<!-- here -->\nold\n<!-- /here -->\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no table between <!-- there -->"):
        page.replace({"here": "new", "there": "new"}, path)
    assert "old" in path.read_text(encoding="utf-8")


def test_the_readme_lists_every_module():
    folder = REPOSITORY / "benchmarks"
    text = (folder / "README.md").read_text(encoding="utf-8")
    modules = {path.name for path in folder.glob("*.py")}
    assert [name for name in modules if name not in text] == []


def test_epsilon_greedy_begins_at_random_and_improves_on_the_testbed():
    import testbed

    reward, best = testbed.play(0.1, bandits=200, steps=100)
    # Of 200 bandits: a mean of 0 with standard error 0.1, and a share of 0.1 with 0.021.
    assert abs(reward[0]) < 0.5
    assert best[0] < 0.21
    assert reward[-20:].mean() > 0.9
    assert best[-20:].mean() > 0.35


def test_the_fuzzer_notices_each_kind_of_fault(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks" / "fuzz")
    import faults

    def raises(error):
        raise error

    before = signal.getsignal(signal.SIGALRM)
    watch = faults.Watch("all", tmp_path)
    monkeypatch.setattr(faults, "_SECONDS", 0.05)
    parsers = {
        "": lambda: raises(ValueError("a.csv is damaged")),
        "message": lambda: raises(ValueError("something is damaged")),
        "message ": lambda: raises(OSError("a.csv " * 999)),
        "KeyError": lambda: raises(KeyError("a.csv")),
        "slow": lambda: time.sleep(5),
        "warning": lambda: warnings.warn("odd", stacklevel=1),
        "pickle.find_class": lambda: pickle.loads(pickle.dumps(Path)),  # noqa: S301
    }
    try:
        for kind, parser in parsers.items():
            watch.faults.clear()
            watch.read(parser, b"", names="a.csv")
            found = " ".join(watch.faults)
            assert found.startswith(kind)
            assert (found == "") == (kind == "")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert watch.summary()["inputs"] == len(parsers)
