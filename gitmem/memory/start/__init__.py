"""The text a session starts with."""
