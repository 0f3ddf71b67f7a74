"""The claim of a sentence: its subject, its value, the values it rejects or ends.

Read the claim of an English sentence.

No grammar: a phrase begins at a preposition, the part before the first one has the verb and its object. That is enough
for the short sentences in which people state rules and decisions.

Read the claim of a Korean sentence.

The particles say what a word is: 은/는/이/가 the subject, 을/를 the object, (으)로 by which or as which, 에 where.
A noun without a particle belongs to the next one ("세션 캐시는").
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.text.sentences import is_korean
from gitmem.text.stems import hangul_stem, stem
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    _Phrase = tuple[str, tuple[str, ...]]  # its kind and its stems


_TOKEN = re.compile(
    r"[0-9]+(?:\.[0-9]+)*|[A-Za-zÀ-ɏЀ-ӿ_@#][\w@#+]*(?:[./-][\w@#+]+)*|/?(?:[\w.-]+/)+[\w.-]*|[가-힣]+|[ぁ-鿿]+"
)
_NUMBERS = "one two three four five six seven eight nine ten"
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS.split(), 1)}
_LIGHT = """
    a about again all already also always am an and any anything are as at be been being both but by can do does each
    either else ever every everything everywhere exactly for from generally had has have i in is it its just let may me
    more most must my need needs now of on only or our ours please same shall should so some still strictly such than
    that the their them then there these they this those to too us very was we were when which while will with you your
    use uses used using usage whole entire
    항상 반드시 언제나 매번 절대 절대로 앞으로 앞으로는 이제 이제는 더 이상 더이상 우리 우리는 모든 꼭 그냥 직접 것 수
    때 및 와 과
"""
_NO_MEANING = frozenset(_LIGHT.split())

_NUMBER_WORDS |= {"한": "1", "두": "2", "세": "3", "네": "4"}


class Told(Value):
    """A value that a statement names, as stems: {spaces} of "Use spaces for indentation", {indentation} its subject.

    `place` is where the sentence names it; "at" may have several values at once.
    """

    place: str
    value: frozenset[str]
    subject: frozenset[str]


class Claim(Value):
    """What a statement prescribes, as sets of stems.

    `words` are all stems but those of `verb` and of `rejected`, the things it decides against. `numbered` are numbers
    that belong to the name of its subject: {1} of "Node 1 listens on port 80". `ended` is what a statement of change
    ends, of `subject` if it names one. `adds` marks a statement that adds to another one: "in the client, too".
    """

    words: frozenset[str]
    values: tuple[Told, ...] = ()
    verb: str = ""
    negated: bool = False
    rejected: tuple[frozenset[str], ...] = ()
    ended: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    adds: bool = False


def told(
    phrases: Sequence[tuple[str, Iterable[str]]], places: Collection[str], rest: frozenset[str]
) -> tuple[Told, ...]:
    """Return the values of the phrases at these places; the subject of each is all other phrases and the rest."""
    found = [(place, frozenset(words)) for place, words in phrases]
    return tuple(
        Told(place, value, rest.union(*(other for at, (_, other) in enumerate(found) if at != own)))
        for own, (place, value) in enumerate(found)
        if value and place in places
    )


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return the numbers among stems."""
    return frozenset(word for word in words if word[0].isdigit() and word.replace(".", "").isdigit())


def light_words() -> frozenset[str]:
    """Return the words that carry no meaning of their own."""
    return _NO_MEANING


def number_of(word: str) -> str:
    """Return the digits of a number word, any other word as it is."""
    return _NUMBER_WORDS.get(word, word)


def content(text: str) -> tuple[str, ...]:
    """Return a text's content words and its numbers, in lower case and in order."""
    words = (match[0].strip("_./-#").casefold() for match in _TOKEN.finditer(text))
    return tuple(_NUMBER_WORDS.get(word, word) for word in words if word and word not in _NO_MEANING)


def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's content words and its numbers, in order."""
    return tuple(hangul_stem(word) if "가" <= word[0] <= "힣" else stem(word) for word in content(text))


_NAME = r"(?:[^,;:.()!?\n]|\.(?=\w)){1,60}?"
_END = (
    r"(?=\s*(?:[,;:()!]|\.(?:\s|$)|$"
    r"|\s(?:for|in|when|because|since|as|on|with|everywhere|to|and|so|from now|any ?more|any longer|instead)\b))"
)
_OLD, _NEW = rf"(?P<old>{_NAME})", rf"(?P<new>{_NAME})"
_FOR = r"(?:\s+(?:for|in|on|as|of)\s+(?P<subject>[^,;:()]{1,60}))?"
_USE = r"(?:use|using|need|run|rely on|depend on|support)"
_MOVE = r"\b(?:switch(?:ed|ing)?|mov(?:e|ed|ing)|migrat(?:e|ed|ing)|chang(?:e|ed|ing)|convert(?:ed)?|port(?:ed|ing)?)"
_LEAVE = r"(?:drop(?:ped)?|abandon(?:ed)?|ditch(?:ed)?|retired?|g[eo]t rid of|mov(?:e|ed) (?:away from|off))"
# Statements of change, the most specific first: the old value (`old`), the new one (`new`), their subject (`subject`,
# or `about` between verb and values).
_CHANGES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_MOVE}(?P<about>(?:\s+[\w./-]+){{0,6}}?)\s+from {_OLD} to {_NEW}{_END}{_FOR}",
        rf"\breplac(?:e|ed|ing) {_OLD} (?:with|by) {_NEW}{_END}{_FOR}",
        rf"\bno longer {_USE} {_OLD}{_END}{_FOR}",
        rf"(?:n't|\bnot) {_USE} {_OLD}(?:\s+for\s+(?P<subject>[^,;:()]{{1,60}}?))?,? any ?(?:more|longer)\b",
        rf"\bstop(?:ped)? using {_OLD}{_END}{_FOR}",
        rf"\b(?:we(?:'ve| have)?|let's|i) {_LEAVE} {_OLD}{_END}{_FOR}",
        rf"^get rid of {_OLD}{_END}{_FOR}",
        rf"^(?P<old>[^,;:()]{{1,60}}?) (?:is|are) no longer used\b{_FOR}",
        rf"^(?P<old>[^,;:()]{{1,60}}?) (?:is|are|was|were|has been|have been) replaced (?:with|by) {_NEW}{_END}{_FOR}",
    )
)
# "X, not Y": the rejected Y.
_REJECTED = re.compile(
    rf"(?:,?\s+(?:instead of|rather than|in place of)|(?:,| and| but)\s+(?:not|never))\s+"
    rf"(?:with |in |to |by |on |use |using )?({_NAME}){_END}",
    re.IGNORECASE,
)
_OVER = re.compile(rf"(?<=\w)\s+over\s+({_NAME}){_END}", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:(?:please|also|and|but|so|then|ok|okay|now|from now on|the team|everyone|let's|(?:we|i|you)(?:'\w+)?|will"
    r"|have|has|must|should|shall|always|only|strictly|generally|decided|agreed|chose|need|needs|want|going|are|is|ought)\b,?\s+"
    r"(?:to\s+)?)+(?=\w|$)",
    re.IGNORECASE,
)
_CHOOSES = frozenset(
    ("use", "uses", "prefer", "prefers", "choose", "chose", "pick", "picked", "adopt", "adopted", "support", "supports")
) | {"target", "targets", "want", "like"}
_AVOID = re.compile(r"^(?:avoid|forbid|ban)\s+(?:using\s+)?", re.IGNORECASE)
_AS_USE = re.compile(
    r"\b(?:go(?:ing)? with|went with|stick(?:ing)? (?:with|to)|opt(?:ed)? for|settled? on|rely on|decided on)\b",
    re.IGNORECASE,
)
_PLACES = ("in", "into", "inside", "on", "onto", "at", "to", "under", "below", "above", "within", "from")
_MANNERS = ("with", "by", "using", "via", "through", "as", "over")
_OTHERS = frozenset(
    ("for", "of", "before", "after", "during", "without", "when", "if", "unless", "about", "per", "between")
) | {"while", "until", "against", "because", "since", "so"}
# Verbs that give a thing its one place, form or time.
_PLACED = """
    store stored stores keep kept keeps put puts save saved saves place placed write written writes live lives go goes
    host hosted deploy deployed deploys log logs logged return returned returns indent indented format formatted name
    named release released publish published upload uploaded send sent expose listen listens serve served serves answer
    answers respond responds reply replies runs begin begins start starts show shows shown display displayed pass passed
    define defined configure configured locate located render rendered mount mounted come comes read reads load loaded
"""
_PLACING = frozenset(_PLACED.split())
_IS = ("be", "is", "are", "been")
# Verbs that need a subject before them.
_DOES = frozenset(("run", "runs", "talk", "talks", "connect", "connects", "belong", "belongs", "happen", "happens"))
_DONE = ("ed", "en", "wn", "pt", "lt")  # endings of participles
_MANY = ("test", "check", "valid", "cover", "us", "cach", "review")  # verbs with several places at once
_LASTS = frozenset(("second", "minut", "hour", "day", "week", "month", "year"))  # stems
_MOST_WORDS = 4  # of a value
_NOT = re.compile(
    r"\b(?:never|not|no|no longer|without|avoid|stop|forbidden|cannot|against)\b|n't\b|n\u2019t\b", re.IGNORECASE
)
_NO_STATEMENT = re.compile(
    r"[?\uff1f]\W*$"
    r"|^(?:should|could|would|can|do (?:we|you|i)\b|does|did|is|are|was|were|will|what|why|how|who|where|which|maybe"
    r"|perhaps|if|suppose|consider|yesterday|last (?:week|month|year|night|time)|previously|formerly|earlier"
    r"|in the past)\b"
    r"|\b(?:might|what if|how about|considered|used to|thinking (?:of|about))\b",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"^(?!(?:always|never|do not|don't|use|prefer|we|please|make|all)\b).*"
    r"\b(?:fail(?:s|ed|ing)?|crash(?:es|ed)?|breaks?|broken?|hangs?|slow|raises?|missing|bugs?|locks?|leaks?|flaky"
    r"|wrong(?:ly)?|errors? out|times? out)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"^(?:we|i|they|you) (?:used|ran|had|tried|were|was|did|wrote|kept|put|stored|built|deployed)\b", re.IGNORECASE
)
_PLANNED = re.compile(
    r"\b(?:if|whether|could|would|maybe|perhaps|consider|planning|plan to|eventually|some ?day"
    r"|next (?:week|month|quarter|year|sprint)|proposed?|will)\b",
    re.IGNORECASE,
)
# Before a statement of change: "do not switch from X to Y".
_DENIED = re.compile(
    r"(?:n't|\b(?:not|never|without|avoid|against|cannot|instead of))\s+(?:\w+\s+){0,2}$", re.IGNORECASE
)
_REASON = re.compile(r",? (?:because|since|so that|as (?:it|this|that|they|we))\b.*", re.IGNORECASE)
_ADDS = re.compile(r"\b(?:too|also|as well|additionally|in addition|besides)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\s,;:()!]+|[,;:()!]")


def read_english(sentence: str) -> Claim | None:
    """Return the claim of an English sentence, None for a question, a problem or an event of the past."""
    sentence = " ".join(sentence.replace("`", "").replace("\u2019", "'").split()).rstrip(".")
    if _NO_STATEMENT.search(sentence) or _PROBLEM.search(sentence):
        return None
    change = _read_change(sentence)
    if change is not None or _PAST.match(sentence):
        return change
    return _read_rule(sentence)


def _read_change(sentence: str) -> Claim | None:
    if _PLANNED.search(sentence):
        return None
    for form in _CHANGES:
        found = form.search(sentence)
        if found is None or _DENIED.search(sentence[: found.start()]):
            continue
        groups = found.groupdict()
        old, new = (frozenset(stems(groups.get(name) or "")) for name in ("old", "new"))
        before = _OPENING.sub("", sentence[: found.start()])
        subject = frozenset(stems(f"{before} {groups.get('about') or ''} {groups.get('subject') or ''}"))
        if old and old != new:
            values = told([("object", new)], ["object"], subject)
            numbered = numbers(subject)
            return Claim(subject | new, values, rejected=(old,), ended=old, subject=subject, numbered=numbered)
    return None


def _read_rule(sentence: str) -> Claim:
    adds = bool(_ADDS.search(sentence))
    sentence = _AVOID.sub("never use ", _REASON.sub("", sentence))
    rejected = []
    for form in (_REJECTED, _OVER) if _CHOOSES.intersection(_words(sentence)) else (_REJECTED,):
        rejected += [frozenset(stems(found[1])) for found in form.finditer(sentence)]
        sentence = form.sub(" ", sentence)
    negated = len(_NOT.findall(sentence)) % 2 == 1
    sentence = _AS_USE.sub("use", _OPENING.sub("", _NOT.sub(" ", sentence).strip()))
    head, phrases = _phrases(sentence)
    placing = next((word for word in reversed(head) if word in _PLACING), "")
    values = _values(head, phrases, placing)
    if negated:
        rejected += [one.value for one in values if one.place == "object"]
    return Claim(
        _stems(head, placing).union(*(found for _, found in phrases)),
        values,
        placing,
        negated,
        tuple(filter(None, rejected)),
        numbered=_numbered(head, phrases, _DOES.union(_CHOOSES, _IS, [placing])),
        adds=adds,
    )


def _values(head: list[str], phrases: list[_Phrase], placing: str) -> tuple[Told, ...]:
    """Return the values that a sentence names: an object of choice, a predicate, a manner, or a place."""
    chosen = next((place for place, word in enumerate(head) if word in _CHOOSES), None)
    if chosen is not None:
        return told([("object", _stems(head[chosen:], placing)), *phrases], ["object"], _stems(head[:chosen], placing))
    is_ = next((place for place, word in enumerate(head[:-1]) if place and word in _IS), None)
    if is_ is not None and not any(found and kind != "other" for kind, found in phrases):
        value = head[is_ + 1 :]
        if len(value) > _MOST_WORDS or value[-1].endswith(("ed", "ing")):  # "is generated"
            return ()
        return told([("is", stems(" ".join(value))), *phrases], ["is"], _stems(head[:is_], placing))
    has_place = placing or (head and (head[-1] in _IS or _is_placed(head)))
    named = [("at" if kind == "place" and not has_place else kind, found) for kind, found in phrases]
    return told(named, ["manner", "place", "at", "often"], _stems(head, placing))


def _numbered(head: list[str], phrases: list[_Phrase], verbs: frozenset[str]) -> frozenset[str]:
    """Return the numbers that name the subject: before a verb or a further number, or behind a noun ("of node 1")."""
    verb = next((place for place, word in enumerate(head) if word in verbs), 0)
    named = [word for word in stems(" ".join(head[1 : verb or None])) if numbers([word])]
    others = (word for kind, found in phrases if kind == "other" for word in found[1:])
    return numbers([*named[: None if verb else -1], *others])


def _stems(head: list[str], placing: str) -> frozenset[str]:
    """Return the stems of a sentence's beginning, without its verb."""
    return frozenset(stems(" ".join(word for word in head if word not in _CHOOSES and word != placing)))


def _is_placed(head: list[str]) -> bool:
    """Return whether the words before a place are a subject with a verb in the active or passive voice."""
    is_done = any(word in _IS for word in head[1:]) and head[-1].endswith(_DONE) and not head[-1].startswith(_MANY)
    return is_done or (len(head) > 1 and head[-1] in _DOES)


def _phrases(sentence: str) -> tuple[list[str], list[_Phrase]]:
    """Return the lower-case words before the first preposition, and each further phrase: its kind, its stems."""
    parts: list[tuple[str, list[str]]] = [("head", [])]
    for word in _words(sentence):
        kind = "place" if word in _PLACES else "manner" if word in _MANNERS else "other" if word in _OTHERS else ""
        if kind:
            parts.append((kind, []))
        elif word == "every" and parts[-1][1]:
            parts.append(("often", []))
        elif word in (",", ";", ":"):
            parts.append(("other", []))
        else:
            parts[-1][1].append(word)
    phrases: list[_Phrase] = []
    for kind, found in ((kind, stems(" ".join(words))) for kind, words in parts[1:]):
        end = next((place + 1 for place, word in enumerate(found) if word in _LASTS), 0)
        begin = end - 1 - bool(numbers(found[end - 2 : end - 1])) if end else 0
        # "of the cache is 30 seconds"
        phrases += [("often", found[begin:end]), ("other", found[:begin] + found[end:])] if end else [(kind, found)]
    return parts[0][1], phrases


def _words(sentence: str) -> Iterator[str]:
    for found in _WORD.finditer(sentence):
        yield found[0].casefold().rstrip(".")


_QUESTION = re.compile(r"[?\uff1f]\W*$|(?:까|까요|나요|는지|을까|ㄹ까)\W*$")
_PAST_TIME = re.compile(r"(?:^|\s)(?:예전에?는?|지난\s?(?:주|달|번|해)\S*|어제|작년\S*|옛날\S*|당시\S*|아까)(?:\s|$)")
_KOREAN_PAST = re.compile(r"(?<!기로 )(?:했|썼|였|었|았|갔|냈|렸|졌)(?:다|어|어요|습니다|음|었다)\W*$")
_KOREAN_PROBLEM = re.compile(
    r"(?:실패|깨지|깨진|느리|느립|멈추|멈춘|죽는|오류|에러|버그|누락|안\s?(?:됩|돼|된|되))\S*\W*$"
)
_DECIDED = re.compile(r"기로\s?(?:했|하였|결정|정)|(?:로|을|를)\s?(?:결정|확정)")
_KOREAN_PLANNED = re.compile(r"(?:만약|혹시|나중에|언젠가|다음\s?(?:주|달|번)|(?:면|려고|할까)\S*(?:\s|$)|검토|고민)")
_UNUSED = (
    r"(?:안\s?(?:써|쓴|쓰|씁|쓸|사용)|쓰지\s?(?:않|마|말)|사용하지\s?(?:않|마|말)|사용\s?(?:안|중단)"
    r"|그만\s?(?:쓰|써)|걷어내|걷어냈|빼자|뺐)"
)
_MOVES = r"(?:바꾸|바꿔|바꿨|바꾼|옮기|옮겨|옮겼|옮긴|전환|이전|교체|변경|마이그레이션|넘어가|갈아타)"
_SUBJECT, _KOREAN_OLD, _KOREAN_NEW = r"(?P<subject>.{0,60}?)", r"(?P<old>\S{1,30})", r"(?P<new>[^,.]{1,30}?)"
_NOW = r"(?:이제는?|더\s?이상|앞으로는?)"
# Statements of change: the old value (`old`), the new one (`new`), their subject (`subject`).
_KOREAN_CHANGES = tuple(
    re.compile(form)
    for form in (
        rf"^{_SUBJECT}{_KOREAN_OLD}\s대신(?:에|엔)?\s{_KOREAN_NEW}(?:을|를|으로|로)\s?\S",
        rf"^{_SUBJECT}{_KOREAN_OLD}에서\s{_KOREAN_NEW}(?:으로|로)\s.{{0,20}}?{_MOVES}",
        rf"^{_SUBJECT}{_KOREAN_OLD}(?:을|를)\s{_KOREAN_NEW}(?:으로|로)\s.{{0,10}}?(?:바꾸|바꿔|바꿨|교체|대체|전환)",
        rf"^{_SUBJECT}{_NOW}\s(?P<old>\S{{1,30}}?)(?:은|는|을|를)?\s{_UNUSED}",
        rf"^{_SUBJECT}(?<!\S)(?P<old>\S{{1,30}}?)(?:은|는|을|를)?\s{_NOW}\s{_UNUSED}",
    )
)
_KOREAN_DENIED = re.compile(r"\S{0,3}지\s?(?:않|마|말)")  # after a statement of change
_KOREAN_REJECTED = re.compile(r"(\S{1,30})\s(?:말고|아니라|대신(?:에)?)(?=\s)")
_KOREAN_NOT = re.compile(r"지\s?(?:않|마|말)|(?:^|\s)안\s|금지|없이|(?:^|\s)안\s?(?:된|돼|됩)")
_STRONG = "절대"
_ADDED = re.compile(r".+도")
# Predicates of two words: "사용하기로 했다", "푸시해도 돼", "써야 한다".
_PREDICATE = re.compile(
    r"(\S{1,20}?)(?:기로|[해아어여]도|[해써]야)\s?(?:했|하였|하|한|합|해|결정|정|됩|된|돼|되|괜찮|좋)\S*\W*$"
)
_KOREAN_IS = re.compile(r"(.+?)(?:이다|입니다|이에요|예요)")
_USES = re.compile(r"^(?:쓴|쓰|써|씁|쓸|사용|선택|채택|선호)")
_KOREAN_DOES = re.compile(r"^(?:한|하|해|합|할|함|됨|된|돼)")
_VERB_END = re.compile(r"(?:하|해|한|합|할|했|함).*$")
# A particle and its kind, the longest first.
_PARTICLE = re.compile(
    r"(?P<stem>.+?)(?P<particle>에서는|에서도|에서|에는|에도|에게|까지|부터|으로는|으로만|으로|로는|로만|로|에"
    r"|은|는|이|가|을|를|만|도|의)"
)
_KINDS = {"을": "object", "를": "object", "만": "object", "으로": "manner", "로": "manner", "으로만": "manner"}
_KINDS |= {"은": "topic", "는": "topic", "에는": "topic", "에": "place"}
_KINDS |= {"로만": "manner", "으로는": "manner", "로는": "manner"}
_MAX_VERBS = 3  # words that a predicate has at most


def read_korean(sentence: str) -> Claim | None:
    """Return the claim of a Korean sentence, None for a question, a problem or an event of the past."""
    sentence = " ".join(sentence.replace("`", "").split()).rstrip(" .!。")
    if _QUESTION.search(sentence):
        return None
    change = _korean_read_change(sentence)
    if change is not None:
        return change
    if _PAST_TIME.search(sentence) or _KOREAN_PROBLEM.search(sentence):
        return None
    if _KOREAN_PAST.search(sentence) and not _DECIDED.search(sentence):
        return None
    return _korean_read_rule(sentence)


def _korean_read_change(sentence: str) -> Claim | None:
    if _KOREAN_PLANNED.search(sentence):
        return None
    for form in _KOREAN_CHANGES:
        found = form.search(sentence)
        if found is None or _KOREAN_DENIED.match(sentence[found.end() :]):
            continue
        groups = found.groupdict()
        old = frozenset(stems(_bare(groups["old"])))
        new = frozenset(stems(groups.get("new") or ""))
        subject = frozenset(stems(" ".join(map(_bare, groups["subject"].split()))))
        if old and old != new:
            values = told([("object", new)], ["object"], subject)
            numbered = numbers(subject)
            return Claim(subject | new, values, rejected=(old,), ended=old, subject=subject, numbered=numbered)
    return None


def _korean_read_rule(sentence: str) -> Claim:
    rejected = tuple(frozenset(stems(_bare(found[1]))) for found in _KOREAN_REJECTED.finditer(sentence))
    negations = len(_KOREAN_NOT.findall(sentence))
    words = _PREDICATE.sub(r"\1한다", _KOREAN_REJECTED.sub(" ", sentence)).split()
    phrases, last = _korean_phrases(words)
    predicate = [word for word in words[last:] if word not in ("안", "더", "이상")]
    uses = any(_USES.match(word) for word in predicate)
    if is_ := _KOREAN_IS.fullmatch(words[-1]) if words else None:
        phrases.append(("is", stems(" ".join([*words[last:-1], is_[1]]))))
        predicate = []
    has_verb_alone = uses or _KOREAN_NOT.search(" ".join(predicate))
    rest = frozenset(() if has_verb_alone else stems(" ".join(predicate[:-1])))
    topic = next((word for kind, word in phrases if kind == "topic"), ())
    return Claim(
        rest.union(*(found for _, found in phrases)),
        told(phrases, ["object"] if uses and "object" in dict(phrases) else ["manner", "place", "is"], rest),
        "" if uses else _verb(predicate),
        negations % 2 == 1 or (not negations and _STRONG in sentence),
        rejected,
        numbered=numbers(topic),
        adds=any(_ADDED.fullmatch(word) for word in words[:last]),
    )


def _korean_phrases(words: list[str]) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    """Return the phrases that end with a particle: their kinds and stems; and where the predicate begins."""
    phrases: list[tuple[str, tuple[str, ...]]] = []
    begin = 0
    for place, word in enumerate(words[:-1]):
        found = _PARTICLE.fullmatch(word)
        if found is not None:
            named = " ".join([*words[begin:place], found["stem"]])
            phrases.append((_KINDS.get(found["particle"], "other"), stems(named)))
            begin = place + 1
    return phrases, begin


def _bare(word: str) -> str:
    """Return a word without its particle."""
    found = _PARTICLE.fullmatch(word)
    return found["stem"] if found else word


def _verb(predicate: list[str]) -> str:
    """Return the first syllables of the verb that its forms share, "" for "to do"."""
    word = next((word for word in predicate if not _KOREAN_DOES.match(word)), "")
    stem = _VERB_END.sub("", word)
    return stem if stem and stem != word else word[:1]


_LONGEST = 400  # characters of a statement


@lru_cache(maxsize=4_096)
def read_claim(text: str) -> Claim | None:
    """Return the claim of a text's first paragraph, None for a question, a report of a problem, or the past tense."""
    sentence = text.split("\n\n", maxsplit=1)[0][:_LONGEST]
    return read_korean(sentence) if is_korean(sentence) else read_english(sentence)
