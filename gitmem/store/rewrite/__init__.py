"""Rewriting history without what was purged."""
