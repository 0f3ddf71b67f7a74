"""Purge a text, or all secrets, from a store and its history; answer waiting purges of other machines.

The record of the purge is committed first and then applied as on any other machine (gitmem.purge.rewrite), so
there is one way to rewrite history.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from gitmem.document.code_lines import without_digests
from gitmem.document.entry import MemoryType
from gitmem.document.message import Op, Trailer, one_line, op_message
from gitmem.errors import NotFoundError, RefusedError, UsageError
from gitmem.git.packing import every_object
from gitmem.git.repository import read_refs
from gitmem.git.rewrite import Occurrences, Written, affected, contents, find, history
from gitmem.git.root import ROOT_MESSAGE
from gitmem.platform.machine import read_resource
from gitmem.platform.safe_open import plain_files, read_file
from gitmem.purge.erased import AUTHOR, Erased, author_key, find_erased, session_key
from gitmem.purge.record import MARKER, MAX_TEXT, MIN_TEXT, MOST_TEXTS, PurgeRecord, Replacer, forms, make_record
from gitmem.purge.records import MOST_UNASKED, answer, applied_records_at, read_records, read_state, record_path
from gitmem.purge.rewrite import apply, apply_purges, begin, check_history, locked, seek_texts
from gitmem.redact.redact import redact
from gitmem.store.known_facts import known_facts
from gitmem.store.remotes import FETCHED, remotes
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction, readings
from gitmem.text.sentences import count, shorten
from gitmem.values import Value

_WORDS = re.compile(r"\w+")
_SENTENCE = 3  # words; the words of a fact are at least as many
_STOPS = ".!\u3002"
_GUESSABLE = 12  # bytes; a shorter text may be guessed
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_TEMPLATES = ("FORMAT.md", "README.md", "config.yaml", "memory.md", "gitattributes", "gitignore")


class Purge(Value):
    """The result of a purge, or of its preview.

    `texts` counts different texts, `commits` the commits that added one, `rewritten` those with a new id, and `objects`
    those read afterwards to verify. `files` are the paths that ever contained a text. `notices` are messages for the
    user, `beyond` are sentences on where copies may remain.
    """

    texts: int
    files: tuple[str, ...]
    commits: int
    rewritten: int = 0
    objects: int = 0
    notices: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


class PurgePlan(Value):
    """The texts to purge, in all forms that were found, and a preview of the result.

    `needed` is whether history, an unreachable object or the private folder contains one of them. `whose` are keys of
    authors or sessions whose memories are all to be removed.
    """

    texts: frozenset[bytes]
    purge: Purge
    needed: bool
    whose: frozenset[bytes] = frozenset()


def plan_erasure(store: Store, *, author: str = "", session: str = "") -> PurgePlan:
    """Find everything that an author, given by name or address, or a session contributed.

    Raises:
        NotFoundError: no commit is by this author, or of this session.
        UsageError: several authors have this name.
    """
    check_history(store)
    git = store.repository.git
    walked = history(git, [commit for _, commit in store.own_refs().values() if commit])
    whose = frozenset(map(author_key, _addresses(walked, author)) if author else [session_key(session)])
    erased = find_erased(git, walked, [_record(store, whose=whose)]) if whose else Erased()
    if not erased.commits:
        who = f"by {author!r}" if author else f"of a session {session!r}"
        raise NotFoundError(f"No commit is {who}.", "'gitmem log' and 'gitmem sessions' name them.")
    names = tuple(sorted(map(os.fsdecode, erased.paths)))
    beyond = _beyond(store, [], {b"x" * MAX_TEXT})
    return PurgePlan(frozenset(), Purge(len(erased.texts), names, erased.commits, beyond=beyond), True, whose)  # noqa: FBT003


def _addresses(walked: Sequence[Written], author: str) -> set[str]:
    """Return an author's address, given as that or as a name, in all spellings; raises UsageError for several."""
    matches = (match for commit in walked if (match := AUTHOR.search(commit.raw)))
    people = {tuple(part.decode("utf-8", "surrogateescape") for part in match.group(1, 2)) for match in matches}
    addresses = {email for _, email in people if email.lower() == author.lower()}
    addresses = addresses or {email for name, email in people if name.lower() == author.lower()}
    if len({address.lower() for address in addresses}) > 1:
        raise UsageError(
            f"{len(addresses)} addresses have this name: {', '.join(sorted(addresses))}.",
            "Name one of them; run it again for each that is the same user's.",
        )
    return addresses


def plan_purge(store: Store, sought: str | re.Pattern[str] | None) -> PurgePlan:
    """Find a text, all matches of a pattern within lines, or, with None, every secret in the store and its history.

    Secrets are found by today's redaction rules.

    Raises RefusedError if the text is too short, or part of the store's format; or too many different texts match.
    """
    check_history(store)
    git = store.repository.git
    walked = history(git, [commit for _, commit in store.own_refs().values() if commit])
    texts = {_checked(sought)} if isinstance(sought, str) else _found_in(store, walked, sought)
    as_learned = {_checked(form) for form in _as_fact(store, sought)} if isinstance(sought, str) else set()
    joined = {_checked(form) for form in _in_one_line(sought)} if isinstance(sought, str) else set()
    as_learned |= joined
    replacer = Replacer(texts | as_learned | {wide for text in texts | as_learned for wide in _wide_forms(text)})
    occurrences = find(git, walked, replacer)
    forms_met = {form for form in replacer.met if MIN_TEXT <= len(form) <= MAX_TEXT}
    needed = bool(occurrences) or _lingers(store, replacer)
    return PurgePlan(frozenset(texts | joined | forms_met), _described(store, walked, texts, occurrences), needed)


def purge(store: Store, plan: PurgePlan) -> Purge:
    """Remove the texts of a plan from the store and its history.

    Raises BusyError if another process kept the store's lock, GitmemError if something could not be removed; the next
    run continues from there.
    """
    texts = sorted(plan.texts)
    records = [_record(store, texts[at : at + MOST_TEXTS]) for at in range(0, len(texts), MOST_TEXTS)]
    if plan.whose:
        records = [_record(store, whose=plan.whose)]
    where = f" from {count(len(plan.purge.files), 'file')}" if plan.purge.files else ""
    what = f"Purge {count(plan.purge.texts, 'text')}{where}"
    what = "Forget what one author or session brought" if plan.whose else what
    message = op_message(Op.PURGE, what)
    changes = {record_path(record.id): record.render() for record in records}

    def commit(transaction: Transaction) -> bool:
        answer(store, {record.key for record in records}, yes=True)
        begin(store)
        return transaction.commit(message, changes)

    outcome = transact(store, commit, purpose="purge", scan=True)
    with locked(store) as lock:
        done = apply(store, lock, applied_records_at(store, outcome.commits[-1]), plan.texts)
    notices = (*outcome.notices, *done.notices)
    return plan.purge._replace(rewritten=done.commits, objects=done.objects, notices=notices)


def _record(store: Store, texts: Iterable[bytes] = (), whose: Iterable[bytes] = ()) -> PurgeRecord:
    now = store.context.clock()
    name = f"{now:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
    return make_record(name, now.isoformat(), os.urandom(16), texts, whose)


def _found_in(store: Store, walked: Sequence[Written], pattern: re.Pattern[str] | None) -> set[bytes]:
    """Return the matches of a pattern, or without one the secrets, in some commits; each distinct line is read once."""
    find = partial(_secrets, allow=store.config.redaction.allow) if pattern is None else partial(_matches, pattern)
    seen, occurrences = set[bytes](), set[bytes]()
    paths = sorted({change.path for commit in walked for change in commit.changes})
    texts = [*(commit.raw.partition(b"\n\n")[2] for commit in walked), b"\n".join(paths)]
    for path, data in (*(("", text) for text in texts), *_files(store, walked)):
        lines = data.split(b"\n")
        for is_known, run in groupby(lines, seen.__contains__):
            if not is_known and (fresh := b"\n".join(run).strip(b"\n")):
                occurrences |= find(path, fresh)
        seen.update(filter(None, lines))
    if pattern is not None and len(occurrences) > MOST_TEXTS:
        raise RefusedError(
            f"{len(occurrences):,} different texts match; {MOST_TEXTS:,} are the most.", "Narrow the pattern."
        )
    return {text for text in occurrences if MIN_TEXT <= len(text) <= MAX_TEXT and not _is_own(text)}


def _files(store: Store, walked: Sequence[Written]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of files that commits added; with zero bytes also decoded from UTF-16 or UTF-32."""
    for change, data, _ in contents(store.repository.git, walked):
        path = change.path.decode("utf-8", "replace")
        yield path, data
        if b"\0" in data:
            yield from ((path, text.encode("utf-8", "replace")) for text in readings(data))


def _wide_forms(text: bytes) -> list[bytes]:
    """Return a text in UTF-16 and UTF-32, as Windows programs write it; [] if it is not UTF-8."""
    with contextlib.suppress(UnicodeDecodeError):
        return [text.decode().encode(encoding) for encoding in _WIDE]
    return []


def _matches(pattern: re.Pattern[str], _path: str, data: bytes) -> set[bytes]:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return {match.group().encode("utf-8", "surrogateescape") for line in lines for match in pattern.finditer(line)}


def _secrets(path: str, data: bytes, allow: Sequence[str]) -> set[bytes]:
    text = data.decode("utf-8", "surrogateescape")
    findings = redact(without_digests(path, text), allow=allow).findings
    secrets = ((finding.kind, text[finding.start : finding.end]) for finding in findings)
    # An unclosed tag would make everything after it private, but it is usually a mention of the tag.
    return {
        words.encode("utf-8", "surrogateescape")
        for kind, words in secrets
        if kind != "private" or words.lower().endswith("</private>")
    }


def _as_fact(store: Store, text: str) -> set[str]:
    """Return the forms that a fact learned from a sentence has of it: capitalised words, its name, its keywords."""
    bare = text.strip().rstrip(_STOPS)
    if len(bare.split()) < _SENTENCE:
        return set()
    forms = {bare.casefold(), text.casefold()}
    facts = [fact for fact in known_facts(store) if any(text in fact.description.casefold() for text in forms)]
    parts = (part for fact in facts for part in (fact.name, ", ".join(fact.keywords)))
    more = {part for part in parts if len(part) >= _SENTENCE * MIN_TEXT}
    return {bare, bare[:1].swapcase() + bare[1:], *more} - {text}


def _in_one_line(text: str) -> set[str]:
    """Return the one-line forms that summaries and titles have of a text of several lines."""
    lines = {shorten(text, MAX_TEXT), one_line(text, MAX_TEXT)} if "\n" in text.strip() else set()
    return {line for line in lines if _WORDS.findall(line) == _WORDS.findall(text)}


def _checked(pattern: str) -> bytes:
    text = pattern.encode("utf-8", "surrogateescape")
    if not MIN_TEXT <= len(text.strip()) <= len(text) <= MAX_TEXT:
        raise RefusedError(
            f"A text to purge has {MIN_TEXT} to {MAX_TEXT:,} bytes.",
            "A shorter one would match inside other words: give more of it.",
        )
    if _is_own(text):
        raise RefusedError(
            "This text is part of the format of every store, which could not be read without it.",
            "Give more of the text around it.",
        )
    return text


def _is_own(text: bytes) -> bool:
    words = [ROOT_MESSAGE, MARKER.decode(), "gitmem <gitmem@localhost>", *(f"{key}: " for key in Trailer)]
    words += [*Op, *(f"**{kind.value}**" for kind in MemoryType), "id: ", "kind: ", "created: "]
    own = [*map(str.encode, words), *(read_resource("templates", "store", name) for name in _TEMPLATES)]
    return any(form in data for form in forms(text) for data in own)


def _described(store: Store, walked: Sequence[Written], texts: set[bytes], occurrences: Occurrences) -> Purge:
    brought = sum(occurrences.is_in(commit) for commit in walked)
    oldest = [oid for oid, is_own in affected(walked, occurrences).items() if is_own]
    return Purge(len(texts), _holders(walked, occurrences), brought, beyond=_beyond(store, oldest, texts))


def _holders(walked: Sequence[Written], occurrences: Occurrences) -> tuple[str, ...]:
    """Return the paths of all files that ever held a text."""
    paths = {*occurrences.paths, *occurrences.gone}
    changes = (change for commit in walked for change in commit.changes)
    touched = {change.path for change in changes if change.new in occurrences.blobs or change.path in paths}
    return tuple(sorted(map(os.fsdecode, touched)))


def _beyond(store: Store, oldest: Sequence[str], texts: set[bytes]) -> tuple[str, ...]:
    """Return a sentence for each place that a purge does not reach."""
    hosts = [
        f"{remote.name} ({remote.shown}) holds it until the next 'gitmem sync', and its host may keep it in forks, "
        "pull requests, caches and backups after that: ask it to remove them."
        for remote in remotes(store)
    ]
    others = set[str]()
    if not store.has_separate_repository and oldest:
        options = [f"--contains={oid}" for oid in oldest]
        named = store.repository.git.run("for-each-ref", "--format=%(refname)", *options).decode("utf-8", "replace")
        others = {*named.split()} - store.own_refs().keys()
    asked = "Other machines ask their user at their next sync ('gitmem review'); those that you listed in the setting "
    asked += "purge.machines remove it without asking; "
    guess = "It is short, so others could guess it: the record of this purge lets them check a guess."
    sentences = {
        asked + "a clone that never syncs keeps it.": hosts,
        "If you save the same words again, the next sync removes them, too.": hosts,
        "Your agents keep transcripts of their own, which may still have it.": True,
        f"The project's own refs hold it: {', '.join(sorted(others))}.": others,
        "If it is a secret, change it: others may have seen it.": True,
        guess: any(len(text) < _GUESSABLE for text in texts),
        f"Other machines ask before they purge more than {MOST_UNASKED} texts ('gitmem review').": (
            len(texts) > MOST_UNASKED
        ),
    }
    return (*hosts, *(sentence for sentence, applies in sentences.items() if applies))


def _lingers(store: Store, replacer: Replacer) -> bool:
    """Return whether an unreachable object of the store's own repository, or a private file, contains a text."""
    if any(replacer.matches(read_file(path)) for path in plain_files(store.private)):
        return True
    git = store.repository.git
    return store.has_separate_repository and any(replacer.matches(data) for _, data in every_object(git))


_TEXTS, _FILES, _LENGTH = 5, 20, 60  # texts and files in a preview, and characters of each text


class WaitingPurge(Value):
    """A purge of another machine that is not applied: the path of its record, and the reason."""

    path: str
    why: str


class Preview(Value):
    """What a purge would remove: `found` of `texts` occur, `shown` are some of them, `files` some of their files."""

    path: str
    why: str
    texts: int
    found: int
    shown: tuple[str, ...]
    files: tuple[str, ...]
    more_files: int


def waiting_purges(store: Store, *, refused: bool = False) -> list[WaitingPurge]:
    """Return the purges that wait for an answer, or those that the user `refused`, by path."""
    state = read_state(store.private)
    keys = state.refused if refused else state.waiting
    return [WaitingPurge(record_path(key), state.unapplied[key]) for key in sorted(keys)]


def preview_purge(store: Store, path: str) -> Preview:
    """Search for the texts of a waiting or refused purge, with bounded effort.

    Raises NotFoundError if no purge of this path waits, or was refused.
    """
    record, why = _waiting(store, path)
    walked = history(store.repository.git, [commit for _, commit in store.own_refs().values() if commit])
    seeker = seek_texts(store, walked, [record], (), limited=[record.key])
    erased = find_erased(store.repository.git, walked, [record])
    texts = sorted(erased.texts.union(seeker.found.get(record.key, ())))
    occurrences = find(store.repository.git, walked, Replacer(texts))
    files = _holders(walked, occurrences._replace(gone=erased.paths))
    shown = tuple(text.decode("utf-8", "replace")[:_LENGTH] for text in texts[:_TEXTS])
    return Preview(path, why, len(record.fingerprints), len(texts), shown, files[:_FILES], len(files[_FILES:]))


def answer_purge(store: Store, path: str, *, yes: bool) -> list[str]:
    """Apply a waiting or refused purge, or refuse it for this machine; return notices for the user.

    Raises:
        NotFoundError: no purge of this path waits, or was refused.
        BusyError: another process kept the store's lock.
    """
    record, _ = _waiting(store, path)
    fetched = read_refs(store.repository.git, f"{FETCHED}/").values()
    done = apply_purges(store, fetched, answers={record.key: yes})
    return done.notices if done else []


def _waiting(store: Store, path: str) -> tuple[PurgeRecord, str]:
    unapplied = read_state(store.private).unapplied
    commits = [*filter(None, [store.tip]), *read_refs(store.repository.git, f"{FETCHED}/").values()]
    for record in read_records(store, commits)[0]:
        if record.key in unapplied and record_path(record.id) == path:
            return record, unapplied[record.key]
    raise NotFoundError(f"No purge {path} waits for an answer.", "'gitmem review' lists those that wait.")
