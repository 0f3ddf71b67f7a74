"""What kind of task a request asks for, and what it refers to."""

from __future__ import annotations

from enum import StrEnum

from gitmem.text.words import matcher

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


_TASKS = "tasks.tsv"
# The least ambiguous type first: the first match wins.
_SUREST = (
    *(TaskType.REVIEW, TaskType.TEST, TaskType.BUG_FIX, TaskType.REFACTOR, TaskType.DOCS, TaskType.SETUP),
    TaskType.FEATURE,
)
_SHORT = 60  # characters: a request that begins in the middle of a talk


def classify(request: str) -> TaskType:
    """Return the type of a request's task: a question by its form, else the first match, else a feature."""
    if is_question(request):
        return TaskType.QUESTION
    text = _plain(request)
    return next((kind for kind in _SUREST if _has(kind, text)), TaskType.FEATURE)


def is_question(request: str) -> bool:
    """Return whether a request asks, by its form, and orders nothing."""
    text = _plain(request)
    rest = matcher(_TASKS, "asks_politely").sub("", text)
    asks = rest != text or _has("asks", text) or text.endswith(("?", "\N{FULLWIDTH QUESTION MARK}"))
    return asks and not _has("orders", rest)


def asks_back(request: str) -> bool:
    """Return whether a request asks what was before ("why did we pick sqlite?", "포트가 몇이었죠?")."""
    return _has("past", _plain(request)) or _has("ago", _plain(request))


def without_ago(request: str) -> str:
    """Return a request without words such as "last time"."""
    return matcher(_TASKS, "ago").sub(" ", request)


def follows_up(request: str) -> bool:
    """Return whether a request continues the last task ("still broken", "2번으로", "and commit it")."""
    text = _plain(request)
    return len(text) <= _SHORT and _has("follow_up", text)


def _plain(request: str) -> str:
    return " ".join(request[:MAX_READ].split()).casefold()


def _has(kind: str, text: str) -> bool:
    return matcher(_TASKS, kind).search(text) is not None
