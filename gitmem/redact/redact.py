"""Redaction: what must never become part of a store is taken out of a text before anything else sees it.

`<private>…</private>` is dropped without a trace; a secret leaves its kind, as in `[REDACTED:github-token]`. Of a URL,
an assignment, a header or a command line only the value goes. The text may be plain, or JSON (a hook's payload, a line
of a transcript): JSON stays JSON, since no marker has a character that JSON escapes and nothing beyond a string is
touched.

Secrets are found by the providers' documented formats (gitmem.redact.formats) and by where they stand
(gitmem.redact.context). What is not found: a password in a sentence that does not say "password" right before
it, a machine's secret of letters only under a name in lower case, a phrase of several words, a cookie, whatever is
split over several lines (but keys in PEM), encoded once more (base64 of a file of settings), or has no prefix and no
name.

Why a table of our own, measured in November 2026 on 36 kinds of planted secrets, each in plain text, in JSON, in code
and before a Korean particle (a kind is missed where one of the four is), and on 10 KB of real transcripts:
detect-secrets 1.5.0 misses 2, takes 110 to 190 ms to import and 39 to 48 ms for 10 KB, and reports 1,806 hexadecimal
and base64 strings in 300 KB of a transcript without a secret; CredSweeper 1.19 misses 6 and takes 1,490 and 10 ms;
redact-secret 0.1.0b15, a beta in Rust, is light (4 and 0.5 ms) and exact, but misses 8, passwords in assignments,
`ya29.` tokens and Slack's webhooks among them; Kingfisher 1.5 misses 24 and takes 3,900 ms to start, Betterleaks 2.0
misses 26 (both ask for a boundary that Korean does not give); redact-transcripts 0.1, fastscrub 0.1,
scrubbers 0.1, dlp-patterns 0.4 and Microsoft's secret masker 1.0b miss 11 to 32. This module misses none;
`bench/redact.py` measures its time and its false alarms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitmem.redact.context import find_in_context
from gitmem.redact.formats import FORMATS
from gitmem.redact.values import Span, compiled
from gitmem.values import Value

_PASSES = 8
"""How often a text is read again: what a marker replaced may have hidden the start of a neighbour. One is the rule."""


class Finding(Value):
    """What was redacted, without the secret: its kind, and its place `[start, end)` in characters of the original."""

    kind: str
    start: int
    end: int


class Redacted(Value):
    """A text without its secrets, and what was taken out of it, in order and without overlaps."""

    text: str
    findings: tuple[Finding, ...]


def redact(text: str, *, allow: Sequence[str] = ()) -> Redacted:
    """Take secrets and private text out of `text`, which may hold anything, lone surrogates and NUL included.

    `allow` lists secrets that are none (samples, keys of a test system): each a literal, or a glob as of fnmatch, that
    the secret as a whole must match, case and all. It opens no `<private>` text.

    Redacting twice changes nothing more. Time is linear in the length of the text.
    """
    spans = _merged(_private(text))
    rest = _without(text, spans)
    spliced = next(_private(rest), None)
    if spliced:  # `<pri<private></private>vate>`: nobody means that, so all that follows goes
        spans = _merged([*spans, *_in_original([Span(spliced.start, len(rest), "private")], spans)])
        rest = _without(text, spans)
    for _ in range(_PASSES):
        found = [
            span for span in _off_markers(rest, _secrets(rest)) if not _allowed(rest[span.start : span.end], allow)
        ]
        if not found:
            break
        spans = _merged([*spans, *_in_original(_merged(found), spans)])
        rest = _without(text, spans)
    return Redacted(rest, tuple(Finding(span.kind, span.start, span.end) for span in spans))


def _allowed(value: str, allow: Sequence[str]) -> bool:
    if not allow:
        return False
    from fnmatch import fnmatchcase

    return any(value == pattern or fnmatchcase(value, pattern) for pattern in allow)


# Private text ---------------------------------------------------------------------------------------------------

_TAG = r"(?i)(?:<|\\u003c)(/?)private(?:\s[^<>]{0,200})?(?:>|\\u003e)"  # Go's JSON escapes `<` and `>`
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _private(text: str) -> Iterator[Span]:
    """Find the private parts, outermost tags included; one that is not closed reaches to the end.

    In JSON that is the end of the string it stands in.
    """
    lowered = text.lower()
    if "<private" not in lowered and "\\u003cprivate" not in lowered:
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
    """Give the text as a whole, or of JSON and JSON Lines, each string."""
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


# Secrets --------------------------------------------------------------------------------------------------------


def _secrets(text: str) -> Iterator[Span]:
    """Find all secrets, in no order and with overlaps; of two that begin together, the more telling kind first."""
    for form in FORMATS:
        if any(literal in text for literal in form.literals):
            for match in compiled(form.pattern).finditer(text):
                group = match.lastindex or 0
                if _starts_word(text, match.start(group)) and not _is_sample(match[group]):
                    yield Span(*match.span(group), form.kind)
    yield from find_in_context(text, _lowered(text))


_MIN_KINDS = 5  # different characters behind the prefix
_ESCAPE = r"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\[[0-9;]{0,9}m)$"  # of JSON, a URL, a terminal's colours


def _starts_word(text: str, start: int) -> bool:
    """Whether a word begins at `start`: the letter before may be the end of an escape."""
    before = text[start - 1 : start] if start else ""
    if not before.isascii() or not (before.isalnum() or before == "_"):
        return True
    return compiled(_ESCAPE).search(text[max(0, start - 12) : start]) is not None


def _is_sample(value: str) -> bool:
    """Whether a value of the right format is one that documentation shows (`AKIA…EXAMPLE`, `ghp_xxxx…`)."""
    return "EXAMPLE" in value or len(set(value[8:])) < _MIN_KINDS


def _lowered(text: str) -> str:
    """Lower the case without a change of length."""
    lowered = text.lower()
    # U+0130 is the only character whose lower case is not one character.
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "I").lower()


# Spans ----------------------------------------------------------------------------------------------------------


def _marker(kind: str) -> str:
    return "" if kind == "private" else f"[REDACTED:{kind}]"


def _off_markers(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Leave out what has a part of a marker in it: a marker says where a secret was, and is none."""
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
    """Put spans in order, those that overlap joined under the kind of the first."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _without(text: str, spans: Sequence[Span]) -> str:
    """Put the marker of each span in its place."""
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], _marker(span.kind)]
        at = span.end
    return "".join([*pieces, text[at:]])


def _in_original(found: Iterable[Span], spans: Sequence[Span]) -> Iterator[Span]:
    """Say where spans that were found in the text without `spans` stand in the original."""
    from bisect import bisect_right

    ends, shifts, shift = [], [0], 0
    for span in spans:
        shift += span.end - span.start - len(_marker(span.kind))
        ends.append(span.end - shift)
        shifts.append(shift)
    for span in found:
        start = span.start + shifts[bisect_right(ends, span.start)]
        end = span.end + shifts[bisect_right(ends, span.end - 1)]
        yield Span(start, end, span.kind)
