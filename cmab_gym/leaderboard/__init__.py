"""The leaderboard: agents ranked by their regret on a suite of tasks.

`suite` holds the tasks, `play` runs agents on them, `records` keeps the numbers, those of the
built-in agents in `records.npz`, and `board` ranks them by the aggregates in `scores`.
"""

from cmab_gym.leaderboard.board import leaderboard
from cmab_gym.leaderboard.pictures import plot_profile, plot_ranks
from cmab_gym.leaderboard.play import play
from cmab_gym.leaderboard.records import BUNDLED, Records, Row
from cmab_gym.leaderboard.suite import QUICK, SUITE, Suite, Task, built_in_agents

__all__ = [
    "BUNDLED",
    "QUICK",
    "SUITE",
    "Records",
    "Row",
    "Suite",
    "Task",
    "built_in_agents",
    "leaderboard",
    "play",
    "plot_profile",
    "plot_ranks",
]
