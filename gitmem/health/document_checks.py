"""Find documents that cannot be read, hold secrets or have bad names; nothing is changed.

`examined.json` in the private folder records which documents of which commit were checked (docs/format.md, "Tree"), so
that `status` checks only later changes. It also checks some never-checked documents, in a small store all; upkeep
checks the rest.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from gitmem import __version__
from gitmem.document.code_lines import without_digests
from gitmem.document.document import Document
from gitmem.document.ids import BUGS, FACTS, agreed_id, check_path, fold, id_in, is_id
from gitmem.errors import GitFailedError, GitmemError, RefusedError
from gitmem.git.log import messages
from gitmem.git.objects import PathChange
from gitmem.git.packing import known_files
from gitmem.history.review import ToReview, review_since
from gitmem.merge.documents import conflict_lines
from gitmem.model.fact import PATH as FACT_PATH
from gitmem.model.fact import parse_fact
from gitmem.platform.safe_open import read_json, write_json
from gitmem.redact.redact import redact
from gitmem.store.copies import find_copies
from gitmem.store.entrance import unusable_name
from gitmem.store.findings import Finding, Level, judged
from gitmem.store.store import Store
from gitmem.store.transaction import readings
from gitmem.text.sentences import count
from gitmem.values import Value

MoreChecks = Sequence[Callable[[Store, Sequence[str]], "Checked"]]

_MESSAGES = 1_000  # newest commit messages to search for secrets
_LINE = re.compile(r" \(line (\d+)\)$")


class Checked(Value):
    """The finding of a check of files, and by path each problem."""

    finding: Finding
    found: tuple[tuple[str, str], ...]


def check_headers(store: Store, paths: Sequence[str]) -> Checked:
    """Look for documents with invalid front matter, by line and reason."""
    problems = []
    for path, data in _documents(store, paths):
        problem = Document.parse(data).problem
        if is_broken(store, path):
            problems.append((path, f"{path}, line 1: not a fact; the version committed last stays in force"))
        elif problem is not None:
            line = _LINE.search(problem)
            # The header's first line is the file's second.
            place, words = (int(line[1]) + 1, problem[: line.start()]) if line else (1, problem)
            problems.append((path, f"{path}, line {place}: {words.removeprefix('the header cannot be read: ')}"))
    message = f"{count(len(problems), 'document')} with a header that cannot be read; the text below it is used."
    last = f"git -C {shlex.quote(store.root)} checkout -- FILE"
    remedy = f"Correct the lines between the two '---', or take the last version: {last}"
    problem_found = Finding("headers", Level.PROBLEM, message, remedy)
    return _checked(problems, "Every document's header can be read.", problem_found)


def is_broken(store: Store, path: str) -> bool:
    """Return whether the file at the path of a fact is not a fact."""
    data = read_or_none(store, path) if FACT_PATH.fullmatch(path) else None
    return data is not None and parse_fact(data, path) is None


def check_conflicts(store: Store, paths: Sequence[str]) -> Checked:
    """Look for conflict markers in documents, by line."""
    places = [
        (path, f"{path}, line {line}") for path, data in _documents(store, paths) for line in conflict_lines(data)
    ]
    remedy = "Edit each place as it should be, and remove the three marker lines."
    problem = Finding("conflicts", Level.PROBLEM, "The memory contains conflict markers.", remedy)
    return _checked(places, "No conflict markers.", problem)


def _checked(places: Sequence[tuple[str, str]], fine: str, problem: Finding) -> Checked:
    """Return `problem` with its places, or without any a finding that says `fine`."""
    problem = problem._replace(details=tuple(words for _, words in places))
    return Checked(judged(problem, fine, is_broken=places), tuple(places))


def check_secrets(store: Store, paths: Sequence[str]) -> Checked:
    """Look for likely secrets in files, names and new commit messages, by kind and place, without showing any."""
    named = bool(_secrets(store, ["\n".join(paths)]))  # one scan for all is faster
    places = []
    for path in paths:
        data = read_or_none(store, path)
        texts = [without_digests(path, text) for text in readings(data)] if data else []
        shown, kinds = _secrets(store, [path]) if named else "", _secrets(store, texts)
        place = redact(path).text if shown or kinds else path
        places += [(path, f"{place}: {kinds}")] if kinds else []
        places += [(path, f"the name of {place}: {shown}")] if shown else []
    tip = store.repository.tip(store.repository.branch())
    commit_messages = messages(store.repository.git, tip, _MESSAGES) if tip else []
    if commit_messages and _secrets(store, ["\n\n".join(message for _, message in commit_messages)]):
        findings = [(oid, _secrets(store, [message])) for oid, message in commit_messages]
        places += [("", f"the message of commit {oid[:10]}: {kinds}") for oid, kinds in findings if kinds]
    message = f"{count(len(places), 'place')} with a likely secret."
    remedy = "Revoke it, then remove it: 'gitmem purge --secret'. If it is a false alarm, add it to redaction.allow."
    return _checked(places, "No secrets in the files.", Finding("secrets", Level.PROBLEM, message, remedy))


def _secrets(store: Store, texts: Iterable[str]) -> str:
    """Return a phrase with the number of secrets of each kind in some texts, "" for none."""
    results = (redact(text, allow=store.config.redaction.allow) for text in texts)
    kinds = Counter(finding.kind for result in results for finding in result.findings)
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def check_names(store: Store, paths: Sequence[str]) -> Checked:
    """Look for names that some file system rejects or confuses, and for symbolic links."""
    problems = []
    for path in paths:
        try:
            check_path(path.rstrip("/"))
        except RefusedError as error:
            problems.append((path, error.message))
        else:
            if complaint := unusable_name(path.rstrip("/")):
                problems.append((path, f"{path!a}, {complaint}"))
        if os.path.islink(os.path.join(store.root, path)):
            problems.append((path, f"{path} is a symbolic link; gitmem follows none."))
    paths = [path.rstrip("/") for path in known_files(store.repository.git)]
    names = {*paths, *(path[:end] for path in paths for end, letter in enumerate(path) if letter == "/")}
    if len(set(fold("\n".join(names)).split("\n"))) < len(names):
        twins: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names):
            twins[fold(name)].append(name)
        alike = [twin for twin in twins.values() if len(twin) > 1]
        problems += [(names[0], f"Some systems do not tell these names apart: {', '.join(names)}.") for names in alike]
    message = f"{count(len(problems), 'name')} not usable on every system."
    remedy = "Rename them, so that the store works on every system."
    return _checked(problems, "All names are usable on every system.", Finding("names", Level.WARNING, message, remedy))


def check_copies(store: Store, paths: Sequence[str]) -> Checked:  # noqa: ARG001  # a copy may lie beside any file
    """Look for copies that a sync service, a file manager or an editor left beside files of the memory."""
    copies = find_copies(store)
    found = [
        (copy.path, f"{copy.path!a}, a copy of {copy.original!a}" if copy.original else copy.path) for copy in copies
    ]
    message = f"{count(len(found), 'file')} left beside the memory's own by another program, and not part of it."
    remedy = "'gitmem review' shows each copy beside its original, and takes one of the two."
    return _checked(found, "No copies beside the memory's files.", Finding("copies", Level.WARNING, message, remedy))


def check_facts(store: Store, paths: Sequence[str]) -> Checked:
    """Look for files that are never shown: those in facts/ that are not facts, and documents with two ids."""
    places = [(path, path) for path in (*no_facts(store, paths), *_of_two_ids(store, paths))]
    message = (
        f"{count(len(places), 'file')} without an id or a kind, or with another id than its name has: never shown."
    )
    remedy = "Write the id of the file's name into its header; 'gitmem facts add' saves a fact."
    return _checked(places, "All files of facts are facts.", Finding(FACTS, Level.WARNING, message, remedy))


def no_facts(store: Store, paths: Iterable[str]) -> list[str]:
    """Return the paths in facts/ that are not facts: name and header must have the id and the kind."""
    odd = (path for path in paths if path.startswith(f"{FACTS}/") and not FACT_PATH.fullmatch(path))
    return [path for path in odd if parse_fact(read_or_none(store, path) or b"", path) is None]


def _of_two_ids(store: Store, paths: Iterable[str]) -> Iterator[str]:
    """Yield the documents whose header has another id than their file name."""
    for path in paths:
        if path.startswith(_IDENTIFIED) and path.endswith(".md") and is_id(id_in(path)):
            header_id = Document.parse(read_or_none(store, path) or b"").get("id")
            if header_id and not agreed_id(header_id, path):
                yield path


def _documents(store: Store, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        if path.endswith(".md"):
            data = read_or_none(store, path)
            if data is not None:
                yield path, data


def read_or_none(store: Store, path: str) -> bytes | None:
    """Return a file of the work tree; None also for a link, a folder or an unreadable file, which others report."""
    with contextlib.suppress(OSError, GitmemError):
        return store.read(path)
    return None


EXAMINED = "examined.json"
AT_ONCE = 300  # documents that were never checked; a larger store leaves them to upkeep


class ChangedFindings(Value):
    """The findings in changed documents, the tip's documents to review, and the number of never-checked ones."""

    findings: tuple[Finding, ...]
    review: tuple[ToReview, ...]
    left: int


class _Seen(Value):
    """The last check: its commit, documents to check again, those to review, and the last path checked (None: all)."""

    commit: str
    again: tuple[str, ...]
    review: tuple[ToReview, ...]
    upto: str | None


def check_changed(
    store: Store, edited: Iterable[str], *, most: int | None = AT_ONCE, record: str = EXAMINED, more: MoreChecks = ()
) -> ChangedFindings:
    """Look for broken headers, conflict markers, and documents to review; `edited` are files that differ from the tip.

    At most `most` never-checked documents are checked (0: they are not even counted, and `left` is 1). `more` are
    further checks of changed files. `record` is the file that records what was checked.
    """
    tip, seen, edited = tip_of(store), _seen(store, record), set(edited)
    changes: Sequence[PathChange] = ()
    try:
        changes = store.repository.changes(seen.commit, tip) if seen and seen.commit != tip else ()
    except GitFailedError:  # its commit is gone
        seen = None
    seen = seen or _Seen(tip, (), (), "")
    due, unchecked = _never_checked(store, tip, seen.upto, most) if tip else ([], 0)
    named = edited.union(seen.again, (change.path for change in (*changes, *due)))
    paths = sorted(path for path in named if os.path.lexists(os.path.join(store.root, path)))
    review = tuple(review_since(store, seen.review, [*changes, *due])) if changes or due else seen.review
    checked = [check(store, paths) for check in (check_headers, check_conflicts, *more)]
    problems = [path for check in checked for path, _ in check.found if path]
    now = _Seen(
        tip, tuple(sorted(edited.union(problems))), review, (due[-1].path if due else seen.upto) if unchecked else None
    )
    if seen != now:
        _remember(store, now, record)
    return ChangedFindings(tuple(check.finding for check in checked), review, unchecked)


def _never_checked(store: Store, tip: str, upto: str | None, most: int | None) -> tuple[list[PathChange], int]:
    """Return the tip's first `most` files after the path `upto`, as additions, and the number of the others."""
    if upto is None:
        return [], 0
    if most == 0:  # listing the files of a large store takes a tenth of a second
        return [], 1
    lines = store.repository.git.run("ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0")[:-1]  # by path
    lines = lines[bisect_right(lines, os.fsencode(upto), key=lambda line: line.partition(b"\t")[2]) :]
    due = []
    for line in lines[:most]:
        meta, _, path = line.partition(b"\t")
        mode, _, oid = meta.decode().split()
        due.append(PathChange(os.fsdecode(path), None, oid, mode))
    return due, len(lines) - len(due)


def tip_of(store: Store) -> str:
    """Return the commit that `HEAD` names, also in the middle of a merge; "" if there is none."""
    try:
        return store.tip or ""
    except GitmemError:
        return store.repository.git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128)).decode().strip()


def _seen(store: Store, record: str) -> _Seen | None:
    """Return the last check, None without a valid record."""
    try:
        fields = read_json(os.path.join(store.private, record))
        if fields["by"] != __version__ or not re.fullmatch("[0-9a-f]{40,64}", fields["commit"]):
            return None
        review = tuple(ToReview(str(path), tuple(map(str, places))) for path, places in fields["review"].items())
        upto = None if fields["upto"] is None else str(fields["upto"])
        return _Seen(fields["commit"], tuple(map(str, fields["again"])), review, upto)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _remember(store: Store, seen: _Seen, record: str) -> None:
    review = {item.path: list(item.places) for item in seen.review}
    fields = {"by": __version__, "commit": seen.commit, "again": list(seen.again), "review": review, "upto": seen.upto}
    with contextlib.suppress(OSError):  # the store may be read-only
        write_json(os.path.join(store.private, record), fields)


ATTRIBUTES = ".gitattributes"
MODULES = ".gitmodules"
# Attributes that keep bytes as they are, or only affect merges and diffs of plain git.
_HARMLESS = frozenset(
    (
        *("-text", "-eol", "-filter", "-ident", "-working-tree-encoding", "binary", "diff", "-diff"),
        *("merge", "-merge", "merge=gitmem", "merge=union"),
    )
)
_SHOWN = 5
_IDENTIFIED = (f"{FACTS}/", f"{BUGS}/", "concepts/", "episodes/")


def attributes_finding(store: Store, paths: Iterable[str]) -> Finding:
    """Return the finding on the attributes and lists of submodules among these files."""
    lines = [
        f"{path}, line {number}: {line}"
        for path in paths
        if path.endswith(ATTRIBUTES) and path.rpartition("/")[2] == ATTRIBUTES
        for number, line in _acting((read_or_none(store, path) or b"").decode("utf-8", "replace"))
    ]
    lines += [f"{path}: submodules" for path in paths if path == MODULES]
    message = "Attributes that are not gitmem's: gitmem ignores them, but your own git commands in the store do not."
    remedy = f"If they are not yours, remove {ATTRIBUTES}; 'gitmem init' writes gitmem's own."
    problem = Finding("attributes", Level.WARNING, message, remedy, tuple(lines[:_SHOWN]))
    return judged(problem, "No attributes but those that keep bytes as they are.", is_broken=lines)


def _acting(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and not words[0].startswith("#") and not _HARMLESS.issuperset(words[1:]):
            yield number, line.strip()
