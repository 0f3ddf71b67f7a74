"""Lines of guidance from episodes of similar tasks: approaches, attempts that helped or failed (spec M4)."""

from __future__ import annotations

from gitmem.memory.guide.advice.lines import Line, Part
from gitmem.model.learned.counts import BEGINS
from gitmem.model.learned.episode import REJECTED, UNMENDED, ending
from gitmem.model.message import one_line
from gitmem.model.session.changes import PLACE, is_place
from gitmem.model.session.outcome import Outcome
from gitmem.search.query.query import fold

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitmem.memory.learned.similar import Ranked
    from gitmem.model.learned.episode import Episode

EPISODES = 3
_LINES = 2  # of a kind from one episode
_LONGEST, _TASK = 400, 120  # characters of a line, and of the task in it
_THE_SAME = 2 / 3  # confidence from which an episode's task is nearly this one
_DID_NOT_HELP = ("did not help", REJECTED)
_TRIED = ("mended it", "did not help")  # end the lines of errors


def of_episodes(
    found: Iterable[Ranked], shares: Mapping[str, float], said: Mapping[str, str], needles: Sequence[str] = ()
) -> Iterator[Line]:
    """Yield the advice of episodes, by how much of the task they share (`shares`, by path).

    `said` has, by id of an exchange, its lines that say most of the task; `needles` are the words of the task.
    """
    for one in found:
        # An episode that helped before is surer than its words; one that did not is told only if asked for.
        sure = round(min(shares.get(one.path, 0.0) * one.count.usefulness / BEGINS, 1.0), 2)
        yield from _lines(one.episode, sure, said, needles)


def _lines(episode: Episode, sure: float, said: Mapping[str, str], needles: Sequence[str]) -> Iterator[Line]:
    source = (episode.id,)
    failed = episode.outcome is Outcome.FAILED
    exchange = next((one for one in episode.exchanges if one in said), "")
    how = said.get(exchange) or episode.solution
    plan = "; ".join(step[4:] for step in episode.plan if step.startswith("[x] "))
    if how or plan:
        text = f"{one_line(episode.task, _TASK)} ({ending(episode)}): {how}" + (f" Steps: {plan}" if plan else "")
        part = Part.CHALLENGE if failed else Part.APPROACH  # why it failed is not known, so it may still be right
        yield Line(part, one_line(text, _LONGEST), (*source, exchange) if exchange else source, sure)
    tips = [] if failed else [tip for tip in episode.tips if not _is_place(tip)]
    tried = [one for one in episode.gotchas if any(words in one for words in _DID_NOT_HELP)]
    others = [one for one in episode.gotchas if one not in tried]
    for part, lines in ((Part.TRY, tips), (Part.AVOID, tried), (Part.CHALLENGE, others)):
        for text in _nearest(lines, needles, sure):
            yield Line(part, text, source, sure)
    for change in episode.changes[:1]:
        yield Line(Part.CHALLENGE, f"The person then turned the work: {change}", source, sure)


def _is_place(tip: str) -> bool:
    """Return whether a tip says no more than which file was changed."""
    return is_place(f"{PLACE}{tip.removesuffix(' mended it').partition(PLACE)[2]}")


def _nearest(lines: Sequence[str], needles: Sequence[str], sure: float) -> list[str]:
    """Return the lines that share words with the task; else, of nearly the same task, what mended an error or did not.

    What a task stated beside that is about something else, unless it shares a word with this one.
    """
    near = [line for line in lines if any(needle in fold(line) for needle in needles)]
    tried = [line for line in lines if line.endswith(_TRIED) and not line.endswith(UNMENDED)]
    return near[:_LINES] or (tried[:1] if sure >= _THE_SAME else [])


def complexity_of(episodes: Sequence[Episode]) -> str:
    """Return the highest complexity of these tasks, "" without one."""
    return max((one.complexity for one in episodes), key=("", "low", "medium", "high").index, default="")
