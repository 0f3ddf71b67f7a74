"""Commits as records: who brought what, what others changed, what waits for the person, and undoing."""
