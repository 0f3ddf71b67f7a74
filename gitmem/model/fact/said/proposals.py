"""What an answer proposes and the next prompt accepts: choices with their purpose, and the terms of a design. Pure.

An answer alone decides nothing. "I'll use SQLAlchemy for the ORM" counts if the person goes on without objecting; a
list of terms ("Rate limits: ...") counts if the person asked for a design and accepts it in so many words, and the
agent had not changed a file yet: a list after changes reports them.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.said.cues import LEANS_BACK
from gitmem.model.fact.said.statements import Statement, points_elsewhere
from gitmem.model.session.cues import patterns
from gitmem.text.sentences import Kind, blocks, mask_code, sentences_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.session.turns import Turn
    from gitmem.text.sentences import Block

_CHOSEN, _DESIGNED = 0.6, 0.5
_MOST_ITEMS = 8
_LONGEST_LIST = 900  # characters
_LONGEST = 300  # characters of a sentence
_ACCEPTS = (
    r"^\W*(?:yes|yep|yeah|good|great|perfect|nice|ok|okay|sure|agreed|approved|confirmed|lgtm|looks good|sounds good"
    r"|do it"
    r"|go ahead|ship it|set (?:it|this) up|implement (?:it|this|that|all)|add (?:it|this|that)\b|love it|makes sense"
    r"|please do"
    r"|네|넵|응|좋아|좋습니다|그래|진행|그렇게|괜찮|맞아)(?![\w'])"
)
_OBJECTS = (
    r"^\W*(?:no|nope|don't|do not|wait|stop|hold on|actually|rather|instead|hmm|why|wrong|that's not|that is not|but"
    r"|i'd rather|can't we|아니|잠깐|왜|그게 아니|말고)\b|\b(?:instead of|rather not|don't use|not use|revert|undo)\b"
    r"|말고"
)
_DESIGN = r"\b(?:i want|i'd like|i need|we need|let's|let us|time to|how (?:should|do) (?:we|i)|design|하자|필요|싶)\b"
_CHOICE = (
    r"^(?:i'll|i will|we'll|we will) (?:use|go with|store|keep|rely on) \S.{2,200}\b(?:for|as|to|in|because)\s\S"
    r"|^us(?:e|ing) [A-Z`@]\S.{0,160}\b(?:for|as|instead of|because|to)\s\S"
    r"|^us(?:e|ing) `?[a-z]\S{2,40}`? (?:for|as|to)\s\S|\b(?:you|we) must use \S"
    r"|^use `?\S{3,40}`? [\u2013\u2014-] an? \S"
    r"|^all (?:new |\w+ )?\w+ (?:use|go|live|are|run|return)\s\S"
)
# Terms of a design in a sentence of their own.
_TERM = (
    r"^[A-Z][\w /-]{2,30}: (?!http)\S.{8,250}|\b(?:rather than|instead of|by default|defaults to)\b"
    r"|^[A-Z`]\S{0,40} (?:\S{1,30} ){0,5}(?:stored|kept|used|enforced|signed|served) (?:in|with|by|at|as)\s"
)
_HERE = r"^(?:here (?:is|are)|here's) (?:the |my |an? )?"
_REPORTS = (
    r"^\W*(?:noted|added|got it|done|implemented|changes?|summary|completed|pending|in progress|verification|removed"
    r"|fixed"
    r"|updated|created|files|next|status|current|result|commands?|setup commands|old|new|fix|step|to do|todo|issue"
    r"|problem"
    r"|two (?:things|reasons)|key points|what)\b"
)
_NOT = r"[?\uff1f]\W*$|\b(?:if you|would you|want me|should i|let me|maybe|might|could)\b"


def accepted_proposals(turn: Turn, after: str) -> Iterator[Statement]:
    """Yield the proposals in a turn's answer that the next prompt, `after`, accepts."""
    if not after or _re(_OBJECTS).search(after[:200]):
        return
    parts = blocks(turn.answer)
    designed = not turn.files and _re(_ACCEPTS).match(after) and _re(_DESIGN).search(turn.prompt)
    for block in parts:
        if block.kind is Kind.PARAGRAPH or (block.kind is Kind.ITEM and not designed):
            forms = (_CHOICE, _TERM) if designed else (_CHOICE,)
            for sentence in filter(lambda one: _states(one, forms), sentences_of(block)):
                yield Statement(FactKind.DECISION, sentence, confidence=_CHOSEN)
    if designed:
        yield from (Statement(FactKind.CORE_LOGIC, text, confidence=_DESIGNED) for text in _terms(parts))


def _states(sentence: str, forms: Sequence[str]) -> bool:
    masked = mask_code(sentence)
    if len(sentence) > _LONGEST or sentence.endswith(":") or not any(_re(form).search(masked) for form in forms):
        return False  # as most sentences: the other forms are slower
    if _re(_NOT).search(masked) or _re(_REPORTS).match(masked):
        return False
    return not points_elsewhere(masked) and not _re(LEANS_BACK).match(masked)


def _terms(parts: Sequence[Block]) -> Iterator[str]:
    """Yield each list of terms with the line that names it."""
    lead, items = "", []
    for block in (*parts, None):
        if block is not None and block.kind is Kind.ITEM:
            items.append(block.text.replace("**", ""))
            continue
        if lead and 1 < len(items) <= _MOST_ITEMS:
            text = f"{lead}: {'; '.join(item.strip(' .;') for item in items)}"
            if (
                len(text) <= _LONGEST_LIST
                and not _re(_REPORTS).match(lead)
                and not _re(patterns.CODE).search(mask_code(text))
            ):
                yield text
        if block is not None:
            last = block.text if block.kind is Kind.HEADING else (sentences_of(block) or [""])[-1]
            names = block.kind is Kind.HEADING or last.endswith(":")
            lead, items = _re(_HERE).sub("", last.replace("**", "").strip(" :"), count=1) if names else "", []


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
