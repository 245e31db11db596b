"""Sweeps: environments x agents x parameters x seeds, as independent tasks."""
