"""Which facts a session is told when it starts, and how (spec R8, V6): those in force that earn their tokens."""

from __future__ import annotations

import re

from gitmem.memory.facts.index import fact_headers, in_force, whole
from gitmem.memory.headers import Haste, never
from gitmem.model.fact.fact import BINDING, Fact, FactKind, adopted_from
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.memory.headers import Header, Late
    from gitmem.project.state import ProjectState
    from gitmem.store.store import Store

MOST_READ = 200  # facts not known yet that a session's start reads; the others are read behind its back
_MOST_LOOKED_AT = 150  # facts, of the kinds that tell most and then the newest, whose words are compared with the work
_MOST = 30  # facts among which the budget chooses
_DIGEST = 10  # characters at the end of an entry's id that are the same whenever it was captured
# What binds tells more than what merely helps: a fix is told only where its files are at hand.
_WORTH = {"rule": 3.0, "preference": 3.0, "decision": 2.5, "core-logic": 2.0, "pattern": 2.0, "solution": 0.0}
_AT_HAND, _MOST_AT_HAND = 0.5, 3.0  # for each word or file of a fact that what is worked on names
_FEWEST = 1.0
_MOST_FILES = 100  # of a fact that git is asked about
_SECONDS = 0.3  # for git's answer; without it no fact is marked
_WORD = re.compile(r"[^\W_][\w.-]*[^\W_]")


class ToldFacts(Value):
    """Lines for the start text; `texts` is what they say, as `plain_words` has it.

    `told` and `settled` are digests of entries in `memory.md`: those told here, and those that hold no more.
    """

    lines: tuple[str, ...]
    texts: frozenset[str]
    told: frozenset[str]
    settled: frozenset[str]


def told_facts(store: Store, at_hand: str, project: ProjectState | None, late: Late = never) -> ToldFacts:
    """Return the facts in force, the most useful first; `at_hand` is a text that says what is being worked on.

    `project` is the one whose code facts speak of, None where there is none. Once it is `late`, no more is read.
    """
    haste = Haste(MOST_READ, late)
    looked_at = _looked_at(fact_headers(store, haste, trusting=True))
    if not all(header.is_current(store.root) for header in looked_at):
        looked_at = _looked_at(fact_headers(store, haste))
    if not looked_at:
        return ToldFacts((), frozenset(), frozenset(), frozenset())
    facts = [whole(header) for header in looked_at]
    holding = in_force(facts)
    held = {fact.id for fact in holding}
    words = {word.casefold() for word in _WORD.findall(at_hand)}
    own = adopted_from(store.context.machine, "/")[:-1]  # an agent loads its own memory by itself
    told = [fact for fact in holding if not (fact.adopted and fact.adopted.startswith(own))]
    ranked = sorted(((_worth(fact, words, at_hand), fact.when, fact.id, fact) for fact in told), reverse=True)
    chosen = [fact for worth, _, _, fact in ranked if worth >= _FEWEST][:_MOST]
    stale = _stale(store, chosen, project)
    settled = _digests([fact for fact in facts if fact.id not in held]) - _digests(holding)
    texts = frozenset(plain_words(fact.description) for fact in chosen)
    return ToldFacts(tuple(_lines(chosen, stale)), texts, _digests(chosen), settled)


def plain_words(text: str) -> str:
    """Return what a statement says, however it is spaced, capitalised and ended."""
    return " ".join(text.split()).rstrip(".!。").casefold()


def _looked_at(headers: Sequence[Header]) -> list[Header]:
    """Return the facts of which all else is read: those that may be told, and the last ones that hold no more.

    The entries of the latter in `memory.md` are told no more, too.
    """
    keyed = [(header.key, header) for header in headers]
    binding = [(key, header) for key, header in keyed if key[0] in BINDING and key[1] != FactKind.ISSUE]
    binding.sort(key=lambda one: (_WORTH.get(one[0][1], 0.0), one[0][2]), reverse=True)
    settled = sorted((one for one in keyed if one[0][0] not in BINDING), key=lambda one: one[0][2])
    return [header for _, header in (*binding[:_MOST_LOOKED_AT], *settled[-_MOST_LOOKED_AT:])]


def _worth(fact: Fact, words: set[str], at_hand: str) -> float:
    files = sum(file.rpartition("/")[2] in at_hand for file in fact.files)
    near = _AT_HAND * sum(word in words for word in fact.keywords) + 2 * _AT_HAND * files
    worth = _WORTH.get(fact.kind, 0.0)
    if not worth and not files:
        return 0.0
    return worth + min(near, _MOST_AT_HAND) + (fact.confidence if fact.confidence is not None else 0.5)


def _stale(store: Store, facts: Sequence[Fact], project: ProjectState | None) -> Mapping[str, Sequence[str]]:
    asked = [fact for fact in facts if fact.commit and 0 < len(fact.files) <= _MOST_FILES]
    if not asked or not project:
        return {}
    from gitmem.project.code import project_code

    code = project_code(project.root, store.context.environ)
    return code.changed_since(asked, seconds=_SECONDS) if code else {}


def _lines(facts: Sequence[Fact], stale: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each fact; two that contradict each other are told on one, wherever the first would stand."""
    by_id = {fact.id: fact for fact in facts}
    lines = []
    done: set[str] = set()
    for fact in facts:
        if fact.id in done:
            continue
        pair = [fact, *(by_id[one] for one in fact.review if one in by_id and one not in done)]
        done.update(one.id for one in pair)
        told = " Or: ".join(_told(one, stale.get(one.id, ())) for one in pair)
        undecided = f" These contradict each other; `gitmem facts confirm {fact.id}` decides." if len(pair) > 1 else ""
        lines.append(f"- {told}{undecided}")
    return lines


def _told(fact: Fact, stale: Sequence[str]) -> str:
    about = f"{fact.kind}, {fact.when:%Y-%m-%d}"
    if stale:
        about += f"; may be out of date, since changed: {', '.join(stale[:3])}"
    return f"{fact.description} ({about})"


def _digests(facts: Sequence[Fact]) -> frozenset[str]:
    return frozenset(source[_DIGEST:] for fact in facts for source in fact.sources if len(source) == 2 * _DIGEST)
