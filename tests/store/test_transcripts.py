"""Transcripts can be forgotten, all or the older ones, and their room is free; memory stays as it is."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gitmem.document.ids import check_path
from gitmem.errors import BusyError, RefusedError, UnfinishedError
from gitmem.git.packing import every_object
from gitmem.git.trust import GITMEM
from gitmem.model.exchange import file_name
from gitmem.platform.machine import Context
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.store import transcripts
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.store.transcripts import REF, forget_transcripts, put, read, ref_name_of, sessions
from tests.copies import new_repository
from tests.own_settings import own_settings
from tests.world import World


def _fill(world: World) -> None:
    for month in (1, 2, 3):
        lines = ['{"role": "user", "text": "said in month %d, %d"}' % (month, number) for number in range(50)]  # noqa: UP031
        put(world.store, f"session-{month}", datetime(2026, month, 5, tzinfo=UTC), lines)
    world.commit({"memory.md": b"# Memory\n"})


def _holds(world: World, text: bytes) -> bool:
    return any(text in data for _, data in every_object(world.store.repository.git))


def test_all_transcripts_are_forgotten_and_nothing_else(world: World):
    _fill(world)
    tip = world.tip
    planned = forget_transcripts(world.store, dry_run=True)
    assert (planned.sessions, planned.kept) == (3, 0)
    assert len(sessions(world.store)) == 3
    done = forget_transcripts(world.store)
    assert done.freed > 0
    assert sessions(world.store) == []
    assert not _holds(world, b"said in month")
    assert world.tip == tip
    world.sound()
    put(world.store, "session-4", datetime(2026, 4, 5, tzinfo=UTC), ["{}"])
    assert len(sessions(world.store)) == 1


def test_what_a_killed_process_left_of_the_same_pack_is_no_obstacle(world: World):
    """Within a second the same transcript makes the same pack; a killed fast-import leaves its `.keep`."""
    at = datetime(2026, 1, 5, tzinfo=UTC)
    store = Store(world.store.root, world.store.context._replace(clock=lambda: at))
    said = "session-1", at, ['{"role": "user", "text": "said"}']
    packs = Path(store.repository.layout.common_dir, "objects", "pack")
    before = set(packs.glob("*.pack"))
    commit = put(store, *said)
    [pack] = set(packs.glob("*.pack")) - before
    ref = f"{REF}/{ref_name_of(store.identity().result().email)}"
    store.repository.git.run("update-ref", ref, f"{ref}^")
    for path in packs.glob(f"{pack.stem}.*"):
        path.unlink()
    pack.with_suffix(".keep").write_text("fast-import")
    assert put(store, *said) == commit


def test_only_the_older_ones_are_forgotten(world: World):
    _fill(world)
    done = forget_transcripts(world.store, datetime(2026, 3, 1, tzinfo=UTC))
    assert (done.sessions, done.kept) == (2, 1)
    assert read(world.store, "session-3") is not None
    assert not _holds(world, b"said in month 1")
    assert not _holds(world, b"said in month 2")
    world.sound()
    assert forget_transcripts(world.store, datetime(2026, 3, 1, tzinfo=UTC)).sessions == 0


def test_a_transcript_that_comes_before_the_lock_is_held_stays(world: World, monkeypatch):
    _fill(world)
    real = Store.lock

    def late(store, purpose):
        monkeypatch.undo()
        put(store, "late", datetime(2026, 4, 5, tzinfo=UTC), ["{}"])
        return real(store, purpose)

    monkeypatch.setattr(Store, "lock", late)
    done = forget_transcripts(world.store, datetime(2026, 4, 1, tzinfo=UTC))
    assert (done.sessions, done.kept) == (3, 1)
    assert [one.session for one in sessions(world.store)] == ["late"]


def test_what_is_synced_is_not_forgotten_only_to_come_back(world: World):
    _fill(world)
    own_settings(world.context, "sync:\n  transcripts: true\n")
    world.git("config", "remote.origin.url", "/nowhere")
    with pytest.raises(RefusedError, match="bring them back"):
        forget_transcripts(world.reopen())


BEGAN = datetime.now(UTC)
OWN = f"{REF}/{ref_name_of(GITMEM.email)}"
STARTED = datetime(2026, 11, 21, 14, 3, 22, tzinfo=timezone(timedelta(hours=9)))
SESSION = "1b4e51f0-77a1-4c3e-9d55-2f0f6c1b7a10"
PATH = f"sessions/2026/11/20261121_050322-{SESSION}.l1.jsonl"
LINES = ['{"role": "user", "text": "hello"}', '{"role": "agent", "text": "한국어 \\u2028"}']


def surroundings(folder, environ):
    return Context(environ, str(folder / "home"), "host", lambda: datetime.now(UTC))


def make(folder, environ, place=Place.PROJECT):
    return init_store(str(folder), surroundings(folder, environ), place).store


@pytest.fixture(params=[Place.PROJECT, Place.BRANCH])
def store(request, tmp_path, environ, new_store):
    if request.param is Place.PROJECT:
        return new_store(tmp_path, surroundings(tmp_path, environ), BEGAN)
    new_repository(tmp_path, {})
    return make(tmp_path, environ, Place.BRANCH)


@pytest.fixture
def git(store, bare_git):
    return lambda *args, **options: bare_git(store.root, *args, **options)


def test_what_was_put_is_read_and_nothing_else_has_moved(store, git):
    def rest():
        refs = [line for line in git("for-each-ref").splitlines() if "refs/gitmem/l1" not in line]
        return refs, git("ls-files", "--stage"), git("symbolic-ref", "HEAD"), sorted(os.listdir(store.root))

    before = rest()
    commit = put(store, SESSION, STARTED, [f"{line}\n" for line in LINES])
    assert read(store, SESSION) == LINES
    (found,) = sessions(store)
    assert (found.session, found.path, found.started) == (SESSION, PATH, STARTED)
    assert found.size == sum(len(line.encode()) + 1 for line in LINES)
    ref = OWN
    assert git("rev-parse", ref) == commit
    assert git("ls-tree", "-r", "--name-only", ref) == PATH
    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict", "--no-dangling") == ""
    assert rest() == before
    trailers = git("log", "-1", "--format=%(trailers:only)", ref).splitlines()
    assert trailers == ["Gitmem-Op: transcript", f"Gitmem-Session: {SESSION}", "Gitmem-Machine: host"]


def test_a_session_written_again_replaces_its_file(store, git):
    first = put(store, SESSION, STARTED, LINES[:1])
    second = put(store, SESSION, STARTED + timedelta(days=40), LINES)
    assert read(store, SESSION) == LINES
    assert [found.path for found in sessions(store)] == [PATH]
    assert git("rev-parse", f"{second}^") == first
    assert put(store, SESSION, STARTED, LINES) is None
    assert git("rev-parse", OWN) == second


def test_sessions_come_in_the_order_in_which_they_began(store):
    for days, name in ((3, "c"), (1, "a"), (2, "b")):
        put(store, name, STARTED + timedelta(days=days), [f'{{"n": {days}}}'])
    assert [found.session for found in sessions(store)] == ["a", "b", "c"]
    assert read(store, "b") == ['{"n": 2}']
    assert read(store, "d") is None


def test_no_secret_becomes_an_object(store, git):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    lines = [json.dumps({"text": f"the token is {token}"}), json.dumps({"text": "a <private>mine</private> b"})]
    put(store, SESSION, STARTED, lines)
    stored = read(store, SESSION)
    assert [json.loads(line)["text"] for line in stored] == ["the token is [REDACTED:github-token]", "a  b"]
    everything = git("cat-file", "--batch-all-objects", "--batch", "--buffer")
    assert token not in everything
    assert "mine" not in everything


HOSTILE = ["../../x", "..", ".git", "/etc/passwd", "C:\\x", "con", "aux.txt", "-x", "*", "a\0b", "a\nGitmem-Op: save"]
HOSTILE += ["A B", "a-b", "A-B", "é", "\udcff", "x" * 10_240, "한" * 90]


@pytest.mark.slow
def test_no_session_id_leads_astray_or_to_another(store, git):
    for number, name in enumerate(HOSTILE):
        put(store, name, STARTED, [f'{{"n": {number}}}'])
    for number, name in enumerate(HOSTILE):
        assert read(store, name) == [f'{{"n": {number}}}'], name
    listed = sessions(store)
    assert len({found.path for found in listed}) == len(HOSTILE)
    for found in listed:
        assert check_path(found.path) == found.path
        assert read(store, found.session) is not None
    assert git("log", "--format=%(trailers:key=Gitmem-Op,valueonly)", f"-{len(HOSTILE)}", OWN).split() == [
        "transcript"
    ] * len(HOSTILE)
    assert git("fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("name", ["", " \n"])
def test_a_session_without_an_id_is_refused(store, name):
    with pytest.raises(RefusedError):
        put(store, name, STARTED, LINES)


def test_a_session_that_is_named_by_a_secret_is_filed_without_it():
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    name = file_name(secret)
    assert name.startswith("redacted-")
    assert "0123456789abc" not in name
    assert name == file_name(secret) == file_name(name)


def test_nothing_is_written_while_something_of_the_users_is_unfinished(store, git):
    put(store, SESSION, STARTED, LINES)
    git("switch", "-q", "-c", "other")
    with pytest.raises(UnfinishedError):
        put(store, "other", STARTED, LINES)
    git("switch", "-q", "--detach")
    with pytest.raises(UnfinishedError):
        put(store, "other", STARTED, LINES)


# What git does with them


def test_a_push_of_all_branches_and_tags_does_not_send_them(store, git, tmp_path, bare_git):
    put(store, SESSION, STARTED, LINES)
    remote = tmp_path / "remote.git"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    git("push", "-q", "--all", str(remote))
    git("push", "-q", "--tags", str(remote))
    git("push", "-q", str(remote), "HEAD")
    assert "l1" not in bare_git(remote, "for-each-ref")
    assert "hello" not in bare_git(remote, "log", "--all", "-p")
    assert "gitmem" in bare_git(remote, "for-each-ref")


def test_gits_own_maintenance_keeps_them(store, git):
    put(store, SESSION, STARTED, LINES)
    git("pack-refs", "--all")
    git("gc", "-q", "--prune=now")
    assert read(store, SESSION) == LINES
    put(store, "next", STARTED, LINES)
    assert len(sessions(store)) == 2


def test_a_transcript_that_fails_on_the_way_leaves_nothing(store, git):
    def broken():
        yield LINES[0]
        raise ValueError("the host's file ends here")

    with pytest.raises(ValueError, match="ends here"):
        put(store, SESSION, STARTED, broken())
    assert sessions(store) == []
    put(store, SESSION, STARTED, LINES)
    assert read(store, SESSION) == LINES


def test_one_that_is_too_large_is_refused(store, monkeypatch):
    monkeypatch.setattr(transcripts, "MAX_FILE_BYTES", 1000)
    assert MAX_FILE_BYTES > 50 * 1024 * 1024
    with pytest.raises(RefusedError, match="1,000"):
        put(store, SESSION, STARTED, ['{"text": "word"}'] * 100)


def test_a_lock_on_the_branch_is_named_and_one_that_a_killed_git_left_is_cleared(store, monkeypatch):
    put(store, SESSION, STARTED, LINES)
    monkeypatch.setattr(transcripts, "ATTEMPTS", 2)
    lock = os.path.join(store.repository.layout.common_dir, f"{OWN}.lock")
    with open(lock, "x", encoding="ascii"), pytest.raises(BusyError, match=re.escape(lock)):
        put(store, "other", STARTED, LINES)
    os.utime(lock, (0, 0))
    put(store, "other", STARTED, LINES)
    assert not os.path.exists(lock)


RUN = """
import os, sys
from datetime import UTC, datetime
from gitmem.platform.machine import Context
from gitmem.store.store import Store
from gitmem.store.transcripts import put

root, session = sys.argv[1:]
context = Context(os.environ, os.path.dirname(root), "host", lambda: datetime.now(UTC))
for number in range(5):
    started = datetime(2026, 11, 21, tzinfo=UTC)
    put(Store(root, context), f"{session}-{number}", started, ['{"session": "%s"}' % session])
"""


@pytest.mark.slow
def test_several_processes_lose_nothing(store, git, environ):
    command = [sys.executable, "-c", RUN, store.root]
    all_of_them = [subprocess.Popen([*command, name], env=environ) for name in "abcd"]
    assert [process.wait(timeout=60) for process in all_of_them] == [0] * 4
    assert len(sessions(store)) == 20
    assert git("rev-list", "--count", OWN) == "21"
    assert git("fsck", "--strict", "--no-dangling") == ""
