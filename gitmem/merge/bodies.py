"""Merge the headers and the bodies of three versions of a document (docs/format.md, "Merging").

Headers are merged field by field, bodies by section, entry and line: entries are identified by id wherever they are,
and merged first; then the sections are merged one by one, with each entry as one token. Tested through
`tests/merge/test_documents.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from gitmem.document.entry import find_entries, render_entry, sections
from gitmem.document.ids import is_fact_id, is_timed, make_id, milliseconds_of, tail_of
from gitmem.document.plain_header import newline_of
from gitmem.text.difference import Token, ended, lines, merge_tokens, union
from gitmem.values import Value

_BLANK = " \t\r\n"
TOP = "(top)"  # name of the part before the first section in the field `review`

_Key = tuple[int, str, int]  # of a section: level, title in lower case, number of earlier ones with this title


class MergedBody(Value):
    """A merged body, and the titles of the sections with two versions of something."""

    text: str
    review: tuple[str, ...]


class _Part(Value):
    """A section: its heading line, title, tokens, the blank lines at its end, and whether it is the last."""

    heading: str
    title: str
    tokens: list[Token]
    tail: str
    last: bool


class _Body(Value):
    """A parsed body: its sections in order, the text of each entry, and its section."""

    parts: dict[_Key, _Part]
    entries: dict[str, str]
    places: dict[str, _Key]


class _Settled(Value):
    """The merged entries: texts and sections by id, ids with a clash, and new copies by their originals."""

    texts: dict[str, str]
    places: dict[str, _Key]
    clashes: set[str]
    copies: dict[str, str]


def merge_bodies(base: str, older: str, newer: str, *, with_facts: bool = True) -> MergedBody:
    """Merge three bodies; where both sides added something, `older` comes first.

    `with_facts`: the caller also merges the facts, and their lines then get the facts' words.
    """
    before, *sides = (_take_apart(text) for text in (base, older, newer))
    settled = _settle(before, sides, with_facts=with_facts)
    parts: dict[_Key, _Part] = {}
    review = []
    done: set[str] = set()
    for key in _order(sides):
        versions = [body.parts.get(key) for body in (before, *sides)]
        tokens = [_standing(body, key, settled, common=sides if body is before else ()) for body in (before, *sides)]
        blank = [token for token in tokens[0] if not token.key.strip(_BLANK)]
        tokens = [side if part else blank for part, side in zip(versions, tokens, strict=True)]  # as below a heading
        joined = merge_tokens(*tokens)
        if not _stays(versions, joined.tokens):
            continue
        parts[key] = _framed(versions, _once(joined.tokens, settled, done))
        if joined.conflicts or any(_entry_of(token) in settled.clashes for token in parts[key].tokens):
            review.append(parts[key].title or TOP)
    return MergedBody(_put_together([*parts.values()], newline_of(newer or older)), tuple(dict.fromkeys(review)))


def survivors(base: str, changed: str) -> tuple[str | None, bool]:
    """Return a log without the entries it shares with the base, and whether anything but entries changed.

    The log is None if no entry is left. For a log that the other side removed (docs/format.md, "Merging").
    """
    before, after = _take_apart(base), _take_apart(changed)
    old = {entry for entry, text in after.entries.items() if _plain(before.entries.get(entry)) == _plain(text)}
    known = {token.key for part in before.parts.values() for token in part.tokens}
    more = any(
        token.key.strip(_BLANK) and not token.order and token.key not in known
        for part in after.parts.values()
        for token in part.tokens
    )
    if not set(after.entries) - old:
        return None, more
    parts = [
        part._replace(tokens=[token for token in part.tokens if _entry_of(token) not in old])
        for part in after.parts.values()
    ]
    return _put_together(parts, newline_of(changed)), more


def _take_apart(text: str) -> _Body:
    found = deque(find_entries(text))
    heads = sections(text)
    spans = [(0, "", "", 0, heads[0].start if heads else len(text))]
    spans += [(head.level, head.title, text[head.start : head.body], head.body, head.end) for head in heads]
    parts: dict[_Key, _Part] = {}
    entries: dict[str, str] = {}
    places: dict[str, _Key] = {}
    for level, title, heading, start, end in spans:
        key = (level, title.casefold(), 0)
        while key in parts:
            key = (*key[:2], key[2] + 1)
        content = text[start:end].rstrip(_BLANK)
        newline = text.find("\n", start + len(content), end)
        stop = end if newline < 0 else newline + 1
        tokens: list[Token] = []
        at = start
        while found and found[0].start < end:
            item = found.popleft()
            tokens += lines(text[at : item.start])
            piece, at = text[item.start : item.end], item.end
            if item.entry.id in entries:  # a copy of an entry: plain text
                tokens += lines(piece)
            else:
                entries[item.entry.id], places[item.entry.id] = piece, key
                tokens.append(_token(item.entry.id, piece, item.entry.time))
        tokens += lines(text[at:stop])
        parts[key] = _Part(heading, title, tokens, text[stop:end], end == len(text))
    return _Body(parts, entries, places)


def _token(identifier: str, text: str, time: str) -> Token:
    """Return the token of an entry, ordered by its time, as not every id contains one."""
    return Token(f"^{identifier}", text, f"{time} {identifier}")


def _entry_of(token: Token) -> str:
    """Return the id of a token's entry, "" for a line."""
    return token.key[1:] if token.order else ""


def _settle(base: _Body, sides: Sequence[_Body], *, with_facts: bool) -> _Settled:
    """Decide for every entry whether it stays, with which text, and where."""
    older, newer = sides
    settled = _Settled({}, {}, set(), {})
    for entry in dict.fromkeys([*older.entries, *newer.entries]):
        texts = [body.entries.get(entry) for body in (base, older, newer)]
        text = _settled(texts)
        if text is None and texts[1] and texts[2] and is_fact_id(entry):
            text = texts[2] if with_facts else _both(texts[1], texts[2])
            settled.clashes.update(() if with_facts else (entry,))
        elif text is None and texts[1] and texts[2]:
            # A side that has the other's version as a copy already merged both: its version stays.
            merged = _copy(entry, texts[2])[0] in older.entries
            text, rest = (texts[1], texts[2]) if merged else (texts[2], texts[1])
            copy, copied = _copy(entry, rest)
            settled.clashes.update((entry, copy))
            if copy not in older.entries and copy not in newer.entries:
                settled.copies[entry] = copy
                settled.texts[copy] = copied
        if text is not None:
            settled.texts[entry] = text
            settled.places[entry] = _place(*(body.places.get(entry) for body in (base, older, newer)))
    return settled


def _settled(texts: Sequence[str | None]) -> str | None:
    """Return the merged version of an entry; None if it is removed, or if both sides changed it."""
    base, older, newer = (_plain(text) for text in texts)
    if newer in (older, base):
        return texts[1]
    if older == base:
        return texts[2]
    if older is None or newer is None:
        return texts[1] or texts[2]
    shorter, longer = sorted((older, newer), key=len)
    rest = iter(longer.split("\n"))
    if all(line in rest for line in shorter.split("\n")):
        return _like(texts[2], longer)
    joined = merge_tokens(lines(base or ""), lines(older), lines(newer))
    text = "".join(ended(joined.tokens))
    entries = find_entries(text)
    whole = len(entries) == 1 and (entries[0].start, entries[0].end) == (0, len(text))
    return None if joined.conflicts or base is None or not whole else _like(texts[2], text)


def _both(older: str, newer: str) -> str:
    """Return the line of a fact with the words of two versions."""
    first, second = (find_entries(text)[0].entry for text in (older, newer))
    return _like(newer, _plain(render_entry(first._replace(text=f"{first.text}\n{second.text}"))) or "")


def _like(model: str | None, text: str) -> str:
    """Return a text with the line ends of `model`."""
    newline = newline_of(model or "")
    return text.replace("\n", newline) + newline


def _plain(text: str | None) -> str | None:
    return None if text is None else text.replace("\r\n", "\n").rstrip("\n")


def _copy(identifier: str, text: str) -> tuple[str, str]:
    """Return the other version of an entry as a new entry, its id derived from its text."""
    import hashlib  # 3 ms, of what 'gitmem status' loads

    digest = hashlib.sha256(f"{identifier}\n{_plain(text)}".encode("utf-8", "surrogateescape")).digest()
    copy = make_id(milliseconds_of(identifier), digest)
    if not is_timed(identifier):
        copy = identifier[0] + tail_of(copy)
    return copy, text.replace(f" ^{identifier}", f" ^{copy}", 1)


def _place(base: _Key | None, older: _Key | None, newer: _Key | None) -> _Key:
    """Return the section of an entry, from the side that moved it, independent of the order of the sides."""
    places = {place for place in (older, newer) if place is not None}
    return max(places - {base} or places)


def _standing(body: _Body, key: _Key, settled: _Settled, common: Sequence[_Body]) -> list[Token]:
    """Return the tokens of a section, with only the entries that belong there."""
    part = body.parts.get(key)
    tokens = []
    for token in part.tokens if part else ():
        entry = _entry_of(token)
        if not entry:
            tokens.append(token)
        elif settled.places.get(entry) == key and all(side.places.get(entry) == key for side in common):
            tokens.append(token._replace(text=settled.texts[entry]))
    return tokens


def _once(tokens: Sequence[Token], settled: _Settled, done: set[str]) -> list[Token]:
    """Return each entry only once, preceded by its other version if both sides changed it."""
    twice = []
    for token in tokens:
        entry = _entry_of(token)
        if entry and entry in done:
            continue
        copy = settled.copies.get(entry)
        if copy is not None:
            twice.append(_token(copy, settled.texts[copy], token.order.removesuffix(f" {entry}")))
        if entry:
            done.add(entry)
        twice.append(token)
    return twice


def _order(sides: Sequence[_Body]) -> list[_Key]:
    """Return the sections in order; those that both sides added in one place are sorted by title."""
    keys = {str(key): key for body in sides for key in body.parts}
    rows = [[Token(str(key), "", key[1]) for key in body.parts] for body in sides]
    return list(dict.fromkeys(keys[token.key] for token in union(*rows)))


def _stays(versions: Sequence[_Part | None], tokens: Sequence[Token]) -> bool:
    base, older, newer = versions
    if older and newer:
        return True
    return bool(older or newer) and (base is None or any(token.key.strip(_BLANK) for token in tokens))


def _framed(versions: Sequence[_Part | None], tokens: list[Token]) -> _Part:
    """Return a section with its merged heading and blank lines."""
    base, older, newer = versions
    own = newer or older
    assert own is not None
    if older and newer and base and newer.heading == base.heading:
        own = older
    known = [part for part in versions if part and not part.last] or [part for part in versions if part]
    before = base.tail if base and base in known else None
    tails = [part.tail for part in known if part is not base]
    tail = max((tail for tail in tails if tail != before), key=len, default=before or "")
    return own._replace(tokens=tokens, tail=tail, last=all(part.last for part in known))


def _put_together(parts: Sequence[_Part], newline: str) -> str:
    """Return the text of a body, with a blank line after a section that is no longer the last."""
    pieces: list[str] = []
    for number, part in enumerate(parts):
        text = part.heading + "".join(ended(part.tokens))
        more = number + 1 < len(parts)
        if (more or part.tail) and text and not text.endswith("\n"):
            text += newline
        parted = not text or part.tail or text.endswith(("\n\n", "\n\r\n"))
        tail = newline if more and part.last and not parted else part.tail
        pieces += [text, tail + newline if more and tail and not tail.endswith("\n") else tail]
    return "".join(pieces)
