"""An episode, a finished task of a session (docs/format.md, "Episodes"): its file, and which are like a task.

It is a view of its exchanges: it names them, and sums up problem, solution and lessons in short lines. The file has
front matter for programs and sections for people, who may correct them: what the sections say is what is read. Hooks
load this module, so the search comes late.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import log

from gitmem.document.document import Document, as_line, as_moment, as_texts
from gitmem.document.ids import agreed_id, do_meet, file_name_of, id_in, kind_id, tail_of
from gitmem.document.plain_header import flow, plain_value
from gitmem.model.error import MATCH, ErrorSignature, fields_of, likeness, read_error, signature
from gitmem.model.outcome import Outcome
from gitmem.model.turns import TaskType
from gitmem.platform.machine import UTC, datetime
from gitmem.tell.usage_log import Count
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from typing import Any

    from gitmem.search.hits import Hit
    from gitmem.store.store import Store


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


def episode_folder(created: datetime) -> str:
    """Return the folder of the episodes of a month."""
    return f"{FOLDER}/{created.astimezone(UTC):%Y/%m}"


def _errors(given: object) -> tuple[ErrorSignature, ...]:
    rows = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return tuple(signature(one.get("type"), one.get("message"), one.get("frames")) for one in rows)


# The keys of the header in order, and how each is read.
_HEADER: dict[str, Callable[[object], Any]] = {
    "id": as_line,
    "kind": as_line,
    "created": as_moment,
    "ended": as_moment,
    "session": as_line,
    "host": as_line,
    "type": lambda given: TaskType(kind) if (kind := as_line(given)) in set(TaskType) else TaskType.FEATURE,
    "task": as_line,
    "outcome": lambda given: Outcome(ending) if (ending := as_line(given)) in set(Outcome) else None,
    "files": as_texts,
    "errors": _errors,
    **dict.fromkeys(("steps", "seconds", "tokens", "mended_in"), lambda given: given if type(given) is int else 0),
    "by": as_line,
    "tools": lambda given: (
        tuple((str(name), count) for name, count in given.items() if type(count) is int)
        if isinstance(given, dict)
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
    given = document.metadata
    fields = {key: read(given.get(key)) for key, read in _HEADER.items()}
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
    """Return the fields that the sections of a body tell; blank lines count for nothing."""
    sections: dict[str, list[str]] = {}
    title = ""
    for line in filter(None, map(str.strip, body.split("\n"))):
        if line.startswith("## "):
            title = line[3:].strip()
        else:
            sections.setdefault(title, []).append(line)
    texts = {name: " ".join(sections.get(title, ())) for name, title in _TEXTS.items()}
    return texts | {
        name: tuple(line.removeprefix("- ") for line in sections.get(title, ()) if line.startswith("- "))
        for name, title in _LISTS.items()
    }


_SESSIONS = "sessions"
_MONTHS = 12  # in which a session that is resumed is looked for


def episode_paths(store: Store) -> list[str]:
    """Return the files of all episodes of the work tree, sorted."""
    return sorted(path for month in _months(store, FOLDER) for path in _episodes_in(store, month))


def newest_episodes(store: Store, limit: int) -> tuple[list[tuple[Episode, str]], bool]:
    """Return the newest episodes with their files, oldest first, and whether there are older ones; 0 for all.

    Only the months that hold them are read: to print 20 of 20,000 took 10 seconds.
    """
    found: list[tuple[Episode, str]] = []
    for month in _months(store, FOLDER):
        if 0 < limit < len(found):
            break
        found += [(episode, path) for path in _episodes_in(store, month) if (episode := read_episode(store, path))]
    found.sort(key=lambda pair: (pair[0].created, pair[0].id))
    return found[-limit:], 0 < limit < len(found)


def _episodes_in(store: Store, month: str) -> list[str]:
    return [f"{FOLDER}/{month}/{name}" for name in store.files.names(f"{FOLDER}/{month}") if name.endswith(".md")]


def read_episode(store: Store, path: str) -> Episode | None:
    """Return the episode of a file, None if the file is gone or holds none."""
    data = store.read(path)
    return None if data is None else parse_episode(data, path)


def last_episode(store: Store, session: str) -> Episode | None:
    """Return the last episode of a finished session; None if it has none, or ended more than a year ago."""
    from gitmem.model.exchange import exchanges_in, file_name

    end = f"-{file_name(session)}.md"
    for month in _months(store, _SESSIONS)[:_MONTHS]:
        name = next((name for name in store.files.names(f"{_SESSIONS}/{month}") if name.endswith(end)), "")
        if name:
            exchanges = exchanges_in(store.read(f"{_SESSIONS}/{month}/{name}") or b"")
            ids = [episode_id(session, exchange.id) for exchange in reversed(exchanges)]
            later = [other for other in _months(store, FOLDER) if other >= month]
            known = {id_in(path): path for other in later for path in _episodes_in(store, other)}
            return next((read_episode(store, known[one]) for one in ids if one in known), None)
    return None


def _months(store: Store, folder: str) -> list[str]:
    """Return the months ("2026/11") of a folder, the newest first."""
    years = store.files.names(folder)
    return sorted(
        (f"{year}/{month}" for year in years for month in store.files.names(f"{folder}/{year}")), reverse=True
    )


LIMIT = 5
_WEIGHED, _LOOKED_AT = 30, 300  # hits that are weighed by usefulness; that are looked at for type, files or outcome
_WORD = re.compile(r"\w[\w./-]*\w|\w")
_MAX_WORDS = 40
_SHARED_FILE = 0.25  # of a rank, for each file in common
_SAME_TYPE = 1.5  # factor of a rank


class RankedEpisode(Value):
    """An episode, its score, its counts, and the likeness of its error to the given one (0 if none was)."""

    episode: Episode
    path: str
    score: float
    count: Count
    likeness: float = 0.0


def similar(
    store: Store,
    description: str = "",
    *,
    files: Sequence[str] = (),
    error: str = "",
    type: TaskType | None = None,  # noqa: A002  # the field's name
    outcome: Outcome | None = None,
    limit: int = LIMIT,
) -> list[RankedEpisode]:
    """Return the episodes most like a task: rank * usefulness * (1 + ln(retrieved + 1)), at most `limit`.

    With `error`, the output of a failed command, only episodes with that error are returned, successes first; with
    `files`, `type` and `outcome` only those that changed one of the files, and are of that type and outcome.
    """
    seen = read_error(error) if error else None
    if error and seen is None:
        return []
    ranks = _candidates(store, description, files, seen, _LOOKED_AT if files or type or outcome else _WEIGHED)
    found = [
        one
        for one in _ranked(store, ranks, files, seen)
        if (type is None or one.episode.type is type)
        and (outcome is None or one.episode.outcome is outcome)
        and (not files or _shared(files, one.episode.files))
    ]
    if seen is not None:
        found.sort(key=lambda one: one.episode.outcome is not Outcome.SUCCESS)
    return found[:limit]


def ranked_episodes(store: Store, hits: Sequence[Hit], alike: TaskType | None = None) -> list[RankedEpisode]:
    """Return the episodes among hits, the best first; one of the type `alike` may be a little worse."""
    found = _ranked(store, _ranks(hits))
    return sorted(found, key=lambda one: -one.score * (_SAME_TYPE if one.episode.type is alike else 1))


def _ranked(
    store: Store, ranks: Mapping[str, float], files: Sequence[str] = (), error: ErrorSignature | None = None
) -> list[RankedEpisode]:
    """Return the episodes of these paths, the best first; with `error` only those with that error."""
    from gitmem.tell.known_errors import counts

    all_counts = counts(store) if ranks else {}
    found = []
    for path, rank in ranks.items():
        episode = read_episode(store, path)
        if episode is None or not do_meet(episode.scope, (store.here,)):
            continue
        like = max((likeness(signature, error) for signature in episode.errors), default=0.0) if error else 0.0
        if error is None or like > MATCH:
            count = all_counts.get(episode.id, Count())
            shared = 1 + _SHARED_FILE * _shared(files, episode.files)
            found.append(RankedEpisode(episode, path, weigh(rank * shared * (like or 1), count), count, like))
    return sorted(found, key=lambda one: (-one.score, one.path))


def _shared(named: Sequence[str], files: Sequence[str]) -> int:
    """Return how many files one of the names means: a whole path, or the end of one."""
    names = [name.replace("\\", "/").removeprefix("./") for name in named]
    return sum(any(file == name or file.endswith(f"/{name}") for name in names) for file in files)


def weigh(rank: float, count: Count) -> float:
    """Return the score of an episode by its rank, its usefulness and how often it was told."""
    return rank * count.usefulness * (1 + log(count.retrieved + 1))


def _candidates(
    store: Store, description: str, files: Sequence[str], error: ErrorSignature | None, limit: int
) -> dict[str, float]:
    """Return the paths of episodes for a task or an error with their ranks; all with the same rank for neither."""
    names = " ".join(name.replace("\\", "/").rpartition("/")[2] for name in files)
    message = f"{error.type} {error.message}" if error else ""
    words = dict.fromkeys(_WORD.findall(f"{message} {names} {description}"))
    if not words:
        return dict.fromkeys(episode_paths(store), 1.0)
    from gitmem.search.engine import answer

    query = " ".join([*list(words)[:_MAX_WORDS], f"path:{FOLDER}/"])
    return _ranks(answer(store, query, limit=limit).hits)


def _ranks(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.path: hit.score for hit in reversed(hits) if hit.path.startswith(f"{FOLDER}/")}
