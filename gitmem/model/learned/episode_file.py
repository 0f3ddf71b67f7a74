"""The file of an episode: front matter for programs, sections for people (docs/format.md, "Episodes"). Pure.

A person may correct the sections; what they say is what is read.

Tested through `tests/model/learned/test_finished.py`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.model.document.document import Document
from gitmem.model.document.scalars import flow, plain_value
from gitmem.model.learned.episode import Episode, title_of
from gitmem.model.learned.error import ErrorSignature, names_in
from gitmem.model.learned.task import TaskType
from gitmem.model.session.outcome import Outcome

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "episodes"
KIND = "episode"
_TEXTS = {"problem": "Problem", "solution": "Solution"}
_LISTS = {
    "plan": "Plan",
    "decisions": "Decisions",
    "changes": "Changes of course",
    "gotchas": "Gotchas",
    "tips": "Tips",
    "links": "Exchanges",
}
_CONTEXT = "Context"


def episode_path(identifier: str, created: datetime) -> str:
    """Return the file of an episode."""
    day = created.astimezone(UTC)
    return f"{FOLDER}/{day:%Y}/{day:%m}/{identifier}.md"


def render_episode(episode: Episode) -> bytes:
    """Return the file of an episode; every machine makes the same bytes of it."""
    head = [f"{key}: {flow(plain_value(value))}" for key, value in _fields(episode).items() if value]
    return "\n".join(["---", *head, "---", *_body(episode), ""]).encode("utf-8", "replace")


def parse_episode(data: bytes) -> Episode | None:
    """Return the episode of a document, None if it is none."""
    document = Document.parse(data)
    given = document.metadata
    created = given.get("created")
    if given.get("kind") != KIND or not given.get("id") or not isinstance(created, datetime):
        return None
    ended, tools = given.get("ended"), given.get("tools")
    return Episode(
        id=_text(given, "id"),
        session=_text(given, "session"),
        host=_text(given, "host"),
        created=_zoned(created),
        ended=_zoned(ended if isinstance(ended, datetime) else created),
        type=TaskType(kind) if (kind := _text(given, "type")) in set(TaskType) else TaskType.FEATURE,
        task=_text(given, "task"),
        outcome=Outcome(ending) if (ending := _text(given, "outcome")) in set(Outcome) else None,
        exchanges=_texts(given, "exchanges"),
        tests=_text(given, "tests"),
        feedback=_text(given, "feedback"),
        files=_texts(given, "files"),
        symbols=_texts(given, "symbols"),
        errors=_errors(given.get("errors")),
        steps=_number(given, "steps"),
        failed=_number(given, "failed"),
        seconds=_number(given, "seconds"),
        tokens=_number(given, "tokens"),
        mended_in=_number(given, "mended_in"),
        tools=tuple((str(name), count) for name, count in tools.items() if isinstance(count, int))
        if isinstance(tools, dict)
        else (),
    )._replace(**_told(document.body))


def _fields(episode: Episode) -> dict[str, object]:
    return {
        "id": episode.id,
        "kind": KIND,
        "created": episode.created.astimezone(UTC).replace(microsecond=0),
        "ended": episode.ended.astimezone(UTC).replace(microsecond=0),
        "session": episode.session,
        "host": episode.host,
        "type": episode.type.value,
        "task": episode.task,
        "outcome": episode.outcome.value if episode.outcome else "",
        "tests": episode.tests,
        "feedback": episode.feedback,
        "files": episode.files,
        "symbols": episode.symbols,
        "errors": [
            {key: value for key in ("type", "message", "frames") if (value := getattr(error, key))}
            for error in episode.errors
        ],
        "steps": episode.steps,
        "failed": episode.failed,
        "seconds": episode.seconds,
        "tokens": episode.tokens,
        "mended_in": episode.mended_in,
        "tools": dict(episode.tools),
        "exchanges": episode.exchanges,
    }


def _body(episode: Episode) -> list[str]:
    lines = [f"# {episode.task}", ""]
    for name, title in _TEXTS.items():
        if text := getattr(episode, name):
            lines += [f"## {title}", "", text, ""]
    context = {
        "Files": episode.files,
        "Symbols": episode.symbols,
        "Errors": tuple(map(title_of, episode.errors)),
    }
    context_lines = [f"- {name}: {', '.join(values)}" for name, values in context.items() if values]
    lines += [f"## {_CONTEXT}", "", *context_lines, ""] if context_lines else []
    for name, title in _LISTS.items():
        if listed := getattr(episode, name):
            lines += [f"## {title}", "", *(f"- {line}" for line in listed), ""]
    return lines[:-1]


def _told(body: str) -> dict[str, object]:
    """Return the fields that the sections of a body tell."""
    sections = _sections(body)
    texts = {name: " ".join(sections.get(title, ())) for name, title in _TEXTS.items()}
    return texts | {
        name: tuple(line.removeprefix("- ") for line in sections.get(title, ()) if line.startswith("- "))
        for name, title in _LISTS.items()
    }


def _sections(body: str) -> dict[str, list[str]]:
    """Return the lines below each heading, without blank ones."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in body.splitlines():
        if line.startswith("## "):
            title = line[3:].strip()
        elif line.strip():
            found.setdefault(title, []).append(line.strip())
    return found


def _errors(given: object) -> tuple[ErrorSignature, ...]:
    found = []
    for one in given if isinstance(given, list) else []:
        if isinstance(one, dict):
            message = _text(one, "message")
            found.append(ErrorSignature(_text(one, "type"), message, names_in(message), _texts(one, "frames")))
    return tuple(found)


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _texts(given: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = given.get(key)
    return tuple(str(one) for one in value if isinstance(one, str | int | float)) if isinstance(value, list) else ()


def _number(given: Mapping[str, object], key: str) -> int:
    value = given.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _zoned(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
