"""Migrations go into the same stores as saves."""

from tests.desk import desk

__all__ = ["desk"]
