"""Whether the judge of outcomes agrees with a person, on turns labelled by hand.

`outcomes.tsv` names a file, a turn of it (counted from 0) and how that turn ended: success, partial (something was
left out, or the person had to correct it), failed or interrupted. The labels were made from the request, the
answer, the last commands and what the person said next, before the judge was tuned; none of them was held back from
tuning. The transcripts stand beside the repository, in ../shared/data; without them nothing is measured.

    python bench/outcomes.py [--wrong]
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from gitmem.hosts import find_host, writer
from gitmem.sessions.end import read_lines, read_records
from gitmem.sessions.outcome import judge_outcome
from gitmem.sessions.transcript import hook_events
from gitmem.sessions.turns import Turn, fold, human_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LABELS = Path(__file__).with_suffix(".tsv")
ENOUGH = 0.85
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def turns_of(name: str) -> list[Turn]:
    """Return the turns of a transcript, or of a session of DevMemBench."""
    folder, _, rest = name.partition("/")
    if folder == "devmembench":
        sessions = json.loads((DATA / folder / "sessions.json").read_text("utf-8"))
        said = next(one for one in sessions if one["sessionId"] == rest)["messages"]
        texts = [message["content"] for message in said]
        at = [BEGAN + timedelta(minutes=minute) for minute in range(len(texts))]
        return [
            Turn(rest, "", str(index), at[index], at[index], prompt=asked, answer=answer, closed=True)
            for index, (asked, answer) in enumerate(zip(texts[::2], texts[1::2], strict=False))
        ]
    return turns_in(DATA / name)


def turns_in(file: Path) -> list[Turn]:
    """Return the turns of a transcript of any host."""
    path = str(file)
    host = writer(path, read_lines)
    turns = fold(hook_events(read_records(path, None, host), None, find_host(host).label))
    return [turn._replace(closed=True) for turn in turns]


def main() -> int:
    """Print the agreement, in all and by outcome."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wrong", action="store_true", help="list the turns that are judged otherwise")
    args = parser.parse_args()
    if not DATA.exists():
        print(f"skipped: {DATA.name} is not there")
        return 0
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    judged: Counter[tuple[str, str]] = Counter()
    for row in rows:
        turns, index = turns_of(row["file"]), int(row["turn"])
        following = turns[index + 1] if index + 1 < len(turns) else None
        turn = turns[index]._replace(answer=human_text(turns[index].answer))
        outcome = judge_outcome(turn, human_text(following.prompt) if following else "")
        judged[row["outcome"], outcome.value] += 1
        if args.wrong and outcome != row["outcome"]:
            print(f"{row['file']} {index}: {row['outcome']}, judged {outcome}")
    agreed = sum(number for (label, outcome), number in judged.items() if label == outcome)
    for label in ("success", "partial", "failed", "interrupted"):
        of_label = {outcome: number for (one, outcome), number in sorted(judged.items()) if one == label}
        print(f"{label:11} {sum(of_label.values()):3}  judged {of_label}")
    print(f"agreement {agreed / len(rows):.2f} ({agreed} of {len(rows)}), wanted {ENOUGH}")
    return agreed < ENOUGH * len(rows)


if __name__ == "__main__":
    sys.exit(main())
