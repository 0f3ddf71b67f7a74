"""Reversible edits of a host's settings files."""
