"""Helpers for tests of purges: purge a text, and search for what is left of it."""

import os
import subprocess
from pathlib import Path

from gitmem.git.packing import every_object
from gitmem.git.process import Git
from gitmem.purge.purge import Purge, plan_purge
from gitmem.purge.purge import purge as carry_out
from gitmem.store.store import Store
from tests.world import Machine

SECRET = "tok_swordfish-4242/Q7"


def purge(store: Store, pattern: str | None) -> Purge:
    plan = plan_purge(store, pattern)
    assert plan.needed
    return carry_out(store, plan)


def objects_with(repository: Path, *texts: str) -> list[str]:
    """Read every object of a repository, and return the ids of those that hold one of the texts."""
    everything = every_object(Git(str(repository / ".git"), None, dict(os.environ)))
    return [oid for oid, data in everything if any(text.encode() in data for text in texts)]


def reachable_with(repository: Path, text: str) -> bool:
    said = subprocess.run(
        ["git", "log", "--all", "--full-history", "-m", "-p", "--text"],
        cwd=repository, capture_output=True, check=True,
    )  # fmt: skip
    return text.encode() in said.stdout


def files_with(folder: Path, text: str) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and "objects" not in path.parts]
    return [str(path) for path in files if text.encode() in path.read_bytes()]


def clean(*machines: Machine, text: str = SECRET) -> None:
    for each in machines:
        each.sound()
        assert objects_with(each.root, text) == [], each.name
        assert files_with(each.root, text) == [], each.name
