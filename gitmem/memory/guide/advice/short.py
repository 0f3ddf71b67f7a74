"""Advice for the first prompt of a task, unasked: attempts that helped or failed, and knowledge of its files."""

from __future__ import annotations

from gitmem.memory.guide.advice.lines import Line, Part, is_repeated, kind_of, of_authors
from gitmem.memory.guide.advice.past import EPISODES, of_episodes, useful
from gitmem.memory.guide.advice.project import names_project, of_project
from gitmem.memory.learned.similar import ranked_episodes
from gitmem.model.learned.task import classify
from gitmem.search.query.query import parse_query
from gitmem.store.headers.facts import marked
from gitmem.text.terminal import plain
from gitmem.text.tokens import estimate_tokens
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

TOKENS = 120
_LINES = 4
_TITLES = {Part.AVOID: "Avoid", Part.TRY: "Try", Part.CHALLENGE: "Expect", Part.APPROACH: "Known"}


class Advice(Value):
    """A line for an agent, and the ids of its sources."""

    text: str
    ids: tuple[str, ...]


def advise(store: Store, task: str, hits: Sequence[Hit], session: str, known: Collection[str]) -> list[Advice]:
    """Return advice for a task in at most `TOKENS`, from the episodes among these hits and from the project.

    What the session was told, and its own episodes, are left out. The approach is left to the memories themselves.
    """
    episodes = [
        one
        for one in useful(ranked_episodes(store, hits, alike=classify(task)))
        if one.episode.id not in known and not (session and one.episode.session[:8] == session[:8])
    ]
    shares: dict[str, float] = {}
    for hit in hits:
        shares.setdefault(hit.path, hit.worth.share)
    needles = [needle.text for term in parse_query(task).terms for needle in term.needles]
    past = of_authors(store, of_episodes(episodes[:EPISODES], shares, {}, needles))
    lines = [line for line in past if line.part is not Part.APPROACH]
    kind = kind_of(task)
    if names_project(task, kind):
        lines += [line for line in of_project(store, task, kind) if line.sources[0] not in known]
    lines.sort(key=lambda line: list(_TITLES).index(line.part))
    return _short(store, lines)


def without_repeats(advice: Sequence[Advice], told: Sequence[str]) -> list[Advice]:
    """Return the advice that none of these texts holds."""
    return [one for one in advice if not is_repeated(one.text, told)]


def _short(store: Store, lines: Sequence[Line]) -> list[Advice]:
    """Return the first lines that fit, each once."""
    kept: list[Advice] = []
    left = TOKENS
    for line in lines:
        names = " ".join(source if "/" in source else f"^{source}" for source in line.sources)
        told = marked(store, line.text, line.sources[0])
        text = plain(f"{_TITLES[line.part]}: {told} ({names})")
        size = estimate_tokens(text) + 1
        if size <= left and len(kept) < _LINES and not is_repeated(text, [one.text for one in kept]):
            kept.append(Advice(text, line.sources))
            left -= size
    return kept
