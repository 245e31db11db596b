"""Best-arm identification: agents that stop once they know the best arm with a given confidence."""

from cmab_gym.agents.identification.api import IdentificationAgent
from cmab_gym.agents.identification.c_lucb import CLUCB
from cmab_gym.agents.identification.lil_ucb import LilUCB
from cmab_gym.agents.identification.lucb import LUCB
from cmab_gym.agents.identification.names import (
    IDENTIFICATION_AGENTS,
    make_identification_agent,
)
from cmab_gym.agents.identification.top_two_ts import TopTwoTS
from cmab_gym.agents.identification.track_and_stop import TrackAndStop

__all__ = [
    "CLUCB",
    "IDENTIFICATION_AGENTS",
    "LUCB",
    "IdentificationAgent",
    "LilUCB",
    "TopTwoTS",
    "TrackAndStop",
    "make_identification_agent",
]
