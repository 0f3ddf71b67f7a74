from __future__ import annotations

import pytest


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_hit_has_what_the_spec_says_and_no_more_than_it_knows(memory, mode):
    memory.put("knowledge/build.md", "# Build\n\nWe use uv, not pnpm.\n")
    result = memory.call("memory_search", mode, query="pnpm")
    assert (result.is_error, result.structured_content) == (False, None)
    (hit,) = memory.search("pnpm")
    assert list(hit) == ["path", "start_line", "end_line", "score", "source", "tokens", "snippet"]
    assert (hit["path"], hit["start_line"], hit["source"]) == ("knowledge/build.md", 1, "knowledge")
    assert "memory_get(path, start_line)" in result.content[1].text


def test_nothing_found_is_an_empty_list_and_a_way_on(memory):
    result = memory.call("memory_search", query="zebra")
    assert result.content[0].text == '{"hits":[]}'
    assert "deep=true" in result.content[1].text


def test_a_hand_edit_is_found_by_the_next_search(memory):
    assert memory.search("zebra") == []
    memory.put("knowledge/animals.md", "A zebra crossing.\n")
    assert [hit["path"] for hit in memory.search("zebra")] == ["knowledge/animals.md"]
    memory.put("knowledge/animals.md", "A pelican crossing.\n")
    assert memory.search("zebra") == []
    assert len(memory.search("pelican")) == 1


def test_it_is_told_why_vectors_were_left_out(memory, monkeypatch):
    from gitmem.mcp import search
    from gitmem.search.engine import Answer

    monkeypatch.setattr(search, "answer", lambda *_, **__: Answer([], "openai did not answer within a second."))
    result = memory.call("memory_search", query="zebra")
    assert result.content[1].text.endswith("Found by words alone: openai did not answer within a second.")


def test_it_is_told_how_many_hits_of_how_many_are_given(memory):
    for number in range(4):
        memory.put(f"knowledge/{number}.md", f"# A\n\nzebra {number}\n")
    assert "2 of 4 hits" in memory.call("memory_search", query="zebra", limit=2).content[1].text
    assert "hits:" not in memory.call("memory_search", query="zebra", limit=4).content[1].text
