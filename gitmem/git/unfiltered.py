"""What git is told so that no attribute and no setting of a repository touches bytes, or runs anything.

A `.gitattributes` chooses filters, encodings and line endings for every git command that compares a work tree with
blobs, and drivers for every one that prints a diff; it may come from a remote, and what it names may stand in the
configuration of a person's project. Of all sources only `info/attributes` wins over it, and in a linked work tree that
file is the project's. So these commands run with a common folder that ships with gitmem (`templates/git`): it has a
configuration and an `info/attributes` of ours and no refs; objects, index and work tree are the repository's.

Names of revisions mean nothing there: such commands are given full ids. Source: GIT_COMMON_DIR in git(1) and
gitrepository-layout(5), the order of attributes in gitattributes(5).
"""

from __future__ import annotations

import contextlib
import os
import re

from gitmem.git.process.run import Git
from gitmem.git.repository import common_dir_of
from gitmem.machine.beneath import read_text
from gitmem.machine.resources import resource

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What `git init` found out about the file system, which no two repositories need have in common.
_FACTS = ("core.fileMode", "core.ignoreCase", "core.precomposeUnicode")


def unfiltered(git: Git, environ: Mapping[str, str]) -> Git:
    """Return a git on the same objects, index and work tree that knows no attributes and no settings but gitmem's."""
    assert git.git_dir is not None
    common = common_dir_of(git.git_dir)
    said = read_text(os.path.join(common, "config"))
    variables = {
        "GIT_COMMON_DIR": resource("templates", "git", "sha256" if _is_sha256(said) else "sha1"),
        "GIT_OBJECT_DIRECTORY": os.path.join(common, "objects"),
    }
    shallow = os.path.join(common, "shallow")
    if os.path.exists(shallow):
        variables["GIT_SHALLOW_FILE"] = shallow
    settings = {key: value for key in _FACTS if (value := _fact(said, key))}
    return Git(git.git_dir, git.work_tree, environ, settings=settings, variables=variables)


@contextlib.contextmanager
def head_at(commit: str) -> Iterator[dict[str, str]]:
    """Give the variables (`env` of `Git.run`) with which `git.unfiltered` has this commit as `HEAD`, and no index."""
    import tempfile  # 6 ms

    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        with open(os.path.join(folder, "HEAD"), "w", encoding="ascii") as file:
            file.write(f"{commit}\n")
        yield {"GIT_DIR": folder}


def _is_sha256(config: str) -> bool:
    return re.search(r"(?im)^\s*objectformat\s*=\s*\"?sha256", config) is not None


def _fact(config: str, key: str) -> str:
    """Return what a repository's configuration says of its file system, `true`, `false` or "" where it says nothing."""
    found = re.findall(rf"(?im)^\s*{key.removeprefix('core.')}\s*=\s*(true|false)\s*$", config)
    return found[-1].lower() if found else ""
