from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from gitmem.git import trust as module
from gitmem.git.trust import GITMEM, Identity, IdentityLookup

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunsGit


@pytest.fixture
def store(tmp_path: Path, bare_git: RunsGit) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    return folder


def ask(store: Path, **more: str) -> Identity:
    return IdentityLookup(str(store / ".git"), str(store), {**os.environ, **more}).result()


def configure(home: Path, text: str | bytes) -> None:
    (home / ".gitconfig").write_bytes(text.encode() if isinstance(text, str) else text)


def test_without_any_configuration_it_is_gitmem(store, home):
    assert ask(store) == GITMEM == Identity("gitmem", "gitmem@localhost")


CONFIGURATIONS = {
    "both": ("[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n", ("Ada Lovelace", "ada@example.org")),
    "a name only": ("[user]\n\tname = Ada\n", ("Ada", "gitmem@localhost")),
    "an address only": ("[user]\n\temail = ada@example.org\n", ("gitmem", "ada@example.org")),
    "the last one wins": ("[user]\n\tname = A\n\tname = B\n\temail = b@b\n", ("B", "b@b")),
    "empty": ('[user]\n\tname = ""\n\temail =\n', ("gitmem", "gitmem@localhost")),
    "no values": ("[user]\n\tname\n\temail\n", ("gitmem", "gitmem@localhost")),
    "blanks": ('[user]\n\tname = "  Ada  "\n\temail = " "\n', ("Ada", "gitmem@localhost")),
    "unicode": ("[user]\n\tname = 김에이다\n\temail = 김@예.한국\n", ("김에이다", "김@예.한국")),
    "a newline": ('[user]\n\tname = "Ada\\nEve"\n\temail = a@a\n', ("Ada\nEve", "a@a")),
    "an equals sign": ("[user]\n\tname = a=b\n\temail = c=d@e\n", ("a=b", "c=d@e")),
    "other keys": ("[user]\n\tnames = x\n\tsigningKey = y\n\tuseConfigOnly = true\n", ("gitmem", "gitmem@localhost")),
    "not utf-8": (b"[user]\n\tname = Ad\xe4\n\temail = a@a\n", ("Ad\ufffd", "a@a")),
    "broken": ("[user\nname = Ada\n", ("gitmem", "gitmem@localhost")),
}


@pytest.mark.parametrize("text, expected", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_configurations(store, home, text, expected):
    configure(home, text)
    assert ask(store) == Identity(*expected)


def test_the_repository_s_configuration_comes_first(store, home, bare_git):
    configure(home, "[user]\n\tname = Ada\n\temail = ada@example.org\n")
    bare_git(store, "config", "user.name", "Here")
    assert ask(store) == Identity("Here", "ada@example.org")


def test_a_configuration_that_is_included_for_a_folder(store, home):
    (home / "work").write_text("[user]\n\tname = Worker\n\temail = w@w\n")
    configure(home, f'[includeIf "gitdir:{store.parent.as_posix()}/"]\n\tpath = {(home / "work").as_posix()}\n')
    assert ask(store) == Identity("Worker", "w@w")


def test_a_configuration_elsewhere(store, home, tmp_path):
    (tmp_path / "config").write_text("[user]\n\tname = Elsewhere\n\temail = e@e\n")
    assert ask(store, GIT_CONFIG_GLOBAL=str(tmp_path / "config")) == Identity("Elsewhere", "e@e")
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "config").write_text("[user]\n\tname = XDG\n\temail = x@x\n")
    assert ask(store) == Identity("XDG", "x@x")


def test_variables_of_a_hook_say_nothing(store, home, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q", "code")
    bare_git(tmp_path / "code", "config", "user.name", "Code")
    leaked = {
        "GIT_DIR": str(tmp_path / "code" / ".git"),
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_AUTHOR_EMAIL": "s@s",
        "EMAIL": "e@e",
    }
    assert ask(store, **leaked) == GITMEM


def test_it_is_asked_once_and_leaves_no_process(store, home):
    lookup = IdentityLookup(str(store / ".git"), str(store), os.environ)
    first = lookup.result()
    configure(home, "[user]\n\tname = Later\n")
    assert lookup.result() is first
    process = lookup._process
    assert process.returncode is not None
    assert all(pipe.closed for pipe in (process.stdin, process.stdout, process.stderr))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for git")
def test_a_git_that_does_not_answer_is_not_waited_for_for_ever(store, home, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "git"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))  # where `sleep` is
    lookup = IdentityLookup(str(store / ".git"), str(store), {**os.environ, "PATH": path})
    assert lookup.result() == GITMEM
    assert lookup.expired
    assert lookup._process.returncode is not None
