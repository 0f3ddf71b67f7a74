"""Commits as records: who brought what, what others changed, what waits for the user, and undoing."""
