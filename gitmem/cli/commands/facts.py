"""`gitmem facts`: list, show, edit, retire and confirm facts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gitmem.cli.door import Door
    from gitmem.model.fact.fact import Fact
    from gitmem.store.store import Store

_KINDS = ("decision", "preference", "rule", "solution", "core-logic", "pattern", "issue")
_STATUSES = ("active", "open", "resolved", "superseded", "retired")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem facts`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, prog="gitmem facts")
    listing = actions.add_parser("list", help="list the facts that hold")
    listing.add_argument("--all", action="store_true", help="also resolved, superseded and retired ones")
    listing.add_argument("--kind", choices=_KINDS, help="only facts of this kind")
    listing.add_argument("--stale", action="store_true", help="only facts whose code has changed since")
    listing.add_argument("--json", action="store_true", help="print the list as JSON")
    show = actions.add_parser("show", help="print a fact, where it comes from and what it supersedes")
    show.add_argument("fact", metavar="FACT", help="its id, or an unambiguous prefix of it")
    show.add_argument("--json", action="store_true", help="print it as JSON")
    edit = actions.add_parser("edit", help="change what a fact says")
    edit.add_argument("fact", metavar="FACT")
    edit.add_argument("text", metavar="TEXT", help="the new text; - reads standard input")
    retire = actions.add_parser("retire", help="mark a fact as no longer true, or an issue as resolved")
    retire.add_argument("fact", metavar="FACT")
    retire.add_argument("--why", default="", metavar="TEXT", help="why, or how it was resolved")
    confirm = actions.add_parser("confirm", help="mark a fact as true; the facts that contradict it are superseded")
    confirm.add_argument("fact", metavar="FACT")
    for parts in (edit, retire, confirm):
        parts.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List, show and correct facts: decisions, rules, preferences, explanations, fixes and commands.

    Facts are learned when a session ends, from what you and the agent said in it, and told when a session starts. Each
    is a file below facts/, which you can also edit. A fact that names files is stale once their code has changed;
    'confirm' says that it still holds.

    With --json: a fact is {id, kind, status, description, created, updated, confidence, sources, files, commit, stale,
    review, superseded_by, path}; 'list' prints a list of them, 'show' adds {text, origin, supersedes, keywords},
    'edit', 'retire' and 'confirm' add {commits}.

    Examples:
      gitmem facts list
      gitmem facts list --stale
      gitmem facts show d4f7k2
      gitmem facts edit d4f7k2 "Use uv, not pnpm."
      gitmem facts retire d4f7k2 --why "the project moved to pixi"
      gitmem facts confirm d4f7k2

    """
    store = door.settled(args)
    if args.action == "list":
        return _list(store, args, door)
    from gitmem.memory.facts.edit import confirm, edit, find_fact, retire

    known = find_fact(store, args.fact)
    if args.action == "show":
        return _show(store, known, args, door)
    if args.action == "edit":
        commits = edit(store, known, door.stdin.read() if args.text == "-" else args.text)
    elif args.action == "retire":
        commits = retire(store, known, args.why)
    else:
        commits = confirm(store, known, project_folder(store, args, door))
    again = find_fact(store, known.id)
    value = {**_value(again, ()), "commits": list(commits)}
    door.answer(
        args,
        value,
        f"{again.id} is {_state(again, ())} now." if commits else f"{again.id} was {_state(again, ())} already.",
    )
    return ExitCode.OK


def project_folder(store: Store, args: argparse.Namespace, door: Door) -> str:
    """Return the folder of the project whose code facts speak of: the store's, else the one the command is in."""
    from gitmem.project.work_tree import work_tree_of

    folder = os.path.dirname(store.root)
    return folder if work_tree_of(folder)[0] else door.folder(args)


def _list(store: Store, args: argparse.Namespace, door: Door) -> int:
    from gitmem.model.fact.holds import in_force
    from gitmem.project.code import project_code
    from gitmem.store.headers.facts import known_facts

    every = known_facts(store)
    code = project_code(project_folder(store, args, door), store.context.environ)
    found = every if args.all else in_force(every)
    found = [fact for fact in found if args.kind in (None, fact.kind)]
    stale = code.changed_since(found) if code else {}
    found = sorted((fact for fact in found if fact.id in stale or not args.stale), key=_order)
    text = _table(found, stale) if found else _nothing(args, code is not None)
    door.answer(args, [_value(fact, stale.get(fact.id, ())) for fact in found], text)
    return ExitCode.OK


def _order(fact: Fact) -> tuple[int, datetime, str]:
    return _KINDS.index(fact.kind), fact.created, fact.id


def _nothing(args: argparse.Namespace, in_git: bool) -> str:
    if args.stale:
        return (
            "No fact is stale."
            if in_git
            else "The project is not a git repository, so gitmem cannot tell which facts are stale."
        )
    return (
        "No facts yet: they are learned when a session ends."
        if not args.kind
        else f"There is no fact of the kind {args.kind}."
    )


def _show(store: Store, known: Fact, args: argparse.Namespace, door: Door) -> int:
    from gitmem.memory.facts.edit import read_fact
    from gitmem.project.code import project_code
    from gitmem.text.terminal import plain

    fact = read_fact(store, known)
    code = project_code(project_folder(store, args, door), store.context.environ)
    stale = code.changed_since([known]).get(known.id, ()) if code else ()
    if args.json:
        value = {**_value(known, stale), "text": fact.text, "origin": dict(fact.origin)}
        value |= {"supersedes": list(fact.supersedes), "keywords": list(fact.keywords)}
        print(json.dumps(value, ensure_ascii=False, indent=2), file=door.out)
        return ExitCode.OK
    about = (
        ("kind", known.kind),
        ("status", _state(known, stale)),
        ("since", f"{known.created:%Y-%m-%d}"),
        ("confidence", "" if known.confidence is None else f"{known.confidence:g}"),
        ("origin", ", ".join(f"{key} {value}" for key, value in fact.origin.items())),
        ("said in", ", ".join(known.sources)),
        ("files", ", ".join(known.files) + (f" as of {known.commit}" if known.commit else "")),
        ("supersedes", ", ".join(fact.supersedes)),
        ("file", known.path),
    )
    lines = [fact.text, "", *(f"{name + ':':<12}{value}" for name, value in about if value)]
    print(plain("\n".join(lines)), file=door.out)
    return ExitCode.OK


def _value(fact: Fact, stale: Sequence[str]) -> dict[str, object]:
    return {
        "id": fact.id,
        "kind": fact.kind,
        "status": fact.status,
        "description": fact.description,
        "created": fact.created.isoformat(),
        "updated": fact.updated.isoformat() if fact.updated else None,
        "confidence": fact.confidence,
        "sources": list(fact.sources),
        "files": list(fact.files),
        "commit": fact.commit or None,
        "stale": list(stale),
        "review": list(fact.review),
        "superseded_by": fact.superseded_by or None,
        "path": fact.path,
    }


def _state(fact: Fact, stale: Sequence[str]) -> str:
    """Return how a fact stands, in words."""
    words = fact.status + (f" by {fact.superseded_by}" if fact.superseded_by else "")
    words += f", contradicts {', '.join(fact.review)}" if fact.review else ""
    return words + (f", stale: {', '.join(stale)} changed since {fact.commit[:7]}" if stale else "")


def _table(found: Sequence[Fact], stale: Mapping[str, Sequence[str]]) -> str:
    from gitmem.text.terminal import plain

    lines: list[str] = []
    kind = ""
    for fact in found:
        if fact.kind != kind:
            kind = fact.kind
            lines += ["", f"{kind}:"] if lines else [f"{kind}:"]
        state = _state(fact, stale.get(fact.id, ()))
        note = "" if state in ("active", "open") else f"  ({state})"
        lines.append(f"  {fact.id}  {fact.created:%Y-%m-%d}  {fact.description}{note}")
    return plain("\n".join(lines))
