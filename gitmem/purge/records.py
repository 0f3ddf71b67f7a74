"""Decide which purge records this machine applies, and what they may remove (docs/sync.md, "Purging").

Without asking the user, a purge of another machine may remove a leaked token but not the memory: it may change only
bodies, no id, trailer, structural header field or name, and only a little of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.entry import TIMELINE, MemoryType, find_entries, sections
from gitmem.document.ids import PURGED, is_memory
from gitmem.git.rewrite import Written, contents
from gitmem.platform.safe_open import read_json, write_json
from gitmem.purge.record import MARKER, MAX_BYTES, PurgeRecord, Replacer, read_record
from gitmem.store.store import Store
from gitmem.values import Value

_STATE = "purged.json"
_VERSION = 2
_MOST_CLEAN = 40


class State(Value):
    """The records of purges on this machine, each by its key.

    `records` were applied, and the history of the commits in `clean` contains none of their texts. The user made or
    accepted those in `agreed` and refused those in `refused`; `waiting` maps those without an answer to the reason.
    `aside` are invalid files in the records' folder. `removed` counts the bytes removed unasked since the last answer;
    `told` are sentences about what the last purges of other machines removed.
    """

    records: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    agreed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    waiting: Mapping[str, str] = {}
    aside: tuple[str, ...] = ()
    removed: int = 0
    told: tuple[str, ...] = ()

    @property
    def unapplied(self) -> dict[str, str]:
        """The reason for each record that is not applied: it waits for an answer or was refused."""
        return {**self.waiting, **dict.fromkeys(self.refused, "you refused it on this machine")}

    def with_clean(self, commits: Iterable[str]) -> State:
        """Return the state with more clean commits, without the oldest beyond the limit."""
        return self._replace(clean=tuple(dict.fromkeys((*commits, *self.clean)))[:_MOST_CLEAN])

    def with_waiting(self, waiting: Mapping[str, str]) -> State:
        """Return the state with more waiting records, which no longer count as applied."""
        applied = tuple(key for key in self.records if key not in waiting)
        return self._replace(records=applied, waiting={**self.waiting, **waiting})


def state_file(private: str) -> str:
    """Return the path of the state."""
    return os.path.join(private, _STATE)


def read_state(private: str) -> State:
    """Read the state; an empty one if it cannot be read, so that everything is scanned and judged again."""
    try:
        fields = read_json(state_file(private))
        if fields.pop("v") != _VERSION:
            return State()
        waiting, removed = fields.pop("waiting"), int(fields.pop("removed"))
        lists = {name: tuple(map(str, values)) for name, values in fields.items()}
        reasons = {str(key): str(why) for key, why in waiting.items()}
        return State()._replace(**lists, waiting=reasons, removed=removed)
    except (ValueError, TypeError, KeyError, AttributeError):
        return State()


def write_state(private: str, state: State) -> None:
    """Write the state; ignore failures, after which everything is scanned and judged again."""
    with contextlib.suppress(OSError):
        fields = {"v": _VERSION, **state._asdict()}
        write_json(state_file(private), fields)


SUFFIX = ".json"
MOST_UNASKED = 128  # texts of all records applied without asking
_MOST_FILES = 1000
_MOST_ASIDE = 100  # invalid files to remember
_MOST_LISTED = 5


def record_path(key: str) -> str:
    """Return the path of a purge record, by its id or its key, which begins with the id."""
    return f"{PURGED}/{key.partition(' ')[0]}{SUFFIX}"


def read_records(store: Store, commits: Iterable[str]) -> tuple[tuple[PurgeRecord, ...], tuple[str, ...]]:
    """Return the records of some commits, and the invalid files in the records' folder; usually by one git process.

    Known files are read first, at most `_MOST_FILES` in all.
    """
    with store.repository.reading() as objects:
        folders = objects.infos([f"{commit}:{PURGED}" for commit in dict.fromkeys(commits)])
    trees = {folder.oid for folder in folders if folder is not None and folder.kind == "tree"}
    entries = {(entry.path, entry.oid): entry for tree in sorted(trees) for entry in store.repository.files(tree)}
    state = read_state(store.private) if len(entries) > _MOST_FILES else State()
    known = {key.partition(" ")[0] for key in (*state.agreed, *state.records, *state.unapplied)}
    ordered = sorted(entries.values(), key=lambda entry: (entry.path.removesuffix(SUFFIX) not in known, entry.path))
    files = (entry for entry in ordered[: max(_MOST_FILES, len(known))] if entry.path.endswith(SUFFIX))
    fit = [entry for entry in files if entry.mode.startswith("100") and entry.size <= MAX_BYTES]
    contents = zip(fit, store.repository.blobs([entry.oid for entry in fit]), strict=True)
    read = {entry: record for entry, data in contents if (record := read_record(data, entry.path.removesuffix(SUFFIX)))}
    records = {record.key: record for record in read.values()}
    aside = {f"{PURGED}/{entry.path}" for entry in ordered if entry not in read}
    return tuple(records[key] for key in sorted(records)), tuple(sorted(aside)[:_MOST_ASIDE])


def look_at_records(store: Store, commits: Iterable[str]) -> tuple[PurgeRecord, ...]:
    """Return the records of commits, and save the lists of waiting records and invalid files."""
    records, aside = read_records(store, commits)
    before = read_state(store.private)
    here = {record.key for record in records}
    waiting = {key: why for key, why in before.waiting.items() if key in here}
    after = before._replace(aside=aside, waiting=waiting)
    after = after.with_waiting(_too_many(after, records))
    if after != before:
        write_state(store.private, after)
    return records


def applied_records(store: Store, records: Iterable[PurgeRecord]) -> list[PurgeRecord]:
    """Return the records that this machine applies: neither refused nor waiting."""
    unapplied = read_state(store.private).unapplied
    return [record for record in records if record.key not in unapplied]


def applied_records_at(store: Store, *commits: str | None) -> list[PurgeRecord]:
    """Return the records of some commits that this machine applies."""
    return applied_records(store, look_at_records(store, filter(None, commits)))


def answer(store: Store, keys: Collection[str], *, yes: bool) -> None:
    """Save whether the user accepts some records, which replaces earlier answers."""
    state = read_state(store.private)
    waiting = {key: why for key, why in state.waiting.items() if key not in keys}
    agreed, refused = ([key for key in answered if key not in keys] for answered in (state.agreed, state.refused))
    (agreed if yes else refused).extend(sorted(keys))
    records = state.records if yes else tuple(key for key in state.records if key not in keys)
    answers = {"agreed": tuple(agreed), "refused": tuple(refused)}
    write_state(store.private, state._replace(records=records, waiting=waiting, removed=0, **answers))


def applied_paths(store: Store) -> set[str]:
    """Return the paths of the records that were applied or accepted here."""
    state = read_state(store.private)
    return {record_path(key) for key in (*state.agreed, *state.records)}


def purge_notices(before: State, after: State) -> list[str]:
    """Return notices about applied and waiting records, and invalid files, that `before` lacks."""
    notices = []
    if after.removed > before.removed:
        names = ", ".join(record_path(key) for key in after.records if key not in before.records)
        size, where = after.removed - before.removed, f" ({names})" if names else ""
        notices.append(f"A purge of another machine was applied: it removed {size:,} bytes of texts{where}.")
    for key in (key for key in after.waiting if key not in before.waiting):
        path, why = record_path(key), after.waiting[key]
        problem = f"this purge of another machine waits for your answer: {why}"
        notices.append(f"{path}: {problem}. See 'gitmem review {path}'.")
    new = (path for path in after.aside if path not in before.aside)
    notices += [f"{path} is not a valid record of a purge; it is ignored." for path in new]
    more = len(notices) - _MOST_LISTED
    return [*notices[:_MOST_LISTED], *([f"… and {more} more."] if more > 0 else [])]


def _too_many(state: State, records: Sequence[PurgeRecord]) -> dict[str, str]:
    """Return the unanswered records beyond `MOST_UNASKED` texts, with a reason; applied ones count first."""
    answered = {*state.agreed, *state.unapplied}
    unanswered = [record for record in records if record.key not in answered]
    texts, waiting = 0, {}
    for record in sorted(unanswered, key=lambda record: (record.key not in state.records, record.key)):
        if texts + len(record.fingerprints) > MOST_UNASKED:
            waiting[record.key] = f"more than {MOST_UNASKED} texts would be purged unasked"
        else:
            texts += len(record.fingerprints)
    return waiting


_LEAST = 8  # bytes of a text; a shorter one is a word rather than a secret
_MOST_BYTES = 4096  # removed by all purges since the user was last asked
# At most a tenth of the memory; of a small one a quarter, up to `_LITTLE` bytes.
_SHARE, _SMALL_SHARE, _LITTLE = 10, 4, 256
_FEW_FILES = 4  # with more, at most half may change
_SLUGGED = re.compile(rb"((?:facts/[a-z-]+|concepts)/[a-z][0-9a-z]{10}-)[^/]*\.md")
# Header fields of free text; code depends on all others.
_WORDS = {"name", "description", "keywords", "files", "themes", "key_decisions", "issues"}
_SECTIONS = {"Core Decisions", "Current State", "Recent Context", "Known Issues", "Exchanges", TIMELINE} | {
    kind.label for kind in MemoryType
}


class _Effect:
    """The effect of purging some texts: why it is not allowed (`broken`), the bytes it removes, and the files."""

    def __init__(self, walked: Sequence[Written], texts: Collection[bytes]) -> None:
        self.replacer, self.removed, self.files = Replacer(texts), 0, set[bytes]()
        self.broken = _broken_names(walked, self.replacer)
        if min(map(len, texts)) < _LEAST:
            self.broken = f"one of its texts has fewer than {_LEAST} bytes"

    def meet(self, path: bytes, data: bytes, before: bytes) -> None:
        """Add the effect on a content; a match that the version before has as well counts once."""
        clean = self.replacer.clean(data)
        if clean != data:
            self.files.add(path)
            name = path.decode("utf-8", "replace")
            if _breaks(name, data, clean):
                self.broken = f"it would change ids, fields or headings that gitmem reads, in {name}"
        self.removed += max(_removed(data, clean) - _removed(before, self.replacer.clean(before)), 0)


def judge(
    store: Store, walked: Sequence[Written], tips: Collection[str], met: Mapping[str, Collection[bytes]], removed: int
) -> tuple[dict[str, str], int]:
    """Return why purges must wait, by record key, and how many bytes the others remove.

    `met` has their texts that were found; earlier purges removed `removed` bytes unasked.
    """
    effects = {key: _Effect(walked, texts) for key, texts in met.items()}
    anything = Replacer(set().union(*met.values()))
    for change, data, before in contents(store.repository.git, walked):
        if change.mode.startswith(b"100") and anything.matches(data):
            for effect in effects.values():
                if not effect.broken and effect.removed <= _MOST_BYTES:
                    effect.meet(change.path, data, before)
    entries = (entry for tip in {*tips, *filter(None, [store.tip])} for entry in store.repository.files(tip))
    here = {(entry.path, entry.oid): entry.size for entry in entries if is_memory(entry.path)}
    size, paths = sum(here.values()), len({path for path, _ in here})
    most = max(size // _SHARE, min(size // _SMALL_SHARE, _LITTLE))
    waiting, total = {}, 0
    for key, effect in effects.items():
        limits = (
            (removed + total + effect.removed > _MOST_BYTES, "more than is removed unasked"),
            (effect.removed > most, "too much of the memory"),
            (_FEW_FILES < len(effect.files) > paths / 2, f"from {len(effect.files)} of {paths} files"),
        )
        excess = next((words for is_exceeded, words in limits if is_exceeded), "")
        if effect.broken or excess:
            waiting[key] = effect.broken or f"it would remove {effect.removed:,} bytes, {excess}"
        else:
            total += effect.removed
    return waiting, total


def _removed(data: bytes, clean: bytes) -> int:
    """Return the number of bytes that the marker replaced."""
    return len(data) - len(clean) + (clean.count(MARKER) - data.count(MARKER)) * len(MARKER)


def _broken_names(walked: Sequence[Written], replacer: Replacer) -> str:
    """Return why a purge may not be applied: it would change a path, an author or a trailer; "" if none."""
    for path in {change.path for commit in walked for change in commit.changes}:
        clean = replacer.clean_path(path)
        slugged = _SLUGGED.fullmatch(path)
        if clean != path and not (slugged and (match := _SLUGGED.fullmatch(clean)) and match[1] == slugged[1]):
            return f"it would rename {path.decode('utf-8', 'replace')}"
    for commit in walked:
        if _commit_facts(commit.raw) != _commit_facts(replacer.clean(commit.raw)):
            return f"it would change who made {commit.oid[:10]}, or its trailers"
    return ""


def _commit_facts(raw: bytes) -> list[bytes]:
    head, _, message = raw.partition(b"\n\n")
    people = [line for line in head.split(b"\n") if line.startswith((b"author ", b"committer "))]
    return [*people, *(line for line in message.split(b"\n") if line.startswith(b"Gitmem-"))]


def _breaks(path: str, data: bytes, clean: bytes) -> bool:
    """Return whether cleaning a file changed its structure: ids, fields, headings."""
    if not is_memory(path):
        return True
    if path.endswith(".jsonl"):
        return [_shape(line) for line in data.split(b"\n")] != [_shape(line) for line in clean.split(b"\n")]
    return path.endswith(".md") and _facts(data) != _facts(clean)


def _facts(data: bytes) -> object:
    """Return the structure of a document: header fields except free text, heads of entries, known headings."""
    document = Document.parse(data)
    header = {key: None if key in _WORDS else value for key, value in document.metadata.items()}
    entries = [entry.entry._replace(text="") for entry in find_entries(document.body)]
    titles = [part.title for part in sections(document.body) if part.title in _SECTIONS]
    return (document.header is None, document.problem is None, header, entries, titles)


def _shape(line: bytes) -> object:
    """Return the structure of a transcript's line: its field names, role, time and ids."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return type(fields)
    return ({key: fields.get(key) for key in ("at", "role", "agent", "id")}, [*fields])
