"""Policies for rewards with heavy tails, whose averages are unreliable."""
