"""The offline summary made with each rotation, and the summary that an archive has (spec R5, R6)."""

from __future__ import annotations

from functools import lru_cache

from gitmem.errors import RefusedError
from gitmem.memory.summaries.archives import method_of
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import SUMMARIES, raw_path, summary_path
from gitmem.model.tiers.summary import OFFLINE, Summary, parse_document, render_document

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


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


@lru_cache(maxsize=1)  # a plan that runs again asks for the same archive
def offline_summary(archive: str, text: str) -> Summary:
    """Return the extractive summary of an archive, whose whole text is given."""
    from gitmem.offline.summary import summarise  # slow to import

    return summarise(archive, text)


def read_summary(store: Store, archive: str) -> Summary | None:
    """Return the summary of an archive in the work tree, None if it has none."""
    data = store.read(summary_path(archive))
    if data is None:
        return None
    summary = parse_document(data)
    return summary if summary.archive else summary._replace(archive=archive)
