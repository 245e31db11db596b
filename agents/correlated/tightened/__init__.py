"""The C-Bandit with tightened pseudo-rewards, from the agent down to the linear programs.

- `agent`: `TightenedCBandit`, which rules arms out by bounds that it averages over rewards;
- `trial_bounds`: `TrialBounds`, these averages in every trial;
- `kept_vectors`: `KeptVectors`, the vectors that each trial keeps, and when new ones are due;
- `vectors`: `TightenedVectors`, the vectors of pseudo-rewards of a problem, shared by the trials;
- `pairs` and `all_arms`: the linear programs behind the vectors, with two arms or all of them.
"""

from cmab_gym.agents.correlated.tightened.agent import TightenedCBandit

__all__ = ["TightenedCBandit"]
