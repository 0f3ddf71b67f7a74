"""`gitmem patterns`: list recurring errors, with their mends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, NotFoundError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.model.learned.pattern import BugPattern


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem patterns`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem patterns")
    listing = actions.add_parser("list", help="list the errors that came, the last one first")
    show = actions.add_parser("show", help="print one with all that was tried")
    show.add_argument("pattern", metavar="ID", help="its id, or an unambiguous prefix of it")
    for part in (parser, listing, show):
        part.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List the errors of sessions with their number, last date and mend, or print one.

    They are learned when a session ends, without a model: each is a file below patterns/bugs/. An error that comes
    again with other paths, numbers and versions is the same one. 'stale' says that the files it was about have
    changed a lot since.

    With --json: a pattern is {id, error: {type, message, frames}, created, updated, seen, commands, files, solutions,
    stale, path}, a solution {text, worked, failed, success_rate, confidence}; 'seen', 'worked' and 'failed' are ids of
    exchanges. 'list', which is the default, prints a list of them.

    Examples:
      gitmem patterns
      gitmem patterns show b4f7k2m9q0x
      gitmem patterns list --json

    """
    from gitmem.memory.learned.known import known_patterns
    from gitmem.text.terminal import plain

    found = known_patterns(door.settled(args))
    if args.action != "show":
        text = "\n".join(map(_row, found)) or "No errors are known yet: they are learned when a session ends."
        door.answer(args, [_value(one) for one in found], plain(text))
        return ExitCode.OK
    named = [one for one in found if one.id.startswith(args.pattern.strip().casefold())]
    if len(named) != 1:
        raise NotFoundError(
            f"There is {'more than one' if named else 'no'} pattern {args.pattern[:80]!r}.",
            "'gitmem patterns list' lists them with their ids.",
        )
    door.answer(args, _value(named[0]), plain(_whole(named[0])))
    return ExitCode.OK


def _value(pattern: BugPattern) -> dict[str, object]:
    solutions = [
        {**one._asdict(), "success_rate": one.success_rate, "confidence": one.confidence} for one in pattern.solutions
    ]
    error = pattern.error
    return {
        "id": pattern.id,
        "error": {"type": error.type, "message": error.message, "frames": error.frames},
        "created": pattern.created.isoformat(),
        "updated": pattern.updated.isoformat(),
        "seen": pattern.seen,
        "commands": pattern.commands,
        "files": pattern.files,
        "solutions": solutions,
        "stale": pattern.stale,
        "path": pattern.path,
    }


def _row(pattern: BugPattern) -> str:
    best = pattern.best(pattern.error)
    mend = f" → {best.text}" if best else ""
    stale = " (stale)" if pattern.stale else ""
    return f"{pattern.id}  {pattern.updated:%Y-%m-%d}  {len(pattern.seen):>3}  {pattern.title}{mend}{stale}"


def _whole(pattern: BugPattern) -> str:
    from gitmem.text.quantities import count

    lines = [pattern.title, ""]
    lines.append(f"Seen in {count(len(pattern.seen), 'exchange')}, last on {pattern.updated:%Y-%m-%d}.")
    lines += [f"Came with: {', '.join(pattern.commands)}"] if pattern.commands else []
    lines += [f"Files: {', '.join(pattern.files)}"] if pattern.files else []
    lines += ["The files have changed a lot since."] if pattern.stale else []
    for one in sorted(pattern.solutions, key=lambda one: -one.confidence):
        tried = len(one.worked) + len(one.failed)
        lines += ["", f"{one.text}", f"  worked in {len(one.worked)} of {tried}: {' '.join(one.worked or one.failed)}"]
    return "\n".join([*lines, "", f"{pattern.id}, in {pattern.path}"])
