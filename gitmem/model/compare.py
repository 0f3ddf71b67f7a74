"""Whether two facts mean the same, or contradict each other (spec V6); judged by words, without a model.

Two statements of one form are laid side by side. They contradict each other if one run of words differs in a place
where a value stands: behind a word such as "use", "in" or "is", or with a particle such as 로. What differs elsewhere
is the subject, and two subjects never contradict each other. So do a statement and its denial, and a statement that
names the value it leaves ("X, not Y"; "replace Y with X") with one that chose it. Figures: `bench/contradictions.py`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from itertools import takewhile

from gitmem.document.ids import do_meet
from gitmem.model.fact import Fact, FactKind
from gitmem.platform.machine import table
from gitmem.text.sentences import mask_code
from gitmem.text.words import files_of, hangul_stem, keywords, languages, matcher, rows, stem, words
from gitmem.values import Value

_RELATED = 1 / 3  # share of the fewer keywords; facts with less in common are about different things
_LONGEST = 400  # characters of a statement
_MOST_WORDS = 4  # of a value
_TELLING = 2  # words of a subject
_TOKEN = re.compile(r"`[^`\n]+`|[0-9]+(?:\.[0-9]+)*%?|[^\W\d]\w*(?:[-./+#]\w+)*[+#]*")
_CODE_WITH_PARTICLE = re.compile(r"(`[^`\n]+`|[A-Za-z0-9_.%+#/-]+)([가-힣]+)")
_HANGUL = re.compile("[가-힣]")


def _listed(kind: str) -> list[list[str]]:
    """Return the lists of words of a kind, a list a language."""
    return [row[1].split("|") for path in files_of("comparing.tsv") for row in table(path) if row[0] == kind]


def _set(*kinds: str) -> frozenset[str]:
    return frozenset(word for kind in kinds for listed in _listed(kind) for word in listed)


_NUMBERS = {word: str(number) for listed in _listed("numbers") for number, word in enumerate(listed, 1)}
_CHOOSES, _BEFORE_A_VALUE = _set("chooses"), _set("chooses", "marker")
_MARKERS, _IS, _BEFORE_A_NUMBER = _BEFORE_A_VALUE | _set("subject"), _set("is"), _set("number")
_LIGHT = frozenset(words("light"))  # carry no meaning of their own
_PARTICLES = {role: sorted(_set(role), key=len, reverse=True) for role in ("topic", "value", "object", "owner")}
_REASON, _OPENING, _CHOSEN, _NEGATION, _DOES, _ADDS, _UNSURE, _NOW, _DENIED, _DENIED_AFTER, _KEEPS, _LEAVES = (
    matcher("comparing.tsv", kind)
    for kind in (
        *("reason", "opening", "chosen", "negation", "does", "adds", "unsure", "now", "denied", "denied_after"),
        *("keeps", "leaves"),
    )
)
_ACTS = {word: number for listed in _listed("acts") for number, word in enumerate(listed)}
_NAME = r"[\w`][^\s,;:()!?]*?(?: [^\s,;:()!?]+?){0,2}?"
_END = r"(?=[,;:()!]|\.?\s*$|\.\s|\s(?:for|in|when|because|since|as|on|with|and|so|any ?more|instead|everywhere)\b)"


def _forms(kind: str) -> tuple[re.Pattern[str], ...]:
    """Return the forms of a kind of statements that name the value they leave."""
    forms = (form for named, form in table("changes.tsv") if named == kind)
    whole = (form.replace("OLD", "(?P<old>NAME)").replace("NAME", _NAME).replace("END", _END) for form in forms)
    return tuple(re.compile(form, re.IGNORECASE) for form in whole)


_CHANGES, _REJECTED = _forms("change"), _forms("reject")


class _Word(Value):
    """A word as it is compared, its particle's role, and whether it says something itself."""

    stem: str
    role: str = ""
    says: bool = True


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return |A∩B| / min(|A|, |B|), 0 if one is empty (spec V3)."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@lru_cache(maxsize=4_096)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's keywords, case folded."""
    return frozenset(stem.casefold() for stem, _ in keywords(text))


def may_concern(one: str, other: str) -> bool:
    """Return whether two facts share so many keywords that they could contradict each other, as a model may judge."""
    return overlap(stems_of(one), stems_of(other)) >= _RELATED


def says_the_same(one: str, other: str) -> bool:
    """Return whether two facts mean the same: the same words in another order, with the same negation."""
    words, others = (sorted(word.stem for word in _read(text)) for text in (one, other))
    return bool(words) and words == others and is_negated(one) == is_negated(other) and not contradict(one, other)


def contradict(one: str, other: str) -> bool:
    """Return whether two facts contradict each other, judged by their words."""
    if one == other or _UNSURE.search(one) or _UNSURE.search(other):
        return False
    if _hands_over(one, other) or _hands_over(other, one):
        return True
    if _leaves(one, other, (*_CHANGES, *_REJECTED)) or _leaves(other, one, (*_CHANGES, *_REJECTED)):
        return True
    one, other = _without_rejected(one), _without_rejected(other)
    if is_negated(one) != is_negated(other):
        return _denies(one, other) or _denies(other, one)
    return not _ADDS.search(one) and not _ADDS.search(other) and differ_in_value(one, other)


def _hands_over(one: str, other: str) -> bool:
    """Return whether the person keeps an act in one statement that the other leaves to the agent ("I push myself")."""
    keeps, leaves = ([bool(form.search(text)) for form in (_KEEPS, _LEAVES)] for text in (one, other))
    return keeps == [True, False] and leaves == [False, True] and not _acts(one).isdisjoint(_acts(other))


def _acts(text: str) -> set[int]:
    return {number for word, number in _ACTS.items() if word in text.casefold()}


def ends(newer: str, older: str) -> bool:
    """Return whether a fact is a statement of change ("replace X with Y") that ends an older fact's choice."""
    return not _UNSURE.search(newer) and _leaves(newer, older, _CHANGES)


def is_negated(text: str) -> bool:
    """Return whether a fact is negated or forbids something."""
    return len(_NEGATION.findall(mask_code(text))) % 2 == 1


def differ_in_value(one: str, other: str) -> bool:
    """Return whether two statements give one subject two values."""
    first, second = _read(one), _read(other)
    shared = min(len(first), len(second))
    begin = next((at for at in range(shared) if first[at].stem != second[at].stem), shared)
    left = shared - begin
    end = next((at for at in range(left) if first[-1 - at].stem != second[-1 - at].stem), left)
    values = first[begin : len(first) - end], second[begin : len(second) - end]
    around = (*first[:begin], *first[len(first) - end :])
    if not all(0 < len(value) <= _MOST_WORDS for value in values) or not any(word.says for word in around):
        return False
    stems = [{word.stem for word in value} for value in values]
    if stems[0] & stems[1] or (stems[0] | stems[1]) & _MARKERS:
        return False  # more than one place differs
    return all(
        _is_value(words[:begin], value, words[begin + len(value) :])
        for words, value in zip((first, second), values, strict=True)
    )


def _leaves(one: str, other: str, forms: Sequence[re.Pattern[str]]) -> bool:
    """Return whether a statement leaves the value that another one chose, for the same subject if it names one."""
    text, other = _plain(one), _without_rejected(other)
    if is_negated(other):
        return False
    for found in (match for form in forms for match in form.finditer(text)):
        if _DENIED.search(text[: found.start()]) or _DENIED_AFTER.search(text[found.end() :]):
            continue
        old = [word.stem for word in _read(found["old"]) if word.says]
        subject = _subject(text, found) - (_chosen(text[: found.start()]) if found.re in _REJECTED else set())
        chosen = _read(other)
        for begin in range(len(chosen) - len(old) + 1) if old else ():
            before, value, after = chosen[:begin], chosen[begin : begin + len(old)], chosen[begin + len(old) :]
            if [word.stem for word in value] != old:
                continue
            rest, is_chosen = {word.stem for word in (*before, *after) if word.says}, _is_chosen(before, value, after)
            # If all that the other one says is named here, "now" tells of a change, wherever the value stood.
            if found.re in _REJECTED and rest <= subject and (is_chosen or (rest and _NOW.search(text))):
                return True
            if is_chosen and subject <= rest and (subject or found.re in _CHANGES or _is_tool(before, after)):
                return True
    return False


def _is_chosen(before: tuple[_Word, ...], value: tuple[_Word, ...], after: tuple[_Word, ...]) -> bool:
    """Return whether words that another statement leaves stand where a value does; there may be no subject."""
    behind_a_marker = bool(before) and before[-1].stem in _BEFORE_A_VALUE
    return behind_a_marker or value[-1].role == "object" or _is_value(before, value, after)


def _is_tool(before: tuple[_Word, ...], after: tuple[_Word, ...]) -> bool:
    """Return whether what stands between is used, whatever for; "We use pnpm, not npm" says nothing of all else."""
    return (bool(before) and before[-1].stem in {*_CHOOSES, "with"}) or any(_CHOSEN.match(word.stem) for word in after)


def _subject(text: str, found: re.Match[str]) -> set[str]:
    """Return the stems around a statement of change, within its clause; the verb ends a Korean one."""
    before, after = re.split(r"[,;:] ", text[: found.start()])[-1], re.split(r"[,;:.] ", text[found.end() :])[0]
    about = found.groupdict().get("about") or ""
    return {word.stem for word in _read(f"{before} {about} {'' if _HANGUL.search(text) else after}") if word.says}


def _chosen(text: str) -> set[str]:
    """Return the stems of the value that a statement chooses: "pnpm" of "We use pnpm for installs"."""
    words = _read(text)
    begin = next((at for at, word in enumerate(words, 1) if word.stem in _BEFORE_A_VALUE), len(words))
    return {word.stem for word in takewhile(lambda word: word.says, words[begin:])}


def _without_rejected(text: str) -> str:
    """Return a statement without the value that it rejects ("not pnpm"), which does not deny all of it."""
    text = _plain(text)
    for form in _REJECTED:
        text = form.sub("", text)
    return text


def _denies(one: str, other: str) -> bool:
    """Return whether a clause forbids what another statement says, or a part of it ("Use mocks for mail")."""
    if is_negated(other):
        return False
    stated = _says(other)
    forbidden = [_says(_NEGATION.sub(" ", clause)) for clause in re.split(r"[,;] ", one) if is_negated(clause)]
    return any(words == stated or (len(words) >= _TELLING and words <= stated) for words in forbidden if words)


def _says(text: str) -> set[str]:
    return {word.stem for word in _read(text) if word.says and not _CHOSEN.match(word.stem)}


def _is_value(before: tuple[_Word, ...], value: tuple[_Word, ...], after: tuple[_Word, ...]) -> bool:
    """Return whether a run of words stands where a value does."""
    is_number = all(word.stem[0].isdigit() for word in value)
    if any("가" <= word.stem[0] <= "힣" or word.role for word in (*before, *value, *after)):
        return _is_korean_value(before, value, after, is_number=is_number)
    marker = before[-1].stem if before else ""
    if marker in _CHOOSES or (is_number and marker in _BEFORE_A_NUMBER):
        return True
    if not any(word.says for word in before) or any(word.stem in _CHOOSES for word in before):
        return False  # "Use X in Y" says of Y what to use there
    if marker in _IS and len(value) == 1 and value[0].stem.endswith(("ed", "ing")):
        return False  # "is generated"
    if marker in _BEFORE_A_VALUE or not is_number:
        return marker in _BEFORE_A_VALUE
    is_port = len(before) > _TELLING + 1 and before[-2].stem in _BEFORE_A_VALUE  # "The API listens on port 8080"
    return "." in value[0].stem or (is_port and not any(word.says for word in after))


def _is_korean_value(
    before: tuple[_Word, ...], value: tuple[_Word, ...], after: tuple[_Word, ...], *, is_number: bool
) -> bool:
    """Return whether a run of words has, or belongs to a noun that has, the particle of a value."""
    roles = [word.role for word in (value[-1], *after) if word.role and word.role != "owner"]
    role = roles[0] if roles else ""
    has_topic = any(word.role == "topic" for word in before)
    if role == "object" or roles[:2] == ["topic", "object"]:
        chosen = any(_CHOSEN.match(word.stem) for word in after)
        return (chosen or is_number) and has_topic
    if not role:
        return is_number and has_topic
    return role == "value" and bool(before) and (value[-1].role == role or is_number)


def _plain(text: str) -> str:
    text = _REASON.sub("", text.split("\n\n", maxsplit=1)[0][:_LONGEST].replace("\u2019", "'"))
    return _OPENING.sub("", text).strip()


@cache
def _cue_words() -> frozenset[str]:
    """Return the words of the cues that say *that* something holds, not what: they tell no subject."""
    told = (row for language in languages() for row in rows(language) if row.kind in ("decision", "rule"))
    return frozenset(word.strip("^~$,").casefold() for row in told for phrase in row.phrases for word in phrase.split())


@lru_cache(maxsize=4_096)
def _read(text: str) -> tuple[_Word, ...]:
    dropped = (_cue_words() | _LIGHT) - _MARKERS - _BEFORE_A_NUMBER
    words = []
    for token in re.findall(r"\S+", _plain(text)):
        parts = _CODE_WITH_PARTICLE.fullmatch(token.strip(".,;:!()"))
        if parts:
            code = parts[1].strip("`").casefold()
            role = next((role for role, particles in _PARTICLES.items() if parts[2] in particles), "")
            words.append(_word(code)._replace(role=role))
            continue
        for match in _TOKEN.finditer(token):
            word = match[0].strip("`").casefold()
            if word and (word not in dropped or _CHOSEN.match(word)):
                words.append(_word(word))
    return tuple(words)


def _word(word: str) -> _Word:
    number = _NUMBERS.get(word, word)
    if number != word or word[0].isdigit():
        return _Word(number)
    if "가" <= word[0] <= "힣":
        for role, particles in _PARTICLES.items():
            found = next((end for end in particles if word.endswith(end) and len(word) > len(end)), "")
            if found:
                return _Word(word.removesuffix(found), role)
        return _Word(hangul_stem(_DOES.sub("", word)))
    says = word not in _MARKERS
    is_whole = not says or word in _BEFORE_A_NUMBER or word.endswith(("ed", "ing"))
    return _Word(word if is_whole else stem(word), says=says)


# The kinds whose facts can contradict each other.
WEIGHED = (FactKind.RULE, FactKind.PREFERENCE, FactKind.DECISION, FactKind.CORE_LOGIC)
SAID = 0.9  # the confidence of what a person says
MOST_DISPUTED = 3  # for one new fact; more are a series ("step 1 …", "step 2 …"), which nobody wants to review


class Rivals(Value):
    """Rivals of a new fact: facts it ends, facts that end it, and facts it contradicts, for a person to decide."""

    ended: tuple[Fact, ...] = ()
    ended_by: tuple[Fact, ...] = ()
    disputed: tuple[Fact, ...] = ()


def winner_over(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the fact of a project that goes before a contradicting fact of the person's own store, None if none."""
    rivals = rivals_of(own, project)
    return next(iter((*rivals.disputed, *rivals.ended, *rivals.ended_by)), None)


def rivals_of(new: Fact, facts: Iterable[Fact], is_mine: Callable[[Fact], bool] = lambda _: False) -> Rivals:
    """Return the rivals of a new fact among facts in force, those of other parts of the project left out.

    A statement of change ends earlier statements, and of two rules of the person (`is_mine`) the newer ends the older;
    a new fact from a recorded session may be the older one. Of those that it contradicts otherwise the newest
    `MOST_DISPUTED` count.
    """
    others = [
        fact
        for fact in facts
        if new.kind in WEIGHED and fact.kind in WEIGHED and fact.id != new.id and do_meet(fact.scope, new.scope)
    ]
    ended: list[Fact] = []
    by: list[Fact] = []
    disputed: list[Fact] = []
    for one in others:
        is_older = one.created <= new.created
        if ends(new.description, one.description) if is_older else ends(one.description, new.description):
            (disputed if is_older and _yields(new, one) else ended if is_older else by).append(one)
        elif contradict(one.description, new.description):
            is_ruled = _is_stated(new) and _is_stated(one) and is_mine(one) and is_mine(new) and not _yields(new, one)
            (disputed if not is_ruled else ended if is_older else by).append(one)
    newest = sorted(disputed, key=lambda fact: (fact.created, fact.id))[-MOST_DISPUTED:]
    return Rivals((), tuple(by)) if by else Rivals(tuple(ended), (), tuple(newest))


def _yields(new: Fact, one: Fact) -> bool:
    """Return whether a model judged a fact in words that are not the person's, unlike one that was saved or stated."""
    return "by" in new.origin and "by" not in one.origin and (new.confidence or 0.0) < SAID


def _is_stated(fact: Fact) -> bool:
    """Return whether a person made a fact as a rule; a decision that was saved may be an agent's."""
    return fact.kind in (FactKind.RULE, FactKind.PREFERENCE) or (
        fact.kind == FactKind.DECISION and "tool" not in fact.origin and "exchange" in fact.origin
    )


MOST = 500
_STEM = re.compile(r"\b(?:[가-힣]{2}|\w{1,4})")  # forms of a word, and a Korean word with its particles, begin alike


def candidates(text: str, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that share words with a text, in order; of more than `MOST` those that share the rarest."""
    wanted = _stems(text)
    shared = [(fact, words) for fact in facts if (words := wanted & _stems(fact.description))]
    if len(shared) <= MOST:
        return [fact for fact, _ in shared]
    often = Counter(word for _, words in shared for word in words)
    weights = {word: math.log((1 + len(shared)) / number) for word, number in often.items()}
    best = {
        number
        for _, number in nlargest(
            MOST, ((sum(weights[word] for word in words), number) for number, (_, words) in enumerate(shared))
        )
    }
    return [fact for number, (fact, _) in enumerate(shared) if number in best]


def _stems(text: str) -> set[str]:
    return set(_STEM.findall(text.casefold()))
