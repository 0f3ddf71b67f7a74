"""The texts of a large store, which prompts search in place of its files."""

import os
from pathlib import Path

import pytest

from gitmem.search import scan, sources
from gitmem.search.files import LONGEST_LINE, make_rg
from gitmem.search.query import parse_query
from gitmem.search.scan import Choice, choose_files
from gitmem.search.sources import renew_texts
from gitmem.store.transact import transact

SESSION = "sessions/2026/11/20261120_100000-1b4e51f0.md"


@pytest.fixture
def large(shelf, folder_copies, monkeypatch):
    """Give a store whose texts are kept."""
    monkeypatch.setattr(scan, "BUDGET", 60)

    def fill():
        for number in range(300):
            word = "zebra" if number == 7 else "horse"
            text = f"# Part {number}\n\nCommon words of the {word}\n"
            shelf.write(f"knowledge/{number // 100}/part-{number:03}.md", text)
        os.mkdir(os.path.join(shelf.store.private, scan.FOLDER))
        keep(shelf)

    folder_copies("a store whose texts are kept", shelf.project.parent, ("project",), fill)
    shelf.reopen()
    return shelf


def commit(shelf):
    transact(shelf.store, lambda _: None, purpose="test", scan=True)


def keep(shelf):
    commit(shelf)
    renew_texts(shelf.store)


def asked(shelf, query, **options):
    return [hit.path for hit in shelf.search(query, hurried=True, **options)]


@pytest.mark.parametrize("with_rg", [True, False])
def test_words_are_found_without_a_look_at_other_files(large, monkeypatch, with_rg):
    if with_rg and make_rg(large.store.context) is None:
        pytest.skip("rg is not installed")
    monkeypatch.setattr(sources, "FEW_HURRIED_BYTES", 0)  # of larger texts `rg` is asked
    if not with_rg:
        monkeypatch.setattr("gitmem.search.sources.make_rg", lambda context: None)
    monkeypatch.setattr(sources, "list_paths", None)

    assert asked(large, "ZEBRA") == ["knowledge/0/part-007.md"]
    assert asked(large, "common zebra")[0] == "knowledge/0/part-007.md"
    assert len(asked(large, "common", limit=0)) >= 20
    assert asked(large, "nowhere") == []
    assert asked(large, "common path:knowledge/2", limit=1)[0].startswith("knowledge/2/")


def test_concepts_and_episodes_are_left_out(large):
    for number in range(2):  # the second came since
        large.write(f"episodes/2026/11/old-{number}.md", "# Episode\n\nthe tapir\n")
        large.write(f"concepts/old-{number}.md", "# Concept\n\nthe tapir\n")
        keep(large) if not number else commit(large)

    assert asked(large, "tapir") == []
    assert len(large.search("tapir")) == 4


def test_what_came_since_is_found_and_what_went_is_not(large):
    large.write("knowledge/new.md", "# New\n\nthe okapi\n")
    large.write(SESSION, "# Session\n\nthe gnu\n")
    (large.root / "knowledge/0/part-007.md").unlink()
    other = large.root / "knowledge/0/part-008.md.tmp"
    other.write_text("# Part 8\n\nthe quagga\n")
    other.replace(large.root / "knowledge/0/part-008.md")
    assert asked(large, "okapi") == []
    commit(large)

    assert asked(large, "okapi") == ["knowledge/new.md"]
    assert asked(large, "gnu") == [SESSION]
    assert asked(large, "quagga") == ["knowledge/0/part-008.md"]
    assert asked(large, "zebra") == []


def test_the_texts_are_written_anew_once_many_files_have_changed(large, monkeypatch):
    path = Path(large.store.private, scan.FOLDER, "all")
    before = path.read_bytes()
    large.write("knowledge/0/part-009.md", "# Part 9\n\nthe okapi\n")
    keep(large)
    assert path.read_bytes() == before
    assert asked(large, "okapi") == ["knowledge/0/part-009.md"]
    monkeypatch.setattr(scan, "_LEAST_WORN", 0)  # still read by prompts until the background writes
    assert scan.open_texts(large.store, []).are_worn
    keep(large)
    assert b"the okapi" in path.read_bytes()


def test_texts_of_the_newest_commit_ask_git_nothing(large, monkeypatch):
    monkeypatch.setattr("gitmem.git.repository.Repository.changes", None)
    assert scan.open_texts(large.store, []).sample()


def test_of_a_common_word_the_lines_near_the_end_are_read(large, monkeypatch):
    texts = scan.open_texts(large.store, [])
    assert len(texts.newest("common", 150)) == 150
    monkeypatch.setattr(scan, "_NEWEST_BYTES", 2_000)
    assert 0 < len(texts.newest("common", 150)) < 60


def test_texts_older_than_too_many_changes_are_not_used(large, monkeypatch):
    large.write("knowledge/0/part-009.md", "# Part 9\n\nthe okapi\n")
    commit(large)
    monkeypatch.setattr(scan, "_MOST_FRESH", 0)
    assert scan.open_texts(large.store, []) is None


@pytest.mark.few(1)
@pytest.mark.parametrize("broken", ["", "[]", "{}", '["x"]', "[7]", f'["{"0" * 40}"]', '["--output=written"]'])
def test_without_usable_texts_the_files_are_searched(large, broken):
    path = Path(large.store.private, scan.FOLDER, "all")
    path.write_bytes(broken.encode() + b"\n" + path.read_bytes().partition(b"\n")[2])

    assert asked(large, "zebra") == ["knowledge/0/part-007.md"]
    assert not [*large.root.rglob("written")]


def test_a_hostile_text_names_no_other_file(large):
    large.write("knowledge/evil.md", "# Evil\n\n\x1e../../outside.md\nokapi\n")
    keep(large)

    assert asked(large, "okapi") == ["knowledge/evil.md"]


def test_a_prompt_in_a_large_store_has_its_texts_kept_once(shelf, monkeypatch):
    started = []
    monkeypatch.setattr("gitmem.store.store.Store.start", lambda store, *command: started.append(command))
    monkeypatch.setattr(sources, "MANY_BYTES", 1_000)
    monkeypatch.setattr(sources, "FEW_FILES", 0)
    shelf.write("knowledge/a.md", "# A\n\nthe zebra\n" + "filler\n" * 200)

    assert asked(shelf, "zebra") == asked(shelf, "zebra") == ["knowledge/a.md"]
    assert started == [("reindex", "--background")]


def test_in_a_file_only_the_words_of_its_lines_are_looked_for():
    lines = {"a.md": "1:the lynx", "b.md": f"3:the okapi {'x' * LONGEST_LINE}"}
    assert choose_files(lines, parse_query("lynx okapi zebra").terms, 2) == Choice(
        ["a.md", "b.md"], [1, 1, 0], [frozenset({1, 2}), frozenset()]
    )


def test_a_store_that_a_search_reads_whole_may_have_its_texts_kept_for_prompts(shelf, monkeypatch):
    monkeypatch.setattr(sources, "FEW_HURRIED_BYTES", 10)
    shelf.write("knowledge/a.md", "# A\n\nthe zebra\n" + "filler\n" * 200)
    keep(shelf)
    monkeypatch.setattr(sources, "make_scanner", None)

    assert shelf.paths("zebra") == ["knowledge/a.md"]
    monkeypatch.setattr(sources, "list_paths", None)
    assert asked(shelf, "zebra") == ["knowledge/a.md"]
