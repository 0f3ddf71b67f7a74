"""Facts in a session (spec V4): rules, preferences, decisions, core logic, fixes, commands.

Without a model, and with precision before recall: most sessions say nothing of the kind, and junk is worse than
nothing. Taken are what a person states to the agent as standing, what an answer states as decided or open, fixes that
say what was wrong and were carried out, and commands for tests and the like that worked more than once.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact import cues as factwords
from gitmem.model.fact.commands import command_facts
from gitmem.model.fact.compare import stems_of
from gitmem.model.fact.fact import FactKind
from gitmem.model.session import cue_patterns
from gitmem.model.session.cues import MENDED, find_cues, is_resolved
from gitmem.model.session.entries import relative_files
from gitmem.model.session.noise import human_text, is_restated
from gitmem.text.keywords import keywords
from gitmem.text.sentences import Kind, blocks, mask_code, sentences_of, shorten
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from gitmem.model.session.cues import Cue
    from gitmem.model.session.turns import Turn

MAX_FILES = 5
MAX_KEYWORDS = 8
_SHORTEST, _LONGEST = 12, 300  # characters of a sentence
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_MOST_SENTENCES = 30
_FEWEST_WORDS = 3  # of a sentence
_FEWEST_KEYWORDS = 2  # of the description of an error
_PROBLEM = 240  # characters
_FEWEST_MENDED = 3  # words of an issue that its fix has
_SURE = {FactKind.PREFERENCE: 0.9, FactKind.RULE: 0.9, FactKind.DECISION: 0.9, FactKind.CORE_LOGIC: 0.8}
_OF_AN_ANSWER = {MemoryType.DECISION: (FactKind.DECISION, 0.6), MemoryType.ISSUE: (FactKind.ISSUE, 0.6)}
_FIX, _TESTED_FIX = 0.5, 0.7
_COMMAND = 0.8
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]{2,}")
_FILE_NAME = re.compile(r"(?<![\w/.-])(?:[\w-][\w.-]{0,80}/){0,12}[\w-][\w.-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")


class Finding(Value):
    """A fact found in a session; `source` is the id of its turn's entry."""

    kind: FactKind
    text: str
    confidence: float
    at: datetime
    source: str
    files: tuple[str, ...] = ()


def find_facts(turns: Sequence[Turn], roots: Sequence[str], boot_lines: Collection[str] = ()) -> list[Finding]:
    """Return the facts in the turns of a session, in order, each once.

    `roots` are the folders that file names are relative to; `boot_lines` are the lines of the agent's own boot files
    (`noise.content_lines`), which it reads at every start.
    """
    found: dict[tuple[FactKind, str], Finding] = {}
    for turn in turns:
        files = relative_files(turn.files, (*roots, turn.cwd))
        for finding in (*_of_prompt(turn, files), *_of_answer(turn, files)):
            if not is_restated(finding.text, boot_lines):
                found.setdefault((finding.kind, finding.text.casefold()), finding)
    for command in command_facts(turns):
        turn = turns[command.turn]
        found[FactKind.PATTERN, command.text] = Finding(
            FactKind.PATTERN, command.text, _COMMAND, turn.ended, turn.entry_id()
        )
    return list(found.values())


class Fix(Value):
    """A fix that an answer reports."""

    text: str
    at: datetime
    about: frozenset[str]

    def mends(self, issue: str) -> bool:
        """Say whether the fix has most of the words of an issue."""
        words = stems_of(issue)
        return len(words & self.about) >= max(MENDED * len(words), _FEWEST_MENDED)


def find_fixes(turns: Sequence[Turn]) -> list[Fix]:
    """Return the fixes that the answers of a session report."""
    return [
        Fix(as_statement(sentence), turn.ended, stems_of(sentence))
        for turn in turns
        for block in blocks(human_text(turn.answer))
        for sentence in sentences_of(block)
        if is_resolved(sentence)
    ]


def fact_keywords(text: str) -> tuple[str, ...]:
    """Return the keywords of a fact, each stem once, in order."""
    shown: dict[str, str] = {}
    for stem, word in keywords(text):
        shown.setdefault(stem, word.strip("._/-").casefold())
    return tuple(filter(None, dict.fromkeys(shown.values())))[:MAX_KEYWORDS]


def as_statement(text: str) -> str:
    """Return a sentence normalised as a fact's text, so that variants of its writing make one fact."""
    text = _re(f"^{factwords.OPENING}").sub("", " ".join(text.split()), count=1)
    text = _re(factwords.ASIDE).sub("", text, count=1).rstrip(" .,;:!…")
    text = text[:1].upper() + text[1:]
    return text if text.endswith(("?", "。")) else f"{text}."


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a session that a text names, by name or by path."""
    named = dict.fromkeys(match[0] for match in _FILE_NAME.finditer(text))
    found = [file for name in named for file in files if file == name or file.endswith(f"/{name}") if _is_inside(file)]
    return tuple(dict.fromkeys(found))[:MAX_FILES]


def _is_inside(file: str) -> bool:
    return not file.startswith(("/", "~", "../")) and file[1:2] != ":"


def _of_prompt(turn: Turn, files: Sequence[str]) -> Iterator[Finding]:
    """Yield the facts that a person states."""
    prompt = human_text(turn.prompt)
    if len(prompt) > _OWN_WORDS or prompt.startswith("/"):
        return
    sentences = [
        sentence
        for block in blocks(prompt)
        if block.kind in (Kind.PARAGRAPH, Kind.ITEM)
        for sentence in sentences_of(block)
    ]
    for sentence in sentences[:_MOST_SENTENCES]:
        kind = _stated(sentence)
        if kind is not None:
            text = as_statement(sentence)
            yield Finding(kind, text, _SURE[kind], turn.started, turn.entry_id(), files_named(text, files))


def _stated(sentence: str) -> FactKind | None:
    """Return the kind of fact that a person's sentence states, None if it states none that stands alone."""
    if not _SHORTEST <= len(sentence) <= _LONGEST or sentence.endswith((":", "\uff1a")):
        return None
    masked = _quoted().sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))
    kind = next((kind for kind, form in factwords.SAID_BY_A_PERSON.items() if _re(form).search(masked)), None)
    if kind is None or _re(factwords.NOT_A_FACT).search(masked) or _re(factwords.DEICTIC).search(masked):
        return None
    if _re(cue_patterns.CODE).search(masked) or len(_WORD.findall(sentence)) < _FEWEST_WORDS:
        return None
    return kind


def _of_answer(turn: Turn, files: Sequence[str]) -> Iterator[Finding]:
    """Yield decisions and issues that an answer states, and a fix that was carried out."""
    cues = find_cues(human_text(turn.answer))
    for cue in cues:
        kind, confidence = _OF_AN_ANSWER.get(cue.type, (None, 0.0))
        if kind is not None and not _re(factwords.DEICTIC).search(mask_code(cue.text)):
            text = as_statement(cue.text)
            yield Finding(kind, text, confidence, turn.ended, turn.entry_id(), files_named(text, files))
    if files and (solution := _solution(human_text(turn.answer), cues)):
        inside = tuple(filter(_is_inside, files))[:MAX_FILES]
        confidence = _FIX if any(not failure.fixed_by for failure in turn.failures) else _TESTED_FIX
        yield Finding(FactKind.SOLUTION, solution, confidence, turn.ended, turn.entry_id(), inside)


def _solution(answer: str, cues: Sequence[Cue]) -> str:
    """Return the error and its fix if an answer states both, else ""."""
    fix = next((cue.text for cue in cues if cue.type is MemoryType.ERROR_FIX and "`" in cue.text), "")
    if not fix:
        return ""
    wrong = next((cue.text for cue in cues if cue.type is MemoryType.LEARNING), "")
    if not wrong:
        sentences = (sentence for block in blocks(answer) for sentence in sentences_of(block))
        labelled = (_re(factwords.WRONG).sub("", one, count=1) for one in sentences if _re(factwords.WRONG).match(one))
        wrong = next((one for one in labelled if len(list(keywords(one))) >= _FEWEST_KEYWORDS), "")
    shared = {stem for stem, _ in keywords(wrong)} & {stem for stem, _ in keywords(fix)}
    return f"{as_statement(shorten(wrong, _PROBLEM))}\n\n**How:** {as_statement(fix)}" if shared else ""


@cache
def _quoted() -> re.Pattern[str]:
    return re.compile(r"\"[^\"\n]{1,300}\"|[\u201c\u300c][^\u201d\u300d\n]{1,300}[\u201d\u300d]")


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
