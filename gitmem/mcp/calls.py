"""What all calls share: an error of gitmem's becomes words that an agent can act on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.mcp.words import clean

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def told(remedy: str = "") -> Iterator[None]:
    """Tell an agent what went wrong and what to do next: `remedy`, where it asked for what is not there or not allowed.

    Raises:
        ToolError: in place of a GitmemError.

    """
    try:
        yield
    except GitmemError as error:
        asked_wrong = isinstance(error, NotFoundError | RefusedError) and remedy
        raise ToolError(clean(f"{error.message} {remedy if asked_wrong else error.remedy}".strip())) from error
