"""The paper's experiments: as data, run again, and compared with the published values."""

from cmab_gym.paper.panels import PANELS, Panel
from cmab_gym.paper.reproduce import on_ratings, reproduce

__all__ = ["PANELS", "Panel", "on_ratings", "reproduce"]
