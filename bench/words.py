"""Whether the user's words in recorded sessions are in the memory, and nobody else's as theirs.

Each recording is replayed into a store of its own. What the user said is read from it by `bench/labels.py`, without
gitmem's readers. A message counts as found if the day's log has its beginning, and a search for these words has a hit.

| column | |
| --- | --- |
| prompts, refusals, answers, queued, edits | found / said, of each kind |
| foreign | requests in the store that the user did not type |

    python bench/words.py [FILE|FOLDER...] [--misses]

Without files: those of ../shared/data/transcripts, `tests/data/words` and `tests/data/hosts`. A folder is one
recording: a session with its subagents' files.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from gitmem.document.entry import find_entries
from gitmem.learn.end import find_transcripts, replay
from gitmem.model.exchange import EXCHANGE, split_fields
from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]
from labels import KINDS, labels_of  # noqa: E402

from tests.recorded import make_database  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "transcripts"
HOSTS = ROOT / "tests" / "data" / "hosts"
_WORD = re.compile(r"\w+")
_ANCHOR = re.compile(r" \^[a-z0-9]+$", re.MULTILINE)
_ENDINGS = (".jsonl", ".json")


def recordings() -> list[Path]:
    """Return all recordings: a file each, or a folder where a session has more."""
    plain_files = [path for path in DATA.glob("*") if path.suffix in _ENDINGS and path.name != "manifest.json"]
    folders = [DATA / "codex-0.169.0", *(HOSTS / "transcripts").glob("*"), *(HOSTS / "words").glob("*/*")]
    words = [
        path for path in folders if path.is_dir() or path.suffix == ".jsonl" or path.name.endswith(("s.json", "t.json"))
    ]
    sessions = [*DATA.glob("claude-*/*.jsonl"), *(ROOT / "tests" / "data" / "words").glob("*")]
    return sorted(path for path in (*plain_files, *words, *sessions) if path.exists())


def files_of(path: Path) -> list[Path]:
    """Return the files of a recording: of a folder all, of a session also its subagents'."""
    below = path if path.is_dir() else path.with_suffix("")
    inner = [one for one in sorted(below.rglob("*")) if one.suffix == ".jsonl" or one.name.endswith(".messages.json")]
    return inner if path.is_dir() else [path, *inner]


def sources_of(path: Path, top: Path) -> list[str]:
    """Return what is replayed of a recording: its transcripts, or a database made of its rows."""
    rows = next((one for one in files_of(path) if one.name == "rows.jsonl"), None)
    if rows is None:
        return find_transcripts(str(path))
    host = rows.parent.name
    return [make_database(rows, HOSTS / "transcripts" / host / "schema.sql", top / host / f"{host}.db")]


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
        for one in sources_of(path, Path(top)):
            replay(Store(root, context), one)
        days = [day.read_text("utf-8") for day in Path(root).glob("daily/*/*/*.md")]
        entries = [one.entry for day in days for one in find_entries(day) if one.entry.label == EXCHANGE]
        log, said = plain("\n".join(entry.text for entry in entries), sys.maxsize), labels_of(files_of(path))
        found: dict[str, tuple[int, int]] = {}
        for kind, texts in said.items():
            names = {text.rpartition("/")[2] if kind == "edits" else text for text in texts}
            lost = [text for text in names if plain(text) not in log or not searched(Store(root, context), text)]
            found[kind] = len(names) - len(lost), len(names)
            for text in lost if misses else ():
                print(f"  {kind}: {text[:100]!r}", file=sys.stderr)
        typed = {plain(text) for texts in said.values() for text in texts}
        foreign = [
            one for one in (split_fields(entry.text).request for entry in entries) if one and plain(one) not in typed
        ]
        foreign = [one for one in foreign if not one.startswith("/")]
        for text in foreign if misses else ():
            print(f"  foreign: {text[:100]!r}", file=sys.stderr)
        return found, len(foreign)


def searched(store: Store, text: str) -> bool:
    """Return whether a search for the first words of a text finds an entry with its beginning."""
    words = " ".join(text.split()[:12]).replace('"', " ")
    hits = answer(store, words, limit=10, vectors=False).hits
    return any(plain(text) in plain(_ANCHOR.sub("", hit.text), sys.maxsize) for hit in hits)


def rows(files: list[Path], misses: bool) -> Iterator[str]:
    """Yield a line for each recording, and the sums."""
    sums = dict.fromkeys(KINDS, (0, 0))
    strangers = 0
    for path in files:
        found, foreign = measured(path, misses)
        strangers += foreign
        sums = {kind: (sums[kind][0] + found[kind][0], sums[kind][1] + found[kind][1]) for kind in KINDS}
        yield (
            f"{'/'.join(path.parts[-2:])[-40:]:40}"
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
    files = given.files or recordings()
    for row in rows(files, given.misses):
        print(row, flush=True)


if __name__ == "__main__":
    main()
