"""`gitmem show`, `log`, `at`, `diff`, `blame` and `index`: what the memory holds and held."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.errors import ExitCode, GitmemError, NotFoundError, RefusedError
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.ids import is_id
from gitmem.model.message import Op
from gitmem.model.paths import MEMORY, check_path, daily_path
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.history.dates import Span
    from gitmem.store.store import Store

LOG_LIMIT = 20
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LIST = "'gitmem at HEAD --list' lists the files."


class _UsageError(GitmemError):
    exit_code = ExitCode.USAGE


def configure_show(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem show`."""
    parser.add_argument(
        "what", nargs="?", default=MEMORY, metavar="PATH|DAY|^ENTRY|COMMIT", help=f"what to print (default: {MEMORY})"
    )
    _add_json(parser)


def run_show(args: argparse.Namespace, door: Door) -> int:
    """Print a file of the store, the log of a day, one entry, or one commit.

    A file is printed as it is now, byte for byte. A path is relative to the store; one inside the store from where
    you are, or an absolute one, does as well. A day is given as 2026-11-21; of one that was consolidated, its log is
    printed as it last was. An entry is found by the id at the end of its first line wherever it stands, and out of
    history if it was taken away. A commit is printed as 'git show' does.

    With --json: a file is {path, text}; an entry {id, time, label, tags, text, places: [{path, line}], origin},
    its origin a commit as 'gitmem log --json' prints it or null; a commit that with {files, diff} as well.

    Examples:
      gitmem show
      gitmem show archive/memory_20260113_112700.md
      gitmem show '^1ksd9q2x0m3v8t5w7zab'
      gitmem show 2026-11-21
      gitmem show HEAD~2

    """
    store = door.settled(args)
    what: str = daily_path(args.what) if re.fullmatch(_DAY, args.what) else args.what
    if what.startswith("^"):
        if not is_id(what[1:]):
            raise NotFoundError(f"{what} is no id of an entry: it has 20 letters and digits.", "See 'gitmem log'.")
        return _show_entry(args, door, store, what[1:])
    file = _readable(store, args, door, what)
    if file is not None:
        path, data = file
        _put(args, door, {"path": path, "text": data.decode("utf-8", "replace")}, data)
        return ExitCode.OK
    from gitmem.store.history.records import difference, last_version, read_records, resolve, shown

    if what != args.what and (gone := last_version(store.repository, what)) is not None:
        door.notices((f"{what} is not in the tree any more ('gitmem log' says why); this is how it last was.",))
        _put(args, door, {"path": what, "text": gone.decode("utf-8", "replace")}, gone)
        return ExitCode.OK
    try:
        commit = resolve(store, what)
    except NotFoundError:
        if is_id(what):  # the `^` was left out
            return _show_entry(args, door, store, what)
        raise NotFoundError(
            f"{what!r} is no file of the store, and no commit.", f"{_LIST} 'gitmem log' lists the commits."
        ) from None
    if args.json:
        changed = difference(store, None, commit)
        door.answer(
            args, output.commit_value(read_records(store, [commit])[commit]) | output.difference_value(changed), ""
        )
    else:
        output.write_patch(door, shown(store, commit))
    return ExitCode.OK


def _show_entry(args: argparse.Namespace, door: Door, store: Store, identifier: str) -> int:
    from gitmem.store.history.origin import find_entry

    found = find_entry(store, identifier)
    door.answer(args, output.entry_value(found), output.entry_text(found))
    return ExitCode.OK


def configure_log(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem log`."""
    parser.add_argument("path", nargs="?", metavar="PATH", help="only what changed this file or folder")
    parser.add_argument("--op", choices=[op.value for op in Op], help="only what did this")
    parser.add_argument("--session", metavar="ID", help="only this session; the beginning of its id is enough")
    parser.add_argument("--type", choices=[kind.value for kind in MemoryType], help="only saves of this type")
    parser.add_argument("--since", metavar="DATE", help="only what happened on this date or later")
    parser.add_argument("--until", metavar="DATE", help="only what happened on this date or before")
    parser.add_argument(
        "-n", type=count, dest="limit", metavar="N", help=f"at most so many (default: {LOG_LIMIT}); 0 for all"
    )
    parser.add_argument("--oneline", action="store_true", help="one line each")
    _add_json(parser)


def run_log(args: argparse.Namespace, door: Door) -> int:
    """List what was saved, rotated and edited, the newest first: when, in which session, in which commit.

    Dates are given as 2026-11-21, '2026-11-21 14:03', today, yesterday, '3 days ago'; they are those at which
    things happened, which a commit may follow later. With git itself: git -C "$(gitmem path)" log

    With --json: a list of {commit, parents, date, committed, author, email, subject, op, type, session, host,
    machine, entries, archive}; what is not known is null.

    Examples:
      gitmem log --oneline
      gitmem log --session 1b4e51f0
      gitmem log --type decision --since '2 weeks ago' -n 0
      gitmem log archive --op rotate

    """
    from gitmem.store.history.records import records

    store = door.settled(args)
    limit: int = LOG_LIMIT if args.limit is None else args.limit
    since, until = _span(store, args.since, "--since"), _span(store, args.until, "--until")
    found = records(
        store,
        path=_path(store, args, door, args.path) if args.path else None,
        op=args.op,
        session=args.session,
        kind=args.type,
        since=since.first if since else None,
        until=until.last if until else None,
        limit=limit + 1 if limit else None,
    )
    more = args.limit is None and len(found) > limit
    found = found[: limit or None]
    describe = output.commit_line if args.oneline else output.commit_block
    door.answer(args, [output.commit_value(record) for record in found], "\n".join(map(describe, found)).rstrip("\n"))
    if more and not args.json:
        door.notices((f"These are the newest {limit}; -n 0 lists all.",))
    return ExitCode.OK


def count(text: str) -> int:
    """Return the number an argument gives; argparse puts this function's name into its complaint."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _span(store: Store, text: str | None, option: str) -> Span | None:
    from gitmem.store.history.dates import FORMS, parse_date

    if text is None:
        return None
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise _UsageError(f"{option} {text!r}: {error}.", f"Dates are given like {FORMS}.") from None
    if span is None:
        raise _UsageError(f"{option} {text!r} is no date.", f"Dates are given like {FORMS}.")
    return span


def configure_at(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem at`."""
    parser.add_argument("when", metavar="REV|DATE", help="a commit, or a date (the end of that day)")
    parser.add_argument("path", nargs="?", metavar="PATH", help=f"the file (default: {MEMORY})")
    parser.add_argument("--list", action="store_true", help="list the files there were instead")
    _add_json(parser)


def run_at(args: argparse.Namespace, door: Door) -> int:
    """Print a file as it was at a revision or a date, byte for byte.

    A date stands for the last commit made by then: a day for its end, a minute for its end. It is given as
    2026-11-21, '2026-11-21 14:03' (in your time zone; or with an offset, '2026-11-21 14:03+09:00'), today,
    yesterday, '3 days ago', '2 weeks ago', '5 hours ago'.

    With --json: {commit, date, path, text}, or with --list {commit, date, files: [{path, bytes}]}.

    Examples:
      gitmem at yesterday
      gitmem at 2026-11-21 daily/2026/11/2026-11-21.md
      gitmem at HEAD~3 --list
      gitmem at '3 days ago' > memory-then.md

    """
    from gitmem.store.history.records import read_at, read_records, resolve

    store = door.settled(args)
    commit = resolve(store, args.when)
    record = read_records(store, [commit])[commit]
    about: dict[str, object] = {"commit": commit, "date": record.committed.isoformat()}
    path = _path(store, args, door, args.path) if args.path else None
    if args.list:
        files = store.repository.files(commit, *([path] if path else []))
        listed = [{"path": file.path, "bytes": file.size} for file in files]
        if listed:
            door.answer(args, about | {"files": listed}, plain("\n".join(file.path for file in files)))
            return ExitCode.OK
    path = path or MEMORY
    data = None if args.list else read_at(store, commit, path)
    if data is None:
        raise NotFoundError(
            f"There was no {path} at {args.when}.", f"'gitmem at {commit[: output.SHORT]} --list' lists the files."
        )
    _put(args, door, about | {"path": path, "text": data.decode("utf-8", "replace")}, data)
    return ExitCode.OK


def configure_diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem diff`."""
    parser.add_argument("what", nargs="*", metavar="A B PATH", help="from A to B, only this file; each may be left out")
    _add_json(parser)


def run_diff(args: argparse.Namespace, door: Door) -> int:
    """Print what changed between two revisions or dates, as a unified diff.

    With nothing: what the last commit changed. With A: from A to now. A and B are revisions or dates (see
    'gitmem at --help'); what is neither, and comes last, is a file or folder.

    With --json: {from, to, files: [{path, change}], diff}; a change is added, removed or modified.

    Examples:
      gitmem diff
      gitmem diff yesterday
      gitmem diff 2026-11-01 2026-11-21 memory.md
      gitmem diff HEAD~5 archive

    """
    from gitmem.store.history.records import HEAD, difference, resolve

    store = door.settled(args)
    words = list(args.what)
    if len(words) > 3:  # noqa: PLR2004  # A, B and PATH
        raise _UsageError("At most two revisions or dates and a path are compared.", "See 'gitmem diff --help'.")
    named = words.pop() if len(words) == 3 else None  # noqa: PLR2004
    ends = [resolve(store, word) for word in words[:-1]]
    if words:
        try:
            ends.append(resolve(store, words[-1]))
        except NotFoundError:
            if named is not None:
                raise
            named = words[-1]
    tip = store.repository.resolve(HEAD)
    old, new = (ends[0], ends[1]) if len(ends) > 1 else (ends[0] if ends else None, tip)
    path = _path(store, args, door, named) if named is not None else None
    changed = difference(store, old, new, path)
    if path and not any(store.repository.files(side, path) for side in (changed.new, changed.old)):
        raise NotFoundError(f"{named!r} is no revision, no date, and no file in these revisions.", _LIST)
    if args.json:
        door.answer(args, output.difference_value(changed), "")
    else:
        output.write_patch(door, changed.text)
    return ExitCode.OK


def configure_blame(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem blame`."""
    parser.add_argument("where", metavar="PATH[:LINE[-LINE]]", help="a file, one line of it, or a range of lines")
    _add_json(parser)


def run_blame(args: argparse.Namespace, door: Door) -> int:
    """Print who learned each line of a file: when, host and session, commit.

    Lines of an archive are followed through the rotation to the save that wrote them. Where host and session
    are not known, the author is named. What a person changed and nobody has committed yet says so.

    With --json: {path, lines: [{line, text, origin}]}, an origin being a commit as 'gitmem log --json' prints it,
    or null.

    Examples:
      gitmem blame memory.md
      gitmem blame memory.md:12
      gitmem blame archive/memory_20260113_112700.md:40-60

    """
    from gitmem.store.history.origin import blame

    place = re.fullmatch(r"(?P<path>.*?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    assert place is not None
    store = door.settled(args)
    path = _path(store, args, door, place["path"])
    _refuse_folder(store, path)
    first = int(place["first"]) if place["first"] else None
    lines = blame(store, path, (first, int(place["last"] or first)) if first is not None else None)
    door.answer(args, output.blame_value(path, lines), output.blame_table(lines))
    return ExitCode.OK


def configure_index(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem index`."""
    _add_json(parser)


def run_index(args: argparse.Namespace, door: Door) -> int:
    """List the rotations: each archive, when it was made, its size, the days of its new entries, its summary.

    Nothing of this is stored: it is derived from the tree and the commits, so every clone gives the same answer.
    Archives that retention took out of the tree count in the totals, and 'gitmem at COMMIT PATH' still prints
    them; a rotation that was undone does not count.

    With --json, the shape of the memory-index.json of older tools: {version, current, rotatedFiles: [{file,
    rotatedAt, tokens, bytes, lines, dateRange: {first, last}, summary, summaryGenerated}], stats:
    {totalRotations, lastRotation}}. The files stand in archive/, the summaries in summaries/; times are UTC.

    Examples:
      gitmem index
      gitmem index --json

    """
    from gitmem.store.history.records import rotations

    store = door.settled(args)
    found = rotations(store)
    door.answer(args, output.index_value(found), output.index_table(found))
    return ExitCode.OK


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _put(args: argparse.Namespace, door: Door, value: object, data: bytes) -> None:
    """Print a file: as part of `value` with `--json`, else as it is."""
    if args.json:
        door.answer(args, value, "")
    else:
        output.write_file(door, data)


def _readable(store: Store, args: argparse.Namespace, door: Door, text: str) -> tuple[str, bytes] | None:
    """Return the path and the content of the file of the work tree that `text` names, None where it names none."""
    try:
        path = _path(store, args, door, text)
    except RefusedError:
        if "/" in text or os.path.isabs(text):
            raise
        return None  # `HEAD~2` is no name for a file, either
    _refuse_folder(store, path)
    data = store.read(path)
    return None if data is None else (path, data)


def _refuse_folder(store: Store, path: str) -> None:
    if os.path.isdir(os.path.join(store.root, path)):
        raise NotFoundError(f"{path} is a folder.", f"'gitmem at HEAD {path} --list' lists its files.")


def _path(store: Store, args: argparse.Namespace, door: Door, text: str) -> str:
    """Return the path in the store that a person means: relative to the store, or to where they are inside it.

    Raises:
        RefusedError: it leads out of the store, or is no name gitmem would write.

    """
    here = os.path.normpath(os.path.abspath(door.folder(args)))
    full = os.path.normpath(os.path.join(here, text))
    inside = _below(store, full)
    if inside is None and os.path.isabs(text):
        raise RefusedError(f"{text} is not in the store at {store.root}.", "Name a file of the store.")
    # In the store's folder `archive`, `memory.md` is still the memory.
    if inside is None or (_below(store, here) is not None and not os.path.lexists(full)):
        inside = text
    # Names that gitmem writes are in this form; a keyboard or a file system may have given another.
    return check_path(unicodedata.normalize("NFC", inside.rstrip("/")))


def _below(store: Store, full: str) -> str | None:
    """Return an absolute path as one relative to the store, None where it is outside; "" for the store itself."""
    for root in (store.root, os.path.realpath(store.root)):
        if full == root:
            return ""
        if full.startswith(root + os.sep):
            return full[len(root) + 1 :].replace(os.sep, "/")
    return None
