"""An episode, a finished task of a session with its lessons, and its file (docs/format.md, "Episodes"). Pure.

It is a view of its exchanges: it names them, and sums up problem, solution and lessons in short lines. The file has
front matter for programs and sections for people, who may correct them: what the sections say is what is read.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.document.document import Document
from gitmem.document.ids import kind_id, tail_of
from gitmem.document.scalars import flow, plain_value
from gitmem.lessons.error import ErrorSignature, names_in
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.state import TaskType
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping


LETTER = "e"
UNMENDED = ": nothing mended it"  # ends the line of an error
REJECTED = "Rejected by the person: "  # begins the line of a result
_FEW_FILES, _MANY_FILES = 3, 6  # from which a task was of medium, of high complexity
_MANY = 3  # errors, and steps of a plan


class Episode(Value):
    """A finished task. `exchanges` are ids, `links` their lines; `tests` and `feedback` are "" where none were.

    `outcome` is None where nothing shows one.

    `steps` counts its tool calls, `failed` those that failed. `changes` are the person's corrections of course.
    `seconds` is the time that its turns took, `tokens` by how many the context grew in them, `mended_in` the seconds
    until its slowest error was mended; each 0 if unknown.
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
    tests: str = ""
    feedback: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    errors: tuple[ErrorSignature, ...] = ()
    steps: int = 0
    failed: int = 0
    tools: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    solution: str = ""
    plan: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    seconds: int = 0
    tokens: int = 0
    mended_in: int = 0
    by: str = ""  # the model whose words it has

    @property
    def complexity(self) -> str:
        """How much the task took, by its files, errors and changes of course: `low`, `medium` or `high`."""
        if len(self.files) >= _MANY_FILES or len(self.errors) >= _MANY or len(self.changes) > 1:
            return "high"
        taxing = len(self.files) >= _FEW_FILES or self.errors or self.changes or len(self.plan) > _MANY
        return "medium" if taxing else "low"


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
        by=_text(given, "by"),
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
        "by": episode.by,
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
