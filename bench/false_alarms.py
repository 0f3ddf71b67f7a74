"""How often a prompt is shown something without asking, where nothing that it needs is remembered.

| row | |
| --- | --- |
| another project | the prompts of recorded transcripts, put to a store of another project: all need nothing |
| earlier sessions | each prompt, put to a store that holds the sessions before: some rightly are shown something |

    python bench/false_alarms.py [--list]

The target is nothing on 39 of 40 prompts of the first row.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from usefulness import DATA, Gitmem, Session, devmembench

from gitmem.cli.app import real_app
from gitmem.hosts.registry import read_transcript
from gitmem.model.transcript import hook_events
from gitmem.model.turns import Turn, fold
from gitmem.model.words import human_text
from gitmem.store.store import Store
from gitmem.tell.prompt import remembered

MOST = 1 / 40


def recorded() -> list[tuple[Path, list[Turn]]]:
    """Return the transcripts with their turns, the oldest first."""
    paths = sorted((DATA / "transcripts").rglob("*.json*"))
    named = [path for path in paths if path.name != "manifest.json" and "subagents" not in path.parts]
    found = [(path, fold(hook_events(read_transcript(str(path))))) for path in named]
    return sorted((one for one in found if one[1]), key=lambda one: one[1][0].started)


def told(store: Store, prompts: Sequence[tuple[str, str]]) -> list[str]:
    """Return the prompts, given with their session, that are shown something that the session was not shown before."""
    shown: dict[str, list[str]] = {}
    found = []
    for session, prompt in prompts:
        help_ = remembered(store, prompt, session, shown.setdefault(session, []))
        shown[session] += help_.ids
        found += [prompt] if help_.text else []
    return found


def prompts_of(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Return what a user said in these turns, each with its session, each once."""
    said = dict.fromkeys((turn.session, human_text(turn.prompt).strip()) for turn in turns)
    return [(session, prompt) for session, prompt in said if prompt]


def opened(home: str, project: Path) -> Store:
    """Return the store of a project."""
    return Store(str(project / ".gitmem"), real_app()._replace(environ={**os.environ, "HOME": home}).context())


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="list the prompts that are told something")
    args = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"There are no transcripts: {DATA} does not exist.")
    transcripts = recorded()
    rows: dict[str, tuple[list[str], int]] = {}
    for name in ("another project", "earlier sessions"):
        with tempfile.TemporaryDirectory(prefix="gitmem-bench-", ignore_cleanup_errors=True) as home:
            project = Path(home, "project")
            project.mkdir()
            sessions: list[Session] = devmembench(str(project))[0] if name == "another project" else []
            gitmem = Gitmem(home, str(project), sessions)
            found, many = [], 0
            for path, turns in transcripts:
                prompts = prompts_of(turns)
                found += told(opened(home, project), prompts)
                many += len(prompts)
                if name != "another project":
                    gitmem.run("replay", str(path))
            rows[name] = found, many
    for name, (found, many) in rows.items():
        share = len(found) / many
        target = f", at most {MOST:.1%}: {'ok' if share <= MOST else 'MISSED'}" if name == "another project" else ""
        print(f"{name:<20}{len(found):>4} of {many} prompts are told something, {share:.0%}{target}")
        if args.list:
            print("\n".join(f"    {' '.join(prompt.split())[:110]}" for prompt in found))


if __name__ == "__main__":
    main()
