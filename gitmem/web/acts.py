"""Acts of a person on a page. Each act calls an operation of `memory` or `store`, and is one commit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gitmem.document.entry import MemoryType, clean_text
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.facts.edit import Holds, MovedOnError, act_on, confirm, decide, find_fact, move, pin, read_fact, retire
from gitmem.facts.fact import Fact
from gitmem.facts.file import parse_fact
from gitmem.history.changes_by_others import answer_change, others_changes
from gitmem.history.review import Pair, Take, resolve_review, waiting_pairs
from gitmem.history.undo import undo
from gitmem.purge.purge import plan_purge, purge
from gitmem.sessions.save import save_text
from gitmem.store.known_facts import known_facts
from gitmem.store.layers import private_store
from gitmem.store.store import Store
from gitmem.text.terminal import fields
from gitmem.values import Value
from gitmem.web.pages.facts import blob_id
from gitmem.web.pages.view import View
from gitmem.web.visible import lines_between

LASTING = [kind.value for kind in MemoryType if kind.lasts]


class ActResult(Value):
    """The page to go on with, and the commit that the act made, "" if there was nothing to do."""

    href: str
    commit: str


class Ask(Value):
    """A page that says what an act would do and asks whether to do it."""

    page: dict[str, Any]


class MovedError(GitmemError):
    """The content behind a form has changed meanwhile: `page` shows it beside the person's text."""

    def __init__(self, page: dict[str, Any]) -> None:
        super().__init__("It has been changed meanwhile, and nothing was overwritten.", "Look at it again.")
        self.page = page


def act(view: View, path: str, form: Mapping[str, str], ticked: Sequence[str] = ()) -> ActResult | Ask:  # noqa: PLR0911  # one an act
    """Carry out the act of a form at this address; `ticked` are facts, each as `ID BLOB`.

    Raises:
        MovedError: the content behind the form has changed meanwhile; nothing was done.
        GitmemError: the operation refuses; nothing was done.

    """
    match path.strip("/").split("/"):
        case ["fact", identifier, verb] if verb in ("edit", "retire", "confirm", "supersede"):
            return _change_fact(view, identifier, verb, form)
        case ["facts", "add"]:
            return _add(view, form)
        case ["facts", "many"]:
            return _change_facts(view, ticked, form)
        case ["review", "settle"]:
            return _settle(view, form)
        case ["review", "take"]:
            return _take(view, form)
        case ["review", "change"]:
            return _answer_change(view, form)
        case ["undo"]:
            undone = undo(view.store, revision=form.get("commit", ""))
            return ActResult(_local(form.get("back", "")), undone.commit or "")
    raise NotFoundError("There is no such act.")


def _change_fact(view: View, identifier: str, verb: str, form: Mapping[str, str]) -> ActResult:
    store = view.store
    fact = find_fact(store, identifier)
    seen = _as_seen(store, fact, form.get("blob", ""), form)
    try:
        commits = act_on(store, verb, seen, form.get({"retire": "why", "supersede": "by"}.get(verb, "text"), ""))
    except MovedOnError:
        raise _moved(store, fact, form) from None
    return ActResult(f"/fact/{fact.id}", commits[-1] if commits else "")


def _add(view: View, form: Mapping[str, str]) -> ActResult:
    store, kind, text = view.store, form.get("kind", ""), form.get("text", "")
    if not clean_text(text):
        raise RefusedError("There is nothing to save: the text is empty.")
    if kind not in LASTING:
        raise RefusedError("It was not said of which kind the fact is.")
    saved = save_text(store, text, MemoryType(kind), host="web")
    known = any(fact.id == saved.id for fact in known_facts(store))  # not while another process saves it
    return ActResult(f"/fact/{saved.id}" if known else "/facts", saved.commit or "")


def _change_facts(view: View, ticked: Sequence[str], form: Mapping[str, str]) -> ActResult | Ask:
    """Do the same to all facts that were ticked, in one commit; what is deleted for good is asked for first."""
    store, verb = view.store, form.get("verb", "")
    pairs = [one.partition(" ")[::2] for one in ticked]
    if not pairs:
        raise RefusedError("No fact is ticked.", "Tick some in the list, then repeat what you did.")
    facts = [_as_seen(store, find_fact(store, identifier), blob, form) for identifier, blob in pairs]
    back = _local(form.get("back", ""))
    try:
        if verb == "retire":
            commits = retire(store, facts[0], "", *facts[1:])
        elif verb == "confirm":
            commits = confirm(store, *facts)
        elif verb in ("pin", "unpin"):
            commits = pin(store, facts[0], *facts[1:], pinned=verb == "pin")
        elif verb == "purge":
            return _purge(view, facts, form)
        elif verb in ("promote", "demote") and verb == view.here.moves:
            _move(view, facts)
            return ActResult("/facts" if back.startswith("/fact/") else back, "")
        else:
            raise NotFoundError("There is no such act.")
    except MovedOnError:
        raise _moved(store, facts[0], form) from None
    return ActResult(back, commits[-1] if commits else "")


def _move(view: View, facts: Sequence[Fact]) -> None:
    """Move facts from what is private into the project's memory, or out of it."""
    store = view.store
    if store.is_private:
        stores = [Store(project.root, store.context) for project in view.projects]
        of = {found.root: one for one in stores if (found := private_store(one)) is not None}
        if store.root not in of:
            raise RefusedError("The project that this is private to is not on this machine any more.")
        target = of[store.root]
    else:
        target = store.for_session("", private=True)
    for fact in facts:
        move(store, fact, target)


def _purge(view: View, facts: Sequence[Fact], form: Mapping[str, str]) -> ActResult | Ask:
    """Say what deleting the words of facts for good would do; do it once the person has said so."""
    store = view.store
    told = [text for fact in facts for text in (fact.text, ", ".join(fact.keywords), fact.name)]
    lines = {line.strip() for text in told for line in text.splitlines()}
    words = sorted(filter(None, lines), key=len, reverse=True)
    plan = plan_purge(store, re.compile("|".join(map(re.escape, words))))
    digits = len(store.tip or "")
    page: dict[str, Any] = {
        "facts": [{**fields(fact, "id description"), "blob": blob_id(fact.source, digits)} for fact in facts]
    }
    page |= {"words": words, "back": _local(form.get("back", "")), **plan.purge._asdict()}
    if not form.get("sure"):
        return Ask(page)
    purge(store, plan)
    left = [read_fact(store, find_fact(store, fact.id)) for fact in facts]
    retire(store, left[0], "", *left[1:])  # else it would be told as "(purged)"
    return ActResult("/facts", "")


def _settle(view: View, form: Mapping[str, str]) -> ActResult:
    store = view.store
    pair = next(
        (one for one in waiting_pairs(store) if (one.older.id, one.newer.id) == (form.get("older"), form.get("newer"))),
        None,
    )
    if pair is None:
        raise NotFoundError("This pair does not wait any more.", "Look at the list again.")
    if form.get("holds") not in {holds.value for holds in Holds}:
        raise RefusedError("It was not said which fact holds.")
    older = _as_seen(store, pair.older, form.get("older_blob", ""), form)
    newer = _as_seen(store, pair.newer, form.get("newer_blob", ""), form)
    try:
        commits = decide(store, Pair(newer, older), Holds(form["holds"]))
    except MovedOnError:
        raise _moved(store, pair.newer, form) from None
    return ActResult("/review", commits[-1] if commits else "")


def _take(view: View, form: Mapping[str, str]) -> ActResult:
    path, blob = form.get("path", ""), form.get("blob", "")
    data = view.store.read(path) or b""
    if blob_id(data, len(blob)) != blob:
        raise MovedError(_page(view.store, "/review", path, data, form))
    if form.get("take") not in {Take.OURS.value, Take.THEIRS.value, Take.BOTH.value}:
        raise RefusedError("It was not said which version to keep.")
    return ActResult("/review", resolve_review(view.store, path, Take(form["take"])))


def _answer_change(view: View, form: Mapping[str, str]) -> ActResult:
    store, blob = view.store, form.get("blob", "")
    change = others_changes(store).get(form.get("id", ""))
    if change is None:
        raise NotFoundError("This change does not wait any more.", "Look at the list again.")
    data = store.read(change.path) or b""
    if blob_id(data, len(blob)) != blob:
        raise MovedError(_page(store, "/review", change.path, data, form))
    if form.get("take") not in {Take.OURS.value, Take.THEIRS.value}:
        raise RefusedError("It was not said whether to accept the change.")
    return ActResult("/review", answer_change(store, change, accept=form["take"] == Take.THEIRS.value) or "")


def _as_seen(store: Store, known: Fact, blob: str, form: Mapping[str, str]) -> Fact:
    """Return a fact if its file still is the form's blob, else raise; operations check it again under the lock."""
    data = store.read(known.path) or b""
    fact = parse_fact(data, known.path)
    if fact is None or blob_id(data, len(blob)) != blob:
        raise _moved(store, known, form)
    return fact


def _moved(store: Store, known: Fact, form: Mapping[str, str]) -> MovedError:
    data = store.read(known.path) or b""
    return MovedError(_page(store, f"/fact/{known.id}", known.path, data, form))


def _page(store: Store, href: str, path: str, now: bytes, form: Mapping[str, str]) -> dict[str, Any]:
    blob = form.get("blob", "")
    try:
        before = store.repository.blob(blob) if blob.isalnum() else b""
    except GitmemError:  # it was never committed
        before = b""
    texts = before.decode("utf-8", "replace"), now.decode("utf-8", "replace")
    lines = [line for line in lines_between(*texts) if line["sign"] != " "]
    return {"href": href, "path": path, "lines": lines, "text": form.get("text", form.get("why", ""))}


def _local(back: str) -> str:
    """Return the page to go back to, always an address of this server."""
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"
