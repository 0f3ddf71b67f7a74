# ruff: noqa: RUF001  # punctuation of other scripts is the subject
"""The patterns by which `gitmem.model.fact.find` finds facts, in English and Korean.

Regular expressions, case ignored, matched in single sentences of some hundred characters in which code and quotations
are masked; every repetition is bounded or followed by a character it cannot match. They match what a *person* says to
an agent. Precision before recall: a wrong rule in every session is worse than a missing one.

Tested through `tests/model/fact/test_find.py`.
"""

from __future__ import annotations

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.fact import FactKind
from gitmem.model.session.cue_patterns import CUES

# Words at the start of a sentence that a fact leaves out; "no" only as an answer, not as in "No version field".
OPENING = (
    r"(?:(?:and|but|so|also|please|ok|okay|oh|btw|by the way|again|hey|hmm|well|actually|just|now|yes|fyi|fwiw|note"
    r"|no(?=[,:;.!]|\s+(?:please|never|always|do not|don't|you|we|i)\b)"
    r"|그리고|그런데|아니|네|참고로|아)\b[,:;.!]{0,2}\s+){0,4}"
)
_DO_NOT = (
    r"(?:do not|don't) (?:use|commit|push|touch|edit|change|modify|add|create|write|mock|run|install|import|rename"
    r"|delete|remove|put|format|bump|upgrade|merge|rebase|squash|amend|skip)\b.{0,120}"
    r"\b(?:ever|without|directly|unless|in (?:this|the) (?:repo|repository|project|codebase)|anywhere)\b"
)
RULE = (
    rf"^(?:{OPENING}|[^,;]{{3,60}}, )(?:please )?(?:always|never)\s(?!mind\b)[a-z]{{2,}}"
    r"|\b(?:you|we|agents?|everyone|tests?|commits?|code|(?:the|every|each|all) [\w -]{1,40})"
    r" (?:should|must|shall|may|can) (?:always|never)\b"
    r"|\bwe (?:always|never) [a-z]+"
    r"|\b(?:from now on|going forward|from here on|henceforth|in (?:the )?future),? (?!work|version|release)"
    rf"|^{OPENING}(?:do not|don't) ever\b|^{OPENING}{_DO_NOT}"
    r"|\bmake sure (?:to |you |we )(?:always|never)\b"
    rf"|^{OPENING}(?:keep in mind|remember|bear in mind)(?:,? that|:)\s"
    rf"|^{OPENING}(?:every time|whenever) (?:you|we) [^?]{{3,80}}, "
    r"|\bmust (?:not|stay|remain|keep|continue to|work on|run on|be (?:backwards?|forwards?)[- ]compatible)\b"
    r"|(?:항상|언제나|매번|절대(?:로)?|앞으로는?|반드시)\s.{2,150}"
    r"(?:하세요|해\s?주세요|해줘|해라|하자|합시다|[할쓸]\s?것|합니다|한다|해야\s?(?:한다|합니다|해|돼|됩니다|함)"
    r"|지\s?(?:마|말)(?:세요|아|라|고|것|\s?것)?|써\s?(?:줘|주세요)?|쓰세요|쓴다|씁니다|안\s?(?:돼|됩니다|된다|됨))\W*$"
)
PREFERENCE = (
    r"\bi(?:'d| would)? (?:much |really |strongly |generally |usually )?(?:prefer|hate|dislike)\s"
    r"|\bi(?:'d| would) (?:much )?rather\s(?:you|we|have|use|keep|see)\b"
    r"|\bi (?:really )?don't (?:like|want) [\w` -]{3,60} (?:in|when|that|which|because|anywhere)\b"
    r"|\bmy (?:[a-z]+ ){0,2}(?:user ?(?:name)?|handle|account|e-?mail(?: address)?|editor|shell|os|time ?zone|pronouns"
    r"|name|nickname|domain|org(?:ani[sz]ation)?) is \S"
    r"|(?:저는|나는|전|난)\s.{2,100}(?:선호(?:해|합|한)|좋아(?:합|해|한)|싫(?:어|다|습))|(?:을|를|이|가)\s(?:더\s)?선호(?:합니다|해요|한다|함)"
)
DECISION = (
    rf"{CUES[MemoryType.DECISION]}"
    rf"|^{OPENING}(?:let's|let us|we'll|we will|we should|we) (?:use|go with|stick (?:with|to)|switch to|move to|adopt"
    r"|keep using)\b.{1,120}\b(?:instead(?: of)?|rather than|over|not|because|since|everywhere"
    r"|for (?:all|every|everything))\b"
    rf"|^{OPENING}(?:use|prefer|choose|pick) [^,;.]{{1,60}},? (?:instead of|not|rather than|over|and not) \S"
    r"|\S\s(?:말고|대신(?:에)?)\s.{1,60}(?:써|쓰자|쓰세요|씁시다|사용해|사용하자|사용하세요|하자|합시다|가자|갑시다)"
    r"(?:\s?(?:줘|주세요))?\W*$"
)
CORE_LOGIC = (
    r"\b(?:is|are|as) (?:now )?the (?:single |only )?source of truth\b"
    r"|\b(?:is|are|was|were) (?:being |now |officially )?"
    r"(?:deprecated|phased out|discontinued|end[- ]of[- ]life|obsolete)\b"
    r"|\bwe (?:only |all |currently |exclusively )?(?:use|deploy|release|ship|support|target|host|store)\s"
    r"(?!this|that|it|them|these|those|to\b)[\w`@./+-]"
    r"|\S만\s(?:씁니다|쓴다|사용합니다|사용한다|지원합니다|지원한다)|더\s?이상\s(?:쓰지|사용하지|지원하지)\s않"
)
# In order of evaluation.
SAID_BY_A_PERSON = {
    FactKind.PREFERENCE: PREFERENCE,
    FactKind.DECISION: DECISION,
    FactKind.RULE: RULE,
    FactKind.CORE_LOGIC: CORE_LOGIC,
}
# Questions, conditions, plans for now, hearsay.
NOT_A_FACT = (
    rf"^{OPENING}(?:if|unless|suppose|assuming|should|could|would|can|do|does|did|is|are|was|were|will|what|why|how|who"
    r"|where|which|when|maybe|perhaps|let me|i (?:think|guess|wonder|believe|thought|see|saw|noticed|got)|만약|혹시)"
    r"\b(?!(?: not|n't))"
    r"|\b(?:it|this|that|he|she|they|there|one) (?:always|never)\b"
    r"|\b(?:for now|for the moment|right now|just this (?:once|time)|this time|temporarily|today|at the moment)\b"
    r"|\b(?:i (?:think|guess|wonder|believe|suppose)|not sure|maybe|perhaps|might|says|said|told me|claims?)\b"
    r"|[?？]\W*$|(?:right|or|correct|no)\?$|까요\W*$|나요\W*$|일단|이번에는|이번만|지금은"
)
# References to the conversation around the sentence.
DEICTIC = (
    rf"^{OPENING}(?:it|this|these|those|they|he|she|there|here|which|that)(?:'s|\b)"
    r"|\b(?:do|does|use|using|keep|make|go with|stick with|try|like|prefer|want|fix|remove|change|push|commit|run|merge"
    r"|with|to|for|of|as|remember|decided|instead of|rather than|over|not|on)"
    r" (?:this|that|it|these|those|them|yours|mine|one)"
    r"(?=[\s.,;!]*$|[.,;!]| (?:and|or|but|if|so|because|since|instead|as|in|on|to|for|too|now|again|way))"
    r"|\b(?:option|approach|step|item|point|plan|variant|choice|number|suggestion|proposal|idea)s?\s?#?"
    r"(?:[0-9]{1,3}|[a-d])\b"
    r"|\b(?:the )?(?:first|second|third|former|latter|last|other) (?:one|option|approach|two)\b"
    r"|\b(?:above|below|you(?:'ve| have)? (?:said|suggested|proposed|mentioned|listed|described)|your \w+)\b"
    r"|^\W*#?[0-9]{1,6}\W|^(?:이거|그거|저거|이것|그것|저것|여기|거기|이렇게|그렇게)"
)
# A request after a statement.
ASIDE = (
    r"(?<=\w), (?:please |so (?:please )?|can you |could you )?"
    r"(?:check|see|look at|fix|update|refer to|read)\b.{0,200}$"
)
# Labels of the sentence that describes the error.
WRONG = r"^(?:the )?(?:(?:actual|real) )?(?:bug|problem|issue|root cause|cause|error|원인|문제|버그)\s?[:：]\s*"
