"""A store to save into, as the tests of what writes facts have it."""

from tests.desk import desk

__all__ = ["desk"]
