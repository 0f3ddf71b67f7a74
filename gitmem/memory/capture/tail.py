"""The end of a transcript: how full the model's context is, and whether it still holds gitmem's start text.

Tested through `tests/memory/capture/test_session_end.py`.
"""

from __future__ import annotations

from gitmem.hosts.all import find_host, name_of, read_records
from gitmem.machine.beneath import read_end
from gitmem.model.session.replay import hook_events
from gitmem.model.session.transcript import Role, records
from gitmem.model.session.turns import fold

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.model.session.turns import Turn

_USAGE_BYTES = 262_144  # at the end of a transcript, searched for the last message's token usage
_MARKER_BYTES = 8 * 1024 * 1024  # at the end of a transcript, searched for the start text
_WINDOW = 200_000  # tokens; a model with `[1m]` in its name has a million
_LARGE_WINDOW = 1_000_000


def context_used(path: str) -> float:
    """Return the share of the model's context window that the last message used, from 0 to 1 (spec P1)."""
    tokens, window = context_tokens(path)
    return min(1.0, tokens / window)


def context_tokens(path: str) -> tuple[int, int]:
    """Return the tokens of the context that the last message used, 0 if unknown, and the size of the window."""
    lines = read_end(path, _USAGE_BYTES)[0].decode("utf-8", "replace").split("\n") if path else []
    used = [part for part in records(lines) if part.tokens and not part.sidechain]
    if not used:
        return 0, _WINDOW
    large = "[1m]" in used[-1].model or max(part.tokens for part in used) > _WINDOW
    return used[-1].tokens, _LARGE_WINDOW if large else _WINDOW


def in_context(path: str, marker: str) -> bool:
    """Return whether a transcript holds `marker` after its last compaction.

    Only the end of a large transcript is read; without marker and compaction in it, the marker is assumed before it.
    """
    data, whole = read_end(path, _MARKER_BYTES)
    marked, compacted = data.rfind(marker.encode()), data.rfind(b'"compact_boundary"')
    return marked > compacted or (not whole and compacted < 0)


def last_words(path: str, since: datetime) -> tuple[str, bool]:
    """Return the agent's last text since a time, and whether it ends the transcript: an answer, no word in mid-turn."""
    text, ends = "", False
    for part in records(read_end(path, _USAGE_BYTES)[0].decode("utf-8", "replace").split("\n")):
        if part.sidechain or part.injected or part.at < since:
            continue
        ends = part.role is Role.ASSISTANT and bool(part.text.strip())
        text = part.text if ends else text
    return text, ends


def recorded_turn(path: str, turn: Turn) -> Turn | None:
    """Return a turn as the end of its host's transcript tells it; the last one for a turn without a prompt."""
    name = name_of(turn.host)
    own = find_host(name).lines  # of a host whose transcript is no file of lines, all are read
    data = b"" if own else read_end(path, _USAGE_BYTES)[0]
    lines = own(path) if own else data.decode("utf-8", "replace").splitlines(keepends=True)
    found = fold(hook_events(read_records(lines, name=name), None, turn.host))
    return next((one for one in reversed(found) if one.prompt and (not turn.prompt or one.key == turn.key)), None)
