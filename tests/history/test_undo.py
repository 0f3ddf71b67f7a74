import subprocess
import sys
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.archive.rotate import check
from gitmem.config.values import RotationConfig
from gitmem.document.document import Document
from gitmem.document.entry import Entry, MemoryType, add_entry, entry_ids, find_entries
from gitmem.document.ids import MEMORY, archive_path, make_id, summary_path
from gitmem.errors import GitmemError, NotFoundError
from gitmem.history.origin import undone_commits
from gitmem.history.plan_undo import FileChange, UndoConflictError, introduced, plan_undo, rotated
from gitmem.history.records import records
from gitmem.history.sessions import count_sessions, last_save, sessions
from gitmem.history.undo import undo
from gitmem.learn.facts import learn
from gitmem.model.rotation import plan_rotation
from gitmem.model.turns import Turn
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.copies import accept
from tests.own_settings import own_settings
from tests.world import LISTED, NOON, Clock, World, converge, make_pair


class Memory(World):
    """A store in a project, with time that moves on a minute at each look."""

    def configure(self, text):
        (self.root / "config.yaml").write_text(text)
        self.git("commit", "-qam", "configure")
        own_settings(self.context, text)
        self.reopen()

    def rotate(self):
        """Rotate `memory.md`, however small it is."""
        self.configure("rotation:\n  threshold_tokens: 150\n  carryover_tokens: 30\n")
        found, _ = check(self.store)
        assert found.archive
        assert self.git("log", "-1", "--format=%(trailers:key=Gitmem-Op,valueonly)").strip() == "summarize"
        rotation = self.git("rev-parse", "HEAD~1")
        self.configure("")
        return rotation, found.archive

    def undo(self, *args, **options):
        result = undo(self.store, *args, **options)
        self.healthy()
        return result

    def healthy(self):
        assert self.git("status", "--porcelain") == ""
        assert self.git("fsck", "--strict", "--no-dangling") == ""

    def read(self, path):
        file = self.root / path
        return file.read_text() if file.exists() else None

    def texts(self):
        """Return the files of the store that hold anything of the memory, by path."""
        paths = self.git("ls-files", "*.md").splitlines()
        return {path: self.read(path) for path in paths if path != "FORMAT.md"}

    def ids(self):
        return set().union(*(entry_ids(text) for text in self.texts().values()))


@pytest.fixture
def memory(world, context):
    return Memory(world.root, context._replace(clock=Clock(NOON, timedelta(minutes=1))))


def test_without_an_argument_another_author_s_save_stays(memory):
    one, two = memory.save("one"), memory.save("two")
    memory.git("commit", "-q", "--amend", "--no-edit", "--author=Bob <bob@example.org>")
    assert memory.undo().undone[0].commit == one.commit
    assert memory.ids() == {two.id}
    with pytest.raises(NotFoundError, match="of yours"):
        memory.undo()


@pytest.mark.parametrize("length", [26, 8])
def test_by_the_id_of_the_entry(memory, length):
    saved = memory.save("one")
    memory.context.clock.now += timedelta(days=400)
    memory.save("two")
    assert memory.undo(revision=f"^{saved.id}"[:length]).undone[0].commit == saved.commit
    assert saved.id not in memory.ids()


def test_a_rotation_that_another_one_followed(memory):
    memory.save("one " * 200)
    first, _ = memory.rotate()
    memory.save("two " * 200)
    second, _ = memory.rotate()
    tip = memory.tip
    with pytest.raises(GitmemError, match=second[:10]):
        memory.undo(revision=first)
    assert memory.tip == tip
    memory.undo(revision=second)
    memory.undo(revision=first)
    assert memory.git("ls-files", "archive") == ""
    assert entry_ids(memory.read("memory.md")) == memory.ids()


@pytest.mark.slow
def test_rotations_of_two_machines_that_met_do_not_wait_for_each_other(machine):
    first, second = make_pair(machine)
    one = first.save("one " * 200).id
    first.sync()
    second.sync()
    own_settings(first.context, f"{LISTED}rotation:\n  threshold_tokens: 150\n  carryover_tokens: 30\n")
    for each in (first, second):
        each.store = Store(str(each.root), each.context)
        assert check(each.store)[0].archive
    converge(first, second)
    for rotation in first.git("log", "--format=%H", "--grep=^Gitmem-Op: rotate").splitlines():
        undo(first.store, revision=rotation)
    assert first.git("ls-files", "archive") == ""
    assert one in entry_ids(first.read("memory.md"))
    converge(first, second)


def test_a_rotation_whose_archive_lost_its_save_and_then_left_the_tree(memory):
    one = memory.save("one " * 200)
    rotation, archive = memory.rotate()
    assert one.id in memory.read(archive)
    assert archive in memory.undo(revision=one.commit).files
    assert memory.ids() == set()
    two = memory.save("two " * 200)
    memory.git("rm", "-q", archive)
    memory.git("commit", "-qm", "Away with it")
    memory.undo(revision=rotation)
    assert memory.ids() == {two.id}


def test_a_rotation_that_is_undone_says_that_it_will_come_again(memory):
    memory.save("one " * 30_000)
    memory.save("two")
    done = memory.undo(revision="HEAD~2")
    assert done.undone[0].op == "rotate"
    assert memory.git("ls-files", "summaries") == ""
    assert "next save rotates" in done.notices[0]


def test_two_machines_undo_the_same_and_then_meet(memory, tmp_path, bare_git):
    kept, saved = memory.save("kept"), memory.save("gone")
    other = tmp_path / "other" / ".gitmem"
    bare_git(tmp_path, "clone", "-q", str(memory.root), str(other))
    undo(accept(other.parent, memory.context), revision=saved.commit)
    first = memory.undo(revision=saved.commit)
    memory.git("pull", "-q", "--no-rebase", "--no-edit", str(other), "gitmem")
    again = memory.undo(revision=saved.commit)
    assert again.commit is None
    assert [item.commit for item, _ in again.already] == [saved.commit]
    memory.undo(revision=first.commit)
    assert memory.ids() == {kept.id, saved.id}
    memory.undo(revision=saved.commit)
    assert memory.ids() == {kept.id}


def test_two_processes_at_once(memory, environ):
    kept, saved = memory.save("kept"), memory.save("gone")
    command = [sys.executable, "-m", "gitmem", "-C", str(memory.root.parent), "undo", saved.commit]
    both = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted(b"already" in out for out, _ in said) == [False, True], said
    assert memory.git("rev-list", "--count", "--grep=Gitmem-Undoes", "HEAD") == "1"
    assert memory.ids() == {kept.id}
    memory.healthy()


def test_what_a_message_says_it_undoes_starts_no_process_for_each(world, git_starts):
    """A commit that came from elsewhere may name as many as it likes, and whatever it likes."""
    world.commit({"a.md": b"1\n"})
    named = " ".join(f"{number:07x}" for number in range(3_000))
    hostile = f"x\n\nGitmem-Op: undo\nGitmem-Undoes: {named} --output=x HEAD^{{/((a*)*)*b}} {world.tip[:9]}\n"
    world.git("commit", "--allow-empty", "-qm", hostile)
    git_starts.clear()
    found = undone_commits(world.reopen().repository.git, "HEAD")
    assert len(git_starts) == 2
    assert found[world.git("rev-parse", "HEAD~1")] == world.tip


# An undo is a merge: of any saves, rotations and undos, what is taken back goes and nothing else does


EMPTY_MEMORY = (
    b"---\nid: memory\nkind: memory\n---\n# Memory\n\n## Core Decisions\n\n## Current State\n\n"
    b"## Recent Context\n\n## Known Issues\n"
)
DAY = "daily/2026/11/2026-11-21.md"
EMPTY_DAY = b"---\nid: day-2026-11-21\nkind: daily\n---\n# 2026-11-21\n\n## Timeline\n"


def entry(number, text="text"):
    return Entry(make_id(1_700_000_000_000 + number, b"abcdefg"), "12:00:00", "Note", text)


def add(data, section, item):
    document = Document.parse(data)
    return document.with_body(add_entry(document.body, section, item, document.newline)).render()


def ids(data):
    return entry_ids(data.decode()) if data else set()


class Model:
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
        plan = plan_rotation(
            body, header=header, stamp="x", taken=(), limits=RotationConfig(len(data) // 4, len(data) // 16)
        )
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
    memory = Model()
    states = []
    for number, what in enumerate(saves):
        states.append(memory.files)
        memory.save(number, *what)
    for number, files in reversed(list(enumerate(states))):
        memory.undo(number)
        assert {path: text for path, text in memory.files.items() if text is not None} == files


@given(SAVES.filter(bool), st.data())
def test_undoing_an_undo_brings_back_the_entries_where_they_stood(saves, data):
    memory = Model()
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
    memory = Model()
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


def test_a_fact_s_line_that_was_reworded_again_is_a_conflict():
    def memory(words):
        return add(EMPTY_MEMORY, "Core Decisions", Entry("df24gy2rt2h", "2026-11-21 12:00:00", "Decision", words))

    with pytest.raises(UndoConflictError):
        plan_undo([FileChange(MEMORY, memory("Use pip."), memory("Use uv."))], {MEMORY: memory("Use pixi.")})


def test_a_learned_fact_s_id_is_told_apart_from_a_save_s(memory):
    turn = Turn("s", "claude-code", "p", NOON, NOON, "Decision: keep prices in cents.", "Done.", closed=True)
    learn(memory.store, "s", "claude-code", [turn])
    (fact,) = known_facts(memory.store)
    with pytest.raises(NotFoundError, match=f"{fact.id} is a fact") as refused:
        memory.undo(revision=fact.id)
    assert f"gitmem facts retire {fact.id}" in refused.value.remedy


def test_a_session_named_by_its_id_alone_is_undone_as_by_the_option(world):
    for text in ("Use uv.", "Use ruff."):
        save(world.store, world.event(text)._replace(session="one-session"))
    done = undo(world.store, revision="one-session")
    assert len(done.undone) == 2
    assert world.git("log", "-1", "--format=%s").strip() == "Undo session one-session (2 commits)"


def test_what_is_learned_of_an_undone_session_does_not_count_it_again(world):
    for name in ("one", "two"):
        save(world.store, world.event("Use uv.")._replace(session=f"{name}-session"))
    assert count_sessions(world.store) == len(sessions(world.store)) == 2
    undo(world.store, session="one-session")
    assert count_sessions(world.store) == 1
    learned = "Learn\n\nGitmem-Op: learn\nGitmem-Session: one-session"
    world.commit_file("concepts/a.md", "A\n", learned)
    world.reopen()
    assert count_sessions(world.store) == len(sessions(world.store)) == 1
    assert last_save(world.store, records(world.store)).session == "two-session"
