"""Synchronising with remotes."""
