"""An empty repository that fetches for another one: with its objects, and none of its configuration, refs or hooks.

A repository may have come from elsewhere, and many settings start programs when git goes to a remote, or lead it to
another one. So a fetch runs in a git folder of its own, whose common folder ships with gitmem
(`git.process.unfiltered`). What it brings becomes part of the repository once all of it is there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

from gitmem.machine.beneath import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.git.process.run import Git

FETCHED = "refs/worktree/fetched"  # a ref of the git folder alone, not of the common one
_KNOWN = "refs/worktree/known-"
_PREFIX = "tmp_objdir-gitmem-"  # `git gc` removes such a folder of a killed process
_KEEP = b"fast-import"  # recovery removes a `.keep` with this word, if this process is killed
_SYNC = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")


class Quarantine:
    """The folder of one fetch, inside the repository's folder of objects, so that files need no copy."""

    def __init__(self, folder: str, git: Git, common_dir: str) -> None:
        self._folder, self._git, self._common = folder, git, common_dir
        self._objects = os.path.join(folder, "objects")
        self.variables = {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": self._objects}

    def adopt(self, ref: str) -> str:
        """Make what was fetched part of the repository, point `ref` to it, and return its object id.

        A `.keep` protects each pack from a clean-up of the user's until then.
        """
        oid = read_text(os.path.join(self._folder, FETCHED)).strip()
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
            if read_text(os.path.join(self._common, ref)).strip() != oid:
                self._git.run(*_SYNC, "update-ref", "-m", "gitmem fetch", ref, oid)
        finally:
            for path in kept:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
        return oid


@contextlib.contextmanager
def quarantine(git: Git, common_dir: str, known: Iterable[str]) -> Iterator[Quarantine]:
    """Yield an empty quarantine for the repository of `git`, which has the commits `known`."""
    objects = os.path.join(common_dir, "objects")
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=objects) as folder:
        os.makedirs(os.path.join(folder, "objects", "info"))
        os.makedirs(os.path.join(folder, "objects", "pack"))
        os.makedirs(os.path.join(folder, *_KNOWN.split("/")[:-1]))
        quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(objects))  # any path, in git's quotes
        texts = {"HEAD": "ref: refs/heads/none", "objects/info/alternates": f'"{quoted}"'}
        texts |= {f"{_KNOWN}{number}": oid for number, oid in enumerate(known)}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(f"{text}\n")
        yield Quarantine(folder, git, common_dir)
