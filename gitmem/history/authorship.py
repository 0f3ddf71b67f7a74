"""The keys of the index of authors (`gitmem.history.authors`), and the origins that it maps them to."""

from __future__ import annotations

import re
from enum import StrEnum

from gitmem.document.ids import ID_FORM, digest
from gitmem.git.trust import GITMEM, Identity
from gitmem.values import Value

CHANGED = "\x02"  # prefix of an id: the others who changed its file or entry; no listed path begins with it
AGAIN = "\x03"  # prefix of an entry's id that a commit adds: a change if an earlier commit brought it
MADE = "\x04"  # prefix of a path: the authors of the words it was composed of, one per line
_CLAIM = "\x05"  # prefix of the digest of a claim: a statement of a bug pattern about an exchange
COUNTS = "\x06"  # prefix of the path of a file of counts: one author per line
FOREIGN = "\x07"  # the authors of all commits of others
_DIGITS = 20  # of the digest of a claim
_OTHER_FOLDERS = {"daily", "weekly", "monthly", "archive", "counts", "purged"}  # with files of many authors
_NAMED = re.compile(rf"(?:^|/)({ID_FORM})[-.]")
LENGTH = 80  # characters of a name


class Manner(StrEnum):
    """The way in which a memory was made."""

    SESSION = "from a session"
    AGENT = "saved by the agent"
    COMMAND = "saved by hand"
    MODEL = "by a model"
    IMPORT = "imported"
    EDIT = "edited by hand"


class Origin(Value):
    """The first commit with a memory: its author, and from its trailers machine and agent ("": unknown)."""

    author: str
    email: str
    machine: str
    host: str
    manner: Manner

    def __str__(self) -> str:
        """Return a description for a line of text."""
        where = f"on {self.machine}" if self.machine else ""
        agent = f"with {self.host}" if self.host not in {"", "cli"} else ""
        return ", ".join(filter(None, (f"by {self.author}", where, agent, self.manner)))


def author_name(author: str, email: str, machine: str | None) -> str:
    """Return the name of a commit's author; one whom git does not know is named by the machine."""
    return f"an unnamed author on {machine}" if machine and Identity(author, email) == GITMEM else author


def identifier_of(path: str) -> str:
    """Return the id in a file's name, else the document's path; "" for a file with many authors."""
    if match := _NAMED.search(path):
        return match[1]
    folder = path.partition("/")[0]
    return key_of(path) if folder != path and folder not in _OTHER_FOLDERS else ""


def key_of(path: str) -> str:
    """Return a path in the form of the index, on one line."""
    path = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # a path may be no UTF-8
    return path if path.isprintable() else ascii(path)


def claim_id(pattern: str, *claim: str) -> str:
    """Return the key of the index for a claim (`gitmem.model.pattern.claims`) of the bug pattern with this id."""
    return _CLAIM + digest(pattern, *claim).hex()[:_DIGITS]


def counts_id(path: str) -> str:
    """Return the key of the index for a file of counts."""
    return COUNTS + path
