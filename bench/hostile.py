"""Does the time to read hostile text grow with its length, and not faster?

    python bench/hostile.py

Runs the readers of untrusted text on texts made of the pieces in the tests' `HOSTILE` tables, 6,000 and 96,000
characters long. Prints each for which 16 times the text took more than 64 times as long in three attempts, and exits
with 1 if there is one. The tests count the lines of Python that run; this also measures the regular expressions, and
each of the program's with texts made from it (`tests/patterns.py`).
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gitmem.archive.extractive import summarise  # noqa: E402
from gitmem.config.values import RotationConfig  # noqa: E402
from gitmem.document.entry import clean_text, entry_ids, find_entries, sections  # noqa: E402
from gitmem.learn.statements import find_facts  # noqa: E402
from gitmem.model.rotation import plan_rotation  # noqa: E402
from gitmem.model.turns import Turn  # noqa: E402
from gitmem.redact.redact import redact  # noqa: E402
from gitmem.tell.risk import is_risky  # noqa: E402
from gitmem.text.sentences import shorten, split  # noqa: E402
from gitmem.text.words import keywords  # noqa: E402
from tests.patterns import patterns, slow_text  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHORT, LONG = 6_000, 96_000
MOST = 64  # times as long for 16 times the text; quadratic is 256
HEAD = "- [2026-11-21 12:00:00] **Note**: "
BODY = "---\nid: memory\nkind: memory\n---\n# Memory\n\n## Recent Context\n\n"


def facts_of(text: str) -> object:
    """Find the facts in two turns made of a text."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    turns = (Turn("s", "bench", name, at, at, f"Good. {text[:2_000]}", text) for name in ("one", "two"))
    return find_facts([*turns], ("/p",))


# The test module with the pieces, and the functions that read them.
READERS: dict[str, dict[str, Callable[[str], object]]] = {
    "document/test_entry.py": {
        "entries": find_entries,
        "an entry": lambda text: find_entries(HEAD + text),
        "clean_text": clean_text,
    },
    "document/test_entry_log.py": {"sections": sections, "ids": entry_ids},
    "learn/test_statements.py": {"facts": facts_of},
    "model/test_rotation.py": {
        "rotation": lambda text: plan_rotation(
            text, header="", stamp="20260113_112700", taken=(), limits=RotationConfig(1_000, 500)
        )
    },
    "tell/test_known_errors.py": {"risky": is_risky},
    "archive/test_extractive.py": {"summary": lambda text: summarise("archive/memory.md", BODY + text)},
    "redact/test_redact.py": {"redact": redact},
    "text/test_sentences.py": {"split": split, "shorten": lambda text: shorten(text, 200), "keywords": keywords},
}


def pieces(test: str) -> Iterable[str]:
    """Return the table of a test module."""
    path = ROOT / "tests" / test
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table = module.HOSTILE
    return table.values() if isinstance(table, dict) else table


def repeated(piece: str, size: int) -> str:
    """Return a text of that size made of a piece, whose `%d` counts."""
    return "".join(piece.replace("%d", str(number)) for number in range(size // len(piece) + 1))[:size]


def seconds(function: Callable[[str], object], text: str) -> float:
    begin = time.process_time()
    list(found) if isinstance(found := function(text), Iterator) else None
    return time.process_time() - begin


def growth(function: Callable[[str], object], piece: str) -> float:
    """Return how many times as long the long text takes, the least of three attempts."""
    short, long = repeated(piece, SHORT), repeated(piece, LONG)
    ratios = []
    for _ in range(3):
        fastest = min(seconds(function, short) for _ in range(3))
        ratios.append(seconds(function, long) / max(fastest, 1e-4))
        if ratios[-1] < MOST:
            break
    return min(ratios)


def main() -> None:
    failed = 0
    for test, functions in READERS.items():
        table = [*pieces(test)]
        for name, function in functions.items():
            slow = {piece: ratio for piece in table if (ratio := growth(function, piece)) >= MOST}
            failed += len(slow)
            print(f"{name:12} {len(table):3} texts, {len(slow)} of them not linear")
            for piece, ratio in slow.items():
                print(f"    {ratio:5.0f} times: {piece!a}")
    every = {found[1:]: found for found in patterns()}.values()
    slow_patterns = {found.place: text for found in every if (text := slow_text(found))}
    failed += len(slow_patterns)
    print(f"{len(every)} patterns of the program, {len(slow_patterns)} of them not linear")
    for place, text in slow_patterns.items():
        print(f"    {place}: {text!a}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
