"""Commit messages that are readable in `git log --oneline` and have trailers that git parses.

Hostile text can neither add a trailer nor hide one: the subject and each trailer's value are one line, the trailers are
the last paragraph, and no subject looks like a comment or like the line between a message and a patch.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from gitmem.values import Value

SUBJECT_LENGTH = 72
VALUE_LENGTH = 200

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


class Op(StrEnum):
    """What a commit did: the value of its `Gitmem-Op` trailer (docs/format.md, "Commits")."""

    INIT = "init"
    SAVE = "save"
    TURN = "turn"
    EXTRACT = "extract"
    ROTATE = "rotate"
    SUMMARIZE = "summarize"
    EXCHANGES = "exchanges"
    FACT = "fact"
    CONCEPT = "concept"
    PATTERN = "pattern"
    EPISODE = "episode"
    COUNT = "count"
    ADOPT = "adopt"
    EDIT = "edit"
    UNDO = "undo"
    CONFIG = "config"
    RETAIN = "retain"
    TRANSCRIPT = "transcript"
    MERGE = "merge"
    SIGN = "sign"
    REPAIR = "repair"
    MIGRATE = "migrate"
    CONSOLIDATE = "consolidate"
    CLEAR = "clear"
    PURGE = "purge"
    REVIEW = "review"


class Trailer(StrEnum):
    """The trailers gitmem writes and reads."""

    OP = "Gitmem-Op"
    PROJECT = "Gitmem-Project"
    SESSION = "Gitmem-Session"
    HOST = "Gitmem-Host"
    MACHINE = "Gitmem-Machine"
    ENTRY = "Gitmem-Entry"
    TYPE = "Gitmem-Type"
    ARCHIVE = "Gitmem-Archive"
    MODEL = "Gitmem-Model"
    UNDOES = "Gitmem-Undoes"
    MIGRATED = "Gitmem-Migrated"
    SOURCE = "Gitmem-Source"
    PERIOD = "Gitmem-Period"
    TOOK = "Gitmem-Took"
    FACT = "Gitmem-Fact"
    CONCEPT = "Gitmem-Concept"
    PATTERN = "Gitmem-Pattern"
    EPISODE = "Gitmem-Episode"


def one_line(text: str, length: int) -> str:
    """Return `text` on one line of at most `length` characters, cut at a word where that keeps more than half."""
    line = " ".join(text.encode("utf-8", "replace").decode().translate(_CONTROLS).split())
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip(" ,;:.") + "…"


def link(text: str, target: str, length: int = 160) -> str:
    """Return a link of markdown to a relative path, with a text on one line of at most `length` characters."""
    shown = one_line(text, length).replace("[", "(").replace("]", ")").rstrip("\\")
    return f"[{shown}]({target})"


class Message(Value):
    """A commit message: a subject and trailers, in order; a key may come more than once."""

    subject: str
    trailers: tuple[tuple[str, str], ...]

    @property
    def model(self) -> str:
        """The model or agent that decided on the commit; "" if a user or gitmem did."""
        return next((value for key, value in self.trailers if key == Trailer.MODEL), "")

    def by(self, model: str) -> Message:
        """Return the message for a commit that a model decided on; unchanged for ""."""
        return self._replace(trailers=(*self.trailers, (Trailer.MODEL.value, model))) if model else self

    def render(self) -> str:
        """Return the text git stores."""
        values = [(key, one_line(value, VALUE_LENGTH)) for key, value in self.trailers]
        lines = [f"{key}: {value}" for key, value in values if value]
        return "\n".join([_subject(self.subject), *([""] if lines else []), *lines, ""])


def op_message(op: Op, subject: str, *trailers: tuple[Trailer, str]) -> Message:
    """Return a message with an operation and further trailers; empty ones are left out of the commit."""
    return Message(subject, tuple((key.value, value) for key, value in ((Trailer.OP, op.value), *trailers)))


def session_message(
    subject: str, op: Op, trailer: Trailer, ids: Iterable[str] = (), *, session: str = "", host: str = ""
) -> Message:
    """Return a message with an operation, the ids it concerns, and its session and host, if any."""
    about = ((trailer, identifier) for identifier in ids)
    return op_message(op, subject, *about, (Trailer.SESSION, session), (Trailer.HOST, host))


def _subject(text: str) -> str:
    subject = one_line(text, SUBJECT_LENGTH)
    if subject.startswith(("#", "---")):  # git drops `#` lines when a message is edited, and stops reading at `---`
        subject = subject.lstrip("#- ")
    return subject or "(no subject)"
