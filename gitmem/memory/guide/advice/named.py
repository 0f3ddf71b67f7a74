"""Lines of guidance from the errors of the files that a task names, and from the rules that a review checks (spec M4).

Tested through `tests/memory/guide/test_guide.py`.
"""

from __future__ import annotations

from gitmem.memory.guide.advice.lines import Line, Part
from gitmem.memory.learned.known import own_part, pattern_headers, read_pattern, signature_of
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.holds import in_force
from gitmem.model.learned.error import MATCH
from gitmem.model.learned.task import TaskType, classify
from gitmem.store.headers.facts import known_facts
from gitmem.text.quantities import seen_times

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.learned.pattern import BugPattern
    from gitmem.store.store import Store

_LINES = 2  # of errors
_RULES = 3
_READ = 20  # patterns


def of_errors_in(store: Store, named: Sequence[str]) -> Iterator[Line]:
    """Yield the last errors that came from these files, with what mended them; stale ones are left out."""
    names = {_name(file) for file in named}
    headers = pattern_headers(store) if names else []
    paths = [one.path for one in headers if any(frame.partition(":")[0] in names for frame in signature_of(one).frames)]
    read = (read_pattern(store, path) for path in paths[:_READ])
    about = [one for one in read if one and not one.stale and _is_about(one, named)]
    found = [own for one in about if (own := own_part(store, one))]
    for one in sorted(found, key=lambda one: (one.updated, one.id), reverse=True)[:_LINES]:
        best = one.best()
        mended = f"mended by {best.text}" if best else "not known to be mended"
        text = f"{one.title}: {seen_times(len(one.seen)).lower()}, {mended}, last {one.updated:%Y-%m-%d}"
        ids = (one.id, *(best.worked if best else one.seen)[-_LINES:])
        yield Line(Part.CHALLENGE, text, ids, round(best.confidence if best else MATCH, 2))


def of_review(store: Store, task: str) -> Iterator[Line]:
    """Yield, for a review, the project's rules that were stated most often."""
    if classify(task) is TaskType.REVIEW:
        rules = [fact for fact in in_force(known_facts(store)) if fact.kind is FactKind.RULE]
        rules.sort(key=lambda fact: (len(fact.sources), fact.when, fact.id), reverse=True)
        for fact in rules[:_RULES]:
            yield Line(Part.APPROACH, f"Check: {fact.description}", (fact.id,), round(fact.confidence or 0.0, 2))


def _is_about(pattern: BugPattern, named: Sequence[str]) -> bool:
    """Return whether the files of a pattern with the name of a named file, if there are any, are that file."""
    same = [(file, one) for file in pattern.files for one in named if _name(file) == _name(one)]
    return not same or any(f"/{file}".endswith(f"/{one}") for file, one in same)


def _name(file: str) -> str:
    return file.rpartition("/")[2]
