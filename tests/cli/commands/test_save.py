import json
import os

import pytest


def test_a_save_that_left_secrets_out_says_how_many_of_which_kind(gitmem):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = f"use {token}, not {token[::-1]} or {token}; password=hunter2x <private>mine</private>"
    value = gitmem.json("save", text)
    assert value["redacted"] == {"github-token": 2, "password": 1, "private": 1}
    assert token not in json.dumps(value)
    told = "what looked like a secret (2 github-token, 1 password) and 1 private passage"
    assert gitmem("save", text)[2] == f"gitmem: Left out of what was saved: {told}.\n"


def test_a_leaked_git_environment_never_touches_the_users_code(gitmem, bare_git):
    bare_git(gitmem.cwd, "init", "-q")
    bare_git(gitmem.cwd, "commit", "-q", "--allow-empty", "-m", "code")
    before = bare_git(gitmem.cwd, "rev-parse", "HEAD")
    git = gitmem.cwd / ".git"
    leaked = {"GIT_DIR": str(git), "GIT_WORK_TREE": str(gitmem.cwd), "GIT_INDEX_FILE": str(git / "index")}
    assert gitmem("save", "leaked", **leaked)[0] == 0
    assert bare_git(gitmem.cwd, "rev-parse", "HEAD") == before
    assert "leaked" in (gitmem.root / "memory.md").read_text()
    assert bare_git(gitmem.root, "status", "--porcelain") == ""


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_private_folder_is_private(gitmem):
    gitmem("save", "x")
    for folder in ("gitmem", "gitmem/spool"):
        assert (gitmem.root / ".git" / folder).stat().st_mode & 0o077 == 0
