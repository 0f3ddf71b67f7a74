"""Read the claim of an English sentence.

No grammar: a phrase begins at a preposition, the part before the first one has the verb and its object. That is enough
for the short sentences in which people state rules and decisions.
"""

from __future__ import annotations

import re

from gitmem.model.fact.claim.words import Claim, numbers, stems, told

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.model.fact.claim.words import Told

    _Phrase = tuple[str, tuple[str, ...]]  # its kind and its stems

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
