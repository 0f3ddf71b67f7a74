"""Lessons of tasks: recurring errors, episodes, patterns."""
