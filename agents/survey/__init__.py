"""Agents that start from the survey: its means, and how users differ, are what they know."""
