"""What a page shows of the memory, now or at a time; and the changes of a fact's file in each commit."""

from __future__ import annotations

import difflib
import re
import unicodedata
from functools import cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from gitmem.facts.fact import Fact, FactStatus, parse_fact
from gitmem.history.records import CommitRecord
from gitmem.store.store import Store
from gitmem.text.stems import hangul_stem, literal_of, stem, stop_words

# Characters that are drawn as nothing, beside those of the categories Cc, Cf, Co, Cs, Zl and Zp.
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
MAX_MARKDOWN = 200_000  # characters; longer text is shown as source


def visible(text: str) -> str:
    """Return a text with invisible and direction-changing characters written as their code points.

    A joiner stays between symbols, where it makes one picture of several.
    """
    if text.isascii() and text.isprintable():
        return text

    def name(found: re.Match[str]) -> str:
        one = found[0]
        if unicodedata.category(one) not in _HIDDEN and not re.match(f"[{_EMPTY}]", one):
            return one
        around = text[max(found.start() - 2, 0) : found.start()] + text[found.end() : found.end() + 1]
        if one == _JOINER and any(unicodedata.category(near) == "So" for near in around):
            return one
        return "" if one == "\r" else f"⟨U+{ord(one):04X}⟩"

    return _SUSPECT.sub(name, text)


def inline(text: str) -> Markup:
    """Return a line as HTML, with the text between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(Markup.escape(visible(text)))))  # noqa: S704  # it was escaped just now


def marked_words(text: str, query: str) -> Markup:
    """Return a line as HTML, with the words of a query marked in all their forms."""
    found = {word for word in _WORD.findall(query.casefold()) if word not in stop_words()}
    if not found:
        return inline(text)
    stems = sorted({literal_of(word, stem(hangul_stem(word))) or word for word in found}, key=len, reverse=True)
    pieces = re.split(rf"(?i)(?<![^\W\d_])((?:{'|'.join(map(re.escape, stems))})\w*)", visible(text.replace("**", "")))
    return Markup("").join(Markup("<mark>{}</mark>").format(one) if at % 2 else one for at, one in enumerate(pieces))


def markdown(text: str) -> Markup:
    """Return markdown as HTML; links, pictures and HTML in it are shown as source."""
    if len(text) > MAX_MARKDOWN:
        return Markup("<pre>{}</pre>").format(visible(text))
    made = _parser().render(text)
    return Markup(visible(nh3.clean(made, tags=_TAGS, attributes={})))  # noqa: S704  # it was cleaned just now


@cache
def _parser() -> MarkdownIt:
    rules = ["link", "image", "autolink", "html_inline", "html_block", "reference"]
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable(rules)


_ENDED = (FactStatus.SUPERSEDED, FactStatus.RETIRED, FactStatus.RESOLVED)
STEPS = 40  # of a life, the newest


def life(store: Store, known: Fact, found: list[CommitRecord]) -> list[dict[str, Any]]:
    """Return the steps of a fact's life, the oldest first, given the commits of its file, the newest first."""
    with store.repository.reading() as objects:
        data = list(objects.contents([f"{one.commit}:{known.path}" for one in found[:STEPS]]))
    steps: list[dict[str, Any]] = []
    before: Fact | None = None
    for record, content in zip(found[:STEPS][::-1], data[::-1], strict=True):
        now = parse_fact(content, known.path) if content else None
        if now is None and before is None:
            continue
        steps.append({"act": _act(before, now), "record": record, "changes": _changes(before, now)})
        before = now
    return steps


def lines_between(before: str, now: str) -> list[dict[str, str]]:
    """Return the lines of two texts, each with its sign: "-", "+" or " "."""
    old, new = before.splitlines(), now.splitlines()
    lines: list[dict[str, str]] = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += ({"sign": " ", "text": line} for line in old[start:end])
            continue
        lines += ({"sign": "-", "text": line} for line in old[start:end])
        lines += ({"sign": "+", "text": line} for line in new[first:last])
    return lines


def _act(before: Fact | None, now: Fact | None) -> str:
    if now is None or before is None:
        return "learned" if before is None else "removed"
    if now.status != before.status:
        return now.status.value if now.status in _ENDED else "restored"
    acts = (
        (now.text != before.text, "edited"),
        (now.pinned != before.pinned, "pinned" if now.pinned else "unpinned"),
        (len(now.review) > len(before.review), "disputed"),
        ((now.commit, now.review) != (before.commit, before.review), "confirmed"),
        ((now.confidence or 0) > (before.confidence or 0), "confirmed"),
        (now.sources != before.sources, "heard again"),
    )
    return next((act for is_it, act in acts if is_it), "changed")


def _changes(before: Fact | None, now: Fact | None) -> dict[str, Any]:
    """Return the changed lines of the text, and the changed fields with their values before and after."""
    if before is None or now is None:
        return {"text": [], "fields": []}
    fields = ("kind", "status", "confidence", "superseded_by", "review", "supersedes", "files", "commit", "sources")
    changed = [(name, _words(getattr(before, name)), _words(getattr(now, name))) for name in fields]
    return {
        "text": lines_between(before.text, now.text) if before.text != now.text else [],
        "fields": [{"name": name, "before": old, "now": new} for name, old, new in changed if old != new],
    }


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value if value is not None else "")
