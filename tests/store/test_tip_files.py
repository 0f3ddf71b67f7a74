"""While the user has something else checked out in the store, every door reads the branch's tip."""

import contextlib
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.record.save import save
from gitmem.search.engine import answer
from gitmem.search.recall import read_memory, recall
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.tip_files import FOLDER
from gitmem.tell.guide import guide
from gitmem.tell.prompt import remembered
from tests.started import session_start

OLD, NEW = "The queue of the nightly price importer is RabbitMQ", "The queue of the nightly price importer is NATS"
QUESTION = "Which queue has the nightly price importer?"
DOORS = {
    "start": lambda store: session_start(store, (), None, ()),
    "search": lambda store: "\n".join(hit.text for hit in answer(store, QUESTION).hits),
    "recall": lambda store: recall(QUESTION, answer(store, QUESTION).hits, 2_000).text,
    "prompt": lambda store: remembered(store, QUESTION).text,
    "guide": lambda store: "\n".join(line.text for line in guide(store, QUESTION).lines),
    "facts": lambda store: "\n".join(fact.description for fact in known_facts(store)),
    "get": lambda store: read_memory(store, known_facts(store)[-1].id).text,
    "memory": lambda store: (store.read("memory.md") or b"").decode(),
}


def reopened(world) -> Store:
    return Store(world.store.root, world.store.context)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "begin, end",
    [
        ("bisect start HEAD HEAD~1", "bisect reset"),
        ("checkout -q --detach HEAD~1", "switch -q gitmem"),
        ("merge other", "merge --abort"),
    ],
)
def test_every_door_reads_the_tip_while_something_else_is_checked_out(world, bare_git, begin, end):
    git = lambda *words: bare_git(Path(world.store.root), *words)  # noqa: E731
    world.save(OLD, MemoryType.DECISION)
    git("switch", "-q", "-c", "other")
    memory = Path(world.store.root, "memory.md")
    memory.write_text("theirs\n", "utf-8")
    git("commit", "-qam", "theirs")
    git("switch", "-q", "gitmem")
    save(reopened(world), world.event(NEW, MemoryType.DECISION))
    before = {door: read(reopened(world)) for door, read in DOORS.items()}
    assert [door for door, text in before.items() if "NATS" not in text] == []
    with contextlib.suppress(Exception):  # a conflict
        git(*begin.split())
    if begin.startswith("bisect"):
        git("checkout", "-q", "HEAD~1")
    assert "NATS" not in memory.read_text("utf-8") or "<<<<" in memory.read_text("utf-8")
    texts = {door: read(reopened(world)) for door, read in DOORS.items()}
    assert [door for door, text in texts.items() if "NATS" not in text or "<<<<" in text] == []
    git(*end.split())
    save(reopened(world), world.event("The importer runs nightly", MemoryType.DECISION))
    assert not Path(world.store.private, FOLDER).exists()
