"""What of a session lasts without a model: what the user states for good, and what the agent saved. Pure.

Sentences of the agent are no facts: what it decides it saves itself, and its words replace those that the user's words
make in the same turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from gitmem.document.ids import is_timed, milliseconds_of
from gitmem.learn.statements import as_statement, statements_of
from gitmem.model.entries import relative_files
from gitmem.model.fact import Fact, FactKind
from gitmem.model.similarity import SAID, repeats
from gitmem.model.turns import Turn, is_restated
from gitmem.model.words import human_text, states
from gitmem.platform.machine import datetime, timedelta
from gitmem.values import Value

_BY_AGENT_TOOL = "memory_save"  # ends the name of the tool in each host
_COMMAND = re.compile(r"\bgitmem\b[^\n;|&]{0,200}\ssave\b")
_AROUND = timedelta(seconds=2)  # a turn, as its events have times of their own
_MAX_FILES = 12


def saved_in(facts: Iterable[Fact], turn: Turn) -> list[Fact]:
    """Return the facts that the agent saved while a turn went on; a save that names no session is of the turn, too."""
    if not (
        any(_COMMAND.search(run.command) for run in turn.runs)
        or any(name.endswith(_BY_AGENT_TOOL) for name in turn.used)
    ):
        return []
    begin, end = ((at.timestamp() * 1000) for at in (turn.started - _AROUND, turn.ended + _AROUND))
    return [
        fact
        for fact in facts
        if is_saved(fact)
        and fact.origin.get("session", turn.session) == turn.session
        and any(is_timed(source) and begin <= milliseconds_of(source) <= end for source in fact.sources)
    ]


def is_saved(fact: Fact) -> bool:
    """Return whether an agent or a user saved a fact: it was not learned, nor mirrored from elsewhere."""
    return bool(fact.origin.get("tool")) and "id" not in fact.origin


def repeated(saved: Iterable[Fact], text: str) -> Fact | None:
    """Return the fact that a claim says again in its own words, None if it says something else."""
    return next((fact for fact in saved if repeats(fact.description, text)), None)


class FoundFact(Value):
    """A fact found in a session, with its `scope`; `source` is its turn's entry."""

    kind: FactKind
    text: str
    confidence: float
    at: datetime
    source: str
    files: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()


def find_facts(turns: Sequence[Turn], roots: Sequence[str], boot_lines: Collection[str] = ()) -> list[FoundFact]:
    """Return the facts that the user states in a session, in order, each once.

    `roots` are the folders that file names are relative to; `boot_lines` are the lines of the agent's own boot files
    (`turns.content_lines`), which it reads at every start.
    """
    facts: dict[tuple[FactKind, str], FoundFact] = {}
    for turn in turns:
        files = relative_files(turn.files, (*roots, turn.cwd))
        for finding in facts_of_prompt(turn, files):
            if not is_restated(finding.text, boot_lines):
                facts.setdefault((finding.kind, finding.text.casefold()), finding)
    return list(facts.values())


def facts_of_prompt(turn: Turn, files: Sequence[str]) -> Iterator[FoundFact]:
    """Yield the facts that the user states in a turn: in its prompt, and wherever else they spoke."""
    spoken = (human_text(turn.prompt), *(words.text for words in turn.words if states(words)))
    for said in (said for text in spoken for said in statements_of(text)):
        text, scope = as_statement(said.text), (turn.scope,) if turn.scope else ()
        yield FoundFact(said.kind, text, SAID, turn.started, turn.exchange_id, files_named(text, files), scope=scope)


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the project's files among those of a session that a text names."""
    inside = [file for file in files if not file.startswith(("/", "~", "../")) and file[1:2] != ":"]
    return tuple(file for file in inside if file.rpartition("/")[2] in text)[:_MAX_FILES]
