"""A markdown file with YAML front matter; an edit changes no other byte.

The very first line is `---`, and a later line `---` or `...` ends the header, as YAML, Jekyll and Pandoc have it.
Blanks may follow either fence, a byte order mark may stand before the first, and a byte that is not UTF-8 survives.
python-frontmatter accepts other fences, and strips the body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from gitmem.platform.machine import UTC, date, datetime
from gitmem.values import Value

_BOM = b"\xef\xbb\xbf"
_OPENING = rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\n|\r)"
_CLOSING = rb"[\r\n]((?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z))"
# A key must follow: `---` alone may be a horizontal rule.
_UNCLOSED = r"---[ \t]*(?:\r\n|\n|\r)[\w-]+:(?:[ \r\n]|\Z)"
_CONFLICT = r"^(?:<{7}|\|{7}|={7}|>{7})(?:[ \r]|$)"
LINE_ENDS = r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+"  # what any reader may take for the end of a line
_LOOK_AT = 1024  # characters of a body searched for a broken header


def newline_of(text: str, *, default: str = "\n") -> str:
    r"""Return how most lines of `text` end, "\r\n" or "\n"; `default` if it has no line end."""
    feeds, pairs = text.count("\n"), text.count("\r\n")
    if not feeds:
        return default
    return "\r\n" if pairs * 2 > feeds else "\n"


class BrokenHeaderError(ValueError):
    """The document's header cannot be read, so it cannot be changed; the message is its `problem`."""


class Document(Value):
    """A markdown file with optional YAML front matter; `parse`, the way to make one, renders back to the same bytes."""

    header: str | None  # the YAML between the fences, each line with its end; None: no front matter
    body: str  # the text after the closing fence's line, or all without a byte order mark
    opening: str = ""  # the byte order mark and the line of the opening fence, if they are there
    closing: str = ""  # the closing fence's line

    @classmethod
    def parse(cls, data: bytes) -> Document:
        """Take `data` apart. Never raises, and reads no YAML: `metadata` does, when it is asked for."""
        start, end, body = _parts(data)
        return cls(
            header=_decode(data[start:end]) if body > end else None,
            body=_decode(data[body:]),
            opening=_decode(data[:start]),
            closing=_decode(data[end:body]),
        )

    def render(self) -> bytes:
        """Return the file's bytes."""
        return _encode(self.opening + (self.header or "") + self.closing + self.body)

    @property
    def metadata(self) -> Mapping[str, object]:
        """Return the values of the header; empty if it is missing or unreadable. Keys are always text."""
        return self._header_read()[0]

    @property
    def problem(self) -> str | None:
        """Return why the header cannot be read, None if it can or there is none."""
        return self._header_read()[1]

    @property
    def readable(self) -> Mapping[str, object]:
        """Return the values of the header; if it cannot be read as a whole, those of the lines that can."""
        if self.problem is None:
            return self.metadata
        lines = (self.header or self.body[:_LOOK_AT]).replace("\r", "\n").split("\n")
        return {key: value for line in reversed(lines) for key, value in (plain_mapping(f"{line}\n") or {}).items()}

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
        """Return the document without `key`, and without a header that is empty then. Raises as `set` does.

        Its two fences stay before a body that begins with a header of its own.
        """
        from gitmem.document.yaml import remove_value

        self._require_readable_header()
        if self.header is None:
            return self
        left = Document(remove_value(self.header, (key,)), self.body, self.opening, self.closing)
        bare = Document(None, self.body, self.opening.partition("---")[0])
        return bare if not left.header and Document.parse(bare.render()) == bare and not bare.problem else left

    def with_body(self, body: str) -> Document:
        """Return the document with another body, also where the header is broken.

        If the document has no header, one at the beginning of the body becomes its header, as every reader sees it.
        Raises UnicodeEncodeError for a lone surrogate that stands for no byte.
        """
        head = self.opening + (self.header or "") + self.closing
        if self.closing and body and self.closing[-1] not in "\r\n":
            head += self.newline
        return Document.parse(_encode(head + body))

    def _require_readable_header(self) -> None:
        if self.problem is not None:
            raise BrokenHeaderError(self.problem)

    def _header_read(self) -> tuple[Mapping[str, object], str | None]:
        return _read_header(self.header, self.body[:_LOOK_AT] if self.header is None else "")


def _parts(data: bytes) -> tuple[int, int, int]:
    """Return the offsets of header end, closing fence and body; without front matter, thrice that of the body."""
    opening = re.match(_OPENING, data)
    # An empty header's closing fence follows the opening one's own line end, which is therefore searched too.
    closing = re.compile(_CLOSING).search(data, opening.end() - 1) if opening else None
    if opening and closing:
        return opening.end(), closing.start(1), closing.end()
    body = len(_BOM) if data.startswith(_BOM) else 0
    return body, body, body


@lru_cache(maxsize=32)
def _read_header(header: str | None, body: str) -> tuple[Mapping[str, object], str | None]:
    """Return the values of a header and its problem; without a header, that of an unclosed one."""
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
    from frontmatter.default_handlers import YAMLHandler

    from gitmem.document.yaml import load_mapping

    try:
        return MappingProxyType(load_mapping(header, load=YAMLHandler().load)), None
    except YamlTextError as error:
        return MappingProxyType({}), f"the header cannot be read: {error}"


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# Values on one line, written so that YAML reads back exactly those, and headers in this form read without YAML: a store
# has 50,000 headers, and YAML takes 20 times as long. YAML 1.1 gives bare words a type: `no` is false, `12:30` is 750
# (https://yaml.org/type/). So text stays bare only if it begins with a letter and is no such word.
_LETTER = r"A-Za-z\u00c0-\u024f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
# Explicit ranges instead of `\w`: Pythons with other Unicode tables have to write the same bytes.
_BARE = rf"[{_LETTER}](?:[{_LETTER}0-9 _./@()+'-]*[{_LETTER}0-9_./@()+'-])?"
_WORDS_WITH_A_MEANING = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # of YAML 1.1 and 1.2
_NEEDS_ESCAPE = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"  # fine in JSON strings, not in YAML's

_EXACT: tuple[tuple[type, Callable[..., object]], ...] = (
    (type(None), lambda value: value),
    (bool, bool),
    (int, int),
    (float, float),
    (str, str.__str__),  # a member of a string enum is its value, not its name
    (datetime, lambda value: datetime.fromisoformat(value.isoformat())),  # any time zone becomes its offset
    (date, lambda value: date.fromisoformat(value.isoformat())),
)
_LONGEST, _DEEPEST = 1 << 14, 4
_TEXT = r'"(?:[^"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]|\\["\\nt])*"'
_DAY, _NUMBER = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"-?(?:0|[1-9][0-9]{0,14})"
_SCALAR = (
    rf"(?P<bare>{_BARE})|(?P<text>{_TEXT})|(?P<moment>{_DAY}T[0-9:]{{8}}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?)|"
    rf"(?P<day>{_DAY})|(?P<share>{_NUMBER}\.[0-9]{{1,15}})|(?P<number>{_NUMBER})"
)
_compiled = cache(re.compile)  # when first used: ranges of CJK letters take a session's start 4 ms
_KEY = r"(  )?([A-Za-z_][A-Za-z0-9_-]{0,99}):(?: |$)"


class YamlTextError(ValueError):
    """A YAML text cannot be parsed or changed; the message gives the reason in one line."""


def plain_value(value: object) -> object:
    """Return `value` in the types that YAML gives, so that `repr` can compare it with the loaded one.

    Mappings become dicts, tuples lists, members of enums their values. Raises `YamlTextError` for any other type,
    and for a key that is not text.
    """
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise YamlTextError("a key that is not text cannot be written")
        return {str.__str__(key): plain_value(item) for key, item in value.items()}
    for kind, exact in _EXACT:
        if isinstance(value, kind):
            return exact(value)
    raise YamlTextError(f"a value of type {type(value).__name__} cannot be written")


def flow(value: object) -> str:
    """Return a value that `plain_value` gave as YAML on one line, lists as `[a, b]` and mappings as `{a: 1}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, str):
        is_bare = _compiled(_BARE).fullmatch(value) and value.lower() not in _WORDS_WITH_A_MEANING
        return value if is_bare else _quoted(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value)  # null, true, false, whole numbers


def _quoted(text: str) -> str:
    """Return `text` in double quotes: a JSON string, which is one of YAML's too but for a few characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isprintable():  # no character that needs it
        return quoted
    return re.sub(_NEEDS_ESCAPE, lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _float(value: float) -> str:
    text = repr(value).replace("inf", ".inf").replace("nan", ".nan")
    # YAML 1.1 takes `1e+16` for a word.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def plain_mapping(header: str) -> dict[str, object] | None:
    """Return what YAML reads in a header, None if it has another form than gitmem writes."""
    if len(header) > _LONGEST:
        return None
    found: dict[str, object] = {}
    inner: dict[str, object] | None = None  # the mapping on the lines below a key
    try:
        for line in header.split("\n")[:-1] if header.endswith("\n") else [""]:
            key = _compiled(_KEY).match(line)
            mapping = inner if key and key[1] else found
            if key is None or mapping is None or key[2] in mapping or (mapping is found and inner == {}):
                return None
            if key.end() < len(line):
                mapping[key[2]], end = _value(line, key.end(), 0)
                inner = inner if mapping is inner else None
                if end < len(line):
                    return None
            elif mapping is found:
                found[key[2]] = inner = {}
            else:
                return None
    except ValueError:
        return None
    return None if inner == {} else found


def _value(line: str, at: int, depth: int) -> tuple[object, int]:
    """Return the value that begins at `at`, and where it ends. Raises ValueError for another form than gitmem's."""
    scalar = _compiled(_SCALAR).match(line, at)
    if scalar is not None:
        return _scalar(scalar), scalar.end()
    opening = line[at : at + 1]
    if opening not in {"[", "{"} or depth == _DEEPEST:
        raise ValueError
    values: list[object] = []
    pairs: dict[str, object] = {}
    closing, at = "]" if opening == "[" else "}", at + 1
    while line[at : at + 1] != closing:
        at = _after(line, at, ", ") if values or pairs else at
        if opening == "[":
            item, at = _value(line, at, depth + 1)
            values.append(item)
            continue
        key = _compiled(_BARE).match(line, at)
        if key is None or key[0] in pairs:
            raise ValueError
        pairs[key[0]], at = _value(line, _after(line, key.end(), ": "), depth + 1)
    return (values if opening == "[" else pairs), at + 1


def _after(line: str, at: int, expected: str) -> int:
    if not line.startswith(expected, at):
        raise ValueError
    return at + len(expected)


def _scalar(found: re.Match[str]) -> object:
    kind, text = found.lastgroup, found[0]
    if kind == "bare":
        if text.lower() in _WORDS_WITH_A_MEANING:
            raise ValueError
        return text
    if kind == "text":
        return json.loads(text)
    if kind == "moment":
        return datetime.fromisoformat(text)
    if kind == "day":
        return date.fromisoformat(text)
    return float(text) if kind == "share" else int(text)


def as_text(value: object) -> str:
    """Return a value of a header as a text without line ends of any kind, "" for none, a list or a mapping."""
    return "" if value is None or isinstance(value, list | dict) else re.sub(LINE_ENDS, " ", str(value))


def as_line(value: object) -> str:
    """Return a value of a header as `as_text` does, with one blank between words."""
    return " ".join(as_text(value).split())


def as_texts(value: object) -> tuple[str, ...]:
    """Return a list of a header as texts, without empty ones; a single value counts as a list."""
    return tuple(filter(None, map(as_text, value if isinstance(value, list) else [value])))


def as_moment(value: object) -> datetime | None:
    """Return a date of a header as a moment, in UTC if it names no zone; YAML loads one as a date, a time or text."""
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
