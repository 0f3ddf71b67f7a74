"""What invented histories of work are told and teach, read by two agents.

`bench/histories/NAME.json` are sessions of a project over six weeks each, in English, in Korean and in both, written by
agents that had seen nothing of gitmem. Each project is replayed in order of time into a store of its own, as
bench/precision.py does with recordings. `bench/histories/verdicts.tsv` has what two readers, each alone, said of each
thing that was learned or told: `helps`, `beside` the point or `wrong`; where they differ both verdicts stay. What is
told now and stands in no row is *unread* and counts as wrong; of some projects only some kinds were read, and the
others are left out.

Rules were changed for what was read, so none is held out any more; docs/figures.md has the figures of each at its first
reading. Each row has the verdicts of the last two that read its text.

    python bench/histories.py [PROJECT...] [--list] [--told]
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import outcomes
import precision
from precision import Piece, Session

from gitmem.lessons.error_occurrence import is_bug

FOLDER = Path(__file__).with_suffix("")
PROJECTS = sorted(path.stem for path in FOLDER.glob("*.json"))
KINDS = ("errors", "prompts", "facts", "mends", "episodes")


class Transcript:
    """A session as Claude Code writes it, record by record."""

    def __init__(self, cwd: str, session: str, began: str) -> None:
        self._common = {"cwd": cwd, "sessionId": session, "version": "2.1.330", "isSidechain": False}
        self._at = datetime.fromisoformat(began)
        self.lines: list[str] = []

    def pause(self) -> None:
        self._at += timedelta(minutes=3)

    def say(self, role: str, content: object) -> None:
        self._at += timedelta(seconds=7)
        number = f"{len(self.lines):04d}"
        record = {"type": role, "uuid": number, "timestamp": self._at.isoformat(timespec="milliseconds")}
        message = {"role": role, "id": number, "content": content}
        self.lines.append(json.dumps(self._common | record | {"message": message}, ensure_ascii=False))

    def call(self, name: str, given: dict[str, str], output: str, *, failed: bool = False) -> None:
        call = f"call-{len(self.lines):04d}"
        self.say("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        text = f"Exit code 1\n{output}" if failed else output
        self.say("user", [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}])


def transcript(project: dict[str, Any], session: dict[str, Any]) -> str:
    """Return a session of a history as a transcript."""
    cwd = project["cwd"]
    written = Transcript(cwd, str(uuid5(NAMESPACE_URL, project["project"] + session["id"])), session["date"])
    for turn in session["turns"]:
        written.pause()
        written.say("user", turn["user"])
        for step in turn["steps"]:
            if "say" in step:
                written.say("assistant", [{"type": "text", "text": step["say"]}])
            elif "run" in step:
                written.call("Bash", {"command": step["run"]}, step.get("output", ""), failed=step.get("failed", False))
            elif "edit" in step:
                change = {"old_string": step["old"], "new_string": step["new"]}
                written.call("Edit", {"file_path": f"{cwd}/{step['edit']}"} | change, "The file has been updated.")
            else:
                given = {"file_path": f"{cwd}/{step['write']}", "content": step["content"]}
                written.call("Write", given, "The file has been written.")
        if turn.get("answer"):
            written.say("assistant", [{"type": "text", "text": turn["answer"]}])
    return "\n".join(written.lines)


@cache
def told(names: tuple[str, ...]) -> tuple[list[Piece], int, int]:
    """Replay histories; return what is learned and told, and the numbers of turns and of failed commands."""
    pieces: list[Piece] = []
    turns = failed = 0
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        for name in names:
            project = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
            sessions = []
            for session in project["sessions"]:
                path = Path(folder, f"{session['id']}.jsonl")
                path.write_text(transcript(project, session), "utf-8")
                sessions.append(Session(f"{name}/{session['id']}", path, outcomes.turns_in(path)))
            pieces += precision.replayed(sessions, Path(folder, name))
            turns += sum(len(session.turns) for session in sessions)
            failed += sum(is_bug(one) for session in sessions for turn in session.turns for one in turn.failures)
    return [piece for piece in pieces if piece.kind in KINDS], turns, failed


def rows() -> list[dict[str, str]]:
    with (FOLDER / "verdicts.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def verdicts(pieces: list[Piece], kind: str, reader: str) -> list[tuple[str, str]]:
    """Return what a reader said of each thing of a kind that is told now, with its place and text."""
    left = [row for row in rows() if row["kind"] == kind]
    read = {_project(row["file"]) for row in rows() if row["kind"] in {kind, "episodes"}}  # the latter: all of it
    found = []
    for piece in pieces:
        text = " ".join(piece.text.split())
        if piece.kind == kind and _project(piece.file) in read:
            place = (piece.file, str(piece.turn))
            row = next((row for row in left if (row["file"], row["turn"]) == place and row["words"] in text), None)
            found.append((row[reader] if row else "unread", f"{piece.file} {piece.turn}: {text[:300]}"))
    return found


def _project(file: str) -> str:
    return file.partition("/")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("projects", nargs="*", default=PROJECTS, help="all of them if none is named")
    parser.add_argument("--list", action="store_true", help="list what does not help")
    parser.add_argument("--told", action="store_true", help="print what is told, for a reader")
    args = parser.parse_args()
    pieces, turns, failed = told(tuple(args.projects))
    if args.told:
        print("\n".join("\t".join((*map(str, one[:3]), " ".join(one.text.split()))) for one in pieces))
        return 0
    missed = False
    for kind in KINDS:
        shares = []
        for reader in precision.READERS:
            found = verdicts(pieces, kind, reader)
            count = Counter(verdict for verdict, _ in found)
            shares.append(count["helps"] / len(found) if found else 1.0)
            print(f"{kind:9} {reader:7} {len(found):4} told: {dict(count)}; helps {shares[-1]:.2f}")
            for verdict, what in found if args.list else ():
                if verdict != "helps":
                    print(f"    {verdict}: {what}")
        target = precision.TARGETS[kind]
        missed |= min(shares) < target
        print(f"  {min(shares):.2f}, at least {target}: {'ok' if min(shares) >= target else 'MISSED'}")
    known = sum(piece.kind == "errors" for piece in pieces)
    print(f"a known error is told in {known} of {failed} failed commands, help at {turns} prompts")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
