"""`facts.json` of older tools, in both its shapes, as facts (spec V7).

The old one has `decisions`, `patterns` and `issues`, the new one `rules`, `solutions` and `coreLogic`; a file may have
lists of both. The index of keywords beside them is derived and not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitmem.document.entry import clean_text
from gitmem.facts.fact import Fact, FactKind, FactStatus, make_fact, render_fact
from gitmem.importers.plan import (
    FileItem,
    Found,
    Left,
    MigrationItem,
    SourceFile,
    SourceKind,
    fields_of,
    instant,
    item_key,
    read_json,
    text_of,
    texts_of,
)

NAME = "facts.json"
_LISTS = {
    "decisions": FactKind.DECISION,
    "patterns": FactKind.PATTERN,
    "issues": FactKind.ISSUE,
    "rules": FactKind.RULE,
    "solutions": FactKind.SOLUTION,
    "coreLogic": FactKind.CORE_LOGIC,
}
_DERIVED = ("keywordsIndex", "keywords_index", "index", "concepts")
_SAID = ("content", "description", "summary", "text", "decision", "pattern", "issue", "rule")
_DATES = ("date", "created", "createdAt", "timestamp", "ts", "session")
_MOST_KEYWORDS = 20


def plan_facts(kind: SourceKind, file: SourceFile) -> Found:
    """Return the facts of a `facts.json` as items, and the parts that are left."""
    try:
        given = fields_of(read_json(file.data))
    except ValueError as error:
        return [], [Left(file.path, str(error))]
    items: list[MigrationItem] = []
    left: list[Left] = []
    for name, listed in given.items():
        if name in _LISTS and isinstance(listed, list):
            for number, one in enumerate(listed, 1):
                fact = _fact(kind, file, _LISTS[name], fields_of(one) or {"content": one})
                if fact is None:
                    left.append(Left(file.path, f"number {number} of its {name} says nothing"))
                else:
                    # The key is a digest of the text: equal facts of two files are one, a changed fact is new.
                    key, subject = item_key(kind, file.path, fact.id), f"fact: {fact.description}"
                    items.append(FileItem(file.path, fact.created, key, fact.path, render_fact(fact), subject))
        elif name in _DERIVED or listed in ([], {}, None):
            continue
        elif isinstance(listed, list | dict):
            left.append(Left(file.path, f"{name[:40]!r} is no list of facts that gitmem knows"))
    if not items and not left:
        left.append(Left(file.path, "it holds no facts"))
    return items, left


def _fact(kind: SourceKind, file: SourceFile, what: FactKind, given: Mapping[str, object]) -> Fact | None:
    text = clean_text(next(filter(None, (text_of(given.get(name)) for name in _SAID)), ""))
    if not text:
        return None
    origin = {"tool": kind.value, "id": text_of(given.get("id")), "session": text_of(given.get("session"))}
    origin["exchange"] = text_of(given.get("exchange")) or text_of(given.get("exchangeId"))
    created = next(filter(None, (instant(text_of(given.get(name)), file.modified.tzinfo) for name in _DATES)), None)
    sure = given.get("confidence")
    is_sure = isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1
    fact = make_fact(
        what,
        text,
        created or file.modified,
        origin={key: value for key, value in origin.items() if value},
        confidence=float(str(sure)) if is_sure else None,
        keywords=texts_of(given.get("keywords"))[:_MOST_KEYWORDS],
        files=texts_of(given.get("files")),
        sources=tuple(filter(None, (origin["session"],))),
    )
    resolution = clean_text(text_of(given.get("resolution")))
    if what is FactKind.ISSUE and (resolution or text_of(given.get("status")).casefold() == "resolved"):
        fact = fact._replace(status=FactStatus.RESOLVED)
    return fact._replace(text="\n\n".join([text, *_further(given, resolution)]))


def _further(given: Mapping[str, object], resolution: str) -> Iterator[str]:
    """Yield additional fields of a fact as paragraphs."""
    for label, text in (
        ("Why", clean_text(text_of(given.get("reason")))),
        ("How", clean_text(text_of(given.get("details")) or text_of(given.get("solution")))),
        ("Resolved", resolution),
    ):
        if text:
            yield f"**{label}:** {text}"
