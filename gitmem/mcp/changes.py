"""What the tools that save and change facts do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from gitmem.document.entry import MemoryType, clean_tag, clean_text
from gitmem.document.ids import daily_path
from gitmem.errors import RefusedError
from gitmem.facts.edit import act_on, find_fact
from gitmem.facts.fact import FactKind
from gitmem.sessions.save import save_text
from gitmem.store.store import Store
from gitmem.text.stems import estimate_tokens

MAX_CHARACTERS = 100_000
_MAX_METADATA = 10_000  # characters of all metadata, as JSON
_MAX_NAME = 100  # characters of a session's or a host's name


class SaveResult(BaseModel):
    """The result of a save."""

    id: str = Field(description="of the entry; it stands as ^id at the end of its first line")
    commit: str | None = Field(description="that holds it; null if another process committed it")
    path: str = Field(description="the daily log it is in, for memory_get")
    tokens: int
    redacted: dict[str, int] = Field(default={}, description="how many secrets of each kind were left out of the text")
    notices: list[str] = Field(default=[], description="for the user")


def keep(
    store: Store, kind: MemoryType, content: str, metadata: Mapping[str, object], *, session: str, host: str
) -> SaveResult:
    """Save a text, with its metadata as `key: value` lines below it.

    `tags` of `metadata` become the entry's tags, and its `session` replaces the one given.

    Raises:
        GitmemError: the text is empty, a tag is invalid, or the commit failed.

    """
    if (size := len(json.dumps(metadata, ensure_ascii=False, default=str))) > _MAX_METADATA:
        raise RefusedError(
            f"metadata has {size:,} characters; at most {_MAX_METADATA:,} are kept: put the text into content."
        )
    about = dict(metadata)
    tags = _tags(about.pop("tags", ()))
    session = _name(about.pop("session", None) or session)
    store = store.for_session(session, private=about.pop("private", False) is True)
    text = clean_text("\n".join([content, *(f"{_name(key)}: {_value(value)}" for key, value in about.items())]))
    if not clean_text(content):
        raise RefusedError("There is nothing to save: content is empty.")
    at = store.context.clock()
    saved = save_text(store, text, kind, tags, session=session, host=_name(host))
    notices = [*saved.notices]
    if saved.archive:
        notices.append(f"memory.md was full and became {saved.archive}.")
    path = daily_path(f"{at:%Y-%m-%d}")
    tokens = estimate_tokens(text)
    return SaveResult(
        id=saved.id, commit=saved.commit, path=path, tokens=tokens, redacted=saved.redacted, notices=notices
    )


def _tags(value: object) -> tuple[str, ...]:
    words = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise RefusedError("tags are a list of words.")
    try:
        return tuple(dict.fromkeys(clean_tag(str(word)) for word in words))
    except ValueError as error:
        raise RefusedError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None


def _name(value: object) -> str:
    return " ".join(clean_text(str(value)).split())[:_MAX_NAME]


def _value(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


FactAct = Literal["retire", "resolve", "edit", "confirm", "supersede"]


def update(store: Store, fact: str, act: FactAct, text: str) -> str:
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
    commits = act_on(store, act, known, text)
    now = find_fact(store, known.id)
    by = f" by {now.superseded_by}" if now.superseded_by else ""
    return (
        f"{now.id} is {now.status}{by}: {now.description}"
        if commits
        else f"Nothing changed: {now.id} is {now.status}{by}."
    )
