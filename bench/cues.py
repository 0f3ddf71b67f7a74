"""Whether what earlier sessions held about a session's own files and terms is there when it begins. No model is needed.

Recorded sessions are replayed in the order in which they began, each into the store that those before it left. Before a
session is replayed it is looked at with the eyes of its first request:

- Its *cues* are the terms of its first own request (keywords, `gitmem.text.words`) and the names of the files it
  changed: what a person, or an agent that begins, would look for; those under four characters are
  left out.
- A cue is *known* if an earlier session of the same project holds it: its stem in what was asked or answered there, or
  the file among those changed. Sessions of which no cue is known could not be helped; they are counted, and left out.
- A known cue is *told* if it stands in the text the session starts with, and *found* if it stands in one of the six
  best hits of a search for the first request, or for the file's name.

Reported: for each such session its known cues and how many of them were told, found, and either; and over all, the mean
of these shares. All transcripts count as one project; those of one repository follow each other in time, the others are
the noise that a memory of years has. The first request is not what earlier sessions said, so a share of 1 says that
nothing was lost, not that all of it was useful.

    python bench/cues.py FOLDER [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.sessions.end import find_transcripts, read_records, replay
from gitmem.sessions.entries import relative_files
from gitmem.sessions.start import start_parts, start_text
from gitmem.sessions.transcript import hook_events
from gitmem.sessions.turns import Turn, fold, human_text
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.text.words import keywords

BEST = 6
SHORTEST = 4
OWN_WORDS = 1_500  # characters of a request; a longer one is a paste


def stems(text: str) -> set[str]:
    return {stem for stem, _ in keywords(text) if len(stem) >= SHORTEST or stem >= "\u1100"}


def files_of(turns: list[Turn]) -> set[str]:
    return {
        name.rpartition("/")[2] for turn in turns for name in relative_files(turn.files, (turn.cwd,)) if len(name) > 3
    }


def first_request(turns: list[Turn]) -> str:
    return next((said for turn in turns if (said := human_text(turn.prompt)[:OWN_WORDS])), "")


def said_in(turns: list[Turn]) -> set[str]:
    return {stem for turn in turns for stem in stems(f"{human_text(turn.prompt)}\n{turn.answer}")}


def hits(store: Store, query: str) -> str:
    found = answer(store, query, limit=BEST).hits if query.strip() else ()
    return "\n".join(hit.text for hit in found)


def look(store: Store, turns: list[Turn], terms: set[str], files: set[str]) -> dict[str, object]:
    """Return how many of these cues are in the start text and in the best hits."""
    start = start_text(store, start_parts(store, (), None, ()))
    query = " ".join(sorted(word for stem, word in keywords(first_request(turns)) if stem in terms))
    by_terms = hits(store, query)
    told = {term for term in terms if term in stems(start)} | {name for name in files if name in start}
    found = {term for term in terms if term in stems(by_terms)}
    found |= {name for name in files if name in by_terms or name in hits(store, name)}
    known = terms | files
    return {"known": sorted(known), "told": sorted(told), "found": sorted(found), "either": sorted(told | found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    sessions = []
    for path in find_transcripts(args.folder):
        turns = fold(hook_events(read_records(path), None))
        if turns:
            sessions.append((turns[0].started, path, turns))
    sessions.sort(key=lambda one: one[:2])
    if not sessions:
        sys.exit(f"There are no transcripts in {args.folder}.")
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as home:
        project = Path(home, "project")
        project.mkdir()
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CLAUDE", "PYTHON"))
        }
        environ |= {"HOME": home, "GITMEM_EMBEDDING_PROVIDER": "none"}
        context = Context(environ, home, "bench", lambda: datetime.now().astimezone())
        root = init_store(str(project), context, Place.PROJECT).store.root
        held: set[str] = set()
        changed: set[str] = set()
        report: list[dict[str, Any]] = []
        for _, path, turns in sessions:
            store = Store(root, context)
            terms, files = stems(first_request(turns)) & held, files_of(turns) & changed
            if terms | files:
                report.append({"session": os.path.basename(path), **look(store, turns, terms, files)})
            replay(store, path)
            held |= said_in(turns)
            changed |= files_of(turns)
    if args.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
        return
    for one in report:
        counts = " ".join(f"{name} {len(one[name])}" for name in ("known", "told", "found", "either"))
        print(f"{one['session'][:44]:<46}{counts}")
    print(f"{len(report)} of {len(sessions)} sessions could be helped; of their known cues, on average:")
    for name in ("told", "found", "either"):
        print(f"  {name:<7}{statistics.mean(len(one[name]) / len(one['known']) for one in report):.2f}")


if __name__ == "__main__":
    main()
