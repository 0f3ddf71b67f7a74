"""Facts in a session (spec V4): what the person states as standing, and what the person chooses among options.

Sentences of the agent are no facts: what it decides it saves itself. Precision before recall: most sessions
have no facts, and a wrong one is worse than none.
"""

from __future__ import annotations

import re

from gitmem.model.fact.compare import stems_of
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.picks import picks_of
from gitmem.model.fact.statements import statements_of, with_reason, without_opening
from gitmem.model.session.cues.cues import MENDED, is_resolved
from gitmem.model.session.entries import relative_files
from gitmem.model.session.noise import human_text, is_restated
from gitmem.text.keywords import keywords
from gitmem.text.sentences import blocks, is_korean, sentences_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from gitmem.model.session.turns import Turn

MAX_FILES = 5
MAX_KEYWORDS = 8
_SURE = 0.9  # the confidence of what a person says
_FEWEST_NAMED = 2  # files and numbers that an issue and a mended failure share
_NUMBER = re.compile(r"(?<![\w.])[0-9]{3,}(?![\w.]*[0-9])")
_FEWEST_MENDED = 3  # words of an issue that its fix has
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
    answers: dict[str, str] = {}  # the last one of each session
    for turn in turns:
        files = relative_files(turn.files, (*roots, turn.cwd))
        for finding in facts_of_prompt(turn, answers.get(turn.session, ""), files):
            if not is_restated(finding.text, boot_lines):
                found.setdefault((finding.kind, finding.text.casefold()), finding)
        answers[turn.session] = turn.answer
    return list(found.values())


def facts_of_prompt(turn: Turn, answer_before: str, files: Sequence[str]) -> Iterator[Finding]:
    """Yield the facts that a person states, and the options of the last answer that the person picks."""
    prompt = human_text(turn.prompt)
    said = [(FactKind.DECISION, one.text, one.why) for one in picks_of(prompt, answer_before)]
    said += [(one.kind, one.text, one.why) for one in statements_of(prompt)]
    for kind, told, why in said:
        text = with_reason(as_statement(told), as_statement(why) if why else "")
        yield Finding(kind, text, _SURE, turn.started, turn.exchange_id, files_named(text, files))


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
    """Return the fixes that the answers of a session report, which end open issues."""
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
    text = without_opening(" ".join(text.split())).rstrip(" .,;:!…")
    if not is_korean(text):  # whose first word in Latin letters is a name
        text = text[:1].upper() + text[1:]
    return text if text.endswith(("?", "。")) else f"{text}."


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a session that a text names, by name or by path."""
    named = dict.fromkeys(match[0] for match in _FILE_NAME.finditer(text))
    found = [file for name in named for file in files if file == name or file.endswith(f"/{name}") if _is_inside(file)]
    return tuple(dict.fromkeys(found))[:MAX_FILES]


def _is_inside(file: str) -> bool:
    return not file.startswith(("/", "~", "../")) and file[1:2] != ":"
