"""Policies, a page each."""
