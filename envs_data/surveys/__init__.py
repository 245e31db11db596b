"""Surveys of ratings: arms, split of the users, pseudo-rewards, factors and classes."""
