"""Remove secrets and private passages from a text before it is stored.

`<private>…</private>` is dropped without a trace; a secret leaves its kind, as in `[REDACTED:github-token]`. Of a URL,
an assignment, a header or a command line only the value goes. JSON stays JSON: no marker has a character that JSON
escapes, and nothing beyond a string is touched.

Secrets are found by format (`data/secrets.tsv`), name (gitmem.redact.names) and context (gitmem.redact.places), keys by
their frame: in the text itself, and in views without invisible characters and percent-decoded, whose characters map to
positions in the original. Not found: a password in a sentence without the word "password" near it, a phrase of several
words (except a wallet's), a secret split over lines (except keys in PEM), encoded in another way, or without prefix and
name. The hash of a password counts only after a name that contains "password". docs/figures.md compares other
libraries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from gitmem.platform.machine import table
from gitmem.redact.names import Span
from gitmem.redact.places import find_in_context
from gitmem.redact.values import compiled
from gitmem.values import Any, Value

# Invisible characters: Unicode category Cf, fillers, joiners, variation selectors, tags.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CODES = (
    r"(?i:00ad|034f|061c|115f|1160|180[b-e]|200[b-f]|202[a-e]|206[0-9a-f]|3164|fe0[0-9a-f]|feff|ffa0"
    r"|db4[0-3]\\{1,8}ud[c-f][0-9a-f]{2})"
)
_HIDDEN = rf"[{_INVISIBLE}]|\\{{1,8}}u{_CODES}"
_HAS_INVISIBLE = rf"[^\x00-\xac](?<=[{_INVISIBLE}])"  # the first, plain range makes it four times as fast
# Printable ASCII except quotes, `<`, `>` and the backslash, which would end a string or a tag once decoded.
_ENCODED = r"%(?:2[13-689a-fA-F]|3[0-9abdfABDF]|4[0-9a-fA-F]|5[0-9abdefABDEF]|6[1-9a-fA-F]|7[0-9a-eA-E])"


class RedactedView:
    """A text with some ranges replaced, which maps positions back to the original."""

    def __init__(self, original: str, edits: Iterable[tuple[int, int, str]]) -> None:
        """Replace each passage `(start, end, replacement)`; they are in order and do not overlap."""
        pieces, at, length, shift = [], 0, 0, 0
        self._edits = tuple(edits)
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._shifts = [0]
        for start, end, replacement in self._edits:
            pieces += [original[at:start], replacement]
            length += start - at
            self._starts.append(length)
            length += len(replacement)
            self._ends.append(length)
            shift += end - start - len(replacement)
            self._shifts.append(shift)
            at = end
        self.text = "".join([*pieces, original[at:]])

    def original(self, span: Span) -> Span:
        """Map a span of this text to the original."""
        return Span(self._place(span.start)[0], self._place(span.end - 1)[1], span.kind)

    def _place(self, at: int) -> tuple[int, int]:
        from bisect import bisect_right  # late: most texts have no secret

        number = bisect_right(self._ends, at)
        if number < len(self._starts) and self._starts[number] <= at:
            return self._edits[number][:2]
        place = at + self._shifts[number]
        return place, place + 1


def without_hidden(text: str) -> RedactedView | None:
    r"""Return a text without its invisible characters, plain or as JSON writes them (`\u200b`); None if it has none."""
    escaped = "\\u" in text and compiled(rf"\\u{_CODES}").search(text)
    if not escaped and (text.isascii() or not compiled(_HAS_INVISIBLE).search(text)):
        return None
    return RedactedView(text, [(*match.span(), "") for match in compiled(_HIDDEN).finditer(text)])


def percent_decoded(text: str) -> RedactedView | None:
    """Return a text percent-decoded (`%41` to `A`); None if nothing is encoded."""
    if "%" not in text:
        return None
    edits = [(*match.span(), chr(int(match[0][1:], 16))) for match in compiled(_ENCODED).finditer(text)]
    return RedactedView(text, edits) if edits else None


_PASSES = 8
"""Passes over a text at most: a replaced secret may have hidden the start of its neighbour. Mostly one is enough."""


class Redacted(Value):
    """A redacted text, and what was redacted, as spans of the original in order, without overlaps."""

    text: str
    findings: tuple[Span, ...]


def change_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with all its strings changed, except the names in objects."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: change_strings(below, change) for key, below in value.items()}
    return [change_strings(below, change) for below in value] if isinstance(value, list) else value


def redact(text: str, *, allow: Sequence[str] = ()) -> Redacted:
    """Remove secrets and private text from `text`, which may hold lone surrogates and NUL.

    `allow` lists values to keep (samples, keys of a test system): literals or globs as in fnmatch, which must match the
    whole secret, case included. `<private>` text is never kept.

    Redacting twice changes nothing more. Time is linear in the length of the text.
    """
    spans = _merged(_private(text))
    rest = _without(text, spans)
    if spans and (
        spliced := next(_private(rest.text), None)
    ):  # `<pri<private></private>vate>`: remove all that follows
        spans = _merged([*spans, rest.original(spliced)._replace(end=len(text))])
        rest = _without(text, spans)
    for _ in range(_PASSES):
        secrets = [
            rest.original(span)
            for span in _off_markers(rest.text, _secrets(rest.text))
            if not _allowed(rest.text[span.start : span.end], allow)
        ]
        if not secrets:
            break
        spans = _merged([*spans, *secrets])
        rest = _without(text, spans)
    return Redacted(rest.text, tuple(spans))


def without(text: str, spans: Sequence[Span]) -> str:
    """Return a text with its findings, in order, replaced by their markers."""
    return _without(text, spans).text


def kinds_of(findings: Iterable[Span]) -> dict[str, int]:
    """Count findings by kind."""
    return dict(Counter(finding.kind for finding in findings))


def _allowed(value: str, allow: Sequence[str]) -> bool:
    if not allow:
        return False
    from fnmatch import fnmatchcase

    return any(value == pattern or fnmatchcase(value, pattern) for pattern in allow)


_OPEN, _CLOSE = r"(?:[<\uff1c]|\\{1,8}u003c)", r"(?:[>\uff1e]|\\{1,8}u003e)"  # Go's JSON escapes `<` and `>`
_BLANK = r"(?:\s|\\{1,8}[nrt])"
_CLOSING = rf"{_OPEN}{_BLANK}{{0,8}}/{_BLANK}{{0,8}}private"
_ATTRIBUTES = r"(?<=[<\uff1cc/]private)"  # no blank before the word: `a < private && b > c` is none of ours
_NAMED = rf"{_BLANK}{{0,8}}[a-z][a-z0-9_:-]{{0,40}}{_BLANK}{{0,8}}="  # `<private key>` is no tag
_TAG = (
    rf"(?i){_OPEN}{_BLANK}{{0,8}}(/?){_BLANK}{{0,8}}private(?:{_BLANK}{{0,8}}{_CLOSE}|{_ATTRIBUTES}{_BLANK}(?:"
    rf"{_NAMED}[^<>]{{0,200}}?{_CLOSE}|[^<>]{{0,2000}}+(?={_CLOSING})"
    rf"|[^<>]{{0,200}}?{_CLOSE}(?=[^<>]{{0,2000}}+{_CLOSING})))"  # other words, as in `<private note>`, if it is closed
)
_STRING = r'(?<!\\)"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _private(text: str) -> Iterator[Span]:
    """Find private passages with their outermost tags; an unclosed one ends with its text, or string of JSON."""
    view = without_hidden(text)
    if view is None:
        yield from _private_parts(text)
    else:
        yield from map(view.original, _private_parts(view.text))


def _private_parts(text: str) -> Iterator[Span]:
    if "private" not in text.lower() or not compiled(_TAG).search(text):
        return
    for start, end in _passages(text):
        depth, opened = 0, start
        for tag in compiled(_TAG).finditer(text, start, end):
            if not tag[1]:
                opened = opened if depth else tag.start()
                depth += 1
            elif depth:
                depth -= 1
                if not depth:
                    yield Span(opened, tag.end(), "private")
        if depth:
            yield Span(opened, end, "private")


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield the range of the whole text, or for JSON and JSON Lines the ranges of all strings."""
    if _is_json(text) or all(_is_json(line) for line in text.split("\n") if line.strip()):
        for string in compiled(_STRING).finditer(text):
            yield string.start() + 1, string.end() - 1
    else:
        yield 0, len(text)


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"{", "[", '"'}:
        return False
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _secrets(text: str) -> Iterator[Span]:
    """Find all secrets, unsorted and overlapping; of two with the same start, the more specific kind first."""
    yield from _found_in(text)
    for view in filter(None, (without_hidden(text), percent_decoded(text))):
        yield from map(view.original, _found_in(view.text))


def _found_in(text: str) -> Iterator[Span]:
    """Find the secrets in one view of a text."""
    lowered = _lowered(text)
    once = {*_words(text)}
    words = " ".join(once).lower()
    long = " ".join([word for word in once if len(word) >= _LEAST])
    met = {number: form for literal, number, form in _literals() if literal in long}
    for _, form in sorted(met.items()):
        if form.literals or (long and compiled(form.pattern).search(long)):
            yield from _of_format(text, form)
    for form in _formats(named=True):
        if any(word in words for word in form.literals):
            yield from _of_format(text, form)
    if "private" in words and "private key" in lowered:
        yield from _key_blocks(text)
    yield from find_in_context(text, lowered, words)


def _words(text: str) -> list[str]:
    """Return the words: letters, digits and other characters of secrets."""
    if "\\/" in text:
        text = text.replace("\\/", "/")
    return text.encode("ascii", "replace").translate(_word_bytes()).decode().split()


_LEAST = 20  # characters; in shorter words the literal of a format belongs to no secret


class Format(Value):
    """A documented format of credentials, found by one of its literals."""

    kind: str
    literals: tuple[str, ...]
    pattern: str


@cache
def _formats(*, named: bool) -> tuple[Format, ...]:
    """Return the formats; with `named` those that count only if a word names their provider."""
    rows = [row for row in table("secrets.tsv") if row[1].startswith("~") is named]
    return tuple(Format(kind, tuple(needed.replace("~", "").split()), form) for kind, needed, form, _ in rows)


@cache
def _literals() -> tuple[tuple[str, int, Format], ...]:
    """Return each literal with its format and that format's number; "" for a format without literals."""
    forms = enumerate(_formats(named=False))
    return tuple((literal, number, form) for number, form in forms for literal in form.literals or ("",))


@cache
def _word_bytes() -> bytes:
    return bytes(byte if chr(byte).isalnum() or byte in b"_-.:/+=~$" else 32 for byte in range(128)).ljust(256)


def _of_format(text: str, form: Format) -> Iterator[Span]:
    for match in compiled(form.pattern).finditer(text):
        group = match.lastindex or 0  # a pattern with a group matches the text before the secret as well
        if (group or _starts_word(text, match.start())) and not _is_sample(match[group]):
            yield Span(*match.span(group), form.kind)


_MAX_BLOCK = 65_536  # characters between the two lines of a key block (an OpenSSH RSA key of 16,384 bits has 13,000)
# RFC 7468 sections 2 and 10 (PEM), RFC 9580 section 6.2 (OpenPGP); OpenSSH's PROTOCOL.key has the same frame.
_FRAME = r"-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BASE64 = r"[A-Za-z0-9+/=]{16,}"
_BODY = r"(?:(?:\\{1,8}[nrt]|\s|[+>|#*-]|[0-9]{1,6}(?:→|\t|\\t)){0,24}[A-Za-z0-9+/=]{16,})+"
_LINE = r"\\{1,8}[nrt]|([A-Za-z0-9+/=]{8,})"


def _key_blocks(text: str) -> Iterator[Span]:
    """Find key blocks from BEGIN to END; in a truncated one the lines of base64 after BEGIN."""
    frames = list(compiled(_FRAME).finditer(text))
    for place, begin in enumerate(frames):
        if begin[1] != "BEGIN":
            continue
        after = frames[place + 1] if place + 1 < len(frames) else None
        if after and after[1] == "END" and _is_key_material(text, begin.end(), after.start()):
            yield from _block(text, begin, after)
        elif body := compiled(_BODY).match(text, begin.end()):
            yield Span(begin.start(), body.end(), "private-key")


def _block(text: str, begin: re.Match[str], end: re.Match[str]) -> Iterator[Span]:
    """Find the block as one span, or each line if each is a string (a list in JSON, a sum in code)."""
    if not compiled(r'(?<!\\)"').search(text, begin.end(), end.start()):
        yield Span(begin.start(), end.end(), "private-key")
        return
    for line in compiled(_LINE).finditer(text, begin.end(), end.start()):
        if line[1]:
            yield Span(*line.span(1), "private-key")


def _is_key_material(text: str, start: int, end: int) -> bool:
    """Return whether most of the text between BEGIN and END is base64, unlike prose that mentions both."""
    if end - start > _MAX_BLOCK:
        return False
    return 2 * sum(map(len, compiled(_BASE64).findall(text, start, end))) > end - start


_MIN_KINDS = 5  # different characters behind the prefix
_ESCAPE = r"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\[[0-9;]{0,9}m)$"  # of JSON, a URL, a terminal's colours


def _starts_word(text: str, start: int) -> bool:
    """Return whether a word begins at `start`, also after `_` or after an escape that ends with a letter."""
    before = text[start - 1 : start] if start else ""
    if not before.isascii() or not before.isalnum():
        return True
    return compiled(_ESCAPE).search(text[max(0, start - 12) : start]) is not None


def _is_sample(value: str) -> bool:
    """Return whether a well-formed value is an example of documentation (`AKIA…EXAMPLE`, `ghp_xxxx…`)."""
    return "EXAMPLE" in value or len(set(value[8:])) < _MIN_KINDS


def _lowered(text: str) -> str:
    """Return a text in lower case with the same length."""
    lowered = text.lower()
    # U+0130 is the only character whose lower case is not one character.
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "I").lower()


def _off_markers(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Drop spans that overlap the marker of a secret."""
    if "[REDACTED:" not in text:
        yield from spans
        return
    from bisect import bisect_right

    markers = [marker.span() for marker in compiled(r"\[REDACTED:[a-z-]{1,40}\]").finditer(text)]
    ends = [end for _, end in markers]
    for span in spans:
        place = bisect_right(ends, span.start)
        if place == len(markers) or markers[place][0] >= span.end:
            yield span


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and join overlapping ones under the kind of the first."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _without(text: str, spans: Sequence[Span]) -> RedactedView:
    """Replace each span by its marker."""
    marked = ((span, f"[REDACTED:{span.kind}]" * (span.kind != "private")) for span in spans)
    return RedactedView(text, ((span.start, span.end, marker) for span, marker in marked))
