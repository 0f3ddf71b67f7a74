"""`memory_update`: end, reword, confirm or replace a fact, in one commit with its line in `memory.md`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from gitmem.errors import RefusedError
from gitmem.memory.facts.edit import confirm, edit, find_fact, retire, supersede_fact
from gitmem.model.fact.fact import FactKind

if TYPE_CHECKING:
    from gitmem.store.store import Store

Act = Literal["retire", "resolve", "edit", "confirm", "supersede"]


def update(store: Store, fact: str, act: Act, text: str) -> str:
    """Change a fact; returns a sentence that says how it stands now.

    `text` is why (`retire`, `resolve`), the new wording (`edit`), or the id of the successor (`supersede`).

    Raises:
        GitmemError: there is no such fact, the text is missing, or it could not be committed.

    """
    known = find_fact(store, fact)
    if act in ("edit", "supersede") and not text.strip():
        raise RefusedError("text is empty.", "It is the new wording, or the id of the fact that holds instead.")
    if act == "resolve" and known.kind != FactKind.ISSUE:
        raise RefusedError(f"{known.id} is no issue, but a {known.kind}.", "Use retire.")
    if act in ("retire", "resolve"):
        commits = retire(store, known, text)
    elif act == "edit":
        commits = edit(store, known, text)
    elif act == "confirm":
        commits = confirm(store, known, os.path.dirname(store.root))
    else:
        commits = supersede_fact(store, known, find_fact(store, text))
    now = find_fact(store, known.id)
    by = f" by {now.superseded_by}" if now.superseded_by else ""
    return (
        f"{now.id} is {now.status}{by}: {now.description}"
        if commits
        else f"Nothing changed: {now.id} is {now.status}{by}."
    )
