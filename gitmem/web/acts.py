"""Acts of a person on a page. Each act calls an operation of `memory` or `store`, and is one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.facts.edit import Holds, MovedOnError, confirm, decide, edit, find_fact, retire, supersede_fact
from gitmem.facts.fact import Fact
from gitmem.facts.file import parse_fact
from gitmem.history.changes_by_others import answer_change, others_changes
from gitmem.history.review import Pair, Take, resolve_review, waiting_pairs
from gitmem.history.undo import undo
from gitmem.store.store import Store
from gitmem.web.pages.facts import blob_id
from gitmem.web.pages.view import View
from gitmem.web.visible import lines_between


@dataclass(frozen=True)
class Done:
    """The page to go on with, and the commit that the act made, "" if there was nothing to do."""

    href: str
    commit: str


class MovedError(GitmemError):
    """The content behind a form has changed meanwhile: `page` shows it beside the person's text."""

    def __init__(self, page: dict[str, Any]) -> None:
        super().__init__("It has been changed meanwhile, and nothing was overwritten.", "Look at it again.")
        self.page = page


def act(view: View, path: str, form: Mapping[str, str]) -> Done:
    """Carry out the act of a form at this address.

    Raises:
        MovedError: the content behind the form has changed meanwhile; nothing was done.
        GitmemError: the operation refuses; nothing was done.

    """
    match path.strip("/").split("/"):
        case ["fact", identifier, verb] if verb in ("edit", "retire", "confirm", "supersede"):
            return _change_fact(view, identifier, verb, form)
        case ["review", "settle"]:
            return _settle(view, form)
        case ["review", "take"]:
            return _take(view, form)
        case ["review", "change"]:
            return _answer_change(view, form)
        case ["undo"]:
            done = undo(view.store, revision=form.get("commit", ""))
            return Done(_local(form.get("back", "")), done.commit or "")
    raise NotFoundError("There is no such act.")


def _change_fact(view: View, identifier: str, verb: str, form: Mapping[str, str]) -> Done:
    store = view.store
    known = find_fact(store, identifier)
    seen = _as_seen(store, known, form.get("blob", ""), form)
    try:
        if verb == "edit":
            commits = edit(store, seen, form.get("text", ""))
        elif verb == "retire":
            commits = retire(store, seen, form.get("why", ""))
        elif verb == "confirm":
            commits = confirm(store, seen, view.project())
        else:
            commits = supersede_fact(store, seen, find_fact(store, form.get("by", "")))
    except MovedOnError:
        raise _moved(store, known, form) from None
    return Done(f"/fact/{known.id}", commits[-1] if commits else "")


def _settle(view: View, form: Mapping[str, str]) -> Done:
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
    return Done("/review", commits[-1] if commits else "")


def _take(view: View, form: Mapping[str, str]) -> Done:
    path, blob = form.get("path", ""), form.get("blob", "")
    data = view.store.read(path) or b""
    if blob_id(data, len(blob)) != blob:
        raise MovedError(_page(view.store, "/review", path, data, form))
    if form.get("take") not in {Take.OURS.value, Take.THEIRS.value, Take.BOTH.value}:
        raise RefusedError("It was not said which version to keep.")
    return Done("/review", resolve_review(view.store, path, Take(form["take"])))


def _answer_change(view: View, form: Mapping[str, str]) -> Done:
    store, blob = view.store, form.get("blob", "")
    change = others_changes(store).get(form.get("id", ""))
    if change is None:
        raise NotFoundError("This change does not wait any more.", "Look at the list again.")
    data = store.read(change.path) or b""
    if blob_id(data, len(blob)) != blob:
        raise MovedError(_page(store, "/review", change.path, data, form))
    if form.get("take") not in {Take.OURS.value, Take.THEIRS.value}:
        raise RefusedError("It was not said whether to accept the change.")
    return Done("/review", answer_change(store, change, accept=form["take"] == Take.THEIRS.value) or "")


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
