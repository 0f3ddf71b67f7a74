"""Migrations go into the same stores as saves."""

from tests.memory.conftest import desk

__all__ = ["desk"]
