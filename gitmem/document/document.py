"""A markdown file with YAML front matter; an edit changes no other byte.

The very first line is `---`, and a later line `---` or `...` ends the header, as YAML, Jekyll and Pandoc have it.
Blanks may follow either fence, a byte order mark may precede the first, and bytes that are not UTF-8 are kept.
python-frontmatter accepts other fences, and strips the body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from gitmem.document.plain_header import LINE_ENDS, YamlTextError, newline_of, plain_mapping
from gitmem.platform.machine import UTC, date, datetime
from gitmem.values import Value

_BOM = b"\xef\xbb\xbf"
_OPENING = rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\n|\r)"
_CLOSING = rb"[\r\n]((?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z))"
# A key must follow: `---` alone may be a horizontal rule.
_UNCLOSED = r"---[ \t]*(?:\r\n|\n|\r)[\w-]+:(?:[ \r\n]|\Z)"
_CONFLICT = r"^(?:<{7}|\|{7}|={7}|>{7})(?:[ \r]|$)"
_LOOK_AT = 1024  # characters of a body searched for a broken header


class BrokenHeaderError(ValueError):
    """The document's header cannot be read, so it cannot be changed; the message is its `problem`."""


class Document(Value):
    """A markdown file with optional YAML front matter; what `parse` returns renders to the same bytes."""

    header: str | None  # the YAML between the fences, each line with its end; None: no front matter
    body: str  # the text after the closing fence's line, or all without a byte order mark
    opening: str = ""  # the byte order mark and the line of the opening fence, if they are there
    closing: str = ""  # the closing fence's line

    @classmethod
    def parse(cls, data: bytes) -> Document:
        """Split `data` into its parts. Never raises; only `metadata` parses the YAML, on first use."""
        start, end, body = _parts(data)
        return cls(
            header=decoded(data[start:end]) if body > end else None,
            body=decoded(data[body:]),
            opening=decoded(data[:start]),
            closing=decoded(data[end:body]),
        )

    def render(self) -> bytes:
        """Return the file's bytes."""
        return encoded(self.opening + (self.header or "") + self.closing + self.body)

    @property
    def metadata(self) -> Mapping[str, object]:
        """Return the values of the header; empty if it is missing or unreadable. Keys are always text."""
        return self._header_read()[0]

    @property
    def problem(self) -> str | None:
        """Return why the header cannot be read, None if it can or there is none."""
        return self._header_read()[1]

    @property
    def newline(self) -> str:
        """Return the line end of most lines of the file."""
        return newline_of(self.opening + (self.header or "") + self.closing + self.body)

    def get(self, key: str, default: object = None) -> object:
        """Return the value of `key` in the header."""
        return self.metadata.get(key, default)

    def set(self, key: str, value: object) -> Document:
        """Return the document with `key` set and every other line as it is; a header is made if there is none.

        Raises `BrokenHeaderError` if the header cannot be read, `YamlTextError` (both are ValueErrors) if the value
        cannot be written or `key` cannot be changed without changing something else.
        """
        from gitmem.document.yaml import set_value

        self._require_readable_header()
        newline = self.newline
        header = set_value(self.header or "", (key,), value, newline=newline)
        if self.header is not None:
            return Document(header, self.body, self.opening, self.closing)
        fence = f"---{newline}"
        return Document(header, self.body, self.opening + fence, fence)

    def remove(self, key: str) -> Document:
        """Return the document without `key`, and without its header if that is then empty. Raises as `set`.

        The fences stay if the body itself begins like a header.
        """
        from gitmem.document.yaml import remove_value

        self._require_readable_header()
        if self.header is None:
            return self
        rest = Document(remove_value(self.header, (key,)), self.body, self.opening, self.closing)
        bare = Document(None, self.body, self.opening.partition("---")[0])
        return bare if not rest.header and Document.parse(bare.render()) == bare and not bare.problem else rest

    def with_body(self, body: str) -> Document:
        """Return the document with another body, even if the header is broken.

        If the document has no header, one at the beginning of the body becomes its header, as every reader sees it.
        Raises UnicodeEncodeError for a lone surrogate that represents no byte.
        """
        head = self.opening + (self.header or "") + self.closing
        if self.closing and body and self.closing[-1] not in "\r\n":
            head += self.newline
        return Document.parse(encoded(head + body))

    def _require_readable_header(self) -> None:
        if self.problem is not None:
            raise BrokenHeaderError(self.problem)

    def _header_read(self) -> tuple[Mapping[str, object], str | None]:
        return _read_header(self.header, self.body[:_LOOK_AT] if self.header is None else "")


def _parts(data: bytes) -> tuple[int, int, int]:
    """Return the offsets of header end, closing fence and body; without front matter, all three are the body's."""
    opening = re.match(_OPENING, data)
    # An empty header's closing fence follows the opening one's own line end, which is therefore searched too.
    closing = re.compile(_CLOSING).search(data, opening.end() - 1) if opening else None
    if opening and closing:
        return opening.end(), closing.start(1), closing.end()
    body = len(_BOM) if data.startswith(_BOM) else 0
    return body, body, body


@lru_cache(maxsize=32)
def _read_header(header: str | None, body: str) -> tuple[Mapping[str, object], str | None]:
    """Return the values of a header, and why it cannot be read; a body may begin with an unclosed header."""
    nothing: Mapping[str, object] = MappingProxyType({})
    if header is None:
        if body.startswith("<<<<<<< "):
            return nothing, "git conflict markers stand where the header should"
        if re.match(_UNCLOSED, body):
            return nothing, "the header has no closing line `---`"
        return nothing, None
    if re.search(_CONFLICT, header, re.MULTILINE):
        return nothing, "git conflict markers stand in the header"
    plain = plain_mapping(header)
    return _read_yaml(header) if plain is None else (MappingProxyType(plain), None)


def _read_yaml(header: str) -> tuple[Mapping[str, object], str | None]:
    from gitmem.document.yaml import read_header

    try:
        return MappingProxyType(read_header(header)), None
    except YamlTextError as error:
        return MappingProxyType({}), f"the header cannot be read: {error}"


def decoded(data: bytes) -> str:
    """Return a file's text; `encoded` restores bytes that are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes of a text that `decoded` returned."""
    return text.encode("utf-8", "surrogateescape")


def as_text(value: object) -> str:
    """Return a header value as text without any line ends; "" for None, a list or a mapping."""
    return "" if value is None or isinstance(value, list | dict) else re.sub(LINE_ENDS, " ", str(value))


def as_line(value: object) -> str:
    """Return a header value as `as_text`, with one blank between words."""
    return " ".join(as_text(value).split())


def as_texts(value: object) -> tuple[str, ...]:
    """Return a header's list as texts, without empty ones; a single value counts as a list."""
    return tuple(filter(None, map(as_text, value if isinstance(value, list) else [value])))


def as_moment(value: object) -> datetime | None:
    """Return a header's date, which YAML loads as a date, a datetime or text, as a datetime; in UTC without a zone."""
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime.combine(value, datetime.min.time())
        else:
            moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
