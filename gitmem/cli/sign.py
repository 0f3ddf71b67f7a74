"""The sign of use: one line of what the last session was told, for the person at its start and for status lines.

An agent asks for a status line after each answer, so `gitmem.__main__` calls this without a parser, and it imports
little.
"""

from __future__ import annotations

import contextlib
import os
import sys

from gitmem.errors import GitmemError
from gitmem.store.locate import accepted_folder, find_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection

    from gitmem.store.store import Store

SIGN = "sign"  # file of the private folder


def sign_of_use(store: Store, ids: Collection[str], text: str, *, recorded: bool) -> str:
    """Return the line that tells a person what a session was told of these memories, and keep it for status lines."""
    from gitmem.document.ids import is_fact_id
    from gitmem.sessions.start import LEARNED
    from gitmem.text.sentences import count
    from gitmem.text.stems import estimate_tokens

    kinds = [one[0] for one in {*ids} if is_fact_id(one)]
    found = {"decision": kinds.count("d"), "open issue": kinds.count("i")}
    rest = len(kinds) - sum(found.values())
    found["other fact" if any(found.values()) else "fact"] = rest
    told = ", ".join(count(number, what) for what, number in found.items() if number) or "the last work"
    line = f"gitmem: {told} told ({estimate_tokens(text):,} tokens)" if text else "gitmem: nothing to tell"
    paused = ""
    if store.has_layers:
        from gitmem.store.layers import paused_words

        paused = paused_words(store)
    line += f"; {paused or 'recording'}" if recorded else "; NOT recording: 'gitmem doctor' says why"
    with (
        contextlib.suppress(OSError, UnicodeDecodeError),
        open(os.path.join(store.private, SIGN), "w", encoding="utf-8") as file,
    ):
        file.write(line)
        learned = os.path.join(store.private, LEARNED)
        with open(learned, encoding="utf-8") as last:
            line += f". {last.read().strip()}"
        os.unlink(learned)
    return line


def tell_sign(folder: str) -> None:
    """Print the line about the project that standard input names as JSON, or that of a folder; nothing without one.

    hooks/hook.sh does the same without Python. A store that came with the project says nothing.
    """
    home = os.environ.get("HOME") or os.path.expanduser("~")
    with contextlib.suppress(GitmemError, OSError, ValueError, AttributeError, TypeError):
        payload = "" if sys.stdin.isatty() else sys.stdin.read()
        root = find_store(os.path.join(folder, _named(payload) if payload else ""), home)
        if root is not None:
            with open(os.path.join(accepted_folder(root, os.environ, home), SIGN), encoding="utf-8") as file:
                line = file.read()
            if line.startswith("gitmem:") and line.isprintable():
                print(line)


def _named(payload: str) -> str:
    """Return the folder that an agent's question names, "" if it names none."""
    folder, closed, _ = payload.partition('"workspace":{')[2].partition('"project_dir":"')[2].partition('"')
    if closed and "\\" not in folder:  # as in hooks/hook.sh
        return folder
    import json  # takes 1.7 ms

    given = json.loads(payload)
    return (given.get("workspace") or {}).get("project_dir") or given.get("cwd") or ""
