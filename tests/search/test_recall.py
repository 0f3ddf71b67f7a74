"""What is recalled of a subject, and in what form."""

import json

import pytest

from gitmem.errors import NotFoundError
from gitmem.lessons.prompt import remembered
from gitmem.mcp.reads import memory_search
from gitmem.search.recall import is_handle, read_memory, recall
from gitmem.text.words import estimate_tokens
from tests.mcp.conftest import call_on, unfenced

FILLER = "".join(f"  Paragraph {n} tells of wood and stone and water at some length.\n\n" for n in range(60))


def test_facts_come_first_then_exchanges_without_the_marks_of_a_log(shelf):
    shelf.put("facts/rule/r4f7k2m9q0x-zinc.md", "---\nid: r4f7k2m9q0x\nkind: rule\n---\nRailings are of zinc.\n")
    shelf.put(
        "daily/2026/11/2026-11-20.md",
        "- [10:00:00] **Exchange** #1b4e51f0: Which zinc do railings take, zinc or zinc alloy? ^x4f7k2m9q0x\n\n"
        "  **Answer:** Take railings of pure zinc.\n\n  **Error:** `make` no zinc\n",
    )

    text = recall("zinc railings", shelf.search("zinc railings"), 2_000).text

    assert "Railings are of zinc." in text.partition("Which zinc")[0]
    assert "Take railings of pure zinc." in text
    assert "**Error:** `make` no zinc" in text
    assert "2026-11-20 10:00, Exchange, 1b4e51f0, ^x4f7k2m9q0x]" in text
    assert text.count("x4f7k2m9q0x") == text.count("r4f7k2m9q0x") == 1
    assert "**Exchange**" not in text


def test_a_memory_over_its_share_is_told_by_its_best_part(shelf):
    head = "- [10:00:00] **Exchange** #1b4e51f0: How do we build the bridge? ^x4f7k2m9q0x\n\n  **Answer:** So.\n\n"
    shelf.put("daily/2026/11/2026-11-20.md", f"{head}{FILLER}  The railing is of zinc.\n\n{FILLER}")
    hits = shelf.search("bridge zinc")

    text = recall("bridge zinc", hits, 2_000).text
    short = recall("bridge zinc", hits, 250).text

    assert "How do we build the bridge?" in text
    assert "The railing is of zinc." in text
    assert estimate_tokens(text) < 800
    assert "How do we build the bridge?" in short
    assert short.partition("]\n")[2].partition(" …\n\nMore:")[0].endswith(".")
    assert estimate_tokens(short) <= 250


def test_keywords_and_success_are_not_told(shelf):
    shelf.put(
        "sessions/2026/11/20261120_100000-1b4e51f0.md",
        "- [2026-11-20 10:00:00] **Exchange** #1b4e51f0: Took zinc. ^x4f7k2m9q0x\n"
        "  Done: It lasts.\n  Keywords: zinc, railing\n  Outcome: success\n",
    )

    text = recall("zinc", shelf.search("zinc"), 2_000).text

    assert "Took zinc.\nDone: It lasts.\n" in text
    assert "Keywords" not in text
    assert "Outcome" not in text


def test_an_exchange_is_told_once_in_every_door_and_names_its_concept_and_episode(shelf):
    said = "Railings of bridges are made of galvanized zinc, which lasts."
    entry = f"- [2026-11-20 10:00:00] **Exchange** #1b4e51f0: {said} ^x4f7k2m9q01\n"
    shelf.put("memory.md", f"## Recent Context\n\n{entry}")
    shelf.put("sessions/2026/11/20261120_100000-1b4e51f0.md", f"# Session\n\n{entry}")
    link = f"- 2026-11-20 [{said}](../sessions/2026/11/20261120_100000-1b4e51f0.md) x4f7k2m9q01\n"
    for path in ("concepts/k4f7k2m9q0x-zinc.md", "episodes/2026/11/e4f7k2m9q0x.md"):
        shelf.put(path, f"---\nid: {path.rpartition('/')[2][:11]}\n---\n# Zinc railings\n\n## Exchanges\n\n{link}")

    (hit,) = shelf.search("galvanized zinc railings")
    found = json.loads(unfenced(memory_search(call_on(shelf.store), query="galvanized zinc railings")[0].text))["hits"]
    recalled = recall("galvanized zinc railings", shelf.search("galvanized zinc railings"), 2_000)
    told = remembered(shelf.store, "Are the railings of bridges made of galvanized zinc?")

    assert len(hit.views) == 3
    assert [one["views"] for one in found] == [list(hit.views)]
    for text in (recalled.text, told.text):
        assert text.count(said) == 1
        assert "^x4f7k2m9q01, also ^k4f7k2m9q0x ^e4f7k2m9q0x]" in text
    assert told.ids == tuple(one.entry for one in recalled.whole) == ("x4f7k2m9q01",)


def test_a_memory_is_read_by_its_id_at_its_fullest_view(shelf):
    line = "- [10:00:00] **Exchange** #1b4e51f0: Which zinc? ^x4f7k2m9q0x\n"
    shelf.put("memory.md", line)
    shelf.put("daily/2026/11/2026-11-20.md", f"## Timeline\n\n{line}\n  **Answer:** {'Pure zinc. ' * 9}\n")
    shelf.put("facts/rule/r4f7k2m9q0x-zinc.md", "---\nid: r4f7k2m9q0x\n---\nRailings are of zinc.\n")

    assert (read_memory(shelf.store, "^x4f7k2m9q0x").path, read_memory(shelf.store, "x4f7k2m9q0x").start) == (
        "daily/2026/11/2026-11-20.md",
        3,
    )
    assert read_memory(shelf.store, "r4f7k2m9q0x").text == "Railings are of zinc."
    with pytest.raises(NotFoundError, match="no memory"):
        read_memory(shelf.store, "x000000000z")


def test_a_path_is_no_handle():
    assert is_handle("^x4f7k2m9q0x")
    assert not is_handle("memory.md")
    assert not is_handle("daily/2026/11/2026-11-20.md:3")
