"""`gitmem episodes`: list and print finished tasks, and say whether one helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, NotFoundError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.model.learned.counts import Count
    from gitmem.model.learned.episode import Episode
    from gitmem.store.store import Store

_SHORTEST = 4  # characters of an id


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem episodes`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, prog="gitmem episodes")
    listing = actions.add_parser("list", help="list the episodes, the newest last")
    listing.add_argument("--json", action="store_true", help="print the result as JSON")
    for name, line in (("show", "print one"), ("good", "say that one helped"), ("bad", "say that one did not help")):
        action = actions.add_parser(name, help=line)
        action.add_argument("episode", metavar="ID", help="its id, or an unambiguous prefix of it")
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List finished tasks with how they ended; print one, or say whether it helped.

    When a session ends, each of its tasks becomes a file below episodes/. One that helped is found sooner, one that did
    not later; 'gitmem cleanup' takes out old ones that never helped.

    With --json: an episode is {id, task, type, complexity, outcome, created, files, exchanges, told, usefulness, path};
    complexity is low, medium or high. 'list' prints a list of them, 'show' adds {text}, 'good' and 'bad' add {commit}.

    Examples:
      gitmem episodes list
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
    if args.action == "list":
        found = [(one, path) for path in episode_paths(store) if (one := read_episode(store, path))]
        found.sort(key=lambda pair: (pair[0].created, pair[0].id))
        rows = [f"{one.id}  {one.created:%Y-%m-%d}  {one.outcome:7}  {one.task}" for one, _ in found]
        text = "\n".join(rows) or "No episodes yet: they are made when a session ends."
        door.answer(args, [_value(one, path, all_counts.get(one.id, Count())) for one, path in found], plain(text))
        return ExitCode.OK
    episode, path = _find(store, args.episode)
    if args.action == "show":
        body = (store.read(path) or b"").decode("utf-8", "replace")
        value = {**_value(episode, path, all_counts.get(episode.id, Count())), "text": body}
        door.answer(args, value, plain(f"{body.rstrip()}\n\n{path}"))
        return ExitCode.OK
    helped = args.action == "good"
    commit = judge(store, episode.id, helped=helped)
    count = counts(store)[episode.id]
    message = (
        f"Noted that {episode.id} {'helped' if helped else 'did not help'}: its usefulness is {count.usefulness:.2f}."
    )
    door.answer(args, {**_value(episode, path, count), "commit": commit}, message)
    return ExitCode.OK


def _find(store: Store, prefix: str) -> tuple[Episode, str]:
    from gitmem.memory.learned.cleanup import episode_paths
    from gitmem.memory.learned.read import read_episode

    wanted = prefix.strip().removeprefix("^").casefold()
    paths = [path for path in episode_paths(store) if path.rpartition("/")[2].startswith(wanted)]
    episode = read_episode(store, paths[0]) if len(paths) == 1 and len(wanted) >= _SHORTEST else None
    if episode is None:
        reason = "More than one episode begins" if len(paths) > 1 else "There is no episode that begins"
        raise NotFoundError(f"{reason} with {prefix[:80]!r}.", "'gitmem episodes list' lists them with their ids.")
    return episode, paths[0]


def _value(episode: Episode, path: str, count: Count) -> dict[str, object]:
    return {
        "id": episode.id,
        "task": episode.task,
        "type": episode.type.value,
        "complexity": episode.complexity,
        "outcome": episode.outcome.value,
        "created": episode.created.isoformat(),
        "files": list(episode.files),
        "exchanges": list(episode.exchanges),
        "told": count.retrieved,
        "usefulness": round(count.usefulness, 4),
        "path": path,
    }
