"""Put copies of a memory last, and the newest memory on a subject before older ones.

Two of them are compared by their words. A copy has nearly all of its words in a hit above it: a fact below the exchange
it was learned from. Memories of different sessions are on one subject if they share much beside the words of the query,
or if the newer says that it leaves what the older names: "switch from Alembic to Aerich".

Where few hits are shown, such an exchange takes the place of the fact even from below.

Tested through `tests/search/test_again.py`.
"""

from __future__ import annotations

import re

from gitmem.model.ids import short_session
from gitmem.search.order.hits import facts_of
from gitmem.search.units.units import first_line
from gitmem.text.stems import stop_words
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitmem.model.fact.views.marks import Marks
    from gitmem.search.order.rank import Ranked

MOST = 30  # hits that are compared
_COPIED = 0.8  # of the words of a copy are in the other hit
_LEAST_COPIED = 4  # words
_SHARED = 0.4, 0.15  # of the words of the shorter and the longer of two hits on a subject, without those of the query
_LEAST_SHARED = 6  # words
# Words before the name of something given up; in Korean behind it, by a verb within some characters.
_LEAVES = (
    *(
        f"{verb} from "
        for verb in ("switch", "switched", "switching", "moved", "moving", "migrate", "migrated", "migrating")
    ),
    *("away from ", "changed from ", "replace ", "replaced ", "replaces ", "replacing ", "instead of ", "rather than "),
    *("no longer use ", "no longer uses ", "dropped "),
)
_LEAVES_KOREAN = {"대신": ("",), "에서 ": ("로 바", "로 전환", "로 이전", "로 옮")}
_WITHIN = 40
_ABOUT_AS_GOOD = 0.5  # of the score of an older hit, in the newer one that takes its place
_WORD = re.compile(r"(?<![\^#\w])[^\W_](?:[\w.-]*\w)?")  # neither an id nor a tag
_FROM_HERE = re.compile(r"(?:the )?[`*\"']*([\w.-]*\w)?")
_LABELS = frozenset({"answer", "asked", "done", "error", "files", "keywords", "outcome", "success"})  # of an exchange
_VIEWS = ("concepts/", "episodes/", "patterns/")  # of exchanges; these have a date of their own
_SYLLABLES = 2  # of a Korean word, which end before its particles
_HANGUL = "가"


class _Told(Value):
    """A hit's words, their forms, the names it gives up, its date, session and handle, and whether it holds."""

    words: frozenset[str]
    forms: frozenset[str]
    left: frozenset[str]
    date: str
    session: str
    handle: str
    holds: bool


def in_order_of_news(hits: Sequence[Ranked], marks: Marks, most: int = MOST, *, few: bool = False) -> list[Ranked]:
    """Return the hits, the best first; of the first `most`, copies come last and the newest of a subject first.

    An older hit has the handle of the newer in `before`. With `few`, a hit below that has nearly all words of one above
    takes its place.
    """
    first = list(hits[:most])
    if len(first) < 2 or not first[0].says:  # noqa: PLR2004  # a pair
        return list(hits)
    told = {at: _told(hit, marks) for at, hit in enumerate(first) if hit.units.memory(hit.index)}
    copies = {at for at, one in told.items() if any(_copies(one, told[other]) for other in told if other < at)}
    order = list(range(len(first)))
    for at, fuller in _fuller(first, told, copies) if few else ():
        copies.add(at)
        order.insert(order.index(at), order.pop(order.index(fuller)))
    order.sort(key=copies.__contains__)
    asked = frozenset(
        _form(word[1])
        for hit in first
        for place, _ in hit.found.places
        if (word := _FROM_HERE.match(hit.units.low, place)) and word[1]
    )
    before: dict[int, int] = {}
    for newest, *others in _subjects([at for at in told if at not in copies], first, told, asked):
        before |= {at: newest for at in others if told[at].date < told[newest].date}
        order.insert(min(map(order.index, (newest, *others))), order.pop(order.index(newest)))
    scores = sorted((hit.score for hit in first), reverse=True)
    ordered = [
        first[at]._replace(score=score, before=told[before[at]].handle if at in before else "")
        for at, score in zip(order, scores, strict=True)
    ]
    return [*ordered, *hits[most:]]


def _fuller(hits: Sequence[Ranked], told: Mapping[int, _Told], copies: set[int]) -> Iterator[tuple[int, int]]:
    """Yield hits with the one below, of the same session and about as good, that has nearly all of their words."""
    for at, one in told.items():
        below = (other for other in told if other > at and told[other].session == one.session and other not in copies)
        for other in below if at not in copies else ():
            good = hits[other].score >= hits[at].score * _ABOUT_AS_GOOD
            if good and told[other].holds >= one.holds and _copies(one, told[other]):
                yield at, other
                break


def _told(hit: Ranked, marks: Marks) -> _Told:
    """Return the text of a hit; of a long one its best part and the request."""
    units, unit = hit.units, hit.units.unit(hit.index)
    facts = facts_of(units, unit)
    handle = facts.entry or units.named
    also = (facts_of(other, other.unit(index)).session for other, index in hit.also)
    session = facts.session or next(filter(None, also), "")
    if not session and (fact := marks.facts.get(handle)):
        session = fact.session
    line = first_line().match(units.text, unit.start, unit.end) if facts.entry else None
    start = line.start("text") if line and line["text"] else line.end() if line else unit.start
    lead = units.parts(hit.index).lead
    spans = [(start, max(lead, start)), hit.part] if hit.part[0] > lead else [(start, unit.end)]
    words = frozenset(word for span in spans for word in _WORD.findall(units.low, *span)) - stop_words() - _LABELS
    forms = words if units.low.isascii() else frozenset(map(_form, words))
    left = frozenset(_form(word) for span in spans for word in _left(units.low, *span)) - stop_words()
    own = "" if units.path.startswith(_VIEWS) else handle
    return _Told(words, forms, left, facts.date, short_session(session), own, not marks.has_ended(handle))


def _left(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the names of things that a text gives up."""
    for cue in _LEAVES:
        for place in _places(text, cue, start, end):
            word = _FROM_HERE.match(text, place + len(cue), end)
            if word and word[1]:
                yield word[1]
    for cue, verbs in _LEAVES_KOREAN.items():
        for place in _places(text, cue, start, end):
            before = text[max(start, place - _WITHIN) : place].split()
            if before and any(verb in text[place : place + _WITHIN] for verb in verbs):
                yield before[-1].strip("`'\"*").rstrip("을를")


def _places(text: str, cue: str, start: int, end: int) -> Iterator[int]:
    place = text.find(cue, start, end)
    while place >= 0:
        yield place
        place = text.find(cue, place + 1, end)


def _form(word: str) -> str:
    return word[:_SYLLABLES] if word[0] >= _HANGUL else word


def _copies(one: _Told, other: _Told) -> bool:
    """Return whether the other hit has nearly all words of this one."""
    return len(one.words) >= _LEAST_COPIED and len(one.words & other.words) >= _COPIED * len(one.words)


def _subjects(
    places: Iterable[int], hits: Sequence[Ranked], told: Mapping[int, _Told], asked: frozenset[str]
) -> Iterable[list[int]]:
    """Yield groups of hits on one subject, the newest that holds first."""
    left = [at for at in places if told[at].date and told[at].handle]
    while left:
        best, *rest = left
        group = [best, *(at for at in rest if _on_one_subject(told[best], told[at], asked))]
        left = [at for at in rest if at not in group]
        good = [at for at in group if told[at].holds and hits[at].score >= hits[best].score * _ABOUT_AS_GOOD]
        if len(group) > 1 and good:
            newest = max(good, key=lambda at: (told[at].date, -at))
            yield [newest, *(at for at in group if at != newest)]


def _on_one_subject(one: _Told, other: _Told, asked: frozenset[str]) -> bool:
    """Return whether two hits of different sessions share many words beside the query's."""
    if one.session == other.session and (one.session or one.date[:10] == other.date[:10]):
        return False
    older, newer = sorted((one, other), key=lambda told: told.date)
    if not newer.left.isdisjoint(older.forms - older.left):
        return True
    own, others = one.forms - asked, other.forms - asked
    shared = len(own & others)
    sizes = sorted((len(own), len(others)))
    return shared >= _LEAST_SHARED and all(shared >= share * size for share, size in zip(_SHARED, sizes, strict=True))
