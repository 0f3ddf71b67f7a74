"""What was learned from sessions: concepts, episodes, patterns, knowledge."""

from __future__ import annotations

import argparse

from gitmem.cli.app import OWN, App
from gitmem.cli.app import whole_number as number
from gitmem.cli.document import episode_value, find_episode, pattern_value, show_episode, show_pattern
from gitmem.cli.output import table
from gitmem.document.document import Document
from gitmem.errors import UsageError
from gitmem.history.authors import People
from gitmem.history.named import named
from gitmem.lessons.concept import Concept
from gitmem.lessons.concepts import find_concept, known_concepts, merge, split
from gitmem.lessons.counts import Count
from gitmem.lessons.episode import Episode, ending
from gitmem.lessons.episodes import similar
from gitmem.lessons.knowledge_document import Knowledge, KnowledgeKind
from gitmem.lessons.learn_project import learn_project
from gitmem.lessons.outcome_counts import judge
from gitmem.lessons.project_knowledge import command_lines, read_commands
from gitmem.lessons.read import counts, known_knowledge, known_patterns, newest_episodes
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.state import TaskType
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain

_DAY = 10  # characters of a moment that are its date


def run_learned(args: argparse.Namespace, app: App) -> None:
    """Count what was learned from sessions: tasks, errors, concepts and kinds of project knowledge.

    With --json: {episodes, patterns, concepts, knowledge}, numbers.

    Examples:
      gitmem learned
      gitmem learned episodes

    """
    store = app.settled(args)
    episodes, _ = newest_episodes(store, 0)
    numbers = {
        "episodes": len(episodes),
        "patterns": len(known_patterns(store)),
        "concepts": len(known_concepts(store)),
        "knowledge": len(known_knowledge(store)),
    }
    rows = [(name, f"{number:,}", f"gitmem {name}") for name, number in numbers.items()]
    app.answer(args, numbers, table(rows), OWN)


def configure_concepts(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem concepts")
    parser.set_defaults(action="list")
    actions.add_parser("list", help="list the concepts, the one worked on last at the end (default)")
    show = actions.add_parser("show", help="print a concept with its exchanges")
    show.add_argument("concept", metavar="CONCEPT", help="its id or name, or an unambiguous prefix of it")
    merge = actions.add_parser("merge", help="merge two concepts under the name of the first")
    merge.add_argument("concept", metavar="CONCEPT")
    merge.add_argument("other", metavar="OTHER")
    split = actions.add_parser("split", help="move some exchanges of a concept to a new one")
    split.add_argument("concept", metavar="CONCEPT")
    split.add_argument("exchanges", metavar="EXCHANGE", nargs="+", help="ids, or unambiguous prefixes of them")
    split.add_argument("--name", required=True, help="the subject of the new concept")


def run_concepts(args: argparse.Namespace, app: App) -> None:
    """List concepts, groups of exchanges on one subject; print one, or merge and split them.

    When a session ends, its exchanges are grouped by the files and keywords they have in common. Each concept is a file
    below concepts/, with links to its sessions; you can change its name there. A hit that is an exchange names its
    concept.

    With --json: a concept is {id, name, created, updated, keywords, files, exchanges, path}; 'list' prints a list of
    them, 'show' adds {text}, 'merge' and 'split' add {commits}.

    Examples:
      gitmem concepts
      gitmem concepts show "resume.go"
      gitmem concepts merge k4f7 k9q0
      gitmem concepts split k4f7 01kezfppev 01kezfstjx --name "listing archived sessions"

    """
    store = app.settled(args)
    if args.action == "list":
        found = sorted(known_concepts(store), key=lambda one: (one.exchanges[-1:], one.id))
        rows = [f"{one.id}  {one.updated[:_DAY]}  {len(one.exchanges):>4}  {one.name}" for one in found]
        text = plain("\n".join(rows)) or "No concepts yet: they are made when a session ends."
        app.answer(args, [_value(one) for one in found], text, "concepts" if found else "")
        return
    concept = find_concept(store, args.concept)
    if args.action == "show":
        body = named(store, Document.parse(store.read(concept.path) or b"").body, concept.path)
        text = plain(f"{body.rstrip()}\n\n{concept.id}, in {concept.path}")
        app.answer(args, {**_value(concept), "text": body}, text, f"concept {concept.id}")
        return
    if args.action == "merge":
        commits = merge(store, concept, find_concept(store, args.other))
    else:
        commits = split(store, concept, args.exchanges, args.name)
    again = find_concept(store, concept.id)
    size = count(len(again.exchanges), "exchange")
    text = f"{again.name} has {size} now." if commits else f"{again.name} is one concept already."
    app.answer(args, {**_value(again), "commits": list(commits)}, text)


def _value(concept: Concept) -> dict[str, object]:
    return fields(concept, "id name created updated keywords files exchanges path")


_TYPES = ("bug_fix", "feature", "refactor", "test", "docs", "question", "setup", "review")
_OUTCOMES = ("success", "partial", "failed", "interrupted")
_LIMIT = 20
_FOUND = 5


def configure_episodes(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem episodes")
    listing = actions.add_parser("list", help="list the episodes, the newest last")
    for part in (parser, listing):
        part.add_argument("-n", "--limit", type=number, metavar="N", help=f"at most N (default: {_LIMIT}); 0 for all")
    finding = actions.add_parser("find", help="find those like a task, or with an error, the best first")
    finding.add_argument("text", nargs="*", metavar="TEXT", help="a task in words")
    finding.add_argument("--type", choices=_TYPES, help="of this type only")
    finding.add_argument("--outcome", choices=_OUTCOMES, help="that ended so only")
    finding.add_argument("--file", action="append", default=[], help="that changed this file (repeat for several)")
    finding.add_argument("--error", metavar="FILE", help="with the error in this output; - reads standard input")
    finding.add_argument("--limit", type=int, default=_FOUND, metavar="N", help=f"at most so many (default: {_FOUND})")
    for name, line in (("show", "print one"), ("good", "say that one helped"), ("bad", "say that one did not help")):
        action = actions.add_parser(name, help=line)
        action.add_argument("episode", metavar="ID", help="its id, or an unambiguous prefix of it")


def run_episodes(args: argparse.Namespace, app: App) -> None:
    """List finished tasks with how they ended; find those like another, print one, or say whether it helped.

    When a session ends, each of its tasks becomes a file below episodes/. One that helped is found sooner, one that did
    not later; 'gitmem cleanup' takes out old ones that never helped. With --error, which takes the output of a failed
    command, only those with that error are found, those that succeeded first.

    With --json: an episode is {id, task, type, outcome, created, files, exchanges, seconds, tokens, mended_in,
    told, usefulness, path}; seconds is the time that its turns took,
    tokens by how many the context grew, mended_in the seconds until its slowest error was mended, each 0 if unknown.
    'list', which is the default, prints a list of them, and so does 'find', which adds {score, likeness}; 'show' adds
    {text}, 'good' and 'bad' add {commit}.

    Examples:
      gitmem episodes
      gitmem episodes find "retries of the importer" --outcome success
      pytest 2>&1 | gitmem episodes find --error -
      gitmem episodes show e4f7k
      gitmem episodes good e4f7k
      gitmem episodes bad e4f7k

    """
    store = app.settled(args)
    all_counts = counts(store)
    if args.action in {None, "list"}:
        found, more = newest_episodes(store, _LIMIT if args.limit is None else args.limit)
        text = "\n".join(_row(one) for one, _ in found) or "No episodes yet: they are made when a session ends."
        values = [episode_value(one, path, all_counts.get(one.id, Count())) for one, path in found]
        app.answer(args, values, plain(text), "episodes" if found else "")
        if more and args.limit is None and not args.json:
            app.notices((f"These are the newest {len(found)} episodes; -n 0 lists all.",))
        return
    if args.action == "find":
        _find(store, args, app)
        return
    if args.action == "show":
        show_episode(store, args.episode, args, app)
        return
    episode, path = find_episode(store, args.episode)
    helped = args.action == "good"
    commit = judge(store, episode.id, helped=helped)
    now, what = counts(store)[episode.id], "helped" if helped else "did not help"
    message = f"Noted that {episode.id} {what}: its usefulness is {now.usefulness:.2f}."
    app.answer(args, {**episode_value(episode, path, now), "commit": commit}, message, OWN)


def _find(store: Store, args: argparse.Namespace, app: App) -> None:
    """Print the episodes like a task, or with an error."""
    text, error = " ".join(args.text), app.read_output(args, args.error)
    given = bool(text.strip() or args.file or args.type or args.outcome)
    if not (given or error.strip()):
        raise UsageError("There is nothing to find.", "gitmem episodes find 'add retries', or --error FILE")
    kind, outcome = TaskType(args.type) if args.type else None, Outcome(args.outcome) if args.outcome else None
    found = similar(store, text, files=args.file, error=error, type=kind, outcome=outcome, limit=max(args.limit, 1))
    values = [
        {**episode_value(one.episode, one.path, one.count), "score": one.score, "likeness": one.likeness}
        for one in found
    ]
    app.answer(args, values, plain("\n".join(_row(one.episode) for one in found)), "episodes")
    if not found and not args.json:
        app.notices(("No episode matches.",))


def _row(episode: Episode) -> str:
    return f"{episode.id}  {episode.created:%Y-%m-%d}  {ending(episode):11}  {episode.task}"


def configure_patterns(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem patterns")
    actions.add_parser("list", help="list the errors that came, the last one first")
    show = actions.add_parser("show", help="print one with all that was tried")
    show.add_argument("pattern", metavar="ID", help="its id, or an unambiguous prefix of it")


def run_patterns(args: argparse.Namespace, app: App) -> None:
    """List the errors of sessions with their number, last date and mend, or print one.

    They are learned when a session ends, without a model: each is a file below patterns/bugs/. An error that comes
    again with other paths, numbers and versions is the same one. 'stale' says that the files it was about have
    changed a lot since.

    With --json: a pattern is {id, error: {type, message, frames}, created, updated, seen, commands, files, causes,
    solutions, stale, path}, a solution {text, worked, failed, commands, success_rate, confidence}, a cause
    {text, said}; 'seen', 'worked', 'failed' and 'said' are ids of exchanges, 'commands' the programs that failed.
    'list', which is the default, prints a list of them; 'show' adds {mended_in}: the average seconds until it
    was mended, or null.

    Examples:
      gitmem patterns
      gitmem patterns show b4f7k2m9q0x
      gitmem patterns list --json

    """
    store = app.settled(args)
    if args.action != "show":
        found = known_patterns(store)
        rows = []
        for one in found:
            mend, stale = f" → {best.text}" if (best := one.best()) else "", " (stale)" * one.stale
            rows.append(f"{one.id}  {one.updated:%Y-%m-%d}  {len(one.seen):>3}  {one.title}{mend}{stale}")
        text = "\n".join(rows) or "No errors are known yet: they are learned when a session ends."
        app.answer(args, [pattern_value(one) for one in found], plain(text), "patterns" if found else "")
        return
    show_pattern(store, args.pattern, args, app)


def configure_knowledge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        nargs="?",
        choices=[kind.value for kind in KnowledgeKind],
        help="print this kind alone, with its sources",
    )
    parser.add_argument("--learn", action="store_true", help="read the project anew first")


def run_knowledge(args: argparse.Namespace, app: App) -> None:
    """Print knowledge of the project: structure, stack, commands, hotspots, changes.

    Once a day gitmem reads it in the background from the project's manifests, settings and git history, and from the
    sessions; it runs no code of the project. Each kind is a file below patterns/project/, to which you may add sections
    of your own.

    With --json: a list of {kind, lines, files, sources, confidence, commit, updated, path, author}; 'files' are its
    sources in the project, 'sources' ids of exchanges, 'author' is null if it is you.

    Examples:
      gitmem knowledge
      gitmem knowledge commands
      gitmem knowledge --learn --json

    """
    store = app.settled(args)
    if args.learn:
        learn_project(store)
    documents = [
        (known, command_lines([*read_commands(data).values()], counted=True) or known.lines)
        if known.kind is KnowledgeKind.COMMANDS
        else (known, known.lines)
        for known, data in known_knowledge(store)
        if args.kind in (None, known.kind.value)
    ]
    people = People(store)
    whose = {known.kind: people.whose("", known.kind.path) for known, _ in documents}
    texts = (_text(known, lines, whose[known.kind], sources=bool(args.kind)) for known, lines in documents if lines)
    text = "\n\n".join(texts)
    empty = "Nothing is known yet. 'gitmem knowledge --learn' reads the project now."
    values = [{**_knowledge_value(known, lines), "author": whose[known.kind] or None} for known, lines in documents]
    app.answer(args, values, plain(text or empty), "knowledge" if text else "")


def _knowledge_value(known: Knowledge, lines: list[str] | tuple[str, ...]) -> dict[str, object]:
    return {
        "kind": known.kind.value,
        "lines": list(lines),
        **fields(known, "files sources confidence commit"),
        "updated": known.updated.isoformat() if known.updated else None,
        "path": known.kind.path,
    }


def _text(known: Knowledge, lines: list[str] | tuple[str, ...], author: str, *, sources: bool) -> str:
    day = f", {known.updated:%Y-%m-%d}" if known.updated else ""
    by = f", by {author}" if author else ""
    text = [
        f"{known.kind.value.capitalize()} (confidence {known.confidence:.1f}{day}{by})",
        *(f"  {line}" for line in lines),
    ]
    if sources:
        learned = [*known.files, *known.sources]
        text += ["", *([f"Learned from: {' '.join(learned)}"] if learned else [])]
        text.append(f"In {known.kind.path}")
    return "\n".join(text)
