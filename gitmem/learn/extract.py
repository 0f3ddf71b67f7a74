"""What of a session lasts: what a person states for good or chooses, what the agent saved, and fixes (spec V4). Pure.

Sentences of the agent are no facts: what it decides it saves itself, and its words replace those that the rules find in
the same turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from gitmem.document.ids import is_timed, milliseconds_of
from gitmem.learn.choices import picks_of
from gitmem.learn.statements import as_statement, in_context, statements_of, with_reason
from gitmem.model.compare import contradict, says_the_same, stems_of
from gitmem.model.entries import relative_files
from gitmem.model.exchange import Fields
from gitmem.model.fact import Fact, FactKind
from gitmem.model.outcome import is_resolved
from gitmem.model.turns import Turn, is_restated
from gitmem.model.words import human_text, own_statements, states
from gitmem.platform.machine import datetime, timedelta
from gitmem.text.sentences import blocks, sentences_of
from gitmem.values import Value

_BY_AGENT_TOOL = "memory_save"  # ends the name of the tool in each host
_COMMAND = re.compile(r"\bgitmem\b[^\n;|&]{0,200}\ssave\b")
_AROUND = timedelta(seconds=2)  # a turn, as its events have times of their own
_NUMBER = re.compile(r"[0-9]+")
_SAME = 0.6  # share of the fewer keywords; within one turn little else shares so many
_FEWEST = 2


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
    """Return whether a fact was saved by an agent or a person: not found by the rules, nor mirrored from elsewhere."""
    return bool(fact.origin.get("tool")) and "id" not in fact.origin


def repeated(saved: Iterable[Fact], text: str) -> Fact | None:
    """Return the fact that a guess says again in its own words, None if it says something else."""
    return next((fact for fact in saved if _repeats(fact.description, text)), None)


def _repeats(one: str, other: str) -> bool:
    if says_the_same(one, other):
        return True
    fewer, more = sorted((stems_of(text) | frozenset(_NUMBER.findall(text)) for text in (one, other)), key=len)
    shared = sum(any(_is_same(word, known) for known in more) for word in fewer)
    return shared >= max(_FEWEST, _SAME * len(fewer)) and not contradict(one, other)


def _is_same(one: str, other: str) -> bool:
    """Return whether two words are the same; of Korean ones, one may go on with an ending that no stem is cut from."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) > 1 and "가" <= shorter[0] <= "힣" and longer.startswith(shorter))


MAX_FILES = 5
_SURE = 0.9  # the confidence of what a person says
_FEWEST_NAMED = 2  # files and numbers that an issue and a mended failure share
_LONG_NUMBER = re.compile(r"(?<![\w.])[0-9]{3,}(?![\w.]*[0-9])")
_MENDED = 0.6  # share of an issue's words that its fix has
_FEWEST_MENDED = 3  # words of an issue that its fix has
_FILE_NAME = re.compile(r"(?<![\w/.-])(?:[\w-][\w.-]{0,80}/){0,12}[\w-][\w.-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")


class FoundFact(Value):
    """A fact found in a session, with its `scope`; `source` is its turn's entry, `by` the model that found it."""

    kind: FactKind
    text: str
    confidence: float
    at: datetime
    source: str
    files: tuple[str, ...] = ()
    by: str = ""
    scope: tuple[str, ...] = ()


def find_facts(turns: Sequence[Turn], roots: Sequence[str], boot_lines: Collection[str] = ()) -> list[FoundFact]:
    """Return the facts in the turns of a session, in order, each once.

    `roots` are the folders that file names are relative to; `boot_lines` are the lines of the agent's own boot files
    (`turns.content_lines`), which it reads at every start.
    """
    found: dict[tuple[FactKind, str], FoundFact] = {}
    before: dict[str, Fields] = {}  # what was said last in each session
    for turn in turns:
        files = relative_files(turn.files, (*roots, turn.cwd))
        for finding in facts_of_prompt(turn, before.get(turn.session, Fields()), files):
            if not is_restated(finding.text, boot_lines):
                found.setdefault((finding.kind, finding.text.casefold()), finding)
        before[turn.session] = Fields(turn.prompt, turn.answer)
    return list(found.values())


def facts_of_prompt(turn: Turn, before: Fields, files: Sequence[str]) -> Iterator[FoundFact]:
    """Yield the facts that a person states, and the options of the answer before that the person picks."""
    prompt = human_text(turn.prompt)
    stated = [
        said._replace(text=in_context(said.text, before.answer)) for said in statements_of(own_statements(prompt))
    ]
    stated += [said for words in turn.words if states(words) for said in statements_of(own_statements(words.text))]
    picked = picks_of(prompt, before.answer, before.request)
    for said in filter(lambda said: said.text, (*picked, *stated)):
        text = with_reason(as_statement(said.text), as_statement(said.why) if said.why else "")
        scope = (turn.scope,) if turn.scope else ()
        yield FoundFact(said.kind, text, _SURE, turn.started, turn.exchange_id, files_named(text, files), scope=scope)


class Fix(Value):
    """A fix that an answer reports, with the words that it is about: its own, or those of a failure that works now.

    `named` are the files and numbers of that failure.
    """

    text: str
    at: datetime
    about: frozenset[str]
    named: frozenset[str] = frozenset()

    def mends(self, issue: str) -> bool:
        """Return whether the fix has most of the words of an issue, or its failure the same file and number."""
        words = stems_of(issue)
        shares_words = len(words & self.about) >= max(_MENDED * len(words), _FEWEST_MENDED)
        return shares_words or len(_named(issue) & self.named) >= _FEWEST_NAMED


def find_fixes(turns: Iterable[Turn]) -> Iterator[Fix]:
    """Yield the fixes that the answers of a session report, which end open issues, and one for each mended failure."""
    for turn in turns:
        sentences = [sentence for block in blocks(human_text(turn.answer)) for sentence in sentences_of(block)]
        fixed = [sentence for sentence in sentences if is_resolved(sentence)]
        yield from (Fix(as_statement(sentence), turn.ended, stems_of(sentence)) for sentence in fixed)
        wrong = [f"{failure.command} {failure.error}" for failure in turn.failures if failure.fixed_by] if fixed else []
        yield from (Fix(as_statement(fixed[0]), turn.ended, stems_of(one), _named(one)) for one in wrong)


def _named(text: str) -> frozenset[str]:
    """Return the files that a text names, and its numbers of three digits or more: a port, an error code."""
    return frozenset((*(match[0] for match in _FILE_NAME.finditer(text)), *_LONG_NUMBER.findall(text)))


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a session that a text names, by name or by path."""
    named = dict.fromkeys(match[0] for match in _FILE_NAME.finditer(text))
    inside = [file for file in files if not file.startswith(("/", "~", "../")) and file[1:2] != ":"]
    found = [file for name in named for file in inside if file == name or file.endswith(f"/{name}")]
    return tuple(dict.fromkeys(found))[:MAX_FILES]
