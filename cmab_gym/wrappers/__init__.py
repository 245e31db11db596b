"""Wrappers of the environments; those of native vector environments are in `.vector`."""

from cmab_gym.features import history_features, n_history_features, reward_features
from cmab_gym.wrappers.full_information import FullInformation
from cmab_gym.wrappers.late_feedback import LateFeedback
from cmab_gym.wrappers.observations import HistoryObservation, PseudoRewardObservation
from cmab_gym.wrappers.scale_reward import ScaleReward

__all__ = [
    "FullInformation",
    "HistoryObservation",
    "LateFeedback",
    "PseudoRewardObservation",
    "ScaleReward",
    "history_features",
    "n_history_features",
    "reward_features",
]
