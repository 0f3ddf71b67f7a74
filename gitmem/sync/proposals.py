"""Memory as a pull request: a branch that adds only facts, for review on a forge, and the check of such a branch.

The check reads commits only, so it also runs in a bare repository, while a server decides about a push.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from urllib.parse import quote

from gitmem.document.code_lines import without_digests
from gitmem.document.document import Document
from gitmem.document.ids import FACTS, FORMAT, check_path, slug
from gitmem.document.message import SUBJECT_LENGTH, Op, Trailer, one_line, op_message
from gitmem.errors import BusyError, GitFailedError, NotFoundError, RefusedError
from gitmem.git.address import Remote
from gitmem.git.fast_import import NewCommit, Signature, Writer
from gitmem.git.layout import MEMORY_BRANCH, find_layout
from gitmem.git.objects import Objects, PathChange, most_files, read_tree, tree_changes
from gitmem.git.process import Git, failure
from gitmem.git.remote import Connection, PushRacedError
from gitmem.git.repository import empty_tree, move_refs, read_refs
from gitmem.git.trust import Signatures
from gitmem.merge.documents import conflict_lines
from gitmem.model.fact import PATH as FACT_PATH
from gitmem.model.fact import Fact, parse_fact
from gitmem.model.similarity import rivals_of
from gitmem.model.validity import in_force
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.redact.redact import redact
from gitmem.store.arrivals import SIGNED
from gitmem.store.maintenance import MAX_FILES as MOST_FILES
from gitmem.store.maintenance import new_pending_ref
from gitmem.store.remotes import FETCHED, REFS
from gitmem.store.store import FORMAT_VERSION, Store, format_version
from gitmem.sync.fetch import Options, fetch_memory
from gitmem.sync.guard import check_extent, check_incoming, check_project, check_signed
from gitmem.values import Value

BRANCH = "gitmem-proposals"


class Proposal(Value):
    """A pushed proposal: its branch on the remote, its commit, and the paths of its facts."""

    remote: str
    branch: str
    commit: str
    paths: tuple[str, ...]


def propose(
    store: Store, remote: Remote, connection: Connection, options: Options, *, ids: Sequence[str] = (), name: str = ""
) -> Proposal:
    """Push facts as one commit on top of the remote's memory to a new branch; the store does not change.

    Without `ids`, propose all facts that the remote lacks or has in another version. An earlier proposal of the same
    `name` is replaced.

    Raises:
        NotFoundError: there is no such fact, nothing to propose, or no memory there yet.
        GitmemError: as `gitmem.sync.rounds.sync`.
    """
    remote_tip, tip = fetch_memory(remote, connection, options), store.tip
    if remote_tip is None or tip is None:
        raise NotFoundError(f"{remote.called} has no memory to propose to.", "'gitmem sync' pushes the first one.")
    check_extent(store, remote, remote_tip, {tip})
    check_signed(store, remote, remote_tip, {store.repository.tip(f"{REFS}/{remote.name}/{MEMORY_BRANCH}")}, tip)
    check_project(store, remote, tip, remote_tip, options.accept)
    check_incoming(store, remote, tip, remote_tip, options.accept, shared=True)
    git = store.repository.git
    ours, theirs = (
        {path: entry for path, entry in read_tree(git, commit).items() if FACT_PATH.fullmatch(path)}
        for commit in (tip, remote_tip)
    )
    chosen = sorted(path for path in ours if theirs.get(path) != ours[path])
    if ids:
        by_id = {match["id"]: path for path in ours if (match := FACT_PATH.fullmatch(path))}
        if unknown := next((identifier for identifier in ids if identifier not in by_id), ""):
            raise NotFoundError(f"There is no fact {unknown!r}.", "'gitmem facts list' lists them.")
        chosen = sorted({by_id[identifier] for identifier in ids} & set(chosen))
    if not chosen:
        raise NotFoundError(f"{remote.called} has these facts already.", "'gitmem facts add' makes a new one.")
    contents = dict(zip(chosen, store.repository.blobs([ours[path][1] for path in chosen]), strict=True))
    facts = [fact for path, data in contents.items() if (fact := parse_fact(data, path))]
    title = name or (facts[0].description if facts else "")
    branch = f"{BRANCH}/{slug(title) or hashlib.sha256(title.encode('utf-8', 'replace')).hexdigest()[:12]}"
    pending = new_pending_ref(store)
    commit = _written(store, pending, remote_tip, contents, facts)
    try:
        _push(store, connection, remote, commit, branch)
    finally:
        move_refs(store.repository.git, {pending: (commit, None)})
    return Proposal(remote.name, branch, commit, tuple(chosen))


def _written(store: Store, ref: str, parent: str, contents: Mapping[str, bytes], facts: Sequence[Fact]) -> str:
    """Write the proposal's commit, with the user as author, and point `ref` to it."""
    user, now = store.identity().result(), store.context.clock()
    more = f" and {len(facts) - 1} more" if len(facts) > 1 else ""
    subject = one_line(f"Propose: {facts[0].description if facts else 'facts'}", SUBJECT_LENGTH - len(more)) + more
    about = ((Trailer.FACT, fact.id) for fact in facts)
    message = op_message(Op.FACT, subject, *about, (Trailer.MACHINE, store.context.machine))
    author = Signature(user.name, user.email, now)
    with Writer(store.repository.git, ref, parent, listed_in=store.packs_file, protect=True) as writer:
        writer.commit(NewCommit(message.render(), contents, author, author, {}))
        commit = writer.write()[-1]
    if store.config.remote.trust != SIGNED:
        return commit
    date = f"@{int(now.timestamp())} +0000"
    signed = Signatures(store.repository.layout, store.context.environ).sign(
        commit, message.render(), user, date, parent
    )
    move_refs(store.repository.git, {ref: (commit, signed)})
    return signed


def _push(store: Store, connection: Connection, remote: Remote, commit: str, branch: str) -> None:
    """Push a proposal, over an earlier one of this name but not over commits that a user added to the branch."""
    ref, here = f"refs/heads/{branch}", f"{FETCHED}/{remote.name}/{branch}"
    remote_tip = connection.fetch(remote, ref, here)
    known = read_refs(store.repository.git, f"{REFS}/{remote.name}/{branch}").get(f"{REFS}/{remote.name}/{branch}")
    if remote_tip is not None and remote_tip != known:
        raise RefusedError(
            f"{remote.called} has another {branch}, which was not proposed from here. Nothing was pushed.",
            "Give the proposal a name of its own: 'gitmem propose --name NAME'.",
        )
    try:
        connection.push(remote, commit, ref, remote_tip)
    except PushRacedError:
        raise BusyError(f"Somebody else has just changed {branch}.", "Try again, or give another --name.") from None
    move_refs(store.repository.git, {f"{REFS}/{remote.name}/{branch}": (known, commit)})


ERROR, WARNING = "error", "warning"
MAX_FILE = 1_000_000  # bytes of one file; a fact has a few hundred
MAX_FILES = 1_000  # changed by one push or proposal
_FILES = ("100644", "100755")
_QUARANTINE = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH")
_NOBODY = re.compile("0+")
MAX_HISTORY, _HISTORY_SECONDS = 256_000_000, 300.0  # bytes of all changes of the commits, and time to list them
_HISTORY = (  # does not diff files above the limit
    *("-c", f"core.bigFileThreshold={MAX_FILE}", "-c", "core.quotePath=false", "-c", "log.showRoot=true"),
    *("log", "--reverse", "--format=%x00%h", "--patch", "--unified=0", "--text", "--no-color", "--no-ext-diff"),
    *("--no-textconv", "--no-renames", "--no-prefix", "--diff-merges=dense-combined"),
)


class CiFinding(Value):
    """A finding of `examine`: what was checked, `error` or `warning`, its place (line 0: the file), and a sentence."""

    check: str
    level: str
    path: str
    line: int
    message: str


def open_for_ci(folder: str, environ: Mapping[str, str]) -> Git:
    """Return the git of the repository at a folder, bare or not; in a hook, with the objects that are being pushed."""
    layout = find_layout(folder)
    bare = all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
    if layout is None and not bare:
        raise NotFoundError(f"{folder} is no git repository.", "Name one with -C.")
    pushed = {
        name: os.pathsep.join(os.path.join(folder, part) for part in environ[name].split(os.pathsep))
        for name in _QUARANTINE
        if environ.get(name)
    }
    return Git(layout.git_dir if layout else folder, None, environ, variables=pushed)


def examine(git: Git, base: str, head: str, authors: Sequence[str] = (), allow: Sequence[str] = ()) -> list[CiFinding]:
    """Check what `head` changes since it forked from `base` ("": since the beginning): see `gitmem check --ci`.

    Each author's address must match one of the globs `authors`; `allow` are texts that are no secrets.

    Raises NotFoundError if one is no commit.
    """
    end = _commit_of(git, head)
    start = empty_tree(git)
    if base and not _NOBODY.fullmatch(base):
        forks = git.run("merge-base", _commit_of(git, base), end, ok=(0, 1)).decode().split()
        start = forks[0] if forks else start
    known = () if start == empty_tree(git) else (start,)
    with Objects(git) as objects:
        # For each commit, as a sync does, and before git lists any files.
        most = most_files(git, objects, end, without=known, limit=MOST_FILES, most=MAX_FILE_BYTES)
        if most is None or most > MOST_FILES:
            return [CiFinding("size", ERROR, "", 0, "The trees are malformed, or too much was changed to be checked.")]
        changes = tree_changes(git, start, end)
        new = {change.path: change for change in changes if change.new and change.mode in _FILES}
        sizes = dict(zip(new, objects.sizes([change.new or "" for change in new.values()]), strict=True))
        read = [change for path, change in new.items() if sizes[path] <= MAX_FILE]
        after = _contents(objects, {change.path: change.new or "" for change in read})
        olds = [change for change in read if change.old and change.old_mode in _FILES]
        before = _contents(objects, {change.path: change.old or "" for change in olds})
        tree = {path: oid for path, (mode, oid) in read_tree(git, end).items() if mode in _FILES}
        texts = _contents(objects, {path: oid for path, oid in tree.items() if FACT_PATH.fullmatch(path)})
        facts = [fact for path, data in texts.items() if (fact := parse_fact(data, path))]
    findings = [*_check_size(changes, sizes)]
    for path, data in sorted(after.items()):
        findings += [*_check_format(path, data), *_check_secrets(path, before.get(path, b""), data, allow)]
    span = [end, *map("^{}".format, known)]
    known_texts = (text for data in (*before.values(), *after.values()) for text in _readings(data))
    lines = set[bytes]().union(*(text.split(b"\n") for text in known_texts))
    findings += [*_check_disputes(facts, after), *_check_commits(git, span, authors, allow)]
    findings += _check_history(git, span, {*after}, lines, allow)
    return sorted(findings, key=lambda finding: (finding.path, finding.line, finding.check))


def _commit_of(git: Git, name: str) -> str:
    try:
        return git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").decode().strip()
    except GitFailedError:
        if name == "HEAD":
            raise NotFoundError(
                "What is checked out here has no commit yet, so there is nothing to check.",
                "Run it where the branch 'gitmem' is checked out (-C .gitmem), or name a commit: --head origin/gitmem.",
            ) from None
        remedy = "In CI, fetch all of history: fetch-depth: 0 on GitHub, GIT_DEPTH: 0 on GitLab."
        raise NotFoundError(f"{name!r} names no commit here.", remedy) from None


def _contents(objects: Objects, files: Mapping[str, str]) -> dict[str, bytes]:
    """Return the contents of files, given by path and object id."""
    return dict(zip(files, objects.existing([*files.values()]), strict=True))


def _check_size(changes: Sequence[PathChange], sizes: Mapping[str, int]) -> Iterator[CiFinding]:
    if len(changes) > MAX_FILES:
        yield CiFinding("size", WARNING, "", 0, f"{len(changes):,} files are changed at once.")
    for change in changes:
        if change.new and change.mode not in _FILES:
            yield CiFinding("format", ERROR, change.path, 0, "A link or submodule, which no machine would take.")
        elif sizes.get(change.path, 0) > MAX_FILE:
            yield CiFinding("size", ERROR, change.path, 0, f"{sizes[change.path]:,} bytes; at most {MAX_FILE:,}.")
        elif change.new is None and change.path.startswith("purged/"):
            yield CiFinding("format", ERROR, change.path, 0, "The record of a purge is removed.")


def _check_format(path: str, data: bytes) -> Iterator[CiFinding]:
    try:
        check_path(path)
    except RefusedError as error:
        yield CiFinding("format", ERROR, path, 0, error.message)
    marked = list(conflict_lines(data))
    for line in marked:
        yield CiFinding("format", ERROR, path, line, "Conflict markers.")
    if path == FORMAT and format_version(data) not in {None, FORMAT_VERSION}:
        yield CiFinding("format", ERROR, path, 0, f"This gitmem knows format version {FORMAT_VERSION}.")
    if marked or not path.endswith(".md"):
        return
    problem = Document.parse(data).problem
    if problem is not None:
        yield CiFinding("format", ERROR, path, 1, f"{problem[:1].upper()}{problem[1:]}.")
    elif path.startswith(f"{FACTS}/"):
        place, fact = FACT_PATH.fullmatch(path), parse_fact(data, path)
        if place is None or fact is None or (fact.id, fact.kind.value) != (place["id"], place["kind"]):
            yield CiFinding("format", ERROR, path, 1, "The fact's id and kind are not those of its name and folder.")
        elif not fact.text.strip():
            yield CiFinding("format", ERROR, path, 0, "The fact says nothing.")


def _check_secrets(path: str, before: bytes, after: bytes, allow: Sequence[str]) -> Iterator[CiFinding]:
    """Find secrets in new lines, without showing them."""
    places: dict[tuple[int, str], None] = {}
    for old, new in zip(_readings(before, like=after), _readings(after), strict=True):
        known, text = {*old.split(b"\n")}, new.decode("utf-8", "replace")
        lines = text.split("\n")
        if all(line.encode() in known for line in lines):
            continue
        for finding in redact(without_digests(path, text), allow=allow).findings:
            number = text.count("\n", 0, finding.start) + 1
            if lines[number - 1].encode() not in known:
                places[number, finding.kind] = None
    for number, kind in places:
        yield CiFinding("secrets", ERROR, path, number, f"A likely secret: {kind}.")
    for finding in redact(path, allow=allow).findings:
        yield CiFinding("secrets", ERROR, "", 0, f"A file's name has a likely secret: {finding.kind}.")


def _readings(data: bytes, *, like: bytes = b"") -> list[bytes]:
    """Return a file without NULs and, if `like` has any, with blanks instead: for UTF-16 and UTF-32."""
    return [data.replace(b"\0", b" "), data.replace(b"\0", b"")] if b"\0" in data or b"\0" in like else [data]


def _check_disputes(facts: Sequence[Fact], after: Mapping[str, bytes]) -> Iterator[CiFinding]:
    holding = in_force(facts)
    for new in (fact for fact in holding if fact.file in after):
        settled = {*new.supersedes, *new.review}
        for rival in rivals_of(new, (fact for fact in holding if fact.id not in settled)):
            description = one_line(rival.description, 100)
            yield CiFinding("disputes", WARNING, new.file, 0, f"It contradicts {rival.id}, in force: {description}")


def _check_commits(git: Git, span: Sequence[str], authors: Sequence[str], allow: Sequence[str]) -> Iterator[CiFinding]:
    output = git.run("log", "-z", "--format=%h%x01%ae%x01%an <%ae> %cn <%ce>%x01%B", *span, "--").decode(
        "utf-8", "replace"
    )
    for record in filter(None, output.split("\0")):
        oid, address, people, message = record.split("\x01", 3)
        if authors and not any(fnmatchcase(address.casefold(), author.casefold()) for author in authors):
            yield CiFinding("authors", ERROR, "", 0, f"Commit {oid} is by {address}, who is not among the authors.")
        if len(message) > MAX_FILE:
            yield CiFinding("size", ERROR, "", 0, f"The message of commit {oid} has {len(message):,} characters.")
        for what, text in (("message", message), ("author or committer", people)):
            for finding in redact(text[:MAX_FILE], allow=allow).findings:
                why = f"The {what} of commit {oid} has a likely secret: {finding.kind}."
                yield CiFinding("secrets", ERROR, "", 0, why)


def _check_history(
    git: Git, span: Sequence[str], names: set[str], lines: set[bytes], allow: Sequence[str]
) -> Iterator[CiFinding]:
    """Find secrets that a commit adds and a later one removes; `names` of files and `lines` were checked before."""
    try:
        for oid, path, text in _added(git, span):
            if path not in names and redact(path, allow=allow).findings:
                yield CiFinding("secrets", ERROR, "", 0, f"Commit {oid} has a file whose name has a likely secret.")
            names.add(path)
            new = [line.encode("utf-8", "surrogateescape") for line in text.split("\n")]
            added = "" if lines.issuperset(new) else without_digests(path, text)
            for finding in redact(added, allow=allow).findings:
                if new[text.count("\n", 0, finding.start)] not in lines:
                    why = f"Commit {oid} adds a likely secret, which stays in history: {finding.kind}."
                    yield CiFinding("secrets", ERROR, path, 0, why)
            lines.update(new)
    except OverflowError:
        yield CiFinding("size", ERROR, "", 0, "The commits change more than is checked at once: push them in parts.")


def _added(git: Git, span: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the lines that commits add, hunk by hunk, oldest commit first, each with the commit and the path.

    Raises:
        OverflowError: they have too many bytes, or it takes too long to list them.
        GitFailedError: git could not list them.
    """
    end, size, oid, path, mark = time.monotonic() + _HISTORY_SECONDS, 0, "", "", b""
    added: list[bytes] = []
    with git.unfiltered.spawn(*_HISTORY, *span, "--") as process:
        for line in chain(process.stdout, [b"\0"]):
            size += len(line)
            if size > MAX_HISTORY or time.monotonic() > end:
                process.kill()
                raise OverflowError
            if mark and line.startswith(mark):
                added.append(line.removeprefix(mark))
                continue
            text = b"".join(added)
            added.clear()
            for reading in _readings(text) if text else ():
                yield oid, path, reading.decode("utf-8", "surrogateescape")
            if line.startswith(b"\0"):
                oid, mark = line[1:].decode().strip(), b""
            elif line.startswith(b"diff "):
                mark = b""
            elif line.startswith(b"@@"):  # a hunk; of a merge its lines have a sign for each parent
                mark = b"+" * (line.index(b" ") - 1)
            elif line.startswith(b"+++ ") and not mark:
                path = line[4:].strip().decode("utf-8", "surrogateescape")
        _, stderr = process.communicate()
        if status := process.wait():
            raise failure(_HISTORY, status, stderr)


def sarif(findings: Sequence[CiFinding], version: str) -> dict[str, object]:
    """Return findings in SARIF 2.1.0 (docs.oasis-open.org/sarif), which forges show beside the lines of a diff."""
    rules = [{"id": name} for name in sorted({finding.check for finding in findings})]
    results: list[dict[str, object]] = []
    for finding in findings:
        uri = quote(finding.path or FORMAT, errors="surrogateescape")
        region = {"region": {"startLine": finding.line}} if finding.line else {}
        places = [{"physicalLocation": {"artifactLocation": {"uri": uri}, **region}}]
        result = {"message": {"text": finding.message}, "locations": places}
        results.append({"ruleId": finding.check, "level": finding.level, **result})
    driver = {"name": "gitmem", "version": version, "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"version": "2.1.0", "$schema": schema, "runs": [{"tool": {"driver": driver}, "results": results}]}
