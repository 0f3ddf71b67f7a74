"""Find the page of an address, and render it as HTML or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from gitmem.document.ids import short_session
from gitmem.errors import NotFoundError
from gitmem.platform.programs import resource
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import json_text
from gitmem.web.facts import KINDS, show_concept, show_concepts, show_fact, show_facts, show_knowledge, show_review
from gitmem.web.history import show_commit, show_session, show_sessions, show_timeline, show_transcript
from gitmem.web.overview import show_home, show_search, show_stats, show_sync
from gitmem.web.view import View, in_zone
from gitmem.web.visible import inline, markdown, marked_words, visible

TWIN = ".json"
_ENTRY = re.compile(r"(?<=<li>)\[(\d{4}-\d\d-\d\d \d\d:\d\d)]")
_LISTS: dict[str, tuple[str, Callable[[View], dict[str, Any]]]] = {
    "": ("home", show_home),
    "home": ("home", show_home),
    "timeline": ("timeline", show_timeline),
    "search": ("search", show_search),
    "facts": ("facts", show_facts),
    "sessions": ("sessions", show_sessions),
    "concepts": ("concepts", show_concepts),
    "knowledge": ("knowledge", show_knowledge),
    "review": ("review", show_review),
    "sync": ("sync", show_sync),
    "stats": ("stats", show_stats),
}
_ITEMS: dict[str, Callable[[View, str], dict[str, Any]]] = {
    "fact": show_fact,
    "session": show_session,
    "transcript": show_transcript,
    "concept": show_concept,
    "commit": show_commit,
}
GROUPS = (
    ("Now", ("home", "review", "search")),
    ("Memory", ("facts", "sessions", "timeline", "concepts", "knowledge")),
    ("This machine", ("sync", "stats")),
)
MENU = tuple(name for _, names in GROUPS for name in names if name != "home")
FILTERED = ("facts", "sessions", "timeline", "search")  # the menu leads back to these as they were last filtered


def page_of(view: View, path: str) -> tuple[str, dict[str, Any]]:
    """Return the template of a page and the values it shows, as its JSON twin has them.

    Raises:
        NotFoundError: there is no such page.

    """
    name, slash, item = path.strip("/").partition("/")
    if not slash and name in _LISTS:
        template, show = _LISTS[name]
        return template, show(view)
    if name in _ITEMS and item and "/" not in item:
        return name, _ITEMS[name](view, item)
    raise NotFoundError("There is no such page.", "The menu lists the pages.")


def to_html(template: str, page: Mapping[str, Any], **around: Any) -> str:
    """Return a page as HTML; `around` has the function for links (`u`), whether to show forms, and the note on top."""
    given = {"u": str, "forms": False, "note": None, "menu": GROUPS, "here": template, "kinds": KINDS, "zone": ""}
    given |= {"projects": (), "project": None, "filters": {}, "live": None, "waiting": 0, "back": "/", **around}
    return _environment().get_template(f"{template}.html").render(page=page, **given)


def to_json(page: Mapping[str, Any]) -> str:
    """Return a page as JSON."""
    return json_text(page, indent=1)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(resource("templates", "web")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Invisible characters of a text are written as code points.
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    made.filters |= {
        "short_session": short_session,
        "md": markdown,
        "inline": inline,
        "raw_text": Markup.escape,  # for a form field, with every character unchanged
        "number": count,
        "words": marked_words,
        "size": bytes_of,
    }
    made.filters |= {
        "told": _told,
        "time": _time,
        "day": pass_context(lambda around, text: _time(around, text, "%Y-%m-%d")),
    }
    return made


@pass_context
def _told(around: Context, text: str) -> Markup:
    """Return lines that an agent is told as HTML, with the moments of entries by the reader's clock."""
    return Markup(_ENTRY.sub(lambda match: f"[{_time(around, match[1])}]", markdown(text)))  # noqa: S704  # it was cleaned just now


@pass_context
def _time(around: Context, text: str | None, form: str = "%Y-%m-%d %H:%M") -> Markup | str:
    """Return a moment by the reader's clock; a day without a time, as it is."""
    if not text or len(text) <= len("2026-11-21"):
        return text or ""
    try:
        moment = in_zone(datetime.fromisoformat(text), around["zone"])
    except (ValueError, OverflowError):  # a person wrote it
        return text
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), moment.strftime(form))
