"""Rewriting history without purged texts."""
