"""`gitmem episodes`: list and print finished tasks, and say whether one helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.document import episode_value, find_episode, show_episode
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem episodes`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem episodes")
    listing = actions.add_parser("list", help="list the episodes, the newest last")
    for part in (parser, listing):
        part.add_argument("--json", action="store_true", help="print the result as JSON")
    for name, line in (("show", "print one"), ("good", "say that one helped"), ("bad", "say that one did not help")):
        action = actions.add_parser(name, help=line)
        action.add_argument("episode", metavar="ID", help="its id, or an unambiguous prefix of it")
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List finished tasks with how they ended; print one, or say whether it helped.

    When a session ends, each of its tasks becomes a file below episodes/. One that helped is found sooner, one that did
    not later; 'gitmem cleanup' takes out old ones that never helped.

    With --json: an episode is {id, task, type, complexity, outcome, created, files, exchanges, seconds, tokens,
    mended_in, told, usefulness, path}; complexity is low, medium or high; seconds is the time that its turns took,
    tokens by how many the context grew, mended_in the seconds until its slowest error was mended, each 0 if unknown.
    'list', which is the default, prints a list of them, 'show' adds {text}, 'good' and 'bad' add {commit}.

    Examples:
      gitmem episodes
      gitmem episodes show e4f7k
      gitmem episodes good e4f7k

    """
    from gitmem.memory.learned.cleanup import episode_paths
    from gitmem.memory.learned.counts import judge
    from gitmem.memory.learned.read import counts, read_episode
    from gitmem.model.learned.counts import Count
    from gitmem.text.terminal import plain

    store = door.settled(args)
    all_counts = counts(store)
    if args.action in {None, "list"}:
        found = [(one, path) for path in episode_paths(store) if (one := read_episode(store, path))]
        found.sort(key=lambda pair: (pair[0].created, pair[0].id))
        rows = [f"{one.id}  {one.created:%Y-%m-%d}  {one.outcome:7}  {one.task}" for one, _ in found]
        text = "\n".join(rows) or "No episodes yet: they are made when a session ends."
        door.answer(
            args, [episode_value(one, path, all_counts.get(one.id, Count())) for one, path in found], plain(text)
        )
        return ExitCode.OK
    if args.action == "show":
        show_episode(store, args.episode, args, door)
        return ExitCode.OK
    episode, path = find_episode(store, args.episode)
    helped = args.action == "good"
    commit = judge(store, episode.id, helped=helped)
    count = counts(store)[episode.id]
    message = (
        f"Noted that {episode.id} {'helped' if helped else 'did not help'}: its usefulness is {count.usefulness:.2f}."
    )
    door.answer(args, {**episode_value(episode, path, count), "commit": commit}, message)
    return ExitCode.OK
