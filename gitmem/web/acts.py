"""The acts of a user on a page, each an operation of the memory."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gitmem.document.entry import MemoryType, clean_text
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.history.changes_by_others import answer_change, others_changes
from gitmem.history.review import Take, resolve_review
from gitmem.history.undo import undo
from gitmem.learn.left_out import answer_left_out, waiting_left_out
from gitmem.model.fact import Fact, parse_fact
from gitmem.purge.purge import PurgePlan, plan_purge, purge
from gitmem.purge.unfinished import finish_purge
from gitmem.record.fact_edits import (
    FactChangedError,
    Pair,
    PairChoice,
    act_on,
    confirm,
    decide,
    find_fact,
    forbid,
    move,
    pin,
    retire,
    waiting_pairs,
)
from gitmem.record.save import save_text
from gitmem.store.copies import drop_copy, find_copies, take_copy
from gitmem.store.known_facts import known_facts
from gitmem.store.layers import private_store, store_for_session
from gitmem.store.store import Store
from gitmem.tell.forbidden import IGNORED_RULE, OTHERS_RULE, Decision, confirm_rule, decide_rule
from gitmem.text.terminal import fields
from gitmem.values import Value
from gitmem.web.facts import blob_of, lines_between
from gitmem.web.view import View

_ENDS, _FEW = ".!\u3002", 20  # bytes
_MOST_LINES = 30  # lines to list before words are deleted
LASTING = [kind.value for kind in MemoryType if kind.lasts]
ELSEWHERE = "other."  # prefix of a commit in the other layer's store


class ActResult(Value):
    """The next page and the commits made; or `ask`: a page that asks for confirmation."""

    href: str
    commit: str = ""
    ask: dict[str, Any] | None = None


class MovedError(GitmemError):
    """The file behind a form has changed meanwhile: `page` shows the changes beside the user's text."""

    def __init__(self, store: Store, href: str, path: str, form: Mapping[str, str]) -> None:
        super().__init__("It has been changed meanwhile, and nothing was overwritten.", "Look at it again.")
        blob = form.get("blob", "")
        try:
            before = store.repository.blob(blob) if blob.isalnum() else b""
        except GitmemError:  # it was never committed
            before = b""
        texts = (data.decode("utf-8", "replace") for data in (before, store.read(path) or b""))
        lines = [line for line in lines_between(*texts) if line["sign"] != " "]
        self.page = {"href": href, "path": path, "lines": lines, "text": form.get("text", form.get("why", ""))}


def act(view: View, path: str, form: Mapping[str, str], ticked: Sequence[str] = ()) -> ActResult:
    """Carry out the act of a form at this address; `ticked` are facts, each as `ID BLOB`.

    Raises:
        MovedError: the content behind the form has changed meanwhile; nothing was done.
        GitmemError: the operation refuses; nothing was done.
    """
    match path.strip("/").split("/"):
        case ["fact", identifier, verb] if verb in ("edit", "retire", "confirm", "supersede", "forbid"):
            return _change_fact(view, identifier, verb, form)
        case ["facts", "add"]:
            return _add(view, form)
        case ["facts", "many"]:
            return _change_facts(view, ticked, form)
        case ["review", what] if what in _REVIEWS:
            return ActResult("/review", _REVIEWS[what](view.store, form) or "")
        case ["undo"]:
            made = _undo(view, form.get("commit", "").split())
            return ActResult(_left(view, form.get("back", "")), made)
    raise NotFoundError("There is no such act.")


def _change_fact(view: View, identifier: str, verb: str, form: Mapping[str, str]) -> ActResult:
    store = view.store
    fact = _as_seen(store, find_fact(store, identifier), form.get("blob", ""), form)
    with _unmoved(store, fact, form):
        if verb == "forbid":
            return ActResult(f"/fact/{fact.id}", _forbid(store, fact, form))
        commits = act_on(store, verb, fact, form.get({"retire": "why", "supersede": "by"}.get(verb, "text"), ""))
    if verb == "confirm":
        _confirm_rules(store, [fact])
    return ActResult(f"/fact/{fact.id}", commits[-1] if commits else "")


def _forbid(store: Store, fact: Fact, form: Mapping[str, str]) -> str:
    """Set what a fact forbids, one literal per line; this also confirms the rule."""
    enforce = _chosen(form, "enforce", [*Decision], "Nothing was chosen for such a call.")
    literals = tuple(filter(None, map(str.strip, form.get("literals", "").splitlines())))
    commits = forbid(store, fact, literals, "" if enforce == Decision.TELL else enforce)
    _confirm_rules(store, [fact])
    return commits[-1] if commits else ""


def _confirm_rules(store: Store, facts: Sequence[Fact]) -> None:
    """Enforce on this machine, in their present version, those of the facts that forbid something."""
    for fact in facts:
        rule = find_fact(store, fact.id)
        if rule.forbids:
            confirm_rule(store, rule)


def _add(view: View, form: Mapping[str, str]) -> ActResult:
    store, text = view.store, form.get("text", "")
    if not clean_text(text):
        raise RefusedError("There is nothing to save: the text is empty.")
    kind = _chosen(form, "kind", LASTING, "No kind was chosen for the fact.")
    saved = save_text(store, text, MemoryType(kind), host="web")
    known = any(fact.id == saved.id for fact in known_facts(store))  # unless another process has just saved it
    return ActResult(f"/fact/{saved.id}" if known else "/facts", saved.commit or "")


def _change_facts(view: View, ticked: Sequence[str], form: Mapping[str, str]) -> ActResult:
    """Apply an act to all ticked facts, in one commit if they stay here; ask before deleting words for good."""
    store, verb = view.store, form.get("verb", "")
    pairs = [box.partition(" ")[::2] for box in ticked]
    if not pairs:
        raise RefusedError("No fact is ticked.", "Tick some in the list, then repeat what you did.")
    facts = [_as_seen(store, find_fact(store, identifier), blob, form) for identifier, blob in pairs]
    back = _local(form.get("back", ""))
    with _unmoved(store, facts[0], form):
        if verb == "retire":
            commits = retire(store, facts[0], "", *facts[1:])
        elif verb == "confirm":
            commits = confirm(store, *facts)
            _confirm_rules(store, facts)
        elif verb in ("pin", "unpin"):
            commits = pin(store, facts[0], *facts[1:], pinned=verb == "pin")
        elif verb == "purge":
            return _purge(view, facts, form)
        elif verb in ("promote", "demote") and verb == view.here.moves:
            target, steps = _other_layer(view), list[str]()
            for fact in facts:
                there, here = move(store, fact, target)
                steps += [f"{ELSEWHERE}{there}", here]
            return ActResult(_left(view, back), " ".join(steps))
        else:
            raise NotFoundError("There is no such act.")
    return ActResult(back, commits[-1] if commits else "")


def _undo(view: View, done: Sequence[str]) -> str:
    """Undo the commits of an act, the last one first; return the new ones."""
    if not done:
        raise NotFoundError("There is no commit to undo.")
    made = []
    for step in reversed(done):
        is_elsewhere = step.startswith(ELSEWHERE)
        store = _other_layer(view) if is_elsewhere else view.store
        commit = undo(store, revision=step.removeprefix(ELSEWHERE)).commit
        if is_elsewhere:
            known_facts(store)
        made += [f"{ELSEWHERE if is_elsewhere else ''}{commit}"] if commit else []
    return " ".join(made)


def _other_layer(view: View) -> Store:
    """Return the project's store if this one is private, and vice versa."""
    store = view.store
    if not store.is_private:
        return finish_purge(store_for_session(store, "", private=True))
    stores = (finish_purge(Store(project.root, store.context)) for project in view.projects)
    team = next((known for known in stores if (own := private_store(known)) and own.root == store.root), None)
    if team is None:
        raise RefusedError("The project that this is private to is not on this machine any more.")
    return team


def _purge(view: View, facts: Sequence[Fact], form: Mapping[str, str]) -> ActResult:
    """Show a preview and ask whether to delete the words of facts for good; if confirmed, do it."""
    store = view.store
    texts = [text for fact in facts for text in (fact.text, ", ".join(fact.keywords), fact.name)]
    words = sorted({line.strip() for text in texts for line in text.splitlines()} - {""}, key=len, reverse=True)
    # A fact has a capital and a period that its source may lack. But a short text without them may be part of other
    # words, as "use uv" of "because uvicorn".
    loose = (f"(?i:{re.escape(line.rstrip(_ENDS))})" for line in words if len(line.encode()) > _FEW)
    plan = plan_purge(store, re.compile("|".join([*map(re.escape, words), *loose])))
    if not form.get("sure"):
        shown = [{**fields(fact, "id description"), "blob": blob_of(store, fact.source)} for fact in facts]
        losing = _losing(store, plan, {fact.path for fact in facts})
        page = {"facts": shown, "lines": losing[:_MOST_LINES], "more": max(len(losing) - _MOST_LINES, 0)}
        return ActResult("", ask={**page, "back": _local(form.get("back", "")), **plan.purge._asdict()})
    purge(store, plan)
    return ActResult("/facts", store.tip or "")


def _losing(store: Store, plan: PurgePlan, own: Collection[str]) -> list[dict[str, Any]]:
    """Return the lines outside the facts' own files that lose words, split so that every other part is lost."""
    texts = sorted((text.decode("utf-8", "replace") for text in plan.texts), key=len, reverse=True)
    lost = re.compile(f"({'|'.join(map(re.escape, texts))})")
    contents = ((path, store.read(path) or b"") for path in plan.purge.files if path not in own)
    lines = ((path, line) for path, data in contents for line in data.decode("utf-8", "replace").splitlines())
    return [{"path": path, "parts": parts} for path, line in lines if len(parts := lost.split(line)) > 1]


def _settle(store: Store, form: Mapping[str, str]) -> str:
    pairs = {(pair.older.id, pair.newer.id): pair for pair in waiting_pairs(store)}
    pair = pairs.get((form.get("older", ""), form.get("newer", "")))
    if pair is None:
        raise NotFoundError("This pair no longer waits.", "Look at the list again.")
    holds = _chosen(form, "holds", list(PairChoice), "No fact was chosen.")
    older = _as_seen(store, pair.older, form.get("older_blob", ""), form)
    newer = _as_seen(store, pair.newer, form.get("newer_blob", ""), form)
    with _unmoved(store, pair.newer, form):
        return "".join(decide(store, Pair(newer, older), PairChoice(holds))[-1:])


def _take(store: Store, form: Mapping[str, str]) -> str:
    path = form.get("path", "")
    _read_as_seen(store, "/review", path, form.get("blob", ""), form)
    takes = (Take.OURS, Take.THEIRS, Take.BOTH)
    return resolve_review(store, path, Take(_chosen(form, "take", takes, "No version was chosen to keep.")))


def _answer_change(store: Store, form: Mapping[str, str]) -> str | None:
    change = others_changes(store).get(form.get("id", ""))
    if change is None:
        raise NotFoundError("This change no longer waits.", "Look at the list again.")
    _read_as_seen(store, "/review", change.path, form.get("blob", ""), form)
    take = _chosen(form, "take", (Take.OURS, Take.THEIRS), "Neither yes nor no was chosen for the change.")
    return answer_change(store, change, accept=take == Take.THEIRS)


def _answer_rule(store: Store, form: Mapping[str, str]) -> str | None:
    rule = _as_seen(store, find_fact(store, form.get("id", "")), form.get("blob", ""), form)
    take = _chosen(form, "take", (*OTHERS_RULE, *IGNORED_RULE), "Nothing was chosen for the rule.")
    with _unmoved(store, rule, form):
        return "".join(decide_rule(store, rule, take)[-1:]) or None


def _answer_copy(store: Store, form: Mapping[str, str]) -> str | None:
    copy = next((copy for copy in find_copies(store) if copy.path == form.get("path")), None)
    if copy is None:
        raise NotFoundError("This copy is gone.", "Look at the list again.")
    _read_as_seen(store, "/review", copy.path, form.get("blob", ""), form)
    takes = (Take.OURS, *[Take.THEIRS] * bool(copy.original))
    take = _chosen(form, "take", takes, "Neither the copy nor the original was chosen.")
    return (take_copy if take == Take.THEIRS else drop_copy)(store, copy)


def _answer_left_out(store: Store, form: Mapping[str, str]) -> str | None:
    row = form.get("row", "")
    stated = waiting_left_out(store).get(row)
    if stated is None:
        raise NotFoundError("These lines were answered, or their exchange is gone.", "Look at the list again.")
    take = _chosen(form, "take", ("mine", "pasted"), "It was not said whether the lines are yours.")
    return answer_left_out(store, row, stated, accept=take == "mine")


_REVIEWS = {
    "copy": _answer_copy,
    "settle": _settle,
    "take": _take,
    "change": _answer_change,
    "rule": _answer_rule,
    "left-out": _answer_left_out,
}


def _chosen(form: Mapping[str, str], name: str, values: Sequence[str], otherwise: str) -> str:
    """Return a form field, which must be one of `values`."""
    if form.get(name) not in values:
        raise RefusedError(otherwise)
    return form[name]


def _read_as_seen(store: Store, href: str, path: str, blob: str, form: Mapping[str, str]) -> bytes:
    """Return the content of a file if it still is the form's blob, else raise MovedError."""
    data = store.read(path) or b""
    if blob_of(store, data) != blob:
        raise MovedError(store, href, path, form)
    return data


def _as_seen(store: Store, known: Fact, blob: str, form: Mapping[str, str]) -> Fact:
    """Return a fact as the form showed it, else raise; operations check it again under the lock."""
    fact = parse_fact(_read_as_seen(store, f"/fact/{known.id}", known.path, blob, form), known.path)
    if fact is None:
        raise MovedError(store, f"/fact/{known.id}", known.path, form)
    return fact


@contextlib.contextmanager
def _unmoved(store: Store, fact: Fact, form: Mapping[str, str]) -> Iterator[None]:
    """If an operation finds that a fact has changed, show the changes."""
    try:
        yield
    except FactChangedError:
        raise MovedError(store, f"/fact/{fact.id}", fact.path, form) from None


def _left(view: View, back: str) -> str:
    """Return the page to go back to; the list of facts if the page's fact no longer exists."""
    first, _, identifier = back.strip("/").partition("?")[0].partition("/")
    is_gone = first == "fact" and all(fact.id != identifier for fact in known_facts(view.store))
    return "/facts" if is_gone else _local(back)


def _local(back: str) -> str:
    """Return the page to go back to if it is on this server, else a default."""
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"
