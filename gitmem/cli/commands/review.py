"""`gitmem review`: decide between two versions that a merge kept, between two facts, and about purges."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from functools import partial
from typing import Any

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.cli.output import reversal
from gitmem.errors import GitmemError, NotFoundError, UsageError
from gitmem.history.authors import Authors
from gitmem.history.changes_by_others import answer_change, others_changes
from gitmem.history.marks import OthersChange, place_marks
from gitmem.history.review import BOTH_FACTS, Take, ToReview, documents_to_review, original, resolve_review, sides_of
from gitmem.learn.left_out import answer_left_out, waiting_left_out
from gitmem.learn.statements import FoundFact
from gitmem.merge.documents import is_beside
from gitmem.model.fact import Fact, is_fact_path
from gitmem.purge.purge import Preview, WaitingPurge, answer_purge, preview_purge, waiting_purges
from gitmem.record.fact_edits import Pair, PairChoice, confirm, retire, waiting_pairs
from gitmem.record.fact_edits import decide as decide_facts
from gitmem.store.copies import Copy, drop_copy, find_copies, take_copy
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.tell.forbidden import IGNORED_RULE, OTHERS_RULE, decide_rule, rules_to_review
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain
from gitmem.values import Value

_Answer = tuple[dict[str, Any], str]  # as JSON, and as text

_SIDES = 20  # documents for which a list shows the machines of both versions, by walks through history
_DIFFERENCES = 60  # differing lines that are shown
_PLACES = 5  # sections that a line lists
_SESSION = 8  # characters of a session's id
_Say = Callable[[tuple[str, ...]], object]


class ReviewItem(Value):
    """An item that waits for a decision: `value` is its JSON, `names` are its other names.

    `takes` are the possible decisions; `decide` carries one out and returns a report. `shown` returns the item's
    details, if its line is not enough.
    """

    names: tuple[str, ...]
    value: dict[str, Any]
    line: str
    choices: str
    decide: Callable[[str], _Answer]
    takes: tuple[str, ...] = ("ours", "theirs")
    shown: Callable[[], _Answer] | None = None


def _document(store: Store, item: ToReview, *, sides: bool) -> ReviewItem:
    path = item.path
    value: dict[str, Any] = {"path": path, "places": item.places, "merge": None, "ours": [], "theirs": []}
    who = ""
    try:
        if sides:
            found = sides_of(store, path)
            ours, theirs = found.our_machines, found.their_machines
            value |= {"merge": found.merge, "ours": ours, "theirs": theirs}
            who = f"  (ours: {', '.join(ours)}; theirs: {', '.join(theirs)})" if found.merge else ""
    except GitmemError:  # the field was written by hand
        pass
    more = f" and {len(item.places) - _PLACES} more" if len(item.places) > _PLACES else ""
    places = ("its text" if place == "(top)" else place for place in item.places[:_PLACES])
    where = f"two versions in {', '.join(places)}{more}" if item.places else "two versions, side by side"

    def decide(take: str) -> _Answer:
        commit = resolve_review(store, path, Take(take))
        text = f"Took {take} in {path} (commit {commit[:10]}).{_undo(commit)}"
        return {"path": path, "take": take, "commit": commit}, text

    is_fact = is_fact_path(path)
    line, takes = f"{path}  {where}{who}", ("ours", "theirs", *["both"] * (not is_fact), "edit")

    def show() -> _Answer:
        differences = "\n".join(_differences(store, path, value["merge"]))
        return value | {"diff": differences}, f"{line}\n{differences}".rstrip("\n")

    choices = "'--take ours', 'theirs' or 'both' keeps a version, 'edit' the file as it is now."
    choices = BOTH_FACTS if is_fact else choices
    names = (path, original(path)) if is_beside(path) else (path,)
    return ReviewItem(names, value, line, choices, decide, takes, show)


def _differences(store: Store, path: str, merge: str | None) -> list[str]:
    """Return the differing lines of a document's two versions, - ours and + theirs; none for a second file."""
    if merge is None:
        return []
    sides = sides_of(store, path)
    texts = (
        (store.repository.read(side, path) or b"").decode("utf-8", "replace") for side in (sides.ours, sides.theirs)
    )
    ours, theirs = (_said(text.splitlines()) for text in texts)
    lines = unified_diff(ours, theirs, "ours", "theirs", lineterm="", n=1)
    return [line for line in lines if not line.startswith("@@")][:_DIFFERENCES]


def _said(lines: Sequence[str]) -> list[str]:
    """Return lines of a document without header lines that are derived from its text."""
    words = {line.strip() for line in lines}
    follow = ("keywords: ", "updated: ")
    return [
        line
        for line in lines
        if not line.strip().startswith(follow) and line.partition("description: ")[2].strip() not in words - {""}
    ]


def _facts(store: Store, pair: Pair, authors: Authors) -> ReviewItem:
    newer, older = _fact(pair.newer, authors), _fact(pair.older, authors)

    def decide(take: str) -> _Answer:
        commits = decide_facts(store, pair, PairChoice(take))
        stays, goes = (pair.older, pair.newer) if take == "older" else (pair.newer, pair.older)
        words = f"  {stays.id}  {stays.description}\n  {goes.id}  {goes.description}"
        outcome = "Both are in force:" if take == "both" else "The first is in force, and supersedes the second:"
        value = {"fact": stays.id, "take": take, "commits": commits}
        return value, f"{outcome}\n{words}{_undo(*commits)}"

    names = tuple(name for fact in (pair.newer, pair.older) for name in (fact.path, fact.id))
    line = f"two facts that contradict each other\n{_fact_lines('newer', newer)}\n{_fact_lines('older', older)}"
    choices = "'--take newer' or 'older' says which fact is in force, 'both' that they do not contradict each other."
    return ReviewItem(names, {"newer": newer, "older": older}, line, choices, decide, ("newer", "older", "both"))


def _purge(store: Store, purge: WaitingPurge, say: _Say) -> ReviewItem:
    path = purge.path

    def show() -> _Answer:
        preview = preview_purge(store, path)
        return preview._asdict(), _purge_words(preview)

    def decide(take: str) -> _Answer:
        say(tuple(answer_purge(store, path, yes=take == "theirs")))
        text = f"Purged what {path} names." if take == "theirs" else f"This machine will not carry out {path}."
        return {"path": path, "take": take}, text

    line = f"{path}  a purge that waits, since {purge.why}"
    choices = "'--take theirs' removes them from all history, for good; '--take ours' refuses it on this machine."
    return ReviewItem((path,), {"path": path, "purge": purge.why}, line, choices, decide, shown=show)


def _change(store: Store, change: OthersChange, now: str | None) -> ReviewItem:
    def decide(take: str) -> _Answer:
        commit = answer_change(store, change, accept=take == "theirs")
        stays = f"is {'retired' if change.act == 'removed' else f'as {change.author} left it'}."
        text = f"{change.id} {stays}" if take == "theirs" else f"Back again: {change.before}"
        return {"fact": change.id, "take": take, "commit": commit}, text + _undo(commit)

    value = {name: value for name, value in change._asdict().items() if name != "blob"}
    value |= {"now": now, "change": str(change)}
    says = f"\n  now: {now}" if now else ""
    choices = "'--take theirs' accepts the change, '--take ours' brings back what you had."
    return ReviewItem((change.path, change.id), value, f"{change.path}  {change}{says}", choices, decide)


def _gone(store: Store, fact: Fact, why: str) -> ReviewItem:
    def decide(take: str) -> _Answer:
        takes = take == "keep"
        commits = confirm(store, fact) if takes else retire(store, fact, "its branch is gone and was never merged")
        text = f"{fact.id} {'is in force here' if takes else 'is retired'}: {fact.description}{_undo(*commits)}"
        return {"fact": fact.id, "take": take, "commits": commits}, text

    value = {"id": fact.id, "path": fact.path, "text": fact.description, "branch": fact.branch, "gone": why}
    line = f"{fact.path}  {fact.description}  ({why})"
    choices, takes = "'--take keep' keeps the fact, '--take drop' retires it.", ("keep", "drop")
    return ReviewItem((fact.path, fact.id), value, line, choices, decide, takes)


def _left_out(store: Store, row: str, stated: Sequence[FoundFact]) -> ReviewItem:
    day, exchange = row.split()
    lines = "".join(f"\n   {statement.kind}: {statement.text}" for statement in stated)

    def decide(take: str) -> _Answer:
        commit = answer_left_out(store, row, stated, accept=take == "mine")
        back = f"They are no memory. Yours after all? gitmem review {exchange} --take mine"
        text = f"In force from now on:{lines}{_undo(commit)}" if take == "mine" else back
        return {"exchange": exchange, "take": take, "commit": commit}, text

    value = {"exchange": exchange, "date": day, "statements": [fields(statement, "kind text") for statement in stated]}
    choices = "'--take mine' makes facts of these lines, '--take pasted' leaves them out."
    line = f"{exchange}  {day}: are these lines yours, or pasted? They stood below another text.{lines}"
    return ReviewItem((exchange,), value, line, choices, decide, ("mine", "pasted"))


def _left_out_of(store: Store, *, answered: bool = False) -> Iterator[ReviewItem]:
    return (_left_out(store, *item) for item in waiting_left_out(store, answered=answered).items())


def _copy(store: Store, copy: Copy) -> ReviewItem:
    texts = [store.read(path) if path else None for path in (copy.path, copy.original)]
    says, original = (None if data is None else data.decode("utf-8", "replace") for data in texts)

    def decide(take: str) -> _Answer:
        commit = take_copy(store, copy) if take == "theirs" else drop_copy(store, copy)
        text = f"{copy.original} says now what {copy.path} said." if take == "theirs" else f"Removed {copy.path}."
        return {"path": copy.path, "take": take, "commit": commit}, text + _undo(commit)

    def show() -> _Answer:
        before, after = (original or "").splitlines(), (says or "").splitlines()
        lines = unified_diff(before, after, copy.original, copy.path, lineterm="", n=1)
        return value, "\n".join([line, *[*lines][:_DIFFERENCES]])

    value = {"path": copy.path, "copy_of": copy.original, "ours": original, "theirs": says}
    line = f"{copy.path}  a copy of {copy.original}" if copy.original else f"{copy.path}  a file of another program"
    choices = "'--take ours' removes the copy, '--take theirs' gives the original what the copy says."
    takes = ("ours", "theirs") if copy.original else ("ours",)
    return ReviewItem((copy.path,), value, line, choices, decide, takes, show)


def run_review(args: Args, app: App) -> None:
    store = app.settled()
    items = waiting(store, app.notices)
    if args.what is None:
        if args.take:
            raise UsageError("--take needs an item to decide.", "'gitmem review' lists by number what waits.")
        values = [{"number": number, **item.value} for number, item in enumerate(items, 1)]
        app.answer(values, _listed(app, items) or "Nothing waits for your review.", None if items else OWN)
        if items:
            app.notices(("'gitmem review NUMBER', or an id in it, shows one of these, and how to decide it.",))
        return
    refused = waiting_purges(store, refused=True)  # these, and lines left out, can be named, but no longer wait
    items += [_purge(store, purge, app.notices) for purge in refused]
    items += _left_out_of(store, answered=True)
    number = _find(items, args.what.replace(os.sep, "/").removeprefix("./"))
    item = items[number - 1]
    if args.take and args.take not in item.takes:
        raise UsageError(f"'--take {args.take}' decides nothing here.", item.choices)
    if args.take:
        value, text = item.decide(args.take)
    else:
        value, text = item.shown() if item.shown else (item.value, item.line)
        text = f"{text}\nTo decide: gitmem review {number} --take {'|'.join(item.takes)}\n{item.choices}"
    text = plain(text)
    if args.take and (left := waiting(store)):  # the numbers of the last list have changed
        text = f"{text}\nLeft, by their numbers from now on:\n{_listed(app, left)}"
    app.answer(value if args.take else {"number": number, **value}, text)


def _listed(app: App, items: Sequence[ReviewItem]) -> str:
    return "\n".join(f"{app.styled('heading', f'{at}.')} {plain(item.line)}" for at, item in enumerate(items, 1))


def waiting(store: Store, say: _Say = lambda _: None) -> list[ReviewItem]:
    """Return the items in order of their numbers: documents, pairs of facts, purges, changes, facts of branches."""
    authors, facts = Authors(store), known_facts(store)
    statuses = place_marks(store, facts).statuses
    words_of = {fact.id: fact.description for fact in facts}
    documents = documents_to_review(store)
    paths = {item.path for item in documents}
    changes = [change for change in others_changes(store).values() if change.path not in paths]
    return [
        *(_document(store, item, sides=index < _SIDES) for index, item in enumerate(documents)),
        *(_facts(store, pair, authors) for pair in waiting_pairs(store)),
        *(_purge(store, purge, say) for purge in waiting_purges(store)),
        *(_change(store, change, words_of.get(change.id) if change.act == "changed" else None) for change in changes),
        *(_copy(store, copy) for copy in find_copies(store)),
        *_rules(store, authors),
        *_left_out_of(store),
        *(_gone(store, fact, str(statuses[fact.id].place)) for fact in facts if statuses[fact.id].waits),
    ]


def _rules(store: Store, authors: Authors) -> Iterator[ReviewItem]:
    """Yield forbidding rules: those of others that wait for confirmation, and those that are often ignored."""
    for rule, number in rules_to_review(store):
        literals = ", ".join(f"`{literal}`" for literal in rule.forbids)
        if number is None:
            author = authors.others(rule.id)
            why = f"a rule by {author} would warn of {literals}; it does nothing until you confirm it"
            takes, choices = OTHERS_RULE, "'--take theirs' has the rule warn, '--take ours' takes out what it forbids."
        else:
            why = f"a rule at {literals} was ignored {number.ignored:,} of {count(number.fired, 'time')}"
            takes, choices = IGNORED_RULE, _IGNORED
        value: dict[str, object] = {"id": rule.id, "path": rule.path, "forbids": rule.forbids, "why": why}
        yield ReviewItem(
            names=(rule.id, rule.path),
            line=f"{rule.id}: {why}: {rule.description}",
            value=value,
            takes=takes,
            choices=choices,
            decide=partial(_decide_rule, store, rule),
        )


_IGNORED = (
    "'--take keep' has it warn as before, 'ask' has the agent ask you at each such call, 'deny' refuses such calls, "
    "'drop' has it warn of nothing."
)
_DECIDED = {
    **dict.fromkeys(("theirs", "keep"), "warns at tool calls on this machine"),
    **dict.fromkeys(("ours", "drop"), "forbids nothing now"),
    "ask": "has the agent ask you at each such call",
    "deny": "refuses such calls",
}


def _decide_rule(store: Store, rule: Fact, take: str) -> tuple[dict[str, object], str]:
    commits = decide_rule(store, rule, take)
    value: dict[str, object] = {"fact": rule.id, "take": take, "commits": commits}
    return value, f"{rule.id} {_DECIDED[take]}.{_undo(*commits)}"


def _find(items: Sequence[ReviewItem], name: str) -> int:
    """Return the number of the item with this number or name, or an id with this prefix."""
    if name.isdecimal():
        if not 1 <= int(name) <= len(items):
            raise NotFoundError(f"Nothing waits with the number {name[:20]}.", "'gitmem review' lists all numbers.")
        return int(name)
    wanted = name.removeprefix("^")
    matches = [
        number
        for number, item in enumerate(items, 1)
        if any(path == name or ("/" not in path and path.startswith(wanted)) for path in item.names)
    ]
    if len(matches) > 1:
        raise UsageError(f"{name} is in {len(matches)} items.", "Give a number of 'gitmem review'.")
    if not matches:
        raise NotFoundError(f"Nothing waits for a decision in {name!r}.", "'gitmem review' lists what waits.")
    return matches[0]


def _undo(*commits: str | None) -> str:
    last = commits[-1] if commits else None
    return f"\n{reversal(last)}" if last else ""


def _purge_words(preview: Preview) -> str:
    more = [f"  … and {preview.more_files} more"] if preview.more_files else []
    here = f"here: {preview.found}{', such as:' if preview.shown else '.'}"
    finds = f"It names {count(preview.texts, 'text')}; found {here}" if preview.texts else f"Found {here}"
    return "\n".join([
        f"{preview.path} was not carried out here, since {preview.why}.",
        finds,
        *(f"  {text!r}" for text in preview.shown),
        *(["They are, or were, in:"] if preview.files else []),
        *(f"  {name}" for name in preview.files),
        *more,
    ])  # fmt: skip


def _fact(fact: Fact, authors: Authors) -> dict[str, str | None]:
    origin = authors.origin(fact.id)
    return {
        **fields(fact, "id kind text=description date=when session?"),
        "author": origin.author if origin else None,
        "machine": (origin.machine or None) if origin else None,
        "path": fact.path,
    }


def _fact_lines(word: str, fact: Mapping[str, str | None]) -> str:
    """Return a fact in two lines: its date and text, then its id, session and author."""
    about = [f"{fact['kind']} {fact['id']}"]
    if session := fact["session"]:
        about.append(f"session {session[:_SESSION]}")
    if author := fact["author"]:
        about.append(f"by {author}" + (f" on {fact['machine']}" if fact["machine"] else ""))
    return f"   {word}  {str(fact['date'])[:10]}  {fact['text']}\n          {', '.join(about)}"
