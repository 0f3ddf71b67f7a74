"""History by GitPython: what it says, and that nothing of it starts a git, or a program, that is not ours."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError
from gitmem.git.history import StoreRepo
from gitmem.git.log import log
from gitmem.git.process import Git
from gitmem.git.repository import empty_tree

KOREAN = "archive/메모 memory 하나.md"


@pytest.fixture
def repo(git):
    return StoreRepo(git)


def when(seconds: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + seconds, UTC)


def test_newest_until(repo, commit):
    first = commit("one", at=10)
    ahead = commit("clock ahead", at=99)
    third = commit("three", at=30)
    tip = commit("four", at=40)

    assert repo.newest_until(tip, when(9)) is None
    assert repo.newest_until(tip, datetime(1900, 1, 1, tzinfo=UTC)) is None
    assert repo.newest_until(tip, when(10)) == first
    assert repo.newest_until(tip, when(29)) == first
    assert repo.newest_until(tip, when(30)) == third
    assert repo.newest_until(ahead, when(99)) == ahead
    assert repo.newest_until(tip, datetime(9000, 1, 1, tzinfo=UTC)) == tip


def test_diff_and_show_read_no_configuration(repo, git, commit, store, bare_git):
    first = commit("one", {"memory.md": "a\n"})
    second = commit("two", {"memory.md": "b\n", KOREAN: "x\n"})
    for key, value in (
        ("diff.external", "false"),
        ("color.ui", "always"),
        ("format.pretty", "%H"),
        ("log.date", "raw"),
    ):
        bare_git(store, "config", key, value)

    assert b"-a\n+b\n" in repo.diff_of(first, second)
    assert KOREAN.encode() in repo.diff_of(first, second)
    assert KOREAN.encode() not in repo.diff_of(first, second, "memory.md")
    assert b"+a\n" in repo.diff_of(empty_tree(git), first)
    printed = repo.shown(second)
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
def test_blame_of_what_is_not_there(repo, store, rotated, path: str, lines: tuple[int, int] | None):
    with pytest.raises(GitFailedError):
        repo.blame_lines(rotated[-1], path, lines, edited=False)
    assert not (store / "written").exists()


@pytest.fixture
def two_commits(commit) -> tuple[str, str]:
    return commit("one", {"memory.md": "a\n"}), commit("two", {"memory.md": "a\nb\n"}, at=1)


@pytest.fixture
def hostile(two_commits, store, bare_git, monkeypatch, tmp_path) -> Path:  # made before, by a plain git
    """Return a file that any program named in the configuration, the attributes or the environment would make."""
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    program.chmod(0o755)
    included = tmp_path / "included"
    keys = "core.fsmonitor core.pager core.sshCommand core.askPass diff.external diff.x.textconv diff.x.command"
    keys += " filter.x.clean filter.x.smudge gpg.program core.hooksPath alias.log alias.diff uploadpack.packObjectsHook"
    for key in keys.split():
        value = str(tmp_path if key == "core.hooksPath" else program)
        bare_git(store, "config", key, f"!{value}" if key.startswith("alias") else value)
        bare_git(store, "config", "--file", str(included), key, value)
    bare_git(store, "config", "include.path", str(included))
    bare_git(store, "config", "log.showSignature", "true")
    (store / ".gitattributes").write_text("* diff=x filter=x\n")
    (store / ".git" / "info" / "attributes").write_text("* diff=x filter=x\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(included.read_text())
    bare_git(store, "status")
    assert ran.exists()
    ran.unlink()
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_PAGER", str(program))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(included))
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    return ran


def test_a_hostile_configuration_starts_nothing(two_commits, git, hostile, store):
    (first, second), repo = two_commits, StoreRepo(git)

    assert repo.is_dirty(untracked_files=False) in {True, False}
    assert [commit.hexsha for commit in repo.iter_commits(second)] == [second, first]
    assert repo.commit(second).tree["memory.md"].data_stream.read() == b"a\nb\n"
    assert "+b" in repo.git.diff(first, second, "--")
    assert "+b" in repo.git.log(second, "--", patch=True)
    assert repo.blame_lines(second, "memory.md", edited=False) == {1: first, 2: second}
    assert b"+b" in repo.shown(second)
    assert "1 insertion" in repo.statistics([second])[second]
    assert [one.after for one in repo.line_changes(second, "memory.md", (2, 2), 9)] == [("b",)]
    (store / "memory.md").write_text("a\nb\nc\n")
    (store / "new.md").write_text("n\n")
    assert repo.diff_of_files(second, ["memory.md", "new.md"]).count(b"\n+") == 4
    assert repo.untracked_files == [".gitattributes", "new.md"]
    repo.close()
    assert not hostile.exists()


@pytest.mark.parametrize("command, option", [("git log", {}), (["git", "log"], {"shell": True})])
def test_a_shell_is_refused(repo, command, option):
    with pytest.raises(TypeError):
        repo.git.execute(command, **option)


def test_repository_of_longer_ids(tmp_path, bare_git, environ):
    bare_git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "memory.md").write_text("one\n")
    bare_git(tmp_path, "add", "-A")
    bare_git(tmp_path, "commit", "-qm", "Save\n\nGitmem-Op: save")
    oid = bare_git(tmp_path, "rev-parse", "HEAD")
    git = Git(tmp_path / ".git", tmp_path, environ)
    repo = StoreRepo(git)

    assert [[c.oid for c in log(by, oid, trailers={"Gitmem-Op": "save"})] for by in (git, repo)] == [[oid], [oid]]
    assert repo.blame_lines(oid, "memory.md", edited=False) == {1: oid}
    assert b"+one" in repo.diff_of(empty_tree(git), oid)
