"""Commits, and which of them wrote a line."""
