"""The shelf of the tests of search, for searches by meaning."""

from tests.search.conftest import shelf

__all__ = ["shelf"]
