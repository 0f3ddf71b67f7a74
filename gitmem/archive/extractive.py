"""Summarize an archive by its own sentences, without a model or a network (spec R5, R6).

Each sentence gets its role, day and session. Decisions and issues come from sections, labels and cues; themes are the
words that group entries. The overall text is the ten to fifteen sentences that together cover most:
sentences are taken greedily by what they add to the words covered (Lin and Bilmes 2011). Linear in the words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from gitmem.archive.summary import (
    FEWEST_SENTENCES,
    MAX_ITEMS,
    MOST_SENTENCES,
    OFFLINE,
    OPEN,
    RESOLVED,
    Issue,
    KeyDecision,
    Summary,
    Theme,
    archive_day,
    cleaned,
)
from gitmem.document.document import Document
from gitmem.document.entry import CORE_DECISIONS, KNOWN_ISSUES, Entry, MemoryType, find_entries, sections
from gitmem.model.exchange import ANSWER, ERROR, FILES, OUTCOME, SAID, without_labels
from gitmem.model.outcome import Cue, find_cues, is_prose, is_resolved, reports, without_label
from gitmem.model.rotation import KEPT_SECTIONS, without_count
from gitmem.text.sentences import Kind, blocks, sentences_of, shorten, split
from gitmem.text.words import keywords, matcher, utf8_size
from gitmem.values import Value

# Share of the words of the shorter of two sentences that make one a repetition of the other.
SAME = 0.7


class Sentence(Value):
    """A candidate: its text, the weight of its role, and the day that it tells of ("": none)."""

    text: str
    worth: float
    day: str = ""


def stems(text: str) -> frozenset[str]:
    """Return the keywords of a text."""
    return frozenset(stem for stem, _ in keywords(text))


def weights(documents: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the weight of each word: its document frequency times its rarity."""
    counts = Counter(word for document in documents for word in document)
    # A word of a single document is a passing name; a word of all documents distinguishes none.
    return {word: count * math.log(1 + len(documents) / count) for word, count in counts.items()}


def choose(sentences: Sequence[Sentence], count: int, weight: Mapping[str, float], same: float = SAME) -> list[int]:
    """Return the indices of the `count` sentences that cover most, in order; none repeats another (`alike`)."""
    words = [stems(sentence.text) for sentence in sentences]
    heaviest = sorted(weight.values(), reverse=True)[: 2 * count]
    day = sum(heaviest) / max(len(heaviest), 1)  # a day not covered yet counts as one of the heaviest words
    told = [
        {word: weight.get(word, 0.0) for word in own} | ({f"on {one.day}": day} if one.day else {})
        for own, one in zip(words, sentences, strict=True)
    ]
    covered: Counter[str] = Counter()

    def gain(index: int) -> float:
        added = sum(
            worth * (math.sqrt(covered[one] + 1) - math.sqrt(covered[one])) for one, worth in told[index].items()
        )
        return float(sentences[index].worth * added / math.sqrt(len(sentences[index].text)))

    chosen: list[int] = []
    left = [index for index in range(len(sentences)) if words[index]]
    while left and len(chosen) < count:
        best = max(left, key=gain)
        chosen.append(best)
        covered.update(told[best].keys())
        left = [one for one in left if one != best and not alike(words[one], words[best], same)]
    return sorted(chosen)


def alike(one: frozenset[str], other: frozenset[str], same: float = SAME) -> bool:
    """Return whether two sentences repeat each other: that share of the shorter one's words is in both."""
    return len(one & other) >= same * max(min(len(one), len(other)), 1)


MOST_CHARACTERS = 1_000_000  # read of an archive, half from either end; a usual one has a hundred thousand
_DAY = re.compile(r"(?<![0-9])([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])")
_EXCHANGE = "Exchange"
_SKIPPED = "State"  # repeats the end of the last turn


class SentenceRole(Enum):
    """The role of a sentence in an archive, by its weight in the overall text."""

    DECISION = 1.5
    LEARNING = 1.4  # or a fix
    ISSUE = 1.3
    DONE = 1.2
    OTHER = 1.0
    ASKED = 0.7


_ROLES = {
    MemoryType.DECISION: SentenceRole.DECISION,
    MemoryType.PREFERENCE: SentenceRole.DECISION,
    MemoryType.RULE: SentenceRole.DECISION,
    MemoryType.ISSUE: SentenceRole.ISSUE,
    MemoryType.ERROR_FIX: SentenceRole.LEARNING,
    MemoryType.LEARNING: SentenceRole.LEARNING,
    MemoryType.PATTERN: SentenceRole.LEARNING,
}
_LABELS = {kind.label: role for kind, role in _ROLES.items()}
_SECTIONS = {CORE_DECISIONS.casefold(): SentenceRole.DECISION, KNOWN_ISSUES.casefold(): SentenceRole.ISSUE}


class TextBlock(Value):
    """An entry or other block of text; `whole` is its text on one line, `kept` whether a rotation keeps it.

    `session` is the tag of a session, or where that is not known the day; both and `day` may be "".
    """

    role: SentenceRole
    whole: str
    sentences: tuple[tuple[SentenceRole, str], ...]
    day: str
    session: str
    kept: bool


class Reading(Value):
    """The items of an archive, in order, and the number of its sections."""

    items: tuple[TextBlock, ...]
    section_count: int
    left_out: int = 0  # characters in the middle, of a text longer than `MOST_CHARACTERS`


def read(text: str) -> Reading:
    """Parse an archive; never raises."""
    body = without_count(Document.parse(text.encode("utf-8", "replace")).body)
    left_out = max(len(body) - MOST_CHARACTERS, 0)
    if left_out:
        half = MOST_CHARACTERS // 2
        body = f"{body[:half]}\n\n{body[-half:]}"
    parts = sections(body)
    titled = [("", body[: parts[0].start if parts else len(body)])]
    titled += [(part.title, body[part.body : part.end]) for part in parts]
    items: list[TextBlock] = []
    for title, part_text in titled:
        position = 0
        for entry in find_entries(part_text):
            items += _free(part_text[position : entry.start], title)
            items += _of_entry(entry.entry, title)
            position = entry.end
        items += _free(part_text[position:], title)
    return Reading(tuple(items), sum(part.level > 1 for part in parts) or len(parts), left_out)


def day_of(text: str) -> str:
    """Return the first day (`YYYY-MM-DD`) in a text, "" if none."""
    match = _DAY.search(text)
    return match[1] if match else ""


def _of_entry(entry: Entry, title: str) -> list[TextBlock]:
    if entry.label == _SKIPPED:
        return []
    day = day_of(entry.time) or day_of(title)
    kept = title.casefold() in KEPT_SECTIONS
    if entry.label == _EXCHANGE:
        session = entry.tags[0] if entry.tags else day
        whole = _on_one_line(without_labels(entry.text))
        return [TextBlock(SentenceRole.DONE, whole, tuple(_of_turn(entry.text)), day, session, kept)]
    role = _LABELS.get(entry.label) or _SECTIONS.get(title.casefold(), SentenceRole.OTHER)
    spoken = tuple((role, sentence) for sentence in split(entry.text))
    return [TextBlock(role, _on_one_line(entry.text), spoken, day, day, kept)]


# What the lines of a turn are, by how they begin; None for what is no prose.
_LINES = {
    **dict.fromkeys(("Done: ", "한 일: ", ANSWER, SAID), SentenceRole.DONE),
    **dict.fromkeys(("Asked: ", "요청: "), SentenceRole.ASKED),
    **dict.fromkeys((ERROR, FILES, OUTCOME, "Files: ", "파일: ", "Failed: ", "실패: ", "Files modified: "), None),
    **dict.fromkeys(("Keywords: ", "키워드: ", "Outcome: ", "결과: "), None),
}


def _of_turn(text: str) -> Iterator[tuple[SentenceRole, str]]:
    """Yield the sentences of a turn with their roles; decisions, fixes and so on of an answer by its cues.

    The request comes first, or has a line of its own below the summary.
    """
    lines = text.split("\n")
    summed_up = any(line.startswith(("Asked: ", "요청: ", "Outcome: ", "결과: ")) for line in lines)
    parts: list[tuple[SentenceRole | None, list[str]]] = [(SentenceRole.DONE if summed_up else SentenceRole.ASKED, [])]
    for line in lines:
        label = next((label for label in _LINES if line.startswith(label)), "")
        if label:
            parts.append((_LINES[label], []))
        parts[-1][1].append(line[len(label) :])
    for role, words in ((role, "\n".join(said)) for role, said in parts if role):
        yield from ((role, sentence) for sentence in split(words))


def _stated(sentence: str, cues: Sequence[Cue]) -> tuple[SentenceRole, str] | None:
    """Return role and text of a sentence that is a cue, None otherwise."""
    for cue in cues:
        if sentence.endswith(cue.text) or cue.text.endswith(sentence):
            return _ROLES[cue.type], cue.text
    return None


def _free(text: str, title: str) -> Iterator[TextBlock]:
    """Yield the blocks of a text outside entries; a day in the heading above applies to them."""
    if not text.strip():
        return
    day = day_of(title)
    by_title = _SECTIONS.get(title.casefold())
    for block in blocks(text):
        if block.kind is Kind.HEADING:
            day = day_of(block.text) or day
            continue
        cues = [] if by_title else find_cues(block.text)
        role = by_title or SentenceRole.OTHER
        spoken = tuple(_stated(sentence, cues) or (role, sentence) for sentence in sentences_of(block))
        own_day = day_of(block.text[:_DATED_START]) or day
        yield TextBlock(role, block.text, spoken, own_day, own_day, title.casefold() in KEPT_SECTIONS)


_DATED_START = 30  # characters at the start of a line searched for its date: "[2026-01-10] ..."


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def is_statement(sentence: str, role: SentenceRole) -> bool:
    """Return whether a sentence can be part of a summary: no question, offer, lead-in or narration of work."""
    if role is SentenceRole.ASKED:
        return is_prose(sentence)
    return reports(sentence) and not matcher("answers.tsv", "narration").search(sentence)


_SHORTEST = 20  # characters of a sentence of the overall text; a shorter one needs its neighbours
_LONGEST = 300  # characters at which one is truncated
_FEWEST_WORDS = 3  # keywords of a sentence of the overall text
_SENTENCES_A_MORE = 20  # sentences of an archive per additional sentence of the overall text
_LONGEST_ITEM = 300  # characters of a decision, an issue, a reason
_THEME_SENTENCES = 3
_THEME_LENGTH = 450
_SHORTEST_THEME = 60  # bytes of a theme's text
_FEWEST_OF_A_THEME = 2  # items that a theme's word must have
_WIDEST_THEME = 0.5  # share of the items above which a word is the project's subject, not a theme
_SHARED_OF_A_THEME = 0.5  # of the items of a theme that other themes may have, too
# Lead-ins: "Here are the changes: ...".
_LEAD_IN = re.compile(
    r"^(?:here(?:'s| is| are)|below is|the following|(?:in )?summary|요약)\b[^:.]{0,80}:\s+(?=\S)", re.IGNORECASE
)
_REASON = re.compile(
    r"(?:^|[\s(\[,;-])(?:because|since (?!v?[0-9]|yesterday|last|then)|so that|in order to|due to|reason: "
    r"|이유: |근거: |왜냐하면 )\s*(?P<why>.+)$"
    r"|^(?P<korean>.{4,200}?(?:때문에|므로|니까|어서|아서|여서|해서|라서|려고|위해))[,\s]",
    re.IGNORECASE,
)


def summarise(archive: str, text: str) -> Summary:
    """Return the summary of the archive at path `archive`, whose whole text is given; never raises."""
    reading = read(text)
    # Items carried over by a rotation count only if there are no others.
    days = [item.day for item in reading.items if item.day and not item.kept]
    days = days or [item.day for item in reading.items if item.day] or [archive_day(archive)]
    overall = _most_telling(reading, FEWEST_SENTENCES, MOST_SENTENCES)
    if reading.left_out:
        overall.append(f"The {reading.left_out:,} characters in the middle of the archive were not read.")
    return cleaned(
        Summary(
            archive=archive,
            date_range=(min(days), max(days)),
            section_count=reading.section_count,
            themes=_themes(reading),
            key_decisions=tuple(
                _decision(text, item.day)
                for item, text in _distinct(_told(reading, SentenceRole.DECISION))[-MAX_ITEMS:]
            ),
            issues=_issues(reading),
            overall_summary=" ".join(overall),
            method=OFFLINE,
        )
    )


def digest(text: str, most: int) -> list[str]:
    """Return at most so many sentences of a part of memory that together say most of it; never raises."""
    return _most_telling(read(text), most // 2, most)


def _most_telling(reading: Reading, fewest: int, most: int) -> list[str]:
    weight = weights([stems(item.whole) for item in reading.items])
    pool: list[Sentence] = []
    for item in reading.items:
        for role, sentence in item.sentences:
            text = _as_sentence(sentence)
            if len(text) >= _SHORTEST and is_statement(sentence, role) and len(stems(text)) >= _FEWEST_WORDS:
                pool.append(Sentence(text, role.value, f"on {item.day}" if item.day else ""))
    count = min(FEWEST_SENTENCES + len(pool) // _SENTENCES_A_MORE, most)
    picked = choose(pool, count, weight)
    if len(picked) < fewest:  # the others repeat each other; spec R5 wants ten
        picked = choose(pool, fewest, weight, same=1.0)
    chosen = [pool[index].text for index in picked]
    if not chosen:  # all sentences are too short
        chosen = [_as_sentence(sentence) for item in reading.items for _, sentence in item.sentences][:most]
    return chosen


def _as_sentence(text: str) -> str:
    """Return a text that ends as a sentence."""
    text = _LEAD_IN.sub("", text, count=1)
    text = shorten(text, _LONGEST) if len(text) > _LONGEST else text
    text = text.rstrip(" :;,—-")
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{text}."  # noqa: RUF001


def _decision(text: str, day: str) -> KeyDecision:
    """Split a decision from its reason, if it gives one."""
    first, *rest = split(text) or [text]
    second = rest[0] if rest else ""
    match = _REASON.search(first[: 2 * _LONGEST_ITEM])
    if match is None and (match := _REASON.match(second)):
        second = ""
    why = (match["why"] or match["korean"]).rstrip(" .)]") if match else ""
    return KeyDecision(shorten(f"{first} {second}".rstrip(), _LONGEST_ITEM), shorten(why, _LONGEST_ITEM), day)


def _issues(reading: Reading) -> tuple[Issue, ...]:
    """Return the known issues in order; of too many, open ones are kept before resolved, newer before older.

    Facts tell of an issue that was resolved later; whoever shows a summary says so (`gitmem.model.lines`).
    """
    issues = []
    for index, (item, text) in enumerate(_distinct(_told(reading, SentenceRole.ISSUE))):
        ended = is_resolved(text)
        issues.append((ended, -index, Issue(shorten(text, _LONGEST_ITEM), RESOLVED if ended else OPEN, item.day)))
    kept = sorted(issues, key=lambda one: one[:2])[:MAX_ITEMS]
    return tuple(issue for *_, issue in sorted(kept, key=lambda one: -one[1]))


def _told(reading: Reading, role: SentenceRole) -> list[tuple[TextBlock, str]]:
    """Return the texts with a role: whole items of that role, single sentences of others."""
    found = []
    for item in reading.items:
        if item.role is role:
            found.append((item, without_label(item.whole)))
        else:
            found += [(item, sentence) for kind, sentence in item.sentences if kind is role]
    return [(item, text) for item, text in found if text.strip()]


def _distinct(found: Iterable[tuple[TextBlock, str]]) -> list[tuple[TextBlock, str]]:
    """Return texts without those of the same words; the first of each stays."""
    kept: dict[object, tuple[TextBlock, str]] = {}
    for item, text in found:
        kept.setdefault(stems(text) or text.casefold(), (item, text))
    return list(kept.values())


def _themes(reading: Reading) -> tuple[Theme, ...]:
    """Return the themes: the words that group most items, each item in one, with the words most often beside them."""
    items = [item for item in reading.items if item.sentences]
    words = [dict(keywords(item.whole)) for item in items]
    weight = weights([frozenset(of_item) for of_item in words])
    counts = Counter(word for of_item in words for word in of_item)
    widest = max(_WIDEST_THEME * len(words), _FEWEST_OF_A_THEME)
    held = sorted(
        (word for word in counts if _FEWEST_OF_A_THEME <= counts[word] <= widest), key=lambda one: (-weight[one], one)
    )
    themes: list[Theme] = []
    told: set[int] = set()
    for word in held:
        having = [index for index, of_item in enumerate(words) if word in of_item] if len(themes) < MAX_ITEMS else []
        if not having or len(told.intersection(having)) > len(having) * _SHARED_OF_A_THEME:
            continue
        text = _theme_text([items[index] for index in having], weight)
        if utf8_size(text) >= _SHORTEST_THEME:
            told.update(having)
            beside = Counter(other for index in having for other in words[index] if other != word)
            names = [
                word,
                *sorted(set(held) & {*beside}, key=lambda other: (-(beside[other] ** 2) / counts[other], other))[:2],
            ]
            shown = {stem: form for index in having for stem, form in words[index].items()}
            sessions = dict.fromkeys(items[index].session for index in having if items[index].session)
            themes.append(Theme(", ".join(shown[name] for name in names), text, tuple(sessions)))
    return tuple(themes)


def _theme_text(told: Sequence[TextBlock], weight: Mapping[str, float]) -> str:
    """Return the most telling sentences of a theme's items."""
    pool = [
        Sentence(text, role.value)
        for item in told
        for role, sentence in item.sentences
        if len(sentence) >= _SHORTEST and is_statement(sentence, role)
        if len(text := _as_sentence(sentence)) <= _THEME_LENGTH
    ]
    return shorten(" ".join(pool[index].text for index in choose(pool, _THEME_SENTENCES, weight)), _THEME_LENGTH)
