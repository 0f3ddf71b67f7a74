"""Concepts: grouping exchanges, naming the groups."""
