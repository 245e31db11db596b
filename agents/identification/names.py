"""Names of identification agents, and making of them."""

from __future__ import annotations

from typing import Any

from cmab_gym import checks
from cmab_gym.agents.identification.api import IdentificationAgent
from cmab_gym.agents.identification.c_lucb import CLUCB
from cmab_gym.agents.identification.lil_ucb import LilUCB
from cmab_gym.agents.identification.lucb import LUCB
from cmab_gym.agents.identification.top_two_ts import TopTwoTS
from cmab_gym.agents.identification.track_and_stop import TrackAndStop
from cmab_gym.agents.loading import load_target
from cmab_gym.agents.make import name_and_parameters

IDENTIFICATION_AGENTS: dict[str, type[IdentificationAgent]] = {
    "lucb": LUCB,
    "c-lucb": CLUCB,
    "lil-ucb": LilUCB,
    "top-two-ts": TopTwoTS,
    "track-and-stop": TrackAndStop,
}
_METHODS = ("reset", "act", "update", "done", "best_arm")


def make_identification_agent(agent: Any, delta: float) -> IdentificationAgent:
    """Make an identification agent.

    Args:
        agent: a name ("c-lucb"), one with parameters ("top-two-ts(share=0.4)"), or a class of your
            own, also as "my_file.py:MyAgent".
        delta: the accepted probability of stopping with a wrong arm, passed to the class.

    Raises:
        ValueError: the name or a parameter is unknown, or the class lacks a method.
        FileNotFoundError: the file does not exist.

    Examples:
        >>> make_identification_agent("c-lucb", delta=0.1)
        CLUCB(delta=0.1)
    """
    parameters: dict[str, Any] = {}
    cls = agent
    if isinstance(agent, str):
        name, parameters = name_and_parameters(agent)
        if ":" in name:
            cls = load_target(name)
        elif name in IDENTIFICATION_AGENTS:
            cls = IDENTIFICATION_AGENTS[name]
        else:
            known = list(IDENTIFICATION_AGENTS)
            raise ValueError(checks.unknown("identification agent", name, known))
    label = getattr(cls, "__name__", repr(cls))
    missing = [method for method in _METHODS if not hasattr(cls, method)]
    if not isinstance(cls, type) or missing:
        what = f"has no method {missing[0]}" if missing else "is not a class"
        raise ValueError(
            f"{label} {what}: expected one of {', '.join(IDENTIFICATION_AGENTS)}, or a class "
            f"with the methods {', '.join(_METHODS)}"
        )
    try:
        made: IdentificationAgent = cls(delta=delta, **parameters)
    except TypeError as error:
        raise ValueError(f"{label}: {error}") from None
    return made
