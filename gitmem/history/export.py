"""Export the memory as JSON lines, to fill another engine (docs/teams.md, "Export").

A record is one memory, from its fullest view. The same commit gives the same bytes, and applying a stream twice changes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gitmem.document.document import Document, as_text, as_texts
from gitmem.document.entry import find_entries
from gitmem.document.ids import MEMORY, is_fact_id
from gitmem.errors import NotFoundError
from gitmem.git.objects import Objects, read_tree
from gitmem.git.repository import empty_tree, is_object_id
from gitmem.history.authors import Authors
from gitmem.model.fact import without_links
from gitmem.store.store import Store
from gitmem.text.terminal import json_text

Record = dict[str, object]

# If a memory has views in several files, the first of these folders has the fullest one.
_FOLDERS = ("facts", "daily", "episodes", "patterns", "concepts", "sessions", "knowledge", "summaries")
_LATER = ("weekly", "monthly", "archive")
_WHOLE = ("facts", "episodes", "patterns", "concepts", "knowledge", "summaries")  # each file is a record
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.md$")
_SESSION = re.compile("[0-9a-f]{8}")
ALL = "*"  # the id of a tombstone for every record


def export(store: Store, since: str = "") -> Iterator[str]:
    """Yield the records of the tip as lines of JSON; with `since`, those that changed after that commit.

    A memory removed since is `{"id": ID, "deleted": true}`. After a purge, which gives commits new ids, `since` is
    unknown: then the stream first deletes the id `*`, that is everything, and has all records. Raises NotFoundError
    if `since` is no full id of a commit.
    """
    git, tip = store.repository.git, store.tip
    if since and not is_object_id(since):
        raise NotFoundError(f"{since!r} is no full id of a commit.", "The first line of an export has it, as 'commit'.")
    after = read_tree(git, tip or empty_tree(git))
    known = bool(since) and store.repository.is_ancestor(since, tip or "")
    yield _line({"id": "", "kind": "export", "commit": tip or "", "since": since if known else ""})
    if since and not known:
        yield _line({"id": ALL, "deleted": True})
    with Objects(git) as objects:
        authors = Authors(store)
        touched: dict[str, None] = {}
        if known:
            before = read_tree(git, since)
            for tree, counterpart in ((before, after), (after, before)):
                differing = {path: oid for path, oid in tree.items() if counterpart.get(path) != oid}
                touched |= dict.fromkeys(str(record["id"]) for record in _records(objects, differing))
        layer = "private" if store.is_private else "own" if store.is_user_store else "team"
        seen = set()
        for record in _records(objects, after):
            identifier = str(record["id"])
            if identifier in seen:
                continue
            seen.add(identifier)
            if not known or identifier in touched:
                origin = authors.origin(identifier)
                yield _line({**record, "author": origin.author if origin else "", "layer": layer})
    yield from (_line({"id": path, "deleted": True}) for path in touched if path not in seen)


def _line(record: Record) -> str:
    return json_text(record, separators=(",", ":"))


def _records(objects: Objects, tree: Mapping[str, tuple[str, str]]) -> Iterator[Record]:
    """Yield the records of files, the fullest views first; a memory may occur again."""
    files: dict[str, list[str]] = {}
    for path, (mode, _) in tree.items():
        if path.endswith(".md") and mode.startswith("100"):
            files.setdefault(path if path == MEMORY else path.partition("/")[0], []).append(path)
    for folder in (*_FOLDERS, MEMORY, *_LATER):
        paths = sorted(files.get(folder, ()))
        contents = objects.existing([tree[path][1] for path in paths])
        for path, data in zip(paths, contents, strict=True):
            if folder in _WHOLE:
                yield _document(path, data)
            else:
                yield from _entries(path, data)


def _document(path: str, data: bytes) -> Record:
    """Return the record of a fact, an episode, a pattern, a concept or another document."""
    document = Document.parse(data)
    header = document.metadata
    origin = header.get("origin")
    text = without_links(document.body).strip() or as_text(header.get("description"))
    session = as_text(header.get("session")) or (as_text(origin.get("session")) if isinstance(origin, dict) else "")
    is_whole = all(map(is_fact_id, as_texts(header.get("review"))))  # else a merge left two texts in it
    return {
        "id": as_text(header.get("id")) or path,
        "kind": as_text(header.get("kind")) or path.split("/", maxsplit=1)[0],
        "text": text.replace("\0", "\N{REPLACEMENT CHARACTER}"),
        "date": as_text(header.get("updated")) or as_text(header.get("created")),
        "status": as_text(header.get("status")) if is_whole else "two versions",
        "session": session,
        "branch": as_text(header.get("branch")),
        "tags": [*as_texts(header.get("keywords")), *map("in/{}".format, as_texts(header.get("scope")))],
        "files": [*as_texts(header.get("files"))],
        "path": path,
    }


def _entries(path: str, data: bytes) -> Iterator[Record]:
    day = _DAY.search(path)
    for place in find_entries(data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")):
        entry = place.entry
        yield {
            "id": entry.id,
            "kind": entry.label.lower().replace(" ", "_"),
            "text": entry.text,
            "date": f"{day[1]} {entry.time}" if day and len(entry.time) < 10 else entry.time,  # noqa: PLR2004
            "status": "",
            "session": next((tag for tag in entry.tags if _SESSION.fullmatch(tag)), ""),
            "branch": "",
            "tags": [tag for tag in entry.tags if not _SESSION.fullmatch(tag)],
            "files": [],
            "path": path,
        }
