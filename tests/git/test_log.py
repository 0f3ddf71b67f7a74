import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError, GitmemError
from gitmem.git import process as process_module
from gitmem.git.log import additions, blame, commits, diff, fork, log, newest_until, show
from gitmem.git.process import Git
from gitmem.git.repository import empty_tree
from tests.copies import new_repository

KOREAN = "archive/메모 memory 하나.md"


@pytest.fixture
def store(tmp_path) -> Path:
    return new_repository(tmp_path / "store")


@pytest.fixture
def commit(store, bare_git):
    def make(
        message: str, files: Mapping[str, str | None] | None = None, *, at: int = 0, committed: int | None = None
    ) -> str:
        for name, text in (files or {}).items():
            path = store / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, newline="\n")
        bare_git(store, "add", "-A")
        dates = {
            "GIT_AUTHOR_DATE": f"@{1_700_000_000 + at} +0900",
            "GIT_COMMITTER_DATE": f"@{1_700_000_000 + (at if committed is None else committed)} +0900",
        }
        options = ("--allow-empty", "--allow-empty-message", "--cleanup=verbatim")
        bare_git(store, "commit", "-q", *options, "-F", "-", stdin=message.encode(), env=dates)
        return bare_git(store, "rev-parse", "HEAD")

    return make


@pytest.fixture
def git(store, environ):
    return Git(store / ".git", store, environ)


def when(seconds: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + seconds, UTC)


def test_times_and_trailers_of_a_commit(git, commit):
    commit("Save\n\nGitmem-Op: save\nGitmem-Entry: a\nGitmem-Entry: b\n", at=60, committed=90)
    (found,) = log(git, "HEAD")
    assert (found.authored, found.committed, found.authored.utcoffset()) == (when(60), when(90), timedelta(hours=9))
    assert (found.values("gitmem-entry"), found.value("Gitmem-Session")) == (("a", "b"), None)


@pytest.mark.parametrize(
    "message, subject, trailers",
    [
        ("one\ntwo \x1b[31m\n\nA-Key: b: c = d\n", "one two \x1b[31m", (("A-Key", "b: c = d"),)),
        ("subject\n\nA-Key: folded\n over lines\n", "subject", (("A-Key", "folded over lines"),)),
        ("subject\n\nGitmem-Op: save\n\nlast paragraph of words\n", "subject", ()),
        ("Gitmem-Op: save\n", "Gitmem-Op: save", ()),
        ("\n", "", ()),
        ("subject\n\nA-Key:\n", "subject", (("A-Key", ""),)),
        ("subject\r\n\r\nA-Key: x\r\n", "subject", (("A-Key", "x"),)),
    ],
)
def test_message_cannot_pass_for_another_field(
    git, commit, message: str, subject: str, trailers: tuple[tuple[str, str], ...]
):
    commit("before")
    commit(message)
    commit("after")

    found = log(git, "HEAD")

    assert [c.subject.strip() for c in found] == ["after", subject, "before"]
    assert found[1].trailers == trailers


def raw_commit(bare_git, store, author: bytes, message: bytes) -> str:
    tree = bare_git(store, "rev-parse", "HEAD^{tree}").encode()
    content = b"tree %s\nauthor %s\ncommitter %s\n\n%s" % (tree, author, author, message)
    return bare_git(store, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=content)


def test_commit_no_git_would_write(git, store, commit, bare_git):
    commit("sound")
    nul = raw_commit(bare_git, store, b"A <a> 5 +0000", b"sub\0ject\n\nGitmem-Op: save\n")
    old = raw_commit(bare_git, store, b"A <a> 99999999999999999 +9999", b"far away\n")
    none = raw_commit(bare_git, store, b"A <a>", b"no date\n")
    latin = raw_commit(bare_git, store, b"\xe9\xff <\xe9> 5 -1130", b"\xe9\n")

    found = commits(git, [nul, old, none, latin])

    assert set(found) == {nul, old, none, latin}
    assert found[nul].subject == "sub"
    assert found[nul].trailers == ()
    assert found[old].authored.year in {1970, 9999}
    assert found[none].authored.year == 1970
    assert found[latin].authored.utcoffset() == timedelta(hours=-11, minutes=-30)


def test_trailers_are_asked_for_and_seen_to(git, commit):
    saved = commit("Save a\n\nGitmem-Op: save\nGitmem-Session: 1b4e-1\n")
    other = commit("Save b\n\nGitmem-Op: save\nGitmem-Session: 1b4e-2\n")
    commit("Rotate\n\nGitmem-Op: rotate\nGitmem-Session: 1b4e-1\n")
    commit("Gitmem-Op: save Gitmem-Session: 1b4e-1")
    commit("A person quotes\n\nGitmem-Op: save\nGitmem-Session: 1b4e-1\n\nand goes on.\n")

    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save"})] == [other, saved]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save", "Gitmem-Session": "1b4e-1"})] == [saved]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save", "Gitmem-Session": "1b4e"})] == [other, saved]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save"}, limit=1)] == [other]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Session": "1b4e-1", "Gitmem-Op": "save"}, limit=1)] == [
        saved
    ]
    assert log(git, "HEAD", trailers={"Gitmem-Op": "sa.e"}) == []


def test_dates_are_those_of_what_happened_in_any_order(git, commit):
    late = commit("clock ahead", at=1000, committed=1)
    early = commit("clock behind", at=10, committed=2)
    middle = commit("in between", at=500, committed=3)

    assert [c.oid for c in log(git, "HEAD", since=when(500))] == [middle, late]
    assert [c.oid for c in log(git, "HEAD", until=when(500))] == [middle, early]
    assert [c.oid for c in log(git, "HEAD", since=when(10), until=when(10))] == [early]
    assert [c.oid for c in log(git, "HEAD", since=when(500), limit=1)] == [middle]
    assert [c.oid for c in log(git, "HEAD", until=when(10), limit=1)] == [early]


def test_paths_are_names_and_no_patterns(git, commit):
    korean = commit("one", {KOREAN: "1\n"})
    star = commit("two", {"a*.md": "2\n", "ab.md": "2\n"})
    commit("three", {"ab.md": "3\n"})

    assert [c.oid for c in log(git, "HEAD", paths=[KOREAN])] == [korean]
    assert [c.oid for c in log(git, "HEAD", paths=["archive"])] == [korean]
    assert [c.oid for c in log(git, "HEAD", paths=["a*.md"])] == [star]
    assert log(git, "HEAD", paths=[":(glob)**"]) == []


def test_revision_is_never_an_option(git, commit, store):
    commit("one")

    with pytest.raises(GitFailedError):
        log(git, "--output=written")
    assert not (store / "written").exists()


def test_additions_are_the_first_and_every_later_one(git, commit, store, bare_git):
    first = commit("add", {KOREAN: "1\n", "archive/b.md": "b\n", "elsewhere.md": "e\n"})
    commit(":odd subject", {"archive/b.md": None})
    again = commit("add again", {"archive/b.md": "b2\n"})
    commit("change", {KOREAN: "2\n"})

    found = additions(git, ["HEAD"], "archive")

    # As git has it: the newest first, the paths of a commit in order.
    assert [(a.commit.oid, a.path) for a in found] == [
        (again, "archive/b.md"),
        (first, "archive/b.md"),
        (first, KOREAN),
    ]
    assert bare_git(store, "cat-file", "-p", found[2].oid) == "1"


def test_additions_on_a_branch_whose_files_a_merge_dropped(git, commit, store, bare_git):
    commit("base", {"memory.md": "m\n"})
    bare_git(store, "switch", "-qc", "side")
    added = commit("add", {"archive/a.md": "a\n"})
    commit("retain", {"archive/a.md": None})
    bare_git(store, "switch", "-q", "-")
    commit("other", {"memory.md": "n\n"})
    bare_git(store, "merge", "-q", "-m", "merge", "side")

    assert [(a.commit.oid, a.path) for a in additions(git, ["HEAD"], "archive")] == [(added, "archive/a.md")]


def test_newest_until(git, commit):
    first = commit("one", at=10)
    ahead = commit("clock ahead", at=99)
    third = commit("three", at=30)
    tip = commit("four", at=40)

    assert newest_until(git, "HEAD", when(9)) is None
    assert newest_until(git, "HEAD", datetime(1900, 1, 1, tzinfo=UTC)) is None
    assert newest_until(git, "HEAD", when(10)) == first
    assert newest_until(git, "HEAD", when(29)) == first
    assert newest_until(git, "HEAD", when(30)) == third
    assert newest_until(git, ahead, when(99)) == ahead
    assert newest_until(git, "HEAD", datetime(9000, 1, 1, tzinfo=UTC)) == tip


def test_diff_and_show_read_no_configuration(git, commit, store, bare_git):
    first = commit("one", {"memory.md": "a\n"})
    second = commit("two", {"memory.md": "b\n", KOREAN: "x\n"})
    for key, value in (
        ("diff.external", "false"),
        ("color.ui", "always"),
        ("format.pretty", "%H"),
        ("log.date", "raw"),
    ):
        bare_git(store, "config", key, value)

    assert b"-a\n+b\n" in diff(git, first, second)
    assert KOREAN.encode() in diff(git, first, second)
    assert KOREAN.encode() not in diff(git, first, second, "memory.md")
    assert b"+a\n" in diff(git, empty_tree(git), first)
    printed = show(git, second)
    assert printed.startswith(f"commit {second}\nAuthor: Ada <ada@example.org>\nDate:".encode())
    assert b"\x1b" not in printed


# blame


LONG = "- a line of memory that is long enough to be followed when it moves to another file, number {}\n"


@pytest.fixture
def rotated(commit) -> list[str]:
    lines = [LONG.format(number) for number in range(4)]
    oids = [commit(f"save {n}", {"memory.md": "".join(lines[: n + 1]), "daily.md": f"{n}\n"}, at=n) for n in range(4)]
    oids.append(commit("rotate", {KOREAN: "".join(lines), "memory.md": lines[3]}, at=5))
    oids.append(commit("save 5", {"memory.md": lines[3] + LONG.format(5)}, at=6))
    return oids


@pytest.mark.parametrize("path, lines", [("nowhere.md", None), ("memory.md", (7, 8)), ("--output=written", None)])
def test_blame_of_what_is_not_there(git, store, rotated, path: str, lines: tuple[int, int] | None):
    with pytest.raises(GitFailedError):
        blame(git, "HEAD", path, lines)
    assert not (store / "written").exists()


def test_blame_takes_no_line_for_a_header(git, commit):
    texts = [
        "author Eve",
        "0" * 40 + " 1 1 1",
        *("", "\ttab", "filename x", "back\rslash \x0b \x85", "boundary", "no end"),
    ]
    oids = [commit(str(n), {"memory.md": "\n".join(texts[: n + 1]) + ("\n" if n < 7 else "")}) for n in range(8)]

    assert blame(git, "HEAD", "memory.md") == dict(enumerate(oids, 1))


def test_every_process_of_blame_is_ours_and_none_is_left(git, rotated, monkeypatch):
    blame(git, "HEAD", KOREAN)  # GitPython itself asks for git's version when it is imported
    started = []
    child = process_module.Child

    class Watched(child):  # type: ignore[misc,valid-type]
        def __init__(self, argv: object, environ: dict[str, str], **options: bool) -> None:
            started.append(self)
            self.environment = environ
            super().__init__(argv, environ, **options)

    def refused(*_args: object, **_options: object) -> None:
        raise AssertionError("GitPython started a process of its own")

    monkeypatch.setattr(process_module, "Child", Watched)
    monkeypatch.setattr(subprocess, "Popen", refused)
    blame(git, "HEAD", KOREAN)

    assert [process.returncode for process in started] == [0, 0]
    assert all(process.environment["GIT_CONFIG_NOSYSTEM"] == "1" for process in started)
    assert started[-1].environment["GIT_OBJECT_DIRECTORY"] == os.path.join(git.git_dir or "", "objects")


def test_repository_of_longer_ids(tmp_path, bare_git, environ):
    bare_git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "memory.md").write_text("one\n")
    bare_git(tmp_path, "add", "-A")
    bare_git(tmp_path, "commit", "-qm", "Save\n\nGitmem-Op: save")
    oid = bare_git(tmp_path, "rev-parse", "HEAD")
    git = Git(tmp_path / ".git", tmp_path, environ)

    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save"})] == [oid]
    assert blame(git, "HEAD", "memory.md") == {1: oid}
    assert b"+one" in diff(git, empty_tree(git), oid)


def test_gitpython_that_cannot_start_is_an_error_with_a_remedy(git, monkeypatch):
    for name in [name for name in sys.modules if name == "git" or name.startswith("git.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", "/nowhere/git")
    with pytest.raises(GitmemError) as caught:
        blame(git, "HEAD", "memory.md")
    assert "GIT_PYTHON_GIT_EXECUTABLE" in caught.value.remedy


# How two commits stand to each other


def test_a_fork_of_crossed_histories_has_all_bases_and_no_others(git, store, commit, bare_git):
    root = commit("root", {"r": "1"})
    one = commit("one", {"a": "1"})
    bare_git(store, "checkout", "-q", "-b", "other", root)
    two = commit("two", {"b": "1"})
    bare_git(store, "merge", "-q", "--no-edit", one)
    right = bare_git(store, "rev-parse", "HEAD")
    bare_git(store, "checkout", "-q", "-b", "third", one)
    bare_git(store, "merge", "-q", "--no-edit", two)
    assert fork(git, commit("left", {"c": "1"}), right).bases == tuple(sorted((one, two)))


def test_a_fork_without_anything_shared_has_no_bases(git, store, commit, bare_git):
    one = commit("one", {"a": "1"})
    bare_git(store, "checkout", "-q", "--orphan", "other")
    two = commit("two", {"b": "1"})
    both = fork(git, one, two)
    assert both.bases == ()
    assert [set(alone) for alone in both.alone] == [{one}, {two}]
