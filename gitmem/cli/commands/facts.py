"""Facts: list, show, add, edit, retire, confirm and resolve. `learned.py` has the rest, which imports more."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args, tags_of
from gitmem.cli.commands.show import as_it_stands, fact_state, fact_value, show_fact
from gitmem.document.entry import MemoryType, clean_text
from gitmem.errors import NotFoundError, RefusedError, UsageError
from gitmem.history.authors import AWAITS, Authors
from gitmem.history.marks import known_marks, place_marks
from gitmem.model.fact import FOLDER, Fact, FactKind, day_of
from gitmem.model.forbidden import acts_on, looks_like_pattern
from gitmem.model.lines import Marks
from gitmem.platform.barred import barred
from gitmem.purge.unfinished import finish_purge
from gitmem.record.fact_book import KINDS
from gitmem.record.fact_edits import act_on, check_length, check_literals, find_fact, forbid, retire
from gitmem.record.save import save_text
from gitmem.store.copies import Copy, drop_copy, find_copies
from gitmem.store.known_facts import known_facts
from gitmem.store.layers import store_for_session
from gitmem.store.store import Store
from gitmem.tell.forbidden import Decision, confirm_rule, decision_of
from gitmem.text.terminal import plain

_ANSWERS = {Decision.TELL: "is warned, once a session,", Decision.ASK: "has to ask you", Decision.DENY: "is stopped"}
_KINDS = ("decision", "preference", "rule", "solution", "core-logic", "pattern", "issue")


def run_facts(args: Args, app: App) -> None:
    act = {"list": _list, "add": _add, "forbid": _forbid}.get(args.action, _show_or_change)
    with app.waiting():
        store = app.settled()
        if error := barred(os.path.join(store.root, FOLDER)):
            raise error
        act(store, args, app)


def _show_or_change(store: Store, args: Args, app: App) -> None:
    if args.action == "retire" and (copy := _copy_at(store, args.fact)):
        commit = drop_copy(store, copy)
        app.answer({"path": copy.path, "commit": commit}, f"Removed {copy.path}, a copy of {copy.original}.", OWN)
        return
    known = find_fact(store, args.fact)
    if args.action == "show":
        show_fact(store, known, app)
        return
    before = {fact.id: fact for fact in known_facts(store)}
    text = str(getattr(args, "text", ""))
    text = _successor(store, known, text) if args.action == "supersede" else text
    commits = act_on(store, args.action, known, app.typed() if (args.action, text) == ("edit", "-") else text)
    again = find_fact(store, known.id)
    if args.action == "confirm" and again.forbids:
        confirm_rule(store, again)
    value = {**fact_value(again), "commits": commits}
    text = f"{again.id} was {fact_state(again)} already."
    state = fact_state(before[again.id])
    if commits and args.action == "confirm" and fact_state(again) == state:
        text = plain(f"{again.id} was {state} already, and is confirmed: {again.description}") + app.undo_hint(commits)
    elif commits:
        text = _told(store, before, again) + app.undo_hint(commits)
    app.answer(value, text)


def _successor(store: Store, known: Fact, text: str) -> str:
    """Return the id of the fact that a text names; if it is the text of a new fact, raise with the commands for it."""
    try:
        return find_fact(store, text).id
    except NotFoundError as error:
        if " " not in text:
            raise
        words = shlex.quote(text)
        acts = f"To reword it: gitmem facts edit {known.id} {words}; to add a fact first: gitmem facts add {words}"
        raise NotFoundError(str(error), f"{error.remedy.removesuffix('.')}. {acts}") from None


def _copy_at(store: Store, name: str) -> Copy | None:
    """Return the copy of a fact's file with this path or file name, None for anything else."""
    if not name.endswith(".md"):
        return None
    names = {name, os.path.relpath(os.path.abspath(name), store.root).replace(os.sep, "/")}
    return next((copy for copy in find_copies(store) if names & {copy.path, copy.path.rpartition("/")[2]}), None)


def _told(store: Store, before: Mapping[str, Fact], fact: Fact) -> str:
    """Return a report on the facts that an act changed."""
    now = known_facts(store)
    statuses = place_marks(store, now).statuses
    lines = [f"{fact.id} is {fact_state(as_it_stands(fact, statuses))} now: {fact.description}"]
    if fact.description != before[fact.id].description:
        lines.append(f"  It said: {before[fact.id].description}")
    for other in (as_it_stands(fact, statuses) for fact in now):
        was = before.get(other.id)
        if was is not None and other.id != fact.id and other.status != was.status:
            lines.append(f"  {other.id} is {fact_state(other)} now: {other.description}")
    others = "; other machines after the next sync" if store.has_remotes() else ""
    lines.append(f"Sessions and searches go by this from now on{others}.")
    return plain("\n".join(lines))


def _add(store: Store, args: Args, app: App) -> None:
    text = app.typed() if args.text == "-" else args.text
    if not clean_text(text):
        raise RefusedError("There is no fact to add: the text is empty.", "Give it as an argument or on stdin.")
    check_length(clean_text(text))
    check_literals(args.forbids)  # before anything is saved
    if args.enforce and not args.forbids:
        raise UsageError("--enforce says what happens at the words of --forbids.", "Add them: --forbids 'pip install'.")
    tags = tags_of(args)
    kind = MemoryType(args.kind or _kind_of(text, args))
    if kind not in KINDS:
        remedy = f"To save it: gitmem save -t {kind} {shlex.quote(text)}"
        raise UsageError(f"A text of the type {kind} is no fact.", remedy)
    store = finish_purge(store_for_session(store, app.session()))
    forbids = tuple(dict.fromkeys(args.forbids))
    enforce = "" if args.enforce == Decision.TELL else args.enforce
    saved = save_text(store, text, kind, tags, host="cli", forbids=forbids, enforce=enforce)
    app.notices(saved.notices)
    fact, commits = find_fact(store, saved.id), [saved.commit] if saved.commit else []
    report = saved.known or f"Added {fact.kind.word} {fact.id}, {fact_state(fact)}"
    if saved.known and (tags or args.kind not in {"", fact.kind}):
        report += f"\n  Its kind and tags stay as they are: {fact.kind.word}."
    if forbids:
        enforce = enforce if args.enforce else fact.enforce
        if not {*forbids} <= {*fact.forbids} or enforce != fact.enforce:  # it was known already
            commits += forbid(store, fact, tuple(dict.fromkeys((*fact.forbids, *forbids))), enforce)
            fact = find_fact(store, fact.id)
        confirm_rule(store, fact)
        report += f"\n  An agent {_ANSWERS[decision_of(fact)]} when it {_acts(fact)}"
        _warn_of_patterns(app, forbids)
    value = {**fact_value(fact), "commits": commits}
    undo = app.undo_hint(commits, f"facts retire {fact.id}")
    app.answer(value, f"{plain(report)}{undo}{'' if saved.known else '.'}", OWN)


def _kind_of(text: str, args: Args) -> str:
    """Return the kind of a fact that the user gave none: a rule if it forbids something, else by its words."""
    from gitmem.learn.statements import statements_of

    kinds = {FactKind.RULE} if args.forbids else {statement.kind for statement in statements_of(text)}
    return "rule" if kinds == {FactKind.RULE} else "decision"


def _literals(fact: Fact) -> str:
    return ", ".join(f"`{literal}`" for literal in fact.forbids)


def _acts(fact: Fact) -> str:
    acts: dict[str, list[str]] = {}
    for literal in fact.forbids:
        acts.setdefault(acts_on(literal), []).append(f"`{literal}`")
    return "; ".join(f"{act}: {', '.join(literals)}" for act, literals in acts.items())


def _warn_of_patterns(app: App, literals: Sequence[str]) -> None:
    patterns = ", ".join(f"`{literal}`" for literal in literals if looks_like_pattern(literal))
    how = "Write the words of a command in their order, as in 'psql *prod*': * stands for anything in one word."
    app.notices((f"{patterns}: a literal is meant, no regular expression. {how}",) if patterns else ())


def _forbid(store: Store, args: Args, app: App) -> None:
    """Set what a fact forbids and how that is enforced; this also confirms the rule."""
    known = find_fact(store, args.fact)
    again = known.forbids if args.enforce and not args.none else ()  # the enforcement alone changes
    literals = tuple(args.literal) or again
    if bool(literals) == args.none:
        remedy = f"To take all of them out: gitmem facts forbid {known.id} --none"
        raise UsageError(f"Say what {known.id} forbids, in words such as 'pip install'.", remedy)
    commits = forbid(store, known, literals, "" if args.enforce in {None, Decision.TELL} else args.enforce)
    fact = find_fact(store, known.id)
    confirm_rule(store, fact)
    report = f"{_literals(fact)} now" if fact.forbids else "nothing now"
    text = f"{fact.id} forbids {report}: {fact.description}"
    _warn_of_patterns(app, args.literal)
    app.answer({**fact_value(fact), "commits": commits}, plain(text) + app.undo_hint(commits))


def _list(store: Store, args: Args, app: App) -> None:
    every = known_facts(store)
    statuses = place_marks(store, every).statuses
    facts = [as_it_stands(fact, statuses) for fact in every if args.all or statuses[fact.id].is_in_force]
    facts = [fact for fact in facts if args.kind in (None, fact.kind.word)]
    facts = [fact for fact in facts if statuses[fact.id].stale or not args.stale]
    facts.sort(key=lambda fact: (_KINDS.index(fact.kind), fact.created, fact.id))
    people = Authors(store)
    authors = {fact.id: people.others(fact.id) for fact in facts}
    notes = {fact.id: f"; {AWAITS}" * people.awaits(fact) for fact in facts}
    none = "" if facts else _nothing(args, len(every), in_git=store.code() is not None)
    text = none or _table(facts, {name: author + notes[name] for name, author in authors.items()}, known_marks(store))
    values = [{**fact_value(fact, statuses[fact.id]), "author": authors[fact.id] or None} for fact in facts]
    app.answer(values, text, "facts" if facts else "")


def _nothing(args: Args, known: int, *, in_git: bool) -> str:
    if args.stale:
        unknown = "The project is not a git repository, so gitmem cannot tell which facts are stale."
        return "No fact is stale." if in_git else unknown
    if known and not args.all:
        return f"No fact{' of this kind' if args.kind else ''} is in force: --all lists those that ended."
    if args.kind:
        return f"There is no fact of the kind {args.kind}."
    return "No facts yet: `gitmem facts add` adds one, others are learned from sessions."


def _table(facts: Sequence[Fact], authors: Mapping[str, str], marks: Marks) -> str:
    lines: list[str] = []
    kind = None
    for fact in facts:
        if fact.kind is not kind:
            kind = fact.kind
            heading = f"{kind.word}:"
            lines += ["", heading] if lines else [heading]
        note = f"  (by {authors[fact.id]})" if authors[fact.id] else ""
        said, part = marks.mark(fact.id), f"of {', '.join(fact.scope)}" if fact.scope else ""
        words = ", ".join(filter(None, ("pinned" * fact.pinned, "" if part in said else part, said)))
        mark = f" [{words}]" if words else ""
        lines.append(f"  {fact.id}  {day_of(fact.created):10}  {fact.description}{mark}{note}")
    return plain("\n".join(lines))


def run_resolve(args: Args, app: App) -> None:
    store = app.settled()
    fact = find_fact(store, args.issue, FactKind.ISSUE)
    if fact.kind != FactKind.ISSUE:
        raise RefusedError(f"{fact.id} is no issue, but a {fact.kind}.", f"'gitmem facts retire {fact.id}' ends it.")
    with app.waiting():
        commits = retire(store, fact, args.how) if fact.binds else ()
    value = {"id": fact.id, "status": "resolved", "commits": commits}
    app.answer(value, f"{fact.id} is resolved{'' if commits else ' already'}{app.undo_hint(commits)}.", OWN)
