"""Purging a text, or all secrets, out of a store and out of its history (spec G7).

The record of it is committed first, and then followed as any machine follows it (gitmem.store.rewrite.apply): there is
one way in which history is written again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.git.setup import ROOT_MESSAGE
from gitmem.git.upkeep.expunge import every_object
from gitmem.git.upkeep.rewrite import contents, find, history
from gitmem.machine.resources import read_resource
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.purge.purge import LEAST, MARKER, MOST, MOST_TEXTS, Replacer, forms, make_record
from gitmem.redact.redact import redact
from gitmem.store.rewrite.apply import apply, locked, oldest_found
from gitmem.store.rewrite.progress import Journal
from gitmem.store.rewrite.records import MOST_UNASKED, answer, followed_at, record_path
from gitmem.store.setup.remotes import remotes
from gitmem.store.transaction.redaction import readings
from gitmem.store.transaction.transact import transact
from gitmem.store.upkeep.refs import own_refs

if TYPE_CHECKING:
    import re
    from datetime import datetime

    from gitmem.git.upkeep.rewrite import Found, Written
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

_GUESSABLE = 12  # bytes: what is shorter may be guessed
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_TEMPLATES = ("FORMAT.md", "config.yaml", "memory.md", "gitattributes", "gitignore")


@dataclass(frozen=True, slots=True)
class Purge:
    """What was purged, or would be.

    `texts` counts different ones; `files` are paths that had one at some time, `commits` how many commits brought one,
    `rewritten` how many have a new id; `objects` were read afterwards. `notices` is what the user should be told,
    `beyond` what could not be reached.
    """

    texts: int
    files: tuple[str, ...]
    commits: int
    rewritten: int = 0
    objects: int = 0
    notices: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be purged: the texts, in all forms in which they were found, and what that comes to.

    `needed` says whether anything holds one of them, in history or beside it.
    """

    texts: frozenset[bytes]
    purge: Purge
    needed: bool


def plan_purge(store: Store, what: str | re.Pattern[str] | None) -> Plan:
    """Find a text in the store and its history, all that a pattern matches in a line, or, with None, every secret.

    Secrets are what redaction would find today.

    Raises:
        RefusedError: the text is too short, or gitmem itself needs it; or too many different ones match.

    """
    git = store.repository.git
    walked = history(git, [commit for _, commit in own_refs(store).values() if commit])
    texts = {_checked(what)} if isinstance(what, str) else _found_in(store, walked, what)
    replacer = Replacer(texts | {wide for text in texts for wide in _wide_forms(text)})
    found = find(git, walked, replacer)
    forms_met = {form for form in replacer.met if LEAST <= len(form) <= MOST}
    needed = bool(found) or _lingers(store, replacer)
    return Plan(frozenset(texts | forms_met), _described(store, walked, texts, found), needed)


def purge(store: Store, plan: Plan) -> Purge:
    """Take what was found out of the store and out of its history.

    Raises:
        BusyError: another process kept the store's lock.
        GitmemError: something could not be removed; what was done stays, and the next run goes on.

    """
    now = store.context.clock()
    texts = sorted(plan.texts)
    records = [
        make_record(_identifier(now), now.isoformat(timespec="seconds"), os.urandom(16), texts[at : at + MOST_TEXTS])
        for at in range(0, len(texts), MOST_TEXTS)
    ]
    message = Message(f"Purge {_count(plan.purge.texts, 'text')}", ((Trailer.OP.value, Op.PURGE.value),))
    changes = {record_path(record.id): record.render() for record in records}

    def commit(transaction: Transaction) -> bool:
        answer(store, {record.key for record in records}, yes=True)
        Journal().write(store.private)  # should the rest be cut off, the next command goes on
        return transaction.commit(message, changes)

    outcome = transact(store, commit, purpose="purge", scan=True)
    with locked(store) as lock:
        done = apply(store, lock, followed_at(store, outcome.commits[-1]), plan.texts)
    notices = (*outcome.notices, *done.notices)
    return replace(plan.purge, rewritten=done.commits, objects=done.objects, notices=notices)


def _identifier(now: datetime) -> str:
    return f"{now:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def _found_in(store: Store, walked: Sequence[Written], pattern: re.Pattern[str] | None) -> set[bytes]:
    """Return what a pattern matches in some commits, without one the secrets in them; each line is looked at once."""
    find = partial(_secrets, allow=store.config.redaction.allow) if pattern is None else partial(_matches, pattern)
    seen, found = set[bytes](), set[bytes]()
    paths = sorted({change.path for one in walked for change in one.changes})
    for data in (*(one.raw.partition(b"\n\n")[2] for one in walked), b"\n".join(paths), *_files(store, walked)):
        fresh: list[bytes] = []
        for line in (*data.split(b"\n"), b""):
            if line and line not in seen:
                fresh.append(line)
                seen.add(line)
            elif fresh and line in seen:
                found |= find(b"\n".join(fresh))
                fresh = []
        found |= find(b"\n".join(fresh))
    if pattern is not None and len(found) > MOST_TEXTS:
        raise RefusedError(f"{len(found):,} different texts match; {MOST_TEXTS:,} are the most.", "Narrow the pattern.")
    return {text for text in found if LEAST <= len(text) <= MOST and not _is_own(text)}


def _files(store: Store, walked: Sequence[Written]) -> Iterator[bytes]:
    """Yield the files that commits brought; one with zero bytes also as the UTF-16 or UTF-32 that it may be."""
    for data, _ in contents(store.repository.git, walked):
        yield data
        if b"\0" in data:
            yield from (text.encode("utf-8", "replace") for text in readings(data))


def _wide_forms(text: bytes) -> list[bytes]:
    """Return a text in UTF-16 and UTF-32, as Windows programs write it; nothing of what is not UTF-8."""
    try:
        words = text.decode()
    except UnicodeDecodeError:
        return []
    return [words.encode(encoding) for encoding in _WIDE]


def _matches(pattern: re.Pattern[str], data: bytes) -> set[bytes]:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return {found.group().encode("utf-8", "surrogateescape") for line in lines for found in pattern.finditer(line)}


def _secrets(data: bytes, allow: Sequence[str]) -> set[bytes]:
    text = data.decode("utf-8", "surrogateescape")
    found = ((finding.kind, text[finding.start : finding.end]) for finding in redact(text, allow=allow).findings)
    # Private text that is not closed reaches to the end; whoever speaks of the tag does not mean that.
    return {
        words.encode("utf-8", "surrogateescape")
        for kind, words in found
        if kind != "private" or words.lower().endswith("</private>")
    }


def _checked(pattern: str) -> bytes:
    text = pattern.encode("utf-8", "surrogateescape")
    if not LEAST <= len(text.strip()) <= len(text) <= MOST:
        raise RefusedError(
            f"A text to purge has {LEAST} to {MOST:,} bytes.", "What is shorter is a part of other words: give more."
        )
    if _is_own(text):
        raise RefusedError(
            "gitmem itself writes this text into every store, which could not be read without it.",
            "Give more of what stands around it.",
        )
    return text


def _is_own(text: bytes) -> bool:
    words = [ROOT_MESSAGE, MARKER.decode(), "gitmem <gitmem@localhost>", *(f"{key}: " for key in Trailer)]
    words += [*Op, *(f"**{kind.value}**" for kind in MemoryType), "id: ", "kind: ", "created: "]
    own = [*map(str.encode, words), *(read_resource("templates", "store", name) for name in _TEMPLATES)]
    return any(form in data for form in forms(text) for data in own)


def _described(store: Store, walked: Sequence[Written], texts: set[bytes], found: Found) -> Purge:
    brought, files = 0, set[bytes]()
    for commit in walked:
        paths = {one.path for one in commit.changes if one.new in found.blobs or one.path in found.paths}
        files |= paths
        brought += bool(paths) or commit.oid in found.commits
    names = tuple(sorted(map(os.fsdecode, files)))
    return Purge(len(texts), names, brought, beyond=_beyond(store, oldest_found(walked, found), texts))


def _beyond(store: Store, oldest: Sequence[str], texts: set[bytes]) -> tuple[str, ...]:
    """Say what a purge does not reach."""
    said = [
        f"{remote.name} ({remote.shown}) holds it until the next 'gitmem sync', and its host may keep it in forks, "
        "pull requests, caches and backups after that: ask it to remove them."
        for remote in remotes(store)
    ]
    if said:
        said.append("Other machines follow at their next sync; a clone that never syncs keeps it.")
    said.append("The agents' own records of their sessions are not gitmem's; look into them, too.")
    if not store.own_repository and oldest:
        options = [f"--contains={oid}" for oid in oldest]
        named = store.repository.git.run("for-each-ref", "--format=%(refname)", *options).decode("utf-8", "replace")
        others = sorted({*named.split()} - own_refs(store).keys())
        if others:
            said.append(f"Refs of the project's own hold it: {', '.join(others)}.")
    said.append("If it is a secret, change it: whoever saw it has it.")
    if any(len(text) < _GUESSABLE for text in texts):
        said.append("It is short: whoever can read the memory can try guesses on the record of this purge.")
    if len(texts) > MOST_UNASKED:
        said.append(f"Other machines ask before they purge more than {MOST_UNASKED} texts ('gitmem review').")
    return tuple(said)


def _lingers(store: Store, replacer: Replacer) -> bool:
    """Say whether what no ref points to has it: objects of the store's own repository, or the private folder."""
    from gitmem.store.rewrite.finish import plain_files, read_file

    if any(replacer.holds(read_file(path)) for path in plain_files(store.private)):
        return True
    return store.own_repository and any(replacer.holds(data) for _, data in every_object(store.repository.git))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
