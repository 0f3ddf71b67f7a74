"""What a search finds, through the files of a real store."""

import unicodedata

import pytest

from gitmem.search import engine, ranking, sources
from gitmem.search.engine import answer
from gitmem.search.hits import LENGTH
from gitmem.search.query import parse_query
from gitmem.search.rank import FAR, LEAST_NEAR, NOTHING, UNKNOWN, Found, Ranked, coverages

ENTRY = "- [2026-11-2{n} 10:00:00] **Note**: {text} ^01m80m1r5d7wvtt7ft{n}{n}\n"


FOUND = {  # a text, and in which line the section of the best hit begins
    "other forms of a word": (
        "# One\n\nShe was painting two stories.\n\n# Two\n\nNothing of it.\n",
        dict.fromkeys(("paint", "painted", "story", "PAINTS", "who painted a story?"), 1),
    ),
    "Korean words without particles": (
        "# 하나\n\n환불테스트를 고쳤다.\n\n# 둘\n\n다른 이야기.\n",
        {"테스트는 어떻게 고쳤나요?": 1, "환불을": 1, "환불하려면": 1},
    ),
    "Korean words written together where the text has them apart": (
        "# 하나\n\n커밋 메시지는 짧게 쓴다.\n\n# 둘\n\n결제 화면과 메시지 이야기.\n\n# 셋\n\n로그인 화면.\n",
        {
            "커밋메시지": 1,
            "커밋메시지를 어떻게 쓰지": 1,
            "결제화면": 5,
            "메시지 결제화면에서": 5,
            "결제화면과메시지": 5,
        },
    ),
    "Japanese and Chinese within a line": (
        "# A\n\n今日は東京の天気がいい\n\n# B\n\n数据库的索引\n",
        {"東京の天気": 1, "索引": 5},
    ),
    "a term inside a word where nothing better is": ("# A\n\nreorganization\n", {"ganiz": 1}),
    "stop words alone": ("# A\n\nThis is what it was.\n", {"what was it": 1}),
    "what has no letter": ("# A\n\nx -> y\n\n# B\n\nnothing\n", {"->": 1}),
    "letters and marks that stand apart": (
        unicodedata.normalize("NFD", "# A\n\n환불 테스트 and a café\n"),
        {"환불을": 1, "café": 1, '"환불 테스트"': 1},
    ),
}


@pytest.mark.parametrize("text, queries", FOUND.values(), ids=FOUND)
def test_words_are_found(shelf, text, queries):
    shelf.write("knowledge/a.md", text)

    assert {query: shelf.places(query)[0][1] for query in queries} == queries


def test_no_word_is_found_in_the_hex_digits_of_an_id(shelf):
    shelf.write(
        "knowledge/a.md", "# A\n\nSee 5ec8991a-53f0-40aa-91d4-db618bc70913 of then.\n\n# B\n\nThe db2 server.\n"
    )
    assert [line for _, line in shelf.places("db")] == [5]


def test_korean_words_are_looked_for_apart_only_where_the_text_has_them_so(shelf, monkeypatch):
    searches, passes = [], []
    search, scan = engine._search, sources.Documents.scan
    monkeypatch.setattr(
        engine, "_search", lambda store, query, *rest: searches.append(query) or search(store, query, *rest)
    )
    monkeypatch.setattr(sources.Documents, "scan", lambda *asked, **more: passes.append(1) or scan(*asked, **more))

    shelf.write("knowledge/a.md", "# 하나\n\n커밋 메시지는 짧게 쓴다.\n")
    for large in (False, True):
        monkeypatch.setattr(sources, "FEW_FILES", 0 if large else 200)
        counts = {}
        for query in ("커밋메시지", "결제화면"):
            searches.clear()
            passes.clear()
            shelf.places(query)
            counts[query] = len(searches)
            assert len(passes) == (len(searches) if large else 0)  # none only asks whether a word stands apart
        assert counts == {"커밋메시지": 3, "결제화면": 2}  # each was looked for decomposed, too


def test_a_request_that_nobody_answered_stands_behind_the_fact_that_answers(shelf):
    asked = "which port does the staging database use"
    requests = "".join(
        f"- [10:00:0{n}] **Exchange** #5f0c2a7e: {asked}? ^xrr0fya7zz{n}\n\n  **Outcome:** interrupted\n"
        for n in range(3)
    )
    shelf.write("daily/2026/11/2026-11-20.md", f"# 2026-11-20\n\n{requests}")
    fact = "The staging database listens on port 5433"
    shelf.write("facts/rule/r0123456789-a.md", f"---\nid: r0123456789\nkind: rule\n---\n{fact}.\n")

    assert shelf.paths(f"{asked}?")[0] == "facts/rule/r0123456789-a.md"


def test_an_entry_between_two_that_match_is_found_before_one_that_stands_alone(shelf):
    texts = ["zebra crossing", "the zebra ran", "zebra stripes", *["filler"] * 6, "one zebra here"]
    lines = "".join(
        f"- [2026-11-21 10:{n:02}:00] **Note**: {text} ^01m80m1r5d7wvtt7ft{n:02}\n" for n, text in enumerate(texts)
    )
    shelf.write("daily/2026/11/2026-11-21.md", lines)

    starts = [start for _, start in shelf.places("zebra")]

    assert starts[0] == 2
    assert starts[-1] == 10


def dated(day: str, number: int) -> str:
    return f"- [{day} 10:00:00] **Note**: use the cache ^01m80m1r5d7wvtt7ft{number:02}\n"


def test_of_equals_the_newer_and_the_one_in_memory_come_first(shelf):
    days = {"2026-11-20": 1, "2026-10-01": 2, "2025-01-01": 3}
    for day, number in days.items():
        shelf.write(f"archive/memory_{number}.md", f"## Notes\n\n{dated(day, number)}")

    assert [hit.date[:10] for hit in shelf.search("cache")] == list(days)

    shelf.write("memory.md", f"## Notes\n\n{dated('2026-11-20', 4)}")

    assert shelf.paths("cache")[0] == "memory.md"


def test_a_better_hit_stays_before_a_newer_one(shelf):
    shelf.write("archive/memory_1.md", "## Notes\n\n" + dated("2020-01-01", 1).replace("cache", "wheel cache"))
    shelf.write("memory.md", f"## Notes\n\n{dated('2026-11-21', 2)}")
    assert shelf.paths("wheel cache")[0] == "archive/memory_1.md"


def test_the_total_counts_hits_beyond_the_limit(shelf, monkeypatch):
    for number in range(5):
        shelf.write(f"knowledge/{number}.md", f"# A\n\nzebra {number}\n")
    shelf.write("daily/2026/11/2026-11-20.md", "".join(ENTRY.format(n=n, text="horse") for n in range(4)))

    def totals(query, limit):
        found = answer(shelf.store, query, limit=limit)
        return len(found.hits), found.total, found.complete

    assert totals("zebra", 2) == (2, 5, True)
    assert totals("zebra", 0) == (5, 5, True)
    assert totals("type:note", 2) == (2, 4, True)
    monkeypatch.setattr(ranking, "_MORE", 1)
    assert totals("type:note", 2) == (2, 3, False)
    monkeypatch.setattr(sources, "FEW_FILES", 3)
    monkeypatch.setattr(sources, "MOST_FILES", 3)
    assert totals("zebra", 2) == (2, 3, False)


def test_a_fact_is_one_hit_and_its_header_and_line_in_memory_are_views_of_it(shelf):
    text = "Invoices go through RabbitMQ, as it retries failed ones by itself and needs no code for it."
    shelf.write(
        "facts/decision/d4f7k2m9q0x-queue.md",
        f"---\nid: d4f7k2m9q0x\nkind: decision\nkeywords: [broker, queue]\n---\n{text}\n",
    )

    (hit,) = shelf.search("which broker")
    assert (hit.start, hit.text, hit.entry, hit.field) == (6, text, "d4f7k2m9q0x", "")

    shelf.write("memory.md", "- [2026-11-21 10:01:00] **Decision**: Invoices go through RabbitMQ. ^d4f7k2m9q0x\n")
    assert shelf.paths("RabbitMQ") == ["facts/decision/d4f7k2m9q0x-queue.md"]


@pytest.mark.parametrize(
    "query", ["session timeout", "session", "active", "source", "confidence", "created", "status", "keywords", "cli"]
)
@pytest.mark.parametrize("most", [1, 100])
def test_names_and_values_of_a_header_are_no_words_of_a_fact(shelf, query, most, monkeypatch):
    monkeypatch.setattr(sources, "FEW_FILES", most)
    monkeypatch.setattr(sources, "MOST_FILES", most)
    origin = "origin: {tool: cli, session: 1b4e51f0}\nsources: [01m80m1r5d7wvtt7ft11]\nkeywords: [broker]"
    header = f"kind: decision\nstatus: active\ncreated: 2026-11-21T10:00:00Z\nconfidence: 0.9\n{origin}"
    for letter in "abcd":
        path = f"facts/decision/d4f7k2m9q{letter}x-queue.md"
        shelf.write(path, f"---\nid: d4f7k2m9q{letter}x\n{header}\n---\nInvoices {letter} go through RabbitMQ.\n")

    assert shelf.paths(query) == []
    shelf.write("notes/own.md", f"Somebody wrote: {query}\n")
    assert shelf.paths(query) == ["notes/own.md"]


def test_what_an_agent_said_between_its_tool_calls_counts_less_than_its_answer(shelf):
    filler = "".join(f"  Paragraph {n} tells of wood and stone and water at some length.\n\n" for n in range(60))
    entry = "- [1{n}:00:00] **Exchange** #1b4e51f0: How do we build it? ^x4f7k2m9q0{n}\n\n"
    between = f"{entry.format(n=1)}  **Answer:** Done.\n\n{filler}  **Said:** Zinc, the zinc of railings.\n"
    other = filler.replace("wood and stone and water", "bread and salt and cheese")
    at_end = f"{entry.format(n=2)}  **Answer:** Railings of zinc.\n\n{other}  **Said:** Let me look.\n"
    shelf.write("daily/2026/11/2026-11-20.md", f"{between}\n{at_end}")

    hits = shelf.search("zinc railings")

    assert [hit.entry for hit in hits] == ["x4f7k2m9q02", "x4f7k2m9q01"]
    assert "Zinc, the zinc" in hits[1].passage


def test_what_shares_little_with_a_query_is_weak(shelf):
    for number, word in enumerate(("server", "client", "cache", "login", "cart", "order", "mail")):
        shelf.write(f"knowledge/{number}.md", f"# {word}\n\nThe {word} of the shop is written in Python.\n")

    assert not shelf.search("what is the cart written in")[0].weak
    assert {hit.weak for hit in shelf.search("which monthly infrastructure costs has the shop")} == {True}
    assert [hit.weak for hit in shelf.search("type:note -x shop")] == []


def test_another_word_for_the_same_thing_is_found_and_a_word_of_the_query_comes_first(shelf):
    shelf.write("knowledge/a.md", "# Checks\n\nLinted with `mise run lint`.\n\n# Other\n\nTasks run by mise.\n")
    assert shelf.places("which linter do we use")[0] == ("knowledge/a.md", 1)
    assert not shelf.search("which linter do we use")[0].weak

    shelf.write("knowledge/b.md", "# Package\n\nAll of it is managed by pnpm.\n")
    assert shelf.paths("package manager")[0] == "knowledge/b.md"
    assert shelf.paths("패키지 설치") == ["knowledge/b.md"]


def test_an_identifier_does_not_count_once_more_for_each_of_its_parts(shelf):
    shelf.write(
        "knowledge/a.md", "# A\n\nshop-api, the shop-api, api of the shop\n\n# B\n\nThe shop-api logs as lines.\n"
    )

    assert shelf.places("logs of the shop-api")[0] == ("knowledge/a.md", 5)


def test_a_hit_is_weak_if_it_is_far_from_the_query_and_good_if_it_is_near(shelf):
    shelf.write("knowledge/a.md", "# A\n\nmallet\n")
    units = sources.work_tree(shelf.store, parse_query("mallet").terms, ["mallet"], lambda _: True, most=9).read[0]

    def weak(found: Found, near: float) -> bool:
        return coverages([Ranked(1.0, units, 0, found, (1.0,), near=near)], parse_query("mallet"))[0].weak

    with_word = Found({0: 1.0}, [])
    assert [weak(with_word, near) for near in (0.0, FAR, UNKNOWN)] == [True, False, False]
    assert [weak(NOTHING, near) for near in (UNKNOWN, FAR, LEAST_NEAR)] == [True, True, False]


FACT = """---
id: {id}
kind: decision
status: {status}
created: 2026-11-01T10:00:00+00:00
{more}---
{text}
"""


def put(shelf, identifier, text, status="active", more=""):
    shelf.write(f"facts/decision/{identifier}-x.md", FACT.format(id=identifier, text=text, status=status, more=more))


def test_a_fact_names_the_session_in_which_it_was_learned(shelf):
    put(shelf, "d000000000a", "Use Redis for the session cache.", more="origin: {session: 1b4e51f0-5f0c}\n")

    assert [hit.session for hit in shelf.search("redis")] == ["1b4e51f0-5f0c"]


@pytest.mark.parametrize(
    "successor", ["Use Memcached for sessions.", f"Use Memcached for {'very long ' * 20}sessions."]
)
@pytest.mark.parametrize("before, behind", [("", ""), ("Then. " * 40, ""), ("", " And so on." * 40), ("", " Go." * 8)])
def test_a_snippet_has_at_most_200_characters_with_what_holds_now(shelf, successor, before, behind):
    put(shelf, "d000000000a", successor)
    put(shelf, "d000000000b", "Use Redis for all the sessions.", "superseded", "superseded_by: d000000000a\n")
    shelf.write("daily/2026/11/2026-11-02.md", f"{before}We use Redis for all the sessions.{behind}\n")

    found = answer(shelf.store, "redis sessions")
    [shown] = [hit.shown_snippet for hit in found.hits if hit.path.startswith("daily/")]
    assert len(shown) <= LENGTH
    assert "Redis for all the sessions. [superseded since 2026-11-01, now: Use Memcached for" in shown
    assert (f"{successor}]" in shown) is (len(successor) < 100)
