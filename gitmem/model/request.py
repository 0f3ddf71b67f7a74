"""Classify a request: its type of task, whether it asks or orders, and whether it refers to the one before."""

from __future__ import annotations

from enum import StrEnum

from gitmem.model.turns import is_trivial
from gitmem.text.words import keywords, matcher

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
_SHORT = 60  # characters of a request that may continue a conversation
_MAY_REFUTE = 2  # topic words of a request that may be about the answer before it
_STATES = 4  # topic words of a request that counts alone: one more than a subject needs


def classify(request: str) -> TaskType:
    """Return the task type of a request: a question by its form, else the first match, else a feature."""
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


def orders(request: str) -> bool:
    """Return whether a request orders something, by its form."""
    return _has("orders", _plain(request))


def may_refute(request: str, before: str) -> bool:
    """Return whether a request may report that the exchange before it failed: it has hardly a subject of its own.

    "they still come" may, and so may "go ahead": only a reader can tell. "add a linter" and "which queue is it?" may
    not: a task and a question have their own subject.
    """
    topics = _topics(request)
    new = topics - _topics(before)
    if is_trivial(request) or len(topics) > _MAY_REFUTE or len(new) > 1 or (topics and is_question(request)):
        return False
    return new != topics or not new or not orders(request)


def counts_alone(request: str) -> bool:
    """Return whether a request is remembered whatever the answer: it is long enough and no question."""
    return not is_question(request) and len(_topics(request[:MAX_READ])) >= _STATES


def has_last_word(request: str) -> bool:
    """Return whether a request that nobody answered says more than a courtesy or a question."""
    return not (is_trivial(request) or is_question(request)) and len(_topics(request[:MAX_READ])) > 1


def asks_back(request: str) -> bool:
    """Return whether a request asks about the past ("why did we pick sqlite?", "포트가 몇이었죠?")."""
    return _has("past", _plain(request)) or _has("ago", _plain(request))


def without_ago(request: str) -> str:
    """Return a request without words such as "last time"."""
    return matcher(_TASKS, "ago").sub(" ", request)


def follows_up(request: str) -> bool:
    """Return whether a request continues the last task ("still broken", "2번으로", "and commit it")."""
    text = _plain(request)
    return len(text) <= _SHORT and _has("follow_up", text)


def _topics(text: str) -> set[str]:
    return {key for key, _ in keywords(text)}


def _plain(request: str) -> str:
    return " ".join(request[:MAX_READ].split()).casefold()


def _has(kind: str, text: str) -> bool:
    return matcher(_TASKS, kind).search(text) is not None
