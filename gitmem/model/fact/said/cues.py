"""The patterns by which `gitmem.model.fact.said.statements` finds a person's statements in English.

Regular expressions, case ignored, matched in single sentences of some hundred characters in which code and quotations
are masked; every repetition is bounded or followed by a character it cannot match. They match what a *person* says to
an agent. Precision before recall: a wrong rule in every session is worse than a missing one. Korean is in `cues_ko`.

Tested through `tests/model/fact/said/test_statements.py`.
"""

from __future__ import annotations

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.said import cues_ko
from gitmem.model.session.cues.patterns import CUES

# Words at the start of a sentence that a fact leaves out; "no" only as an answer, not as in "No version field".
OPENING = (
    r"(?:(?:and|but|so|also|please|ok|okay|oh|btw|by the way|again|hey|hmm|well|actually|just|now|yes|yeah|yep|sure|fyi"
    r"|fwiw|note|wait|great|good|perfect|looks good|sounds good|one more thing|then|however|instead|first|remember to"
    r"|remember that|no(?=[,:;.!]|\s+(?:please|never|always|do not|don't|you|we|i)\b)"
    rf"|{cues_ko.OPENING})\b(?:\s[\u2013\u2014-]{{1,2}}\s+|[,:;.!]{{0,2}}\s+)){{0,4}}"
)
# "A few preferences: ..." and "Convention: ...": the rest is a preference by itself.
LEAD = (
    r"^[^:.?!]{0,80}\b(?:preferences?|conventions?|how i (?:like|want|prefer)[^:]{0,30}|ground rules|house rules|rules?"
    r"|guidelines|constraints?|requirements?)\b[^:.?!]{0,40}:\s"
)
# "Remember: ...", "Note to self: ...": the rest is a rule by itself.
NOTE = r"^(?:please )?(?:remember|keep in mind|bear in mind|note to self|for the record|don't forget)\s?:\s"
_I = r"(?:i|we)(?:'d|'ll| would| will)? (?:also |only |just |really |still |all |both )?"
_CHOOSE = (
    r"(?:use (?!the time\b|an? (?:\w{2,12}er|different|new|bit)\b)|go (?:with|for)|stick (?:with|to)"
    r"|switch (?:over )?(?:to"
    r"|from)|adopt|standardi[sz]e on|settle on|stay (?:with|on)|rely on"
    r"|default to|migrate|move (?:away )?(?:from|off|over|everything)|keep (?!going|on\b|working|at\b|trying|me\b)"
    r"|drop (?!it\b|that\b|this\b|a\b)|avoid (?!another\b|the\b|that\b|this\b|it\b)|get rid of"
    r"|replace (?-i:[A-Z])\S{1,30} (?:with|by))"
)
# What somebody asks to be given, not to be built.
_GIVEN = (
    r"(?:(?:the|my|our|each) (?:\S{2,20} ){1,3}to\b|to\b|you\b|your\b|it\b|this\b|that\b|them\b|these\b|those\b"
    r"|some\b|more (?:info|details?)\b|help\b|another\b"
    r"|everything\b|something\b|nothing\b|anything\b|any\b|one\b|all of\b|what\b|both\b|proof\b|(?:a|an|the|your)"
    r" (?:\w+ )?(?:list|summary|explanation|answer|report|plan|example|review|diff|overview|look|second|minute|way"
    r"|link|draft|comparison|table|pr|commit|fix|test|break|reason|idea|coffee|lot|hand|thing|better one)\b)"
)
_HABIT = r"(?!got|get|see|saw|had|did|was|were|been|end|fail|run into|have to|know|knew|thought|\w{2,14}ed\b)[a-z]+"
_NEVER_AGAIN = (
    r"(?:use|mock|hard-?code|swallow|introduce|rely on|depend on|expose|leak|silence|suppress|import|log|store|cache"
    r"|nest|inline|abbreviate|vendor)"
)
_TASK = (
    r"(?:commit|push|touch|edit|change|modify|add|create|write|run|install|rename|delete|remove|put|format|bump|upgrade"
    r"|merge|rebase|squash|amend|skip|deploy|break|refactor|publish|rewrite|use|import|mock)"
)
_STANDING = (
    r"(?:\b(?:ever|directly|unless|anywhere|because|since|generated|in production|on main|in (?:this|the) (?:repo"
    r"|repository|project|codebase)|without (?:asking|my|a|an|approval|permission|review|tests?)\b))"
)
RULE = (
    rf"^(?:{OPENING}|[^,;]{{3,60}}, )(?:please )?(?:always|never)\s(?!mind\b){_HABIT}"
    r"|\b(?:you|we|agents?|everyone|tests?|commits?|code|(?:the|every|each|all) [\w -]{1,40})"
    r" (?:should|must|shall|may|can) (?:always|never)\b"
    rf"|\bwe (?:always|never) {_HABIT}"
    r"|\b(?:from now on|going forward|from here on|henceforth|in (?:the )?future),? (?!work|version|release)"
    r"|\S (?:from now on|going forward)\b"
    rf"|^{OPENING}(?:do not|don't) ever\b"
    rf"|^{OPENING}(?:do not|don't) {_TASK}\b.{{0,120}}{_STANDING}"
    rf"|^{OPENING}(?:do not|don't) {_NEVER_AGAIN} (?:\S{{2,40}} ){{0,8}}\S{{3,40}}"
    r"|\bmake sure (?:to |you |we )(?:always|never)\b"
    rf"|^{OPENING}(?:make sure|ensure|be sure)(?: that)? (?!you\b|to\b|it\b|this\b|that\b|they\b|everything\b|we\b"
    r"|(?:all |the )?(?:new |existing |unit |integration )?(?:tests?|build|lint|ci|types?|code|app|changes?|server)\b)"
    r"(?:\S{1,40} ){1,6}(?:is|are|has|have|does|do|gets?|goes|stays?|defaults?|uses?|returns?|[a-z]{3,14}s)\b"
    rf"|^{OPENING}(?:make sure|ensure) we (?:\S{{1,40}} ){{2,12}}(?:but|if|when|before|after|only|not)\b"
    rf"|^{OPENING}(?:keep in mind|remember|bear in mind|don't forget)(?:,? that| to|:)\s"
    rf"|^{OPENING}(?:every time|whenever) (?:you|we) [^?]{{3,80}}, "
    rf"|^{OPENING}keep (?:the |all |your |our |every )?(?!going|on\b|working|at\b|trying|me\b|it\b|this\b|that\b"
    rf"|an eye|up\b"
    r"|in mind|looking|them\b)[\w./ -]{3,60} (?:in|on|under|out of|short|concise|small|simple|minimal|below|as|to"
    r"|behind"
    r"|separate|flat|private|sorted|stable|backwards?[- ]compatible|synchronous|pure|free of)\b"
    rf"|^{OPENING}only (?:use|commit|push|merge|deploy|log|store|import|test|mock|expose|allow|support)\s"
    rf"|^{OPENING}(?:run|write|add|update|check|ask|test|commit|push|squash|rebase|bump|document) .{{2,80}}"
    r"\b(?:before|after|for|on|with|in) (?:each|every|committing|pushing|merging)\b"
    r"|\bmust (?:not|never|stay|remain|keep|continue to|work on|run on|be (?:backwards?|forwards?)[- ]compatible)\b"
    r"|^(?!(?:you|there|it|this|that|something|someone|he|she|i)\b)(?:\W?[\w`'./-]+ ){1,6}must (?:also |all |always )?"
    r"(?!have been|be (?:an?|the|some|something|related|caused|due|why|how|because|in|[a-z]{2,12}ing)\b)[a-z]+\b"
    rf"|^{OPENING}(?:all|every|each|any|no|new)(?: new| of (?:the|our))? (?:\S{{2,30}} ){{1,5}}"
    r"(?:must|should(?! (?:pass|work|be (?:green|fine|ok))\b)|needs? (?:to|an?)|ha(?:s|ve) to|shall|may not|cannot"
    r"|can't|goes? (?:in|through|under))\b"
)
PREFERENCE = (
    r"\bi(?:'d| would)? (?:much |really |strongly |generally |usually )?(?:prefer|hate|dislike)\s"
    r"|\bi(?:'d| would) (?:much )?rather\s(?:you|we|have|use|keep|see|not|avoid|go|stay|stick|do|write|pay|wait)\b"
    r"|\bi (?:really |personally )?(?:don't|do not) (?:like|want) [\w`@./ -]{3,60}"
    r"(?:[,;.!]|$| (?:in|when|that|which|because|since|anywhere|at all|for)\b)"
    rf"|\b(?:when|if|whenever) i \S.{{2,60}} i (?:always|never|usually|only) {_HABIT}|^i (?:always|never|usually"
    rf"|only) {_HABIT}"
    r"|\bmy (?:[a-z]+ ){0,2}(?:user ?(?:name)?|handle|account|e-?mail(?: address)?|editor|shell|os|time ?zone|pronouns"
    r"|name|nickname|domain|org(?:ani[sz]ation)?) is \S"
    rf"|^{OPENING}call me \S"
)
DECISION = (
    rf"{CUES[MemoryType.DECISION]}"
    rf"|^{OPENING}(?:let's|let us|(?:we|i)(?:'ll| will| should| shouldn't)|(?:we|i)'d rather) (?:not |just |only "
    rf"|also )?{_CHOOSE}"
    rf" ?\S.{{1,160}}"
    rf"|\b(?:i|we)(?:'d like| would like| want| need|'ve decided|'re going|'m going|'re moving| plan"
    rf"| are going) (?:us )?"
    rf"to {_CHOOSE}\b.{{2,160}}"
    rf"|^{OPENING}{_I}(?:want|like(?<=d like))\s(?!{_GIVEN})\S.{{5,200}}"
    rf"|^{OPENING}{_I}need\s(?!{_GIVEN}|more\b)\S.{{5,160}}\b(?:by|per|across|every|each|for all|only)\b"
    r"|\bi (?:also )?want to [a-z]+ \S.{3,80}\b(?:after|before|every|each|per|without|whenever|only)\b"
    rf"|^{OPENING}(?:we're|we are|i'm|i am) (?:now )?(?:moving|switching|migrating|going) (?:away from|off|over to"
    rf"|from|to"
    r"|with)\s(?!the next)\S"
    r"|\b(?:switch|switched|migrate|migrated|switching|migrating|(?:we|i)(?:'ve|'re)? mov(?:ed?"
    r"|ing)) (?:\S{1,30} ){0,4}"
    r"from (?!one\b)\S{1,30}(?: \S{1,30}){0,3} (?:over )?to\s\S"
    r"|\bwe (?:no longer|don't|do not|stopped|have stopped) (?:use|using|support|supporting) \S.{1,60}"
    rf"|^{OPENING}we (?:really )?(?:don't|do not|never) want \S.{{5,120}}|^{OPENING}we (?:shouldn't"
    rf"|should not) \S.{{8,120}}"
    rf"|^{OPENING}(?:replace|drop|swap|ditch) (?:\S{{1,30}} ){{1,4}}(?:(?:with|for) (?-i:[A-Z])|in favou?r of\b"
    rf"|everywhere\b|entirely\b|because\b)"
    rf"|^{OPENING}(?:use|prefer|choose|pick|go with|stick (?:with|to)) [^,;.]{{1,60}},? (?:[\u2013\u2014-] )?"
    r"(?:instead of|not|rather than|over|and not|everywhere|exclusively|for (?!this\b|that\b|it\b|now\b|the (?:first"
    r"|next|"
    r"moment|time|same)\b)) ?\S"
    rf"|^{OPENING}(?:for|in) [^,;:?]{{3,60}}, use \S"
    r"|^(?:\W?[\w`'./-]+ ){1,5}(?:should|must|need to|have to) (?:only )?(?:be stored|be kept|live|be served"
    r"|go through|be written"
    r"|be named|stay|remain|default to|use|come from|snapshot|be handled|be returned|keep|be signed|support)\b"
    r"|^(?:\W?[\w`'./-]+ ){1,4}needs? (?:an? )?[\w -]{3,60} and (?:should|must)\b"
    r"|^(?:\W?[\w`'/-]+ ){1,5}only(?: [\u2013\u2014-]{1,2}|,) (?:no|not|never) \S"
    rf"|^{OPENING}(?:no|zero) [\w -]{{3,50}}(?:,| [\u2013\u2014-]{{1,2}}) (?:only|just|use)\s\S"
    rf"|^{OPENING}\w{{3,20}}-only [a-z]\S{{2,}}|^{OPENING}make \w{{3,20}}-only "
    rf"(?:\S{{1,30}} ){{2,12}}\S"
    rf"|^{OPENING}(?:let's|we'll|we will) .{{3,80}}\b(?:next (?:session|sprint|release|version)|in v[0-9])"
)
CORE_LOGIC = (
    r"\b(?:is|are|as) (?:now )?the (?:single |only )?source of truth\b"
    r"|\b(?:is|are|was|were) (?:being |now |officially )?"
    r"(?:deprecated|phased out|discontinued|end[- ]of[- ]life|obsolete)\b"
    r"|\bwe (?:only |all |currently |exclusively )?(?:use|deploy|release|ship|support|target|host|store)\s"
    r"(?!this|that|it|them|these|those|to\b|an? (?:lot|bit|few|ton)\b|lots|too\b|so\b|much\b)[\w`@./+-]"
    r"|^(?:it's|it is|this is|\S{2,30} is) an? (?:\S{1,24} ){1,8}(?:using|built (?:on|with)|written in|based on|for)\s"
    r"|^(?:an? |each |every |the )?\w{3,24} ha(?:ve|s) (?:an? )?[^,]{3,40}, [^,]{3,40}, "
    r"|^(?:the |our |my )?(?:\S{2,24} ){1,4}(?:is|are|lives?) (?:at|in|under|on) (?:GET|POST|PUT|DELETE|PATCH|port|`"
    r"|/|https?:)"
    r"|^(?:the |our |my )?(?:\S{2,24} ){0,4}\S{2,24} (?:uses?|runs? on|relies on|depends? on|is built (?:on|with)"
    r"|(?:is|are)"
    r" written in|is hosted on|(?:is|are) deployed (?:to|on|with)|(?:is|are) stored in) (?:(?-i:[A-Z])\w|[@`])"
)
# In order of evaluation.
SAID_BY_A_PERSON = {
    FactKind.PREFERENCE: f"{PREFERENCE}|{cues_ko.PREFERENCE}",
    FactKind.DECISION: f"{DECISION}|{cues_ko.DECISION}",
    FactKind.RULE: f"{RULE}|{cues_ko.RULE}",
    FactKind.CORE_LOGIC: f"{CORE_LOGIC}|{cues_ko.CORE_LOGIC}",
}
# Questions, conditions, plans for now, hearsay, reports of problems.
NOT_A_FACT = (
    rf"^{OPENING}(?:if|unless|suppose|assuming|should|could|would|can|do|does|did|is|are|was|were|will|what|why|how|who"
    r"|where|which|maybe|perhaps|let me|i (?:think|guess|wonder|believe|thought|see|saw|noticed|got))"
    r"\b(?!(?: not|n't))"
    rf"|^{OPENING}when (?!i\b|we\b|you\b)"
    r"|\b(?:it|this|that|he|she|they|there|one) (?:always|never)\b"
    r"|\b(?:for now|for the moment|right now|just this (?:once|time)|this time|temporarily|today|at the moment"
    r"|yet\W*$)\b"
    r"|\b(?:i (?:think|guess|wonder|believe|suppose)|not sure|maybe|perhaps|might|says|said|told me|claims?)\b"
    r"|\b(?:is|are|was|were|keeps?|be) (?:\w+ )?(?:failing|broken|wrong|slow|crashing|duplicated|missing|getting"
    r"|seeing|showing)\b"
    r"|\b(?:for later|later\W*$|for testing)|\bto (?:reproduce|debug|test|check|see|find|verify|try)\b (?:it|this"
    r"|that|if|what)?"
    r"|\bshould (?:be )?(?:removed|fixed|renamed|updated|deleted)\b"
    r"|[?\uff1f]\W*$|(?:right|or|correct|no)\?$"
    rf"|{cues_ko.NOT_A_FACT}"
)
# References to the conversation around the sentence.
_POINTS_AFTER = (
    r"\b(?:do|does|use|using|keep|make|go with|stick with|try|like|prefer|want|fix|remove|change|push|commit|run|merge"
    r"|with|to|for|of|as|remember|decided|instead of|rather than|over|not|on|switch|drop|add|move|replace|need|put"
    r"|store)"
)
_AFTER_IT = (
    r"(?=[\s.,;!]*$|[.,;!]"
    r"| (?:and|or|but|if|so|because|since|instead|as|in|on|to|for|too|now|again|way|with|everywhere))"
)
DEICTIC = (
    rf"{_POINTS_AFTER} (?:this|that|these|those|yours|mine|the same){_AFTER_IT}"
    r"|\b(?:option|approach|step|item|point|plan|variant|choice|number|suggestion|proposal|idea)s?\s?#?"
    r"(?:[0-9]{1,3}|[a-d])\b"
    r"|\b(?:the )?(?:first|second|third|former|latter|last|other|existing|same|new) (?:one|option|approach|two|version"
    r"|variant)\b|\buse (?:this|that|these|those) [a-z]"
    r"|\b(?:above|below|you(?:'ve| have)? (?:said|suggested|proposed|mentioned|listed|described)|your \w+)\b"
    r"|\bthere(?=[\s.,;!]*$|[.,;!]| (?:because|since|and|but)\b)"
    rf"|^\W*#?[0-9]{{1,6}}\W|{cues_ko.DEICTIC}"
)
# Pronouns; behind an "and" or "but" they are mostly about the sentence itself.
PRONOUN = rf"{_POINTS_AFTER} (?:it|them|one){_AFTER_IT}"
JOINT = r"\s(?:and|but|or)\s"
# A sentence that begins with a pronoun for something in the sentence before it.
LEANS_BACK = rf"^{OPENING}(?:it|this|these|those|they|he|she|there|here|which|that)(?:'s|'d|n't|\b)"
# Agreement of an answer with a proposal in a question ("can't we just use X?").
AGREED = (
    r"^\W*(?:you're (?:absolutely |totally |quite )?right|you are right|good (?:point|idea|catch|call)|great idea|yes\b"
    r"|agreed|absolutely|sure\b|makes sense|fair point|done\b|switched|네\b|맞습니다|맞아요|좋은|동의|그렇게|알겠)"
)
# Proposals in the form of a question; the first group is the proposal.
PROPOSED = (
    rf"^(?:[^?,\u2013\u2014]{{3,60}}(?:,| [\u2013\u2014]) )?{OPENING}(?:can't|can not|cannot|could|couldn't|can"
    rf"|why (?:not|don't)|why can't|shouldn't) (?:we |you )?(?:just |simply |rather )?"
    r"((?:use|keep|drop|store|go with|stick (?:with|to)|switch to|avoid|reuse|remove|move|skip|have"
    r"|make) (?:\S{1,60} ){1,20}(?!here|there)\S{1,60})\?$"
)
# "we shouldn't commit without changes, or?"
TAGGED = r"(?P<said>.{12,250}?),? (?:or|right|no|correct|isn't it|yeah)\?$"
TAGGED_FORM = r"\bwe (?:shouldn't|should not|should|must|must not|don't|do not|only|never|always) \S"
# A request after a statement.
ASIDE = (
    r"(?<=\w), (?:please |so (?:please )?|can you |could you )?"
    r"(?:check|see|look at|fix|update|refer to|read)\b.{0,200}$"
)
# Statements in an answer about a new state, in contrast to the old one.
CHANGED = (
    r"\b(?:is|are) now \S.{2,120}(?:\(was\b|\binstead of\b|\brather than\b)|\bnow only [a-z]+|\b(?:is|are) now only\b"
    r"|\bnow [a-z]{3,14}s? .{3,120}\b(?:instead of|rather than)\b|\bwill be used instead of\b"
    r"|(?:이제|앞으로)\s.{2,100}\s대신\s.{2,80}(?:합니다|한다|됩니다|된다|씁니다|쓴다)\W*$"
)
# Prompts that confirm that the last answer mended the problem.
MENDED = (
    r"^\W*(?:(?:yes|yep|great|perfect|nice|ok|okay|thanks|awesome|confirmed)[,.!]{0,2} )?(?:that|this|it) (?:has "
    r"|did )?"
    r"(?:fixed|solved|resolved|worked|works|did the trick|fix)\b(?! (?:on my|locally|for me, but|before))"
    r"|^\W*(?:네|응|좋아)?[,.!]?\s?(?:(?:이제|덕분에)\s)?(?:잘\s)?(?:해결(?:됐|되었|됨|했)|고쳐졌|고쳐짐|된다|됩니다"
    r"|돼요|동작(?:해|합니다|한다))"
)
# Sentences of the answer that say how.
HOW = (
    r"\b(?:fix|solution|key|answer|remedy)(?: is)?(?: to\b|:| [\u2013\u2014-])|^(?:use|configure|set|add|change|read"
    r"|pass|replace|move"
    r"|run|install|pin|raise|lower|increase|disable|enable|call|wrap|remove|update|upgrade|downgrade)\s"
    r"|\bneeds? (?:the|a|to)\b"
    r"|하면\s(?:됩니다|돼요|된다)|해야\s(?:합니다|해요|한다)"
)
# "One thing to watch: ...": the warning of an answer.
WARNED = (
    r"^(?:gotchas?|caveat|one thing to (?:watch|know|note|remember)(?: out for)?|watch out|heads[- ]up"
    r"|for future reference"
    r"|주의(?:할\s점|\s?사항)?|함정)\s?(?:[:\uff1a]|\s[\u2013\u2014])\s*(?=\S)"
)
# Labels of the sentence that describes the error.
WRONG = r"^(?:the )?(?:(?:actual|real) )?(?:bug|problem|issue|root cause|cause|error|원인|문제|버그)\s?[:\uff1a]\s*"
