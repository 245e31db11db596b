"""Randomised policies: for rewards that an adversary chooses, and by gradients."""
