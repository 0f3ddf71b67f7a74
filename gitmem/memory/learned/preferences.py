"""Learn the person's preferences into their own store (`gitmem init --user`), for use in every project.

A stated preference counts at once. A rule counts once it is repeated, in words such as "always", "again", "항상", or
because an earlier session has it, too, and only if it tells the agent how to work with this person: how to answer, when
to ask, how to comment, name and change code. All other rules are the project's, as are those that name code or files.
Without an own store everything stays in the project's.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gitmem.memory.capture.clean import boot_lines, redacted
from gitmem.memory.facts.learn import learn_told
from gitmem.model.fact.compare import says_the_same
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.find import facts_of_prompt
from gitmem.model.fact.holds import in_force
from gitmem.model.ids import tail_of
from gitmem.model.session.entries import relative_files
from gitmem.model.session.noise import is_restated
from gitmem.store.headers.facts import known_facts
from gitmem.store.store import own_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.find import Finding
    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store

_KINDS = (FactKind.PREFERENCE, FactKind.RULE)
_AGAIN = re.compile(
    r"\b(?:always|never|every time|from now on|again|i(?:'ve| have)? (?:already )?told you|as i said|how many times)\b"
    r"|항상|언제나|매번|앞으로|다시 (?:말|한번)|또 말|말했(?:잖|듯|는데)|몇 번",
    re.IGNORECASE,
)
_OF_PROJECT = re.compile(
    r"`|[\w-]/[\w-]|\w\.[a-z]{1,5}\b|\b(?:repo|repository|project|branch|module|this|here|we|our)\b"
    r"|프로젝트|저장소|우리|여기",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\bi(?:'d| would)?(?: \w+ly| much)? (?:prefer|hate|dislike|always|never|usually)\b|\bmy (?:[\w-]+ ){1,3}is\b"
    r"|\bcall me\b|선호|좋아|싫|편(?:해|합)",
    re.IGNORECASE,
)
# How to work with a person: answers, when to ask, comments and names, tests first, small changes.
_MANNER = re.compile(
    r"\b(?:answer|repl(?:y|ies)|respon[ds]|expla[in]|summar|speak|talk|tell me|show me|verbos|concise|brief|emoji"
    r"|apolog)|\b(?:ask(?:ing|ed)?|confirm\w*|approv\w+|permission|wait for me|let me (?:know|decide|review))\b"
    r"|\b(?:comments?|docstrings?|names?|naming|functions?|early returns?|one-liners?|tdd|tests? first)\b"
    r"|\b(?:diffs?|patch(?:es)?|minimal|refactor\w*|rewrit\w+|clean ?up)\b"
    r"|답(?:변|해|을|은)|대답|설명|요약|말투|존댓말|반말|이모지|물어|허락|확인(?:받|을 받| 받)|주석|이름|변수명|함수"
    r"|리팩터|리팩토|최소한",
    re.IGNORECASE,
)
# A rule about things ("every function needs …") is no order to the agent.
_OF_THINGS = re.compile(
    r"^(?:all|every|each|any|no|the)\b|(?<!you )\b(?:must|should|shall|needs?|has to|have to|are|is)\b"
    r"|^모든|야 (?:해|한|합|돼|됩)|다\.?$",
    re.IGNORECASE,
)


def learn_preferences(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the person's preferences of a finished session into their own store; return the commit there.

    Raises:
        GitmemError: the preferences could not be committed.

    """
    own = own_store(store)
    if own is None or not turns:
        return None
    mine = {tail_of(turn.exchange_id) for turn in turns}
    before = [
        fact
        for fact in in_force(known_facts(store))
        if fact.kind in _KINDS and any(tail_of(source) not in mine for source in fact.sources)
    ]
    findings = [finding for finding in _stated(store, turns) if _is_persons(finding, before)]
    return learn_told(own, session, host, findings)


def _stated(store: Store, turns: Sequence[Turn]) -> Iterator[Finding]:
    """Yield the preferences and rules in the person's own words."""
    boot, project, allow = boot_lines(store), os.path.dirname(store.root), store.config.redaction.allow
    for turn in turns:
        clean = redacted(turn, allow)
        for finding in facts_of_prompt(clean, "", relative_files(turn.files, (project, turn.cwd))):
            if finding.kind in _KINDS and not is_restated(finding.text, boot):
                yield finding


def _is_persons(finding: Finding, before: Sequence[Fact]) -> bool:
    if finding.files or _OF_PROJECT.search(finding.text):
        return False
    if finding.kind is FactKind.PREFERENCE:
        return bool(_PREFERS.search(finding.text) or _MANNER.search(finding.text))
    if not _MANNER.search(finding.text) or _OF_THINGS.search(finding.text):
        return False
    if _AGAIN.search(finding.text):
        return True
    return any(says_the_same(fact.description, finding.text) for fact in before)
