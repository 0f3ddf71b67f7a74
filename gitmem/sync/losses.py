"""Refuse a merge that would remove much of this memory, unless the user's own commands removed it.

Losses are counted in bytes of text, in a small memory in lines. A line is lost if no file of the new tree has it:
renamed, rotated or joined files lose nothing. Allowed losses are entries that a weekly or monthly summary replaces,
archives that the local retention settings would delete, and what the user's own machines removed: by commands, known
from the commits' trailers, or by hand, except files that lost most of their text. An author's name can be forged
(docs/security.md): then the removed text is still in history. Tested through `tests/sync/test_guard.py`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, SUMMARIES, is_memory
from gitmem.document.message import Op, Trailer
from gitmem.errors import RefusedError
from gitmem.git.address import Remote
from gitmem.git.log import log
from gitmem.git.objects import Tree, read_tree
from gitmem.git.rewrite import commit_changes
from gitmem.model.consolidation import replaced_lines, retold_lines
from gitmem.model.rotation import outdated_archives
from gitmem.platform.safe_open import read_json, write_json
from gitmem.purge.records import applied_paths
from gitmem.store.store import Store
from gitmem.sync.guard import Accept
from gitmem.text.sentences import count
from gitmem.values import Value

_SHARE, _SHARE_OF_FOLDER = 1 / 3, 1 / 2  # of the text; a greater loss is refused
_FEW_LINES = 2  # lines that may always be lost
_FEW_FILES = 4  # in a top folder; losses of larger folders are also judged alone
_LITTLE, _LITTLE_SHARE = 512, 1 / 30  # bytes, or share of all text; every sync replaces the state of the work
_SMALL = 4_096  # bytes of a memory up to which its lines are counted: a few facts are most of its text
_FILE = "losses.json"  # in the private folder
_DAYS, _MOST_NOTED = 30, 1_000
_NAMED = 3  # files that a message names
_MOST_COMMITS = 2_000
_NO_REMOVAL = {
    *(None, Op.MERGE.value, Op.SIGN.value, Op.TRANSCRIPT.value),
    *(Op.CONSOLIDATE.value, Op.ROTATE.value, Op.SUMMARIZE.value),  # they move text: other losses are not theirs
}
_COUNTS = "counts"  # folder with numbers: how often memories were shown
_TIERS = ("daily/", "weekly/", "monthly/")
# Compare entries without time and id, which differ between logs, memory.md and archives.
_ENTRY = re.compile(r"^- \[[0-9: -]{8,19}\] (.*?)(?: \^[0-9a-z]{11,20})?$")
_GONE = re.compile(r"^status: *[\"']?(?:retired|superseded|resolved)", re.MULTILINE)

Lines = list[str]
Texts = dict[str, Lines]  # by path
Cut = Mapping[str, int]  # bytes by which files got smaller: in total ("") and per top folder


def _noted_losses(store: Store) -> list[tuple[str, dict[str, int]]]:
    """Return time and bytes of each loss by a sync in the last 30 days."""
    since = store.context.clock() - timedelta(days=_DAYS)
    try:
        noted = read_json(os.path.join(store.private, _FILE)) or []
        recent = [(str(at), cut) for at, cut in noted if datetime.fromisoformat(at) >= since]
        return [(at, {str(place): int(size) for place, size in cut.items()}) for at, cut in recent]
    except (ValueError, TypeError, AttributeError):
        return []


def note_losses(store: Store, cut: Cut, *, accepted: bool) -> None:
    """Record the losses by a sync; if the user accepted them, earlier ones no longer count."""
    if cut or accepted:
        noted = [] if accepted else _noted_losses(store)[-_MOST_NOTED:]
        new = [(store.context.clock().isoformat(), dict(cut))] if cut else []
        write_json(os.path.join(store.private, _FILE), [*noted, *new])


def check_losses(store: Store, remote: Remote, local: str, target: str, accept: Collection[Accept]) -> Cut:
    """Refuse a merge that would remove much of this memory, unless the user's own machines removed it.

    Losses of the last 30 days add up. Return the losses of this merge, to be recorded once it is done. Raises
    RefusedError.
    """
    if local == target or Accept.DELETIONS in accept:
        return {}
    remedy = f"'git log {target[:10]}' shows who did it. To accept: {remote.to_accept('deletions')}."
    with store.repository.reading():
        changes = [change for change in store.repository.changes(local, target) if change.old is not None]
        applied = applied_paths(store)
        if record := next((change.path for change in changes if change.path in applied), ""):
            problem = f"remove or change the record of a purge, {record}. Nothing was merged."
            raise RefusedError(f"{remote.called} has commits that {problem}", remedy)
        changes = [change for change in changes if is_memory(change.path)]
        old = _texts(store, {change.path: change.old or "" for change in changes})
        new = _texts(store, {change.path: change.new for change in changes if change.new is not None})
        cut, much = _loss(store, (local, target), old, new)
    if much:
        problem = f"would remove much of this memory{much}. Nothing was merged."
        raise RefusedError(f"{remote.called} has commits that {problem}", remedy)
    return cut


def _loss(store: Store, commits: tuple[str, str], old: Texts, new: Texts) -> tuple[Cut, str]:
    """Return the losses from `old` to `new` files, to be recorded, and a description if they are large, else ""."""
    noted = [cut for _, cut in _noted_losses(store)]
    earlier = sum(map(Counter, noted), Counter[str]())
    standing = set[str]().union(*new.values())
    if any(_gone(lines, standing, ()) for lines in old.values()):
        standing |= _removed_by_user(store, *commits)
    gone = {path: _gone(lines, standing, ()) for path, lines in old.items()}
    cut = _cut(gone, old, new)
    total = cut[""] + earlier[""]
    is_small = not _emptied(gone, old) and sum(map(_size, gone.values())) <= _LITTLE
    if is_small and total > _LITTLE:
        is_small = total <= _LITTLE_SHARE * sum(file.size for file in store.repository.files(commits[0]))
    if is_small:  # known from the changed files alone
        return cut, ""
    here, there = (_memory(read_tree(store.repository.git, commit)) for commit in commits)
    before = {**_texts(store, {path: oid for path, oid in here.items() if path not in old}), **old}
    added = _texts(store, {path: oid for path, oid in there.items() if path not in here})
    standing = standing.union(*added.values(), *(before[path] for path in here.keys() - old.keys()))
    allowed = _allowed(store, old, here, there)
    gone = {path: _gone(lines, standing, allowed.get(path, set())) for path, lines in old.items()}
    cut = _cut(gone, old, new)
    sums = _sums(gone, before, cut, earlier)
    much = next((place for place, share in sums if share.is_much), None)
    adds_up = next((place for place, share in sums if share.adds_up), None)
    if not _words(standing) and any(map(_words, gone.values())):
        much = ""
    if much is None and adds_up is None:
        return cut, ""
    share = dict(sums)[much or adds_up or ""]
    of = f"{much or adds_up}/" if much or adds_up else "its text"
    words = f": {share.percent} % of {of}"
    if much is None:
        syncs = count(len(noted), "sync")
        words = f", with what {syncs} of the last 30 days removed: together {share.percent_together} % of {of}"
    emptied = _emptied(gone, old)
    names = ", ".join(emptied[:_NAMED]) + (", …" if len(emptied) > _NAMED else "")
    return cut, f"{words}; {len(emptied)} of {len(here)} files lose most of theirs{f' ({names})' if names else ''}"


class _Share(Value):
    """The share of a folder's text, or of all, that a merge removes, alone and with earlier losses."""

    is_much: bool
    adds_up: bool
    percent: int
    percent_together: int


def _sums(gone: Texts, before: Texts, cut: Cut, earlier: Cut) -> list[tuple[str, _Share]]:
    """Return the losses of all text ("") and of each folder with a few files; `before` are all lines by path."""
    folders = Counter(path.partition("/")[0] for path in before)
    weigh = len if sum(map(_size, before.values())) <= _SMALL else _size
    some = sum(map(len, gone.values())) > _FEW_LINES
    sums = []
    for place in ("", *(name for name, files in folders.items() if files >= _FEW_FILES and name != _COUNTS)):
        paths = [path for path in before if not place or path.startswith(f"{place}/")]
        weight, lost = (sum(weigh(texts.get(path, [])) for path in paths) for texts in (before, gone))
        size, limit = sum(_size(before[path]) for path in paths), _SHARE_OF_FOLDER if place else _SHARE
        removed, past = cut.get(place, 0), earlier.get(place, 0)
        together = (removed + past) / max(size + past, 1)
        share = _Share(
            some and lost > limit * weight,
            removed > 0 and together > limit,
            round(100 * lost / max(weight, 1)),
            round(100 * together),
        )
        sums.append((place, share))
    return sums


def _removed_by_user(store: Store, local: str, target: str) -> set[str]:
    """Return the lines that the user's own machines removed, in the commits up to `target` that `local` lacks.

    A removal counts as by hand if less than half of a file is gone: only a program empties a file.
    """
    git = store.repository.git
    commits = log(git, f"{local}..{target}", merges=False, limit=_MOST_COMMITS)
    own = {commit.oid: commit for commit in commits if store.is_user(commit.author, commit.email, gitmem=False)}
    own = {oid: commit for oid, commit in own.items() if commit.value(Trailer.OP) not in _NO_REMOVAL and commit.parents}
    if not own:
        return set()
    removed = set[str]()
    for oid, changes in commit_changes(git, [(oid, *commit.parents) for oid, commit in own.items()]).items():
        named = [(os.fsdecode(change.path), change) for change in changes if change.old]
        named = [(path, change) for path, change in named if is_memory(path)]
        old = _texts(store, {path: change.old for path, change in named})
        new = _texts(store, {path: change.new for path, change in named if change.new})
        standing = set[str]().union(*new.values())
        gone = {path: _gone(lines, standing, ()) for path, lines in old.items()}
        emptied = _emptied(gone, old) if own[oid].value(Trailer.OP) == Op.EDIT else ()
        removed.update(line for path, lines in gone.items() if path not in emptied for line in lines)
    return removed


def _emptied(gone: Texts, old: Texts) -> list[str]:
    """Return the files that lose most of their text, without counts, which change with each session."""
    most = (path for path, lines in gone.items() if _size(lines) * 2 > _size(old[path]))
    return sorted(path for path in most if not path.startswith(f"{_COUNTS}/"))


def _cut(gone: Texts, old: Texts, new: Texts) -> Counter[str]:
    """Return the bytes by which files got smaller; a rewritten file with as much new text lost nothing."""
    cut = Counter[str]()
    for path, lines in gone.items():
        less = min(_size(lines), _size(old[path]) - _size(new.get(path, ())))
        cut.update(dict.fromkeys({"", path.partition("/")[0]}, max(less, 0)))
    return +cut


def _words(lines: Iterable[str]) -> bool:
    """Return whether some of the lines are not headings."""
    return any(not line.startswith("#") for line in lines)


def _gone(lines: Lines, standing: Collection[str], allowed: Collection[str]) -> Lines:
    """Return the lost lines of a file; if all but headings are allowed, only these headings."""
    gone = [line for line in lines if line not in standing]
    left = [line for line in gone if line not in allowed]
    return gone if any(not line.startswith("#") for line in left) else left


def _memory(tree: Tree) -> dict[str, str]:
    """Return the blob ids of the files of the memory itself, by path."""
    return {path: oid for path, (mode, oid) in tree.items() if mode.startswith("100") and is_memory(path)}


def _allowed(store: Store, old: Texts, here: Mapping[str, str], there: Mapping[str, str]) -> dict[str, set[str]]:
    """Return by path the lines that may be lost: replaced by summaries, or deleted by retention."""
    tiers = [path for path in here if path in old and path.startswith(_TIERS)]
    summaries = [path for path in there if tiers and path.startswith(_TIERS[1:])]
    after = dict(zip(summaries, store.repository.blobs([there[path] for path in summaries]), strict=True))
    now = store.context.clock()
    allowed: dict[str, set[str]] = {}
    for path, data in zip(tiers, store.repository.blobs([here[path] for path in tiers]), strict=True):
        text = retold_lines(data, there.keys())
        if path not in there:
            text += "\n" + replaced_lines(path, data, after, now.date())
        allowed[path] = {*_lines(text)}
    archives = [path.partition("/")[2] for path in here.keys() | there.keys() if path.startswith(f"{ARCHIVE}/")]
    outdated = (f"{ARCHIVE}/{name}" for name in outdated_archives(archives, store.config.rotation, now))
    return allowed | {path: {*old[path]} for path in outdated if path in old and path not in there}


def _texts(store: Store, files: Mapping[str, str]) -> Texts:
    """Return the lines of files, given by path and blob id."""
    return {
        path: _counted_lines(path, data)
        for path, data in zip(files, store.repository.blobs([*files.values()]), strict=True)
    }


def _counted_lines(path: str, data: bytes) -> Lines:
    """Return the lines of a file that count: a document's body, none of an obsolete fact."""
    if not path.endswith(".md"):
        return _lines(data.decode("utf-8", "replace"))
    document = Document.parse(data)
    if path.startswith("facts/") and _GONE.search(document.header or ""):
        return []
    return _lines(document.body + ((document.header or "") if path.startswith(f"{SUMMARIES}/") else ""))


def _lines(text: str) -> Lines:
    stripped = (line.strip() for line in text.split("\n"))
    return [_ENTRY.sub(r"\1", line) for line in stripped if line]


def _size(lines: Iterable[str]) -> int:
    return sum(map(len, lines))
