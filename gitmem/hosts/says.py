"""What a host says of its user's words and its subagents, as docs/hosts.md shows it.

`YES` in a cell is what a recording of the real client shows (tests/hosts/test_words.py); the other texts are the cells
as they are printed.
"""

from __future__ import annotations

from gitmem.values import Value

YES = "yes"
UNTESTED = "untested"
WORDLESS = "without words: they come as the next message"
QUEUES = "it queues them"


class Says(Value):
    """A row of the table: in a transcript or a hook, which of these a host tells apart."""

    prompt: str = YES
    second: str = YES
    answer: str = YES
    refusal: str = YES
    queued: str = YES
    subagents: str = YES
    notices: str = YES


NOTHING_TESTED = Says(*[UNTESTED] * len(Says._fields))  # of a client that could not be driven
