"""Concepts: groups of exchanges about the same, and their names."""
