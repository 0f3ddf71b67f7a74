"""`gitmem concepts`: list, show, merge and split groups of exchanges on one subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.model.concept import Concept

_DAY = 10  # characters of a moment that are its date


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem concepts`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, prog="gitmem concepts")
    listing = actions.add_parser("list", help="list the concepts; the last line is the one worked on last")
    show = actions.add_parser("show", help="print a concept with its exchanges")
    show.add_argument("concept", metavar="CONCEPT", help="its id or name, or an unambiguous prefix of it")
    merge = actions.add_parser("merge", help="merge two concepts under the name of the first")
    merge.add_argument("concept", metavar="CONCEPT")
    merge.add_argument("other", metavar="OTHER")
    split = actions.add_parser("split", help="move some exchanges of a concept to a new one")
    split.add_argument("concept", metavar="CONCEPT")
    split.add_argument("exchanges", metavar="EXCHANGE", nargs="+", help="ids, or unambiguous prefixes of them")
    split.add_argument("--name", required=True, help="the subject of the new concept")
    for parts in (listing, show, merge, split):
        parts.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List concepts, groups of exchanges on one subject; print one, or merge and split them.

    When a session ends, its exchanges are grouped by the files and keywords they have in common. Each concept is a file
    below concepts/, with links to its sessions; you can change its name there. When a session starts, the agent is told
    which concept was worked on last, if that is older than what memory.md holds.

    With --json: a concept is {id, name, created, updated, keywords, files, exchanges, path}; 'list' prints a list of
    them, 'show' adds {text}, 'merge' and 'split' add {commits}.

    Examples:
      gitmem concepts list
      gitmem concepts show "resume.go"
      gitmem concepts merge k4f7 k9q0
      gitmem concepts split k4f7 01kezfppev 01kezfstjx --name "listing archived sessions"

    """
    from gitmem.memory.concepts.group import find_concept, merge, split
    from gitmem.memory.concepts.index import known_concepts
    from gitmem.text.quantities import count

    store = door.settled(args)
    if args.action == "list":
        found = sorted(known_concepts(store), key=lambda one: (one.exchanges[-1:], one.id))
        door.answer(args, [_value(one) for one in found], _table(found))
        return ExitCode.OK
    concept = find_concept(store, args.concept)
    if args.action == "show":
        from gitmem.model.document.document import Document
        from gitmem.store.headers.facts import marked
        from gitmem.text.terminal import plain

        body = marked(store, Document.parse(store.read(concept.path) or b"").body)
        text = plain(f"{body.rstrip()}\n\n{concept.id}, in {concept.path}")
        door.answer(args, {**_value(concept), "text": body}, text, f"concept {concept.id}")
        return ExitCode.OK
    if args.action == "merge":
        commits = merge(store, concept, find_concept(store, args.other))
    else:
        commits = split(store, concept, args.exchanges, args.name)
    again = find_concept(store, concept.id)
    size = count(len(again.exchanges), "exchange")
    text = f"{again.name} has {size} now." if commits else f"{again.name} is one concept already."
    door.answer(args, {**_value(again), "commits": list(commits)}, text)
    return ExitCode.OK


def _value(concept: Concept) -> dict[str, object]:
    return {
        "id": concept.id,
        "name": concept.name,
        "created": concept.created,
        "updated": concept.updated,
        "keywords": list(concept.keywords),
        "files": list(concept.files),
        "exchanges": list(concept.exchanges),
        "path": concept.path,
    }


def _table(found: Sequence[Concept]) -> str:
    from gitmem.text.terminal import plain

    if not found:
        return "No concepts yet: they are made when a session ends."
    rows = [f"{one.id}  {one.updated[:_DAY]}  {len(one.exchanges):>4}  {one.name}" for one in found]
    return plain("\n".join(rows))
