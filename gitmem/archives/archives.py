"""List archives with the method of each one's summary, light enough for a session's start."""

from __future__ import annotations

import contextlib
import os
import re

from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, summary_path
from gitmem.platform.safe_open import read_text
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store


_EXTRACTIVE = "offline"  # OFFLINE of gitmem.archives.summary, which a session's start need not import
ARCHIVE_NAME = re.compile(r"memory_[0-9]{8}_[0-9]{6}(?:_[0-9]+)?\.md")
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
        return self.method in (None, _EXTRACTIVE)


def method_of(data: bytes) -> str:
    """Return the method in the header of a summary, or ""; parses no YAML."""
    match = _METHOD.search(Document.parse(data).header or "")
    return match[1] if match else ""


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
