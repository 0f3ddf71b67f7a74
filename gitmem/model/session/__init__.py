"""A session: its events, turns, transcript and exchanges."""
