"""Fetched objects, apart from those of the repository until git has checked them.

Tested through `tests/sync/test_rounds.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping

from gitmem.git.process import Git, unfiltered_settings
from gitmem.git.repository import SYNC
from gitmem.platform.safe_open import read_text

OWN_REFS = "refs/worktree"  # of refs of the git folder alone, not of the common one
KNOWN = f"{OWN_REFS}/known-"
_PREFIX = "tmp_objdir-gitmem-"  # `git gc` removes such a folder of a killed process
_KEEP = b"fast-import"  # recovery removes a `.keep` with this word, if this process is killed


class Quarantine:
    """The folder of one fetch, inside the repository's folder of objects, so that files need no copy."""

    def __init__(self, folder: str, git: Git, common_dir: str) -> None:
        self._folder, self._git, self._common = folder, git, common_dir
        self._objects = os.path.join(folder, "objects")
        self._settings = unfiltered_settings(str(git.git_dir))[1]["GIT_COMMON_DIR"]
        self.variables = {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": self._objects}

    def cut_history(self) -> None:
        """Let git note here, and not in its common folder, which commits it fetches without their parents."""
        for name in ("config", os.path.join("info", "attributes")):
            os.makedirs(os.path.dirname(os.path.join(self._folder, name)), exist_ok=True)
            shutil.copyfile(os.path.join(self._settings, name), os.path.join(self._folder, name))
        self.variables["GIT_COMMON_DIR"] = self._folder

    def adopt(self, refs: Mapping[str, str]) -> None:
        """Make what was fetched part of the repository, and point these refs to it.

        A `.keep` protects each pack from a clean-up of the user's until then.
        """
        kept = []
        try:
            for folder, _, names in os.walk(self._objects):
                target = os.path.join(self._common, "objects", os.path.relpath(folder, self._objects))
                # Git sees a pack as soon as its index is there.
                for name in sorted(names, key=lambda name: name.endswith(".idx")):
                    stem, suffix = os.path.splitext(name)
                    path = os.path.join(target, name)
                    if os.path.basename(folder) == "info" or os.path.exists(path):
                        continue
                    os.makedirs(target, exist_ok=True)
                    if suffix == ".pack":
                        kept.append(os.path.join(target, f"{stem}.keep"))
                        with open(kept[-1], "wb") as file:
                            file.write(_KEEP)
                    os.rename(os.path.join(folder, name), path)
            moved = (
                f"update {ref} {oid}\n"
                for ref, oid in refs.items()
                if read_text(os.path.join(self._common, ref)).strip() != oid
            )
            if os.path.exists(cut := os.path.join(self._folder, "shallow")):  # which commits lack their parents
                os.replace(cut, os.path.join(self._common, "shallow"))
            if lines := "".join(moved):
                self._git.run(*SYNC, "update-ref", "-m", "gitmem fetch", "--stdin", stdin=lines.encode())
        finally:
            for path in kept:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def fetched(self) -> dict[str, str]:
        """Return what was fetched, by the names of the refs below `refs/worktree/`."""
        top = os.path.join(self._folder, *OWN_REFS.split("/"))
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
        return {os.path.relpath(path, top).replace(os.sep, "/"): read_text(path).strip() for path in paths}

    def check(self, git: Git) -> None:
        """Have git check the objects that were fetched; raises GitFailedError."""
        folder = os.path.join(self._objects, "pack")
        for name in [name for name in os.listdir(folder) if name.endswith(".pack")]:
            checked = os.path.join(self._folder, f"{name}.idx")
            git.run("index-pack", "--fsck-objects", "-o", checked, os.path.join(folder, name), env=self.variables)


@contextlib.contextmanager
def quarantine(git: Git, common_dir: str, known: Iterable[str]) -> Iterator[Quarantine]:
    """Yield an empty quarantine for the repository of `git`, which has the commits `known`."""
    objects = os.path.join(common_dir, "objects")
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=objects) as folder:
        os.makedirs(os.path.join(folder, "objects", "info"))
        os.makedirs(os.path.join(folder, "objects", "pack"))
        os.makedirs(os.path.join(folder, *KNOWN.split("/")[:-1]))
        quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(objects))  # any path, in git's quotes
        texts = {"HEAD": "ref: refs/heads/none", "objects/info/alternates": f'"{quoted}"'}
        texts |= {f"{KNOWN}{number}": oid for number, oid in enumerate(known)}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(f"{text}\n")
        yield Quarantine(folder, git, common_dir)
