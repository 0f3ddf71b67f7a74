"""`gitmem knowledge`: print project knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode
from gitmem.model.knowledge.document import KnowledgeKind

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.model.knowledge.document import Knowledge


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem knowledge`."""
    parser.add_argument(
        "kind",
        nargs="?",
        choices=[kind.value for kind in KnowledgeKind],
        help="print this kind alone, with its sources",
    )
    parser.add_argument("--learn", action="store_true", help="read the project anew first")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print knowledge of the project: structure, stack, conventions, commands, hotspots, changes, people.

    Once a day gitmem reads it in the background from the project's manifests, settings and git history, and from the
    sessions; it runs no code of the project. Each kind is a file below patterns/project/, to which you may add sections
    of your own. Authors are learned only with 'gitmem config knowledge.people true'.

    With --json: a list of {kind, lines, files, sources, confidence, commit, updated, path}; 'files' are its sources in
    the project, 'sources' ids of exchanges.

    Examples:
      gitmem knowledge
      gitmem knowledge commands
      gitmem knowledge --learn --json

    """
    from gitmem.memory.learned.knowledge import learn_project
    from gitmem.memory.learned.read import known_knowledge
    from gitmem.model.knowledge.commands import command_lines, read_commands
    from gitmem.text.terminal import plain

    store = door.settled(args)
    if args.learn:
        learn_project(store)
    documents = [
        (known, command_lines([*read_commands(data).values()], counted=True) or known.lines)
        if known.kind is KnowledgeKind.COMMANDS
        else (known, known.lines)
        for known, data in known_knowledge(store)
        if args.kind in (None, known.kind.value)
    ]
    text = "\n\n".join(_text(known, lines, sources=bool(args.kind)) for known, lines in documents)
    empty = "Nothing is known yet. 'gitmem knowledge --learn' reads the project now."
    door.answer(args, [_value(known, lines) for known, lines in documents], plain(text or empty))
    return ExitCode.OK


def _value(known: Knowledge, lines: list[str] | tuple[str, ...]) -> dict[str, object]:
    return {
        "kind": known.kind.value,
        "lines": list(lines),
        "files": known.files,
        "sources": known.sources,
        "confidence": known.confidence,
        "commit": known.commit,
        "updated": known.updated.isoformat() if known.updated else None,
        "path": known.kind.path,
    }


def _text(known: Knowledge, lines: list[str] | tuple[str, ...], *, sources: bool) -> str:
    day = f", {known.updated:%Y-%m-%d}" if known.updated else ""
    text = [
        f"{known.kind.value.capitalize()} (confidence {known.confidence:.1f}{day})",
        *(f"  {line}" for line in lines),
    ]
    if sources:
        learned = [*known.files, *known.sources]
        text += ["", *([f"Learned from: {' '.join(learned)}"] if learned else [])]
        text.append(f"In {known.kind.path}")
    return "\n".join(text)
