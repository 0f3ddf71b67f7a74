"""What a newcomer waits and reads from `git clone` to the first useful answer, and to the first session remembered.

In a fresh home: clone this repository, `make try`, then in a project of one's own `init` and `install claude`, one turn
given to the lines in the settings as Claude Code gives it, and the next session's start. A line read is one of the
README up to the two commands, or one that a command prints.

    python bench/first_minute.py
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ASKED = "We decided to keep prices as integer cents, because floats lose money. Please note it in the README."
_ANSWER = "The README says now that prices are integer cents."


def main() -> None:
    """Print each step with its seconds and the lines it has a user read."""
    with tempfile.TemporaryDirectory(prefix="gitmem-minute-", ignore_cleanup_errors=True) as top:
        home, project, clone = (Path(top, name) for name in ("home", "project", "clone"))
        for folder in (home, project):
            folder.mkdir()
        (home / ".claude").mkdir()
        gitmem = str(clone / ".venv" / "bin" / "gitmem")
        environ = {name: os.environ[name] for name in ("PATH", "LANG", "PIP_INDEX_URL") if name in os.environ}
        environ |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        environ["PATH"] = f"{clone / '.venv' / 'bin'}{os.pathsep}{environ['PATH']}"
        begun, read = time.monotonic(), 0

        def step(words: tuple[str, ...], cwd: Path, given: str = "") -> str:
            nonlocal read
            before = time.monotonic()
            done = subprocess.run(words, cwd=cwd, env=environ, input=given, capture_output=True, text=True, check=True)
            lines = 0 if given else len((done.stdout + done.stderr).splitlines())
            read += lines
            named = "an event" if given else " ".join(Path(word).name for word in words)
            print(f"{time.monotonic() - before:6.1f} s {lines:4} lines  {named[:70]}", flush=True)
            return done.stdout

        step(("git", "clone", "--quiet", str(ROOT), str(clone)), Path(top))
        readme = (clone / "README.md").read_text(encoding="utf-8")
        read += len(readme[: readme.index("## Why not")].splitlines())
        step(("make", "try"), clone)
        print(
            f"{time.monotonic() - begun:6.1f} s {read:4} lines  to the first useful answer (the README's lines with it)"
        )
        step(("git", "init", "--quiet"), project)
        step((gitmem, "init"), project)
        step((gitmem, "install", "claude", "--yes"), project)
        hooks = json.loads((project / ".claude" / "settings.json").read_text(encoding="utf-8"))["hooks"]
        about = {"session_id": "one", "cwd": str(project), "transcript_path": ""}
        for event, more in (
            ("SessionStart", {"source": "startup"}),
            ("UserPromptSubmit", {"prompt": _ASKED}),
            ("Stop", {"last_assistant_message": _ANSWER}),
            ("SessionEnd", {"reason": "exit"}),
        ):
            line = hooks[event][0]["hooks"][0]["command"]
            step(("sh", "-c", line), project, json.dumps({"hook_event_name": event, **about, **more}))
        start = {"hook_event_name": "SessionStart", **about, "session_id": "two", "source": "startup"}
        told = step(("sh", "-c", hooks["SessionStart"][0]["hooks"][0]["command"]), project, json.dumps(start))
        assert "integer cents" in told, told
        print(f"{time.monotonic() - begun:6.1f} s {read:4} lines  to the first session that the next one is told of")


if __name__ == "__main__":
    main()
