"""What the user said, wherever they said it, and only the user (spec J14 to J16): invented transcripts, end to end."""

from pathlib import Path

import pytest

from gitmem.document.entry import find_entries
from gitmem.learn.end import replay
from gitmem.model.exchange import split_fields
from gitmem.search.engine import answer
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store

DATA = Path(__file__).resolve().parents[1] / "data" / "words"


def again(desk) -> Store:
    desk.store = Store(desk.store.root, desk.store.context)
    return desk.store


def exchanges(desk) -> list:
    """Return the exchanges in the daily logs."""
    days = sorted(Path(desk.store.root).glob("daily/*/*/*.md"))
    found = [entry.entry for day in days for entry in find_entries(day.read_text("utf-8"))]
    return [split_fields(entry.text) for entry in found if entry.label == "Exchange"]


def finds(desk, query: str) -> bool:
    return bool(answer(again(desk), query, vectors=False).hits)


def rules(desk) -> list[str]:
    return [fact.description for fact in known_facts(again(desk))]


@pytest.mark.parametrize(
    "name, found, rule",
    [
        ("answer-to-a-question", ("Parquet", "host machine"), ""),
        ("refusal-with-words", ("looked at the diff",), "never commit"),
        ("message-while-the-agent-works", ("always add a new one",), "migration"),
        ("codex-second-message-in-a-turn", ("compare with ours", "run_list.jsonl"), "run_list.jsonl"),
        ("notice-of-a-background-task", ("footer component",), ""),
        ("opencode-export", ("footer",), ""),
    ],
)
def test_each_word_of_the_user_is_logged_and_found(desk, name, found, rule):
    path = next(DATA.glob(f"{name}.*"))
    done = replay(desk.store, str(path))
    assert done.turns
    logged = "\n".join(
        (*(one.request for one in exchanges(desk)), *(text for one in exchanges(desk) for text in one.words))
    )
    for words in found:
        assert words in logged
        assert finds(desk, f'"{words}"')
    assert not rule or any(rule in fact for fact in rules(desk))
    assert not replay(again(desk), str(path)).saved


def test_nobody_typed_a_notice_or_what_the_host_says_for_the_agent(desk):
    replay(desk.store, str(DATA / "notice-of-a-background-task.jsonl"))
    assert [one.answer[:20] for one in exchanges(desk) if one.request] == ["The footer component"]
    assert len(exchanges(desk)) <= 2
    replay(again(desk), str(DATA / "refusal-with-words.jsonl"))
    assert not any("No response requested" in one.answer for one in exchanges(desk))
    assert not any("doesn't want to proceed" in "".join(one.errors) for one in exchanges(desk))
