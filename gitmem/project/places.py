"""Decide whether facts apply to the project's code: by branch and commit checked out, and the lines that they cite.

Each of a fact's `lines` is `<12 digits of a file's blob id>:<digests, joined by dots> <path>`: a digest is the CRC-32
of a cited line without the blanks around it; without digests the whole file is cited. Squash merges and rebases put
the same lines into other commits, so lines decide first, and commits only where no line does.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from gitmem.errors import GitmemError
from gitmem.git.filters import filters_off
from gitmem.git.objects import Info, Objects, tree_changes
from gitmem.git.repository import is_object_id, read_refs
from gitmem.model.fact import Fact
from gitmem.model.validity import FactPlace, Ground
from gitmem.platform.machine import time_limit
from gitmem.platform.safe_open import read_json, read_text, write_json
from gitmem.project.citations import checked_out, digest
from gitmem.project.code import COMMIT, LINE_BREAKS, SHORT, ProjectCode
from gitmem.values import Value

_ITEM = re.compile(r"(?P<blob>[0-9a-f]{12}):(?P<lines>(?:[0-9a-f]{8}(?:\.(?=[0-9a-f]))?)*) (?P<path>[^\n\r\0]+)")
_BAD_BRANCH = re.compile(r"\.\.|[\0-\x20\x7f~^:?*\[\\]|^[-/.]|/\.|//|/$|\.lock$|@\{")
_MAX_CONTENT = 1 << 20  # bytes of a file whose lines are compared; a larger one is compared by its id
SECONDS = 1.0  # for the questions about branches
_UNHURRIED = 0.1  # seconds; with less, an earlier answer for another commit is reused
_ASKED_ALWAYS: tuple[list[str], ...] = ([], [Ground.UNKNOWN.value])  # earlier grounds that are never reused
_GRACE = 0.3  # more seconds for the questions about lines; without an answer no fact is marked
_LONG_LINE = 8  # characters of a line that identifies its origin
_MAX_FILES = 100  # files of a branch that are cached
_MIN_SHARE = 0.8  # share of a branch's lines that must exist after a squash or a rebase with changes
_Answers = dict[str, list[str]]  # by fact its key, its ground and the changed files, as cached


def places_of(code: ProjectCode, facts: Sequence[Fact], cached: str, seconds: float = SECONDS) -> dict[str, FactPlace]:
    """Return, by fact id, the places of the facts that do not fully apply to what is checked out.

    `cached` is the file of earlier answers: commits do not change, so an answer for the same commits stays valid. If
    git needs longer than `seconds` to find whether a branch was merged, its facts keep their earlier ground; without
    one they count as learned on that branch.
    """
    branch, head = checked_out(code)
    if not head:
        return {}
    tips = _tips(code, {fact.branch for fact in facts} - {"", branch})
    answered: _Answers = {}
    branch_files: dict[str, list[str] | None] = {}
    with contextlib.suppress(ValueError, TypeError, KeyError, OSError):
        read = read_json(cached)
        answered, branch_files = dict(read["facts"]), dict(read.get("brought", {}))
    keys = {fact.id: f"{head} {_digest_of(fact):x} {tips.get(fact.branch, '')} {branch}" for fact in facts}
    due = [fact for fact in facts if answered.get(fact.id, ("",))[0] != keys[fact.id]]
    if due:
        with (
            contextlib.suppress(GitmemError, OSError, ValueError),
            Objects(code.git) as objects,
            time_limit(seconds + _GRACE, objects.kill),
        ):
            question = _Question(code, objects, branch, head, tips, answered, branch_files, keys, seconds)
            certain, likely = question.answer(due)
            answered.update(certain)
            if certain:
                write_json(cached, {"v": 1, "facts": answered, "brought": branch_files})
            answered.update(likely)
    by_id = {fact.id: fact for fact in facts}
    return {
        fact_id: FactPlace(Ground(ground), by_id[fact_id].branch, by_id[fact_id].commit, tuple(files))
        for fact_id, key in keys.items()
        if (answer := answered.get(fact_id)) and answer[0] == key
        for ground, *files in (answer[1:],)
        if ground != Ground.HERE
    }


def _digest_of(fact: Fact) -> int:
    text = "\0".join((fact.commit, fact.branch, *fact.lines, *fact.files))
    return zlib.crc32(text.encode("utf-8", "replace"))


def _tips(code: ProjectCode, branches: Iterable[str]) -> dict[str, str]:
    """Return the tip of each branch that exists, preferring a local one to those of remotes; read files, not git."""
    names = [name for name in branches if not _BAD_BRANCH.search(name)]
    if not names:
        return {}
    heads, remotes = ("refs/heads/", "refs/remotes/")
    folder = os.path.join(code.common_dir, *remotes.split("/"))
    try:
        prefixes = [heads, *(f"{remotes}{name}/" for name in sorted(os.listdir(folder)))]
    except OSError:
        prefixes = [heads]
    refs: dict[str, str] = {}
    if os.path.isdir(os.path.join(code.common_dir, "reftable")):
        refs = read_refs(code.git, heads, remotes)
    else:
        for line in read_text(os.path.join(code.common_dir, "packed-refs")).splitlines():
            oid, _, ref = line.partition(" ")
            refs[ref] = oid
    prefixes += dict.fromkeys(f"{remotes}{ref.split('/')[2]}/" for ref in refs if ref.startswith(remotes))
    by_branch: dict[str, str] = {}
    for name in names:
        for prefix in prefixes:
            ref = prefix + name
            tip = read_text(os.path.join(code.common_dir, *ref.split("/"))).strip() or refs.get(ref, "")
            if is_object_id(tip):
                by_branch.setdefault(name, tip)
    return by_branch


class _Question(Value):
    """Decides whether facts apply to what is checked out: one git process reads all objects, others examine merges.

    In a hurry an earlier answer for another commit is reused. `tips` are those of facts' other branches, local or as
    last fetched; `kept` are earlier answers; `branch_files` has the files of each then unmerged commit, None if they
    are many or unknown.
    """

    code: ProjectCode
    objects: Objects
    branch: str
    head: str
    tips: Mapping[str, str]
    kept: _Answers
    branch_files: dict[str, list[str] | None]
    keys: Mapping[str, str]
    seconds: float

    def answer(self, facts: Sequence[Fact]) -> tuple[_Answers, _Answers]:
        """Return certain answers, and likely ones for facts without time to check."""
        deadline = time.monotonic() + self.seconds
        is_hurried = self.seconds < _UNHURRIED
        certain = {} if is_hurried else self._still_valid(facts)
        uncertain = [fact for fact in facts if fact.id not in certain]
        read = _Read(self.objects, uncertain, self.head)
        likely: _Answers = {}
        unclear: dict[str, tuple[Fact, tuple[str, ...]]] = {}
        for fact in uncertain:
            changed = tuple(path for path in read.cited[fact.id] if not read.has_cited_lines(fact, path, self.head))
            if not changed and (fact.lines or fact.branch == self.branch):  # whatever its commit is
                certain[fact.id] = [self.keys[fact.id], Ground.HERE.value]
            elif is_hurried and self._earlier(fact)[:1] not in _ASKED_ALWAYS:
                likely[fact.id] = self._likely(fact, changed)
            else:
                unclear[fact.id] = fact, changed
        commits = read.commits([fact for fact, _ in unclear.values()])
        inside = _ancestors(self.code, {*commits.values()} - {""}, self.head, self.seconds + _GRACE)
        read.load_commits([fact for fact, changed in unclear.values() if changed and commits[fact.id] in inside])
        merged = cache(lambda target: self._merged(target, deadline))
        for fact, changed in unclear.values():
            oid = commits[fact.id]
            try:
                ground = self._ground(fact, changed, read, oid, is_ancestor=oid in inside, merged=merged)
                certain[fact.id] = [self.keys[fact.id], ground.value, *changed]
            except TimeoutError:
                likely[fact.id] = self._likely(fact, changed)
        return certain, likely

    def _ground(
        self,
        fact: Fact,
        changed: Sequence[str],
        read: _Read,
        oid: str,
        *,
        is_ancestor: bool,
        merged: Callable[[str], bool],
    ) -> Ground:
        """Return the ground of a fact whose lines do not all exist, by its branch and its commit `oid`.

        Lines missing in its commit were uncommitted when it was learned. `merged` returns whether other commits contain
        a commit's changes, or raises TimeoutError.
        """
        tip, stays = self.tips.get(fact.branch, ""), fact.branch == self.branch
        if stays and oid == self.head and not read.had_cited_lines(fact):
            return Ground.HERE
        if not oid:
            return Ground.UNKNOWN if fact.commit else Ground.HERE
        ended = is_ancestor and (read.had_cited_lines(fact) if changed else not tip)
        is_empty = changed and tip == oid and is_ancestor  # nothing was committed on its branch
        targets = filter(None, ("" if is_ancestor else oid, tip))
        if not fact.branch or stays or ended or (not is_empty and any(map(merged, targets))):
            return Ground.STALE if changed else Ground.HERE
        elsewhere = Ground.BRANCH if changed else Ground.LEARNED
        return elsewhere if tip else Ground.WAITS

    def _earlier(self, fact: Fact) -> list[str]:
        """Return the earlier answer for another checked-out commit, if the fact and its branch have not changed."""
        key, *answer = self.kept.get(fact.id, ("",))
        return answer if key.partition(" ")[2] == self.keys[fact.id].partition(" ")[2] else []

    def _likely(self, fact: Fact, changed: Sequence[str]) -> list[str]:
        ground = (self._earlier(fact) or [Ground.LEARNED])[0]
        here = Ground.STALE.value if changed else Ground.HERE.value
        return [self.keys[fact.id], here if ground in (Ground.HERE, Ground.STALE) else ground, *changed]

    def _still_valid(self, facts: Sequence[Fact]) -> _Answers:
        """Return cached answers for an ancestor of what is checked out that are valid for it, too.

        An ancestor stays one, and an unmerged branch stays unmerged as long as none of its files changed and no new
        commit is its own. Answers that depend on that very commit are computed again.
        """
        old: dict[str, list[Fact]] = {}
        for fact in facts:
            if self._earlier(fact):
                old.setdefault(self.kept[fact.id][0].partition(" ")[0], []).append(fact)
        before = max(old, key=lambda head: len(old[head]), default="")
        git, span = self.code.git, f"{before}...{self.head}"
        if not is_object_id(before):
            return {}
        try:
            moved = git.run("rev-list", "--left-right", span, "--", timeout=self.seconds).decode().split()
            changed = {change.path for change in tree_changes(git, before, self.head, timeout=self.seconds)}
        except GitmemError:  # that commit is gone, or git has no time
            return {}
        if any(line.startswith("<") for line in moved):  # it is no ancestor
            return {}
        new = {line[1 : 1 + SHORT] for line in moved}
        for folders in [path.split("/")[:-1] for path in changed]:
            changed |= {"/".join(folders[: depth + 1]) for depth in range(len(folders))}

        def is_valid(fact: Fact, ground: str) -> bool:
            cited = (*fact.files, *(item.partition(" ")[2] for item in fact.lines))
            if ground == Ground.UNKNOWN or not changed.isdisjoint(cited):
                return False
            if ground in (Ground.HERE, Ground.STALE):
                return not (fact.commit and before.startswith(fact.commit))
            own = {oid[:SHORT] for oid in (fact.commit, self.tips.get(fact.branch, "")) if oid}
            files = [self.branch_files.get(oid, []) for oid in own]
            return new.isdisjoint(own) and all(of_one is not None and changed.isdisjoint(of_one) for of_one in files)

        answers = ((fact, self.kept[fact.id][1:]) for fact in old[before])
        return {fact.id: [self.keys[fact.id], *was] for fact, was in answers if is_valid(fact, was[0])}

    def _merged(self, target: str, deadline: float) -> bool:
        """Return whether a commit was merged: by ancestry, by commits with the same patch, or by its lines.

        After a squash no commit has the same patch, but the lines that the branch added exist. For an unmerged commit,
        store its files in `branch_files`. Raises TimeoutError.
        """
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        git, span = self.code.git, f"{self.head}...{target}"
        self.branch_files[target[:SHORT]] = None
        with contextlib.suppress(GitmemError):
            marks = git.run("cherry", self.head, target, timeout=remaining).decode().split("\n")[:-1]
            if all(line.startswith("-") for line in marks):
                return True
            options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules")
            env = filters_off(git, self.code.common_dir)
            diff = git.run("diff", *options, "--raw", "-p", "-z", "--unified=0", span, "--", env=env, timeout=remaining)
            listed, _, lines = diff.partition(b"\0\0")  # a colon, modes, ids and a letter; a name; and so on
            if _has_added_lines(self.objects, self.head, lines.decode("utf-8", "replace")):
                return True
            names = listed.split(b"\0")[1::2]
            if len(names) <= _MAX_FILES:
                self.branch_files[target[:SHORT]] = [os.fsdecode(name) for name in names]
        return False


class _Read:
    """Reads what facts cite: `cited` has blob ids and digests by fact and path. Each object is read once."""

    def __init__(self, objects: Objects, facts: Sequence[Fact], head: str) -> None:
        self.cited = {fact.id: _cited(fact) for fact in facts}
        self._objects = objects
        self._infos: dict[str, Info | None] = {}
        self._digests: dict[str, frozenset[str]] = {}
        self._load([(f"{head}:{path}", items) for paths in self.cited.values() for path, items in paths.items()])

    def _load(self, wanted: Sequence[tuple[str, Sequence[tuple[str, frozenset[str]]]]]) -> None:
        names = list(dict.fromkeys(name for name, _ in wanted if name not in self._infos))
        self._infos.update(zip(names, self._objects.infos(names), strict=True))
        infos = ((self._infos[name], items) for name, items in wanted)
        oids = list(dict.fromkeys(info.oid for info, items in infos if info and _is_read(info, items)))
        oids = [oid for oid in oids if oid not in self._digests]
        self._digests.update(zip(oids, map(_digests, self._objects.contents(oids)), strict=True))

    def commits(self, facts: Sequence[Fact]) -> dict[str, str]:
        """Return the full ids of facts' commits by fact, "" for a missing commit."""
        names = [f"{fact.commit}^{{commit}}" if COMMIT.fullmatch(fact.commit) else "" for fact in facts]
        self._load([(name, ()) for name in names if name])
        infos = (self._infos.get(name) for name in names)
        return {fact.id: info.oid if info else "" for fact, info in zip(facts, infos, strict=True)}

    def load_commits(self, facts: Iterable[Fact]) -> None:
        """Read the versions in facts' commits of what they cite, all at once."""
        cited = ((fact, self.cited[fact.id]) for fact in facts)
        self._load([(f"{fact.commit}:{path}", items) for fact, paths in cited for path, items in paths.items()])

    def had_cited_lines(self, fact: Fact) -> bool:
        """Return whether a fact's commit has all lines that it cites."""
        self.load_commits([fact])
        return all(self.has_cited_lines(fact, path, fact.commit) for path in self.cited[fact.id])

    def has_cited_lines(self, fact: Fact, path: str, commit: str) -> bool:
        """Return whether a commit has what a fact cites of a file, in any of several machines' versions."""
        info, items = self._infos[f"{commit}:{path}"], self.cited[fact.id][path]
        oid = info.oid if info else ""
        digests_of_file = self._digests.get(oid, frozenset())
        if any(oid.startswith(blob) or (digests and digests <= digests_of_file) for blob, digests in items):
            return True
        if any(digests for _, digests in items):
            return False
        then = None
        if COMMIT.fullmatch(fact.commit):
            self._load([(f"{fact.commit}:{path}", ())])
            then = self._infos[f"{fact.commit}:{path}"]
        return oid == then.oid if then else not items


def _cited(fact: Fact) -> dict[str, list[tuple[str, frozenset[str]]]]:
    by_file: dict[str, list[tuple[str, frozenset[str]]]] = {
        path: [] for path in fact.files if not LINE_BREAKS.search(path)
    }
    for item in filter(None, map(_ITEM.fullmatch, fact.lines)):
        digests = frozenset(filter(None, item["lines"].split(".")))
        by_file.setdefault(item["path"], []).append((item["blob"], digests))
    return by_file


def _is_read(info: Info, items: Iterable[tuple[str, frozenset[str]]]) -> bool:
    """Return whether an object's lines must be read: its id differs from the cited one, and it is no large file."""
    differs = any(digests and not info.oid.startswith(blob) for blob, digests in items)
    return differs and info.kind == "blob" and info.size <= _MAX_CONTENT


def _digests(data: bytes | None) -> frozenset[str]:
    return frozenset(map(digest, (data or b"").decode("utf-8", "replace").split("\n")))


def _ancestors(code: ProjectCode, commits: set[str], head: str, seconds: float) -> set[str]:
    """Return the commits that are `head` or its ancestors."""
    candidates = commits - {head}
    if not candidates:
        return commits
    lines = "".join(f"{oid}\n" for oid in sorted(candidates)) + f"^{head}\n"
    listed = code.git.run("rev-list", "--stdin", stdin=lines.encode(), timeout=seconds)
    return commits - set(listed.decode().split())


def _has_added_lines(objects: Objects, head: str, diff: str) -> bool:
    added: dict[str, set[str]] = {}
    lines: set[str] = set()
    for line in diff.split("\n"):
        if line.startswith("+++ "):
            lines = added.setdefault(line[6:].rstrip("\t"), set()) if line.startswith("+++ b/") else set()
        elif line.startswith("+") and len(line.strip()) > _LONG_LINE:
            lines.add(digest(line[1:]))
    names = [f"{head}:{path}" for path, added_lines in added.items() if added_lines and "\r" not in path]
    infos = objects.infos(names)
    names = [name for name, info in zip(names, infos, strict=True) if info and info.size <= _MAX_CONTENT]
    digests = {
        name.partition(":")[2]: _digests(data) for name, data in zip(names, objects.contents(names), strict=True)
    }
    total = sum(map(len, added.values()))
    found = sum(len(added_lines & digests.get(path, frozenset())) for path, added_lines in added.items())
    return bool(total) and found >= _MIN_SHARE * total
