"""Show each memory once, at its best view, and the newest memory on a subject before older ones.

Memories of different sessions are on one subject if they share much beside the words of the query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitmem.document.ids import short_session
from gitmem.facts.lines import Marks
from gitmem.search.files import LAYERS, LOGS, MEMORY_LAYER
from gitmem.search.hits import bare_text, facts_of
from gitmem.search.query import fold
from gitmem.search.rank import Ranked
from gitmem.search.units import FRAME
from gitmem.text.words import stop_words
from gitmem.values import Value


def once(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return each memory once, at the place of its best view: the fullest one, of equals that of the first layer."""
    views: dict[str, Ranked] = {}
    order: list[str | Ranked] = []
    for item in ranked:
        memory = item.units.memory(item.index)
        if not memory:
            order.append(item)
            continue
        other = views.get(memory)
        if other is None:
            order.append(memory)
            views[memory] = item
        else:
            better, worse = (item, other) if _reads_better(item, other) else (other, item)
            also = (*other.also, (worse.units, worse.index))
            views[memory] = better._replace(score=other.score, also=also, near=max(item.near, other.near))
    return [views[item] if isinstance(item, str) else item for item in order]


def without_views(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the hits without concepts and episodes that link to an exchange among them: the exchange names them."""
    places = {item.units.memory(item.index): place for place, item in enumerate(ranked) if not item.units.is_links}
    kept = dict(enumerate(ranked))
    for place, item in enumerate(ranked):
        of = min((places[one] for one in item.units.linked if one in places), default=None)
        if of is not None:
            del kept[place]
            kept[of] = kept[of]._replace(also=(*kept[of].also, (item.units, item.index)))
    return list(kept.values())


def _reads_better(item: Ranked, other: Ranked) -> bool:
    """Return whether a view tells clearly more than another, or as much in a layer before it or a file of the tree.

    A log holds whole what memory.md may shorten. Of the sections of an episode or a concept the first ranked one
    stays: a longer one says something else.
    """
    if item.units is other.units and item.units.is_links:
        return False
    more = item.units.length(item.index) - other.units.length(other.index)
    clearly = 0 if {item.units.layer, other.units.layer} == {MEMORY_LAYER, LOGS} else FRAME
    return more > clearly or (more >= -clearly and _place(item) < _place(other))


def _place(item: Ranked) -> tuple[int, bool]:
    return LAYERS.index(item.units.layer), bool(item.units.commit)


MOST = 30  # hits that are compared
_SHARED = 0.4, 0.15  # of the words of the shorter and the longer of two hits on a subject, without those of the query
_LEAST_SHARED = 6  # words
_ABOUT_AS_GOOD = 0.5  # of the score of an older hit, in the newer one that takes its place
_WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?")
_LABELS = frozenset({"answer", "asked", "done", "error", "files", "keywords", "outcome", "success"})  # of an exchange
_VIEWS = ("concepts/", "episodes/", "patterns/")  # of exchanges; these have a date of their own
_SYLLABLES = 2  # of a Korean word, which end before its particles
_HANGUL = "가"


class _Told(Value):
    """A hit's words, its date, session and handle, and whether it holds."""

    words: frozenset[str]
    date: str
    session: str
    handle: str
    holds: bool


def in_order_of_news(hits: Sequence[Ranked], asked: tuple[str, ...], marks: Marks, most: int = MOST) -> list[Ranked]:
    """Return the hits, the best first; of the first `most`, the newest of a subject stands before older ones.

    `asked` are the beginnings of the query's words. An older hit has the handle of the newer in `before`.
    """
    first = list(hits[:most])
    told = {at: one for at, hit in enumerate(first) if (one := _told(hit, asked, marks)).date and one.handle}
    order, left = list(range(len(first))), list(told)
    before: dict[int, str] = {}
    while left:
        best, *rest = left
        group = [best, *(at for at in rest if _on_one_subject(told[best], told[at]))]
        left = [at for at in rest if at not in group]
        good = [at for at in group if told[at].holds and first[at].score >= first[best].score * _ABOUT_AS_GOOD]
        newest = max(good, key=lambda at: (told[at].date, -at), default=best)
        before |= {at: told[newest].handle for at in group if good and told[at].date < told[newest].date}
        order.insert(order.index(best), order.pop(order.index(newest)))
    scores = sorted((hit.score for hit in first), reverse=True)
    moved = zip(order, scores, strict=True)
    return [*(first[at]._replace(score=score, before=before.get(at, "")) for at, score in moved), *hits[most:]]


def _told(hit: Ranked, asked: tuple[str, ...], marks: Marks) -> _Told:
    """Return the text of a hit without the words that are `asked` for; of a long one its best part and the request."""
    units, unit = hit.units, hit.units.unit(hit.index)
    facts, lead = facts_of(units, unit), units.parts(hit.index).lead
    handle = facts.entry or units.named
    fact = marks.facts.get(handle)
    text = units.text[unit.start : unit.end]
    if hit.part[0] > lead:
        text = f"{units.text[unit.start : lead]}\n{units.text[slice(*hit.part)]}"
    said = {word for word in _WORD.findall(fold(bare_text(text))) if not word.startswith(asked)}
    words = frozenset(word[:_SYLLABLES] if word[0] >= _HANGUL else word for word in said - stop_words() - _LABELS)
    session = short_session(facts.session or (fact.session if fact else ""))
    own = "" if units.path.startswith(_VIEWS) else handle
    return _Told(words, facts.date, session, own, not marks.has_ended(handle))


def _on_one_subject(one: _Told, other: _Told) -> bool:
    """Return whether two hits of different sessions share many words."""
    if one.session == other.session and (one.session or one.date[:10] == other.date[:10]):
        return False
    shared = len(one.words & other.words)
    sizes = sorted((len(one.words), len(other.words)))
    return shared >= _LEAST_SHARED and all(shared >= share * size for share, size in zip(_SHARED, sizes, strict=True))
