"""A repository whose history a test writes commit by commit."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gitmem.git.process import Git
from tests.copies import new_repository


@pytest.fixture
def store(tmp_path) -> Path:
    return new_repository(tmp_path / "store")


@pytest.fixture
def commit(store, bare_git):
    def make(
        message: str, files: Mapping[str, str | None] | None = None, *, at: int = 0, committed: int | None = None
    ) -> str:
        for name, text in (files or {}).items():
            path = store / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, newline="\n")
        bare_git(store, "add", "-A")
        dates = {
            "GIT_AUTHOR_DATE": f"@{1_700_000_000 + at} +0900",
            "GIT_COMMITTER_DATE": f"@{1_700_000_000 + (at if committed is None else committed)} +0900",
        }
        options = ("--allow-empty", "--allow-empty-message", "--cleanup=verbatim")
        bare_git(store, "commit", "-q", *options, "-F", "-", stdin=message.encode(), env=dates)
        return bare_git(store, "rev-parse", "HEAD")

    return make


@pytest.fixture
def git(store, environ):
    return Git(store / ".git", store, environ)
