"""A file may be called what git calls a commit: git must never be left to guess which of the two is meant."""

from pathlib import Path

import pytest

from tests.property.test_hostile_remote import Worlds

COMMANDS = [
    *("status", "doctor", "doctor --deep", "show", "show HEAD", "log", "log knowledge", "at HEAD", "at HEAD --list"),
    *("diff", "diff HEAD~1", "diff HEAD~2 HEAD", "blame memory.md", "blame memory.md:12", "index", "search raccoon"),
    *("search raccoon --history", "search raccoon --at HEAD~1", "search raccoon --deep", "keywords", "review"),
    "facts list",
    *("concepts list", "sync", "undo", "undo", "save more", "consolidate", "maintain", "check", "config"),
    "summary list",
    *("purge badger", "clear old", "sync", "save again", "forget --transcripts"),
]


@pytest.mark.parametrize("how", [(), pytest.param(("--branch",), marks=pytest.mark.slow)])
def test_files_that_are_called_as_commits_are(tmp_path: Path, how: tuple[str, ...]):
    with Worlds(tmp_path).copy(*how) as world:
        ids = world.git(world.store, "rev-list", "HEAD", "--").split()
        names = ["HEAD", "@", "--", "-rf", "gitmem", "main", "refs", "stash", "index", *ids[:3], ids[0][:10], ids[-1]]
        for name in names:
            (world.store / name).write_text(f"a file called {name}\n")
        (world.store / "refs").unlink()
        (world.store / "refs" / "heads").mkdir(parents=True)
        (world.store / "refs" / "heads" / "gitmem").write_text("a branch\n")
        for command in COMMANDS:
            ran = world.run(
                *command.split(), *(["--yes"] if command.split()[0] in {"purge", "clear", "forget"} else [])
            )
            assert ran.code in ({0, 1} if command.startswith("doctor") else {0}), ran
            assert "ambiguous" not in ran.out + ran.err, ran
