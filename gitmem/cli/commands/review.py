"""`gitmem review`: decide between two versions that a merge kept, and about purges of other machines."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, GitmemError, NotFoundError, UsageError
from gitmem.model.paths import PURGED
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.review.purges import Preview
    from gitmem.store.review.waiting import ToReview
    from gitmem.store.store import Store


_SIDES = 20  # documents of which a list says whose versions they are: each takes some walks through history
_PLACES = 5  # sections or facts that a line names


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem review`."""
    parser.add_argument("path", nargs="?", help="a document (default: list all that wait)")
    parser.add_argument("--take", choices=("ours", "theirs", "both", "edit"), help="the version to keep")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List documents in which a merge kept two versions, and purges that wait for your answer; decide one.

    Facts that contradict each other are listed, too; 'gitmem facts confirm' decides which of them holds.

    'ours' is this machine's version, 'theirs' the other machines'. Entries that only one side has stay in any case.
    'both' keeps both versions, and 'edit' keeps the file as you have edited it. A decision is one commit, which 'gitmem
    undo' takes back.

    A purge from another machine waits if it would remove more than is done unasked. It is listed by the file of its
    record; give that alone to see what it would remove here. '--take theirs' removes it from all history, which cannot
    be undone; '--take ours' refuses the purge on this machine for good.

    With --json: a list of {path, places, contradicts, merge, ours, theirs} and {path, purge}; with a path one of them;
    a decision is {path, take, commit}.

    Examples:
      gitmem review
      gitmem review purged/20261121-120000-0a1b2c.json
      gitmem review knowledge/build.md --take ours
      $EDITOR "$(gitmem path)/memory.md" && gitmem review memory.md --take edit

    """
    from gitmem.store.review.purges import waiting_purges
    from gitmem.store.review.take import Take, resolve_review
    from gitmem.store.review.waiting import to_review

    store = door.settled(args)
    if args.path is None:
        if args.take:
            raise UsageError("--take needs a document.", "'gitmem review' lists those that wait.")
        purges = [{"path": one.path, "purge": one.why} for one in waiting_purges(store)]
        found = to_review(store)
        waiting = [_value(store, item, sides=number < _SIDES) for number, item in enumerate(found)]
        lines = [*map(_line, waiting), *(f"{one['path']}  a purge that waits, since {one['purge']}" for one in purges)]
        door.answer(args, [*waiting, *purges], plain("\n".join(lines) or "Nothing waits for your review."))
        return ExitCode.OK
    path = args.path.replace(os.sep, "/").removeprefix("./")
    if path.startswith(f"{PURGED}/"):
        return _review_purge(args, door, store, path)
    if args.take is None:
        values = [_value(store, item) for item in to_review(store) if item.path == path]
        if not values:
            raise NotFoundError(f"{path} does not hold two versions.", "'gitmem review' lists the documents that do.")
        door.answer(args, values[0], plain(_line(values[0])))
        return ExitCode.OK
    take = Take(args.take)
    commit = resolve_review(store, path, take)
    text = f"Took {take.value} in {path} (commit {commit[:10]}).\nTo reverse this: gitmem undo {commit[:10]}"
    door.answer(args, {"path": path, "take": take.value, "commit": commit}, plain(text))
    return ExitCode.OK


def _review_purge(args: argparse.Namespace, door: Door, store: Store, path: str) -> int:
    from gitmem.store.review.purges import answer_purge, preview_purge

    if args.take is None:
        preview = preview_purge(store, path)
        door.answer(args, asdict(preview), plain(_purge_words(preview)))
        return ExitCode.OK
    if args.take not in {"ours", "theirs"}:
        raise UsageError("A purge can only be done or refused.", "'--take theirs' does it, '--take ours' refuses it.")
    yes = args.take == "theirs"
    door.notices(tuple(answer_purge(store, path, yes=yes)))
    text = f"Purged what {path} names." if yes else f"This machine will not follow {path}."
    door.answer(args, {"path": path, "take": args.take}, plain(text))
    return ExitCode.OK


def _purge_words(preview: Preview) -> str:
    more = [f"  … and {preview.more_files} more"] if preview.more_files else []
    return "\n".join([
        f"{preview.path} waits, since {preview.why}.",
        f"It names {count(preview.texts, 'text')}; found here: {preview.found}{', such as:' if preview.shown else '.'}",
        *(f"  {text!r}" for text in preview.shown),
        *(["They are, or were, in:"] if preview.files else []),
        *(f"  {name}" for name in preview.files),
        *more,
        f"To remove them from all history, for good: gitmem review {preview.path} --take theirs",
        f"To refuse the purge on this machine:       gitmem review {preview.path} --take ours",
    ])  # fmt: skip


def _value(store: Store, item: ToReview, *, sides: bool = True) -> dict[str, object]:
    from gitmem.store.review.take import contradicted, sides_of

    value: dict[str, object] = {"path": item.path, "places": list(item.places)}
    value["contradicts"] = contradicted(item.places, item.path)
    nobody = {**value, "merge": None, "ours": [], "theirs": []}
    if not sides:
        return nobody
    try:
        found = sides_of(store, item.path)
    except GitmemError:  # somebody wrote the field by hand
        return nobody
    return {**value, "merge": found.merge, "ours": list(found.our_machines), "theirs": list(found.their_machines)}


def _line(value: dict[str, object]) -> str:
    places, ours, theirs = (value[key] for key in ("places", "ours", "theirs"))
    assert isinstance(places, list)
    assert isinstance(ours, list)
    assert isinstance(theirs, list)
    if value["contradicts"]:
        return f"{value['path']}  contradicts {_few(places)}: 'gitmem facts confirm' the one that holds"
    where = f"  in {_few(places)}" if places else "  two versions, side by side"
    who = f"  (ours: {', '.join(ours)}; theirs: {', '.join(theirs)})" if value["merge"] else ""
    return f"{value['path']}{where}{who}"


def _few(places: list[str]) -> str:
    return ", ".join(places[:_PLACES]) + (f" and {len(places) - _PLACES} more" if len(places) > _PLACES else "")
