"""Read the transcripts of subagents, which some hosts keep in separate files, together with their session's."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator, Sequence

from gitmem.hosts.host import transcripts_in
from gitmem.platform.safe_open import open_regular
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.model.transcript import Record

_HEAD = 4_096  # bytes of a transcript's first line, which names the calling session


def with_subagents(
    records: Iterator[Record], paths: Sequence[str], read: Callable[[str], Iterator[Record]]
) -> Iterator[Record]:
    """Yield the records of a session and, marked as such, of its subagents, in order of time."""
    if not paths:
        yield from records
        return
    first = next(records, None)
    if first is None:
        return
    yield first

    def of_subagent(path: str) -> Iterator[Record]:
        name = os.path.basename(path).partition(".")[0]
        for record in read(path):
            yield record._replace(session=first.session, turn="", sidechain=True, agent=record.agent or name)

    yield from heapq.merge(records, *map(of_subagent, paths), key=lambda record: record.at)


def files_below(*folders: str) -> list[str]:
    """Return the transcripts of subagents below these folders, also of workflows and of subagents' subagents."""
    try:
        within = [folder for folder, _, _ in os.walk(os.path.join(*folders))]
    except ValueError:  # a path with a null byte
        return []
    return sorted(path for folder in within for path in transcripts_in(folder))


def called_by(path: str, *keys: str, prefix: str = "") -> list[str]:
    """Return the transcripts beside `path` whose first line names its session, under one of these keys, as caller."""
    session = os.path.basename(path).removesuffix(".jsonl")[-36:]  # a UUID; Codex puts the time before it
    marks = [f'"{key}":"{session}"'.encode() for key in keys] if session else []
    beside = (file for file in transcripts_in(os.path.dirname(path)) if os.path.basename(file).startswith(prefix))
    return [file for file in beside if file != path and any(mark in _head(file) for mark in marks)]


def _head(path: str) -> bytes:
    file = open_regular(path)
    if file is None:
        return b""
    with file:
        return file.readline(_HEAD)
