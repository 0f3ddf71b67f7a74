"""`gitmem replay`: import recorded sessions."""

from __future__ import annotations

import os

from gitmem.cli.terminal import Bar
from gitmem.errors import ExitCode, NotFoundError, UsageError
from gitmem.hosts.all import NAMES, file_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from gitmem.cli.door import Door
    from gitmem.memory.sessions.replay import Replayed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem replay`."""
    parser.add_argument("--from", dest="host", choices=NAMES, metavar="AGENT", help=f"whose: {', '.join(NAMES)}")
    parser.add_argument("--since", metavar="DATE", help="only turns from this day on, such as 2026-11-01")
    parser.add_argument("transcripts", nargs="*", metavar="TRANSCRIPT", help="a transcript, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Import recorded sessions of an agent, with their own times, as if their hooks had just been called.

    Without TRANSCRIPT, --from imports this project's sessions from where the agent keeps them. A second import adds
    nothing.

    With --json: {files: [{path, sessions, turns, unread, saved, transcript, archives, notices}], turns, saved,
    archives}.

    Examples:
      gitmem replay session.jsonl
      gitmem replay ~/.claude/projects/-home-me-project
      gitmem replay --from codex --since 2026-11-01

    """
    from gitmem.memory.sessions.replay import find_transcripts, replay
    from gitmem.text.quantities import count

    since = _day(args.since)
    paths = [os.path.join(door.cwd, name) for name in args.transcripts] or _own(args, door)
    missing = [path for path in paths if not os.path.exists(path) and not os.path.exists(file_of(path))]
    if missing:
        raise NotFoundError(f"{missing[0]} does not exist.", "Give the transcript of a session, or a folder of them.")
    store = door.settled(args)
    found = list(dict.fromkeys(one for path in paths for one in find_transcripts(path)))
    done: list[Replayed] = []
    bar = Bar(door.err)
    for path in found:
        bar.show(len(done), len(found), os.path.basename(path))
        done.append(replay(store, path, args.host or "", since))
    bar.clear()
    for one in done:
        door.notices(one.notices)
    saved, turns = sum(one.saved for one in done), sum(one.turns for one in done)
    archives = [archive for one in done for archive in one.archives]
    value = {"files": [one._asdict() for one in done], "turns": turns, "saved": saved, "archives": archives}
    lines = [door.rotated(archive) for archive in archives]
    outcome = f"{saved} saved, {turns - saved} already there or empty"
    lines.append(f"{count(len(found), 'transcript')}, {count(turns, 'turn')}: {outcome}.")
    door.answer(args, value, "\n".join(lines))
    door.maintain_later(store, much=True)
    # A file in a folder may be anything; a file that a person names should hold a transcript.
    failed = not turns and any(one.notices and one.path in paths for one in done)
    return ExitCode.FAILURE if failed else ExitCode.OK


def _own(args: argparse.Namespace, door: Door) -> list[str]:
    """Return the transcripts of this project that a host keeps.

    Raises:
        UsageError: no host is named.
        NotFoundError: it keeps none.

    """
    from gitmem.cli.host import place_of
    from gitmem.hosts.all import find_host
    from gitmem.hosts.host import Scope

    if args.host is None:
        raise UsageError("There is nothing to import.", "Give a transcript, a folder of them, or --from and an agent.")
    host = find_host(args.host)
    found = host.sessions(place_of(args, door, Scope.PROJECT)) if host.sessions else []
    if not found:
        raise NotFoundError(
            f"{host.title} keeps no sessions of this project.", "Give a transcript or a folder of them."
        )
    return sorted(found, key=lambda path: (os.path.getmtime(file_of(path)), path))


def _day(text: str | None) -> datetime | None:
    """Return the beginning of a day in this machine's time.

    Raises:
        UsageError: the text is no date.

    """
    from datetime import datetime

    try:
        return None if text is None else datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise UsageError(f"{text} is no date.", "Write it as 2026-11-01.") from None
