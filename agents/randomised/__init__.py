"""Policies that draw an arm from probabilities that learn."""
