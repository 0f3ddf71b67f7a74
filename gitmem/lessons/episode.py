"""An episode, a finished task of a session with its lessons, and its file (docs/format.md, "Episodes"). Pure.

It is a view of its exchanges: it names them, and sums up problem, solution and lessons in short lines. The file has
front matter for programs and sections for people, who may correct them: what the sections say is what is read.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.document.document import Document
from gitmem.document.ids import file_name_of, kind_id, tail_of
from gitmem.document.plain import as_line, as_moment, as_texts, flow, plain_value
from gitmem.lessons.error import ErrorSignature, names_in
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.turns import TaskType
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable


LETTER = "e"
UNMENDED = ": nothing mended it"  # ends the line of an error
REJECTED = "Rejected by the person: "  # begins the line of a result


class Episode(Value):
    """A finished task. `exchanges` are ids, `links` their lines; `outcome` is None where nothing shows one.

    `steps` counts its tool calls. `changes` are the person's corrections of course.
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
    files: tuple[str, ...] = ()
    errors: tuple[ErrorSignature, ...] = ()
    steps: int = 0
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
    scope: tuple[str, ...] = ()  # the parts of the project it is of, none: all


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
# The keys of the header in order, and how those are read that need no more than that.
_HEADER = (
    *("id", "kind", "created", "ended", "session", "host", "type", "task", "outcome", "files"),
    *("errors", "steps", "seconds", "tokens", "mended_in", "by", "tools", "exchanges", "scope"),
)


def episode_folder(created: datetime) -> str:
    """Return the folder of the episodes of a month."""
    return f"{FOLDER}/{created.astimezone(UTC):%Y/%m}"


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


_READ: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(("session", "host", "task", "by"), as_line),
    **dict.fromkeys(("exchanges", "files", "scope"), as_texts),
    **dict.fromkeys(("steps", "seconds", "tokens", "mended_in"), _number),
}


def episode_path(episode: Episode) -> str:
    """Return the file of a new episode."""
    return f"{episode_folder(episode.created)}/{file_name_of(episode.id, episode.task)}"


def render_episode(episode: Episode) -> bytes:
    """Return the file of an episode; every machine makes the same bytes of it."""
    head = [f"{key}: {flow(plain_value(value))}" for key, value in _fields(episode).items() if value]
    return "\n".join(["---", *head, "---", *_body(episode), ""]).encode("utf-8", "replace")


def parse_episode(data: bytes) -> Episode | None:
    """Return the episode of a document, None if it is none."""
    document = Document.parse(data)
    given = document.metadata
    created, tools = as_moment(given.get("created")), given.get("tools")
    if given.get("kind") != KIND or not given.get("id") or created is None:
        return None
    episode = Episode(
        id=as_line(given.get("id")),
        session="",
        host="",
        created=created,
        ended=as_moment(given.get("ended")) or created,
        type=TaskType(kind) if (kind := as_line(given.get("type"))) in set(TaskType) else TaskType.FEATURE,
        task="",
        outcome=Outcome(ending) if (ending := as_line(given.get("outcome"))) in set(Outcome) else None,
        exchanges=(),
        errors=_errors(given.get("errors")),
        tools=tuple((str(name), count) for name, count in tools.items() if isinstance(count, int))
        if isinstance(tools, dict)
        else (),
    )
    return episode._replace(**{key: read(given.get(key)) for key, read in _READ.items()}, **_told(document.body))


def _fields(episode: Episode) -> dict[str, object]:
    made: dict[str, object] = {
        "kind": KIND,
        "created": episode.created.astimezone(UTC).replace(microsecond=0),
        "ended": episode.ended.astimezone(UTC).replace(microsecond=0),
        "type": episode.type.value,
        "outcome": episode.outcome.value if episode.outcome else "",
        "errors": [
            {key: value for key in ("type", "message", "frames") if (value := getattr(error, key))}
            for error in episode.errors
        ],
        "tools": dict(episode.tools),
    }
    return {key: made[key] if key in made else getattr(episode, key) for key in _HEADER}


def _body(episode: Episode) -> list[str]:
    lines = [f"# {episode.task}", ""]
    for name, title in _TEXTS.items():
        if text := getattr(episode, name):
            lines += [f"## {title}", "", text, ""]
    context = {
        "Files": episode.files,
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
            message = as_line(one.get("message"))
            found.append(
                ErrorSignature(as_line(one.get("type")), message, names_in(message), as_texts(one.get("frames")))
            )
    return tuple(found)
