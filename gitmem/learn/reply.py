"""Check a model's answer about a session, claim by claim: what it says must stand in the record (spec U7). Pure.

An attacker writes what the agent reads: a file, a web page, the output of a command. So rules, preferences and
decisions rest on words of the person or of the agent, not of tools; what the agent quotes, in a block or in quotation
marks, is not its own; and what a tool's output says is no rule unless the person said it too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from gitmem.document.message import one_line
from gitmem.learn.question import (
    AGENT,
    CHANGED,
    CONFIRMS,
    KINDS,
    MENDED,
    NEW,
    PERSON,
    REPLACES,
    RESOLVES,
    TOOL,
    KnownMemory,
    SaidPart,
)
from gitmem.model.compare import may_concern, says_the_same, stems_of
from gitmem.model.fact import FactKind
from gitmem.redact.redact import redact
from gitmem.text.sentences import split
from gitmem.values import Value

T = TypeVar("T")


_FEWEST_WORDS, _MOST_WORDS = 5, 40  # of a quotation
_LETTERS_OF_A_WORD = 2  # of a script without blanks
_SHORTEST, _LONGEST = 12, 400  # characters of a statement
_MOST = {"facts": 12, "mends": 5, "episodes": 3, "concepts": 6, "open": 12}
_LINE, _NAME, _SUMMARY = 300, 80, 1_500  # characters
_ACTED_ON = ("decision", "rule", "preference")
_OWN_SHARE, _ANY_SHARE = 1 / 2, 1 / 3  # of the stems of a rule or the like, and of another text, in own words
_ECHO_SHARE, _FEWEST_ECHOED = 0.7, 3  # of its stems in one line of a tool's output
_NAMED_SHARE = 2 / 3  # of the names in a mend
_OUTPUT_CHARACTERS = 4_000_000  # of tools that are compared
_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_SAID_BY_OTHERS = re.compile(r"[\"“”「『](?=[^\"“”」』\n]*\s[^\"“”」』\n]*\s)[^\"“”」』\n]{12,600}[\"“”」』]")
_MARKUP = str.maketrans({"*": "", "`": "", "“": '"', "”": '"', "‘": "'", "’": "'"})  # noqa: RUF001  # typographic
_REDACTED = "[REDACTED:"  # begins what stands for a secret
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힣]")
# ASCII, as a Korean particle follows a name without a blank.
_CODE_NAME = re.compile(r"[\w@./:=+-]*[\w/][._/:=@-][\w@./:=+-]*\w|--?\w[\w-]+|\w*\d\w*", re.ASCII)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


class Claim(Value):
    """A fact that passed. `request` is the number of the request that it quotes, `who` whose words those are.

    `known` names a fact of the question that it replaces, confirms or resolves, "" for none.
    """

    kind: FactKind
    statement: str
    reason: str
    request: int
    who: str
    relation: str = NEW
    known: str = ""


class Mend(Value):
    """An error that was mended, with its cause."""

    error: str
    cause: str
    mend: str
    request: int


class JudgedTask(Value):
    """A finished task: an episode in the words of a model."""

    task: str
    tried: str
    solution: str
    outcome: str
    requests: tuple[int, ...]


class Subject(Value):
    """A concept of the session: a name, or one that is known, and its requests."""

    name: str
    known: str
    requests: tuple[int, ...]


class Judged(Value):
    """What passed of the answers about a session, and how many claims were refused, by reason."""

    facts: tuple[Claim, ...] = ()
    mends: tuple[Mend, ...] = ()
    tasks: tuple[JudgedTask, ...] = ()
    subjects: tuple[Subject, ...] = ()
    open: tuple[str, ...] = ()
    summary: str = ""
    refused: Mapping[str, int] = {}  # never changed

    @property
    def kept(self) -> int:
        """Return the number of facts and mends that passed."""
        return len(self.facts) + len(self.mends)

    def joined(self, later: Judged) -> Judged:
        """Return what this window and a later one say, without what the later one replaces or says again."""
        again = {claim.known for claim in later.facts if claim.known.startswith("S") and claim.relation == REPLACES}
        facts = [fact for number, fact in enumerate(self.facts, 1) if f"S{number}" not in again]
        facts += [
            claim if not claim.known.startswith("S") else claim._replace(relation=NEW, known="")
            for claim in later.facts
            if claim.relation != CONFIRMS or not claim.known.startswith("S")
        ]
        return Judged(
            tuple(facts),
            (*self.mends, *later.mends),
            (*self.tasks, *later.tasks),
            (*self.subjects, *later.subjects),
            later.open,
            " ".join(filter(None, (self.summary, later.summary))),
            Counter(self.refused) + Counter(later.refused),
        )


class _RefusedError(ValueError):
    """A claim fails a check; the message is the reason in a word."""


class Reader:
    """Reads answers about one window of a session. `outputs` are the texts of tools in the whole session."""

    def __init__(
        self,
        window: Sequence[SaidPart],
        known: KnownMemory,
        found: Mapping[str, str],
        outputs: Iterable[str] = (),
        allow: Sequence[str] = (),
    ) -> None:
        self._parts = [(part, _folded(_own(part)), _folded(part.text)) for part in window]
        self._requests = {part.request for part in window}
        self._known = {name: fact.description for name, fact in known.names().items()} | dict(found)
        self._issues = {name for name, fact in known.names().items() if fact.kind is FactKind.ISSUE}
        self._concepts = {f"C{number}" for number in range(1, len(known.concepts) + 1)}
        self._person = " ".join(own for part, own, _ in self._parts if part.who == PERSON)
        self._own = " ".join(own for part, own, _ in self._parts if part.who != TOOL)
        self._all = " ".join(text for *_, text in self._parts)
        done = (text for part, _, text in self._parts if part.text.startswith((MENDED, CHANGED)))
        self._done = " ".join((self._own, *done))
        self._lines = _lines((*outputs, *(part.text for part in window if part.who == TOOL)))
        self._allow = allow

    def read(self, given: Mapping[str, object]) -> Judged:
        """Return what passes of an answer that fits the schema."""
        refused: Counter[str] = Counter()
        facts: list[Claim] = []
        for claim in self._passing(given, "facts", self._fact, refused):
            if any(one.kind == claim.kind and says_the_same(one.statement, claim.statement) for one in facts):
                refused["twice"] += 1
            else:
                facts.append(claim)
        return Judged(
            tuple(facts),
            tuple(self._passing(given, "mends", self._mend, refused)),
            tuple(self._passing(given, "episodes", self._task, refused)),
            tuple(self._passing(given, "concepts", self._subject, refused)),
            tuple(self._passing(given, "open", self._line, refused)),
            self._summary(given.get("summary")),
            +refused,
        )

    def _passing(
        self, given: Mapping[str, object], name: str, read: Callable[[Any], T], refused: Counter[str]
    ) -> Iterator[T]:
        """Yield what passes of the items with a name, and count the others by reason."""
        items = given.get(name)
        given_items = items if isinstance(items, list) else []
        refused["too many"] += max(len(given_items) - _MOST[name], 0)
        for item in given_items[: _MOST[name]]:
            try:
                yield read(item)
            except _RefusedError as why:
                refused[str(why)] += 1

    def _fact(self, item: Mapping[str, object]) -> Claim:
        kind, relation, known = (str(item[key]) for key in ("kind", "relation", "known"))
        statement, reason = self._statement(item["statement"]), self._text(item["reason"], _LONGEST)
        is_acted_on = kind in _ACTED_ON
        request, who = self._evidence(item, own=is_acted_on)
        known = known.strip().strip("^[]") if relation != NEW else ""
        if known and known not in self._known:
            raise _RefusedError("unknown id")
        least = _OWN_SHARE if is_acted_on else _ANY_SHARE
        if _share(statement, self._own) < least and not self._changes(statement, known, str(item["quote"])):
            raise _RefusedError("unsupported")
        if is_acted_on and self._echoes(statement):
            raise _RefusedError("tool's words")
        if relation != NEW:
            if relation == RESOLVES and known not in self._issues:
                raise _RefusedError("no issue")
            if not may_concern(self._known[known], statement):
                raise _RefusedError("other subject")
        return Claim(KINDS[kind], statement, reason, request, who, relation, known)

    def _mend(self, item: Mapping[str, object]) -> Mend:
        error, cause, mend = (self._text(item[key], _LONGEST) for key in ("error", "cause", "mend"))
        request, _ = self._evidence(item, own=False)
        names = set(_CODE_NAME.findall(_folded(mend)))
        if not error or not mend:
            raise _RefusedError("length")
        is_named = sum(name in self._done for name in names) >= _NAMED_SHARE * len(names)
        if not is_named or _share(mend, self._done) < _ANY_SHARE:
            raise _RefusedError("unsupported")
        return Mend(error, cause, mend, request)

    def _task(self, item: Mapping[str, object]) -> JudgedTask:
        task, tried, solution = (self._text(item[key], _LONGEST) for key in ("task", "tried", "solution"))
        if not task or not solution:
            raise _RefusedError("length")
        if _share(f"{task} {solution}", self._own) < _ANY_SHARE:
            raise _RefusedError("unsupported")
        return JudgedTask(task, tried, solution, str(item["outcome"]), self._numbers(item))

    def _subject(self, item: Mapping[str, object]) -> Subject:
        name, known = self._text(item["name"], _NAME), str(item["known"]).strip()
        if known and known not in self._concepts:
            raise _RefusedError("unknown id")
        if not name and not known:
            raise _RefusedError("length")
        if not known and not _share(name, self._all):
            raise _RefusedError("unsupported")
        return Subject(name, known, self._numbers(item))

    def _numbers(self, item: Mapping[str, object]) -> tuple[int, ...]:
        given = item["requests"]
        numbers = tuple(dict.fromkeys(one for one in given if isinstance(one, int))) if isinstance(given, list) else ()
        if not numbers or not self._requests.issuperset(numbers):
            raise _RefusedError("unknown request")
        return numbers

    def _statement(self, given: object) -> str:
        text = self._text(given, _LONGEST)
        if len(text) < _SHORTEST or text.endswith("?") or not stems_of(text):
            raise _RefusedError("length")
        return text

    def _line(self, given: object) -> str:
        text = self._text(given, _LINE)
        if _share(text, self._own) < _ANY_SHARE:
            raise _RefusedError("unsupported")
        return text

    def _text(self, given: object, most: int) -> str:
        """Return a text on one line; one that is too long or holds a secret is refused."""
        text = one_line(str(given), most + 1)
        if len(text) > most:
            raise _RefusedError("length")
        if _REDACTED in text or redact(text, allow=self._allow).text != text:
            raise _RefusedError("secret")
        return text

    def _summary(self, given: object) -> str:
        """Return the sentences for the next start, redacted, without those that no person or agent said like that."""
        text = redact(one_line(str(given or ""), _SUMMARY), allow=self._allow).text
        return " ".join(one for one in split(text) if _share(one, self._own) >= _ANY_SHARE)

    def _evidence(self, item: Mapping[str, object], *, own: bool) -> tuple[int, str]:
        """Return where a quotation stands and whose words it is; the person's before the agent's before a tool's.

        Raises _RefusedError if it is too short or too long, stands nowhere, or `own` words are asked for and it is a
        tool's.
        """
        if item["request"] not in self._requests:
            raise _RefusedError("unknown request")
        quote = _folded(str(item["quote"])).strip(" .…\"'")
        found = [
            (part.request != item["request"], (PERSON, AGENT, TOOL).index(part.who), part.request, is_own, text)
            for part, own_text, text in self._parts
            if quote and ((is_own := quote in own_text) or quote in text)
        ]
        if not found:
            raise _RefusedError("quotation")
        usable = [one for one in found if not own or (one[3] and one[1] < 2)]  # noqa: PLR2004  # not a tool's
        if not usable:
            raise _RefusedError("tool's words")
        _, who, request, _, text = min(usable)
        words = _words(quote)
        if words > _MOST_WORDS or (words < _FEWEST_WORDS and not (who == 0 and _words(text) < _FEWEST_WORDS + 2)):
            raise _RefusedError("length")
        if own and who == 1 and any(quote in line for line in self._lines):
            raise _RefusedError("tool's words")
        return request, (PERSON, AGENT, TOOL)[who]

    def _changes(self, statement: str, known: str, quote: str) -> bool:
        """Return whether what a statement says beside a known fact, which may name its subject alone, is own words.

        The quotation has to say some of it: what only denies a known fact says nothing beside it.
        """
        new = _points(statement) - _points(self._known.get(known, statement))
        return _part(new, _folded(quote)) > 0 and _part(new, self._own) >= _OWN_SHARE

    def _echoes(self, statement: str) -> bool:
        """Return whether a tool's output says a statement in a line, and the person says nothing like it."""
        stems = stems_of(statement)
        if _share(statement, self._person) >= _OWN_SHARE:
            return False
        most = max(_FEWEST_ECHOED, _ECHO_SHARE * len(stems))
        return any(sum(stem in line for stem in stems) >= most for line in self._lines)


def _own(part: SaidPart) -> str:
    """Return a text without what its author quotes: blocks, lines with `>`; of an agent, also quoted sentences."""
    text = _QUOTED_LINE.sub("", _BLOCK.sub("", part.text))
    return _SAID_BY_OTHERS.sub("", text) if part.who == AGENT else text


def _folded(text: str) -> str:
    return " ".join(text.translate(_MARKUP).casefold().split())


def _lines(outputs: Iterable[str]) -> list[str]:
    """Return the lines of tools' outputs, folded, each with the one after it, as sentences are broken there."""
    lines: list[str] = []
    size = 0
    for output in outputs:
        size += len(output)
        if size > _OUTPUT_CHARACTERS:
            break
        folded = [line for line in map(_folded, output.splitlines()) if line]
        lines += [" ".join(pair) for pair in zip_longest(folded, folded[1:], fillvalue="")]
    return list(dict.fromkeys(lines))


def _words(text: str) -> int:
    """Return the number of words, where two letters of a script without blanks, or with long words, count as one."""
    wide = len(_WIDE.findall(text))
    return max(len(text.split()), wide // _LETTERS_OF_A_WORD)


def _points(text: str) -> frozenset[str]:
    """Return the stems and the numbers of a text."""
    return stems_of(text) | {*_NUMBER.findall(text)}


def _share(text: str, among: str) -> float:
    return _part(_points(text), among)


def _part(points: frozenset[str], among: str) -> float:
    """Return the share of stems and numbers that stand among folded words."""
    numbers = {*_NUMBER.findall(among)}
    stand = sum(point in (numbers if _NUMBER.fullmatch(point) else among) for point in points)
    return stand / len(points) if points else 0.0
