"""Facts in a session (spec V4): rules, preferences, decisions, core logic, fixes, commands.

Without a model, and with precision before recall: most sessions have no facts, and a wrong one is worse than none.
Sources are a person's lasting statements, decisions and open issues of answers, fixes with their problem, and commands
for tests and the like that worked more than once.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.commands import command_facts
from gitmem.model.fact.compare import stems_of
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.said import cues as factwords
from gitmem.model.fact.said.picks import is_pick, picks_of
from gitmem.model.fact.said.proposals import accepted_proposals
from gitmem.model.fact.said.reason import with_reason
from gitmem.model.fact.said.statements import points_elsewhere, statements_of
from gitmem.model.session.cues import patterns
from gitmem.model.session.cues.cues import MENDED, find_cues, is_resolved
from gitmem.model.session.entries import relative_files
from gitmem.model.session.noise import human_text, is_restated
from gitmem.text.keywords import keywords
from gitmem.text.sentences import Kind, blocks, is_korean, mask_code, sentences_of, shorten
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from gitmem.model.session.cues.cues import Cue
    from gitmem.model.session.turns import Turn

MAX_FILES = 5
MAX_KEYWORDS = 8
_FEWEST_KEYWORDS = 2  # of the description of an error
_PROBLEM = 240  # characters
_LONGEST = 300  # characters of a sentence
_MOST_STEPS = 3  # sentences that say how a problem was solved
_FEWEST_NAMED = 2  # files and numbers that an issue and a mended failure share
_NUMBER = re.compile(r"(?<![\w.])[0-9]{3,}(?![\w.]*[0-9])")
_FEWEST_MENDED = 3  # words of an issue that its fix has
_OF_AN_ANSWER = {MemoryType.DECISION: (FactKind.DECISION, 0.6), MemoryType.ISSUE: (FactKind.ISSUE, 0.6)}
_PICKED = 0.9
_TOLD = 0.6
_FIX, _TESTED_FIX = 0.5, 0.7
_COMMAND = 0.8
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
    for index, turn in enumerate(turns):
        files = relative_files(turn.files, (*roots, turn.cwd))
        before = _neighbour(turns, turn, range(index - 1, -1, -1))
        after = _neighbour(turns, turn, range(index + 1, len(turns)))
        of_prompt = facts_of_prompt(turn, before.answer if before else "", files)
        for finding in (*of_prompt, *_of_answer(turn, human_text(after.prompt) if after else "", files)):
            if not is_restated(finding.text, boot_lines):
                found.setdefault((finding.kind, finding.text.casefold()), finding)
    for command in command_facts(turns):
        turn = turns[command.turn]
        found[FactKind.PATTERN, command.text] = Finding(
            FactKind.PATTERN, command.text, _COMMAND, turn.ended, turn.exchange_id
        )
    return list(found.values())


class Fix(Value):
    """A fix that an answer reports; `named` are files and numbers of the command that failed before and then worked."""

    text: str
    at: datetime
    about: frozenset[str]
    named: frozenset[str] = frozenset()

    def mends(self, issue: str) -> bool:
        """Return whether the fix has most of the words of an issue, or its failure the same file and number."""
        words = stems_of(issue)
        shares_words = len(words & self.about) >= max(MENDED * len(words), _FEWEST_MENDED)
        return shares_words or len(_named(issue) & self.named) >= _FEWEST_NAMED


def find_fixes(turns: Sequence[Turn]) -> list[Fix]:
    """Return the fixes that the answers of a session report."""
    return [fix for turn in turns for fix in _fixes_of(turn)]


def _fixes_of(turn: Turn) -> Iterator[Fix]:
    """Yield the fixes that an answer reports, and one for each mended failure, with the words of its error."""
    sentences = [sentence for block in blocks(human_text(turn.answer)) for sentence in sentences_of(block)]
    fixed = [sentence for sentence in sentences if is_resolved(sentence)]
    for sentence in fixed:
        yield Fix(as_statement(sentence), turn.ended, stems_of(sentence))
    for failure in turn.failures:
        if fixed and failure.fixed_by:
            wrong = f"{failure.command} {failure.error}"
            yield Fix(as_statement(fixed[0]), turn.ended, stems_of(wrong), _named(wrong))


def _named(text: str) -> frozenset[str]:
    """Return the files that a text names, and its numbers of three digits or more: a port, an error code."""
    return frozenset((*(match[0] for match in _FILE_NAME.finditer(text)), *_NUMBER.findall(text)))


def fact_keywords(text: str) -> tuple[str, ...]:
    """Return the keywords of a fact, each stem once, in order."""
    shown: dict[str, str] = {}
    for stem, word in keywords(text):
        shown.setdefault(stem, word.strip("._/-").casefold())
    return tuple(filter(None, dict.fromkeys(shown.values())))[:MAX_KEYWORDS]


def as_statement(text: str) -> str:
    """Return a sentence normalised as a fact's text, so that variants of its writing make one fact."""
    text = _re(f"^{factwords.OPENING}").sub("", " ".join(text.split()), count=1)
    text = text.rstrip(" .,;:!…")
    if not is_korean(text):  # whose first word in Latin letters is a name
        text = text[:1].upper() + text[1:]
    return text if text.endswith(("?", "。")) else f"{text}."


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a session that a text names, by name or by path."""
    named = dict.fromkeys(match[0] for match in _FILE_NAME.finditer(text))
    found = [file for name in named for file in files if file == name or file.endswith(f"/{name}") if _is_inside(file)]
    return tuple(dict.fromkeys(found))[:MAX_FILES]


def _neighbour(turns: Sequence[Turn], turn: Turn, order: Iterable[int]) -> Turn | None:
    """Return the nearest turn of the same session in an order of indexes, None if there is none."""
    return next((turns[index] for index in order if turns[index].session == turn.session), None)


def _is_inside(file: str) -> bool:
    return not file.startswith(("/", "~", "../")) and file[1:2] != ":"


def facts_of_prompt(turn: Turn, answer_before: str, files: Sequence[str]) -> Iterator[Finding]:
    """Yield the facts that a person states, and the options of the last answer that the person picks."""
    prompt, entry = human_text(turn.prompt), turn.exchange_id
    for picked in picks_of(prompt, answer_before):
        text = with_reason(as_statement(picked.text), as_statement(picked.why) if picked.why else "")
        yield Finding(FactKind.DECISION, text, _PICKED, turn.started, entry, files_named(text, files))
    for said in statements_of(prompt, turn.answer):
        if is_pick(said.text) and is_korean(said.text):
            continue
        text = with_reason(as_statement(said.text), as_statement(said.why) if said.why else "")
        yield Finding(said.kind, text, said.confidence, turn.started, entry, files_named(text, files))


def _of_answer(turn: Turn, after: str, files: Sequence[str]) -> Iterator[Finding]:
    """Yield decisions and issues of an answer, its proposals that `after` accepts, and a fix carried out."""
    cues = find_cues(human_text(turn.answer))
    for cue in cues:
        kind, confidence = _OF_AN_ANSWER.get(cue.type, (None, 0.0))
        if kind is not None and _is_understood(cue.text):
            text = as_statement(cue.text)
            yield Finding(kind, text, confidence, turn.ended, turn.exchange_id, files_named(text, files))
    yield from _of_mid_turn(turn, files)
    for lasting in (*_warnings(turn.answer), *_changes(turn.answer)):
        text = as_statement(lasting)
        yield Finding(FactKind.CORE_LOGIC, text, _TOLD, turn.ended, turn.exchange_id, files_named(text, files))
    for proposal in accepted_proposals(turn, after):
        text = as_statement(proposal.text)
        yield Finding(proposal.kind, text, proposal.confidence, turn.ended, turn.exchange_id, files_named(text, files))
    if mended := _mended(turn, after):
        yield Finding(FactKind.SOLUTION, mended, _TESTED_FIX, turn.ended, turn.exchange_id, files_named(mended, files))
    elif files and (solution := _solution(human_text(turn.answer), cues)):
        inside = tuple(filter(_is_inside, files))[:MAX_FILES]
        confidence = _FIX if any(not failure.fixed_by for failure in turn.failures) else _TESTED_FIX
        yield Finding(FactKind.SOLUTION, solution, confidence, turn.ended, turn.exchange_id, inside)


def _of_mid_turn(turn: Turn, files: Sequence[str]) -> Iterator[Finding]:
    """Yield the decisions that an agent states between its tool calls; its problems there are being worked on."""
    for said in turn.said:
        for cue in find_cues(human_text(said)):
            if cue.type is MemoryType.DECISION and _is_understood(cue.text):
                text = as_statement(cue.text)
                yield Finding(FactKind.DECISION, text, _TOLD, turn.ended, turn.exchange_id, files_named(text, files))


def _is_understood(sentence: str) -> bool:
    """Return whether a sentence is understood without those around it."""
    masked = mask_code(sentence)
    return not points_elsewhere(masked) and not _re(factwords.LEANS_BACK).match(masked)


def _warnings(answer: str) -> Iterator[str]:
    """Yield the warnings of an answer ("One thing to watch: ..."), without the label."""
    for block in blocks(human_text(answer)):
        for sentence in sentences_of(block):
            label = _re(factwords.WARNED).match(sentence)
            warning = sentence[label.end() :] if label else ""
            if warning and not warning.endswith(("?", ":")) and len(list(keywords(warning))) >= _FEWEST_KEYWORDS:
                yield warning


def _changes(answer: str) -> Iterator[str]:
    """Yield the statements of change in an answer ("X is now Y instead of Z")."""
    for block in blocks(human_text(answer)):
        for sentence in sentences_of(block) if block.kind in (Kind.PARAGRAPH, Kind.ITEM) else ():
            masked = mask_code(sentence)
            changed = len(sentence) <= _LONGEST and _re(factwords.CHANGED).search(masked)
            certain = changed and not sentence.endswith(("?", ":")) and not _re(patterns.UNSURE).search(masked)
            if certain and _is_understood(sentence):
                yield sentence


def _mended(turn: Turn, after: str) -> str:
    """Return the problem of a prompt and the answer's solution, "" unless the next prompt confirms it."""
    if not _re(factwords.MENDED).match(after):
        return ""
    wrong = shorten(human_text(turn.prompt), _PROBLEM)
    sentences = [sentence for block in blocks(human_text(turn.answer)) for sentence in sentences_of(block)]
    steps = [sentence.rstrip(":") for sentence in sentences if _re(factwords.HOW).search(mask_code(sentence))]
    if not steps or len(list(keywords(wrong))) < _FEWEST_KEYWORDS:
        return ""
    return f"{as_statement(wrong)}\n\n**How:** {' '.join(map(as_statement, steps[:_MOST_STEPS]))}"


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
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
