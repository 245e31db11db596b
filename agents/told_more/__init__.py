"""Agents that are told more than players of a bandit may know: upper references."""
