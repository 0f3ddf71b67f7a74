"""Convert text of a memory for a page: nothing in it is executed, and nothing in it is hidden."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

# Characters that are drawn as nothing, beside those of the categories Cc, Cf, Co, Cs, Zl and Zp.
_EMPTY = r"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U000e0100-\U000e01ef\ufe00-\ufe0d"
_SUSPECT = re.compile(rf"[^\n\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u3131-\u3163\uac00-\ud7a3\u4e00-\u9fff]|[{_EMPTY}]")
_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
_JOINER = "\u200d"
_TAGS = {
    "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
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
