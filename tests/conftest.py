"""What every test stands on: no developer's home, no git configuration, no GIT_* of a hook that runs the tests."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# A busy machine is no failure; in CI the same examples every time, on a desk new ones.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

_HOMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")


class RunsGit(Protocol):
    def __call__(
        self, cwd: Path, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> str: ...


def _live_in(home: Path, patch: pytest.MonkeyPatch) -> None:
    for name in _HOMES:
        patch.setenv(name, str(home))
    patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))


@pytest.fixture(scope="session", autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the whole session an empty home, no GIT_* variables, no system configuration and one time zone."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("GIT_", "GITMEM_", "XDG_", "CLAUDE_")):
                patch.delenv(name)
        _live_in(home, patch)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("TZ", "UTC")
        if hasattr(time, "tzset"):
            time.tzset()
        yield home


@pytest.fixture(autouse=True)
def _home_stays_empty(_isolated: Path) -> Iterator[None]:
    """Make a test that writes to the home it shares with others fail; `home` gives it one of its own."""
    yield
    left = sorted(path.name for path in _isolated.iterdir())
    assert not left, f"this test wrote {left} to the shared home: it needs the fixture `home`"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this test a home it may write to."""
    folder = tmp_path_factory.mktemp("own-home")
    _live_in(folder, monkeypatch)
    return folder


@pytest.fixture
def environ() -> dict[str, str]:
    """Copy the isolated environment, for code that is given one; ask for `home` before it if you need both."""
    return dict(os.environ)


@pytest.fixture(scope="session")
def bare_git() -> RunsGit:
    """Give a function that runs plain git in a folder, as a person with a name would, and returns what it printed."""

    def git(cwd: Path, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
        identity = {
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
        }
        run = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", *args],
            cwd=cwd,
            env={**os.environ, **identity, **(env or {})},
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, f"git {' '.join(args)}: {run.returncode}\n{run.stderr.decode(errors='replace')}"
        return run.stdout.decode("utf-8", "surrogateescape").strip()

    return git
