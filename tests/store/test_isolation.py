"""Variables, configurations and hooks of others change nothing."""

from __future__ import annotations

import shutil

import pytest

from tests.boxes import listing

# Configurations, environments and hooks


@pytest.fixture
def code(tmp_path, bare_git):
    """Give a repository with the user's own code."""
    folder = tmp_path / "code"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    (folder / "main.py").write_bytes(b"print()\n")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-qm", "code")
    (folder / "main.py").write_bytes(b"print(1)\n")
    return folder


def test_variables_of_a_hook_lead_nowhere(box, code, environ, bare_git):
    before = listing(code)
    leaked = {
        "GIT_DIR": str(code / ".git"),
        "GIT_WORK_TREE": str(code),
        "GIT_INDEX_FILE": str(code / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(code / ".git" / "objects"),
        "GIT_COMMON_DIR": str(code / ".git"),
        "GIT_PREFIX": "sub/",
        "GIT_NAMESPACE": "x",
        "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(code / ".git" / "objects"),
        "GIT_QUARANTINE_PATH": "/nowhere",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_TRACE": str(code / "trace"),
    }
    box.context = box.context._replace(environ={**environ, **leaked})
    box.reopen()
    box.write("by-hand.md", b"x\n")
    outcome = box.put({"memory.md": b"saved\n"}, scan=True)
    assert len(outcome.commits) == 2
    assert listing(code) == before
    assert box.git("log", "-1", "--format=%an %ad", "--date=format:%Y") == "gitmem 2026"
    box.sound()


HOOKS = ("reference-transaction", "pre-commit", "commit-msg", "post-commit", "post-index-change", "update", "pre-push")


def test_nothing_of_a_user_s_configuration_bites(box, home, tmp_path):
    hooks = tmp_path / "hooks"
    for folder in (hooks, box.root / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/fired'\nexit 1\n")
            (folder / name).chmod(0o755)
    settings = f"""
[commit]
    gpgSign = true
[gpg]
    program = false
[core]
    hooksPath = {hooks}
    autocrlf = true
    safecrlf = true
    fileMode = false
    excludesFile = {tmp_path}/ignore
    attributesFile = {tmp_path}/attributes
    fsmonitor = false
[init]
    defaultBranch = odd
    templateDir = {tmp_path}/template
[user]
    useConfigOnly = true
[filter "evil"]
    clean = false
    smudge = false
    required = true
[gc]
    auto = 1
[transfer]
    unpackLimit = 1
[fastimport]
    unpackLimit = 1000
[status]
    showUntrackedFiles = no
    relativePaths = false
[index]
    version = 4
[feature]
    manyFiles = true
"""
    (tmp_path / "ignore").write_text("*\n")
    (tmp_path / "attributes").write_text("* filter=evil text eol=crlf ident\n")
    (home / ".gitconfig").write_text(settings)
    box.write("by-hand.md", b"x\n$Id$\n")
    outcome = box.put({"memory.md": b"a\r\nb\n$Id$\n", "new.md": b"c\n"}, scan=True)
    assert len(outcome.commits) == 2
    (home / ".gitconfig").unlink()
    shutil.rmtree(box.root / ".git" / "hooks")
    assert box.files()["memory.md"] == b"a\r\nb\n$Id$\n"
    assert not (tmp_path / "fired").exists()
    box.sound()


def test_nothing_of_the_repository_s_configuration_bites(box, tmp_path):
    for key, value in {
        "commit.gpgSign": "true",
        "core.hooksPath": str(tmp_path / "hooks"),
        "core.autocrlf": "true",
        "core.splitIndex": "true",
        "core.untrackedCache": "true",
        "core.quotePath": "true",
        "core.logAllRefUpdates": "false",
        "fastimport.unpackLimit": "1000",
        "transfer.fsckObjects": "true",
        "status.branch": "true",
        "color.ui": "always",
        "core.sparseCheckout": "true",
        "submodule.recurse": "true",
    }.items():
        box.git("config", key, value)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "reference-transaction").write_text(f"#!/bin/sh\ntouch '{tmp_path}/fired'\nexit 1\n")
    (tmp_path / "hooks" / "reference-transaction").chmod(0o755)
    box.write("결정.md", b"x\r\n")
    box.put({"memory.md": b"a\r\nb\n", "new.md": b"c\n"}, scan=True)
    assert not (tmp_path / "fired").exists()
    (tmp_path / "hooks" / "reference-transaction").unlink()
    for key in ("color.ui", "core.autocrlf", "status.branch"):
        box.git("config", "--unset", key)
    box.sound()
