"""Where a search looks beside the work tree: a revision, what history lost, transcripts; and large stores."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.message import Message
from gitmem.search import sources
from gitmem.search.scan.base import PythonScanner
from gitmem.store.transaction.transact import transact
from gitmem.store.transcripts import transcripts


def commit(store, changes):
    def plan(transaction):
        for path in changes:
            transaction.read(path)
        return transaction.commit(Message("put", (("Gitmem-Op", "save"),)), changes)

    return transact(store, plan, purpose="test").commits[-1]


def test_a_revision_is_searched_as_it_was(shelf):
    first = commit(shelf.store, {"knowledge/a.md": b"# A\n\nthe zebra\n", "knowledge/b.md": b"# B\n\nnothing\n"})
    commit(shelf.store, {"knowledge/a.md": b"# A\n\nthe horse\n"})

    assert shelf.places("zebra", at=first) == [("knowledge/a.md", 1)]
    assert shelf.places("zebra") == []
    assert shelf.places("horse", at=first) == []
    assert shelf.search("nowhere", at=first) == []


def test_history_finds_what_no_file_has_any_more(shelf):
    commit(shelf.store, {"knowledge/a.md": "# A\n\nkeep\nthe zébra ran\n환불 계획\n".encode()})
    last = commit(shelf.store, {"knowledge/b.md": b"# B\n\nfiller\n"})
    commit(shelf.store, {"knowledge/a.md": b"# A\n\nkeep\nanother keep\n"})

    (hit,) = shelf.search("zébra", history=True)

    assert (hit.path, hit.start, hit.text, hit.commit) == ("knowledge/a.md", 4, "the zébra ran", last)
    assert shelf.places("환불을", history=True) == [("knowledge/a.md", 5)]
    assert shelf.search("zébra") == []
    assert [hit.commit for hit in shelf.search("keep", history=True)] == [""]


def test_what_moved_to_another_file_is_not_lost(shelf):
    commit(shelf.store, {"knowledge/a.md": b"# A\n\nthe zebra ran\n"})
    commit(shelf.store, {"knowledge/a.md": b"# A\n\nnothing\n", "archive/b.md": b"# A\n\nthe zebra ran\n"})

    assert [hit.path for hit in shelf.search("zebra", history=True)] == ["archive/b.md"]


def test_deep_finds_what_only_a_transcript_has(shelf):
    lines = [
        '{"at": "2026-11-20T10:00:00Z", "role": "user", "text": "the zebra\\nand 환불 테스트"}',
        '{"role": "x", "text": "no"}',
    ]
    transcripts.put(shelf.store, "5f0c2a7e", datetime(2026, 11, 20, 10, tzinfo=UTC), lines)

    (hit,) = shelf.search("zebra", deep=True)

    assert (hit.layer, hit.session, hit.start, hit.date[:10]) == ("transcripts", "5f0c2a7e", 1, "2026-11-20")
    assert "user: the zebra and 환불 테스트" in hit.snippet
    assert shelf.search("환불을", deep=True)
    assert shelf.search("zebra") == []


@pytest.mark.parametrize(
    "query", ["zebra", "ZEBRAS of äpfel", "환불을", "path:b.md the zebra", "zeb", "nowhere", "the"]
)
def test_a_small_store_that_is_read_as_a_whole_answers_as_a_scanned_one(shelf, query):
    shelf.put("memory.md", "# Memory\n\n- [10:00:00] **Note**: the Zebra ^0123456789abcdefghjk\n")
    shelf.put("knowledge/a.md", "# A\n\nthe zebra and the horse\n\n# Äpfel\n\nÄpfel\n")
    shelf.put("knowledge/b.md", "# B\n\n환불 테스트, zebras\n" * 20)
    shelf.put("knowledge/c.md", "# C\n\nfiller of the other kind\n" * 30)

    assert shelf.search(query) == shelf.search(query, scanner=PythonScanner())


def test_only_a_small_store_is_read_as_a_whole(shelf, monkeypatch):
    for number in range(sources.FEW_FILES):
        shelf.put(f"knowledge/part-{number:03}.md", "# Part\n\n" + ("zebra" if number == 7 else "horse") + "\n")
    read = []
    monkeypatch.setattr(
        sources, "load", lambda root, file, load=sources.load: read.append(file.path) or load(root, file)
    )

    assert shelf.paths("zebra") == ["knowledge/part-007.md"]
    assert read == ["knowledge/part-007.md"]


@pytest.fixture
def large(shelf, monkeypatch):
    monkeypatch.setattr(sources, "MANY_BYTES", 1000)
    monkeypatch.setattr(sources, "BUDGET", 60)
    for number in range(200):
        word = "zebra" if number % 50 == 7 else "horse"
        shelf.put(f"knowledge/part-{number:03}.md", f"# Part {number}\n\ncommon common words of the {word}\n")
    return shelf


def test_a_large_store_is_searched_for_the_rare_words_first(large):
    found = large.paths("common zebra", limit=4)

    assert sorted(found) == [f"knowledge/part-{number:03}.md" for number in (7, 57, 107, 157)]


def test_a_common_word_alone_is_found_in_a_large_store(large):
    assert len(large.search("common", limit=10)) == 10


def test_only_the_rarest_words_are_looked_for(large):
    seen = []

    class Scanner(PythonScanner):
        def scan(self, root, paths, literals):
            seen.extend(literals)
            return super().scan(root, paths, literals)

    large.search("common zebra", scanner=Scanner())

    assert seen == ["zebra"]
