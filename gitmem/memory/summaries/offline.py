"""The offline summary made with each rotation, and the summaries that archives have (spec R5, R6)."""

from __future__ import annotations

import contextlib
import os
import re
from functools import lru_cache

from gitmem.errors import RefusedError
from gitmem.machine.beneath import read_text
from gitmem.model.document.document import Document
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import ARCHIVE, SUMMARIES, raw_path, summary_path
from gitmem.model.tiers.summary import OFFLINE, Summary, parse_document, render_document
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


ARCHIVE_NAME = re.compile(r"memory_[0-9]{8}_[0-9]{6}(?:_[0-9]+)?\.md")
_DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
_DAYS = re.compile(
    rf"^date_range:[ \t]*(?:\r?\n)?[^\n]{{0,40}}?first: ?[\"']?{_DAY}[\"']?,?\s{{1,10}}last: ?[\"']?{_DAY}",
    re.MULTILINE,
)
_OFFERED = "offered"  # in the private folder
_HEADER_BYTES = 1 << 17  # at the beginning of a summary's document, which hold its header
_METHOD = re.compile(r"^method:[ \t]*[\"']?([^\s\"'#]*)", re.MULTILINE)


class ArchiveSummary(Value):
    """An archive of the work tree and the method of its summary, None if it has none."""

    archive: str
    method: str | None

    @property
    def pending(self) -> bool:
        """Whether the summary is missing or only extractive (spec R6)."""
        return self.method in (None, OFFLINE)


def summarize_archive(transaction: Transaction, archive: str, text: str) -> str:
    """Add the offline summary of an archive to a transaction, a commit of its own; returns its path.

    A summary by a model or a person is left as it is. Raises as `Transaction.commit` does.
    """
    if SUMMARIES in transaction.names("") and not transaction.is_folder(SUMMARIES):
        raise RefusedError(f"There is a file where the folder {SUMMARIES} should be.", "Remove or rename it.")
    path = summary_path(archive)
    there = transaction.read(path)
    if there is None or method_of(there) == OFFLINE:
        put_summary(transaction, offline_summary(archive, text))
    return path


def put_summary(transaction: Transaction, summary: Summary, session: str = "") -> bool:
    """Add or replace a summary in a transaction; False if it is there already.

    An unusable reply kept beside the archive is removed, except by an offline summary.
    """
    name = summary.archive.rpartition("/")[2]
    message = Message(f"Summarize {name} ({summary.method})", _trailers(summary, session))
    changes: dict[str, bytes | None] = {summary_path(summary.archive): render_document(summary, transaction.now)}
    raw = raw_path(summary.archive)
    if summary.method != OFFLINE and transaction.read(raw) is not None:
        changes[raw] = None
    return transaction.commit(message, changes)


def _trailers(summary: Summary, session: str = "") -> tuple[tuple[str, str], ...]:
    return (
        (Trailer.OP.value, Op.SUMMARIZE.value),
        (Trailer.ARCHIVE.value, summary.archive),
        (Trailer.MODEL.value, "" if summary.method == OFFLINE else summary.method),
        (Trailer.SESSION.value, session),
        (Trailer.HOST.value, summary.provider),
    )


def method_of(data: bytes) -> str:
    """Return the method in the header of a summary, or ""; parses no YAML."""
    match = _METHOD.search(Document.parse(data).header or "")
    return match[1] if match else ""


def days_of(data: bytes) -> tuple[str, str]:
    """Return first and last day in the header of a summary, or "" and ""; parses no YAML."""
    match = _DAYS.search(Document.parse(data).header or "")
    return (match[1], match[2]) if match else ("", "")


@lru_cache(maxsize=1)  # a plan that runs again asks for the same archive
def offline_summary(archive: str, text: str) -> Summary:
    """Return the extractive summary of an archive, whose whole text is given."""
    from gitmem.offline.summary import summarise  # slow to import

    return summarise(archive, text)


def archive_summaries(store: Store, last: int = 0) -> list[ArchiveSummary]:
    """Return the archives of the work tree, or the `last` ones, the oldest first, with their summaries' methods."""
    summaries = []
    for name in sorted(filter(ARCHIVE_NAME.fullmatch, store.files.names(ARCHIVE)))[-last:]:
        archive = f"{ARCHIVE}/{name}"
        data = store.glance(summary_path(archive), _HEADER_BYTES)
        summaries.append(ArchiveSummary(archive, None if data is None else method_of(data)))
    return summaries


def pending_archives(store: Store, last: int = 0) -> list[str]:
    """Return the archives, or those of the `last` ones, whose summary is missing or only extractive (spec R6)."""
    return [summary.archive for summary in archive_summaries(store, last) if summary.pending]


def offer(store: Store, last: int = 0) -> str:
    """Return a line that offers better summaries of the `last` archives, once for each; "" with nothing to offer.

    The newest archive that it was offered for is in a file of the private folder.
    """
    pending = pending_archives(store, last)
    path = os.path.join(store.private, _OFFERED)
    if not pending or read_text(path).strip() >= pending[-1]:
        return ""
    with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:  # else it is offered again
        file.write(f"{pending[-1]}\n")
    many = "1 archive has" if len(pending) == 1 else f"{len(pending)} archives have"
    return f"{many} a summary made without a model only; `gitmem summary pending` lists what can be summed up better."


def read_summary(store: Store, archive: str) -> Summary | None:
    """Return the summary of an archive in the work tree, None if it has none."""
    data = store.read(summary_path(archive))
    if data is None:
        return None
    summary = parse_document(data)
    return summary if summary.archive else summary._replace(archive=archive)
