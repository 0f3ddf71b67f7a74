"""Extractive summaries without a model or a network (spec R5, R6).

Decisions and issues come from their sections, labels and cues; themes are the words that group
entries; the overall text is the ten to fifteen sentences that together cover most
(`gitmem.offline.ranking`).

Measured on archives made of seven recorded sessions (English and Japanese, five decisions planted in each, at six
different places): of the fifty commonest keywords of an archive the overall text has 0.72, the first
lines of as many sentences 0.51, of as many characters 0.62, sentences at random 0.49; sumy's TextRank and LSA have 0.66
and 0.68 of them, choosing among the same sentences. Of the words of a model's own summary of the session it has 0.17,
first lines of as many characters 0.14. All planted decisions were found. 100 KB take 0.4 s, the most that is read 4 s.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from gitmem.model.session.cues.cues import MENDED, is_resolved, without_label
from gitmem.model.tiers.summary import (
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
from gitmem.offline.ranking import Sentence, alike, centrality, choose, stems, weights
from gitmem.offline.reading import Item, Reading, Role, is_statement, read
from gitmem.text.keywords import keywords
from gitmem.text.sentences import shorten, split
from gitmem.text.tokens import utf8_size

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Weight of a sentence's role in the overall text.
_WORTH = {
    Role.DECISION: 1.5,
    Role.FIX: 1.4,
    Role.LEARNING: 1.4,
    Role.ISSUE: 1.3,
    Role.DONE: 1.2,
    Role.OTHER: 1.0,
    Role.ASKED: 0.7,
}
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
_FEWEST_MENDED = 2  # words of an issue that its fix has
# Lead-ins: "Here are the changes: ...".
_LEAD_IN = re.compile(
    r"^(?:here(?:'s| is| are)|below is|the following|(?:in )?summary|요약)\b[^:.]{0,80}:\s+(?=\S)", re.IGNORECASE
)
_REASON = re.compile(
    r"(?:^|[\s(\[,;-])(?:because|since (?!v?[0-9]|yesterday|last|then)|so that|in order to|due to|reason: "
    r"|이유: |근거: |왜냐하면 )\s*(.+)$",
    re.IGNORECASE,
)
_REASON_KOREAN = re.compile(r"^(.{4,200}?(?:때문에|므로|니까|어서|아서|여서|해서|라서|려고|위해))[,\s]")


def summarise(archive: str, text: str) -> Summary:
    """Return the summary of the archive at path `archive`, whose whole text is given; never raises."""
    reading = read(text)
    issues = _issues(reading)
    overall = _most_telling(reading, FEWEST_SENTENCES, MOST_SENTENCES)
    if reading.left_out:
        overall.append(f"The {reading.left_out:,} characters in the middle of the archive were not read.")
    return cleaned(
        Summary(
            archive=archive,
            date_range=_range(reading, archive),
            section_count=reading.section_count,
            themes=_themes(reading),
            key_decisions=_decisions(reading),
            issues=issues,
            overall_summary=" ".join(overall),
            method=OFFLINE,
        )
    )


def digest(text: str, most: int) -> list[str]:
    """Return at most so many sentences of a part of memory that together say most of it; never raises."""
    return _most_telling(read(text), most // 2, most)


def _range(reading: Reading, archive: str) -> tuple[str, str]:
    """Return first and last day; items carried over by a rotation count only if there are no others."""
    days = [item.day for item in reading.items if item.day and not item.kept]
    days = days or [item.day for item in reading.items if item.day] or [archive_day(archive)]
    return min(days), max(days)


def _most_telling(reading: Reading, fewest: int, most: int) -> list[str]:
    weight = weights([stems(item.whole) for item in reading.items])
    pool: list[Sentence] = []
    for item in reading.items:
        for role, sentence in item.sentences:
            text = _as_sentence(sentence)
            if len(text) >= _SHORTEST and is_statement(sentence, role) and len(stems(text)) >= _FEWEST_WORDS:
                pool.append(Sentence(text, _WORTH[role], f"on {item.day}" if item.day else ""))
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


def _decisions(reading: Reading) -> tuple[KeyDecision, ...]:
    """Return the newest decisions, each once, in order."""
    found = _told(reading, Role.DECISION)
    return tuple(_decision(text, item.day) for item, text in _distinct(found)[-MAX_ITEMS:])


def _decision(text: str, day: str) -> KeyDecision:
    """Split a decision from its reason, if it gives one."""
    first, *rest = split(text) or [text]
    for sentence in rest:
        if reason := _REASON.match(sentence):
            return KeyDecision(shorten(first, _LONGEST_ITEM), shorten(reason[1].rstrip(" ."), _LONGEST_ITEM), day)
    opening = first[: 2 * _LONGEST_ITEM]
    reason = _REASON.search(opening)
    korean = None if reason else _REASON_KOREAN.match(opening)
    why = reason[1] if reason else korean[1] if korean else ""
    whole = " ".join([first, *rest[:1]])
    return KeyDecision(shorten(whole, _LONGEST_ITEM), shorten(why.rstrip(" .)]"), _LONGEST_ITEM), day)


def _issues(reading: Reading) -> tuple[Issue, ...]:
    """Return the known issues in order; of too many, open ones are kept before resolved, newer before older."""
    found = _distinct(_told(reading, Role.ISSUE))
    fixes = [(item, stems(text)) for item, text in _told(reading, Role.FIX)]
    fixes += [
        (item, stems(item.whole)) for item in reading.items if item.role is Role.OTHER and is_resolved(item.whole)
    ]
    issues = [
        (index, Issue(shorten(text, _LONGEST_ITEM), RESOLVED if _is_mended(item, text, fixes) else OPEN, item.day))
        for index, (item, text) in enumerate(found)
    ]
    issues.sort(key=lambda one: (one[1].status == RESOLVED, -one[0]))
    return tuple(issue for _, issue in sorted(issues[:MAX_ITEMS], key=lambda one: one[0]))


def _is_mended(item: Item, text: str, fixes: Iterable[tuple[Item, frozenset[str]]]) -> bool:
    """Return whether an issue says that it is resolved, or a later fix is about it."""
    if is_resolved(text):
        return True
    words = stems(text)
    needed = max(MENDED * len(words), _FEWEST_MENDED)
    return any(fix.day >= item.day and len(words & about) >= needed for fix, about in fixes)


def _told(reading: Reading, role: Role) -> list[tuple[Item, str]]:
    """Return the texts with a role: whole items of that role, single sentences of others."""
    found = []
    for item in reading.items:
        if item.role is role:
            found.append((item, without_label(item.whole)))
        else:
            found += [(item, sentence) for kind, sentence in item.sentences if kind is role]
    return [(item, text) for item, text in found if text.strip()]


def _distinct(found: Sequence[tuple[Item, str]]) -> list[tuple[Item, str]]:
    """Return texts without repetitions; the first of each stays."""
    kept: list[tuple[Item, str]] = []
    seen: list[frozenset[str]] = []
    known: set[str] = set()
    for item, text in found[-_MOST_COMPARED:]:
        words = stems(text)
        folded = text.casefold()
        if folded in known or (words and any(alike(words, other) and alike(other, words) for other in seen)):
            continue
        known.add(folded)
        seen.append(words)
        kept.append((item, text))
    return kept


_MOST_COMPARED = 200  # the newest decisions or issues, which are compared with each other


def _themes(reading: Reading) -> tuple[Theme, ...]:
    """Return the themes: the words that group most items, each item in one, with the words most often beside them."""
    items = [item for item in reading.items if item.sentences]
    words = [stems(item.whole) for item in items]
    weight, shown = weights(words), _surfaces(items)
    holders: dict[str, list[int]] = {}
    for index, of_item in enumerate(words):
        for word in of_item:
            holders.setdefault(word, []).append(index)
    widest = max(_WIDEST_THEME * len(words), _FEWEST_OF_A_THEME)
    held = {word: found for word, found in holders.items() if _FEWEST_OF_A_THEME <= len(found) <= widest}
    themes: list[Theme] = []
    told: set[int] = set()
    for word in sorted(held, key=lambda word: (-_spread(len(held[word]), len(words)), word)):
        if len(themes) == MAX_ITEMS:
            break
        if len(told.intersection(held[word])) > len(held[word]) * _SHARED_OF_A_THEME:
            continue
        members = [items[index] for index in held[word]]
        text = _theme_text(members, weight)
        if utf8_size(text) < _SHORTEST_THEME:
            continue
        told.update(held[word])
        beside = Counter(other for index in held[word] for other in words[index] if other in held and other != word)
        name = [word, *sorted(beside, key=lambda other: (-(beside[other] ** 2) / len(held[other]), other))[:2]]
        sessions = tuple(dict.fromkeys(item.session for item in members if item.session))
        themes.append(Theme(", ".join(shown.get(one, one) for one in name), text, sessions))
    return tuple(themes)


def _spread(count: int, total: int) -> float:
    """Return the score of a word in `count` items: high for many, low for nearly all."""
    return count * math.log(1 + total / count)


def _surfaces(items: Sequence[Item]) -> Mapping[str, str]:
    """Return the most frequent form of each stem."""
    counts: dict[str, Counter[str]] = {}
    for item in items:
        for stem, word in keywords(item.whole):
            counts.setdefault(stem, Counter())[word] += 1
    return {stem: forms.most_common(1)[0][0] for stem, forms in counts.items()}


def _theme_text(told: Sequence[Item], weight: Mapping[str, float]) -> str:
    """Return the most telling sentences of a theme's items."""
    pool = [
        Sentence(_as_sentence(sentence), _WORTH[role])
        for item in told
        for role, sentence in item.sentences
        if len(sentence) >= _SHORTEST and is_statement(sentence, role)
    ]
    pool = [one for one in pool if len(one.text) <= _THEME_LENGTH]
    central = sorted(range(len(pool)), key=lambda i: -pool[i].worth * centrality(stems(pool[i].text), weight))
    best = [pool[index] for index in sorted(central[: 4 * _THEME_SENTENCES])]
    picked = choose(best, _THEME_SENTENCES, weight)
    return shorten(" ".join(best[index].text for index in picked), _THEME_LENGTH)
