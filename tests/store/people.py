"""Two people whose clones share a memory: each runs gitmem, edits its files, and commits with plain git."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

import pytest

from tests.cli.commands.project import ROOT, Ran
from tests.conftest import RunsGit
from tests.copies import FolderCopies


class Person:
    """Somebody with a clone."""

    def __init__(self, name: str, folder: Path, run_in: Callable[..., Ran], git: RunsGit) -> None:
        self.name, self.folder, self._run_in, self._git = name, folder, run_in, git
        self.git("config", "user.name", name)
        self.git("config", "user.email", f"{name.lower()}@example.org")

    def on(self, folder: Path) -> Self:
        """Return the same person with a clone on another machine."""
        self._run_in(folder.parent, "clone", str(folder.parent / "remote.git"), folder.name)
        return type(self)(self.name, folder, self._run_in, self._git)

    def run(self, *argv: str) -> Ran:
        return self._run_in(self.folder, *argv)

    def git(self, *argv: str) -> str:
        """Run git as oneself, with `gitmem` on the path for the merge driver."""
        command = self.folder.parent / "bin" / "gitmem"
        if not command.exists():
            command.parent.mkdir(exist_ok=True)
            command.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m gitmem \"$@\"\n")
            command.chmod(0o755)
        who = {"NAME": self.name, "EMAIL": f"{self.name.lower()}@example.org"} if argv[0] == "commit" else {}
        names = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}
        path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        return self._git(self.folder / ".gitmem", *argv, env={"PATH": path, **names})

    def commit(self, *argv: str) -> None:
        self.git("commit", "-qa", *argv)

    def save(self, text: str, kind: str = "rule") -> str:
        return str(self.run("save", text, "--type", kind, "--json").json["id"])

    @property
    def memory(self) -> str:
        return (self.folder / ".gitmem" / "memory.md").read_text(encoding="utf-8")

    def edit(self, change: Callable[[str], str], *, commit: bool = True) -> None:
        (self.folder / ".gitmem" / "memory.md").write_text(change(self.memory), encoding="utf-8")
        if commit:
            self.commit("-m", "mine")

    def facts(self, *options: str) -> list[str]:
        return [one["description"] for one in self.run("facts", "list", *options, "--json").json]


P = TypeVar("P", bound=Person)


def make_people(
    names: tuple[str, str],
    said: tuple[str, str],
    folder: Path,
    run_in: Callable[..., Ran],
    git: RunsGit,
    *,
    kind: type[P],
    copies: FolderCopies,
    request: pytest.FixtureRequest,
) -> tuple[P, P]:
    """Return two people whose clones both have what the first one said, of a type."""

    def persons() -> tuple[P, P]:
        return kind(names[0], folder / "laptop", run_in, git), kind(names[1], folder / "desktop", run_in, git)

    def make() -> None:
        request.getfixturevalue("first")
        request.getfixturevalue("second")
        one, other = persons()
        one.save(*said)
        one.run("sync")
        other.run("sync")

    copies(f"two people and {said}", folder, ("remote.git", "laptop", "desktop"), make)
    return persons()
