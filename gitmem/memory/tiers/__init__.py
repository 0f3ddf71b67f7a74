"""Rotation, consolidation and clearing."""
