"""What changed between two revisions, and taking a change back."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gitmem.cli import output
from gitmem.cli.app import App
from gitmem.cli.document import FILES, named_path
from gitmem.cli.output import SHORT, commit_value
from gitmem.errors import NotFoundError, UsageError
from gitmem.history.records import HEAD, difference, edits_by_hand, resolve
from gitmem.history.undo import Undone, undo
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import plain


def run_diff(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    ends, named = _ends_and_path(store, args.what)
    path = named_path(store, args, app, named) if named is not None else None
    if not ends and not args.stat and _told_edits(store, args, app, path):
        return
    tip = store.repository.resolve(HEAD)
    old, new = (ends[0], ends[1]) if len(ends) > 1 else (ends[0] if ends else None, tip)
    changed = difference(store, old, new, path, brief=args.stat)
    if path and not any(store.repository.files(side, path) for side in (changed.new, changed.old)):
        raise NotFoundError(f"{named!r} is neither a revision or date nor a file in these revisions.", FILES)
    output.answer_bytes(
        args, app, output.difference_value(changed), changed.text, f"diff {changed.old[:SHORT]} {changed.new[:SHORT]}"
    )


def _ends_and_path(store: Store, what: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the commits that the words name, and the other word."""
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


def _told_edits(store: Store, args: argparse.Namespace, app: App, path: str | None) -> bool:
    """Print the edits by hand that are not committed yet; return False if there are none."""
    patch = edits_by_hand(store, path)
    if patch:
        text = patch.decode("utf-8", "replace")
        value: dict[str, object] = {"from": store.repository.resolve(HEAD), "to": None, "files": [], "diff": text}
        output.answer_bytes(args, app, value, patch, "diff")
    return bool(patch)


_NAMED = 5  # files


def run_undo(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    with app.waiting():
        done = undo(store, revision=args.what, session=args.session, dry_run=args.dry_run)
    app.notices(done.notices)
    undone = [commit_value(item) for item in done.undone]
    already = [{**commit_value(item), "undone_by": by} for item, by in done.already]
    value = {"commit": done.commit, "dry_run": args.dry_run, "undone": undone, "already": already}
    value["files"] = list(done.files)
    app.answer(args, value, _text(done, dry_run=args.dry_run))


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
        lines.append(f"To reverse this: gitmem undo {done.commit[:SHORT]}")
    return plain("\n".join(lines))
