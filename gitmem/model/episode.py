"""An episode, a finished task of a session (docs/format.md, "Episodes"), and its file. Pure.

It names its exchanges, and sums up their problem, solution and lessons in short lines. The file has front matter for
programs and sections for users, who may correct them: the sections are what is read back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitmem.document.document import Document, as_line, as_moment, as_texts
from gitmem.document.ids import agreed_id, file_name_of, kind_id, tail_of
from gitmem.document.plain_header import flow, plain_value
from gitmem.model.error import ErrorSignature, fields_of, signature
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType
from gitmem.platform.machine import UTC, datetime
from gitmem.values import Value

LETTER = "e"


class Episode(Value):
    """A finished task. `exchanges` are ids, `links` their lines; `outcome` is None if nothing shows one.

    `steps` is the number of tool calls, `seconds` the duration of its turns, `tokens` the growth of the context in
    them, `mended_in` the seconds until its slowest error was fixed; each 0 if unknown.
    """

    id: str
    session: str
    host: str
    created: datetime
    ended: datetime
    type: TaskType
    task: str
    outcome: Outcome | None
    exchanges: tuple[str, ...]
    links: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    errors: tuple[ErrorSignature, ...] = ()
    steps: int = 0
    tools: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    solution: str = ""
    plan: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    seconds: int = 0
    tokens: int = 0
    mended_in: int = 0
    by: str = ""  # the model that wrote it
    scope: tuple[str, ...] = ()  # the parts of the project it belongs to; empty: all


def episode_id(session: str, exchange: str) -> str:
    """Return the id of the episode that begins with an exchange; the same on every machine."""
    return kind_id(LETTER, session, tail_of(exchange))


def ending(episode: Episode) -> str:
    """Return the outcome of an episode in a word."""
    return episode.outcome.value if episode.outcome else "open"


def title_of(error: ErrorSignature) -> str:
    """Return an error on one line."""
    return ": ".join(filter(None, (error.type, error.message)))


FOLDER = "episodes"
KIND = "episode"
_TEXTS = {"problem": "Problem", "solution": "Solution"}
_LISTS = {"plan": "Plan", "decisions": "Decisions", "gotchas": "Gotchas", "tips": "Tips", "links": "Exchanges"}
_CONTEXT = "Context"


def episode_folder(created: datetime) -> str:
    """Return the folder of the episodes of a month."""
    return f"{FOLDER}/{created.astimezone(UTC):%Y/%m}"


def _errors(listed: object) -> tuple[ErrorSignature, ...]:
    rows = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return tuple(signature(row.get("type"), row.get("message")) for row in rows)


# The keys of the header in order, and how each is read.
_HEADER: dict[str, Callable[[object], Any]] = {
    "id": as_line,
    "kind": as_line,
    "created": as_moment,
    "ended": as_moment,
    "session": as_line,
    "host": as_line,
    "type": lambda value: TaskType(kind) if (kind := as_line(value)) in set(TaskType) else TaskType.FEATURE,
    "task": as_line,
    "outcome": lambda value: Outcome(ending) if (ending := as_line(value)) in set(Outcome) else None,
    "files": as_texts,
    "errors": _errors,
    **dict.fromkeys(("steps", "seconds", "tokens", "mended_in"), lambda value: value if type(value) is int else 0),
    "by": as_line,
    "tools": lambda value: (
        tuple((str(name), count) for name, count in value.items() if type(count) is int)
        if isinstance(value, dict)
        else ()
    ),
    "exchanges": as_texts,
    "scope": as_texts,
}


def episode_path(episode: Episode) -> str:
    """Return the file of a new episode."""
    return f"{episode_folder(episode.created)}/{file_name_of(episode.id, episode.task)}"


def render_episode(episode: Episode) -> bytes:
    """Return the file of an episode; every machine makes the same bytes of it."""
    fields: dict[str, object] = {key: getattr(episode, key, KIND) for key in _HEADER}
    fields["created"] = episode.created.astimezone(UTC).replace(microsecond=0)
    fields["ended"] = episode.ended.astimezone(UTC).replace(microsecond=0)
    fields |= {"errors": list(map(fields_of, episode.errors)), "tools": dict(episode.tools)}
    head = [f"{key}: {flow(plain_value(value))}" for key, value in fields.items() if value]
    return "\n".join(["---", *head, "---", *_body(episode), ""]).encode("utf-8", "replace")


def parse_episode(data: bytes, path: str = "") -> Episode | None:
    """Return the episode of a document, None if it is none."""
    document = Document.parse(data)
    header = document.metadata
    fields = {key: read(header.get(key)) for key, read in _HEADER.items()}
    if fields.pop("kind") != KIND or not agreed_id(fields["id"], path) or fields["created"] is None:
        return None
    fields["ended"] = fields["ended"] or fields["created"]
    return Episode(**fields, **_told(document.body))


def _body(episode: Episode) -> list[str]:
    lines = [f"# {episode.task}", ""]
    for name, title in _TEXTS.items():
        if text := getattr(episode, name):
            lines += [f"## {title}", "", text, ""]
    context = {"Files": episode.files, "Errors": tuple(map(title_of, episode.errors))}
    context_lines = [f"- {name}: {', '.join(values)}" for name, values in context.items() if values]
    lines += [f"## {_CONTEXT}", "", *context_lines, ""] if context_lines else []
    for name, title in _LISTS.items():
        if listed := getattr(episode, name):
            lines += [f"## {title}", "", *(f"- {line}" for line in listed), ""]
    return lines[:-1]


def _told(body: str) -> dict[str, Any]:
    """Return the fields in the sections of a body, ignoring blank lines."""
    sections: dict[str, list[str]] = {}
    title = ""
    for line in filter(None, map(str.strip, body.split("\n"))):
        if line.startswith("## "):
            title = line[3:].strip()
        else:
            sections.setdefault(title, []).append(line)
    texts = {name: " ".join(sections.get(title, ())) for name, title in _TEXTS.items()}
    lists = ((name, sections.get(title, ())) for name, title in _LISTS.items())
    return texts | {name: tuple(line[2:] for line in lines if line.startswith("- ")) for name, lines in lists}
