"""Split markdown into lines and sentences: English, Korean, Chinese and Japanese.

Code fences, tables, headings, rules and lines of markup are no sentences; list markers and bold marks are removed. Time
is linear in the length of any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import pairwise

from gitmem.values import Value

# ruff: noqa: RUF001  # punctuation of other scripts is the subject


# The end of a truncated text.
ELLIPSIS = "…"
# A line at least this wide (a CJK character counts two) without a full stop at its end was wrapped: its paragraph
# continues. In chat, shorter lines are paragraphs; text is mostly wrapped at 70 or more.
_WRAPPED_AT = 60
# Share of Hangul among the letters of a Korean text: a third to a half of the words that Korean developers write are
# English, and those have more letters.
_KOREAN_SHARE = 0.2
_LOOK_AT = 20_000  # characters by which the language is judged
# A full stop after one of these ends no sentence.
_ABBREVIATIONS = frozenset(
    ("e.g", "i.e", "vs", "cf", "approx", "ver", "incl", "excl", "resp", "mr", "mrs", "ms", "dr", "prof", "st", "jr")
) | {"sr", "fig", "eq", "sec", "ch", "vol", "pp", "al", "inc", "ltd", "dept", "est"}
_LONGEST_WORD = 12  # characters before a full stop searched for an abbreviation
_LITTLE = 4  # less than this fraction (1/4) of a limit says little
_LONGEST_CODE = 120  # characters of a line of code that is kept with its lead-in
_LIST_NUMBER = 2  # digits of an item number in a list within a line
_CLOSERS = "\"')]}»”’」』】）〉》*_~`"


class Kind(Enum):
    """The kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    LEFT_OUT = "left out"


class Block(Value):
    """A paragraph, list item, quotation or heading on one line, without its marker.

    For code left out, `text` is its line if it has only one; else, and for a table, "".
    """

    kind: Kind
    text: str


# A string, as it is rarely needed and takes 2 ms to compile.
_WIDE = r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]"
_HANGUL = r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"
_FENCE = r"[ \t]{0,12}(?:[-*+>][ \t]+)?(`{3,}|~{3,})([^\n]*)"
_HEADING = r"#{1,6}(?:[ \t]+|$)(.*)"
_ITEM = r"(?:[-*+•‣◦▪–]|[0-9]{1,4}[.)]|[①-⑳])[ \t]+(?:\[[ xX]\][ \t]+)?"
_QUOTE = r"(?:>[ \t]?)+"
# Rules, setext underlines, lines of markup only, folder trees and shell prompts.
_DROPPED = r"[├└│┌┐┘─]|[-=*_:| \t]+$|</?[A-Za-z!][^<>]*>$|[$%❯][ \t]"
_BOLD_LINE = r"(?:\*\*|__)([^*\n]+)(?:\*\*|__):?"
_BOLD = r"(?<![0-9A-Za-z_])\*\*|\*\*(?![0-9A-Za-z_])"  # `2**8` is no bold text
# `.!?…` must be followed by closing marks and a blank, CJK stops by nothing. A run of marks matches once.
_STOP = (
    rf"(?<![.!?…])[.!?…]++[{re.escape(_CLOSERS)}]*+(?=\s)|(?<![。！？．])[。！？．]++[{re.escape(_CLOSERS)}]*+"
    r"|(?<=[다요함음됨임죠])\.(?=[가-힣])"
)
_LETTER = r"[^\W\d_]"
_compiled = cache(re.compile)  # at first use


def split(text: str) -> list[str]:
    """Return the sentences of a markdown text, in order, each on one line."""
    return list(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    return (sentence for block in blocks(text) if block.kind is not Kind.HEADING for sentence in sentences_of(block))


def shorten(text: str, limit: int) -> str:
    """Return the whole sentences from the start of `text` that fit into `limit` characters, as one paragraph.

    A sentence that does not fit is cut at a word if little precedes it ("Hello!"). For a text without a sentence (code,
    a heading) return its first line. A heading is joined to the list below it ("Skipped: …"); a lead-in ("The diff
    shows:") is kept only together with the text after it.
    """
    sentences = _headed_sentences(text)
    if not sentences:
        lines = (" ".join(line.strip("#`~*|-> \t\r").split()) for line in text.split("\n"))
        return _cut(next(filter(None, lines), ""), limit)
    shortened = whole = sentences[0]
    for sentence in sentences[1:]:
        longer = shortened + _joint(shortened) + sentence
        if len(longer) > limit:
            return _cut(longer if len(shortened) * _LITTLE < limit or _leads(whole) else whole, limit)
        shortened = longer
        whole = whole if _leads(sentence) else longer
    return _cut(whole, limit)


def _headed_sentences(text: str) -> list[str]:
    """Return the sentences of a text, with headings before lists.

    A lead-in is joined with a single line of code below it, and left out above a table or longer code. A lead-in at the
    beginning of a text is followed by the heading below it ("Implement this plan: Cents").
    """
    sentences_so_far = list[str]()
    for block, following in pairwise([*_blocks(text), Block(Kind.LEFT_OUT, "")]):
        sentences = list(sentences_of(block)) if block.kind not in {Kind.HEADING, Kind.LEFT_OUT} else []
        if block.kind is Kind.HEADING and following.kind in {Kind.ITEM, Kind.LEFT_OUT}:
            sentences = [f"{block.text.rstrip(' :')}:"]
        elif block.kind is Kind.HEADING and len(sentences_so_far) == 1 and _leads(sentences_so_far[0]):
            sentences = [block.text]
        if sentences and following.kind is Kind.LEFT_OUT and _leads(sentences[-1]):
            sentences[-1:] = [f"{sentences[-1]} `{following.text}`"] if following.text else []
        sentences_so_far += sentences
    return sentences_so_far


def _leads(sentence: str) -> bool:
    return sentence.endswith((":", "："))


def is_korean(text: str) -> bool:
    """Return whether a text is Korean, even with English names of files, commands and people in it."""
    prose = " ".join(mask_code(block.text, " ") for block in blocks(text[:_LOOK_AT]))
    hangul = len(re.findall(_HANGUL, prose))
    return hangul > 0 and hangul >= _KOREAN_SHARE * len(re.findall(_LETTER, prose))


def blocks(text: str) -> list[Block]:
    """Return the paragraphs, list items, quotations and headings of a markdown text; code and tables are left out."""
    return [block for block in _blocks(text) if block.kind is not Kind.LEFT_OUT]


def _blocks(text: str) -> list[Block]:
    """Return the blocks of a text, including code and tables (`LEFT_OUT`)."""
    joined: list[tuple[Kind, list[str]]] = []
    going_on = False  # whether the next line may belong to the last block
    for line in _outside_fences(text):
        block = line if isinstance(line, Block) else _block(line)
        if block is None:
            going_on = False
        elif going_on and _goes_on(*joined[-1], block, str(line)):
            joined[-1][1].append(block.text)
        else:
            joined.append((block.kind, [block.text]))
            going_on = block.kind not in {Kind.HEADING, Kind.LEFT_OUT}
    return [Block(kind, " ".join(lines)) for kind, lines in joined]


def sentences_of(block: Block) -> Iterator[str]:
    """Yield the sentences of one block."""
    return (words for piece in _pieces(block.text) if (words := _plain(piece)) and _compiled(_LETTER).search(words))


def _pieces(text: str) -> Iterator[str]:
    masked = mask_code(text)
    start = 0
    for stop in _compiled(_STOP).finditer(masked):
        if _ends(masked, start, stop):
            yield text[start : stop.end()]
            start = stop.end()
    yield text[start:]


def mask_code(text: str, filler: str = "x") -> str:
    """Return `text` with each character between backticks replaced, so that code is not read as prose."""
    if "`" not in text:
        return text
    runs = list(re.finditer("`+", text))
    closing: dict[int, int] = {}  # index of a run: index of the next run of the same length
    last: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index].end() - runs[index].start()
        if length in last:
            closing[index] = last[length]
        last[length] = index
    pieces = []
    position = index = 0
    while index < len(runs):
        end = closing.get(index)
        if end is None:
            index += 1
            continue
        opened, closed = runs[index].end(), runs[end].start()
        pieces += [text[position:opened], filler * (closed - opened)]
        position = closed
        index = end + 1
    return "".join([*pieces, text[position:]])


def _outside_fences(text: str) -> Iterator[str | Block]:
    """Yield the lines outside code fences, and a block for each fence."""
    form = _compiled(_FENCE)
    fence, code = "", list[str]()
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        mark = form.match(line)
        if mark and not fence and (mark[1][0] == "~" or "`" not in mark[2]):
            fence = mark[1]
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            yield _left_out(code)
            fence, code = "", []
        elif not fence:
            yield line
        elif line.strip():
            code.append(line.strip())
    if fence:
        yield _left_out(code)


def _left_out(code: Sequence[str]) -> Block:
    is_short = len(code) == 1 and len(code[0]) <= _LONGEST_CODE and "`" not in code[0]
    return Block(Kind.LEFT_OUT, code[0] if is_short else "")


def _block(line: str) -> Block | None:
    """Return the block that a line begins or continues, None for a blank line or markup."""
    words = line.strip()
    if words.startswith("|"):
        return Block(Kind.LEFT_OUT, "")
    if not words or _compiled(_DROPPED).match(words):
        return None
    if heading := _compiled(_HEADING).match(words):
        title = _plain(heading[1].strip(" \t#"))
        return Block(Kind.HEADING, title) if title else None
    for kind, form in ((Kind.QUOTE, _QUOTE), (Kind.ITEM, _ITEM)):
        if marker := _compiled(form).match(words):
            rest = words[marker.end() :]
            return Block(kind, rest) if rest else None
    bold = _compiled(_BOLD_LINE).fullmatch(words)
    if bold and not bold[1].rstrip().endswith((".", "!", "?", "。")) and ": " not in bold[1]:
        return Block(Kind.HEADING, bold[1].strip(" :"))
    return Block(Kind.PARAGRAPH, words)


def _goes_on(kind: Kind, lines: Sequence[str], block: Block, line: str) -> bool:
    """Return whether a line continues the block before it: same kind, after a wrapped line."""
    if block.kind is not (Kind.PARAGRAPH if kind is Kind.ITEM else kind):
        return False
    if kind is Kind.ITEM and not line.startswith((" ", "\t")):
        return False
    tail = lines[-1][-2 * _WRAPPED_AT :]
    width = len(tail) + len(re.findall(_WIDE, tail))
    return width >= _WRAPPED_AT and not tail.endswith((".", "!", "?", ":", "。", "！", "？"))


def _ends(text: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether a full stop ends a sentence."""
    mark = stop[0].rstrip(_CLOSERS)
    following = text[stop.end() : stop.end() + 2].strip()[:1]
    if mark != ".":
        return (len(mark) == 1 and mark != "…") or not following.islower()
    word = text[max(start, stop.start() - _LONGEST_WORD) : stop.start()].rpartition(" ")[2].lstrip("([\"'“‘*").lower()
    if word == "no":
        return not following.isdecimal()
    if word == "etc":
        return not following.islower()
    if word.isdecimal() and len(word) <= _LIST_NUMBER:  # `2. ` of a list within a line
        before = text[start : stop.start() - len(word)].strip()
        return bool(before) and not before.endswith(":")
    initial = len(word) == 1 and "a" <= word <= "z" and word not in "ix"  # `J. Doe`, not `so do I.`
    return word not in _ABBREVIATIONS and not initial


def _plain(piece: str) -> str:
    """Return a piece of a block without bold marks, whitespace collapsed."""
    if "**" in piece:
        masked = mask_code(piece)
        lines = []
        position = 0
        for mark in re.finditer(_BOLD, masked):
            lines.append(piece[position : mark.start()])
            position = mark.end()
        piece = "".join([*lines, piece[position:]])
    return " ".join(piece.split())


def _joint(before: str) -> str:
    """Return the separator between a sentence and the next: list items may lack a full stop."""
    return " " if before.rstrip(_CLOSERS)[-1:] in ".!?:;…。！？,—" else "; "


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    cut = text[: limit - 1]
    if not text[limit - 1].isspace():
        space = cut.rfind(" ")
        cut = cut[:space] if space > limit // 3 else cut
    return cut.rstrip(" ,;:.") + ELLIPSIS


_KILO = 1000


def count(number: int, noun: str) -> str:
    """Return a number and a noun, as in `1 file` and `2 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Sequence[str]) -> str:
    """Join names for a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def bytes_of(number: float) -> str:
    """Return a number of bytes in words, as in `12 bytes` and `3.4 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if number < _KILO:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= _KILO
    return f"{number:.1f} GB"


def age(seconds: float) -> str:
    """Return a time span in words, as in `3 hours`."""
    number, unit = seconds, "second"
    for size, name in ((60, "minute"), (60, "hour"), (24, "day")):
        if number < size:
            break
        number, unit = number / size, name
    return count(max(int(number), 0), unit)


def seen_times(number: int) -> str:
    """Return a number of occurrences in words, as in `Seen once` and `Seen 3 times`."""
    return f"Seen {number} times" if number > 1 else "Seen once"


def at_least(number: int) -> str:
    """Return a number as a lower bound that seldom changes: `7`, `10+`, `20+`, `50+`, `100+`."""
    steps = [step for power in (10, 100, 1_000, 10_000) for step in (power, 2 * power, 5 * power)]
    return next((f"{step}+" for step in reversed(steps) if number >= step), str(number))
