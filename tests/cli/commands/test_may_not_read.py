"""What a user may not read is named, with the reason, at each door; the user is another one than root."""

import json
import os
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.as_root import NOBODY, as_nobody, give, root_needed
from tests.command_line import Runner

pytestmark = root_needed
DOORS = (("status",), ("search", "uv"), ("show",), ("save", "x"), ("facts",), ("log",), ("doctor",), ("start",))


@pytest.fixture
def theirs(environ, bare_git):
    """Give a project of another user, with a store, in a folder that they reach, and a function that runs there."""
    top = Path(tempfile.mkdtemp())
    project, home = top / "프로 젝트", top / "home"
    for folder in (project, home):
        folder.mkdir(parents=True)
    top.chmod(0o755)
    bare_git(project, "init", "-q")
    run = Runner(project, {**environ, "HOME": str(home)})
    assert run("init")[0] == 0
    assert run("save", "Use uv, not pnpm", "-t", "decision")[0] == 0
    for words in DOORS:  # what these import late may not be readable for another user
        run(*words)
    give(top)

    def ran(*words: str, cwd: Path | None = None) -> tuple[int, str, str]:
        code, out, err = json.loads(as_nobody(lambda: json.dumps(run(*words, cwd=cwd))))
        return code, out, err

    yield run, ran
    shutil.rmtree(top)


@pytest.mark.parametrize("place", ["", ".git"])
@pytest.mark.few(1)
def test_a_store_that_may_not_be_read_is_no_missing_one(theirs, place):
    run, ran = theirs
    closed = run.root / place
    closed.chmod(0)
    for words in DOORS:
        code, _, err = ran(*words)
        assert (code, err.splitlines()[0]) == (
            1,
            f"gitmem: {closed} may not be read: its mode is 000.".replace("/.:", ":"),
        )
        assert err.splitlines()[1] == f"  Try: chmod u+rwX {shlex.quote(str(closed))}"
    closed.chmod(0o700)
    os.lchown(closed, 0, 0)
    code, _, err = ran("status")
    assert code == 1
    assert f"{closed} may not be read: it belongs to root." in err
    assert "sudo chown -R" in err


def test_a_folder_that_may_not_be_read_is_no_missing_one(theirs):
    run, ran = theirs
    run.cwd.chmod(0)
    for folder in (run.cwd, run.cwd / "sub"):
        code, _, err = ran("-C", str(folder), "status", cwd=run.cwd.parent)
        assert (code, f"{run.cwd} may not be read: its mode is 000." in err) == (1, True)
    code, _, err = ran("-C", str(run.cwd.parent / "none"), "status", cwd=run.cwd.parent)
    assert (code, "There is no folder" in err) == (9, True)


@pytest.mark.parametrize("name", ["memory.md", "daily"])
@pytest.mark.few(1)
def test_a_document_that_may_not_be_read_is_named(theirs, name):
    run, ran = theirs
    (run.root / name).chmod(0)
    said = f"{run.root / name} may not be read: its mode is 000."
    code, out, err = ran("search", "uv")
    assert (code, "Use uv, not pnpm" in out, f"Not searched: {said}" in err) == (1, True, True)
    code, out, _ = ran("status")
    assert (code, said in out) == (0, True)
    code, out, _ = ran("doctor")
    assert (code, said in " ".join(out.split())) == (1, True)
    if name == "memory.md":
        assert ran("show")[0] == 1


def test_a_private_folder_of_root_is_named_and_no_temporary_file(theirs):
    run, ran = theirs
    private = run.root / ".git" / "gitmem"
    give(private, 0)
    for words in (("status",), ("start",), ("save", "y")):
        code, _, err = ran(*words)
        assert (code in {1, 6}, str(private) in err, ".json" in err) == (True, True, False)
    assert (private / "machine").stat().st_uid != NOBODY


def test_facts_that_may_not_be_read_are_no_missing_ones(theirs):
    run, ran = theirs
    (run.root / "facts").chmod(0)
    for words in (("facts",), ("facts", "list", "--json"), ("facts", "show", "uv")):
        code, out, err = ran(*words)
        assert (code, out, f"{run.root / 'facts'} may not be read: its mode is 000." in err) == (1, "", True)


def test_a_store_that_may_not_be_written_keeps_its_remotes_and_says_why(theirs):
    run, ran = theirs
    assert ran("remote", "add", "/nowhere/one.git")[0] == 0
    (run.root / ".git").chmod(0o500)
    for words in (("add", "two", "/nowhere/two.git"), ("remove", "origin")):
        code, _, err = ran("remote", *words)
        assert (code, "Nothing was changed: could not lock config file" in err) == (6, True), err
        assert "Give yourself write access to it." in err
    (run.root / ".git").chmod(0o700)
    assert ran("remote", "list")[1] == "origin  /nowhere/one.git\n"
