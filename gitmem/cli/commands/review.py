"""`gitmem review`: decide between two versions that a merge kept, between two facts, and about purges."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence

from gitmem.cli.app import App
from gitmem.document.ids import PURGED
from gitmem.errors import GitmemError, NotFoundError, UsageError
from gitmem.facts.edit import Holds, confirm, decide, retire
from gitmem.facts.fact import Fact
from gitmem.history.authors import People
from gitmem.history.changes_by_others import answer_change, others_changes
from gitmem.history.review import Pair, Take, ToReview, documents_to_review, resolve_review, sides_of, waiting_pairs
from gitmem.purge.purge import Preview, WaitingPurge, answer_purge, preview_purge, waiting_purges
from gitmem.store.headers import OthersChange, known_facts, standing_of
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import plain
from gitmem.values import Value

_SIDES = 20  # documents of which a list says whose versions they are: each takes some walks through history
_PLACES = 5  # sections that a line names
_SESSION = 8  # characters of a session's id
_DOCUMENT, _PAIR, _PURGE, _CHANGE, _GONE = "document", "pair", "purge", "change", "gone"
_TAKES = {
    _DOCUMENT: ("ours", "theirs", "both", "edit"),
    _PAIR: ("newer", "older", "both"),
    _PURGE: ("ours", "theirs"),
    _CHANGE: ("ours", "theirs"),
    _GONE: ("ours", "theirs"),
}
_CHOICES = {
    _DOCUMENT: "'--take ours', 'theirs' or 'both' keeps a version, 'edit' the file as it is now.",
    _PAIR: "'--take newer' or 'older' says which fact holds, 'both' that they do not contradict each other.",
    _PURGE: "'--take theirs' does the purge, '--take ours' refuses it.",
    _CHANGE: "'--take theirs' accepts the change, '--take ours' brings back what you had.",
    _GONE: "'--take theirs' takes the fact over to what is checked out, '--take ours' retires it.",
}


class _Waiting(Value):
    """What waits for a decision: documents, pairs of facts, purges, changes of others, numbered in this order."""

    documents: Sequence[ToReview]
    pairs: Sequence[Pair]
    purges: Sequence[WaitingPurge]
    changes: Sequence[OthersChange]
    gone: Sequence[tuple[Fact, str]]


def configure_review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="WHAT", nargs="?", help="its number, a document or a fact (default: list all)")
    parser.add_argument(
        "--take", choices=("ours", "theirs", "both", "edit", "newer", "older"), help="the version or the fact to keep"
    )


def run_review(args: argparse.Namespace, app: App) -> None:
    """List what waits for your decision: two versions, pairs of facts, purges, changes of others. Decide one.

    Of two facts that contradict each other, the newer or the older one holds and supersedes the other, or both hold.

    Of a document in which a merge kept two versions, 'ours' is this machine's version, 'theirs' the other machines'.
    Entries that only one side has stay in any case. 'both' keeps both versions, and 'edit' keeps the file as you have
    edited it. A decision is one commit, which 'gitmem undo' takes back.

    A purge from another machine waits if it would remove more than is done unasked. It is listed by the file of its
    record; give that alone to see what it would remove here. '--take theirs' removes it from all history, which cannot
    be undone; '--take ours' refuses the purge on this machine for good.

    Of a change of a rule, preference or decision of yours by another author, 'theirs' accepts it, and 'ours' brings
    back what you had. Until then sessions are told who changed it, and what it said before.

    Of a fact of a branch that is gone and was never merged, 'theirs' takes it over to what is checked out, and 'ours'
    retires it.

    With --json: a list of {number, path, places, merge, ours, theirs}, {number, newer, older} with {id, kind, text,
    date, session, author, machine, path} each, {number, path, purge}, {number, id, path, act, author, date, commit,
    before, change} and {number, id, path, text, branch, gone}; one of them, if you name it. A decision is {path, take,
    commit}, of facts {fact, take, commits}.

    Examples:
      gitmem review
      gitmem review 1 --take newer
      gitmem review purged/20261121-120000-0a1b2c.json
      gitmem review knowledge/build.md --take ours
      $EDITOR "$(gitmem path)/memory.md" && gitmem review memory.md --take edit

    """
    store = app.settled(args)
    waiting = _read(store)
    if args.what is None:
        if args.take:
            raise UsageError("--take needs an item to decide.", "'gitmem review' lists by number what waits.")
        values = _values(store, waiting)
        lines = [(app.styled("heading", f"{value['number']}."), plain(_line(value))) for value in values]
        text = "\n".join(map(" ".join, lines))
        app.answer(args, values, text or "Nothing waits for your review.", "review" if text else "")
        return
    kind, place = _find(waiting, args.what.replace(os.sep, "/").removeprefix("./"))
    if args.take and args.take not in _TAKES[kind]:
        raise UsageError(f"'--take {args.take}' decides nothing here.", _CHOICES[kind])
    if kind is _CHANGE:
        _review_change(args, app, store, next(one for one in waiting.changes if one.id == place))
        return
    if kind is _GONE:
        _review_gone(args, app, store, next(one for one, _ in waiting.gone if one.id == place))
        return
    if kind is _PAIR:
        _review_pair(args, app, store, waiting.pairs[int(place)], len(waiting.documents) + int(place) + 1)
        return
    (_review_purge if kind is _PURGE else _review_document)(args, app, store, place)


def _read(store: Store) -> _Waiting:
    changes = [*others_changes(store).values()]
    facts = known_facts(store)
    statuses = standing_of(store, facts)
    gone = [(fact, str(statuses[fact.id].place)) for fact in facts if statuses[fact.id].waits]
    return _Waiting(documents_to_review(store), waiting_pairs(store), waiting_purges(store), changes, gone)


def _find(waiting: _Waiting, name: str) -> tuple[str, str]:
    """Return the kind and path of the item with this number or name; for a pair its index in place of the path."""
    if name.isdecimal():
        pairs = [(_PAIR, str(index)) for index, _ in enumerate(waiting.pairs)]
        every = [*((_DOCUMENT, one.path) for one in waiting.documents), *pairs]
        every += [(_PURGE, one.path) for one in waiting.purges]
        every += [(_CHANGE, one.id) for one in waiting.changes]
        every += [(_GONE, one.id) for one, _ in waiting.gone]
        if not 1 <= int(name) <= len(every):
            raise NotFoundError(f"Nothing waits with the number {name[:20]}.", "'gitmem review' lists all numbers.")
        return every[int(name) - 1]
    if name.startswith(f"{PURGED}/"):
        return _PURGE, name
    change = next((one for one in waiting.changes if name in {one.path, one.id, f"^{one.id}"}), None)
    if change:
        return _CHANGE, change.id
    gone = next((one for one, _ in waiting.gone if name in {one.path, one.id, f"^{one.id}"}), None)
    if gone:
        return _GONE, gone.id
    named = [
        index
        for index, pair in enumerate(waiting.pairs)
        if any(name == fact.path or fact.id.startswith(name.removeprefix("^")) for fact in (pair.newer, pair.older))
    ]
    if len(named) > 1:
        raise UsageError(f"{name} is a fact of {len(named)} pairs.", "Give a number of 'gitmem review'.")
    return (_PAIR, str(named[0])) if named else (_DOCUMENT, name)


def _review_document(args: argparse.Namespace, app: App, store: Store, path: str) -> None:
    if args.take is None:
        values = [_document(store, item) for item in documents_to_review(store) if item.path == path]
        if not values:
            raise NotFoundError(f"{path} does not hold two versions.", "'gitmem review' lists what waits.")
        app.answer(args, values[0], plain(_line(values[0])))
        return
    take = Take(args.take)
    commit = resolve_review(store, path, take)
    text = f"Took {take.value} in {path} (commit {commit[:10]}).\nTo reverse this: gitmem undo {commit[:10]}"
    app.answer(args, {"path": path, "take": take.value, "commit": commit}, plain(text))


def _review_pair(args: argparse.Namespace, app: App, store: Store, pair: Pair, number: int) -> None:
    if args.take is None:
        value = _pair(pair, People(store))
        text = f"{_line(value)}\nTo decide: gitmem review {number} --take newer|older|both"
        app.answer(args, {"number": number, **value}, plain(text), "review")
        return
    commits = decide(store, pair, Holds(args.take))
    stays, goes = (pair.older, pair.newer) if args.take == "older" else (pair.newer, pair.older)
    words = f"  {stays.id}  {stays.description}\n  {goes.id}  {goes.description}"
    outcome = "Both hold:" if args.take == "both" else "The first holds, and supersedes the second:"
    undo = f"\nTo reverse this: gitmem undo {commits[-1][:10]}" if commits else ""
    value = {"fact": stays.id, "take": args.take, "commits": list(commits)}
    app.answer(args, value, plain(f"{outcome}\n{words}{undo}"))


def _review_change(args: argparse.Namespace, app: App, store: Store, change: OthersChange) -> None:
    if args.take is None:
        text = f"{_line(_change(change))}\nTo decide: gitmem review {change.id} --take theirs|ours"
        app.answer(args, _change(change), plain(text), "review")
        return
    commit = answer_change(store, change, accept=args.take == "theirs")
    stays = f"is {'retired' if change.act == 'removed' else f'as {change.author} left it'}."
    text = f"{change.id} {stays}" if args.take == "theirs" else f"Back again: {change.before}"
    undo = f"\nTo reverse this: gitmem undo {commit[:10]}" if commit else ""
    app.answer(args, {"fact": change.id, "take": args.take, "commit": commit}, plain(text + undo))


def _review_gone(args: argparse.Namespace, app: App, store: Store, fact: Fact) -> None:
    """Take over or retire a fact of a branch that is gone."""
    if args.take is None:
        text = f"{fact.path}  {fact.description}\nTo decide: gitmem review {fact.id} --take theirs|ours"
        app.answer(args, _gone(fact, ""), plain(text))
        return
    takes = args.take == "theirs"
    commits = confirm(store, fact) if takes else retire(store, fact, "its branch is gone and was never merged")
    undo = f"\nTo reverse this: gitmem undo {commits[-1][:10]}" if commits else ""
    text = f"{fact.id} {'holds here' if takes else 'is retired'}: {fact.description}{undo}"
    app.answer(args, {"fact": fact.id, "take": args.take, "commits": list(commits)}, plain(text))


def _gone(fact: Fact, why: str) -> dict[str, object]:
    return {"id": fact.id, "path": fact.path, "text": fact.description, "branch": fact.branch, "gone": why}


def _change(change: OthersChange) -> dict[str, object]:
    value = change._asdict()
    del value["blob"]
    return {**value, "change": str(change)}


def _review_purge(args: argparse.Namespace, app: App, store: Store, path: str) -> None:
    if args.take is None:
        preview = preview_purge(store, path)
        app.answer(args, preview._asdict(), plain(_purge_words(preview)))
        return
    yes = args.take == "theirs"
    app.notices(tuple(answer_purge(store, path, yes=yes)))
    text = f"Purged what {path} names." if yes else f"This machine will not follow {path}."
    app.answer(args, {"path": path, "take": args.take}, plain(text))


def _purge_words(preview: Preview) -> str:
    more = [f"  … and {preview.more_files} more"] if preview.more_files else []
    return "\n".join([
        f"{preview.path} waits, since {preview.why}.",
        f"It names {count(preview.texts, 'text')}; found here: {preview.found}{', such as:' if preview.shown else '.'}",
        *(f"  {text!r}" for text in preview.shown),
        *(["They are, or were, in:"] if preview.files else []),
        *(f"  {name}" for name in preview.files),
        *more,
        f"To remove them from all history, for good: gitmem review {preview.path} --take theirs",
        f"To refuse the purge on this machine:       gitmem review {preview.path} --take ours",
    ])  # fmt: skip


def _values(store: Store, waiting: _Waiting) -> list[dict[str, object]]:
    people = People(store)
    values = [_document(store, item, sides=index < _SIDES) for index, item in enumerate(waiting.documents)]
    values += [_pair(pair, people) for pair in waiting.pairs]
    values += [{"path": one.path, "purge": one.why} for one in waiting.purges]
    values += [_change(one) for one in waiting.changes]
    values += [_gone(one, why) for one, why in waiting.gone]
    return [{"number": number, **value} for number, value in enumerate(values, 1)]


def _document(store: Store, item: ToReview, *, sides: bool = True) -> dict[str, object]:
    value: dict[str, object] = {"path": item.path, "places": list(item.places)}
    nobody = {**value, "merge": None, "ours": [], "theirs": []}
    if not sides:
        return nobody
    try:
        found = sides_of(store, item.path)
    except GitmemError:  # somebody wrote the field by hand
        return nobody
    return {**value, "merge": found.merge, "ours": list(found.our_machines), "theirs": list(found.their_machines)}


def _pair(pair: Pair, people: People) -> dict[str, object]:
    return {"newer": _fact(pair.newer, people), "older": _fact(pair.older, people)}


def _fact(fact: Fact, people: People) -> dict[str, str | None]:
    origin = people.origin(fact.id)
    return {
        "id": fact.id,
        "kind": fact.kind.value,
        "text": fact.description,
        "date": fact.when.isoformat(),
        "session": fact.session or None,
        "author": origin.author if origin else None,
        "machine": (origin.machine or None) if origin else None,
        "path": fact.path,
    }


def _line(value: Mapping[str, object]) -> str:
    """Return an item as text: one line, or several for a pair of facts."""
    newer, older = value.get("newer"), value.get("older")
    if isinstance(newer, dict) and isinstance(older, dict):
        return f"two facts that contradict each other\n{_told('newer', newer)}\n{_told('older', older)}"
    if "change" in value:
        return f"{value['path']}  {value['change']}"
    if "gone" in value:
        return f"{value['path']}  {value['text']}  ({value['gone']})"
    if "purge" in value:
        return f"{value['path']}  a purge that waits, since {value['purge']}"
    places, ours, theirs = (value[key] for key in ("places", "ours", "theirs"))
    assert isinstance(places, list)
    assert isinstance(ours, list)
    assert isinstance(theirs, list)
    where = f"  in {_few(places)}" if places else "  two versions, side by side"
    who = f"  (ours: {', '.join(ours)}; theirs: {', '.join(theirs)})" if value["merge"] else ""
    return f"{value['path']}{where}{who}"


def _told(word: str, fact: Mapping[str, str | None]) -> str:
    """Return a fact in two lines: its date and text, then its id, session and author."""
    about = [f"{fact['kind']} {fact['id']}"]
    if session := fact["session"]:
        about.append(f"session {session[:_SESSION]}")
    if author := fact["author"]:
        about.append(f"by {author}" + (f" on {fact['machine']}" if fact["machine"] else ""))
    return f"   {word}  {str(fact['date'])[:10]}  {fact['text']}\n          {', '.join(about)}"


def _few(places: list[str]) -> str:
    return ", ".join(places[:_PLACES]) + (f" and {len(places) - _PLACES} more" if len(places) > _PLACES else "")
