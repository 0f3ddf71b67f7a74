"""How many sessions there are: one count for status, stats and backup, as `gitmem sessions` lists them."""

from __future__ import annotations

import contextlib
import os

from gitmem.document.message import Op, Trailer
from gitmem.git.log import log
from gitmem.history.sessions import sessions
from gitmem.platform.safe_open import read_text, replace_file
from gitmem.store.known_facts import KNOWN_FOLDER
from gitmem.store.store import Store

_COUNTED = "sessions"  # file: the commit up to which sessions were counted, and their ids


def count_sessions(store: Store) -> int:
    """Return how many sessions there are, as `sessions` lists them; only commits since the last count are read."""
    path, git = os.path.join(store.private, KNOWN_FOLDER, _COUNTED), store.repository.git
    tip = store.tip or ""  # starts no git
    last, *names = read_text(path).split("\n")
    if last == tip:
        return len(names)
    is_before = bool(last) and store.repository.is_ancestor(last, tip)
    new = log(git, f"{last}..{tip}" if is_before else tip)
    if any(commit.value(Trailer.OP) == Op.UNDO for commit in new):
        names = [session.id for session in sessions(store)]
    else:
        known = names if is_before else []
        names = [*dict.fromkeys((*known, *filter(None, (commit.value(Trailer.SESSION) for commit in new))))]
    with contextlib.suppress(OSError):  # else it is counted anew
        replace_file(path, "\n".join((tip, *names)).encode())
    return len(names)
