"""The paper's experiments: as data, run again, and compared with the published values."""

from cmab_gym.paper.panels import PANELS, Panel, find_panels, on_ratings
from cmab_gym.paper.reproduce import reproduce

__all__ = ["PANELS", "Panel", "find_panels", "on_ratings", "reproduce"]
