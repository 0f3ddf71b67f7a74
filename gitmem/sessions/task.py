"""Classify requests in English and Korean by type of task (docs/spec.md, M1). Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

MAX_READ = 600  # characters of a request: the rest is pasted or explains


class TaskType(StrEnum):
    """The type of a task."""

    BUG_FIX = "bug_fix"
    FEATURE = "feature"
    REFACTOR = "refactor"
    TEST = "test"
    DOCS = "docs"
    QUESTION = "question"
    SETUP = "setup"
    REVIEW = "review"


class TaskStatus(StrEnum):
    """The state of a task."""

    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


# Words of each type in English and Korean, the least ambiguous type first: the first match wins.
_WORDS = {
    TaskType.REVIEW: r"\breview\b|\bpr (?:comments?|feedback)\b|\b(?:unresolved|outstanding) comments?\b|리뷰|검토해",
    TaskType.TEST: (
        r"\b(?:add|write|create|extend|improve)\b.{0,40}\btests?\b|\bunit tests?\b|test coverage"
        r"|테스트.{0,12}(?:추가|작성|만들|짜)"
    ),
    TaskType.BUG_FIX: (
        r"\b(?:bugs?|fix(?:es|ed|ing)?|broken|crash(?:es|ed|ing)?|regression|fail(?:s|ed|ing|ures?)?|errors?)\b"
        r"|\b(?:exceptions?|traceback|wrong|stuck|hangs?|hanging|freezes|times? out|(?:is|are|too|very) slow)\b"
        r"|\b(?:does|did)(?: not|n't) (?:work|display|show|appear|return|start|load|run|find|update|respond)\b"
        r"|버그|오류|에러|고쳐|실패|깨[져진졌]|안 ?[돼되됨]|안 ?나[와오]|안 ?보[여이]|죽[어는]|이상해"
        r"|멈[춰추춘]|느[려린]"
    ),
    TaskType.REFACTOR: (
        r"\b(?:refactor\w*|renam\w+|extract|simplif\w+|clean ?up|dedup\w*|duplicat\w+|inline|split|move)\b"
        r"|리팩|정리해|중복|이름.{0,6}바꿔|분리해|단순"
    ),
    TaskType.DOCS: r"\b(?:readme|docs?|documentation|changelog|docstrings?|comments?|[a-z]+\.md)\b|문서|주석|설명서",
    TaskType.SETUP: (
        r"\b(?:install\w*|set ?up|configur\w+|upgrad\w+|bump|deploy\w*|docker\w*|ci|pipeline|codeowners|dependenc\w+)\b"
        r"|\b(?:lint(?:er|ing)?|release)\b|설치|설정|배포|업그레이드|의존성"
    ),
    TaskType.FEATURE: (
        r"\b(?:add|implement\w*|create|build|support|introduce|make|write|extend|feature)\b|추가|구현|만들|지원|기능"
    ),
}
_ASKS = (
    r"^(?:what|why|how|where|when|which|who|is|are|was|were|do|does|did|explain|tell me|show me|list)\b"
    r"|^(?:왜|뭐|무엇|어떻게|어디|언제|누가)"
    r"|(?:뭐야|뭔가요|인가요|알려줘|설명해\s?줘|궁금|뭐지|어때|있나요|있어)\s*[?.!]*$"
)
# Asks for an explanation in the form of an order.
_ASKS_POLITELY = (
    r"^(?:question:|(?:please |can you |could you )?(?:help me understand|explain|tell me|show me)\b"
    r"|(?:can|could) you (?:tell|show|see (?:which|what|who|when|where|how|why)\b))"
)
_HAS_THE_AGENT_LOOK = ("can you ", "could you ")
_ORDERS = (
    r"\b(?:please|let's(?! (?:say|assume|suppose))|can you|could you)\b"
    r"|\b(?:make|add|fix|implement|create|remove|update|change)\b"
    r"|해\s?줘|하자|해라|해주세요"
)
_FOLLOW_UP = (
    r"^(?:yes|yeah|yep|ok(?:ay)?|sure|no|nope|hmm+|thanks?|thank you|perfect|great|good|nice|and|but|also|now|then)\b"
    r"|^(?:still|that|it|this|go on|continue|proceed|commit|push|do (?:it|that|the)|let's do|option|same|again|try)\b"
    r"|^[0-9]+[.)]?\s|^(?:네|응|예|아니|그래|좋아|고마워|감사|그리고|근데|그런데|그럼|이제|다시|계속|커밋|푸시)"
    r"|^(?:그거|그건|이거|[0-9]+번)"
)
_WORD_OF_QUESTION = r"\b(?:what|why|how|where|when|which|who)\b|[가-힣]"
_SHORT = 60  # characters: a request that begins in the middle of a talk


def classify(request: str) -> TaskType:
    """Return the type of a request's task: a question by its form, else the first match, else a feature."""
    text = " ".join(request[:MAX_READ].split()).casefold()
    rest = _re(_ASKS_POLITELY).sub("", text)
    asks = rest != text or _re(_ASKS).search(text) is not None or text.endswith(("?", "\N{FULLWIDTH QUESTION MARK}"))
    if asks and not _re(_ORDERS).search(rest):
        return TaskType.QUESTION
    return next((kind for kind, words in _WORDS.items() if _re(words).search(text)), TaskType.FEATURE)


def tells(request: str) -> bool:
    """Return whether a request has no word of a task, an order or a question ("my user is ann")."""
    text = " ".join(request[:MAX_READ].split()).casefold()
    return not any(_re(words).search(text) for words in (_ASKS, _ORDERS, *_WORDS.values()))


def follows_up(request: str) -> bool:
    """Return whether a request continues the last task ("still broken", "2번으로", "and commit it")."""
    text = " ".join(request[:MAX_READ].split()).casefold()
    return len(text) <= _SHORT and _re(_FOLLOW_UP).search(text) is not None


def remarks(request: str) -> bool:
    """Return whether a question goes on with the talk ("but it failed, or?"), or has the agent look ("can you see")."""
    text = " ".join(request[:MAX_READ].split()).casefold()
    if text.startswith(_HAS_THE_AGENT_LOOK):
        return True
    asks = _re(_ASKS).search(text) is not None or _re(_WORD_OF_QUESTION).search(text) is not None
    return _re(_FOLLOW_UP).search(text) is not None or not asks


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form)
