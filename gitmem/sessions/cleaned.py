"""Read a session without its secrets and noise: redacted turns, the end of its transcript, its file."""

from __future__ import annotations

import os
from datetime import UTC

from gitmem.document.document import Document
from gitmem.document.entry import LINKS, find_entries, find_section
from gitmem.document.ids import session_path
from gitmem.document.message import link
from gitmem.hosts.host import find_host, name_of, read_records
from gitmem.platform.safe_open import read_end
from gitmem.redact.redact import redact
from gitmem.sessions.exchange import parse
from gitmem.sessions.transcript import Role, hook_events, records
from gitmem.sessions.turns import BOOT_FILES, content_lines, fold

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import TypeVar

    from gitmem.sessions.exchange import Exchange
    from gitmem.sessions.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction
    from gitmem.values import Value

    AnyValue = TypeVar("AnyValue", bound=Value)


_BOOT_BYTES = 262_144
_WORDS = {
    "episodes": "task",
    "patterns": "error",
    "sessions": "session",
}  # a fact's is its kind


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


def cleaner(store: Store) -> Callable[[str], str]:
    """Return the function that removes secrets from a text, with the values that the store's settings allow."""
    allow = store.config.redaction.allow
    return lambda text: redact(text, allow=allow).text


def clean_fields(value: AnyValue, clean: Callable[[str], str], *names: str) -> AnyValue:
    """Return a value with these fields cleaned, each a text or texts."""
    given = {name: getattr(value, name) for name in names}
    return value._replace(
        **{name: clean(one) if isinstance(one, str) else tuple(map(clean, one)) for name, one in given.items()}
    )


def redacted(turn: Turn, store: Store) -> Turn:
    """Return a turn without secrets, with the part of the project in which it was.

    Call it before texts are shortened, which could cut off a secret's end.
    """
    clean, names = cleaner(store), ("command", "error", "fixed_by", "meanwhile")
    failures = tuple(clean_fields(failure, clean, *names) for failure in turn.failures)
    turn = turn._replace(failures=failures, scope=turn.scope or store.scope_of(turn.cwd))
    return clean_fields(turn, clean, "prompt", "answer", "files", "said")


def redacted_with_runs(turn: Turn, store: Store) -> Turn:
    """Return a turn without secrets, in the commands it ran as well."""
    clean = cleaner(store)
    runs = tuple(clean_fields(run, clean, "command", "after") for run in turn.runs)
    return redacted(clean_fields(turn._replace(runs=runs), clean, "edits"), store)


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
    turns = fold(hook_events(read_records(lines, name=name), None, turn.host))
    return next((one for one in reversed(turns) if one.prompt and (not turn.prompt or one.key == turn.key)), None)


def find_session_file(transaction: Transaction, session: str, started: datetime) -> str | None:
    """Return the path of the file of a session that began then, None if it has none."""
    from gitmem.store.transcripts import file_name

    name = file_name(session)
    folder = session_path(started.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), name).rpartition("/")[0]
    names = sorted(other for other in transaction.names(folder) if other.endswith(f"-{name}.md"))
    return f"{folder}/{names[0]}" if names else None


def with_links(transaction: Transaction, path: str, files: Mapping[str, str]) -> dict[str, bytes | None]:
    """Return the change of a document that adds links to these files, given with titles; {} if it has them all."""
    data, up = transaction.read(path), "../" * path.count("/")
    document = Document.parse(data or b"")
    new = [
        f"- {_WORDS.get(name.split('/')[0]) or name.split('/')[1]}: {link(title, up + name)}"
        for name, title in files.items()
        if f"({up}{name})" not in document.body
    ]
    if data is None or not new:
        return {}
    newline, there = document.newline, find_section(document.body, LINKS)
    end = there.end if there else len(document.body)
    before, after = document.body[:end].rstrip(), document.body[end:]
    title = [] if there else ["", f"## {LINKS}", ""]
    lines = [before, *title, *new, *([""] if after else [])]
    return {path: document.with_body(newline.join([*lines, ""]) + after).render()}


def exchanges_in(data: bytes) -> list[Exchange]:
    """Return the exchanges in a session's file, in order."""
    entries = find_entries(data.decode("utf-8", "replace"))
    return [exchange for entry in entries if (exchange := parse(entry.entry)) is not None]
