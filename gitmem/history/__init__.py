"""Commits as records: who made what, what others changed, what waits for the user, and undoing."""
