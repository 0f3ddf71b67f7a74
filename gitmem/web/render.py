"""Find the page of an address, render it as HTML or JSON, and write all pages as files that a browser opens."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markupsafe import Markup

from gitmem.document.ids import short_session
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.model.fact import UNDATED, FactKind
from gitmem.platform.machine import read_resource, resource
from gitmem.platform.safe_open import replace_file
from gitmem.store.store import Store
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import json_text
from gitmem.text.words import hangul_stem, literal_of, stem, stop_words
from gitmem.web.facts import KINDS, show_concept, show_concepts, show_fact, show_facts, show_knowledge, show_review
from gitmem.web.history import WHOLE, show_commit, show_session, show_sessions, show_timeline, show_transcript, show_why
from gitmem.web.overview import show_home, show_search, show_stats, show_sync
from gitmem.web.view import PageCache, View, in_zone

TWIN = ".json"
FILES = {"gitmem.css": "text/css", "gitmem.js": "text/javascript", "gitmem.svg": "image/svg+xml"}
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
    "why": ("why", show_why),
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
    ("Now", ("home", "review", "search", "why")),
    ("Memory", ("facts", "sessions", "timeline", "concepts", "knowledge")),
    ("This machine", ("sync", "stats")),
)
MENU = tuple(name for _, names in GROUPS for name in names if name != "home")
FILTERED = ("facts", "sessions", "timeline", "search")  # the menu opens these with their last filters
_PAGE_OF = {"facts": "fact", "sessions": "session", "concepts": "concept"}
_SAFE = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}")  # an id that is safe as a file name
_LEFT_OUT = ("search", "why")  # they need a server
_NOT_WRITTEN = (*_LEFT_OUT, "commit", "transcript")  # a transcript is for the user, not for readers of an export
# Invisible characters outside of the categories Cc, Cf, Co, Cs, Zl and Zp.
_EMPTY = r"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U000e0100-\U000e01ef\ufe00-\ufe0d"
_SUSPECT = re.compile(rf"[^\n\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u3131-\u3163\uac00-\ud7a3\u4e00-\u9fff]|[{_EMPTY}]")
_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
_JOINER = "\u200d"
_TAGS = {
    "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_WORD = re.compile(r"\w{2,}")
_CODE = re.compile(r"`([^`\n]+)`")
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
MAX_MARKDOWN = 200_000  # characters; longer text is shown as source


def page_of(view: View, path: str) -> tuple[str, dict[str, Any]]:
    """Return the template and the values of a page, which are also its JSON; raises NotFoundError."""
    name, slash, item = path.strip("/").partition("/")
    if not slash and name in _LISTS:
        template, show = _LISTS[name]
        return template, show(view)
    if name in _ITEMS and item and "/" not in item:
        return name, _ITEMS[name](view, item)
    raise NotFoundError("There is no such page.", "The menu lists the pages.")


def to_html(template: str, page: Mapping[str, Any], **around: Any) -> str:
    """Render a page as HTML; `around` has the function for links (`u`), whether to show forms, and the note on top."""
    values = {"u": str, "forms": False, "note": None, "menu": GROUPS, "here": template, "kinds": KINDS, "zone": ""}
    values |= {"projects": (), "project": None, "filters": {}, "live": None, "waiting": 0, "back": "/", "shut": ""}
    values |= {"this_machine": "", **around}
    return _environment().get_template(f"{template}.html").render(page=page, **values)


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
        # Show invisible characters of a text as code points.
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
        "kind": lambda name: FactKind(name).word,
        "told": _told,
        "time": _time,
        "clock": pass_context(lambda around, text: _time(around, text, "%H:%M")),
        "day": pass_context(lambda around, text: _time(around, text, "%Y-%m-%d")),
    }
    return made


@pass_context
def _told(around: Context, text: str) -> Markup:
    """Render lines shown to an agent as HTML, with the times of entries in the reader's time zone."""
    return Markup(_ENTRY.sub(lambda match: f"[{_time(around, match[1])}]", markdown(text)))  # noqa: S704  # it was cleaned just now


@pass_context
def _time(around: Context, text: str | None, form: str = "%Y-%m-%d %H:%M") -> Markup | str:
    """Return a moment in the reader's time zone; a day without a time unchanged."""
    if not text or len(text) <= len("2026-11-21"):
        return text or ""
    try:
        moment = in_zone(datetime.fromisoformat(text), around["zone"])
    except (ValueError, OverflowError):  # a user wrote it
        return text
    if moment == UNDATED:
        return "undated"
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), moment.strftime(form))


def visible(text: str) -> str:
    """Show invisible and direction-changing characters as code points, except joiners of symbols."""
    if text.isascii() and text.isprintable():
        return text

    def name(match: re.Match[str]) -> str:
        letter = match[0]
        if unicodedata.category(letter) not in _HIDDEN and not re.match(f"[{_EMPTY}]", letter):
            return letter
        around = text[max(match.start() - 2, 0) : match.start()] + text[match.end() : match.end() + 1]
        if letter == _JOINER and any(unicodedata.category(near) == "So" for near in around):
            return letter
        return "" if letter == "\r" else f"⟨U+{ord(letter):04X}⟩"

    return _SUSPECT.sub(name, text)


def inline(text: str) -> Markup:
    """Render a line as HTML, with the text between backticks as code."""
    return _with_code(Markup.escape(visible(text)))


def _with_code(line: Markup) -> Markup:
    """Mark text between backticks as code, and dates as unbreakable, in a line of HTML."""
    return Markup(_DAY.sub(r"<time>\g<0></time>", _CODE.sub(r"<code>\1</code>", str(line))))  # noqa: S704  # as it was


def marked_words(text: str, query: str) -> Markup:
    """Render a line as HTML, with the words of a query marked in all their forms."""
    words = {word for word in _WORD.findall(query.casefold()) if word not in stop_words()}
    if not words:
        return inline(text)
    stems = sorted({literal_of(word, stem(hangul_stem(word))) or word for word in words}, key=len, reverse=True)
    pieces = re.split(rf"(?i)(?<![^\W\d_])((?:{'|'.join(map(re.escape, stems))})\w*)", visible(text.replace("**", "")))
    marks = (Markup("<mark>{}</mark>").format(piece) if at % 2 else piece for at, piece in enumerate(pieces))
    return _with_code(Markup("").join(marks))


def markdown(text: str) -> Markup:
    """Render markdown as HTML; links, pictures and HTML in it are shown as source."""
    if len(text) > MAX_MARKDOWN:
        return Markup("<pre>{}</pre>").format(visible(text))
    made = _parser().render(text)
    return Markup(visible(nh3.clean(made, tags=_TAGS, attributes={})))  # noqa: S704  # it was cleaned just now


@cache
def _parser() -> MarkdownIt:
    rules = ["link", "image", "autolink", "html_inline", "html_block", "reference"]
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable(rules)


def export(store: Store, folder: str) -> int:
    """Write only this store's pages, for other readers, into a new or empty folder; return their number."""
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise RefusedError(f"{folder} is not an empty folder.", "Name a folder that does not exist yet.")
    cache, written = PageCache(), 0
    for name in FILES:
        _write(folder, name, read_resource("templates", "web", name))
    for path, asked in _addresses(store, cache):
        try:
            template, page = page_of(View(store, asked, cache, for_others=True), path)
        except GitmemError:  # a file that is gone, or cannot be read
            continue
        name = _file(path, asked.get("after", ""))
        depth = name.count("/")
        text = to_html(template, page, u=lambda address, up="../" * depth: _link(address, up), static=True)
        _write(folder, name, text.encode("utf-8", "replace"))
        written += 1
    return written


def _addresses(store: Store, cache: PageCache) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield path and query of each page; a long list has several pages."""
    yield "", {}
    for name in MENU:
        if name in _LEFT_OUT:
            continue
        asked = {"show": "all"} if name == "facts" else {}
        while True:
            yield name, dict(asked)
            page = page_of(View(store, asked, cache, for_others=True), name)[1]
            for item in page.get(name, ()) if name in _PAGE_OF else ():
                if _SAFE.fullmatch(item["id"]):
                    yield f"{_PAGE_OF[name]}/{item['id']}", {WHOLE: "1"}
            if not page.get("next"):
                break
            asked["after"] = page["next"]


def _file(path: str, after: str = "") -> str:
    if after and not _SAFE.fullmatch(after):  # a session id from a commit may be any text
        after = sha256(after.encode("utf-8", "replace")).hexdigest()
    return f"{path or 'index'}{f'/{after}' if after else ''}.html"


def _link(address: str, up: str) -> str:
    """Return the relative link to a page's file, "" for a page that is not written."""
    path, _, query = address.strip("/").partition("?")
    if path in FILES:
        return up + path
    first, _, item = path.partition("/")
    if first in _NOT_WRITTEN or path.endswith(".json") or (item and not _SAFE.fullmatch(item)):
        return ""
    return up + _file(path or "index", parse_qs(query).get("after", [""])[0])


def _write(folder: str, name: str, data: bytes) -> None:
    replace_file(os.path.join(folder, *name.split("/")), data, mode=0o600)  # whatever the umask
