"""A store to search in, and a way to put files there."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.search.hits import Hit
from gitmem.store.store import Store
from tests.copies import StoreCopies

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Shelf:
    """A store that files are put into by hand."""

    def __init__(self, store: Store, root: Path) -> None:
        self.store = store
        self.root = root

    def put(self, path: str, text: str | bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(text.encode() if isinstance(text, str) else text)

    def search(self, query: str, **options) -> list[Hit]:
        return answer(self.store, query, **options).hits

    def places(self, query: str, **options) -> list[tuple[str, int]]:
        return [(hit.path, hit.start) for hit in self.search(query, **options)]

    def paths(self, query: str, **options) -> list[str]:
        return [hit.path for hit in self.search(query, **options)]


@pytest.fixture
def shelf(home: Path, environ: dict[str, str], tmp_path: Path, new_store: StoreCopies) -> Shelf:
    project = tmp_path / "project"
    project.mkdir()
    store = new_store(project, Context(environ, str(home), "box", lambda: NOW), NOW)
    return Shelf(store, project / ".gitmem")
