"""Commits and who wrote a line."""
