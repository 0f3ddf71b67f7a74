"""Check a model's answer about a session, claim by claim, against the record. Pure.

An attacker may write what the agent reads: a file, a web page, the output of a command. So a rule, preference or
decision must quote the user or the agent, not a tool. Words of the agent that repeat an earlier tool output do not
count, unless the user said them too.

A rule, preference or decision that adds little to its quotation is kept in the quoted words, so that no claim can
contradict them. If the relation to a known fact fails a check, the claim is kept as new and the pair waits for a
verdict. If the new statement of a replaced fact fails a check, the quoted words are used instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gitmem.document.message import one_line
from gitmem.learn.evidence import (
    LONGEST,
    REDACTED,
    AgentOutput,
    Evidence,
    RefusedError,
    WindowRecord,
    all_points,
    as_quoted,
    code_names,
    folded,
    is_contrary,
    is_statement,
    with_replaced_fact,
)
from gitmem.learn.question import AGENT, KINDS, LASTS, STATES, USER, EndReason, KnownMemory, PairDecision, RecordPart
from gitmem.learn.reply import Claim, Ending, Fix, Judged, RequestResult, Verdict, is_earlier
from gitmem.model.exchange import with_left
from gitmem.model.fact import FactKind
from gitmem.model.outcome import Outcome
from gitmem.model.similarity import (
    ANY_WORDS,
    NAMED,
    OWN_WORDS,
    QUOTED,
    is_negated,
    may_concern,
    part_of,
    points_of,
    repeats,
    says_the_same,
    share,
    words_of,
)
from gitmem.redact.redact import redact
from gitmem.text.numbers import numbers_of
from gitmem.values import Value

T = TypeVar("T")
_Stated = tuple[str, FactKind]  # a claim in the model's words, and its kind

_MOST = {"ended": 12, "pairs": 6, "facts": 12, "mends": 5, "requests": 200}
_MOST_NAMES, _MOST_FORBIDDEN = 12, 6
_SENTENCE, _LEFT, _TOPIC, _UNTIL, _LITERAL = 400, 160, 80, 80, 120  # characters
_ACTED_ON = ("decision", "rule", "preference")
_NAME = re.compile(r"\W*([FSWC]\d+)\b")  # names a fact, an earlier window's claim, a pair or a topic


class _Ended(Value):
    """An item of `ended`: its known names, why they ended, what is in force now; `raw` is the item as answered."""

    known: tuple[str, ...]
    why: EndReason
    now: str
    raw: Mapping[str, object]


class AnswerChecker:
    """Reads answers about one window of a session.

    `outputs` is what the agent and its tools said in the whole session; None if the tools' output is unknown; then
    words of the agent make no rule, decision or preference.
    """

    def __init__(
        self,
        window: Sequence[RecordPart],
        known: KnownMemory,
        earlier: Mapping[str, str],
        outputs: Sequence[AgentOutput] | None = (),
        allow: Sequence[str] = (),
    ) -> None:
        self._record = WindowRecord(window, outputs)
        self._known = {name: fact.description for name, fact in known.names().items()} | dict(earlier)
        self._kinds = {name: fact.kind for name, fact in known.names().items()}
        self._passing_facts = {name for name, fact in known.names().items() if fact.until}
        self._topics, self._pairs = set(known.topics()), set(known.waiting())
        self._allow = allow

    def read(self, answer: Mapping[str, object]) -> Judged:
        """Return the parts of a schema-conforming answer that pass the checks."""
        refused: Counter[str] = Counter()
        listed: Any = answer.get("facts") or ()
        ended = [*self._passing(answer, "ended", lambda item: self._ended(item, listed), refused)]
        stated: dict[_Stated, Claim] = {}
        for statement, claim in self._passing(answer, "facts", lambda item: self._fact(item, ended), refused):
            same = (claim_before for claim_before in stated.values() if claim_before.kind == claim.kind)
            if any(says_the_same(claim_before.statement, claim.statement) for claim_before in same):
                refused["twice"] += 1
            else:
                stated[statement, claim.kind] = claim
        endings = [*self._end(stated, ended, refused)]
        return Judged(
            tuple(stated.values()),
            tuple(endings),
            tuple(self._passing(answer, "pairs", self._verdict, refused)),
            tuple(self._passing(answer, "mends", self._fix, refused)),
            tuple(
                {result.request: result for result in self._passing(answer, "requests", self._result, refused)}.values()
            ),
            +refused,
        )

    def _passing(
        self, answer: Mapping[str, object], name: str, read: Callable[[Any], T], refused: Counter[str]
    ) -> Iterator[T]:
        """Yield the items of a list of the answer that pass, and count the refused ones by reason."""
        items = answer.get(name)
        listed = items if isinstance(items, list) else []
        refused["too many"] += max(len(listed) - _MOST[name], 0)
        for item in listed[: _MOST[name]]:
            try:
                yield read(item)
            except RefusedError as why:
                refused[str(why)] += 1

    def _ended(self, item: Mapping[str, object], facts: Iterable[Mapping[str, object]]) -> _Ended:
        """Return an item of `ended`, checked by itself.

        A fact dropped by the same quotation that supports a fact of the answer was replaced by that fact.
        """
        known = tuple(name for name in _names(item["known"])[:_MOST_NAMES] if name in self._known)
        if not known:
            raise RefusedError("unknown id")
        now = self._text(item["now"], LONGEST)
        why = EndReason(str(item["why"]))
        if why is EndReason.DROPPED and not now:
            same = (fact for fact in facts if all(fact.get(key) == item[key] for key in ("request", "quote")))
            now = next((str(fact["statement"]) for fact in same if self._concerns(known, str(fact["statement"]))), "")
            why = EndReason.REPLACED if now else why
        return _Ended(known, why if now or why is not EndReason.REPLACED else EndReason.DROPPED, now, item)

    def _concerns(self, names: Iterable[str], statement: str) -> bool:
        return any(words_of(self._known[name]) & words_of(statement) for name in names)

    def _fact(self, item: Mapping[str, object], ended: Iterable[_Ended] = ()) -> tuple[str, Claim]:
        """Return the model's statement and the claim made of it."""
        kind = str(item["kind"])
        if item["lasts"] != LASTS:
            raise RefusedError("one task")
        worded, reason = self._statement(item["statement"]), self._text(item["reason"], LONGEST)
        replaced = [name for ending in ended if _is_same_claim(ending.now, worded) for name in ending.known]
        statement, evidence = self._claimed(kind, worded, replaced, item)
        known = tuple(name for name in _names(item["known"]) if name in self._known and name not in replaced)
        return worded, Claim(
            KINDS[kind],
            statement,
            reason,
            evidence.request,
            evidence.who,
            one_line(self._text(item["until"], _UNTIL), _UNTIL) if share(str(item["until"]), self._record.own) else "",
            tuple(self._forbidden(_strings(item["forbids"]))) if kind == "rule" else (),
            tuple(name for name in known if self._says_again(name, statement)),
        )

    def _claimed(
        self, kind: str, statement: str, replaced: Iterable[str], item: Mapping[str, object]
    ) -> tuple[str, Evidence]:
        """Return the text of a claim, in the user's words where they say as much, and its evidence.

        Raises RefusedError if it fails a check.
        """
        is_acted_on = kind in _ACTED_ON
        evidence = self._record.find(item, own=is_acted_on)
        before = " ".join(self._known[name] for name in replaced)
        least = OWN_WORDS if is_acted_on else ANY_WORDS
        if share(statement, self._record.own) < least and not self._rests_on(statement, before, evidence, item):
            raise RefusedError("unsupported")
        if is_acted_on and evidence.who == AGENT and self._record.echoes(statement, str(item["quote"])):
            raise RefusedError("tool's words")
        if before and evidence.who == USER and all_points(statement) <= all_points(before):
            raise RefusedError("nothing new")  # it only denies or repeats a known fact
        quoted = as_quoted(statement, evidence, before, self._record.own) if is_acted_on else ""
        if quoted and (text := self._text(quoted, LONGEST)):
            return text, evidence
        numbers, quoted_numbers = numbers_of(statement) - numbers_of(before), numbers_of(evidence.sentences)
        anywhere = f"{self._record.own if is_acted_on else self._record.whole} {before}"
        differ = is_acted_on and quoted_numbers and numbers and numbers.isdisjoint(quoted_numbers)
        if differ or any(number not in anywhere for number in numbers - numbers_of(anywhere) - {"1"}):
            raise RefusedError("number")
        return statement, evidence

    def _says_again(self, name: str, statement: str) -> bool:
        """Return whether a known fact says the same as a statement, judged by words, numbers and negation."""
        known = self._known[name]
        is_alike = may_concern(known, statement) and numbers_of(known) == numbers_of(statement)
        return is_alike and is_negated(known) == is_negated(statement)

    def _forbidden(self, literals: Iterable[str]) -> Iterator[str]:
        """Yield the literals that the user named."""
        for literal in [*literals][:_MOST_FORBIDDEN]:
            text = self._text(literal, _LITERAL)
            if len(text) > 1 and folded(text) in self._record.user:
                yield text

    def _end(self, stated: dict[_Stated, Claim], ended: Iterable[_Ended], refused: Counter[str]) -> Iterator[Ending]:
        """Set which facts claims replace, add claims found only in `ended`; yield endings without a successor."""
        for item in ended:
            for name in item.known:
                key = next((pair for pair in stated if _is_same_claim(item.now, pair[0])), None)
                try:
                    if self._ends(name, item, key):
                        yield self._ending(name, item)
                    else:
                        claim = stated[key] if key else self._successor(name, item)
                        stated[key or (item.now, claim.kind)] = self._replacing(claim, name, item)
                except RefusedError as why:
                    refused[str(why)] += 1

    def _ends(self, name: str, item: _Ended, key: _Stated | None) -> bool:
        """Return whether a known fact ends without a successor; a "done" one that is no issue waits for a verdict."""
        kind = self._kinds.get(name)
        if item.why is EndReason.REPLACED:
            return kind is FactKind.ISSUE and (key is None or key[1] is not kind)
        if item.why is EndReason.DROPPED or kind is FactKind.ISSUE or name in self._passing_facts or is_earlier(name):
            return True
        solved = any(self._kinds.get(name) is FactKind.ISSUE for name in item.known)  # solving it ends no other fact
        if solved or all_points(item.now) <= all_points(self._known[name]):
            raise RefusedError("no issue")
        return False

    def _successor(self, name: str, item: _Ended) -> Claim:
        """Return the claim that replaces a known fact, if only `ended` states it.

        If its statement fails a check, the quoted sentences are claimed instead.
        """
        kind = self._kinds.get(name, FactKind.CORE_LOGIC)
        asked = kind.value if kind.value in _ACTED_ON else "knowledge"
        try:
            statement, evidence = self._claimed(asked, self._statement(item.now), [name], item.raw)
        except RefusedError:
            evidence, before = self._quoted(item), self._known[name]
            if evidence.who != USER or self._may_be_tools(item.now, before):
                raise
            statement = self._statement(with_replaced_fact(evidence.sentences, before))
        return Claim(kind, statement, "", evidence.request, evidence.who)

    def _replacing(self, claim: Claim, name: str, item: _Ended) -> Claim:
        """Return a claim that replaces a known fact, or disputes it if the quotation does not show that."""
        try:
            is_shown = item.why is EndReason.REPLACED and self._is_about(name, self._quoted(item).request, item.now)
        except RefusedError:
            is_shown = False
        if is_shown or is_earlier(name):
            return claim._replace(replaces=(*claim.replaces, name))
        return claim._replace(disputes=(*claim.disputes, name))

    def _ending(self, name: str, item: _Ended) -> Ending:
        """Return the ending of a known fact without a successor. Raises RefusedError if the quotation fits another."""
        evidence = self._quoted(item)
        if not self._is_about(name, evidence.request, item.now):
            raise RefusedError("other subject")
        return Ending(name, item.why, item.now, evidence.request, evidence.who)

    def _quoted(self, item: _Ended) -> Evidence:
        """Return the evidence of an ending. Raises RefusedError if it has none, or repeats what a tool said."""
        evidence = self._record.find(item.raw, own=True)
        if evidence.who == AGENT and self._record.echoes(item.now or evidence.sentences, str(item.raw["quote"])):
            raise RefusedError("tool's words")
        return evidence

    def _is_about(self, name: str, request: int, now: str) -> bool:
        """Return whether a request, or the statement now in force, shares a word or number with a known fact."""
        known = self._known[name]
        return (
            bool(words_of(known) & words_of(f"{self._record.own_words_of(request)} {now}"))
            or part_of(all_points(known), f"{self._record.own_words_of(request)} {folded(now)}") > 0
        )

    def _verdict(self, item: Mapping[str, object]) -> Verdict:
        pair, keep = "".join(_names([item["pair"]])), PairDecision(str(item["keep"]))
        if pair not in self._pairs:
            raise RefusedError("unknown id")
        statement = self._statement(item["statement"]) if keep is PairDecision.MERGE else ""
        return Verdict(pair, keep, statement)

    def _fix(self, item: Mapping[str, object]) -> Fix:
        error, cause, fix = (self._text(item[key], LONGEST) for key in ("error", "cause", "mend"))
        request = self._record.find(item, own=False).request
        names = code_names(fix)
        if not error or not fix:
            raise RefusedError("length")
        is_named = sum(name in self._record.done for name in names) >= NAMED * len(names)
        if not is_named or share(fix, self._record.done) < ANY_WORDS:
            raise RefusedError("unsupported")
        return Fix(error, cause, fix, request)

    def _result(self, item: Mapping[str, object]) -> RequestResult:
        request, topic = item["request"], self._text(item["topic"], _TOPIC)
        sentence = self._text(item["sentence"], _SENTENCE)
        left = one_line(self._text(item.get("left", ""), LONGEST), _LEFT)
        left = left if points_of(left) else ""  # such as "none"
        if not isinstance(request, int) or request not in self._record.requests:
            raise RefusedError("unknown request")
        if any(share(text, self._record.whole) < ANY_WORDS for text in (sentence, left or sentence)):
            raise RefusedError("unsupported")
        if any(is_contrary(sentence, users) for users in self._record.users_sentences(request)):
            raise RefusedError("contrary")
        known = next((name for name in _names([topic]) if name in self._topics), "")
        topic = known or (topic if share(topic, self._record.whole) and not _NAME.fullmatch(topic) else "")
        outcome = STATES[str(item["state"])]
        outcome = Outcome.PARTIAL if left and outcome is Outcome.SUCCESS else outcome
        left = "" if repeats(left, sentence) else left
        return RequestResult(request, with_left(sentence, left), outcome, topic)

    def _statement(self, value: object) -> str:
        text = self._text(value, LONGEST)
        if not is_statement(text):
            raise RefusedError("length")
        return text

    def _text(self, value: object, most: int) -> str:
        """Return a text on one line. Raises RefusedError if it is too long or contains a secret."""
        text = one_line(str(value), most + 1)
        if len(text) > most:
            raise RefusedError("length")
        if REDACTED in text or redact(text, allow=self._allow).text != text:
            raise RefusedError("secret")
        return text

    def _rests_on(self, statement: str, before: str, evidence: Evidence, item: Mapping[str, object]) -> bool:
        """Return whether the quotation supports a statement, or what it adds to the facts `before` that it replaces."""
        quote = str(item["quote"])
        if before:
            return self._changes(statement, before, quote)
        return evidence.who == USER and share(statement, folded(quote)) >= QUOTED

    def _changes(self, statement: str, before: str, quote: str) -> bool:
        """Return whether what a statement adds to the facts it replaces was said by the user or the agent.

        The quotation must contain some of it, or the new number, or no tool may have said it. A statement that only
        denies a known fact adds nothing.
        """
        numbers = numbers_of(statement) - numbers_of(before)
        spelled = numbers & numbers_of(quote)  # "four spaces" says 4
        new = {point for point in points_of(statement) if not part_of((point,), folded(before))}
        in_words = [point for point in new if not any(number in point for number in spelled)]
        if not in_words:
            return bool(numbers) and numbers == spelled
        is_own = part_of(new, self._record.own) >= OWN_WORDS
        return is_own and (part_of(new, folded(quote)) > 0 or not self._record.tools_contain(new))

    def _may_be_tools(self, now: str, before: str) -> bool:
        """Return whether the new words of a statement, or all if none are new, include one that only a tool said."""
        points = points_of(now)
        new = points - points_of(before) or points
        return self._record.tools_contain(point for point in new if not part_of((point,), self._record.user))


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _names(value: object) -> list[str]:
    """Return the question's names that strings begin with, each once; the model may have copied the texts as well."""
    return [*dict.fromkeys(match[1] for text in _strings(value) if (match := _NAME.match(text)))]


def _is_same_claim(now: str, statement: str) -> bool:
    """Return whether two statements of one answer make the same claim, perhaps in different words."""
    return bool(now) and repeats(now, statement) and numbers_of(now) == numbers_of(statement)
