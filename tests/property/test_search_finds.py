"""Whatever a search by hand finds, `search`, `recall`, prompts and `memory_search` find, in stores of any size."""

import json
import os
import random
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

import pytest

from gitmem.mcp.reads import memory_search
from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.search.query import fold
from gitmem.search.recall import recall
from gitmem.search.scan import FOLDER
from gitmem.search.sources import renew_texts
from gitmem.tell.prompt import plain_query
from tests.copies import StoreCopies
from tests.mcp.conftest import call_on, unfenced

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MEGABYTE = 1_000_000
# Words of development, some with synonyms: nearly every file has them.
COMMON = ("timeout", "retry", "cursor", "database", "config", "cache", "환불", "테스트")
FILE_BYTES = 20_000


class Words:
    """Made-up words, each less frequent than the one before."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.all = [
            "".join(dice.choice("bcdfghklmnprstvz") + dice.choice("aeiou") for _ in range(dice.randint(2, 4)))
            for _ in range(20_000)
        ]
        self._weights = list(accumulate(1 / (place + 3) for place in range(len(self.all))))
        self._drawn: list[str] = []

    def line(self) -> str:
        if len(self._drawn) < 20:  # drawing many at once takes a fifth of the time
            self._drawn = self._dice.choices(self.all, cum_weights=self._weights, k=50_000)
        words = [self._drawn.pop() for _ in range(20)]
        return " ".join([*words, self._dice.choice(COMMON)])


def fill(root: Path, size: int, dice: random.Random) -> list[str]:
    """Write sessions and facts of `size` bytes; return lines of them."""
    words = Words(dice)
    kept, written, number = [], 0, -1
    while written < size:
        number += 1
        month, is_fact = f"{2020 + number // 1200}/{number // 100 % 12 + 1:02}", number % 5 == 0
        path = root / (
            f"facts/rule/r{number:010}-a.md"
            if is_fact
            else f"sessions/{month}/{month[:4]}{month[5:]}01_{number:06}_a.md"
        )
        lines = [words.line() for _ in range(1 if is_fact else FILE_BYTES // 130)]
        lines[0] += f" module{number}"
        body = "".join(f"- [2026-01-01 10:00:00] **Exchange**: {line} ^x{at:010}\n" for at, line in enumerate(lines))
        if number == 1:  # the oldest session
            body += f"- [2019-01-01 10:00:00] **Decision** #seldom: {' '.join(COMMON)} ^d{number:010}\n"
        text = f"---\nid: r{number:010}\nfeedback: neutral\n---\n{lines[0] if is_fact else body}\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        written += len(text)
        kept.append(dice.choice(lines))
    return kept


def queries(lines: list[str], dice: random.Random) -> list[str]:
    """Return words of all frequencies and pairs of words of one line or of two."""
    found = [*COMMON, *(" ".join(dice.sample(COMMON, 2)) for _ in range(10))]
    while len(found) < 100:
        words, others = (dice.choice(lines).split() for _ in range(2))
        found += [dice.choice(words), words[-1], " ".join(dice.sample(words, 2)), f"{dice.choice(words)} {others[-1]}"]
    return found[:100]


@pytest.mark.parametrize(
    "megabytes",
    [
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(12, marks=pytest.mark.slow),
        pytest.param(120, marks=(pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3000))),
    ],
)
def test_what_the_files_have_every_door_finds(home, environ, tmp_path, new_store: StoreCopies, megabytes):
    dice = random.Random(megabytes)
    project = tmp_path / "project"
    project.mkdir()
    store = new_store(project, Context(environ, str(home), "box", lambda: NOW), NOW)
    lines = fill(project / ".gitmem", megabytes * MEGABYTE, dice)

    asked = queries(lines, dice)[:: {1: 8, 12: 4}.get(megabytes, 1)]  # what is run often takes fewer of them
    for query in asked:
        hits = answer(store, query).hits
        assert hits, query
        assert any(word in fold(hits[0].text) for word in query.split()), query
    for query, narrowed in zip(
        COMMON, ("tag:seldom", "type:decision", "until:2020-01-02", '"timeout retry"') * 2, strict=True
    ):
        assert [hit.entry for hit in answer(store, f"{query} {narrowed}").hits] == ["d0000000001"], (query, narrowed)
    assert not answer(store, "neutral").hits  # what only headers say nobody asks for
    os.makedirs(os.path.join(store.private, FOLDER), exist_ok=True)
    renew_texts(store)  # as the background does
    for query in asked[:: 1 if megabytes > 1 else 3]:
        hits = answer(store, plain_query(query), limit=12, vectors=False, beside="episodes", hurried=True).hits
        assert hits, query
        assert any(word in fold(hits[0].text) for word in query.split()), query
    for query in asked[:: len(asked) // 10]:
        assert recall(query, answer(store, query).hits, 2_000).text, query
        assert json.loads(unfenced(memory_search(call_on(store), query=query)[0].text))["hits"], query
