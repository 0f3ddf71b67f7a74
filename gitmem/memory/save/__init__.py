"""Saving: what was accepted becomes entries and commits."""
