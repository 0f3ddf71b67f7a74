"""Find lines that contain one of several texts in the files of a commit, or among lines that commits removed.

Tested through `tests/search/test_sources.py`.
"""

from __future__ import annotations

import re

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.git.repository import TreeEntry
    from gitmem.store.store import Store

_SECONDS = 60.0
_HUNK = rb"@@ -([0-9]+)"
_SPECIAL = r"[][\\.*^$+?(){}|]"
_LOG = ("log", "--no-merges", "--patch", "--unified=0", "--no-renames", "--diff-filter=MD")
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--format=%x00%H %P%x00%ci")


class FoundLine(Value):
    """A line of a file, its number counted from 1."""

    path: str
    number: int
    text: str


class RemovedLine(Value):
    """A line that a commit removed: the parent that still has it, the time of the commit, and the line's place."""

    commit: str
    date: str
    path: str
    number: int
    text: str


def matching_paths(store: Store, commit: str, texts: Sequence[str]) -> set[str]:
    """Return the paths of the files of a commit that hold one of the texts, without regard to case."""
    output = _grep(store, commit, texts, "--files-with-matches", below=".")
    prefix = f"{commit}:".encode()
    return {part.removeprefix(prefix).decode("utf-8", "surrogateescape") for part in output.split(b"\0")[:-1]}


def matching_lines(store: Store, commit: str, texts: Sequence[str], *, below: str, most: int) -> list[FoundLine]:
    """Return the lines below a folder of a commit that hold one of the texts, at most so many of a file."""
    output = _grep(store, commit, texts, "--line-number", "--max-count", str(most), below=below)
    prefix = f"{commit}:".encode()
    lines = []
    for line in output.split(b"\n")[:-1]:
        path, _, rest = line.partition(b"\0")
        number, _, text = rest.partition(b"\0")
        path_text = path.removeprefix(prefix).decode("utf-8", "replace")
        lines.append(FoundLine(path_text, int(number), text.decode("utf-8", "replace")))
    return lines


def _grep(store: Store, commit: str, texts: Sequence[str], *options: str, below: str) -> bytes:
    patterns = [word for text in texts for word in ("-e", text)]
    return store.repository.git.unfiltered.run(
        *("grep", "--null", "-I", "--ignore-case", "--fixed-strings", "--full-name", *options, *patterns),
        *(commit, "--", below),
        ok=(0, 1),
        timeout=_SECONDS,
    )


def read_blobs(store: Store, files: Sequence[TreeEntry]) -> Iterator[bytes]:
    """Yield the contents of files of a commit, in the order asked for; a few at a time are in memory."""
    return store.repository.blobs([file.oid for file in files])


def removed_lines(store: Store, texts: Sequence[str]) -> Iterator[RemovedLine]:
    """Yield the lines removed by the commits that remove one of the texts, without regard to case, the newest first."""
    tip = store.repository.resolve("HEAD")
    pattern = "|".join(re.sub(_SPECIAL, r"\\\g<0>", text) for text in texts)
    output = store.repository.git.unfiltered.run(
        *_LOG, "--regexp-ignore-case", "-G", pattern, "--extended-regexp", *_PLAIN, tip, "--", timeout=_SECONDS
    )
    fields = output.split(b"\0")[1:]
    for ids, rest in zip(fields[::2], fields[1::2], strict=False):
        date, _, patch = rest.partition(b"\n")
        parents = ids.decode().split()[1:]
        if parents:
            yield from _removed_by(parents[0], date.decode()[:19], patch)


def _removed_by(parent: str, date: str, patch: bytes) -> Iterator[RemovedLine]:
    path, number = "", 0
    for line in patch.split(b"\n"):
        if line.startswith(b"--- ") and not number:
            path = line[4:].rstrip(b"\t").decode("utf-8", "surrogateescape").removeprefix("a/")
        elif line.startswith(b"diff --git "):
            path, number = "", 0
        elif line.startswith(b"@@") and (hunk := re.match(_HUNK, line)):
            number = int(hunk[1])
        elif line.startswith(b"-") and number:
            yield RemovedLine(parent, date, path, number, line[1:].decode("utf-8", "replace").rstrip("\r"))
            number += 1
