"""Agents that start from the survey: its means are a prior, or all that they use."""
