"""The summary of an archive: its structure, document and JSON. Lists archives without a summary.

The structured part is the document's front matter, the overall text its body (docs/format.md, kind `summary`). Edits of
users and answers of models are read tolerantly: unreadable parts are left out. A session's start looks for archives
without a summary, so this module is light.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.document.document import Document, as_text, as_texts
from gitmem.document.entry import clean_text, without_entries
from gitmem.document.ids import ARCHIVE, summary_path
from gitmem.document.plain_header import flow, plain_value
from gitmem.errors import GitmemError
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_text, write_text
from gitmem.store.store import Store
from gitmem.text.sentences import split
from gitmem.values import TypeVar, Value

Item = TypeVar("Item", "Theme", "KeyDecision", "Issue")

KIND = "summary"
OFFLINE = "offline"  # the method of an extractive summary, which a model's summary may replace
OPEN = "open"
RESOLVED = "resolved"
MAX_ITEMS = 10  # themes, decisions and issues each
FEWEST_SENTENCES, MOST_SENTENCES = 10, 15  # of the overall text
# Characters of one text of the structured part; halved until the header is well under its limit of 64 KiB
# (docs/format.md, "Documents"), which ten of each kind at four bytes per character would exceed.
MAX_NAME = 80
MAX_TEXT = 600
MAX_SESSIONS = 12
MAX_MARK = 40  # characters of a date or a session's id; an UUID has 36
_MAX_HEADER = 60_000
MAX_OVERALL = 20_000  # characters of the body; fifteen sentences have about 2,000

ARCHIVE_NAME = re.compile(r"memory_[0-9]{8}_[0-9]{6}(?:_[0-9]+)?\.md")
_OFFERED = "offered"  # file in the private folder: archives already offered
_LOOKED_AT = 20  # newest archives checked at a session's start
_HEADER_BYTES = 1 << 17  # at the beginning of a summary's document, which include its header
_METHOD = re.compile(r"^method:[ \t]*[\"']?([^\s\"'#]*)", re.MULTILINE)
_STAMP = re.compile(r"memory_([0-9]{8})_([0-9]{6})(_[0-9]{2,4})?")
# Characters not allowed in a header: controls and lone surrogates.
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class Theme(Value):
    """A topic of the archive; `sessions` are session tags, or dates if unknown."""

    name: str
    summary: str
    sessions: tuple[str, ...] = ()


class KeyDecision(Value):
    """A decision and its reason, or ""; the date is `YYYY-MM-DD` or ""."""

    decision: str
    reason: str = ""
    date: str = ""


class Issue(Value):
    """A known issue; `status` is `open` or `resolved`."""

    issue: str
    status: str = OPEN
    date: str = ""


class Summary(Value):
    """The summary of the archive at path `archive`; `date_range` is its first and last day, "" if unknown.

    `method` is its author: `offline`, the name of a model or an agent, or "" if unknown; `provider` is the model's
    provider (`gitmem.llm`), and `cost` its price in US dollars, if known.
    """

    archive: str
    date_range: tuple[str, str]
    section_count: int
    themes: tuple[Theme, ...]
    key_decisions: tuple[KeyDecision, ...]
    issues: tuple[Issue, ...]
    overall_summary: str
    method: str = OFFLINE
    provider: str = ""
    cost: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the summary as a JSON object."""
        first, last = self.date_range
        return {
            "dateRange": {"first": first or None, "last": last or None},
            "sectionCount": self.section_count,
            "themes": [{**theme._asdict(), "sessions": list(theme.sessions)} for theme in self.themes],
            "keyDecisions": [item._asdict() for item in self.key_decisions],
            "issues": [item._asdict() for item in self.issues],
            "overallSummary": self.overall_summary,
        }


def cleaned(summary: Summary) -> Summary:
    """Return a summary within its limits: texts on one line, shortened, and not too many."""
    limit = MAX_TEXT
    while len("\n".join(_header(short := _cut(summary, limit))).encode()) > _MAX_HEADER:
        limit //= 2
    return short


def _cut(summary: Summary, limit: int) -> Summary:
    """Return a summary with texts of at most `limit` characters, names and dates of at most `MAX_NAME`."""
    short = min(MAX_NAME, limit)

    def sessions(theme: Theme) -> tuple[str, ...]:
        return tuple(filter(None, (_line(session, MAX_MARK) for session in theme.sessions[:MAX_SESSIONS])))

    themes = (item._replace(sessions=sessions(item)) for item in _cut_items(summary.themes, limit) if item.name)
    issues = (issue for issue in _cut_items(summary.issues, limit) if issue.issue)
    return Summary(
        archive=_line(summary.archive, MAX_TEXT),
        date_range=(_line(summary.date_range[0], MAX_MARK), _line(summary.date_range[1], MAX_MARK)),
        section_count=max(summary.section_count, 0),
        themes=tuple(themes),
        key_decisions=tuple(decision for decision in _cut_items(summary.key_decisions, limit) if decision.decision),
        issues=tuple(issue._replace(status=RESOLVED if issue.status == RESOLVED else OPEN) for issue in issues),
        overall_summary=without_entries(clean_text(summary.overall_summary[:MAX_OVERALL])),
        method=_line(summary.method, short),
        provider=_line(summary.provider, short),
        cost=summary.cost,
    )


def _cut_items(items: Sequence[Item], limit: int) -> Iterator[Item]:
    limits = {"name": min(MAX_NAME, limit), "date": MAX_MARK}
    for item in items[:MAX_ITEMS]:
        texts = ((key, text) for key, text in item._asdict().items() if isinstance(text, str))
        yield item._replace(**{key: _line(text, limits.get(key, limit)) for key, text in texts})


def render_document(summary: Summary, created: datetime, scope: Sequence[str] = ()) -> bytes:
    """Return the document of a summary, cleaned; `scope` are the parts of the project it belongs to."""
    summary = cleaned(summary)
    head, *rest = _header(summary)
    parts = [f"scope: {_yaml(list(scope))}"] if scope else []
    lines = ["---", head, f"kind: {KIND}", f"created: {created.isoformat(timespec='seconds')}", *parts, *rest, "---"]
    return ("\n".join([*lines, summary.overall_summary]).rstrip("\n") + "\n").encode()


def _header(summary: Summary) -> list[str]:
    """Return the header lines of a summary's own fields."""
    first, last = summary.date_range
    return [
        f"id: {_yaml(summary_id(summary.archive))}",
        f"archive: {_yaml(summary.archive)}",
        f"method: {_yaml(summary.method)}",
        *([f"provider: {_yaml(summary.provider)}"] if summary.provider else []),
        *([f"cost: {summary.cost:.6f}"] if summary.cost is not None else []),
        f"date_range: {_yaml({'first': first, 'last': last})}",
        f"section_count: {summary.section_count}",
        *_listed("themes", summary.themes),
        *_listed("key_decisions", summary.key_decisions),
        *_listed("issues", summary.issues),
    ]


def parse_document(data: bytes) -> Summary:
    """Return the summary in a document; missing or unreadable fields are empty."""
    document = Document.parse(data)
    header = document.metadata
    cost, names = header.get("cost"), (("dateRange", "date_range"), ("sectionCount", "section_count"))
    value = {key: header.get(name) for key, name in (*names, ("keyDecisions", "key_decisions"))}
    value |= {"themes": header.get("themes"), "issues": header.get("issues"), "overallSummary": document.body}
    summary = from_json(value, as_text(header.get("archive")), as_text(header.get("method")))
    price = float(cost) if isinstance(cost, int | float) else None
    return cleaned(summary._replace(provider=as_text(header.get("provider")), cost=price))


def _schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_STRING = {"type": "string"}
SCHEMA = _schema(
    dateRange=_schema(first=_STRING, last=_STRING),
    themes={
        "type": "array",
        "items": _schema(name=_STRING, summary=_STRING, sessions={"type": "array", "items": _STRING}),
    },
    keyDecisions={"type": "array", "items": _schema(decision=_STRING, reason=_STRING, date=_STRING)},
    issues={
        "type": "array",
        "items": _schema(issue=_STRING, status={"type": "string", "enum": [OPEN, RESOLVED]}, date=_STRING),
    },
    overallSummary=_STRING,
)
"""What a model or an agent is to answer: the object of a summary, but for `sectionCount`, which is counted here."""


def from_answer(answer: Mapping[str, object], offline: Summary, method: str) -> Summary:
    """Return the summary in an answer by `SCHEMA`, for the same archive as `offline`.

    Days and the number of sections are those of `offline`. Raises ValueError if it is nearly empty; the message
    completes a sentence that begins with "it".
    """
    summary = from_json(answer, offline.archive, method)
    fewest = max(2, min(FEWEST_SENTENCES // 2, len(split(offline.overall_summary))))
    if len(split(summary.overall_summary)) < fewest:
        raise ValueError(f"has fewer than {fewest} sentences in overallSummary")
    return summary._replace(date_range=offline.date_range, section_count=offline.section_count)


def left_out(answer: Mapping[str, object]) -> list[str]:
    """Describe what an answer has beyond a summary's limits: "2 of 12 themes"."""
    names = {"themes": "themes", "decisions": "keyDecisions", "issues": "issues"}
    lists = {name: answer.get(key) for name, key in names.items()}
    more = {name: len(items) for name, items in lists.items() if isinstance(items, list) and len(items) > MAX_ITEMS}
    return [f"{size - MAX_ITEMS} of {size} {name}" for name, size in more.items()]


def from_json(answer: Mapping[str, object], archive: str, method: str) -> Summary:
    """Return the summary in a JSON object; missing or malformed fields are empty."""
    days, count = answer.get("dateRange"), answer.get("sectionCount")
    return cleaned(
        Summary(
            archive=archive,
            date_range=(as_text(days.get("first")), as_text(days.get("last"))) if isinstance(days, dict) else ("", ""),
            section_count=count if isinstance(count, int) and not isinstance(count, bool) else 0,
            themes=_items(Theme, answer.get("themes")),
            key_decisions=_items(KeyDecision, answer.get("keyDecisions")),
            issues=_items(Issue, answer.get("issues")),
            overall_summary=overall if isinstance(overall := answer.get("overallSummary"), str) else "",
            method=method,
        )
    )


def _items(kind: type[Item], items: object) -> tuple[Item, ...]:
    """Return the values in a list of objects; missing fields are empty."""
    dicts = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    readers = [(name, as_texts if name == "sessions" else as_text) for name in kind._fields]
    return tuple(kind._make(read(item.get(name)) for name, read in readers) for item in dicts)


def summary_id(archive: str) -> str:
    """Return the id of an archive's summary: `summary-YYYYMMDD-HHMMSS`, with the suffix of a second archive."""
    name = archive.rpartition("/")[2].removesuffix(".md")
    if match := _STAMP.fullmatch(name):
        return f"{KIND}-{match[1]}-{match[2]}" + (match[3] or "").replace("_", "-")
    return f"{KIND}-{_line(name, MAX_NAME)}"


def archive_day(archive: str) -> str:
    """Return the day in an archive's name as `YYYY-MM-DD`, or ""."""
    match = _STAMP.fullmatch(archive.rpartition("/")[2].removesuffix(".md"))
    return f"{match[1][:4]}-{match[1][4:6]}-{match[1][6:]}" if match else ""


def _listed(name: str, items: Iterable[Theme | KeyDecision | Issue]) -> list[str]:
    lines = []
    for item in items:
        fields = [f"{key}: {_yaml(value)}" for key, value in item._asdict().items()]
        lines += [f"  - {fields[0]}", *(f"    {field}" for field in fields[1:])]
    return [f"{name}:", *lines] if lines else [f"{name}: []"]


def _yaml(value: object) -> str:
    return flow(plain_value(value))


def _line(text: str, limit: int) -> str:
    """Return a text on one line, truncated."""
    line = " ".join(_BLANKS.sub(" ", text[: 4 * limit].encode("utf-8", "replace").decode()).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


class ArchiveSummary(Value):
    """An archive of the work tree and the method of its summary, None if it has none."""

    archive: str
    method: str | None

    @property
    def pending(self) -> bool:
        """Whether the summary is missing or only extractive."""
        return self.method in (None, OFFLINE)


def method_of(data: bytes) -> str:
    """Return the method in the header of a summary, or ""; parses no YAML."""
    match = _METHOD.search(Document.parse(data).header or "")
    return match[1] if match else ""


def archive_summaries(store: Store, last: int = 0) -> list[ArchiveSummary]:
    """Return the archives of the work tree, or the `last` ones, the oldest first, with their summaries' methods."""
    summaries = []
    for name in sorted(filter(ARCHIVE_NAME.fullmatch, store.names(ARCHIVE)))[-last:]:
        archive = f"{ARCHIVE}/{name}"
        data = None
        with contextlib.suppress(GitmemError, OSError):  # a link or folder in its place: doctor reports it
            data = store.glance(summary_path(archive), _HEADER_BYTES)
        summaries.append(ArchiveSummary(archive, None if data is None else method_of(data)))
    return summaries


def pending_archives(store: Store, last: int = 0) -> list[str]:
    """Return the archives, or those of the `last` ones, whose summary is missing or only extractive."""
    return [summary.archive for summary in archive_summaries(store, last) if summary.pending]


def ask_for_summaries(store: Store) -> tuple[Sequence[str], str]:
    """Return the archives that the agent is asked to summarize, if so configured, else an offer, shown once."""
    provider = store.config.summary.provider
    with contextlib.suppress(GitmemError):  # a link in place of the archives must not hide the rest of the start
        if provider == "host":
            return pending_archives(store, _LOOKED_AT), ""
        return (), _offer(store) if provider == "offline" else ""
    return (), ""


def _offer(store: Store) -> str:
    """Return a line that offers better summaries of the newest archives, once for each; "" for none."""
    pending = pending_archives(store, _LOOKED_AT)
    path = os.path.join(store.private, _OFFERED)
    if not pending or read_text(path).strip() >= pending[-1]:
        return ""
    with contextlib.suppress(OSError):  # if this fails, it is offered again
        write_text(path, f"{pending[-1]}\n")
    many = "1 archive has" if len(pending) == 1 else f"{len(pending)} archives have"
    return f"{many} a summary made without a model only; `gitmem summary pending` lists what can be summed up better."
