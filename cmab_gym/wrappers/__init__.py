"""Wrappers of the environments; those of the native vector environments are in `.vector`."""

from cmab_gym.history import history_features, n_history_features
from cmab_gym.wrappers.history import HistoryObservation

__all__ = ["HistoryObservation", "history_features", "n_history_features"]
