"""While the user has something else checked out in the store, every door reads the branch's tip."""

import contextlib
import re

import pytest

from gitmem.store.tip_files import FOLDER
from tests.doors import DOORS, SAID, Doors

STATES = {
    "bisect": ("bisect start HEAD HEAD~1", "checkout -q -f {old}", "bisect reset"),
    "detached": ("checkout -q --detach {old}", "switch -q gitmem"),
    "merge": ("merge other", "merge --abort"),
    "cherry-pick": ("cherry-pick other", "cherry-pick --abort"),
    "another branch": ("switch -q other", "switch -q gitmem"),
}
COMMANDS = """
    log|sessions|blame memory.md|diff|at HEAD|at HEAD --list|review|keywords|episodes|concepts|patterns|index
    export --jsonl|search --json Redis|guide --json Redis
"""
NAMES = [name.strip() for line in COMMANDS.splitlines() for name in line.split("|") if name.strip()]
MORE = {name: lambda world, name=name: world.run(*name.split()) for name in NAMES} | {
    "status": lambda world: re.findall(r"(?m)^(?:knows|last save|memory.md) .*", world.run("status")),
    "stats": lambda world: re.sub(r"(?m)^  (history|private) .*\n", "", world.run("stats").partition("Learned  ")[0]),
    "page of changes": lambda world: re.sub(r"(?s)<nav.*?</nav>", "", world.page("/timeline")),
    "page of facts": lambda world: world.page("/facts"),
    "page of sessions": lambda world: world.page("/sessions"),
}


@pytest.fixture
def world(world, tmp_path) -> Doors:
    world = Doors(world, tmp_path / "world")
    world.fact("d000000000b", SAID)
    world.run("save", "A badger digs.")  # commits what was edited by hand, too
    return world


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_every_door_reads_the_tip_while_something_else_is_checked_out(world, bare_git, state):
    git = lambda words: bare_git(world.place(""), *words.split())  # noqa: E731
    *begin, end = STATES[state]
    old = git("rev-list --max-parents=0 HEAD").strip()
    git("switch -q -c other HEAD~1")
    for path in ("memory.md", "facts/decision/d000000000b-x.md"):
        world.put(path, "theirs\n")
    git("add -A")
    git("commit -qm theirs")
    git("switch -q gitmem")
    doors = DOORS | MORE
    before = {door: ask(world) for door, ask in doors.items()}
    for words in begin:
        with contextlib.suppress(Exception):  # a conflict
            git(words.format(old=old))
    memory = world.place("memory.md")
    assert not memory.exists() or "theirs" in memory.read_text("utf-8")
    for door, ask in doors.items():
        assert ask(world) == before[door], door
    git(end)
    world.run("save", "The importer runs nightly")
    assert not world.place(f".git/gitmem/{FOLDER}").exists()
