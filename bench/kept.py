"""How much of what an agent says to the user its memory keeps, and what it costs.

Each recorded transcript of Claude Code is replayed into a store of its own. A line of an agent's text is kept if its
words stand, in order, in the daily logs. The size of the store is compared with one that does not keep what was said
between tool calls. The transcripts stand beside the repository, in ../shared/data; without them nothing is measured.

    python bench/kept.py

It fails under 98 % of the words, or if the store grows by more than 10 %.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from gitmem.learn.end import replay
from gitmem.model import entries
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
KEPT, GROWTH = 0.98, 0.10
WORD = re.compile(r"\w+")


def said(path: Path) -> Iterator[str]:
    """Yield the lines of an agent's texts to the user, in a transcript of Claude Code."""
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("type") == "assistant" and not row.get("isSidechain"):
            parts = row["message"].get("content") or []
            texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text"]
            yield from (one for text in texts for one in text.splitlines())


def remembered(path: Path) -> tuple[str, int]:
    """Return the words of the daily logs after a replay into a new store, and the store's bytes, history too."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as home:
        project = Path(home, "project")
        project.mkdir()
        context = Context({"HOME": home, "PATH": "/usr/bin:/bin"}, home, "bench", lambda: datetime.now(UTC))
        init_store(str(project), context, Place.PROJECT)
        root = project / ".gitmem"
        replay(Store(str(root), context), str(path))
        logs = "\n".join(log.read_text("utf-8") for log in sorted(root.glob("daily/**/*.md")))
        return " ".join(WORD.findall(logs)), sum(file.stat().st_size for file in root.rglob("*") if file.is_file())


def main() -> int:
    paths = [path for path in sorted(DATA.rglob("*.jsonl")) if "subagents" not in path.parts]
    kept = total = size = before = 0
    for path in paths:
        words, more = remembered(path)
        with mock.patch.object(entries, "texts_between", return_value=()):
            before += remembered(path)[1]
        size += more
        for line in said(path):
            found = WORD.findall(line)
            total += len(found)
            kept += len(found) * (" ".join(found) in words)
    if not total:
        print("skipped: the recordings are not there")
        return 0
    print(f"{kept / total:.3f} of {total} words are kept, at least {KEPT}; the store grows by {size / before - 1:.3f}")
    return kept < KEPT * total or size > (1 + GROWTH) * before


if __name__ == "__main__":
    sys.exit(main())
