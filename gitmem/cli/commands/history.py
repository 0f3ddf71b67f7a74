"""The history of a memory: commits, sessions, the origin of lines, rotations, differences, and undoing a change."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from gitmem.archive.rotate import RotatedFile, rotations
from gitmem.cli import output
from gitmem.cli.app import App
from gitmem.cli.arguments import Args, read_date
from gitmem.cli.commands.show import FILES, named_path, refuse_folder, session_value, show_session
from gitmem.cli.output import MINUTES, SHORT, commit_value, table
from gitmem.document.ids import MEMORY
from gitmem.document.message import Op, one_line
from gitmem.errors import NotFoundError, UsageError
from gitmem.history.authors import Authors
from gitmem.history.marks import marked
from gitmem.history.origin import blame
from gitmem.history.records import (
    HEAD,
    CommitRecord,
    changed_lines,
    difference,
    edits_by_hand,
    records,
    resolve,
    shown_history,
)
from gitmem.history.sessions import find_session, named_session, sessions, short_names
from gitmem.history.undo import Undone, undo
from gitmem.learn.judge import answers_of
from gitmem.platform.machine import UTC
from gitmem.store.store import Store
from gitmem.tell.blamed_code import project_path
from gitmem.tell.written_code import exchanges_of_file
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain

LIMIT = 20


def run_log(args: Args, app: App) -> None:
    store = app.settled()
    path, given = _path_and_limit(args)
    limit = LIMIT if given is None else given
    if args.code is not None:
        _log_of_code(app, store, args.code, limit)
        return
    since, until = read_date(store, args.since, "--since"), read_date(store, args.until, "--until")
    path = named_path(store, app, path) if path else None

    def read(most: int | None) -> list[CommitRecord]:
        return records(
            store,
            path=path,
            op=args.op,
            session=args.session and named_session(store, args.session),
            kind=args.type,
            since=since.first if since else None,
            until=until.last if until else None,
            limit=most,
            merges=args.all or args.op == Op.MERGE,
        )

    most = limit + 1 if limit else None
    commits, hidden = (read(most), 0) if args.all or path or args.op else shown_history(read, most)
    more = given is None and len(commits) > limit
    commits = commits[: limit or None]
    stats = changed_lines(store, commits) if args.stat else {}
    describe = output.commit_block if args.long else partial(output.commit_line, app=app, store=store)
    value = [output.commit_value(record) | ({"stat": stats[record.commit]} if args.stat else {}) for record in commits]
    lines = ("\n".join(filter(None, (describe(record), plain(stats.get(record.commit, ""))))) for record in commits)
    aside = f"These are the newest {limit} commits; -n 0 lists all." if more else ""
    aside = aside if commits else "No commit is of this kind."
    hint = f"Not listed: {count(hidden, 'commit')} of gitmem's own housekeeping (--all lists all)." * bool(hidden)
    app.answer(value, "\n".join(lines).rstrip("\n"), "log", aside=(aside, hint))


def _log_of_code(app: App, store: Store, path: str, limit: int) -> None:
    """Print the exchanges that wrote lines of a file of the project, the newest first."""
    code = store.code()
    place = project_path(code, app.path(path)) if code else None
    if code is None or place is None:
        raise NotFoundError(
            f"{path!r} is no file of the project.", "Name a file below the project, such as src/app.py."
        )
    every = exchanges_of_file(store, code, place)
    made = every[: limit or None]
    authors = Authors(store)
    lines = [
        f"{item.exchange.day} {item.exchange.time}  {authors.others(item.exchange.id) or 'you'}: "
        f"{one_line(marked(store, item.exchange.fields.request), 100)}\n"
        f"    {item.left} of {count(item.written, 'line')} left  ^{item.exchange.id}"
        for item in made
    ]
    value = [
        {**fields(item, "at written left"), "id": item.exchange.id, "request": item.exchange.fields.request}
        for item in made
    ]
    more = f"These are the newest {limit} of {len(every)}; -n 0 lists all." * (len(made) < len(every))
    aside = more or ("" if made else f"No recorded request wrote lines of {place}.")
    app.answer(value, plain("\n".join(lines)), "log", aside=(aside,))


def _path_and_limit(args: Args) -> tuple[str | None, int | None]:
    """Return the path and the limit, which may be among the words, as `-3`."""
    numbers = [word for word in args.path if re.fullmatch("-[0-9]+", word)]
    paths = [word for word in args.path if word not in numbers]
    if len(paths) > 1:
        raise UsageError("gitmem log takes one path.", "'gitmem log --help' shows how.")
    return (paths[0] if paths else None), (int(numbers[-1][1:]) if numbers else args.limit)


def run_sessions(args: Args, app: App) -> None:
    store = app.settled()
    if args.session is not None:
        summary = find_session(store, args.session)
        if args.question:
            answers = answers_of(store, summary.id)
            form = "{model}, {tokens:,} tokens\n\n{question}\n\nANSWER\n{answer}"
            body = "\n\n".join(form.format(**window._asdict()) for window in answers)
            app.answer({"asked": answers}, plain(body) or "No model was asked about it on this machine.")
            return
        show_session(store, summary, app)
        return
    if args.question:
        raise UsageError("--question is about one session.", "'gitmem sessions' lists them.")
    every = sessions(store)
    shown = every[: (LIMIT if args.limit is None else args.limit) or None]
    short, lines = short_names([session.id for session in every]), []
    width = max((len(short[session.id]) for session in shown), default=0)
    for session in shown:
        by = "" if store.is_user(session.author, session.email, session.machine) else f"by {session.author}: "
        about = f"{count(session.requests, 'request'):<12}  {by}{session.about}"
        lines.append(plain(f"{short[session.id]:<{width}}  {session.last:{MINUTES}}  {about}"))
    text = "\n".join(lines) or "No sessions yet."
    more = len(shown) < len(every) and args.limit is None
    aside = f"These are the newest {len(shown)} of {len(every)} sessions; -n 0 lists all." * more
    app.answer([session_value(session) for session in shown], text, "sessions" if lines else "", aside=(aside,))


def run_blame(args: Args, app: App) -> None:
    place = re.fullmatch(r"(?P<path>.*?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    assert place is not None
    store = app.settled()
    path = named_path(store, app, place["path"])
    refuse_folder(store, path)
    first = int(place["first"]) if place["first"] else None
    lines = blame(store, path, (first, int(place["last"] or first)) if first is not None else None)
    app.answer(output.blame_value(path, lines), output.blame_table(lines, store), "blame")


def run_index(_: Args, app: App) -> None:
    store = app.settled()
    files = rotations(store)
    app.answer(_index_value(files), _index_table(files))


def run_diff(args: Args, app: App) -> None:
    store = app.settled()
    ends, named = _ends_and_path(store, args.what)
    path = named_path(store, app, named) if named is not None else None
    if not ends and not args.stat and _told_edits(store, app, path):
        return
    tip = store.repository.resolve(HEAD)
    old, new = (ends[0], ends[1]) if len(ends) > 1 else (ends[0] if ends else None, tip)
    changed = difference(store, old, new, path, brief=args.stat)
    if path and not any(store.repository.files(side, path) for side in (changed.new, changed.old)):
        raise NotFoundError(f"{named!r} is neither a revision or date nor a file in these revisions.", FILES)
    output.answer_bytes(
        app, output.difference_value(changed), changed.text, f"diff {changed.old[:SHORT]} {changed.new[:SHORT]}"
    )


def _ends_and_path(store: Store, what: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the commits that the words name, and the remaining word, a path."""
    words = list(what)
    if words and ".." in words[0] and "/" not in words[0]:
        old, _, new = words[0].partition("..")
        words[:1] = [old or "HEAD", new.lstrip(".") or "HEAD"]
    if len(words) > 3:  # noqa: PLR2004  # A, B and PATH
        raise UsageError(
            "gitmem diff takes at most two revisions or dates and a path.", "'gitmem diff --help' shows how."
        )
    named = words.pop() if len(words) == 3 else None  # noqa: PLR2004
    ends = [resolve(store, word) for word in words[:-1]]
    if words:
        try:
            ends.append(resolve(store, words[-1]))
        except NotFoundError:
            if named is not None:
                raise
            named = words[-1]
    return ends, named


def _told_edits(store: Store, app: App, path: str | None) -> bool:
    """Print the edits by hand that are not committed yet; return False if there are none."""
    patch = edits_by_hand(store, path)
    if patch:
        text = patch.decode("utf-8", "replace")
        value: dict[str, object] = {"from": store.repository.resolve(HEAD), "to": None, "files": [], "diff": text}
        output.answer_bytes(app, value, patch, "diff")
    return bool(patch)


_NAMED = 5  # files


def run_undo(args: Args, app: App) -> None:
    store = app.settled()
    with app.waiting():
        session = args.session and named_session(store, args.session)
        done = undo(store, revision=args.what, session=session, dry_run=args.dry_run)
    app.notices(done.notices)
    undone = [commit_value(item) for item in done.undone]
    already = [{**commit_value(item), "undone_by": by} for item, by in done.already]
    value = {"commit": done.commit, "dry_run": args.dry_run, "undone": undone, "already": already, "files": done.files}
    app.answer(value, _text(done, dry_run=args.dry_run))


def _text(done: Undone, *, dry_run: bool) -> str:
    lines = []
    for item, by in done.already:
        state = f"was undone already, by {by[:SHORT]}" if by else "left nothing to undo"
        lines.append(f"{item.commit[:SHORT]} {item.subject}\n  {state}.")
    lines += [f"{'Would undo' if dry_run else 'Undid'} {item.commit[:SHORT]} {item.subject}" for item in done.undone]
    if done.files:
        more = len(done.files) - _NAMED
        named = ", ".join(done.files[:_NAMED])
        lines.append(
            f"  in {named}" if more <= 0 else f"  in {count(len(done.files), 'file')}: {named} and {more} more"
        )
    if done.commit:
        lines.append(output.reversal(done.commit))
    return plain("\n".join(lines))


def _index_value(files: Sequence[RotatedFile]) -> dict[str, object]:
    """Return the rotations in the shape of `memory-index.json`."""
    return {
        "version": 1,
        "current": MEMORY,
        "rotatedFiles": [
            {
                "file": os.path.basename(item.path),
                "rotatedAt": _utc(item.rotated_at),
                **fields(item, "tokens bytes=size lines"),
                "dateRange": dict(zip(("first", "last"), item.days or (None, None), strict=True)),
                "summary": os.path.basename(item.summary),
                "summaryGenerated": item.summarized,
            }
            for item in files
            if item.present
        ],
        "stats": {"totalRotations": len(files), "lastRotation": _utc(files[-1].rotated_at) if files else None},
    }


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _index_table(files: Sequence[RotatedFile]) -> str:
    """Return the rotations in columns."""
    if not files:
        return "No rotation yet: memory.md has not reached its threshold."
    rows = [("ARCHIVE", "ROTATED", "TOKENS", "LINES", "DAYS", "SUMMARY")]
    for item in files:
        days = " to ".join(dict.fromkeys(item.days or ("-",)))
        state = "yes" if item.summarized else "no"
        name = item.path if item.present else f"({item.path})"
        rows.append((name, f"{item.rotated_at:{MINUTES}}", f"{item.tokens:,}", f"{item.lines:,}", days, state))
    gone = sum(not item.present for item in files)
    total = count(len(files), "rotation")
    note = f"{total}; {gone} in brackets {'is' if gone == 1 else 'are'} in history only." if gone else f"{total}."
    return plain(f"{table(rows)}\n\n{note}")
