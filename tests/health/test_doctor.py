"""No attribute of a tree, a remote or the machine changes bytes or runs anything, and none of a project's settings."""

import os
import sys
from pathlib import Path

import pytest

from gitmem.health.doctor import check_attributes
from gitmem.history.origin import blame
from gitmem.history.records import difference
from gitmem.store.findings import Level, examine
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote
from gitmem.sync.clone import clone_store
from gitmem.sync.fetch import Options
from tests.conftest import RunsGit
from tests.copies import new_repository
from tests.world import World, sync_store

# Each once made git convert, or run something, when gitmem read or wrote.
ATTRIBUTES = {
    "an encoding": b"* text working-tree-encoding=UTF-16\n",
    "line endings": b"* text eol=crlf\n",
    "a name for the id": b"* ident\n",
    "a filter": b"* filter=named\n",
    "a filter that must not fail": b"* filter=strict\n",
    "a filter that stays": b"* filter=lasting\n",
    "a way to print": b"* diff=named -text\n",
    "no text": b"* binary\n",
    "a way to merge": b"* merge=named\n",
}
attributes = pytest.mark.parametrize("content", ATTRIBUTES.values(), ids=ATTRIBUTES)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Name the file that is there once something ran that must not."""
    return tmp_path / "ran"


def _configure_drivers(run_git: RunsGit, folder: Path, ran: Path) -> None:
    """Give a repository every driver that the attributes name."""
    command = f"sh -c 'touch {ran}; tr a-z A-Z'"
    settings = {
        "filter.named.clean": command,
        "filter.named.smudge": command,
        "filter.strict.clean": "false",
        "filter.strict.smudge": "false",
        "filter.strict.required": "true",
        "filter.lasting.process": command,
        "diff.named.textconv": command,
        "diff.named.command": command,
        "diff.external": command,
        "merge.named.driver": command,
        "core.autocrlf": "true",
        "core.eol": "crlf",
        "core.safecrlf": "true",
        "core.fsmonitor": f"touch {ran}",
        "core.untrackedCache": "true",
        "core.sparseCheckout": "true",
        "core.splitIndex": "true",
        "blame.ignoreRevsFile": str(ran),
    }
    lines = []
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        kind, _, driver = section.partition(".")
        lines.append(f'[{kind} "{driver}"]\n' if driver else f"[{kind}]\n")
        lines.append(f'\t{name} = "{value}"\n')
    with (folder / ".git" / "config").open("a", encoding="utf-8") as file:
        file.writelines(lines)
    assert run_git(folder, "config", "filter.named.clean") == command


def _go_through_all(world: World, name: str = "by hand.md") -> None:
    """Save, see an edit by hand, read and print."""
    store = world.store
    world.append("memory.md", b"- saved\r\n")
    world.write(name, b"$Id$ by hand\r\n")
    os.utime(world.root / "memory.md", ns=(1, 1))  # git has to look into it
    before = store.read("memory.md")
    world.settle()
    assert store.files.edited() == []
    assert store.read("memory.md") == before
    assert world.files() == world.tree()
    assert world.tree()[name] == b"$Id$ by hand\r\n"
    (change,) = difference(store, None, world.tip).changes
    assert (change.path, store.repository.blob(change.new or "")) == (name, b"$Id$ by hand\r\n")
    assert b"+$Id$ by hand\r\n" in difference(store, None, world.tip).text
    assert b"+$Id$ by hand\r\n" in store.repository.history.shown(world.tip)
    world.write("memory.md", (before or b"") + b"- not committed\n")
    lines = blame(store, "memory.md")
    assert (lines[-2].origin is None, lines[-1].origin is None) == (False, True)
    world.settle()


@attributes
@pytest.mark.few(1)
def test_attributes_of_the_tree_change_no_bytes_and_run_nothing(world, bare_git, ran, content):
    _configure_drivers(bare_git, world.root, ran)
    world.write(".gitattributes", content)
    world.write("daily/.gitattributes", content)
    world.settle()
    _go_through_all(world)
    assert not ran.exists()


@attributes
@pytest.mark.few(1)
def test_attributes_that_a_remote_brings(world, opened, context, bare_git, tmp_path, ran, content):  # noqa: PLR0917
    remote = tmp_path / "remote.git"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    world.append("memory.md", b"- $Id$ first\n")
    add_remote(world.store, "origin", str(remote))
    sync_store(world.store)
    _push_attributes(bare_git, tmp_path, remote, content)
    sync_store(world.store)
    _go_through_all(world)
    other = tmp_path / "other"
    other.mkdir()
    cloned = opened(clone_store(str(other), context, Place.PROJECT, str(remote), asks=False, options=Options()).root)
    commits = cloned.subjects()
    _configure_drivers(bare_git, cloned.root, ran)
    cloned.settle()
    assert cloned.subjects() == commits, "nothing was edited by hand"
    assert cloned.files() == cloned.tree()
    _go_through_all(cloned)
    assert not ran.exists()


def _push_attributes(run_git: RunsGit, folder: Path, remote: Path, content: bytes) -> None:
    """Add a `.gitattributes` to what a remote holds, as who may push to it does."""
    blob = run_git(remote, "hash-object", "-w", "--stdin", stdin=content)
    index = {"GIT_INDEX_FILE": str(folder / "index")}
    run_git(remote, "read-tree", "gitmem", env=index)
    run_git(remote, "update-index", "--add", "--cacheinfo", f"100644,{blob},.gitattributes", env=index)
    tree = run_git(remote, "write-tree", env=index)
    commit = run_git(remote, "commit-tree", tree, "-p", "gitmem", "-m", "Attributes")
    run_git(remote, "update-ref", "refs/heads/gitmem", commit)


@attributes
@pytest.mark.few(1)
def test_attributes_of_a_memory_branch_choose_no_driver_of_the_project(  # noqa: PLR0917
    opened, context, bare_git, tmp_path, ran, content
):
    project = new_repository(tmp_path / "theirs", {})
    _configure_drivers(bare_git, project, ran)
    made = init_store(str(project), context, Place.BRANCH).store
    world = opened(made.root)
    world.write(".gitattributes", content)
    world.settle()
    _go_through_all(world)
    # Another machine begins from the branch.
    bare_git(project, "worktree", "remove", "--force", str(world.root))
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    assert world.files() == world.tree()
    _go_through_all(world, "by hand, too.md")
    assert not ran.exists()


def test_nothing_of_the_project_is_touched_for_it(context, bare_git, tmp_path):
    project = new_repository(tmp_path / "theirs", {})
    init_store(str(project), context, Place.BRANCH)
    assert not (project / ".git" / "info" / "attributes").exists()
    assert bare_git(project, "status", "--porcelain") == ""


@attributes
@pytest.mark.parametrize("place", ["the person's", "the repository's"])
@pytest.mark.few(1)
def test_attributes_of_the_machine(home, world, bare_git, ran, place, content):  # noqa: PLR0917
    _configure_drivers(bare_git, world.root, ran)
    if place == "the person's":
        file = home / ".config" / "git" / "attributes"
        bare_git(world.root, "config", "core.attributesFile", str(file))
    else:
        file = world.root / ".git" / "info" / "attributes"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    _go_through_all(world)
    assert not ran.exists()


@pytest.mark.parametrize("place", ["", "daily/"])
@attributes
def test_attributes_that_are_not_gitmems_are_named(world, content, place):
    world.write(f"{place}.gitattributes", content)
    (found,) = [one for one in examine(world.store, (check_attributes,)) if one.check == "attributes"]
    harmless = content == ATTRIBUTES["no text"]
    assert found.level is (Level.OK if harmless else Level.WARNING)
    assert found.details == (() if harmless else (f"{place}.gitattributes, line 1: {content.decode().strip()}",))


def test_a_list_of_submodules_is_named_and_not_looked_at(world):
    (found,) = [one for one in examine(world.store, (check_attributes,)) if one.check == "attributes"]
    assert found.level is Level.OK
    world.write(".gitmodules", b'[submodule "x"]\n\tpath = daily\n\turl = ext::touch x\n\tignore = all\n')
    world.append("memory.md", b"- saved\n")
    world.settle()
    (found,) = [one for one in examine(world.store, (check_attributes,)) if one.check == "attributes"]
    assert found.details == (".gitmodules: submodules",)


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes as POSIX has them")
def test_links_and_modules_of_a_branch_are_checked_out_as_nothing_that_acts(opened, context, bare_git, tmp_path):
    project = new_repository(tmp_path / "theirs", {})
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    blob = world.git("hash-object", "-w", "--stdin", stdin=b"../../theirs")
    world.git("update-index", "--add", "--cacheinfo", f"120000,{blob},link.md")
    world.git("update-index", "--add", "--cacheinfo", f"160000,{world.tip},module")
    world.git("commit", "-qm", "A link and a module")
    bare_git(project, "worktree", "remove", "--force", str(world.root))
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    assert not (world.root / "link.md").is_symlink()
    world.append("memory.md", b"- saved\n")
    commits = world.subjects()
    world.settle()
    assert world.subjects() == commits
