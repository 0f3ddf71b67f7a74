"""What a search finds, through the files of a real store."""

from __future__ import annotations

import unicodedata

from gitmem.config import SearchConfig
from gitmem.search import engine, sources
from gitmem.search.engine import answer

ENTRY = "- [2026-11-2{n} 10:00:00] **Note**: {text} ^01m80m1r5d7wvtt7ft{n}{n}\n"


def test_words_are_found_in_their_other_forms(shelf):
    shelf.put("knowledge/a.md", "# One\n\nShe was painting two stories.\n\n# Two\n\nNothing of it.\n")

    for query in ("paint", "painted", "story", "PAINTS", "who painted a story?"):
        assert shelf.places(query)[0] == ("knowledge/a.md", 1), query


def test_korean_words_are_found_without_their_particles(shelf):
    shelf.put("knowledge/a.md", "# 하나\n\n환불테스트를 고쳤다.\n\n# 둘\n\n다른 이야기.\n")

    assert shelf.places("테스트는 어떻게 고쳤나요?")[0] == ("knowledge/a.md", 1)
    assert shelf.places("환불을")[0] == ("knowledge/a.md", 1)


def test_parts_of_identifiers_are_words_and_the_whole_counts_more(shelf):
    shelf.put("knowledge/a.md", "# A\n\nuser name and get\n\n# B\n\nthe getUserName call\n\n# C\n\nget_user_name = 1\n")

    assert {start for _, start in shelf.places("getUserName")[:2]} == {5, 9}
    assert len(shelf.places("user")) == 3


def test_japanese_and_chinese_are_found_within_a_line(shelf):
    shelf.put("knowledge/a.md", "# A\n\n今日は東京の天気がいい\n\n# B\n\n数据库的索引\n")

    assert shelf.places("東京の天気")[0] == ("knowledge/a.md", 1)
    assert shelf.places("索引")[0] == ("knowledge/a.md", 5)


def test_a_term_inside_a_word_is_found_where_nothing_better_is(shelf):
    shelf.put("knowledge/a.md", "# A\n\nreorganization\n")

    assert shelf.paths("ganiz") == ["knowledge/a.md"]


def test_stop_words_alone_still_answer(shelf):
    shelf.put("knowledge/a.md", "# A\n\nThis is what it was.\n")

    assert shelf.paths("what was it") == ["knowledge/a.md"]


def test_what_has_no_letter_is_looked_for_as_it_stands(shelf):
    shelf.put("knowledge/a.md", "# A\n\nx -> y\n\n# B\n\nnothing\n")

    assert shelf.places("->") == [("knowledge/a.md", 1)]


def test_one_entry_in_several_files_is_one_hit(shelf):
    line = ENTRY.format(n=1, text="use uv, not pnpm")
    shelf.put("memory.md", "## Core Decisions\n\n" + line)
    shelf.put("daily/2026/11/2026-11-21.md", "## Decision\n\n" + line.replace("2026-11-21 ", ""))

    assert shelf.paths("pnpm") == ["memory.md"]


def test_a_file_edited_by_hand_is_found_at_once(shelf):
    shelf.put("knowledge/a.md", "# A\n\nbefore\n")
    assert shelf.paths("afterwards") == []

    shelf.put("knowledge/a.md", "# A\n\nafterwards\n")

    assert shelf.paths("afterwards") == ["knowledge/a.md"]


def test_an_entry_between_two_that_match_is_found_before_one_that_stands_alone(shelf):
    texts = ["zebra crossing", "the zebra ran", "zebra stripes", *["filler"] * 6, "one zebra here"]
    lines = "".join(
        f"- [2026-11-21 10:{n:02}:00] **Note**: {text} ^01m80m1r5d7wvtt7ft{n:02}\n" for n, text in enumerate(texts)
    )
    shelf.put("daily/2026/11/2026-11-21.md", lines)

    starts = [start for _, start in shelf.places("zebra")]

    assert starts[0] == 2
    assert starts[-1] == 10


def dated(day: str, number: int) -> str:
    return f"- [{day} 10:00:00] **Note**: use the cache ^01m80m1r5d7wvtt7ft{number:02}\n"


def test_of_equals_the_newer_and_the_one_in_memory_come_first(shelf):
    days = {"2026-11-20": 1, "2026-10-01": 2, "2025-01-01": 3}
    for day, number in days.items():
        shelf.put(f"archive/memory_{number}.md", f"## Notes\n\n{dated(day, number)}")

    assert [hit.date[:10] for hit in shelf.search("cache")] == list(days)

    shelf.put("memory.md", f"## Notes\n\n{dated('2026-11-20', 4)}")

    assert shelf.paths("cache")[0] == "memory.md"


def test_a_better_hit_stays_before_a_newer_one_and_weights_can_be_changed(shelf):
    shelf.put("archive/memory_1.md", "## Notes\n\n" + dated("2020-01-01", 1).replace("cache", "wheel cache"))
    shelf.put("memory.md", f"## Notes\n\n{dated('2026-11-21', 2)}")
    assert shelf.paths("wheel cache")[0] == "archive/memory_1.md"
    shelf.put("archive/memory_1.md", f"## Notes\n\n{dated('2020-01-01', 1)}")
    plain = shelf.search("cache")

    shelf.store.config = shelf.store.config._replace(search=SearchConfig(layer_percent=100, recency_percent=0))

    assert plain[0].path == "memory.md"
    assert shelf.search("cache")[0].score > 1.5 * plain[0].score


def test_letters_and_marks_that_stand_apart_are_found(shelf):
    shelf.put("knowledge/a.md", unicodedata.normalize("NFD", "# A\n\n환불 테스트 and a café\n"))

    assert shelf.paths("환불을") == ["knowledge/a.md"]
    assert shelf.paths("café") == ["knowledge/a.md"]
    assert shelf.paths('"환불 테스트"') == ["knowledge/a.md"]


def test_the_total_counts_hits_beyond_the_limit(shelf, monkeypatch):
    for number in range(5):
        shelf.put(f"knowledge/{number}.md", f"# A\n\nzebra {number}\n")
    shelf.put("daily/2026/11/2026-11-20.md", "".join(ENTRY.format(n=n, text="horse") for n in range(4)))

    def totals(query, limit):
        found = answer(shelf.store, query, limit=limit)
        return len(found.hits), found.total, found.complete

    assert totals("zebra", 2) == (2, 5, True)
    assert totals("zebra", 0) == (5, 5, True)
    assert totals("type:note", 2) == (2, 4, True)
    monkeypatch.setattr(engine, "_WEIGHED", 1)
    assert totals("type:note", 2) == (2, 3, False)
    monkeypatch.setattr(sources, "MOST_FILES", 3)
    assert totals("zebra", 2) == (2, 3, False)
