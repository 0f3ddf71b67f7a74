"""Which files may enter a store, by any door: a sync, a clone, an edit by hand (docs/format.md, "Names").

A commit here refuses a name that some machine cannot store; a sync leaves out such a file of a remote and takes the
rest. A copy that a sync service, a file manager or an editor left beside a file is no memory: it stays where it is,
and `gitmem doctor` and `gitmem review` list it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase

from gitmem.config.read import MAX_BYTES
from gitmem.document.ids import CONFIG, FACTS, FORMAT, ID_FORM, MEMORY, TEMPORARY, fold
from gitmem.errors import CopyError, RefusedError
from gitmem.model.fact import parse_fact
from gitmem.platform.safe_open import MAX_FILE_BYTES

# Files that gitmem or git parses, with at most `MAX_BYTES`; `*` matches `/` as well.
SMALL = (FORMAT, CONFIG, "*.gitattributes", "*.gitignore")
_OWN_FOLDERS = (
    *("archive", "concepts", "counts", "daily", "episodes", "facts", "knowledge", "monthly", "patterns", "purged"),
    *("sessions", "summaries", "weekly"),
)
_OWN = {fold(name): name for name in (MEMORY, CONFIG, FORMAT, *_OWN_FOLDERS)}
_FREE_NAMES = "knowledge/"  # the user names the files in this folder
_SHORTEST = len("2026-11")  # the shortest name that gitmem makes, without suffix
KEPT_BESIDE = ".edited-"  # marks the name of a user's version that gitmem kept beside the memory's

# Names that only a sync service, a file manager or an editor gives: to a copy, and to a file of its own.
_COPY = r"(?:\.sync-|_)conflict-[0-9]{8}-[0-9]{6}|\([^()/]{0,200}(?:conflicted copy|in conflict)[^()/]{0,200}\)"
_LITTER = (
    r"\._.*|\.nfs[0-9a-f]{8,}|\.~lock\..*#|\.fuse_hidden.*|\.syncthing\..*\.tmp|~syncthing~.*|4913|\.goutputstream-.*"
)
# What file managers, sync services and editors make of a name: "memory 2.md", "memory - Copy.md", "memory (1).md",
# "memory-LAPTOP-4K.md"; "#memory.md#", ".memory.md.icloud", "memory.md.orig".
_DUPLICATE = r"%s(?: copy| - \w+)?(?: ?\([^()]{0,200}\)| [0-9]{1,3})?(?:-[A-Z0-9][A-Z0-9-]+)?%s"
_WRAPPED = r"[.#~$]{0,2}%s(?:[~#]|\.[A-Za-z0-9._-]+)?"
_BEGINS_WITH_ID = rf"({ID_FORM})(?![0-9a-z])"


def unusable_name(path: str, reserved: Collection[str] = ()) -> str | None:
    """Return why no store may have a file of this name, or None; `reserved` are top folders of this machine."""
    if any(ord(character) < 32 or ord(character) == 127 for character in path):  # noqa: PLR2004
        return "with control characters in its name"
    # NTFS ignores the part after a colon or backslash, and trailing dots and blanks, in a folder's name.
    parts = path.split("/")
    top = fold(parts[0]).replace("\\", ":").partition(":")[0].rstrip(". ")
    if top == TEMPORARY:
        return "where gitmem keeps its own temporary files"
    if top in _OWN and (parts[0] != _OWN[top] or (len(parts) == 1 and top in _OWN_FOLDERS)):
        return "whose name gitmem needs for its own files"
    return "where gitmem keeps what belongs to this machine" if top in reserved else None


def most_bytes(path: str) -> int:
    """Return how many bytes a file of a store may have."""
    return MAX_BYTES if any(fnmatchcase(path, pattern) for pattern in SMALL) else MAX_FILE_BYTES


def collision_reason(twin: str) -> str:
    """Return why a file is refused beside `twin`, whose name differs only in case or Unicode form."""
    return f"which on some file systems is the same as {twin!a}"


def check_edit(path: str, before: bytes | None, after: bytes, tracked: Callable[[str], Collection[str]]) -> None:
    """Raise RefusedError if a file changed by hand must not be committed; `tracked` as in `original_of`."""
    if before is None:
        twins = tracked(path.rpartition("/")[0])
        same = (collision_reason(twin) for twin in twins if twin != path and fold(twin) == fold(path))
        if complaint := unusable_name(path) or next(same, None):
            raise RefusedError(f"{path!a}, {complaint}.", "Remove or rename it.")
    if len(after) > max(len(before or b""), most_bytes(path)):
        raise RefusedError(f"{path!a} with {len(after):,} bytes, more than gitmem allows for it.", "Split it.")
    if before is None and (original := original_of(path, tracked)):
        raise CopyError(f"{path!a} is a copy of {original!a}.", "Remove it, or bring what it says into the original.")


def original_of(path: str, tracked: Callable[[str], Collection[str]]) -> str:
    """Return the original of an untracked copy, the path itself for a file of another program, else "".

    `tracked` returns the paths of the memory below a folder that are still in the work tree.
    """
    folder, _, name = path.rpartition("/")
    if re.fullmatch(_LITTER, name):
        return path
    prefix = f"{folder}/" if folder else ""
    if re.search(_COPY, name):
        bare = re.sub(rf" ?(?:{_COPY})[^.]*", "", name)
        return f"{prefix}{bare}" if bare != name else path
    if (started := re.match(_BEGINS_WITH_ID, name)) and folder:
        same = (known for known in tracked(folder.partition("/")[0]) if file_id(known) == started[1] and known != path)
        return min(same, key=rank, default="")
    beside = (known for known in tracked(folder) if known.rpartition("/")[0] == folder and known != path)
    same = (known for known in beside if (folder or known in _OWN.values()) and _is_name_of_copy(name, known))
    return "" if KEPT_BESIDE in name else min(same, key=rank, default="")


def _is_name_of_copy(name: str, original: str) -> bool:
    """Return whether a file of this name is a copy of the original beside it; gitmem's own names contain no other."""
    folder, _, bare = original.rpartition("/")
    stem, _, suffix = bare.rpartition(".")
    if folder and not original.startswith(_FREE_NAMES):
        return len(stem) >= _SHORTEST and stem in name
    duplicate = _DUPLICATE % (re.escape(stem), re.escape(f".{suffix}"))
    return bool(re.fullmatch(_WRAPPED % re.escape(bare), name) or (not folder and re.fullmatch(duplicate, name)))


def breaks_fact(path: str, before: bytes, after: bytes) -> bool:
    """Return whether an edit left a fact's file that is no longer a valid fact."""
    is_fact = path.startswith(f"{FACTS}/") and parse_fact(before, path) is not None
    return is_fact and parse_fact(after, path) is None


def file_id(path: str) -> str:
    """Return the id that the name of a file begins with, "" for none."""
    started = re.match(_BEGINS_WITH_ID, path.rpartition("/")[2])
    return started[1] if started else ""


def rank(path: str) -> tuple[bool, int, str]:
    """Return a key that sorts an original before its copies, whose names are longer or have other characters."""
    return re.search(r"(?:^|/)[^\s/.()~]+\.md$", path) is None, len(path), path
