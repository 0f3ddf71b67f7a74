"""Read the claim of a Korean sentence.

The particles say what a word is: 은/는/이/가 the subject, 을/를 the object, (으)로 by which or as which, 에 where.
A noun without a particle belongs to the next one ("세션 캐시는").
"""

from __future__ import annotations

import re

from gitmem.model.fact.claim.words import Claim, numbers, stems, told

_QUESTION = re.compile(r"[?\uff1f]\W*$|(?:까|까요|나요|는지|을까|ㄹ까)\W*$")
_PAST_TIME = re.compile(r"(?:^|\s)(?:예전에?는?|지난\s?(?:주|달|번|해)\S*|어제|작년\S*|옛날\S*|당시\S*|아까)(?:\s|$)")
_PAST = re.compile(r"(?<!기로 )(?:했|썼|였|었|았|갔|냈|렸|졌)(?:다|어|어요|습니다|음|었다)\W*$")
_PROBLEM = re.compile(r"(?:실패|깨지|깨진|느리|느립|멈추|멈춘|죽는|오류|에러|버그|누락|안\s?(?:됩|돼|된|되))\S*\W*$")
_DECIDED = re.compile(r"기로\s?(?:했|하였|결정|정)|(?:로|을|를)\s?(?:결정|확정)")
_PLANNED = re.compile(r"(?:만약|혹시|나중에|언젠가|다음\s?(?:주|달|번)|(?:면|려고|할까)\S*(?:\s|$)|검토|고민)")
_UNUSED = (
    r"(?:안\s?(?:써|쓴|쓰|씁|쓸|사용)|쓰지\s?(?:않|마|말)|사용하지\s?(?:않|마|말)|사용\s?(?:안|중단)"
    r"|그만\s?(?:쓰|써)|걷어내|걷어냈|빼자|뺐)"
)
_MOVES = r"(?:바꾸|바꿔|바꿨|바꾼|옮기|옮겨|옮겼|옮긴|전환|이전|교체|변경|마이그레이션|넘어가|갈아타)"
_SUBJECT, _OLD, _NEW = r"(?P<subject>.{0,60}?)", r"(?P<old>\S{1,30})", r"(?P<new>[^,.]{1,30}?)"
_NOW = r"(?:이제는?|더\s?이상|앞으로는?)"
# Statements of change: the old value (`old`), the new one (`new`), their subject (`subject`).
_CHANGES = tuple(
    re.compile(form)
    for form in (
        rf"^{_SUBJECT}{_OLD}\s대신(?:에|엔)?\s{_NEW}(?:을|를|으로|로)\s?\S",
        rf"^{_SUBJECT}{_OLD}에서\s{_NEW}(?:으로|로)\s.{{0,20}}?{_MOVES}",
        rf"^{_SUBJECT}{_OLD}(?:을|를)\s{_NEW}(?:으로|로)\s.{{0,10}}?(?:바꾸|바꿔|바꿨|교체|대체|전환)",
        rf"^{_SUBJECT}{_NOW}\s(?P<old>\S{{1,30}}?)(?:은|는|을|를)?\s{_UNUSED}",
        rf"^{_SUBJECT}(?<!\S)(?P<old>\S{{1,30}}?)(?:은|는|을|를)?\s{_NOW}\s{_UNUSED}",
    )
)
_DENIED = re.compile(r"\S{0,3}지\s?(?:않|마|말)")  # after a statement of change
_REJECTED = re.compile(r"(\S{1,30})\s(?:말고|아니라|대신(?:에)?)(?=\s)")
_NOT = re.compile(r"지\s?(?:않|마|말)|(?:^|\s)안\s|금지|없이|(?:^|\s)안\s?(?:된|돼|됩)")
_STRONG = "절대"
_ADDED = re.compile(r".+도")
# Predicates of two words: "사용하기로 했다", "푸시해도 돼", "써야 한다".
_PREDICATE = re.compile(
    r"(\S{1,20}?)(?:기로|[해아어여]도|[해써]야)\s?(?:했|하였|하|한|합|해|결정|정|됩|된|돼|되|괜찮|좋)\S*\W*$"
)
_IS = re.compile(r"(.+?)(?:이다|입니다|이에요|예요)")
_USES = re.compile(r"^(?:쓴|쓰|써|씁|쓸|사용|선택|채택|선호)")
_DOES = re.compile(r"^(?:한|하|해|합|할|함|됨|된|돼)")
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
    change = _read_change(sentence)
    if change is not None:
        return change
    if _PAST_TIME.search(sentence) or _PROBLEM.search(sentence):
        return None
    if _PAST.search(sentence) and not _DECIDED.search(sentence):
        return None
    return _read_rule(sentence)


def _read_change(sentence: str) -> Claim | None:
    if _PLANNED.search(sentence):
        return None
    for form in _CHANGES:
        found = form.search(sentence)
        if found is None or _DENIED.match(sentence[found.end() :]):
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


def _read_rule(sentence: str) -> Claim:
    rejected = tuple(frozenset(stems(_bare(found[1]))) for found in _REJECTED.finditer(sentence))
    negations = len(_NOT.findall(sentence))
    words = _PREDICATE.sub(r"\1한다", _REJECTED.sub(" ", sentence)).split()
    phrases, last = _phrases(words)
    predicate = [word for word in words[last:] if word not in ("안", "더", "이상")]
    uses = any(_USES.match(word) for word in predicate)
    if is_ := _IS.fullmatch(words[-1]) if words else None:
        phrases.append(("is", stems(" ".join([*words[last:-1], is_[1]]))))
        predicate = []
    has_verb_alone = uses or _NOT.search(" ".join(predicate))
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


def _phrases(words: list[str]) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
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
    word = next((word for word in predicate if not _DOES.match(word)), "")
    stem = _VERB_END.sub("", word)
    return stem if stem and stem != word else word[:1]
