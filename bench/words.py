"""Whether the user's words in recorded sessions are in the memory, and nobody else's as theirs.

Each recording is replayed into a store of its own. What the user said is read from the lines of the recording by
rules of this file alone, so that a fault of the readers does not hide itself. A message counts as found if the day's
log has its beginning, and a search for these words has a hit.

| column | |
| --- | --- |
| prompts, refusals, answers, queued, edits | found / said, of each kind |
| foreign | requests in the store that the user did not type |

    python bench/words.py [FILE...] [--misses]

Without files: those of ../shared/data/transcripts, and `tests/data/words`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.document.entry import find_entries
from gitmem.learn.end import find_transcripts, replay
from gitmem.model.exchange import EXCHANGE, split_fields
from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "transcripts"
KINDS = ("prompts", "refusals", "answers", "queued", "edits")
_WORD = re.compile(r"\w+")
_HOSTS = re.compile(
    r"\s*(?:<(?!command-)[\w-]+[ >]|\[Request interrupted|\[SYSTEM|Caveat:|This session is being continued)"
)
_SAID = "the user said:"


class Said:
    """What a recording of Claude Code says, by kind."""

    def __init__(self, path: Path) -> None:
        self.kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                item = json.loads(line)
            except ValueError:
                continue
            if isinstance(item, dict):
                self._read(item)

    def _read(self, item: dict[str, Any]) -> None:
        if item.get("type") == "queue-operation" and item.get("operation") == "enqueue":
            self._add("queued", item.get("content") or "")
        message = item.get("message") or {}
        content = message.get("content") if isinstance(message, dict) else None
        blocks: list[dict[str, Any]] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        )
        if item.get("type") == "assistant":
            self.kinds["edits"] += [
                block["input"]["file_path"]
                for block in blocks
                if block.get("type") == "tool_use" and block.get("name") in {"Edit", "Write", "MultiEdit"}
            ]
        if item.get("type") != "user" or item.get("isSidechain"):
            return
        told = item.get("toolUseResult")
        for given in (told.get("answers") or {}).values() if isinstance(told, dict) else ():
            self._add("answers", given)
        for block in blocks:
            self._block(item, block)

    def _block(self, item: dict[str, Any], block: dict[str, Any]) -> None:
        marked = any(item.get(key) for key in ("isMeta", "isCompactSummary", "origin"))
        if block.get("type") == "text" and not marked:
            command = re.search(r"<command-args>(.*?)</command-args>", block["text"], re.DOTALL)
            self._add("prompts", command[1] if command else block["text"])
        if block.get("type") == "tool_result" and block.get("is_error"):
            text = block.get("content") or ""
            text = text if isinstance(text, str) else "\n".join(one.get("text", "") for one in text)
            if _SAID in text and text.startswith("The user doesn't want"):
                self._add("refusals", text.partition(_SAID)[2])

    def _add(self, kind: str, text: str) -> None:
        if text.strip() and not _HOSTS.match(text):
            self.kinds[kind].append(text.strip())


def plain(text: str, most: int = 60) -> str:
    """Return the first words of a text, as a log has them too."""
    return " ".join(_WORD.findall(text))[:most].casefold()


def measured(path: Path, misses: bool) -> tuple[dict[str, tuple[int, int]], int]:
    """Return, by kind, how much of a recording is found and said, and how many requests nobody typed."""
    with tempfile.TemporaryDirectory() as top:
        for name in ("home", "project"):
            (Path(top) / name).mkdir()
        project = Path(top) / "project"
        context = Context({}, str(Path(top) / "home"), "bench", lambda: datetime.now().astimezone())
        init_store(str(project), context, Place.PROJECT)
        root = str(project / ".gitmem")
        for one in find_transcripts(str(path)):
            replay(Store(root, context), one)
        days = [day.read_text("utf-8") for day in Path(root).glob("daily/*/*/*.md")]
        entries = [one.entry for day in days for one in find_entries(day) if one.entry.label == EXCHANGE]
        log, said = plain("\n".join(entry.text for entry in entries), sys.maxsize), Said(path)
        found: dict[str, tuple[int, int]] = {}
        for kind, texts in said.kinds.items():
            names = {text.rpartition("/")[2] if kind == "edits" else text for text in texts}
            lost = [text for text in names if plain(text) not in log or not searched(Store(root, context), text)]
            found[kind] = len(names) - len(lost), len(names)
            for text in lost if misses else ():
                print(f"  {kind}: {text[:100]!r}", file=sys.stderr)
        typed = {plain(text) for texts in said.kinds.values() for text in texts}
        foreign = [
            one for one in (split_fields(entry.text).request for entry in entries) if one and plain(one) not in typed
        ]
        foreign = [one for one in foreign if not one.startswith("/")]
        for text in foreign if misses else ():
            print(f"  foreign: {text[:100]!r}", file=sys.stderr)
        return found, len(foreign)


def searched(store: Store, text: str) -> bool:
    """Return whether a search for the beginning of a text has a hit."""
    words = " ".join(text.split()[:6]).replace('"', " ")
    return bool(answer(store, words, limit=5, vectors=False).hits)


def rows(files: list[Path], misses: bool) -> Iterator[str]:
    """Yield a line for each recording, and the sums."""
    sums = dict.fromkeys(KINDS, (0, 0))
    strangers = 0
    for path in files:
        found, foreign = measured(path, misses)
        strangers += foreign
        sums = {kind: (sums[kind][0] + found[kind][0], sums[kind][1] + found[kind][1]) for kind in KINDS}
        yield (
            f"{path.name[:40]:40}"
            + "".join(f"{kind} {found[kind][0]}/{found[kind][1]}  " for kind in KINDS)
            + f"foreign {foreign}"
        )
    yield (
        f"{'all':40}" + "".join(f"{kind} {sums[kind][0]}/{sums[kind][1]}  " for kind in KINDS) + f"foreign {strangers}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    files = given.files or [*sorted(DATA.glob("cc-*.jsonl")), *sorted(DATA.glob("claude-*/*.jsonl"))]
    files = files or sorted((ROOT / "tests" / "data" / "words").glob("*.jsonl"))
    for row in rows(files, given.misses):
        print(row, flush=True)


if __name__ == "__main__":
    main()
