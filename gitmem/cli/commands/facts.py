"""Facts: list, show, add, edit, retire, confirm and resolve."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence

from gitmem.cli.app import OWN, App
from gitmem.cli.hits import as_it_stands, fact_state, fact_value, show_fact
from gitmem.document.entry import MemoryType, Save, clean_tag, clean_text
from gitmem.document.ids import TAIL_BYTES, make_id
from gitmem.errors import RefusedError
from gitmem.facts.edit import confirm, edit, find_fact, pin, retire, supersede_fact
from gitmem.facts.fact import Fact, FactKind
from gitmem.facts.lines import Marks
from gitmem.history.authors import People
from gitmem.sessions.save import save
from gitmem.store.headers import known_facts, known_marks, standing_of
from gitmem.store.store import Store
from gitmem.text.terminal import plain

_KINDS = ("decision", "preference", "rule", "solution", "core-logic", "pattern", "issue")
_SAVED = ("decision", "preference", "rule", "pattern", "issue")  # kinds that are also types of a save
_STATUSES = ("active", "open", "resolved", "superseded", "retired")


def configure_facts(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem facts")
    parser.set_defaults(action="list", all=False, kind=None, stale=False)
    listing = actions.add_parser("list", help="list the facts that hold (default)")
    listing.add_argument("--all", action="store_true", help="also resolved, superseded and retired ones")
    listing.add_argument("--kind", choices=_KINDS, help="only facts of this kind")
    listing.add_argument("--stale", action="store_true", help="only facts whose code has changed since")
    show = actions.add_parser("show", help="print a fact with its origin and the facts it supersedes")
    show.add_argument("fact", metavar="FACT", help="its id, or an unambiguous prefix of it")
    add = actions.add_parser("add", help="add a fact")
    add.add_argument("text", metavar="TEXT", help="the text of the fact; - reads standard input")
    add.add_argument("--kind", choices=_SAVED, default="decision", help="its kind (default: decision)")
    add.add_argument("--tag", action="append", default=[], metavar="TAG", help="a keyword; may be given more than once")
    edit = actions.add_parser("edit", help="change the text of a fact")
    edit.add_argument("fact", metavar="FACT")
    edit.add_argument("text", metavar="TEXT", help="the new text; - reads standard input")
    retire = actions.add_parser("retire", help="mark a fact as no longer true, or an issue as resolved")
    retire.add_argument("fact", metavar="FACT")
    retire.add_argument("--why", default="", metavar="TEXT", help="why, or how it was resolved")
    confirm = actions.add_parser("confirm", help="mark a fact as true; the facts that contradict it are superseded")
    confirm.add_argument("fact", metavar="FACT")
    for name, line in (("pin", "have every session told a fact, before all others"), ("unpin", "no longer do so")):
        actions.add_parser(name, help=line).add_argument("fact", metavar="FACT")
    replace = actions.add_parser("supersede", help="mark a fact as replaced by another one")
    replace.add_argument("fact", metavar="OLD")
    replace.add_argument("successor", metavar="NEW", help="the fact that holds instead")


def run_facts(args: argparse.Namespace, app: App) -> None:
    """List, show, add and correct facts: decisions, rules, preferences, explanations, fixes and commands.

    Facts are learned when a session ends, from what you and the agent said in it, and told when a session starts. Each
    is a file below facts/, which you can also edit. A fact that names files is stale once their code has changed;
    'confirm' says that it still holds.

    With --json: a fact is {id, kind, status, description, created, updated, confidence, sources, files, commit, branch,
    stale, place, review, superseded_by, path}; 'list' prints a list of them with {author}, null where that is you,
    'show' adds {author, text, origin, supersedes, keywords, places, standing, successor}, 'add', 'edit', 'retire',
    'confirm', 'supersede', 'pin' and 'unpin' add {commits}.

    Examples:
      gitmem facts
      gitmem facts list --kind decision
      gitmem facts list --stale
      gitmem facts show d4f7k2
      gitmem facts add "Use uv, not pnpm" --kind rule
      gitmem facts edit d4f7k2 "Use uv, not pnpm."
      gitmem facts retire d4f7k2 --why "the project moved to pixi"
      gitmem facts confirm d4f7k2
      gitmem facts supersede d4f7k2 d9efjx
      gitmem facts pin d4f7k2
      gitmem facts unpin d4f7k2

    """
    act = {"list": _list, "add": _add}.get(args.action, _show_or_change)
    with app.waiting():
        act(app.settled(args), args, app)


def _show_or_change(store: Store, args: argparse.Namespace, app: App) -> None:
    known = find_fact(store, args.fact)
    if args.action == "show":
        show_fact(store, known, args, app)
        return
    before = {fact.id: fact for fact in known_facts(store)}
    if args.action == "edit":
        commits = edit(store, known, app.stdin.read() if args.text == "-" else args.text)
    elif args.action == "retire":
        commits = retire(store, known, args.why)
    elif args.action in {"pin", "unpin"}:
        commits = pin(store, known, pinned=args.action == "pin")
    elif args.action == "supersede":
        commits = supersede_fact(store, known, find_fact(store, args.successor))
    else:
        commits = confirm(store, known)
    again = find_fact(store, known.id)
    value = {**fact_value(again), "commits": list(commits)}
    text = _told(store, before, again) if commits else f"{again.id} was {fact_state(again)} already."
    app.answer(args, value, text)


def _told(store: Store, before: Mapping[str, Fact], fact: Fact) -> str:
    """Return a report on the facts that an act changed."""
    now = known_facts(store)
    statuses = standing_of(store, now)
    lines = [f"{fact.id} is {fact_state(as_it_stands(fact, statuses))} now: {fact.description}"]
    if fact.description != before[fact.id].description:
        lines.append(f"  It said: {before[fact.id].description}")
    for other in (as_it_stands(one, statuses) for one in now):
        was = before.get(other.id)
        if was is not None and other.id != fact.id and other.status != was.status:
            lines.append(f"  {other.id} is {fact_state(other)} now: {other.description}")
    others = "; other machines after the next sync" if store.has_remotes() else ""
    lines.append(f"Sessions and searches go by this from now on{others}.")
    return plain("\n".join(lines))


def _add(store: Store, args: argparse.Namespace, app: App) -> None:
    text = app.stdin.read() if args.text == "-" else args.text
    if not clean_text(text):
        raise RefusedError("There is no fact to add: the text is empty.", "Give it as an argument or on stdin.")
    try:
        tags = tuple(clean_tag(tag) for tag in args.tag)
    except ValueError as error:
        raise RefusedError(f"The tag is refused: {error}.") from None
    store = store.for_session(app.session())
    at = store.context.clock()
    identifier = make_id(int(at.timestamp() * 1000), os.urandom(TAIL_BYTES))
    saved = save(store, Save(identifier, at, text, MemoryType(args.kind), tags, "", "cli"), scan=True)
    app.notices(saved.notices)
    fact = find_fact(store, saved.id)
    value = {**fact_value(fact), "commits": [saved.commit] if saved.commit else []}
    app.answer(args, value, f"{fact.id} is {fact_state(fact)} now.", OWN)


def _list(store: Store, args: argparse.Namespace, app: App) -> None:
    every = known_facts(store)
    statuses = standing_of(store, every)
    found = [as_it_stands(fact, statuses) for fact in every if args.all or statuses[fact.id].holds]
    found = [fact for fact in found if args.kind in (None, fact.kind)]
    found = [fact for fact in found if statuses[fact.id].stale or not args.stale]
    found.sort(key=lambda fact: (_KINDS.index(fact.kind), fact.created, fact.id))
    people = People(store)
    authors = {fact.id: people.whose(fact.id) for fact in found}
    text = (
        _table(found, authors, known_marks(store))
        if found
        else _nothing(args, len(every), in_git=store.code() is not None)
    )
    values = [{**fact_value(fact, statuses[fact.id]), "author": authors[fact.id] or None} for fact in found]
    app.answer(args, values, text, "facts" if found else "")


def _nothing(args: argparse.Namespace, known: int, *, in_git: bool) -> str:
    if args.stale:
        return (
            "No fact is stale."
            if in_git
            else "The project is not a git repository, so gitmem cannot tell which facts are stale."
        )
    if known and not args.all:
        return f"No fact{' of this kind' if args.kind else ''} holds now: --all lists those that ended."
    if args.kind:
        return f"There is no fact of the kind {args.kind}."
    return "No facts yet: `gitmem facts add` adds one, others are learned from sessions."


def _table(found: Sequence[Fact], authors: Mapping[str, str], marks: Marks) -> str:
    lines: list[str] = []
    kind = ""
    for fact in found:
        if fact.kind != kind:
            kind = fact.kind
            lines += ["", f"{kind}:"] if lines else [f"{kind}:"]
        note = f"  (by {authors[fact.id]})" if authors[fact.id] else ""
        words = ", ".join(filter(None, ("pinned" * fact.pinned, marks.mark(fact.id))))
        mark = f" [{words}]" if words else ""
        lines.append(f"  {fact.id}  {fact.created:%Y-%m-%d}  {fact.description}{mark}{note}")
    return plain("\n".join(lines))


def configure_resolve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("issue", metavar="ISSUE", help="its id, or an unambiguous prefix of it")
    parser.add_argument("how", nargs="?", default="", metavar="TEXT", help="how it was resolved")


def run_resolve(args: argparse.Namespace, app: App) -> None:
    """Mark an issue as resolved: its line leaves memory.md, and sessions are no longer told of it.

    'gitmem facts list --kind issue' lists the open ones; so does memory.md, with ^ID at the end of each. 'gitmem undo'
    opens it again.

    With --json: {id, status, commits}.

    Examples:
      gitmem resolve i4f7k2
      gitmem resolve i4f7k2 "the cache is cleared at start now"

    """
    store = app.settled(args)
    known = find_fact(store, args.issue)
    if known.kind != FactKind.ISSUE:
        raise RefusedError(f"{known.id} is no issue, but a {known.kind}.", f"'gitmem facts retire {known.id}' ends it.")
    with app.waiting():
        commits = retire(store, known, args.how) if known.binds else ()
    value = {"id": known.id, "status": "resolved", "commits": list(commits)}
    app.answer(args, value, f"{known.id} is resolved{'' if commits else ' already'}.", OWN)
