"""Join gitmem's own packs in a project's repository, so that they stay few; other packs are not touched.

gitmem leaves a commit's objects in a pack, since `git gc` removes loose objects that no ref reaches yet. But git also
repacks a whole repository once it has more than fifty packs.
"""

from __future__ import annotations

import contextlib
import os

from gitmem.machine.beneath import read_text

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.store.store import Store

_LISTED = ".pack:"  # separates path and commits in a line of the list, as fast-import writes it
_INDEX_FIRST = (".idx", ".rev", ".pack")  # git ignores a pack without its index


def listed_packs(store: Store) -> list[str]:
    """Return the names, without `.pack`, of the listed packs that still exist."""
    if not store.packs_file:
        return []
    folder = _folder(store)
    lines = read_text(store.packs_file).splitlines()
    names = dict.fromkeys(os.path.basename(line.partition(_LISTED)[0]) for line in lines if _LISTED in line)
    return [name for name in names if os.path.exists(os.path.join(folder, f"{name}.pack"))]


def join_listed(store: Store) -> None:
    """Join the listed packs, under the store's lock, until each is larger than twice all smaller ones together.

    With a multi-pack-index, which the user asked git for, leave the packs alone.

    Raises:
        BusyError: another process kept the lock.
        GitFailedError: git failed; no pack was removed.

    """
    from gitmem.store.upkeep.pending import remove_abandoned  # late, as below: a save only reads the list

    remove_abandoned(store)
    folder = _folder(store)
    with store.lock("maintain").acquire(store.config.lock.wait_seconds):
        listed = listed_packs(store)
        joined = _to_join(folder, [name for name in listed if not _is_kept(folder, name)])
        if len(joined) < 2 or os.path.exists(os.path.join(folder, "multi-pack-index")):  # noqa: PLR2004
            _list(store, listed)
            return
        from gitmem.git.upkeep.packing import pack_together

        new = pack_together(store.repository.git, folder, joined)
        _list(store, [*(name for name in listed if name not in joined), *new])
        for name in joined:
            if name not in new:
                _remove(os.path.join(folder, name))


def _to_join(folder: str, names: Iterable[str]) -> list[str]:
    """Return the smallest packs, up to the first that is larger than twice all smaller ones together."""
    chosen: list[str] = []
    total = 0
    for size, name in sorted((os.path.getsize(os.path.join(folder, f"{name}.pack")), name) for name in names):
        if len(chosen) > 1 and size > 2 * total:
            break
        chosen.append(name)
        total += size
    return chosen


def _is_kept(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, f"{name}.keep"))


def _list(store: Store, names: Iterable[str]) -> None:
    temporary = f"{store.packs_file}.new"
    with open(temporary, "w", encoding="ascii") as file:
        file.writelines(f"{name}{_LISTED}\n" for name in names)
    os.replace(temporary, store.packs_file)


def _remove(path: str) -> None:
    for suffix in _INDEX_FIRST:
        with contextlib.suppress(OSError):
            os.unlink(path + suffix)


def _folder(store: Store) -> str:
    return os.path.join(store.repository.layout.common_dir, "objects", "pack")
