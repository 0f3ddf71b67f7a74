"""What can go wrong where a model is asked; apart from `gitmem.llm.http`, whose import takes a search 20 ms."""

from __future__ import annotations

from gitmem.errors import GitmemError

_SERVER = 500
_PASSING = {408, 409, 425, 429}  # and all from 500 on: the next try may succeed


class ProviderError(GitmemError):
    """A model's server, or a model on this machine, did not do what it was asked to."""

    passing = False  # whether it may well succeed a moment later
    wait = 0.0  # seconds after which the server wants to be asked again


class UnreachableError(ProviderError):
    """No connection, or one that broke."""

    passing = True


class DeadlineError(ProviderError):
    """It took too long."""


class StatusError(ProviderError):
    """The server refused; `status` is how (RFC 9110, 15)."""

    def __init__(self, message: str, remedy: str = "", *, status: int, wait: float = 0.0) -> None:
        super().__init__(message, remedy)
        self.status = status
        self.wait = wait
        self.passing = status in _PASSING or status >= _SERVER


class AnswerError(ProviderError):
    """The answer is not what it should be: no JSON, too long, of another shape; `raw` is what there is of it."""

    def __init__(self, message: str, remedy: str = "", *, raw: str = "") -> None:
        super().__init__(message, remedy)
        self.raw = raw


class RefusalError(ProviderError):
    """The model will not answer."""
