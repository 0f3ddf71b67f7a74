"""An undo is a merge: of any saves, rotations and undos, what is taken back goes and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.archives.plans import Limits, plan_rotation
from gitmem.document.document import Document
from gitmem.document.entry import Entry, MemoryType, add_entry, entry_ids, find_entries
from gitmem.document.ids import MEMORY, archive_path, make_id, summary_path
from gitmem.history.undo import (
    FileChange,
    UndoConflictError,
    carry_over,
    introduced,
    plan_undo,
    rotated,
)

EMPTY_MEMORY = (
    b"---\nid: memory\nkind: memory\n---\n# Memory\n\n## Core Decisions\n\n## Current State\n\n"
    b"## Recent Context\n\n## Known Issues\n"
)
DAY = "daily/2026/11/2026-11-21.md"
EMPTY_DAY = b"---\nid: day-2026-11-21\nkind: daily\n---\n# 2026-11-21\n\n## Timeline\n"
ARCHIVE = archive_path("20261121_140000")


def entry(number, text="text"):
    return Entry(make_id(1_700_000_000_000 + number, b"abcdefg"), "12:00:00", "Note", text)


def add(data, section, item):
    document = Document.parse(data)
    return document.with_body(add_entry(document.body, section, item, document.newline)).render()


def ids(data):
    return entry_ids(data.decode()) if data else set()


class Memory:
    """The files of a store and what each commit did to them, as the rest of gitmem does it."""

    def __init__(self):
        self.files = {MEMORY: EMPTY_MEMORY}
        self.commits = []

    def commit(self, files):
        changes = [FileChange(path, self.files.get(path), content) for path, content in files.items()]
        self.commits.append([change for change in changes if change.before != change.after])
        self.files = self.files | files

    def save(self, number, kind=MemoryType.NOTE, text="text"):
        item = entry(number, text)
        day = self.files.get(DAY) or EMPTY_DAY
        memory = self.files[MEMORY] or EMPTY_MEMORY
        self.commit({DAY: add(day, kind.label, item), MEMORY: add(memory, kind.section, item)})
        return item.id

    def rotate(self, archive):
        data = self.files[MEMORY]
        body = Document.parse(data).body
        header = data[: len(data) - len(body.encode())].decode()
        plan = plan_rotation(body, header=header, stamp="x", taken=(), limits=Limits(len(data) // 4, len(data) // 16))
        assert plan is not None
        self.commit({archive: data, MEMORY: plan.remaining.encode()})

    def undo(self, number):
        changes = self.commits[number]
        current = {path: self.files.get(path) for path in {MEMORY, *(change.path for change in changes)}}
        new = introduced(changes)
        current |= {path: content for path, content in self.files.items() if ids(content) & new}
        if archive := rotated(changes):
            current |= {path: self.files.get(path) for path in (archive, summary_path(archive))}
        self.commit(plan_undo(changes, current))

    def ids(self):
        return set().union(*map(ids, self.files.values()))


SAVE = st.tuples(st.sampled_from(MemoryType), st.sampled_from(["text", "two\n\nlines", "## no heading"]))
SAVES = st.lists(SAVE)


@given(SAVES)
def test_what_is_undone_from_the_last_on_leaves_no_trace(saves):
    memory = Memory()
    states = []
    for number, what in enumerate(saves):
        states.append(memory.files)
        memory.save(number, *what)
    for number, files in reversed(list(enumerate(states))):
        memory.undo(number)
        assert {path: text for path, text in memory.files.items() if text is not None} == files


@given(SAVES.filter(bool), st.data())
def test_undoing_an_undo_brings_back_the_entries_where_they_stood(saves, data):
    memory = Memory()
    for number, what in enumerate(saves):
        memory.save(number, *what)
    before = {
        path: sorted(find_entries(text.decode()), key=lambda f: f.entry.id) for path, text in memory.files.items()
    }
    memory.undo(data.draw(st.integers(0, len(saves) - 1)))
    later = memory.save(len(saves), text="meanwhile")
    memory.undo(len(saves))
    for path, found in before.items():
        now = {f.entry.id: f.entry for f in find_entries(memory.files[path].decode())}
        assert now.pop(later).text == "meanwhile"
        assert now == {f.entry.id: f.entry for f in found}


@given(st.lists(st.sampled_from(["save", "rotate", "undo save", "undo rotation", "redo"]), max_size=25), st.data())
def test_whatever_is_undone_nothing_else_is_lost(actions, data):
    memory = Memory()
    live, gone, rotations = {}, {}, []
    for action in actions:
        number = len(memory.commits)
        if action == "save":
            live[memory.save(number, *data.draw(SAVE))] = number
        elif action == "rotate" and len(ids(memory.files[MEMORY])) > 1:
            memory.rotate(archive_path(f"{number:02d}"))
            rotations.append(number)
        elif action == "undo save" and live:
            identifier = data.draw(st.sampled_from(sorted(live)))
            memory.undo(live.pop(identifier))
            gone[identifier] = number
        elif action == "redo" and gone:
            identifier = data.draw(st.sampled_from(sorted(gone)))
            memory.undo(gone.pop(identifier))
            live[identifier] = number
        elif action == "undo rotation" and rotations:
            rotation = rotations.pop()
            in_archive = ids(memory.files[rotated(memory.commits[rotation])])
            memory.undo(rotation)
            assert in_archive <= ids(memory.files[MEMORY])
        assert memory.ids() == set(live)
        assert ids(memory.files.get(DAY)) == set(live)
        if not live and "rotate" not in actions:
            assert memory.files[MEMORY] == EMPTY_MEMORY
        assert set().union(*(ids(text) for path, text in memory.files.items() if path != DAY)) == set(live)


@pytest.mark.parametrize(
    "before,after,current",
    [
        (b"one\n", b"two\n", b"three\n"),
        (b"one\n", b"two\n", None),
        (None, b"two\n", b"three\n"),
        (b"one\n", None, b"three\n"),
    ],
)
def test_what_has_changed_again_is_a_conflict(before, after, current):
    with pytest.raises(UndoConflictError) as raised:
        plan_undo([FileChange("notes.md", before, after)], {"notes.md": current})
    assert raised.value.path == "notes.md"


@pytest.mark.parametrize(
    "before,after,current,result",
    [
        (b"one\n", b"two\n", b"two\n", b"one\n"),
        (b"one\n", b"two\n", b"one\n", b"one\n"),
        (None, b"two\n", b"two\n", None),
        (None, b"two\n", None, None),
        (b"one\n", None, None, b"one\n"),
        (b"\xff\n", b"\xfe\x00\n", b"\xfe\x00\n", b"\xff\n"),
    ],
)
def test_what_has_not_changed_since_is_exactly_as_before(before, after, current, result):
    assert plan_undo([FileChange("notes.md", before, after)], {"notes.md": current}) == {"notes.md": result}


def test_crlf_stays():
    day = EMPTY_DAY.replace(b"\n", b"\r\n")
    one = add(day, "Note", entry(1))
    two = add(one, "Note", entry(2))
    assert plan_undo([FileChange(DAY, day, one)], {DAY: two})[DAY] == add(day, "Note", entry(2))
    result = carry_over(DAY, day, one, add(day, "Note", entry(2)))
    assert result == two


def test_a_fact_s_line_that_was_reworded_again_is_a_conflict():
    def memory(words):
        return add(EMPTY_MEMORY, "Core Decisions", Entry("df24gy2rt2h", "2026-11-21 12:00:00", "Decision", words))

    with pytest.raises(UndoConflictError):
        plan_undo([FileChange(MEMORY, memory("Use pip."), memory("Use uv."))], {MEMORY: memory("Use pixi.")})
