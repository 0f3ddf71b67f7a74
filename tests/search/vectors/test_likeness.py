from __future__ import annotations

import pytest

from gitmem.config import EmbeddingConfig
from gitmem.llm.embedders import make_embedder
from gitmem.search.vectors.fill import fill
from gitmem.search.vectors.likeness import compare_documents

NEW, SAME, OTHER, LATER = "facts/new.md", "facts/same.md", "facts/other.md", "facts/later.md"


@pytest.fixture
def documents(shelf, environ, provider):
    del environ["GITMEM_EMBEDDING_PROVIDER"]
    settings = EmbeddingConfig(provider="openai", base_url=f"{provider.url}/v1", model="fake")
    shelf.store.config = shelf.store.config._replace(embedding=settings)
    for path, title, text in ((NEW, "a", "use tabs"), (SAME, "b", "use tabs"), (OTHER, "c", "winter in the mountains")):
        shelf.put(path, f"---\ntitle: {title}\n---\n{text}\n")
    return shelf


def test_documents_are_compared_by_their_bodies(documents):
    fill(documents.store, make_embedder(documents.store.config.embedding, documents.store.context.environ), seconds=60)
    documents.put(LATER, "use tabs later\n")
    found = compare_documents(documents.store, [NEW, SAME, OTHER, LATER, "facts/none.md"], [NEW, LATER])
    assert set(found.cosines) == {NEW}
    assert set(found.cosines[NEW]) == {SAME, OTHER}
    assert found.cosines[NEW][SAME] == pytest.approx(1.0, abs=0.02)
    assert found.cosines[NEW][OTHER] < 0.9
    assert found.calibration is None


def test_without_vectors_nothing_is_compared_and_nothing_sent(documents, provider):
    assert compare_documents(documents.store, [NEW, SAME], [NEW]) is None
    documents.store.config = documents.store.config._replace(embedding=EmbeddingConfig(provider="openai"))
    assert compare_documents(documents.store, [NEW, SAME], [NEW]) is None
    documents.store.config = documents.store.config._replace(embedding=EmbeddingConfig(provider="none"))
    assert compare_documents(documents.store, [NEW, SAME], [NEW]) is None
    assert provider.asked == []
