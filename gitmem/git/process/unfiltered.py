"""Run git so that no attribute and no setting of a repository changes bytes, or starts anything.

A `.gitattributes` chooses filters, encodings and line endings for every git command that compares a work tree with
blobs, and drivers for every one that prints a diff. It may come from a remote, and the programs it names from the
configuration of a person's project. Only `info/attributes` takes precedence over it, and in a linked work tree that
file is the project's. So these commands get a common folder that ships with gitmem (`templates/git`): it has its own
configuration and `info/attributes`, and no refs. Objects, index and work tree are the repository's.

Such commands are given full ids, since that folder has no names of revisions. Source: GIT_COMMON_DIR in git(1) and
gitrepository-layout(5), the order of attributes in gitattributes(5).
"""

from __future__ import annotations

import contextlib
import os

from gitmem.git.layout import common_dir_of
from gitmem.machine.beneath import read_text
from gitmem.machine.resources import resource

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator

# What `git init` found out about this repository's file system.
_FACTS = ("core.fileMode", "core.ignoreCase", "core.precomposeUnicode")


def unfiltered_settings(git_dir: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings and the variables of a git on the same objects, index and work tree without attributes."""
    common = common_dir_of(git_dir)
    values = _values(read_text(os.path.join(common, "config")))
    variables = {
        "GIT_COMMON_DIR": resource("templates", "git", "sha256" if values.get("objectformat") == "sha256" else "sha1"),
        "GIT_OBJECT_DIRECTORY": os.path.join(common, "objects"),
    }
    shallow = os.path.join(common, "shallow")
    if os.path.exists(shallow):
        variables["GIT_SHALLOW_FILE"] = shallow
    facts = {key: values.get(key.removeprefix("core.").lower(), "") for key in _FACTS}
    return {key: value for key, value in facts.items() if value in {"true", "false"}}, variables


@contextlib.contextmanager
def head_at(commit: str) -> Iterator[dict[str, str]]:
    """Yield variables (`env` of `Git.run`) with which `git.unfiltered` has this commit as `HEAD`, and no index."""
    import tempfile  # 6 ms

    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        with open(os.path.join(folder, "HEAD"), "w", encoding="ascii") as file:
            file.write(f"{commit}\n")
        yield {"GIT_DIR": folder}


def _values(config: str) -> dict[str, str]:
    """Return the last value of each key of a configuration, whatever its section, in lower case."""
    lines = (line.partition("=") for line in config.lower().splitlines())  # compiling patterns takes 0.4 ms
    return {key.strip(): value.strip().strip('"') for key, _, value in lines}
