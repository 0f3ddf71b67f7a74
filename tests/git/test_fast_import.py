import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError, NotSavedError, RefusedError
from gitmem.git.fast_import import (
    EXECUTABLE,
    REGULAR,
    NewCommit,
    Signature,
    TipMovedError,
    Writer,
    quote_path,
)
from gitmem.git.process import Git
from tests.as_root import fill, root_needed, small_disk
from tests.copies import new_repository

REF = "refs/heads/gitmem"
WHEN = datetime(2026, 11, 21, 14, 3, 22, tzinfo=timezone(timedelta(hours=1)))
ADA = Signature("Ada", "ada@example.org", WHEN)
CONTENTS = {
    "empty": b"",
    "one byte": b"x",
    "no final newline": b"one\ntwo",
    "crlf": b"one\r\ntwo\r\n\r\n",
    "every byte": bytes(range(256)) * 3,
    "like commands": b"\ndone\nget-mark :1\ndata 3\nabc\nreset refs/heads/gitmem\n",
    "blank lines at both ends": b"\n\n\nx\n\n\n",
}


def make_repository(folder: Path) -> Git:
    return Git(new_repository(folder, None, "-b", "gitmem") / ".git", folder, dict(os.environ))


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return make_repository(tmp_path / "store")


def new(changes: Mapping[str, bytes | None], message: str = "saved\n", modes: Mapping[str, str] | None = None):
    return NewCommit(message, changes, ADA, ADA, modes or {})


def put(git: Git, tip: str | None, changes: Mapping[str, bytes | None], *, listed_in: str = "", **more: object) -> str:
    with Writer(git, REF, tip, listed_in=listed_in) as writer:
        writer.commit(new(changes, **more))
        (oid,) = writer.finish()
    return oid


def tip_of(git: Git) -> str | None:
    return git.run("rev-parse", "--verify", "--quiet", REF, ok=(0, 1)).decode().strip() or None


def tree(git: Git, revision: str) -> dict[str, tuple[str, bytes]]:
    listing = git.run("ls-tree", "-r", "-z", revision).split(b"\0")[:-1]
    found = {}
    for line in listing:
        meta, _, path = line.partition(b"\t")
        mode, _, oid = meta.decode().split()
        found[os.fsdecode(path)] = (mode, git.run("cat-file", "blob", oid))
    return found


def litter(git: Git) -> list[str]:
    folder = Path(str(git.git_dir))
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    return sorted(name for name in names if name.startswith(("fast_import", "tmp_")) or name.endswith(".lock"))


def sound(git: Git) -> None:
    git.run("fsck", "--strict", "--no-dangling", "--no-reflogs")
    assert litter(git) == []


def running(git: Git) -> list[str]:
    """The processes that still have this repository in their environment."""
    needle = f"GIT_DIR={git.git_dir}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


# Commits


@pytest.mark.slow
def test_more_commits_than_a_pipe_holds_ids_of(git):
    base = put(git, None, {"log.md": b""})
    with Writer(git, REF, base) as writer:
        for count in range(2500):
            writer.commit(new({"log.md": b"%d" % count}, f"number {count}\n"))
        oids = writer.finish()
    assert len(set(oids)) == 2500
    assert tip_of(git) == oids[-1]


def test_the_reflog_tells_who_moved_the_branch(git):
    put(git, None, {"a": b"a"})
    assert git.run("reflog", "--format=%gs %gn", REF).decode().strip() == "gitmem gitmem"


# What is read


def test_reading(git):
    tip = put(git, None, {"a/b.md": b"one\r\n\0two", "empty": b""}, modes={"a/b.md": EXECUTABLE})
    with Writer(git, REF, tip) as writer:
        found = writer.read("a/b.md")
        assert (found.mode, found.data) == (EXECUTABLE, b"one\r\n\0two")
        assert writer.read("empty").data == b""
        for missing in ("b.md", "a/c.md", "a/b.md/c", "A/B.md", "empty/x", "ls"):
            assert writer.read(missing) is None
    with Writer(git, REF, None) as writer:
        assert writer.read("a/b.md") is None


def test_what_the_work_tree_has_too_is_not_fetched(git):
    tip = put(git, None, {"a": b"one\n", "한글": b"two"})
    with Writer(git, REF, tip) as writer:
        held = b"one\n"
        assert writer.read("a", held).data is held
        assert writer.read("a", b"one").data == b"one\n"
        assert writer.read("한글", b"").data == b"two"
        assert writer.read("b", held) is None


def test_what_is_no_file_is_refused(git):
    tip = put(git, None, {"folder/file": b"x"})
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"target").decode().strip()
    git.run("read-tree", tip)
    git.run("update-index", "--add", "--cacheinfo", f"120000,{blob},link")
    git.run("update-index", "--add", "--cacheinfo", f"160000,{tip},module")
    odd = git.run("write-tree").decode().strip()
    ada = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
    commit = git.run("commit-tree", "-p", tip, "-m", "odd", odd, env=ada).decode().strip()
    with Writer(git, REF, commit) as writer:
        for path in ("folder", "link", "module"):
            with pytest.raises(RefusedError, match=path):
                writer.read(path)
        assert writer.read("folder/file").data == b"x"  # and goes on


@pytest.mark.parametrize("name", ["a\0b", "\0", ""])
def test_a_name_that_no_file_can_have_is_refused(git, name):
    with Writer(git, REF, put(git, None, {"a": b"x"})) as writer:
        with pytest.raises(RefusedError):
            writer.read(name)
        with pytest.raises(RefusedError):
            writer.commit(new({name: b"x"}))


# Every byte of names, contents and messages


@pytest.mark.parametrize("byte", range(1, 256))
def test_every_byte_is_quoted_so_that_git_reads_it_back(byte):
    path = os.fsdecode(b"a%cb" % byte)
    quoted = quote_path(path)
    assert b"\n" not in quoted
    if quoted.startswith(b'"'):
        assert quoted[1:-1].decode("unicode_escape").encode("latin-1") == os.fsencode(path)
    else:
        assert quoted == os.fsencode(path)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_contents_are_kept_byte_for_byte(git, content):
    oid = put(git, None, {"f": content, "g": b"after"})
    assert tree(git, oid) == {"f": (REGULAR, content), "g": (REGULAR, b"after")}
    with Writer(git, REF, oid) as writer:
        assert writer.read("f").data == content
        assert writer.read("g").data == b"after"


@pytest.mark.parametrize("turned", [False, True])
def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(git, turned):
    def ordered(changes: dict[str, bytes | None]) -> dict[str, bytes | None]:
        return dict(reversed(changes.items())) if turned else changes

    first = put(git, None, {"x/a": b"1", "x/b": b"2", "y": b"3"})
    second = put(git, first, ordered({"x/a": None, "x/b": None, "x": b"file", "y": None, "y/z": b"folder"}))
    assert tree(git, second) == {"x": (REGULAR, b"file"), "y/z": (REGULAR, b"folder")}
    sound(git)


# Signatures

NAMES = {
    "plain": ("Ada Lovelace", "Ada Lovelace"),
    "unicode": ("김 에이다", "김 에이다"),
    "angle brackets": ("Ada <evil@x> <", "Ada evil@x"),
    "newline": ("Ada\nauthor Eve <e@e> 0 +0000", "Adaauthor Eve e@e 0 +0000"),
    "controls": ("A\x00d\x1ba\x7f\u0085\u2028", "Ada"),
    "surrogates": ("A\ud800da\udcff", "Ada"),
    "nothing": ("", "unknown"),
    "nothing left": (" <>\n\t", "unknown"),
    "bidi": ("\u202eAda\u202c", "Ada"),
    "blanks": ("  Ada  ", "Ada"),
}


@pytest.mark.parametrize("given, kept", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("where", ["name", "email"])
def test_hostile_names_and_addresses(git, given, kept, where):
    signature = Signature(**{"name": "Ada", "email": "ada@example.org", "when": WHEN, where: given})
    with Writer(git, REF, None) as writer:
        writer.commit(NewCommit("m", {"a": b"a"}, signature, signature, {}))
        (oid,) = writer.finish()
    form = {"name": "%an%n%cn", "email": "%ae%n%ce"}[where]
    assert git.run("log", "-1", f"--format={form}", oid).decode().splitlines() == [kept, kept]
    sound(git)


TIMES = {
    "with a zone": (WHEN, b"1795266202 +0100"),
    "west": (WHEN.astimezone(timezone(timedelta(hours=-3, minutes=-30))), b"1795266202 -0330"),
    "utc": (WHEN.astimezone(UTC), b"1795266202 +0000"),
    "no zone": (WHEN.astimezone(UTC).replace(tzinfo=None), b"1795266202 +0000"),
    "before git's time": (datetime(1969, 12, 31, tzinfo=UTC), b"0 +0000"),
    "the first year": (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), b"0 +1400"),
    "the last year": (datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-12))), b"253402343999 -1200"),
    "a zone of seconds": (WHEN.astimezone(timezone(-timedelta(minutes=7, seconds=2))), b"1795266202 -0007"),
    "the furthest zone": (WHEN.astimezone(timezone(timedelta(hours=14))), b"1795266202 +1400"),
    "a zone git refuses": (WHEN.astimezone(timezone(timedelta(hours=23, minutes=59))), b"1795266202 +0000"),
    "another": (WHEN.astimezone(timezone(-timedelta(hours=15))), b"1795266202 +0000"),
}


@pytest.mark.parametrize("when, stored", TIMES.values(), ids=TIMES.keys())
def test_times(git, when, stored):
    signature = Signature("A", "a@a", when)
    with Writer(git, REF, None) as writer:
        writer.commit(NewCommit("m", {"a": b"a"}, signature, ADA, {}))
        (oid,) = writer.finish()
    raw = git.run("cat-file", "commit", oid)
    assert b"author A <a@a> %s\n" % stored in raw
    assert b"committer Ada <ada@example.org> 1795266202 +0100\n" in raw
    sound(git)


# How many commits there are, the last of which the writer builds on, and what moves the branch while it works.
MOVES = {
    "another commit": (1, lambda git, tips: put(git, tips[0], {"a": b"theirs"})),
    # fast-import by itself would take the reset back: the new commit contains the older tip.
    "a reset": (2, lambda git, tips: git.run("update-ref", REF, tips[0])),
    "a deletion": (1, lambda git, tips: git.run("update-ref", "-d", REF)),
    "a birth": (0, lambda git, tips: put(git, None, {"a": b"theirs"})),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_branch_that_moved_meanwhile_stays_where_it_is(git, move):
    count, moves = MOVES[move]
    tips: list[str] = []
    for number in range(count):
        tips.append(put(git, tips[-1] if tips else None, {"a": b"%d" % number}))
    with Writer(git, REF, tips[-1] if tips else None) as writer:
        writer.commit(new({"a": b"ours"}))
        moves(git, tips)
        moved = tip_of(git)
        with pytest.raises(TipMovedError):
            writer.finish()
    assert tip_of(git) == moved
    assert moved not in tips[-1:]
    sound(git)


def test_a_writer_that_lost_leaves_the_unfinished_packs_of_others(git):
    base = put(git, None, {"a": b"0"})
    theirs = Path(str(git.git_dir)) / "objects" / "pack" / "tmp_pack_theirs"
    with Writer(git, REF, base) as writer:
        writer.commit(new({"a": b"1"}))
        theirs.write_bytes(b"PACK")
        put(git, base, {"a": b"2"})
        with pytest.raises(TipMovedError):
            writer.finish()
    assert theirs.exists()


# Nothing is left behind


def _leave_with_an_error(writer: Writer) -> None:
    writer.commit(new({"a": b"never seen"}))
    raise KeyboardInterrupt


def _leave_after_nonsense(writer: Writer) -> None:
    writer.send(b"nonsense\n")
    with pytest.raises(GitFailedError):
        writer.line()


def _leave_after_git_was_killed(writer: Writer) -> None:
    writer.commit(new({"a": b"never seen"}))
    writer._process.kill()  # before the end of its work, which takes it a moment only
    with pytest.raises(GitFailedError):
        writer.finish()


LEAVINGS = {
    "before anything": lambda writer: None,
    "when all is said": lambda writer: (writer.commit(new({"a": b"never seen"})), writer.seal(), writer.seal()),
    "after reading": lambda writer: writer.read("a"),
    "after a commit": lambda writer: writer.commit(new({"a": b"never seen"})),
    "in the middle of a command": lambda writer: writer.send(b"commit refs/heads/gitmem\ndata 1000\nx"),
    "with an error": _leave_with_an_error,
    "after nonsense": _leave_after_nonsense,
    "after git was killed": _leave_after_git_was_killed,
}


@pytest.mark.parametrize("leave", LEAVINGS.values(), ids=LEAVINGS)
def test_leaving_without_finish_changes_nothing_and_leaves_nothing(git, leave: Callable[[Writer], None]):
    base = put(git, None, {"a": b"0"})
    try:
        with Writer(git, REF, base) as writer:
            leave(writer)
    except KeyboardInterrupt:
        pass
    assert tip_of(git) == base
    assert running(git) == []
    for process in (writer._process, writer._mover):
        if process is not None:
            assert process.returncode is not None
            assert all(pipe.closed for pipe in (process.stdin, process.stdout, process.stderr))
    sound(git)


# Disks


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as folder:
        yield folder


@root_needed
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("room", [0, 1, 9, 49, 50, 60, 75, 98])
@pytest.mark.few(5)
def test_a_full_disk(disk, own, room):
    git = make_repository(disk / "store")
    base = put(git, None, {"a": b"0"})
    filler = fill(disk, room)
    content = os.urandom(200_000)
    failed = None
    try:
        put(git, base, {"a": content}, listed_in="" if own else f"{git.git_dir}/packs")
    except NotSavedError as error:
        failed = error
    if failed:
        assert failed.message == f"The commit could not be written to {git.git_dir}: no space left on device."
        assert failed.remedy
        assert tip_of(git) == base
    else:
        assert room > 50
        assert tree(git, REF) == {"a": (REGULAR, content)}
    assert running(git) == []
    if not own:  # in a repository of others git's own clean-up finds them, and we might take theirs
        assert all(name.startswith("tmp_") for name in litter(git))
    else:
        assert litter(git) == []
    filler.unlink()
    put(git, tip_of(git), {"a": b"after"})
    assert tree(git, REF) == {"a": (REGULAR, b"after")}
    git.run("fsck", "--strict", "--no-dangling")
