"""Lessons of sessions: episodes, bug patterns, project knowledge."""
