"""Turns without secrets, and the lines that memory leaves out since the agent loads them itself.

Tested through `tests/memory/capture/test_turns.py`.
"""

from __future__ import annotations

import os

from gitmem.model.session.noise import BOOT_FILES, content_lines
from gitmem.redact.redact import redact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store

_BOOT_BYTES = 262_144


def boot_lines(store: Store) -> frozenset[str]:
    """Return the lines of files such as CLAUDE.md, which the agent loads itself and memory leaves out."""
    project, texts = os.path.dirname(store.root), []
    for name in BOOT_FILES:
        path = os.path.join(project, name)
        if os.path.isfile(path):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts.append(file.read(_BOOT_BYTES))
            except OSError:
                continue
    return content_lines(texts)


def redacted(turn: Turn, allow: Sequence[str]) -> Turn:
    """Return a turn without secrets. Call it before texts are shortened, which could cut off a secret's end."""

    def clean(text: str) -> str:
        return redact(text, allow=allow).text

    failures = tuple(
        failure._replace(
            command=clean(failure.command),
            error=clean(failure.error),
            fixed_by=clean(failure.fixed_by),
            meanwhile=clean(failure.meanwhile),
        )
        for failure in turn.failures
    )
    files, said = tuple(map(clean, turn.files)), tuple(map(clean, turn.said))
    prompt, answer = clean(turn.prompt), clean(turn.answer)
    return turn._replace(prompt=prompt, answer=answer, files=files, failures=failures, said=said)


def redacted_with_runs(turn: Turn, allow: Sequence[str]) -> Turn:
    """Return a turn without secrets, in the commands it ran as well."""

    def clean(text: str) -> str:
        return redact(text, allow=allow).text

    runs = tuple(run._replace(command=clean(run.command), after=tuple(map(clean, run.after))) for run in turn.runs)
    return redacted(turn._replace(runs=runs, edits=tuple(map(clean, turn.edits))), allow)
