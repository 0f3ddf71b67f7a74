"""A store to search in."""

import pytest

from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.search.hits import Hit
from tests.copies import StoreCopies
from tests.world import NOON, World


class Shelf(World):
    """A store that files are put into by hand, and what searches find in it."""

    def search(self, query: str, **options) -> list[Hit]:
        return answer(self.store, query, **options).hits

    def places(self, query: str, **options) -> list[tuple[str, int]]:
        return [(hit.path, hit.start) for hit in self.search(query, **options)]

    def paths(self, query: str, **options) -> list[str]:
        return [hit.path for hit in self.search(query, **options)]


@pytest.fixture
def shelf(context: Context, tmp_path, new_store: StoreCopies) -> Shelf:
    project = tmp_path / "project"
    project.mkdir()
    new_store(project, context, NOON)
    return Shelf(project / ".gitmem", context)
