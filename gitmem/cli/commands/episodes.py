"""`gitmem episodes`: list, find and print finished tasks, and say whether one helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.document import episode_value, find_episode, show_episode
from gitmem.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.model.learned.episode import Episode
    from gitmem.store.store import Store

_TYPES = ("bug_fix", "feature", "refactor", "test", "docs", "question", "setup", "review")
_OUTCOMES = ("success", "partial", "failed", "interrupted")
_LIMIT = 20
_FOUND = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem episodes`."""
    from gitmem.cli.arguments import count as number

    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem episodes")
    listing = actions.add_parser("list", help="list the episodes, the newest last")
    for part in (parser, listing):
        part.add_argument("-n", "--limit", type=number, metavar="N", help=f"at most N (default: {_LIMIT}); 0 for all")
        part.add_argument("--json", action="store_true", help="print the result as JSON")
    finding = actions.add_parser("find", help="find those like a task, or with an error, the best first")
    finding.add_argument("text", nargs="*", metavar="TEXT", help="a task in words")
    finding.add_argument("--type", choices=_TYPES, help="of this type only")
    finding.add_argument("--outcome", choices=_OUTCOMES, help="that ended so only")
    finding.add_argument("--file", action="append", default=[], help="that changed this file (repeat for several)")
    finding.add_argument("--error", metavar="FILE", help="with the error in this output; - reads standard input")
    finding.add_argument("--limit", type=int, default=_FOUND, metavar="N", help=f"at most so many (default: {_FOUND})")
    finding.add_argument("--json", action="store_true", help="print the result as JSON")
    for name, line in (("show", "print one"), ("good", "say that one helped"), ("bad", "say that one did not help")):
        action = actions.add_parser(name, help=line)
        action.add_argument("episode", metavar="ID", help="its id, or an unambiguous prefix of it")
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List finished tasks with how they ended; find those like another, print one, or say whether it helped.

    When a session ends, each of its tasks becomes a file below episodes/. One that helped is found sooner, one that did
    not later; 'gitmem cleanup' takes out old ones that never helped. With --error, which takes the output of a failed
    command, only those with that error are found, those that succeeded first.

    With --json: an episode is {id, task, type, complexity, outcome, created, files, exchanges, seconds, tokens,
    mended_in, told, usefulness, path}; complexity is low, medium or high; seconds is the time that its turns took,
    tokens by how many the context grew, mended_in the seconds until its slowest error was mended, each 0 if unknown.
    'list', which is the default, prints a list of them, and so does 'find', which adds {score, likeness}; 'show' adds
    {text}, 'good' and 'bad' add {commit}.

    Examples:
      gitmem episodes
      gitmem episodes find "retries of the importer" --outcome success
      pytest 2>&1 | gitmem episodes find --error -
      gitmem episodes show e4f7k
      gitmem episodes good e4f7k

    """
    from gitmem.memory.learned.counts import judge
    from gitmem.memory.learned.read import counts, newest_episodes
    from gitmem.model.learned.counts import Count
    from gitmem.text.terminal import plain

    store = door.settled(args)
    all_counts = counts(store)
    if args.action in {None, "list"}:
        found, more = newest_episodes(store, _LIMIT if args.limit is None else args.limit)
        text = "\n".join(_row(one) for one, _ in found) or "No episodes yet: they are made when a session ends."
        door.answer(
            args, [episode_value(one, path, all_counts.get(one.id, Count())) for one, path in found], plain(text)
        )
        if more and args.limit is None and not args.json:
            door.notices((f"These are the newest {len(found)} episodes; -n 0 lists all.",))
        return ExitCode.OK
    if args.action == "find":
        return _find(store, args, door)
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


def _find(store: Store, args: argparse.Namespace, door: Door) -> int:
    """Print the episodes like a task, or with an error."""
    from gitmem.memory.learned.similar import similar
    from gitmem.model.learned.task import TaskType
    from gitmem.model.session.outcome import Outcome
    from gitmem.text.terminal import plain

    text, error = " ".join(args.text), door.read_output(args, args.error)
    given = bool(text.strip() or args.file or args.type or args.outcome)
    if not (given or error.strip()):
        raise UsageError("There is nothing to find.", "gitmem episodes find 'add retries', or --error FILE")
    kind, outcome = TaskType(args.type) if args.type else None, Outcome(args.outcome) if args.outcome else None
    found = similar(store, text, files=args.file, error=error, type=kind, outcome=outcome, limit=max(args.limit, 1))
    values = [
        {**episode_value(one.episode, one.path, one.count), "score": one.score, "likeness": one.likeness}
        for one in found
    ]
    door.answer(args, values, plain("\n".join(_row(one.episode) for one in found)))
    if not found and not args.json:
        door.notices(("No episode matches.",))
    return ExitCode.OK


def _row(episode: Episode) -> str:
    from gitmem.model.learned.episode import ending

    return f"{episode.id}  {episode.created:%Y-%m-%d}  {ending(episode):11}  {episode.task}"
