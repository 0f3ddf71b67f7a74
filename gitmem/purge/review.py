"""Preview purges of other machines that wait for an answer, and accept or refuse them for this machine.

Tested through `tests/purge/test_judge.py`.
"""

from __future__ import annotations

import os

from gitmem.errors import NotFoundError
from gitmem.git.repository import read_refs
from gitmem.git.rewrite import find, history
from gitmem.purge.erase import find_erased
from gitmem.purge.marks import PurgeRecord, Replacer
from gitmem.purge.records import read_records, read_state, record_path
from gitmem.purge.rewrite import follow, seek_texts
from gitmem.store.maintenance import own_refs
from gitmem.store.store import Store
from gitmem.sync.remotes import FETCHED
from gitmem.values import Value

_TEXTS, _FILES, _LENGTH = 5, 20, 60  # texts and files in a preview, and characters of each text


class WaitingPurge(Value):
    """A purge of another machine that waits for an answer: the path of its record, and the reason."""

    path: str
    why: str


class Preview(Value):
    """What a purge would remove: `found` of `texts` were found, `shown` are some, `files` some of their files."""

    path: str
    why: str
    texts: int
    found: int
    shown: tuple[str, ...]
    files: tuple[str, ...]
    more_files: int


def waiting_purges(store: Store) -> list[WaitingPurge]:
    """Return the purges that wait for an answer, by path."""
    waiting = read_state(store.private).waiting
    return sorted((WaitingPurge(record_path(key), why) for key, why in waiting.items()), key=lambda one: one.path)


def preview_purge(store: Store, path: str) -> Preview:
    """Search for the texts of a waiting purge, with bounded effort.

    Raises:
        NotFoundError: no purge of this path waits.

    """
    record, why = _waiting(store, path)
    walked = history(store.repository.git, [commit for _, commit in own_refs(store).values() if commit])
    seeker = seek_texts(store, walked, [record], (), limited=[record.key])
    erased = find_erased(store.repository.git, walked, [record])
    texts = sorted(erased.texts.union(seeker.found.get(record.key, ())))
    found = find(store.repository.git, walked, Replacer(texts))
    gone = {*found.paths, *erased.paths}
    files = sorted(
        {one.path for commit in walked for one in commit.changes if one.new in found.blobs or one.path in gone}
    )
    shown = tuple(text.decode("utf-8", "replace")[:_LENGTH] for text in texts[:_TEXTS])
    names = tuple(map(os.fsdecode, files[:_FILES]))
    return Preview(path, why, len(record.prints), len(texts), shown, names, len(files) - len(names))


def answer_purge(store: Store, path: str, *, yes: bool) -> list[str]:
    """Apply a waiting purge, or refuse it for this machine; return notices for the user.

    Raises:
        NotFoundError: no purge of this path waits.
        BusyError: another process kept the store's lock.

    """
    record, _ = _waiting(store, path)
    done = follow(store, _fetched(store), answers={record.key: yes})
    return done.notices if done else []


def _fetched(store: Store) -> tuple[str, ...]:
    return tuple(read_refs(store.repository.git, f"{FETCHED}/").values())


def _waiting(store: Store, path: str) -> tuple[PurgeRecord, str]:
    waiting = read_state(store.private).waiting
    commits = [*filter(None, [store.tip]), *_fetched(store)]
    for record in read_records(store, commits).records:
        if record.key in waiting and record_path(record.id) == path:
            return record, waiting[record.key]
    raise NotFoundError(f"No purge {path} waits for an answer.", "'gitmem review' lists those that wait.")
