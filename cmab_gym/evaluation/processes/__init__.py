"""Calls in worker processes of this machine."""
