from types import SimpleNamespace

import numpy as np

from cmab_gym.paper.comparison import Reproduced, comparison
from cmab_gym.paper.panels import AGENTS, PANELS, Panel

BY_NAME = {panel.name: panel for panel in PANELS}


def reproduced(panel, ours, competitive, measured=(), ranges=None, checkpoints=(4800, 5000)):
    def regret(agent):
        return np.full((1, len(checkpoints)), ours[agent])

    results = SimpleNamespace(checkpoints=checkpoints, regret=regret)
    return Reproduced(panel, results, competitive, measured or (competitive,), ranges or {})


def verdicts(*arguments, **keywords):
    rows = comparison([reproduced(*arguments, **keywords)])
    return dict(zip(rows["what"], rows["verdict"], strict=True))


def test_verdicts_where_nothing_is_random():
    movies = BY_NAME["fig11a"]  # 1893, 1391, 222, 174; C = 6
    ours = {"ucb": 1893 * 1.06, "ts": 1391 * 1.08, "c-ucb": 222 * 0.8, "c-ts": 174 * 1.3}
    found = verdicts(movies, ours, 6)
    assert found == {
        "ucb": "agrees",
        "ts": "differs",
        "c-ucb": "agrees",
        "c-ts": "differs",
        "C": "agrees",
    }
    assert verdicts(movies, ours, 8, measured=(8, 6, 9))["C"] == "in range"
    assert verdicts(movies, ours, 8, measured=(8, 9))["C"] == "differs"


def test_verdicts_with_draws_and_stand_ins():
    genre = BY_NAME["fig10a"]  # 1817, 879, 262, 211; C = 4
    ours = {"ucb": 1300, "ts": 600, "c-ucb": 500, "c-ts": 400}
    ranges = {"ucb": (1300, 1600), "ts": (500, 600), "c-ucb": (300, 500), "c-ts": (100, 400)}
    found = verdicts(genre, ours, 7, ranges={**ranges, "C": (3, 7)})
    assert found["ucb"] == "in range"  # 1817 <= 1.2 * 1600
    assert found["ts"] == "differs"
    assert found["c-ucb"] == "in range"  # 262 >= 0.8 * 300
    assert found["C"] == "in range"
    poetry = BY_NAME["fig12a"]
    assert set(verdicts(poetry, ours, 3).values()) <= {"agrees", "other data"}


def test_unpublished_values_and_short_runs_are_not_compared():
    own = Panel(1, "a", "mine", "CMAB-Tabular-v0", {"preset": "appendix"}, parameters="default")
    ours = dict.fromkeys(AGENTS, 10.0)
    assert verdicts(own, ours, 2)["ucb"] == "not published"
    short = verdicts(BY_NAME["fig11a"], ours, 6, checkpoints=(100, 200))
    assert short["ucb"] == "not compared"
    assert short["C"] == "agrees"


def test_the_value_compared_is_the_mean_at_round_4800_or_at_the_end():
    def own(checkpoints):
        results = SimpleNamespace(
            checkpoints=checkpoints, regret=lambda _: np.array([[1.0, 2.0], [3.0, 6.0]])
        )
        return Reproduced(BY_NAME["fig11a"], results, 6, (6,), {})

    assert own((4800, 5000)).values() == {**dict.fromkeys(AGENTS, 2.0), "C": 6.0}
    assert own((100, 200)).values() == {**dict.fromkeys(AGENTS, 4.0), "C": 6.0}
