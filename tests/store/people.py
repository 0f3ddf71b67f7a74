"""Two people whose clones share a memory: each runs gitmem, edits its files, and commits with plain git."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitmem.platform.machine import Context, machine_name, now
from tests.command_line import ROOT
from tests.world import World


class User(World):
    """Somebody with a clone, in which commands are typed and plain git is run with `gitmem` as its merge driver."""

    def __init__(self, name: str, folder: Path, said: str, context: Context) -> None:
        super().__init__(folder / ".gitmem", context)
        self.name, self._said = name, said
        self.git("config", "user.name", name)
        self.git("config", "user.email", f"{name.lower()}@example.org")

    def on(self, folder: Path) -> User:
        """Return the same user with a clone on another machine."""
        self.run("clone", str(folder.parent / "remote.git"), folder.name, cwd=folder.parent)
        return User(self.name, folder, self._said, self.context)

    def git(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
        command = self.project.parent / "bin" / "gitmem"
        if not command.exists():
            command.parent.mkdir(exist_ok=True)
            command.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m gitmem \"$@\"\n")
            command.chmod(0o755)
        who = {"NAME": self.name, "EMAIL": f"{self.name.lower()}@example.org"} if args[0] == "commit" else {}
        names = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}
        path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        return super().git(*args, stdin=stdin, env={"PATH": path, **names, **(env or {})})

    def commit_all(self, *argv: str) -> None:
        self.git("commit", "-qa", *argv)

    def edit(self, change: Callable[[str], str], *, commit: bool = True) -> None:
        self.write("memory.md", change(self.read("memory.md")))
        if commit:
            self.commit_all("-m", "mine")

    def rule(self, text: str) -> str:
        return str(self.remember(text, "--type", "rule")["id"])

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
    fixtures = ("tmp_path", "home", "environ", "folder_copies")
    folder, home, environ, copies = map(request.getfixturevalue, fixtures)
    context = Context(environ, str(home), machine_name(str(home)), now)

    def users() -> tuple[User, User]:
        places = zip(names, ("laptop", "desktop"), strict=True)
        one, other = (User(name, folder / place, said, context) for name, place in places)
        return one, other

    def make() -> None:
        request.getfixturevalue("first")
        request.getfixturevalue("second")
        one, other = users()
        one.remember(said, "--type", kind)
        one.run("sync")
        other.run("sync")

    copies(f"{names} and {said}", folder, ("remote.git", "laptop", "desktop"), make)
    [path] = (folder / "laptop" / ".gitmem" / "facts" / kind).iterdir()
    return *users(), path.name[:11]
