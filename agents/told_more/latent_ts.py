"""Thompson sampling of the distribution of a hidden source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.mathematics.categorical import drawn
from cmab_gym.agents.mathematics.gamma_draws import log_dirichlet
from cmab_gym.agents.told_more.hidden_source import HiddenSource
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class LatentTS:
    """Thompson sampling that learns the distribution of the hidden source.

    Idea: every reward tells something about the source, and so about all arms. The posterior of the
    source's distribution p has no closed form, since the source is never seen. A Gibbs sampler
    draws from it: each round draws p given the value of the source in each earlier round, and draws
    the values of the last round and of `redraws` earlier ones again given p.

    Index: the mean reward of the arm under p, drawn from Dirichlet(weight / X + c), where c counts
    the rounds with each of the X values.

    Args:
        weight: how many rounds the uniform prior counts for, above 0.
        redraws: how many earlier rounds are drawn again in a round, 0 or more.

    Needs: a `ToldProblem` with a source: it is told the rewards for each value of the source, as
    `told = "source"` asks for. Rewards are taken to be uniform between the lowest and the highest.

    Cost per round: O((K + redraws) X), with X Gamma variates; memory O(t).

    Guarantee: none is proven.

    Source: Thompson sampling with data augmentation for a mixture of known components: Tanner and
    Wong (1987).
    """

    told: ClassVar[str] = "source"
    ranks_unpulled: ClassVar[bool] = True
    weight: float = 1.0
    redraws: int = 4

    def __post_init__(self) -> None:
        checks.positive("weight", self.weight, "it is a number of rounds")
        checks.whole_number("redraws", self.redraws, 0)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        source = HiddenSource.of(history.problem)
        p = self._draw(source, history, rng)
        # A product for each trial, so that its numbers do not depend on how many trials there are.
        index: FloatArray = (p[:, None] @ source.means.T)[:, 0]
        return index

    def learn(self, history: History, rng: TrialStreams) -> None:
        """Draw the source's value in the last round, and in some earlier ones again."""
        source, memory, t = HiddenSource.of(history.problem), history.memory, history.t - 1
        if "p" not in memory:  # the first round was not chosen by `index`
            self._draw(source, history, rng)
        self._make_room(history)
        memory["arms"][:, t], memory["rewards"][:, t] = history.last_arm, history.last_reward
        n_earlier = min(self.redraws, t)
        start = int(memory["next"][0])
        rounds = np.append((start + np.arange(n_earlier)) % max(t, 1), t)
        memory["next"][0] = (start + n_earlier) % max(t, 1)
        weights = source.likelihood(memory["arms"][:, rounds], memory["rewards"][:, rounds])
        weights *= memory["p"][:, None] + 1e-300  # a p that is rounded to 0 is not 0
        values = drawn(weights, rng.random(self.redraws + 1)[:, : rounds.size])
        trial = np.arange(len(values))[:, None]
        np.subtract.at(memory["counts"], (trial, memory["values"][:, rounds[:-1]]), 1)
        np.add.at(memory["counts"], (trial, values), 1)
        memory["values"][:, rounds] = values

    def _draw(self, source: HiddenSource, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the distribution of the source, float64 (B, X)."""
        memory, (trials, size) = history.memory, (len(history.pulls), source.low.shape[1])
        if "counts" not in memory:
            memory["counts"] = np.zeros((trials, size))
            memory["next"] = np.zeros(1, dtype=np.int64)
        memory["p"] = np.exp(log_dirichlet(self.weight / size + memory["counts"], rng))
        p: FloatArray = memory["p"]
        return p

    def _make_room(self, history: History) -> None:
        """Make room for the arm, the reward and the source's value of the last round."""
        memory, trials = history.memory, len(history.pulls)
        room = memory["arms"].shape[1] if "arms" in memory else 0
        if history.t > room:
            for name, kind in (("arms", np.int64), ("rewards", np.float64), ("values", np.int64)):
                grown = np.zeros((trials, max(64, 2 * room)), dtype=kind)
                if room:
                    grown[:, :room] = memory[name]
                memory[name] = grown
