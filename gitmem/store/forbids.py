"""The file `forbids` in the private folder: the literals that hooks/hook.sh searches in a tool call (`grep -F`).

The file may list more than what is in force, as a match only starts a check of the rules themselves. It must not list
less, so each clone, commit and arrival adds what its facts forbid, and a session's start and the work behind hooks
rewrite it, since files may have been edited by hand, or the store may have come here as a folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from gitmem.errors import GitmemError
from gitmem.model.fact import Fact, is_fact_path, parse_fact
from gitmem.model.forbidden import needles, usable_ones
from gitmem.platform.safe_open import read_text, replace_file
from gitmem.store.store import Store

FILE = "forbids"
MARKER = (".local", "share", "gitmem", "forbids")  # below the home: some store of this machine forbids something
_KEY = b"forbids:"
_MOST_LINES = 2_000  # of the file


def note_forbidden(store: Store, paths: Iterable[str]) -> None:
    """Add what the facts at these paths, which a commit just brought, forbid."""
    facts = []
    for path in filter(is_fact_path, paths):
        with contextlib.suppress(GitmemError, OSError):  # the commit is done; the work behind hooks rewrites the file
            data = store.read(path) or b""
            facts += [parse_fact(data, path)] if _KEY in data else []
    private, home = store.private, store.context.home
    lines = [needle for fact in facts if fact for literal in usable_ones(fact.forbids) for needle in needles(literal)]
    if lines:
        _write(private, home, (*_lines(private), *lines))


def write_forbids(private: str, home: str, facts: Iterable[Fact]) -> None:
    """Write what these facts forbid, and nothing else."""
    lines = {needle for fact in facts for literal in usable_ones(fact.forbids) for needle in needles(literal)}
    if lines != {*_lines(private)} or (lines and not os.path.exists(os.path.join(home, *MARKER))):
        _write(private, home, sorted(lines))


def _lines(private: str) -> list[str]:
    return read_text(os.path.join(private, FILE)).splitlines()


def _write(private: str, home: str, lines: Iterable[str]) -> None:
    """Write the file; a hook that still reads the old one only misses one match."""
    with contextlib.suppress(OSError):
        distinct = [*dict.fromkeys(lines)][:_MOST_LINES]
        replace_file(os.path.join(private, FILE), "".join(f"{line}\n" for line in distinct).encode("utf-8", "replace"))
        marker = os.path.join(home, *MARKER)
        if distinct and not os.path.exists(marker):
            os.makedirs(os.path.dirname(marker), exist_ok=True)
            with open(marker, "xb"):
                pass
