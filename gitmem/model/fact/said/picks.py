"""What a person picked among the numbered options of the answer before: "option 3", "let's do 1", "2번으로". Pure.

A pick says nothing alone, so its fact is the option's own text. Items that the person leaves out ("skip 5 and 7") are
facts too: they were decided against.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.fact.said.cues import OPENING
from gitmem.model.fact.said.reason import split_reason
from gitmem.text.sentences import is_korean, shorten
from gitmem.values import Value

_LOOK_AT = 30_000  # characters of an answer, its last
_MOST_LINES = 400
_LONGEST_PROMPT = 300  # characters
_OPTION = 240  # characters of an option that are kept
_FEWEST_WORDS = 4  # of an option that is understood without the question
_FEWEST_WORDS_KO = 3
_MOST = 9  # options picked at once
_NAMED = r"(?:option|approach|number|no\.|choice|alternative|plan|variant|옵션|방안|방법|선택지)"
_NUMBER = r"#?(?:[0-9]{1,2}|[0-9]{6,12})"
_NUMBERS = rf"{_NUMBER}(?:\s?(?:,|and|&|\+|, and|랑|이랑|하고|과|와|번,|번과|번이랑|번하고)\s?{_NUMBER}){{0,8}}"
_END = (
    r"(?=\W*$|[,;!]\s|\.\s|\s(?:please|because|since|but|and\b|then|for now|is|sounds|looks|seems|works"
    r"|[\u2013\u2014-]))"
)
_LINE = (
    rf"\s{{0,6}}(?:#{{2,5}}\s|[-*]\s)?(?:\*\*)?(?:{_NAMED}\s?)?#?(?P<key>[0-9]{{1,2}}|(?<=[a-z가-힣] )[A-Ea-e])"
    r"\s?(?:\*\*)?[.):\u2013\u2014-](?:\*\*)?\s(?P<text>.{2,600})$"
)
_ROW = r"\s{0,3}\|\s*(?P<key>[0-9]{1,12})\s*\|(?P<text>.{2,600})\|\s*$"
_VERB = r"(?:do|go (?:with|for)|take|pick|choose|try|want|prefer|like|implement|use|select)"
_KO_END = r"(?=\W*$|,|\s(?:하자|가자|갑시다|할게|해|진행|좋|선택|합시다|부탁))"
_WE = r"(?:(?:let's|let us|i'd|i'll|we'll|i|we|can you|could you) )?"
_PICKED = (
    rf"^{OPENING}{_WE}(?:{_VERB}\s+)?(?:the )?(?:{_NAMED}s?\s?)?(?P<keys>{_NUMBERS}){_END}",
    rf"^{OPENING}{_WE}(?:{_VERB}\s)?{_NAMED}\s(?P<keys>[a-e])\b{_END}",
    rf"^{OPENING}(?:{_NAMED}\s?)?(?P<keys>{_NUMBERS})\s?(?:번|안)(?:\s?(?:으로|로|이|을|은|만))?{_KO_END}",
    rf"^{OPENING}(?:옵션|방안|방법)\s?(?P<keys>{_NUMBERS})\s?(?:으로|로)?{_KO_END}",
)
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "첫": 1, "두": 2, "세": 3, "네": 4,
}  # fmt: skip
_ORDINAL = (
    rf"^{OPENING}{_WE}(?:{_VERB}\s)?(?:the )?(?P<ordinal>first|second|third|fourth|fifth)"
    rf"(?: (?:one|option|approach|choice|variant)){_END}|^{OPENING}(?P<korean>첫|두|세|네)\s?번째(?:\s?(?:로|걸로"
    rf"|것으로|방법으로|안으로))"
)
_LEAVE = r"(?:skip|ignore|leave out|drop|(?:but|and|,) not|except(?: for)?|without|won't fix)"
_LEFT_OUT = (
    rf"\b{_LEAVE} (?:{_NAMED}s?\s?)?(?P<keys>{_NUMBERS})\b",
    rf"(?P<keys>{_NUMBERS})\s?번(?:은|을)?\s?(?:빼|제외|건너|스킵)",
)
_AGAIN = r"^(?:{verb}\s+)?(?P<key>[0-9]{{1,2}})[.)]\s+(?P<text>.{{8,300}})$"
_LISTED = r"^\W*[0-9]{1,2}[.)]\s"  # the first line of a list of the person's own
_OFFERS = (
    r"\?|\b(?:options?|approach(?:es)?|alternatives?|choices?|choose|pick|questionable|skip)\b|옵션|방안|방법|선택"
    r"|[할쓸갈]까|고르|골라|어느\s|어떤\s"
)
_JOINERS = re.compile(r"^(?:or better|or|alternatively|better|또는|아니면)[,:]?\s+", re.IGNORECASE)
_MARKS = re.compile(r"\*\*|__")
_DIGITS = re.compile(r"[0-9]{1,12}")


class Picked(Value):
    """An option that a person picked, or left out, and why (as far as it was said)."""

    text: str
    why: str = ""


def picks_of(prompt: str, answer: str) -> list[Picked]:
    """Return the options of the answer before that a prompt picks or leaves out."""
    if not answer or len(prompt) > _LONGEST_PROMPT or not _re(_OFFERS).search(answer[-_LOOK_AT:]):
        return []
    first = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    said, why = split_reason(first, fewest=1)
    left_out = [] if said.endswith("?") else _left_out(said)
    chosen = [] if left_out else _chosen(said)
    if not left_out and not chosen:
        return []
    options = options_of(answer)
    question = _question_before(answer)
    picked = [Picked(_as_pick(options[key], question), why) for key in chosen if key in options]
    out = [Picked(_as_left_out(options[key]), why) for key in left_out if key in options]
    return [one for one in (*picked, *out)[:_MOST] if one.text]


def is_pick(said: str) -> bool:
    """Return whether a sentence does nothing but pick or leave out numbered options, and means nothing without them."""
    return bool(_left_out(said) or _chosen(said))


def options_of(answer: str) -> dict[str, str]:
    """Return the options of an answer by their number or letter; of several lists, the last that has two."""
    lists: list[dict[str, str]] = [{}]
    for line in answer[-_LOOK_AT:].splitlines()[-_MOST_LINES:]:
        found = _re(_LINE).match(line) or _re(_ROW).match(line)
        if not found:
            continue
        key, text = found["key"].casefold(), found["text"]
        if key in lists[-1] or key in ("1", "a"):
            lists.append({})
        lists[-1][key] = _of_row(text) if "|" in line and line.lstrip().startswith("|") else _plain(text)
    return next((one for one in reversed(lists) if len(one) > 1), {})


def _left_out(said: str) -> list[str]:
    found = (match for form in _LEFT_OUT for match in _re(form).finditer(said))
    return [key for match in found for key in _keys(match["keys"])]


def _chosen(said: str) -> list[str]:
    restated = _re(_AGAIN.format(verb=rf"{OPENING}(?:let's |i'll |we'll )?{_VERB}")).match(said)
    if restated and restated.start("key") > 0:
        return [restated["key"]]
    if _re(_LISTED).match(said):
        return []
    for form in _PICKED:
        found = _re(form).match(said)
        if found:
            return _keys(found["keys"])
    ordinal = _re(_ORDINAL).match(said)
    return [str(_ORDINALS[ordinal["ordinal"] or ordinal["korean"]])] if ordinal else []


def _keys(text: str) -> list[str]:
    return list(dict.fromkeys(_DIGITS.findall(text))) or [text.casefold()]


def _plain(text: str) -> str:
    return _JOINERS.sub("", " ".join(_MARKS.sub("", text).split()), count=1)


def _of_row(cells: str) -> str:
    """Return the longest cell of a table's row, as its description."""
    return max((_plain(cell) for cell in cells.split("|")), key=len)


def _question_before(answer: str) -> str:
    """Return the last question before an answer's options, "" if there is none."""
    asked = ""
    for line in answer[-_LOOK_AT:].splitlines()[-_MOST_LINES:]:
        if _re(_LINE).match(line) and asked:
            return asked
        if line.rstrip().endswith(("?", "\uff1f")) and not _re(_LINE).match(line):
            asked = _plain(line)
    return ""


def _as_pick(option: str, question: str) -> str:
    text = shorten(option, _OPTION)
    if len(text.split()) >= (_FEWEST_WORDS_KO if is_korean(text) else _FEWEST_WORDS):
        return text
    return f"{shorten(question, _OPTION)} {text}" if question else ""


def _as_left_out(option: str) -> str:
    text = shorten(option, _OPTION)
    return f"빼기로 함: {text}" if is_korean(text) else f"Decided to leave out: {text}"


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
