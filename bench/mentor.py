"""What the next start tells of a mentor's rules that changed, if a model judges each session.

    python bench/mentor.py [--write DIR] [--take DIR]

Plays the dialogues of `tests/data/mentor.txt` and `mentor.held-out.txt` as a store would live through them: at each
session's end the rules of words learn from it, then the question about it is answered by the answer that a model gave
to exactly that question (`tests/replies/mentor.json`). `--write` writes the questions that have no answer yet, a file
each that is named by its digest; `--take` adds the answers `DIGEST.json` of a folder. Each round of both brings the
dialogues one session further. Fails if rules in force are told less than .90, or replaced ones more than .05.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.learn import keep
from gitmem.learn.check import Reader
from gitmem.learn.facts import learn
from gitmem.learn.question import SCHEMA, choose_known, digest_of, question_of, windows_of
from gitmem.learn.results import JudgedSession
from gitmem.llm.protocol import Question, fenced, parse_reply
from gitmem.model.turns import Turn
from gitmem.platform.machine import Context, read_resource
from gitmem.store.init import Place, init_store
from gitmem.store.known_concepts import known_concepts
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.tell.start import start_parts, start_text

ROOT = Path(__file__).resolve().parents[1]
DIALOGUES = ("mentor.txt", "mentor.held-out.txt")
REPLIES = ROOT / "tests" / "replies" / "mentor.json"
BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)
IN_FORCE, REPLACED = 0.90, 0.05


class Dialogue(NamedTuple):
    """A mentor's prompts, each of a session of its own, with words of what holds at the end and of what does not."""

    name: str
    prompts: list[str]
    holds: list[str]
    ended: list[str]


def read_dialogues(name: str) -> list[Dialogue]:
    text = (ROOT / "tests" / "data" / name).read_text("utf-8")
    found = []
    for part in text.split("\n= ")[1:]:
        title, *lines = part.splitlines()
        marked = {mark: [line[2:] for line in lines if line.startswith(mark)] for mark in ("+ ", "- ")}
        prompts = [line for line in lines if line[:2] not in marked]
        found.append(Dialogue(title, prompts, marked["+ "], marked["- "]))
    return found


def live(dialogue: Dialogue, answers: dict[str, Any], counts: Counter[str]) -> str | Question:
    """Return the start after a dialogue's sessions; the question of the first session without an answer."""
    with tempfile.TemporaryDirectory() as home:
        folder = f"{home}/project"
        os.mkdir(folder)
        now = [BEGAN]
        context = Context({"PATH": os.environ["PATH"], "HOME": home}, home, "bench", lambda: now[0])
        init_store(folder, context, Place.PROJECT)
        store = Store(f"{folder}/.gitmem", context)
        for number, prompt in enumerate(dialogue.prompts):
            now[0] += timedelta(days=1)
            turn = Turn(f"s-{number}", "claude-code", "t", now[0], now[0], prompt, "Done.", closed=True)
            learn(store, turn.session, "claude-code", [turn])
            window = windows_of([turn])[0]
            known = choose_known(window, known_facts(store), known_concepts(store))
            asked = question_of(read_resource("templates", "prompts", "session.md").decode(), window, known, {})
            answer = answers.get(digest_of(asked))
            if answer is None:
                return asked
            judged = Reader(window, known, {}).read(parse_reply(json.dumps(answer), SCHEMA))
            counts["kept"] += judged.kept
            counts["refused"] += sum(judged.refused.values())
            keep.keep(store, JudgedSession(turn.session, "claude-code", (turn,), "claude"), judged, known)
        now[0] += timedelta(days=1)
        return start_text(store, start_parts(store, [], None, []))


def write(asked: Question, folder: Path) -> None:
    request = fenced(asked, bytes(16))
    text = f"{request.system}\n\nSchema: {json.dumps(request.schema)}\n\n{request.text}\n"
    folder.joinpath(f"{digest_of(asked)}.txt").write_text(text, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the questions without an answer")
    parser.add_argument("--take", type=Path, metavar="DIR", help="add the answers in a folder")
    args = parser.parse_args()
    recorded: dict[str, Any] = {"model": "claude", "date": f"{datetime.now(UTC):%Y-%m-%d}", "answers": {}}
    if REPLIES.exists():
        recorded = json.loads(REPLIES.read_text("utf-8"))
    if args.take:
        recorded["answers"] |= {
            one.stem: json.loads(one.read_text("utf-8")) for one in sorted(args.take.glob("*.json"))
        }
        REPLIES.write_text(json.dumps(recorded, ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8")
    counts: Counter[str] = Counter()
    for dialogue in [one for name in DIALOGUES for one in read_dialogues(name)]:
        found = live(dialogue, recorded["answers"], counts)
        if not isinstance(found, str):
            counts["without answers"] += 1
            if args.write:
                args.write.mkdir(parents=True, exist_ok=True)
                write(found, args.write)
            continue
        lines = found.splitlines()
        holds = [any(words in line for line in lines) for words in dialogue.holds]
        old = [line for line in lines if not any(words in line for words in dialogue.holds)]
        ended = [any(words in line for line in old) for words in dialogue.ended]
        counts.update({"dialogues": 1, "hold": len(holds), "ended": len(ended), "held": sum(holds), "told": sum(ended)})
        if not all(holds) or any(ended):
            print(f"{dialogue.name}: in force {holds}, replaced {ended}")
    return report(counts)


def report(counts: Counter[str]) -> int:
    print(f"{counts['dialogues']} dialogues, {counts['without answers']} whose next question has no recorded answer")
    if not counts["dialogues"]:
        return 0
    held, told = counts["held"] / counts["hold"], counts["told"] / counts["ended"]
    print(f"in force and told {counts['held']}/{counts['hold']} = {held:.2f}, at least {IN_FORCE}")
    print(f"replaced and told {counts['told']}/{counts['ended']} = {told:.2f}, at most {REPLACED}")
    print(f"claims kept {counts['kept']}, refused {counts['refused']}")
    return int(held < IN_FORCE or told > REPLACED)


if __name__ == "__main__":
    sys.exit(main())
