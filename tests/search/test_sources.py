"""Where a search looks beside the work tree: a revision, what history lost, transcripts; and large stores."""

from datetime import UTC, datetime

import pytest

from gitmem.document.message import Message
from gitmem.search import scan, sources
from gitmem.search.files import PythonScanner
from gitmem.search.recall import keywords
from gitmem.store import transcripts
from gitmem.store.transact import transact


def commit(store, changes):
    def plan(transaction):
        for path in changes:
            transaction.read(path)
        return transaction.commit(Message("put", (("Gitmem-Op", "save"),)), changes)

    return transact(store, plan, purpose="test").commits[-1]


def test_what_moved_to_another_file_is_not_lost(shelf):
    commit(shelf.store, {"knowledge/a.md": b"# A\n\nthe zebra ran\n"})
    commit(shelf.store, {"knowledge/a.md": b"# A\n\nnothing\n", "archive/b.md": b"# A\n\nthe zebra ran\n"})

    assert shelf.paths("zebra", history=True) == ["archive/b.md"]


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


@pytest.fixture
def large(shelf, monkeypatch):
    monkeypatch.setattr(sources, "MANY_BYTES", 1000)
    monkeypatch.setattr(scan, "BUDGET", 60)
    for number in range(200):
        word = "zebra" if number % 50 == 4 else "horse"
        shelf.write(f"knowledge/part-{number:03}.md", f"# Part {number}\n\ncommon common words of the {word}\n")
    return shelf


def test_a_large_store_is_searched_for_the_rare_words_first(large):
    found = large.paths("common zebra", limit=4)

    assert sorted(found) == [f"knowledge/part-{number:03}.md" for number in (4, 54, 104, 154)]
    assert len(large.search("common", limit=10)) == 10


@pytest.mark.parametrize("read, scanned", [(4, ["zebra"]), (5, ["zebra", "common"])])
def test_common_words_are_looked_for_where_the_rare_ones_fill_too_few_files(large, monkeypatch, read, scanned):
    monkeypatch.setattr(sources, "MOST_FILES", read)
    seen = []

    class Scanner(PythonScanner):
        def scan(self, root, paths, literals):
            seen.extend(literals)
            return super().scan(root, paths, literals)

    monkeypatch.setattr(sources, "make_scanner", lambda *_, **__: Scanner())
    large.search("common zebra")

    assert seen == scanned


def test_the_order_in_which_files_are_scanned_changes_nothing(large, monkeypatch):
    class Scanner(PythonScanner):
        def scan(self, root, paths, literals):
            return dict(reversed(super().scan(root, paths, literals).items()))

    found = large.places("common", limit=0)
    monkeypatch.setattr(sources, "make_scanner", lambda *_, **__: Scanner())

    assert large.places("common", limit=0) == found


def test_words_that_only_stand_for_others_do_not_take_their_place(large):
    large.write("knowledge/clock.md", "# Clock\n\n타임아웃\n")
    for number in range(200):
        large.write(f"sessions/{number:03}.md", f"# Session {number}\n\n" + "the timeout of it\n" * 3)

    assert len(large.paths("timeout", limit=0)) > 50


def test_a_filter_by_path_leaves_the_common_word_to_be_found(large):
    large.write("daily/a.md", "# A\n\na common text\n")

    assert large.paths("common zebra path:daily") == ["daily/a.md"]


def test_a_rare_word_is_found_among_many_words_that_only_contain_it(large):
    large.write("knowledge/z.md", "# Z\n\nthe ring\n")
    for number in range(200):
        large.write(f"daily/{number:03}.md", f"# {number}\n\nstring strings restring\n")

    assert large.paths("ring", limit=3)[0] == "knowledge/z.md"


@pytest.mark.parametrize("few", [True, False])
def test_letters_of_an_id_are_no_words_and_a_whole_id_is_one(shelf, monkeypatch, few):
    monkeypatch.setattr(sources, "FEW_FILES", 200 if few else 0)
    shelf.write("memory.md", "- [2026-11-21 10:00:00] **Exchange**: the zebra ^xrr0fya7zzz\n  as ^dabc0000000 says\n")
    shelf.write("concepts/k0123456789-a.md", "# A\n\n- 2026-11-21 [The horse](../memory.md) xrr0fya7zz0\n")

    for word in ("zzz", "rr0fya7", "xrr0", "dabc"):
        assert shelf.paths(word) == [], word
        assert not [one for one in keywords(shelf.store, 0)[0] if word in one.word.casefold()], word
    assert shelf.paths("xrr0fya7zzz") == shelf.paths("^xrr0fya7zzz") == ["memory.md"]


def test_where_a_link_of_a_generated_list_leads_is_no_text(shelf):
    link = "../sessions/2026/11/20261121_100000-s1.md"
    shelf.write("concepts/k0123456789-a.md", f"# A\n\n- 2026-11-21 [The horse sleeps]({link}) xrr0fya7zz0\n")
    shelf.write("knowledge/z.md", "# Z\n\nIt lists sessions of the horse.\n")
    assert shelf.paths("sessions") == ["knowledge/z.md"]
    assert {*shelf.paths("horse")} == {"knowledge/z.md", "concepts/k0123456789-a.md"}
    (concept,) = (hit for hit in shelf.search("horse sleeps") if hit.path.startswith("concepts/"))
    assert concept.shown_snippet == "# A - 2026-11-21 The horse sleeps"
