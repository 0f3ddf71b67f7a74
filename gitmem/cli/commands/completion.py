"""Print the help of commands and the shell's completion script, and complete arguments."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from gitmem.archive.summary import archive_summaries
from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.cli.commands.review import waiting
from gitmem.cli.output import SHORT
from gitmem.cli.parser import lines_of, listed, own_commands, parse
from gitmem.cli.table import COMMANDS, FREE, GROUPS, PARTS, unfolded
from gitmem.config.read import rules
from gitmem.errors import ExitCode, GitmemError
from gitmem.history.records import records
from gitmem.history.sessions import sessions
from gitmem.model.fact import FactKind
from gitmem.model.validity import in_force
from gitmem.search.files import list_paths
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_concepts, known_patterns, newest_episodes
from gitmem.store.remotes import remotes
from gitmem.store.store import Store
from gitmem.text.terminal import clipped

Offered = Mapping[str, str]  # words, each with its description
_LISTS = ("63", "33", "64", "37")  # COMP_TYPE of bash when it only lists completions
_NEWEST = 100  # offered commits and episodes
_TEXT = 60  # columns of a fact's text beside its id
_SAID = re.compile(r"[^\w.,/+-]+")  # characters that a shell escapes, or that separate its words
_BLANK = "\u00a0"  # looks like a blank, and needs no escape


def run_completion(args: Args, app: App) -> None:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["gitmem"], shell=args.shell), file=app.out)


def run_help(args: Args, app: App) -> None:
    if not args.all:
        parse(unfolded([*args.words, "--help"]))
    more = {f"gitmem {front} …" if front in COMMANDS else front: parts for front, parts in PARTS.items()}
    groups = {title: lines_of(names) for title, names in {**GROUPS, **more}.items()}
    codes = {str(int(code)): code.meaning for code in ExitCode}
    app.answer(None, listed({**groups, "exit codes": codes}), OWN)


def offer_words(parser: argparse.ArgumentParser, app: App) -> None:
    """Complete arguments of a parser from the store: facts, sessions, settings, paths."""
    for _, _, own in own_commands(parser):
        offer_words(own, app)
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way to list them
        if (offered := _offered_for(action)) is not None:
            action.completer = _completer(offered, app)  # type: ignore[attr-defined]


def offer_parts(parser: argparse.ArgumentParser) -> None:
    """Complete the parts of commands, as their first argument."""
    for name, _, own in own_commands(parser):
        parts = lines_of(PARTS.get(name, ()) if name not in FREE else ())
        first = next(iter(own._get_positional_actions()), None)  # noqa: SLF001
        if isinstance(first, argparse._SubParsersAction):  # noqa: SLF001
            for part, about in parts.items():
                first.add_parser(part, help=about)
        elif parts:
            action = first or own.add_argument("part", nargs="?")
            action.completer = _with_parts(parts, getattr(first, "completer", None))  # type: ignore[attr-defined]


def _with_parts(parts: Offered, more: Callable[..., Offered] | None) -> Callable[..., Offered]:
    def complete(prefix: str, **asked: Any) -> Offered:
        offered = {part: about for part, about in parts.items() if part.startswith(prefix)}
        return {**offered, **(more(prefix, **asked) if more else {})}

    return complete


def _offered_for(action: argparse.Action) -> Callable[[Store], Offered] | None:
    """Return the function that lists completions of an argument, by its name in the usage line."""
    name = action.metavar if isinstance(action.metavar, str) else ""
    if name in _IDS or action.dest in _IDS:
        return _IDS.get(name) or _IDS[action.dest]
    if name == "A B PATH" or name.startswith("PATH"):
        return (lambda store: {**_paths(store), **_facts(store), **_episodes(store)}) if "FACT" in name else _paths
    return None


def _completer(offered: Callable[[Store], Offered], app: App) -> Callable[..., Offered]:
    def complete(prefix: str, parsed_args: argparse.Namespace, **_: object) -> Offered:
        names = {"user": False, "private": False, "directory": None}
        where = Args(**{name: getattr(parsed_args, name, usual) for name, usual in names.items()})
        try:
            found = offered(app._replace(args=where).open())
        except (GitmemError, OSError):
            return {}
        found = {word: about for word, about in found.items() if word.startswith(prefix)}
        # bash shows no descriptions, so append them when it only lists completions.
        listed = app.environ.get("_ARGCOMPLETE_SHELL") == "bash" and app.environ.get("COMP_TYPE") in _LISTS
        if listed and len(found) > 1:
            return {
                _BLANK.join(filter(None, (word, *_SAID.sub(" ", about).split()))): "" for word, about in found.items()
            }
        return found

    return complete


def _clipped(offered: Iterable[tuple[str, str]]) -> Offered:
    return {word: clipped(about.replace("\n", " "), _TEXT) for word, about in offered}


def _facts(store: Store, kinds: Collection[FactKind] = tuple(FactKind)) -> Offered:
    return _clipped((fact.id, fact.description) for fact in in_force(known_facts(store)) if fact.kind in kinds)


def _commits(store: Store) -> Offered:
    return _clipped((record.commit[:SHORT], record.subject) for record in records(store, limit=_NEWEST))


def _episodes(store: Store) -> Offered:
    return _clipped((episode.id, episode.task) for episode, _ in newest_episodes(store, _NEWEST)[0])


def _sessions(store: Store) -> Offered:
    return _clipped((session.id, f"{session.last:%Y-%m-%d} {session.about}") for session in sessions(store))


def _paths(store: Store) -> Offered:
    return dict.fromkeys(list_paths(store.documents), "")


# By the name of an argument in the usage line, or in the program.
_IDS: Mapping[str, Callable[[Store], Offered]] = {
    **dict.fromkeys(("FACT", "OLD", "NEW"), _facts),
    "ISSUE": lambda store: _facts(store, (FactKind.ISSUE,)),
    "CONCEPT": lambda store: _clipped((concept.id, concept.name) for concept in known_concepts(store)),
    "episode": _episodes,
    "pattern": lambda store: _clipped((pattern.id, pattern.title) for pattern in known_patterns(store)),
    "session": _sessions,
    "WHAT": lambda store: _clipped((str(number), item.line) for number, item in enumerate(waiting(store), 1)),
    "remote": lambda store: {remote.name: remote.shown for remote in remotes(store)},
    "ARCHIVE": lambda store: {
        os.path.basename(summary.archive)[:-3]: summary.method or "no summary" for summary in archive_summaries(store)
    },
    "key": lambda _: {key: rule.help for key, rule in rules().items()},
    **dict.fromkeys(("REV", "REV|DATE", "COMMIT"), _commits),
    "COMMIT|^ENTRY|SESSION": lambda store: {**_commits(store), **_sessions(store)},
}
