"""Agents that use pseudo-rewards."""
