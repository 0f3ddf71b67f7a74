"""`gitmem review`: what two machines changed at once, and which of it stays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, GitmemError, NotFoundError, UsageError
from gitmem.model.plaintext import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.reviewing import ToReview
    from gitmem.store.store import Store


def configure_review(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem review`."""
    parser.add_argument("path", nargs="?", help="the document; all that wait are listed without it")
    parser.add_argument("--take", choices=("ours", "theirs", "both", "edit"), help="which version stays")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_review(args: argparse.Namespace, door: Door) -> int:
    """List the documents that hold two versions of the same words, or say which version of one stays.

    Facts that contradict each other are listed, too; 'gitmem facts confirm' says which of them holds.

    'ours' is what this machine had, 'theirs' what the others had; entries that only one of them has stay in any case.
    'both' keeps both, and 'edit' what you have made of the file in your editor before: the file as it is now, alone. It
    is one commit, which 'gitmem undo' takes back.

    Examples:
      gitmem review
      gitmem review knowledge/build.md --take ours
      $EDITOR "$(gitmem path)/memory.md" && gitmem review memory.md --take edit

    """
    from gitmem.store.reviewed import Take, resolve_review
    from gitmem.store.reviewing import to_review

    store = door.settled(args)
    if args.path is None:
        if args.take:
            raise UsageError("Which document?", "'gitmem review' lists those that wait.")
        waiting = [_value(store, item) for item in to_review(store)]
        door.answer(args, waiting, plain("\n".join(map(_line, waiting)) or "Nothing waits for a review."))
        return ExitCode.OK
    path = args.path.replace(os.sep, "/").removeprefix("./")
    if args.take is None:
        found = [_value(store, item) for item in to_review(store) if item.path == path]
        if not found:
            raise NotFoundError(f"{path} holds no two versions.", "'gitmem review' lists the documents that do.")
        door.answer(args, found[0], plain(_line(found[0])))
        return ExitCode.OK
    take = Take(args.take)
    commit = resolve_review(store, path, take)
    text = f"Reviewed {path} in {commit[:10]}: {take.value}.\nTo reverse this: gitmem undo {commit[:10]}"
    door.answer(args, {"path": path, "take": take.value, "commit": commit}, plain(text))
    return ExitCode.OK


def _value(store: Store, item: ToReview) -> dict[str, object]:
    from gitmem.store.reviewed import contradicted, sides_of

    value: dict[str, object] = {"path": item.path, "places": list(item.places)}
    value["contradicts"] = contradicted(item.places, item.path)
    try:
        sides = sides_of(store, item.path)
    except GitmemError:  # somebody wrote the field by hand
        return {**value, "merge": None, "ours": [], "theirs": []}
    return {**value, "merge": sides.merge, "ours": list(sides.our_machines), "theirs": list(sides.their_machines)}


def _line(value: dict[str, object]) -> str:
    places, ours, theirs = (value[key] for key in ("places", "ours", "theirs"))
    assert isinstance(places, list)
    assert isinstance(ours, list)
    assert isinstance(theirs, list)
    if value["contradicts"]:
        return f"{value['path']}  contradicts {', '.join(places)}: 'gitmem facts confirm' the one that holds"
    where = f"  in {', '.join(places)}" if places else "  beside another file"
    who = f"  (ours: {', '.join(ours)}; theirs: {', '.join(theirs)})" if value["merge"] else ""
    return f"{value['path']}{where}{who}"
