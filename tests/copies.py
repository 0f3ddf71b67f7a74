"""Stores and other folders that are made once in a session, and copied for each test that needs them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from gitmem.git.setup import exclude
from gitmem.platform.machine import Context, now
from gitmem.store.init import Place, init_store
from gitmem.store.locate import is_store
from gitmem.store.remotes import remotes
from gitmem.store.store import Store

# The user who runs plain git.
USER = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def run_git(cwd: Path, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run plain git in a folder, as a user with a name would, and return what it printed."""
    if args == ("rev-parse", "HEAD") and (tip := _loose_tip(Path(cwd) / ".git")):
        return tip
    run = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *args],
        cwd=cwd,
        env={**os.environ, **USER, **(env or {})},
        input=stdin if stdin is not None else b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, f"git {' '.join(args)}: {run.returncode}\n{run.stderr.decode(errors='replace')}"
    return run.stdout.decode("utf-8", "surrogateescape").strip()


def new_repository(folder: Path, files: Mapping[str, bytes] | None = None, *options: str) -> Path:
    """Make a repository that a user has, with one commit of files; with None it has no commit."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "-q", *options)
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    if files is not None:
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def _loose_tip(git: Path) -> str:
    """Return the commit that a repository is at, "" where git is to be asked; thousands of tests want it."""
    try:
        head = (git / "HEAD").read_text().partition("ref: ")[2].strip()
        return (git / head).read_text().strip() if head else ""
    except OSError:  # a packed ref, or that of another work tree
        return ""


def accept(project: Path, context: Context) -> Store:
    """Say yes to a project's store and its remotes, as on the machine that made it."""
    store = Store(str(project / ".gitmem"), context)
    store.acceptance.accept(tuple(url for one in remotes(store) for url in (one.url, one.push_url)))
    return store


class StoreCopies:
    """Gives projects stores that are copies of ones made once: `init` takes thirty times as long."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[object, Path] = {}

    def __call__(self, project: Path, context: Context, at: datetime) -> Store:
        """Give a folder a store, as `init_store` would have at that time."""
        made_by = (context.machine, at)
        if made_by not in self._made:
            template = self._made[made_by] = self._folder / str(len(self._made))
            template.mkdir()
            init_store(str(template), context._replace(clock=lambda: at), Place.PROJECT)
        shutil.copytree(self._made[made_by] / ".gitmem", project / ".gitmem", symlinks=True)
        if (project / ".git").is_dir():
            exclude(str(project / ".git"), "/.gitmem/")
        store = Store(str(project / ".gitmem"), context)
        store.acceptance.accept(())  # it has no remotes
        return store


class FolderCopies:
    """Gives tests folders, such as clones with their remote, that are copies of ones made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Path] = {}

    def __call__(self, what: str, to: Path, names: Sequence[str], make: Callable[[], object]) -> Path:
        """Have `make` fill these folders in `to`, or copy what it made as `what` in an earlier test.

        Returns where they were made. The settings of repositories name the copies.
        """
        if what not in self._made:
            make()
            for name in names:
                shutil.copytree(to / name, self._folder / what / name, symlinks=True)
            self._made[what] = to
        elif to != self._made[what]:
            for name in names:
                shutil.copytree(self._folder / what / name, to / name, symlinks=True, dirs_exist_ok=True)
                for config in (to / name).glob("**/.git/config"):
                    text = config.read_text(encoding="utf-8")
                    config.write_text(text.replace(_quoted(self._made[what]), _quoted(to)), encoding="utf-8")
        for project in {to / name for name in names}:
            if is_store(str(project / ".gitmem")):
                accept(project, Context(os.environ, os.environ["HOME"], "copies", now))
        return self._made[what]


def _quoted(path: Path) -> str:
    """Write a path as git does in its configuration."""
    return str(path).replace("\\", "\\\\")
