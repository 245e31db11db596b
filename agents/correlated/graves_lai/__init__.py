"""The agent that explores as the lower bound of Graves and Lai asks, from the agent down.

- `agent`: `GravesLai`, which plans its pulls and makes them;
- `plan`: the arm that leads, and the pulls that other arms still need;
- `exploration`: the cheapest pulls that still tell the best arm from all others;
- `nearest`: the likeliest joint distribution under which an arm is best;
- `interior_point`: finds many of them at once.
"""

from cmab_gym.agents.correlated.graves_lai.agent import GravesLai

__all__ = ["GravesLai"]
