"""Errors of providers; a module of its own, since importing `gitmem.llm.http` takes 20 ms."""

from __future__ import annotations

from gitmem.errors import GitmemError

_SERVER = 500
_PASSING = {408, 409, 425, 429}  # and all from 500 on: a retry may succeed


class ProviderError(GitmemError):
    """A provider failed."""

    passing = False  # whether a retry may succeed
    wait = 0.0  # seconds to wait before a retry, as the server asks


class UnreachableError(ProviderError):
    """The connection could not be made, or broke."""

    passing = True


class DeadlineError(ProviderError):
    """There was no answer in time."""


class StatusError(ProviderError):
    """The server answered with an error `status` (RFC 9110, 15)."""

    def __init__(self, message: str, remedy: str = "", *, status: int, wait: float = 0.0) -> None:
        super().__init__(message, remedy)
        self.status = status
        self.wait = wait
        self.passing = status in _PASSING or status >= _SERVER


class AnswerError(ProviderError):
    """The answer is not JSON, too long or of another shape; `raw` is its text."""

    def __init__(self, message: str, remedy: str = "", *, raw: str = "") -> None:
        super().__init__(message, remedy)
        self.raw = raw


class RefusalError(ProviderError):
    """The model refused to answer."""
