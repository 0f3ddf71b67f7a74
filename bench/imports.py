"""How much memory `gitmem replay --from AGENT` needs for a transcript of 50 MB, for each format.

The transcript is the recorded one of the agent, again and again, with prompts, ids and long results of their own. The
recordings lie beside the repository; an agent without one is left out.

    python bench/imports.py [--megabytes 50] [AGENT ...]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gitmem.hosts.registry import transcript_file

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "e2e" / "hosts" / "transcripts"
AGENTS = ("claude", "cline", "codex", "copilot", "droid", "gemini", "kilo", "opencode", "pi", "qwen")
HOUR = 3_600_000  # milliseconds between the copies in a database
TARGET = 200  # megabytes
LONG = "line of output 0123456789 " * 1_500
IDS = re.compile(r'(?P<key>"(?:id|promptId|uuid|turn_id|callId|toolCallId|call_id|tool_use_id)": ?")')


def grown(path: Path, folder: Path, size: int) -> Path:
    """Return a transcript of this size in bytes."""
    whole = path.read_text(encoding="utf-8")
    first, _, rest = whole.partition("\n")
    # A prompt belongs to each copy, a header to none: droid's names the session, and has the prompt as its title.
    if "PROMPT-ONE" in first and '"session_start"' not in first:
        rest = whole
    new, written, number = folder / path.name, 0, 0
    with new.open("w", encoding="utf-8") as file:
        file.write(f"{first}\n")
        while written < size:
            number += 1
            text = rest.replace("PROMPT-ONE", f"PROMPT-{number}").replace("shell-tool-ran\\n", f"{LONG}\\n")
            written += file.write(IDS.sub(rf"\g<key>{number}-", text))
    return new


def grown_session(path: Path, folder: Path, size: int) -> Path:
    """Return a session of Cline of this size, with the file beside it that says whose it is."""
    session = json.loads(path.read_text(encoding="utf-8"))
    messages = json.dumps(session.pop("messages"), ensure_ascii=False, indent=2)[1:-1]
    new, written, number = folder / path.name, 0, 0
    beside = path.name.replace(".messages.json", ".json")
    (folder / beside).write_bytes(path.with_name(beside).read_bytes())
    with new.open("w", encoding="utf-8") as file:
        file.write(json.dumps(session)[:-1] + ', "messages": [')
        while written < size:
            number += 1
            text = messages.replace("PROMPT-ONE", f"PROMPT-{number}").replace("shell-tool-ran\\n", f"{LONG}\\n")
            written += file.write("," * (number > 1) + IDS.sub(rf"\g<key>{number}-", text))
        file.write("]}")
    return new


def grown_database(path: Path, folder: Path, size: int) -> Path:
    """Return the path of a session of this size in a database, as OpenCode has it."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    new, session, written, number = folder / "opencode.db", "", 0, 0
    with contextlib.closing(sqlite3.connect(new)) as database, database:
        database.executescript(path.with_name("schema.sql").read_text(encoding="utf-8"))
        while written < size:
            number += 1
            for row in rows:
                table = row["table"]
                if number > 1 and table not in {"message", "part"}:
                    continue
                session = row["id"] if table == "session" else session
                copy = {key: value for key, value in row.items() if key != "table"}
                if table in {"message", "part"}:
                    data = copy["data"].replace("PROMPT-ONE", f"PROMPT-{number}")
                    data = data.replace("shell-tool-ran\\n", f"{LONG}\\n").replace('"callID":"', f'"callID":"{number}-')
                    copy |= {
                        "data": data,
                        "id": f"{copy['id']}-{number}",
                        "time_created": copy["time_created"] + number * HOUR,
                    }
                    copy |= {"message_id": f"{copy['message_id']}-{number}"} if table == "part" else {}
                    written += len(data)
                marks = ", ".join("?" * len(copy))
                database.execute(f"INSERT INTO {table} ({', '.join(copy)}) VALUES ({marks})", tuple(copy.values()))
    return Path(f"{new}#{session}")


def measure(agent: str, transcript: Path, folder: Path) -> float:
    """Import a transcript in a child process, print its time and memory, and return the peak in megabytes."""
    environ = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    gitmem, project, output = [sys.executable, "-m", "gitmem"], folder / "project", folder / "out"
    project.mkdir()
    for words in (["git", "init", "-q"], [*gitmem, "init"]):
        subprocess.run(words, cwd=project, env=environ, check=True, capture_output=True)
    begin = time.perf_counter()
    with output.open("w") as out:
        words = [*gitmem, "replay", "--from", agent, "--json", str(transcript)]
        process = subprocess.Popen(words, cwd=project, env=environ, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    seconds, peak = time.perf_counter() - begin, used.ru_maxrss / 1024
    assert status == 0, output.read_text()
    turns = json.loads(output.read_text())["turns"]
    size = os.stat(transcript_file(str(transcript))).st_size / 1e6
    print(f"{agent:10} {size:6.1f} MB, {turns:5} turns: peak {peak:6.1f} MB, {seconds:6.1f} s", flush=True)
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("agents", nargs="*", default=list(AGENTS))
    args = parser.parse_args()
    worst = 0.0
    for agent in args.agents:
        found = sorted((RECORDED / agent).rglob("*.messages.json" if agent == "cline" else "*.jsonl"))
        if not found:
            print(f"{agent:10} no recorded transcript at {RECORDED}")
            continue
        with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as name:
            made = {"cline": grown_session, "kilo": grown_database, "opencode": grown_database}.get(agent, grown)
            transcript = made(found[0], Path(name), args.megabytes * 1_000_000)
            worst = max(worst, measure(agent, transcript, Path(name)))
    print(f"target: {TARGET} MB: {'met' if worst <= TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
