"""Sentences of an answer that are worth keeping.

The patterns of `gitmem.sessions.cues`, in English and Korean; regular expressions, case ignored.

They are matched in single sentences of at most some hundred characters, and were chosen by reading what they find in
recorded sessions of real agents.

Tested through `tests/sessions/test_cues.py`.

Sentences of an agent's answer worth keeping: decisions, open issues, learnings, fixes.

Cues in English and Korean, with precision before recall: questions, offers, plans, quotations, suppositions and
denials are no memories, and a problem that the answer then works on is no open issue.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.document.entry import MemoryType
from gitmem.text.sentences import Block, Kind, blocks, mask_code, sentences_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator


# ruff: noqa: RUF001  # punctuation of other scripts is the subject


# Headings whose list items are memories. Fewer words than labels: "Fix" and "TODO" also head the steps of a plan.
HEADINGS = {
    MemoryType.DECISION: (
        r"(?:(?:final|key|design|main)\s)?decisions?(?:\s(?:made|taken))?"
        r"|(?:핵심\s|최종\s|주요\s)?결정(?:\s?사항|\s?내용)?"
    ),
    MemoryType.ISSUE: (
        r"(?:known|open|remaining|outstanding|unresolved)\s(?:issue|problem|bug|limitation)s?"
        r"|(?:알려진|남은|미해결)\s?(?:문제|이슈|버그|제한)(?:점|\s?사항)?"
    ),
    MemoryType.LEARNING: r"lessons?(?:\slearned)?|learnings|교훈|배운\s?(?:점|것)",
}
# "Decision: ..."; the label is left out of the memory.
LABELS = {
    MemoryType.DECISION: HEADINGS[MemoryType.DECISION] + r"|decided",
    MemoryType.ISSUE: HEADINGS[MemoryType.ISSUE]
    + r"|still open|TODO|FIXME|limitations?|남은\s?과제|미해결|제한\s?사항",
    MemoryType.LEARNING: (
        HEADINGS[MemoryType.LEARNING]
        + r"|learned|(?:key\s)?(?:insight|takeaway)|TIL|gotchas?|(?:the\s)?(?:root|real|underlying)\scause"
        r"|(?:근본\s?)?원인|알게\s된\s?(?:점|것)"
    ),
    MemoryType.ERROR_FIX: r"(?:the\s)?(?:fix|solution|resolution|workaround)|해결(?:\s?방법|책)?|조치|수정\s?방법",
}
_WE = r"(?:we|i|you|they|the team)(?:'ve|\shave)?(?:\s(?:just|finally|all|both))?\s"
_HANDLED = r"(?:been )?(?:fixed|resolved|implemented|supported|handled|addressed)"
_MENDED = r"(?:고쳤|고쳐졌|해결했|해결하였|해결됐|해결되었|해결됨|바로잡)"
CUES = {
    MemoryType.DECISION: (
        rf"\b{_WE}(?:decided|agreed|settled|opted)\s(?:to|on|for|that|against|not)\b"
        r"|\bit was (?:decided|agreed) (?:to|that)\b|\bthe decision (?:is|was) to\b"
        r"|(?:\b(?:we|i)(?:'re|\sare|\sam|'m)\s|^)going with\b.*\b(?:instead|over|rather|because|since|as|for)\b"
        rf"|\b{_WE}(?:chose|picked|went with)\b.*\b(?:instead of|over|rather than|because|since)\b"
        r"|기로\s?(?:(?:했|하였)(?!으나|지만|던)|결정|합의|정했|정함|합니다|한다|함)"
        r"|[으기]?로\s?(?:결정|확정)(?:했|하였|되었|됐|합니다|한다|함|됨)"
        r"|결정.*로\s(?:한다|합니다|했)"
    ),
    MemoryType.ISSUE: (
        r"\bknown (?:issue|bug|limitation|problem)\b"
        r"|\bstill (?:fail(?:s|ing)?|broken|crash(?:es|ing)?|do(?:es)?(?:n't| not) work|not working|flaky|unresolved"
        r"|unfixed)\b"
        rf"|\bnot yet {_HANDLED}\b|\bnot {_HANDLED} yet\b|\b(?:is|are|has|have|does|do)n't (?:{_HANDLED}|work) yet\b"
        r"|\bremains? (?:open|unfixed|broken|unresolved|unsolved)\b"
        r"|알려진\s(?:문제|이슈|버그|제한)(?:입|이다|로|점)|(?:해결되|고쳐지)지\s?않[았은]|미해결|미구현\s?(?:상태|입|이다)"
        r"|아직\s.*(?:안\s?(?:됩|돼|되|됨)|안\s?고쳐|못\s?고쳤|실패|(?:문제|오류|버그).*남아"
        r"|(?:해결|지원|구현|처리|작동|동작|수정)[하되]지\s?(?:않|못))"
        r"|여전히\s.*(?:실패|오류|에러|깨[집지진져]|안\s?(?:됩|돼|되|됨)|발생|지\s?않|느[리립린]|재현)"
    ),
    MemoryType.LEARNING: (
        r"(?:^|\b(?:it|this|that|which) |[,;:] )turn(?:s|ed) out "
        r"(?!(?:to be )?(?:so|really|great|well|fine|good|nice)\b)"
        r"|\bthe (?:bug|problem|issue|failure|error|crash|hang|leak) (?:is|was) (?:that|in|caused by|because|due to)\b"
        r"|\b(?:was|were) causing the (?:bug|crash|failure|error|hang|leak)"
        r"|\bit was (?:caused by|because)\b|\bthe culprit (?:was|is)\b"
        r"|\b(?:root|real|actual|underlying) cause (?:was|is|of\b.*\b(?:was|is))\b"
        rf"|\b{_WE}(?:learned|discovered) that\b"
        r"|원인은\s.*(?:이?었|였|입니다|이다|임|때문|것|니다|했다)|원인이었(?:다|습니다|음|어요)(?![가-힣])|알고\s?보니|(?:것을|걸|점을|사실을)\s알게\s?되"
    ),
    MemoryType.ERROR_FIX: (
        r"(?<![\w-])(?:fixed|resolved|solved|cured|worked around)\b.{0,120}?\bby [a-z]+ing\b"
        r"|^(?:i(?:'ve| have)? )?(?:now )?(?:fixed|resolved|solved) "
        r"(?:by\b|[^-–—;:].*(?: [-–—] (?!see\b)|; |,? so (?:that )?|\bbecause ))"
        r"|\b(?:was|is|got|be|been) (?:fixed|resolved|solved) by\b"
        r"|\bthe (?:fix|solution|workaround) (?:was|is) "
        r"(?:to\b|that\b|adding|removing|using|setting|moving|passing|in `)"
        rf"|(?:로|해서|하여|하니|여서|어서|아서|자)\s(?:(?:문제|오류|에러|버그)[를을가이]\s)?{_MENDED}"
    ),
}
# Beginnings of sentences that need the sentence before.
LEANS_BACK = r"(?:i(?:'ve| have)? )?(?:now )?(?:fixed|resolved|solved|worked around) by\b|(?:이는|이것은|그래서)\s"
# Beginnings of offers, plans, conditions and questions.
NOT_AT_START = (
    r"(?:(?:now|next|then|first|so|ok|okay|and|but|perfect|great|good)\b[,.!]?\s)*"
    r"(?:let me|let's|let us|i'll|i will|i can|i could|i should|i need|i'm going to|i am going to|we'll|we can|we could"
    r"|we should|we need|you can|you could|you may|you should|should|shall|would|could|can|do|does|did|is|are|want me"
    r"|if|unless|when|whenever|in case|suppose|assuming|checking|please|make sure|remember to|feel free"
    r"|만약|혹시)\b"
)
NOT_AT_END = r"[?？]\W*$|(?:까요|나요|는지요|을까|는가|습니까|겠습니다|겠어요|할게요|할까|주세요|세요)\W*$"
# Suppositions, wishes and plans.
UNSURE = (
    r"\b(?:might|maybe|perhaps|probably|possibly|presumably|apparently|likely|whether|could be|may be|should be"
    r"|would be|not sure|unclear|unless|to see if|check(?:ing)? if|in case|hopefully"
    r"|i (?:think|guess|suspect|believe))\b"
    r"|것 같|듯합|듯하|듯 하|아마|일 수(?:도)? 있|할 수(?:도)? 있|인지 확인|추정|의심|(?:한다|된다|하|되|이라|라)면\s"
)
DENIED = {
    MemoryType.DECISION: (
        r"\b(?:not|n't|never) (?:yet )?(?:decide|agree|settle|chosen|choose)|\bundecided\b"
        r"|결정(?:하|되)지\s?(?:않|못)|결정해야|결정이\s?필요|결정할|기로\s?하지\s?않"
    ),
    MemoryType.ISSUE: (
        r"\bno (?:\w+ ){0,2}(?:known|open|remaining|outstanding)\b|\b(?:not|n't) a known\b|\bno longer\b|\bnone\b"
        r"|(?:문제|이슈|버그)(?:는|은|가|이|도)?\s?없|없음|없습니다"
    ),
    MemoryType.LEARNING: (
        r"\bcause (?:was|is)(?:n't| not| unknown| still| unclear)"
        r"|원인은\s(?:아직|불명|모르|알 수 없)|원인이\s?아니"
    ),
    MemoryType.ERROR_FIX: (
        r"\b(?:not|n't|never|cannot|can't) (?:be |yet )?(?:fix|resolv|solv)|(?:해결|고쳐)[^.]{0,6}지\s?(?:않|못)"
    ),
}
# Topics without a verdict: indirect questions.
TOPIC = r"\W{0,4}(?:whether|why|how|what|which|who|where|when)\b(?! (?:ever|soever))"
# Code outside a fence.
CODE = r"[\])}>\"'\w];\s*(?:$|//)|=>|^\$\{|[{}]\s*$|\w\(\w*\)[,;]"
# Phrases with which an agent works on a problem it has just met.
WORKING_ON_IT = (
    r"(?:now |next |so |ok |okay |then )?,?\s?(?:let me|let's|i'll|i will|i need|i'm going|fixing|checking)\b"
)
RESOLVED = (
    r"^\[x\]|✅|☑|^~~.*~~$|\((?:resolved|fixed|solved|done|closed)[^()]*\)"
    r"|\b(?:is|was|are|were|been|got|now|all|status:) (?:now |all |already )?(?:resolved|fixed|solved|closed|done)\b"
    r"|^(?:resolved|fixed|solved|closed|done)\b|\b(?:resolved|fixed|solved|closed|done)\W*$"
    r"|\bno longer (?:fail|crash|happen|occur|reproduc|broken|an issue|a problem)|\bworks now\b|\bnow works\b"
    r"|해결(?:됨|했|하였|됐|되었|완료|\s완료)|수정\s?(?:완료|됨|했)|고쳤|고쳐졌|고침|처리\s?완료|더\s?이상\s.*(?:않|없)"
)
UNRESOLVED = (
    r"\b(?:not|n't|never|un|to be|should be|must be|needs? to be|will be|can be|cannot be|until|once|when|if|partly"
    r"|partially)\s?(?:yet |fully |been |be |it is |it's |this is )*(?:fixed|resolved|solved|closed|done)\b"
    r"|\bstill (?:fail|open|broken|crash|not)|미해결|해결되지|해결하지|고쳐지지|안\s?고쳐|해결(?:되면|하면|할|해야)"
)


MENDED = 0.6  # share of an issue's words that its fix has
# Characters of a sentence: a shorter one is not understood later, a longer one is data.
_SHORTEST = 9
_LONGEST = 600
_LEADS_ON = (":", "\uff1a")  # ends of a sentence that introduces the next
_LOOK_AT = 400_000  # characters of an answer; real ones have a few thousand


class Cue(Value):
    """A sentence worth keeping and its type; a label ("Decision:") is left out of the text."""

    type: MemoryType
    text: str


def find_cues(text: str) -> list[Cue]:
    """Return the decisions, issues, learnings and fixes in an agent's answer (markdown), each sentence once."""
    found: dict[str, Cue] = {}
    heading: MemoryType | None = None
    parts = blocks(text[:_LOOK_AT])
    for index, block in enumerate(parts):
        if block.kind is Kind.HEADING:
            heading = _heading_type(block.text)
            continue
        following = parts[index + 1] if index + 1 < len(parts) else None
        for cue in _cues_of(block, heading, following):
            found.setdefault(cue.text.casefold(), cue)
    return list(found.values())


def without_label(text: str) -> str:
    """Return a text without its label ("Decision: ...")."""
    cue = _labelled(text)
    return cue.text if cue else text


def is_resolved(text: str) -> bool:
    """Return whether the text of an issue says that it is resolved."""
    masked = mask_code(" ".join(text[:_LOOK_AT].split()))
    return bool(_re(RESOLVED).search(masked)) and not _re(UNRESOLVED).search(masked)


def _cues_of(block: Block, heading: MemoryType | None, following: Block | None) -> Iterator[Cue]:
    """Yield the cues of one block; `heading` is the type of items under the heading above it."""
    if block.kind is Kind.QUOTE:
        return
    sentences = sentences_of(block)
    for index, sentence in enumerate(sentences):
        last = index + 1 == len(sentences)
        after = sentences[index + 1] if not last else following.text if following else ""
        cue = _labelled(sentence)
        if cue is None and heading and index == 0 and block.kind is Kind.ITEM:
            cue = Cue(heading, sentence)
        if cue is None and (kind := _stated(sentence, after)):
            before = sentences[index - 1] if index and _re(LEANS_BACK).match(sentence) else ""
            cue = Cue(kind, f"{before} {sentence}".strip())
        if cue and _says_something(cue):
            yield cue


def _labelled(sentence: str) -> Cue | None:
    """Return the cue of a sentence with a label ("Decision: ...")."""
    for kind in LABELS:
        if label := _label_form(kind).match(sentence):
            return Cue(kind, sentence[label.end() :])
    return None


def _stated(sentence: str, after: str) -> MemoryType | None:
    """Return the cue of a sentence without a label, None unless it is certain."""
    if len(sentence) > _LONGEST or sentence.endswith(_LEADS_ON):
        return None
    masked = _quotes().sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))
    kind = next((kind for kind, form in CUES.items() if _re(form).search(masked)), None)
    if kind is None or _re(NOT_AT_START).match(masked) or _re(UNSURE).search(masked):
        return None
    if kind is MemoryType.ISSUE and _re(WORKING_ON_IT).match(after):
        return None
    return kind


def _says_something(cue: Cue) -> bool:
    """Return whether a cue's text is a statement that is understood without its context."""
    masked = mask_code(cue.text)
    wide = sum("\u1100" <= character <= "\uffdc" for character in masked[:_SHORTEST])  # Hangul needs fewer characters
    if not _SHORTEST - wide <= len(masked) <= _LONGEST or " " not in masked or masked.endswith(_LEADS_ON):
        return False
    if _re(CODE).search(masked) or _re(NOT_AT_END).search(masked):
        return False
    if _re(DENIED[cue.type]).search(masked) or _re(TOPIC).match(masked):
        return False
    return cue.type is not MemoryType.ISSUE or not is_resolved(cue.text)


def _heading_type(title: str) -> MemoryType | None:
    return next((kind for kind, form in HEADINGS.items() if _re(rf"\W*(?:{form})\W*$").match(title)), None)


@cache
def _label_form(kind: MemoryType) -> re.Pattern[str]:
    # Something may stand before it (an emoji), and it needs a colon or a dash of its own.
    return re.compile(rf"\W{{0,4}}(?:{LABELS[kind]})\s?(?:[:\uff1a]|\s[\u2013\u2014])\s*(?=\S)", re.IGNORECASE)


@cache
def _quotes() -> re.Pattern[str]:
    return re.compile(r"\"[^\"\n]{1,200}\"|[\u201c\u300c][^\u201d\u300d\n]{1,200}[\u201d\u300d]")


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
