"""Refuse unsafe or surprising states of a remote before a merge (docs/security.md, "Trust").

How much a merge would lose is counted in text, whatever operations its commits claim. A line is lost if no file of the
new tree has it; renamed, rotated or joined files lose nothing. Allowed losses are entries that a weekly or monthly
summary replaces, and archives that the retention settings here would delete.

Where memory is signed (docs/sync.md, "Signed memory"), commits that no trusted key signed are refused, and those that
leave this machine are signed. A signature covers all the history of its commit. Tested also through
`tests/store/test_signed.py`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from gitmem.archives.consolidation import replaced_lines, retold_lines
from gitmem.archives.plans import outdated_archives
from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, FORMAT, SUMMARIES, is_memory
from gitmem.document.message import Op, one_line, op_message
from gitmem.errors import RefusedError
from gitmem.git import MEMORY_BRANCH, RefMoves, move_ref, move_refs, read_refs
from gitmem.git.address import Remote
from gitmem.git.objects import Tree, read_tree
from gitmem.git.setup import make_root
from gitmem.git.trust import IdentityLookup, Signatures
from gitmem.platform.safe_open import read_json, write_json
from gitmem.purge.records import followed_paths
from gitmem.store.maintenance import new_pending_ref
from gitmem.store.merge_commits import merge_bases
from gitmem.store.store import Store
from gitmem.sync import remotes
from gitmem.sync.remotes import FETCHED, REFS, check_arrivals, reserved_folders

_SHARE, _SHARE_OF_FOLDER = 1 / 3, 1 / 2  # of the text; a greater loss is much
_FEW_LINES = 2  # lines that may always go
_FEW_FILES = 4  # in a top folder; the losses of one with more are also judged alone
_LITTLE, _LITTLE_SHARE = 512, 1 / 30  # bytes, or share of all text; every sync replaces the state of the work
_FILE = "losses.json"  # in the private folder
_DAYS, _MOST_NOTED = 30, 1_000
_COUNTS = "counts"  # folder with numbers: how often memories were told
_TIERS = ("daily/", "weekly/", "monthly/")
# Compare entries without time and id, which differ between logs, memory.md and archives.
_ENTRY = re.compile(r"^- \[[0-9: -]{8,19}\] (.*?)(?: \^[0-9a-z]{11,20})?$")
_GONE = re.compile(r"^status: *[\"']?(?:retired|superseded|resolved)", re.MULTILINE)

Lines = list[str]
Texts = dict[str, Lines]  # by path
Cut = Mapping[str, int]  # the bytes by which files got smaller, of all text (""), and of each top folder


def _noted_losses(store: Store) -> list[tuple[str, dict[str, int]]]:
    """Return the losses by syncs of the last 30 days: when, and how many bytes."""
    since = store.context.clock() - timedelta(days=_DAYS)
    try:
        noted = read_json(os.path.join(store.private, _FILE)) or []
        recent = [(str(at), cut) for at, cut in noted if datetime.fromisoformat(at) >= since]
        return [(at, {str(place): int(size) for place, size in cut.items()}) for at, cut in recent]
    except (ValueError, TypeError, AttributeError):
        return []


def note_losses(store: Store, cut: Cut, *, accepted: bool) -> None:
    """Note the losses by a sync; after the person accepted some, earlier ones no longer count."""
    if cut or accepted:
        noted = [] if accepted else _noted_losses(store)[-_MOST_NOTED:]
        new = [(store.context.clock().isoformat(), dict(cut))] if cut else []
        write_json(os.path.join(store.private, _FILE), [*noted, *new])


def check_losses(store: Store, remote: Remote, local: str, target: str, accept: Collection[Accept]) -> Cut:
    """Refuse a merge that would remove much of this memory, whatever operations its commits claim.

    Losses of the last 30 days add up. Return the losses of this merge, to be noted once it is done. Raises
    RefusedError.
    """
    if local == target or Accept.DELETIONS in accept:
        return {}
    remedy = f"'git log {target[:10]}' shows who did it. To accept: {remote.to_accept('deletions')}."
    with store.repository.reading():
        changes = [change for change in store.repository.changes(local, target) if change.old is not None]
        followed = followed_paths(store)
        if record := next((change.path for change in changes if change.path in followed), ""):
            said = f"remove or change the record of a purge, {record}. Nothing was merged."
            raise RefusedError(f"{remote.called} has commits that {said}", remedy)
        changes = [change for change in changes if is_memory(change.path)]
        old = _texts(store, {change.path: change.old or "" for change in changes})
        new = _texts(store, {change.path: change.new for change in changes if change.new is not None})
        cut, much = _loss(store, (local, target), old, new)
    if much:
        said = f"would remove much of this memory{much}. Nothing was merged."
        raise RefusedError(f"{remote.called} has commits that {said}", remedy)
    return cut


def _loss(store: Store, commits: tuple[str, str], old: Texts, new: Texts) -> tuple[Cut, str]:
    """Return the losses by the changes from `old` to `new` files, to be noted, and words for them if they are large."""
    noted = [cut for _, cut in _noted_losses(store)]
    earlier = sum(map(Counter, noted), Counter[str]())
    standing = set[str]().union(*new.values())
    gone = {path: _gone(lines, standing, ()) for path, lines in old.items()}
    cut = _cut(gone, old, new)
    total = cut[""] + earlier[""]
    is_small = not _emptied(gone, old) and sum(map(_size, gone.values())) <= _LITTLE
    if is_small and total > _LITTLE:
        is_small = total <= _LITTLE_SHARE * sum(file.size for file in store.repository.files(commits[0]))
    if is_small:  # the changed files alone show it
        return cut, ""
    here, there = (_memory(read_tree(store.repository.git, commit)) for commit in commits)
    before = {**_texts(store, {path: oid for path, oid in here.items() if path not in old}), **old}
    added = _texts(store, {path: oid for path, oid in there.items() if path not in here})
    standing = standing.union(*added.values(), *(before[path] for path in here.keys() - old.keys()))
    allowed = _allowed(store, old, here, there)
    gone = {path: _gone(lines, standing, allowed.get(path, set())) for path, lines in old.items()}
    cut = _cut(gone, old, new)
    is_much, adds_up, percent = any(map(_words, gone.values())) and not _words(standing), False, 0
    folders = Counter(path.partition("/")[0] for path in here)
    for place in ("", *(name for name, files in folders.items() if files >= _FEW_FILES and name != _COUNTS)):
        paths = [path for path in here if not place or path.startswith(f"{place}/")]
        size, lost = (sum(_size(texts.get(path, ())) for path in paths) for texts in (before, gone))
        limit, past = _SHARE_OF_FOLDER if place else _SHARE, earlier[place]
        is_much |= sum(map(len, gone.values())) > _FEW_LINES and lost > limit * size
        adds_up |= cut[place] > 0 and cut[place] + past > limit * (size + past)
        percent = percent if place else round(100 * lost / max(size, 1))
    if not is_much and not adds_up:
        return cut, ""
    emptied = _emptied(gone, old)
    together = "" if is_much else f", with what {len(noted)} syncs of the last 30 days removed"
    names = ", ".join(emptied[:_NAMED]) + (", …" if len(emptied) > _NAMED else "")
    files = f"{len(emptied)} of {len(here)} files lose most of theirs{f' ({names})' if names else ''}"
    return cut, f"{together}: {percent} % of its text; {files}"


def _emptied(gone: Texts, old: Texts) -> list[str]:
    """Return the files that lose most of their text; what is counted changes with each session."""
    most = (path for path, lines in gone.items() if _size(lines) * 2 > _size(old[path]))
    return sorted(path for path in most if not path.startswith(f"{_COUNTS}/"))


def _cut(gone: Texts, old: Texts, new: Texts) -> Counter[str]:
    """Return the bytes by which files got smaller; a rewritten file, with as much new text, lost nothing."""
    cut = Counter[str]()
    for path, lines in gone.items():
        less = min(_size(lines), _size(old[path]) - _size(new.get(path, ())))
        cut.update(dict.fromkeys({"", path.partition("/")[0]}, max(less, 0)))
    return +cut


def _words(lines: Iterable[str]) -> bool:
    """Return whether some of the lines are no headings."""
    return any(not line.startswith("#") for line in lines)


def _gone(lines: Lines, standing: Collection[str], allowed: Collection[str]) -> Lines:
    """Return the lost lines of a file, but none of the allowed ones if apart from headings no other is lost."""
    gone = [line for line in lines if line not in standing]
    left = [line for line in gone if line not in allowed]
    return gone if any(not line.startswith("#") for line in left) else left


def _memory(tree: Tree) -> dict[str, str]:
    """Return the blob ids of the files of the memory itself, by path."""
    return {path: oid for path, (mode, oid) in tree.items() if mode.startswith("100") and is_memory(path)}


def _allowed(store: Store, old: Texts, here: Mapping[str, str], there: Mapping[str, str]) -> dict[str, set[str]]:
    """Return, by path, the lines that may go: replaced by summaries, or deleted by retention."""
    tiers = [path for path in here if path in old and path.startswith(_TIERS)]
    summaries = [path for path in there if tiers and path.startswith(_TIERS[1:])]
    after = dict(zip(summaries, store.repository.blobs([there[path] for path in summaries]), strict=True))
    today = store.context.clock().date()
    allowed: dict[str, set[str]] = {}
    for path, data in zip(tiers, store.repository.blobs([here[path] for path in tiers]), strict=True):
        text = retold_lines(data, there.keys())
        if path not in there:
            text += "\n" + replaced_lines(path, data, after, today)
        allowed[path] = {*_lines(text)}
    rotation = store.config.rotation
    days = rotation.archive_retention_days
    oldest = store.context.clock().replace(tzinfo=None) - timedelta(days=days) if days else None
    archives = [path.partition("/")[2] for path in here.keys() | there.keys() if path.startswith(f"{ARCHIVE}/")]
    outdated = (f"{ARCHIVE}/{name}" for name in outdated_archives(archives, rotation.max_archives, oldest))
    return allowed | {path: {*old[path]} for path in outdated if path in old and path not in there}


def _texts(store: Store, files: Mapping[str, str]) -> Texts:
    """Return the lines of files, given by path and blob id."""
    return {
        path: _counted_lines(path, data)
        for path, data in zip(files, store.repository.blobs([*files.values()]), strict=True)
    }


def _counted_lines(path: str, data: bytes) -> Lines:
    """Return the lines of a file that count: of a document its body, of an obsolete fact none."""
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


BACKUPS = "refs/gitmem/backup"
_NAMED = 3  # files, or commits, that a message names
SIGNED = "signed"  # of `remote.trust`
NOTHING = "Nothing was merged or pushed."


class Accept(StrEnum):
    """Unusual states that a sync refuses unless the person accepts them."""

    DELETIONS = "deletions"  # the merge would remove much of this memory
    REWRITTEN = "rewritten"  # the remote lost commits that it had
    PURGE = "purge"  # a purge of another machine exceeds the limits
    OTHER_PROJECT = "other-project"  # the histories share no commit of one project


def check_rewritten(
    store: Store,
    remote: Remote,
    seen: str | None,
    theirs: str | None,
    accept: Collection[Accept],
    *,
    purges: Sequence[str] = (),
) -> None:
    """Refuse a remote that lost commits since the last sync, and back these up under `refs/gitmem/backup/`.

    If accepted, the sync merges and pushes the lost commits again. `purges` are paths of records of purges that this
    machine does not follow: if the remote followed one, a merge would bring the purged text back.

    Raises RefusedError if the memory branch was deleted, or its history was rewritten.
    """
    if seen in {None, theirs} or (theirs is not None and store.repository.is_ancestor(seen, theirs)):
        return
    move_ref(store.repository.git, f"{BACKUPS}/{remote.name}/{seen[:12]}", seen, None, "gitmem sync")
    if Accept.REWRITTEN in accept:
        return
    if purges and theirs is not None:
        one = f"gitmem review {purges[0]}"
        many = f" ('gitmem review' lists {len(purges)})" if len(purges) > 1 else ""
        raise RefusedError(
            f"{remote.name} was rewritten, perhaps by a purge that is not followed here{many}: '{one}' shows it. "
            f"{NOTHING}",
            f"To take out here, too, what it took out: '{one} --take theirs', then 'gitmem sync'. To push the lost "
            "commits again: 'gitmem sync --accept rewritten'.",
        )
    if theirs is None:
        change = "holds no memory any more; it had"
    elif store.repository.is_ancestor(theirs, seen):
        change = f"serves an old state, as a backup that was put back: it has {theirs[:10]}, without its successor"
    else:
        change = f"was rewritten: it has {theirs[:10]}, without"
    raise RefusedError(
        f"{remote.name} {change} {seen[:10]}, which it had when last synced. Nothing was merged or pushed.",
        "To push the lost commits again: 'gitmem sync --accept rewritten'. To adopt the remote's state: "
        "'gitmem clone' it into a new store.",
    )


def check_incoming(
    store: Store, remote: Remote, local: str, theirs: str, accept: Collection[Accept], *, shared: bool
) -> None:
    """Refuse the changes from commit `local` to `theirs` unless they are safe; `shared` is whether histories meet.

    Raises:
        StoreFormatError: the remote has a newer format.
        RefusedError: a file is unsafe or too large, or the branch is no memory or unrelated to this one.
    """
    reserved = reserved_folders(store.root, store.context.home)
    check_arrivals(store.repository, remote.called, local, theirs, reserved=reserved)
    if not shared:
        _check_unknown(store, remote, theirs, accept)


def check_project(store: Store, remote: Remote, local: str, theirs: str | None, accept: Collection[Accept]) -> None:
    """Refuse the memory of another project. All memories share their first commit; the second is the project's own.

    Raises RefusedError if the histories share nothing else.
    """
    if theirs is None:
        return
    root = make_root(store.repository.git)
    if root not in {local, theirs} and not {*merge_bases(store.repository.git, local, theirs)} - {root}:
        _check_unknown(store, remote, theirs, accept)


def _check_unknown(store: Store, remote: Remote, theirs: str, accept: Collection[Accept]) -> None:
    if store.repository.read(theirs, FORMAT) is None:
        raise RefusedError(f"The branch 'gitmem' of {remote.called} is not a memory.", "Use another one.")
    if Accept.OTHER_PROJECT in accept:
        return
    wrong = "" if remote.backup or remote.new else f"If the address is wrong: 'gitmem remote remove {remote.name}'. "
    raise RefusedError(
        f"The memory at {remote.described} seems to be another project's: this one shares no history with it. "
        f"{NOTHING}",
        f"{wrong}To make one memory of the two for good: {remote.to_accept(Accept.OTHER_PROJECT)}.",
    )


def check_extent(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse a fetched commit with too many files in its history beyond `known`, and delete its refs.

    Raises RefusedError if a commit has too many files, or the object is not a commit.
    """
    if commit is None or commit in known:
        return
    try:
        remotes.check_extent(store.repository, remote.called, commit, {*filter(None, known)})
    except RefusedError:
        git = store.repository.git
        for ref, oid in read_refs(git, f"{FETCHED}/{remote.name}/").items():
            if oid == commit:
                move_ref(git, ref, None, oid)
        raise


def check_signed(
    store: Store, remote: Remote, commit: str | None, known: Collection[str | None], here: str | None = None
) -> None:
    """Refuse a fetched commit beyond `known` that is not signed, where `remote.trust` is `signed`.

    A signature in the history of `here`, the branch of this machine, counts as well.

    Raises RefusedError if no good signature of a trusted key covers it.
    """
    if store.config.remote.trust == SIGNED and commit is not None:
        refuse_unsigned(_signatures(store), (f"{remote.called} has", NOTHING), commit, known, here)


def check_pulled(store: Store, remote: Remote, here: str) -> None:
    """Refuse unsigned commits that a plain `git pull` brought from a remote, as `check_signed` does in a sync."""
    if store.config.remote.trust == SIGNED and store.own_repository:
        repository = store.repository
        pulled = repository.tip(f"refs/remotes/{remote.name}/{MEMORY_BRANCH}")
        seen = repository.tip(f"{REFS}/{remote.name}/{MEMORY_BRANCH}")
        if pulled and repository.is_ancestor(pulled, here):
            words = f"git pulled from {remote.called}", "They are told here, and a sync sends nothing."
            refuse_unsigned(_signatures(store), words, pulled, {seen}, here)


def refuse_unsigned(
    signatures: Signatures, words: tuple[str, str], commit: str, known: Collection[str | None], here: str | None = None
) -> None:
    """Refuse a commit that is neither known nor covered by a signature; the message begins and ends with `words`."""
    if commit in known:
        return
    refused = signatures.unsigned(commit, filter(None, known), here)
    if not refused:
        return
    named = "; ".join(
        f"{one.oid[:10]} of {one_line(one.author, 60)}: {one_line(one.subject, 60)}" for one in refused[:_NAMED]
    )
    many = f", and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
    raise RefusedError(
        f"{words[0]} commits that no trusted key signed: {named}{many}. {words[1]}",
        "Their authors can set remote.trust to signed and sync; 'git config --global gpg.ssh.allowedSignersFile' names "
        "the file of the keys you trust. Of those that are in the memory here already, your signature says that you "
        "looked: 'git commit --allow-empty --gpg-sign' there.",
    )


def signed(store: Store, target: str) -> tuple[str, RefMoves]:
    """Return the commit to send: if the person wants signed ones, a signed commit on top of an unsigned one.

    Also return the updates that remove the ref which holds it.

    Raises GitmemError if git could not sign.
    """
    signatures = _signatures(store)
    if store.config.remote.trust != SIGNED or signatures.signers([target]):
        return target, {}
    layout = store.repository.layout
    author = IdentityLookup(layout.git_dir, layout.work_tree, store.context.environ).result()
    date = f"@{int(store.context.clock().timestamp())} +0000"
    message = op_message(Op.SIGN, "Sign the memory").render()
    commit = signatures.sign(target, message, author, date)
    held = new_pending_ref(store)
    move_refs(store.repository.git, {held: (None, commit)})
    return commit, {held: (commit, None)}


def _signatures(store: Store) -> Signatures:
    return Signatures(store.repository.layout, store.context.environ)
