"""Two people whose clones share a memory: each runs gitmem, edits its files, and commits with plain git."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import ROOT, Ran
from tests.conftest import RunsGit


class User:
    """Somebody with a clone."""

    def __init__(self, name: str, folder: Path, said: str, run_in: Callable[..., Ran], git: RunsGit) -> None:
        self.name, self.folder, self._said, self._run_in, self._git = name, folder, said, run_in, git
        self.git("config", "user.name", name)
        self.git("config", "user.email", f"{name.lower()}@example.org")

    def on(self, folder: Path) -> User:
        """Return the same user with a clone on another machine."""
        self._run_in(folder.parent, "clone", str(folder.parent / "remote.git"), folder.name)
        return User(self.name, folder, self._said, self._run_in, self._git)

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

    def reword(self, words: str, *, commit: bool = True) -> None:
        """Edit the line of what both have."""
        self.edit(lambda text: text.replace(self._said, words), commit=commit)

    def facts(self) -> list[str]:
        return [one["description"] for one in self.run("facts", "list", "--json").json]

    def told(self, identifier: str = "") -> str:
        """Return the text of a fact, or what a session is told."""
        return str(
            self.run("facts", "show", identifier, "--json").json["text"] if identifier else self.run("start").out
        )

    def review(self) -> list[str]:
        return [one["path"] for one in self.run("status", "--json").json["review"]]

    def waiting(self) -> list[str]:
        return [one["change"] for one in self.run("review", "--json").json if "change" in one]


def make_people(names: tuple[str, str], said: str, kind: str, request: pytest.FixtureRequest) -> tuple[User, User, str]:
    """Return two people whose clones both have what the first one said, and its id."""
    fixtures = ("tmp_path", "run_in", "bare_git", "folder_copies")
    folder, run_in, git, copies = map(request.getfixturevalue, fixtures)

    def users() -> tuple[User, User]:
        places = zip(names, ("laptop", "desktop"), strict=True)
        one, other = (User(name, folder / place, said, run_in, git) for name, place in places)
        return one, other

    def make() -> None:
        request.getfixturevalue("first")
        request.getfixturevalue("second")
        one, other = users()
        one.save(said, kind)
        one.run("sync")
        other.run("sync")

    copies(f"{names} and {said}", folder, ("remote.git", "laptop", "desktop"), make)
    [path] = (folder / "laptop" / ".gitmem" / "facts" / kind).iterdir()
    return *users(), path.name[:11]
