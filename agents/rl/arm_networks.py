"""Networks that treat all arms alike: relabelling the arms relabels the output.

One small network encodes each arm's part of `history_features`; the maximum and the mean of the
codes over all arms summarise the rest. So the weights do not depend on the number of arms, and the
network cannot memorise an arm. This module imports torch: import it only where the extra `rl` is
needed.
"""

from __future__ import annotations

from typing import Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from cmab_gym.arrays import Float32Array, FloatArray

_PER_ARM, _SHARED = 4, 2  # `history_features` has 4 K + 2 numbers
_MEAN = 2  # index of the mean among an arm's 4 numbers
_INPUTS = _PER_ARM + _SHARED + 1
_LAG_SCALE = 10


class ArmScores(nn.Module):
    """Computes a score for each arm.

    Args:
        width: size of the hidden layers.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.look = ArmSummary(width)  # the name is part of the file format
        self.score = nn.Sequential(nn.Linear(3 * width, width), nn.Tanh(), nn.Linear(width, 1))
        # Bypasses the hidden layers: with their bounded output alone, greed is slow to learn.
        self.direct = nn.Linear(_INPUTS, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """Map `history_features`, (B, 4 K + 2), to scores, (B, K)."""
        arms, summary = self.look(features)
        seen = torch.cat([arms, summary[:, None, :].expand(-1, arms.shape[1], -1)], dim=2)
        scores: Tensor = (self.score(seen) + self.direct(arm_inputs(features)))[:, :, 0]
        return scores


class ArmSummary(nn.Module):
    """Computes a code of each arm, and a summary of all arms.

    Args:
        width: W, the size of a code.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.arm = nn.Sequential(nn.Linear(_INPUTS, width), nn.Tanh())

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Map `history_features` to codes of the arms, (B, K, W), and a summary, (B, 2 W)."""
        arms = self.arm(arm_inputs(features))
        return arms, torch.cat([arms.amax(dim=1), arms.mean(dim=1)], dim=1)


def arm_inputs(features: Tensor) -> Tensor:
    """Collect the inputs of each arm: its part of `history_features`, the shared part, its lag.

    The lag is 10 times the difference between the largest mean and the arm's mean, since small
    differences matter.

    Args:
        features: (B, 4 K + 2).

    Returns:
        (B, K, 7).
    """
    own, shared = features[:, :-_SHARED], features[:, -_SHARED:]
    per_arm = own.reshape(len(own), _PER_ARM, -1).transpose(1, 2)
    mean = per_arm[:, :, _MEAN : _MEAN + 1]
    lag = _LAG_SCALE * (mean.amax(dim=1, keepdim=True) - mean)
    everywhere = shared[:, None, :].expand(-1, per_arm.shape[1], -1)
    return torch.cat([per_arm, everywhere, lag], dim=2)


class _ActorAndCritic(nn.Module):
    """The extractor that stable-baselines3 expects: an actor for the arms, a critic."""

    def __init__(self, n_arms: int, width: int) -> None:
        super().__init__()
        self.latent_dim_pi, self.latent_dim_vf = n_arms, 2 * width
        self.actor = ArmScores(width)
        self.critic = ArmSummary(width)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        scores: Tensor = self.actor(features)
        return scores

    def forward_critic(self, features: Tensor) -> Tensor:
        summary: Tensor = self.critic(features)[1]
        return summary


class ArmPolicy(ActorCriticPolicy):
    """The policy of PPO and A2C with these networks.

    Args:
        args, kwargs: arguments of `ActorCriticPolicy`.
        width: size of the hidden layers.
    """

    def __init__(self, *args: Any, width: int, **kwargs: Any) -> None:
        self._width = width
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        n_arms = int(self.action_space.n)  # type: ignore[attr-defined]
        self.mlp_extractor = _ActorAndCritic(n_arms, self._width)  # type: ignore[assignment]

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the scores are the logits
        # Start with nearly equal scores, as stable-baselines3 does for its own networks.
        extractor: Any = self.mlp_extractor
        for layer in (extractor.actor.score[-1], extractor.actor.direct):
            nn.init.orthogonal_(layer.weight, gain=0.01)
        make_optimizer: Any = self.optimizer_class
        self.optimizer = make_optimizer(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "width": self._width}


def scores_of(network: ArmScores, features: Float32Array) -> FloatArray:
    """Compute scores with a network in float64.

    Float64 and a single thread make a trial's scores the same in any batch, up to negligible
    rounding errors.

    Args:
        network: the network, in float64.
        features: float32 (B, 4 K + 2).

    Returns:
        float64 (B, K).
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            scores: FloatArray = network(torch.from_numpy(features).double()).numpy()
    finally:
        torch.set_num_threads(threads)
    return scores
