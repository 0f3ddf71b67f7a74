"""`gitmem replay`: import recorded sessions."""

from __future__ import annotations

import os

from gitmem.cli.terminal import Bar
from gitmem.errors import ExitCode, NotFoundError

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.memory.replay import Replayed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem replay`."""
    parser.add_argument("transcripts", nargs="+", metavar="TRANSCRIPT", help="a transcript, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Import recorded sessions of an agent, with their own times, as if their hooks had just been called.

    A second import adds nothing.

    With --json: {files: [{path, sessions, turns, unread, saved, transcript, archives, notices}], turns, saved,
    archives}.

    Examples:
      gitmem replay session.jsonl
      gitmem replay ~/.claude/projects/-home-me-project

    """
    from gitmem.memory.replay import find_transcripts, replay
    from gitmem.text.quantities import count

    paths = [os.path.join(door.cwd, name) for name in args.transcripts]
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise NotFoundError(f"{missing[0]} does not exist.", "Give the transcript of a session, or a folder of them.")
    store = door.settled(args)
    found = list(dict.fromkeys(one for path in paths for one in find_transcripts(path)))
    done: list[Replayed] = []
    bar = Bar(door.err)
    for path in found:
        bar.show(len(done), len(found), os.path.basename(path))
        done.append(replay(store, path))
    bar.clear()
    for one in done:
        door.notices(one.notices)
    saved, turns = sum(one.saved for one in done), sum(one.turns for one in done)
    archives = [archive for one in done for archive in one.archives]
    value = {"files": [one._asdict() for one in done], "turns": turns, "saved": saved, "archives": archives}
    lines = [f"[GITMEM_ROTATE] file={archive}" for archive in archives]
    outcome = f"{saved} saved, {turns - saved} already there or empty"
    lines.append(f"{count(len(found), 'transcript')}, {count(turns, 'turn')}: {outcome}.")
    door.answer(args, value, "\n".join(lines))
    door.maintain_later(store)
    return ExitCode.OK
