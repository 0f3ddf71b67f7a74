"""`make try`: replay a recorded session in a temporary project, and print what the next session is told.

The sessions were written for this (templates/demo), one a language. They take the same way as those of hooks.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  # runs the command as a user would
import sys
import tempfile
from pathlib import Path

from gitmem.platform.programs import own_command, resource

LANGUAGES = ("en", "ko")
_ERROR = "ModuleNotFoundError: No module named 'hypothesis'"
_START: dict[str, object] = {"hook_event_name": "SessionStart", "session_id": "session-two", "source": "startup"}
_FAILURE: dict[str, object] = {
    "hook_event_name": "PostToolUseFailure",
    "session_id": "session-two",
    "tool_name": "Bash",
    "tool_use_id": "toolu_1",
    "tool_input": {"command": "uv run pytest"},
    "error": f"E   {_ERROR}",
}


def main(language: str) -> None:
    """Run the tour in a language, and exit with the code of the first command that fails."""
    with tempfile.TemporaryDirectory(prefix="gitmem-try-") as home:
        project = Path(home, "shop")
        project.mkdir()
        tour = _Tour(project, home)
        tour.run("git", "init", "--quiet", "--initial-branch=main")
        tour.run(*own_command("init"), quiet=True)
        recorded = resource("templates", "demo", f"{language}.jsonl")
        print("# session one, in which a person said:\n" + "\n".join(f"> {text}" for text in _prompts(recorded)))
        print("\n$ gitmem replay session-one.jsonl       # hooks do this by themselves, turn by turn", flush=True)
        tour.run(*own_command("replay", recorded))
        print("\n# session two starts, and the agent is told:", flush=True)
        tour.hook(_START)
        print(f"\n# a command fails in session two ({_ERROR}):", flush=True)
        tour.hook(_FAILURE)
        print("\n$ git -C .gitmem log --oneline", flush=True)
        tour.run("git", "-C", ".gitmem", "log", "--oneline")
        print("\nAll of that is gone now. In a project of yours: gitmem init && gitmem install claude")


def _prompts(transcript: str) -> list[str]:
    """Return what the person said in a transcript."""
    lines = Path(transcript).read_text(encoding="utf-8").splitlines()
    said = [json.loads(line)["message"]["content"] for line in lines]
    return [text for text in said if isinstance(text, str)]


class _Tour:
    def __init__(self, project: Path, home: str) -> None:
        self._project = project
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        config = str(Path(home, ".config"))
        self._environ.update(HOME=home, XDG_CONFIG_HOME=config, APPDATA=config)
        self._environ.update(GIT_CONFIG_NOSYSTEM="1", PYTHONUTF8="1", TZ="UTC")

    def hook(self, payload: dict[str, object]) -> None:
        """Hand an event to the hook as an agent does, and print the text that the agent gets."""
        event = json.dumps({**payload, "cwd": str(self._project)})
        answer = self.run(*own_command("hook", "claude", str(payload["hook_event_name"])), text=event)
        print(json.loads(answer)["hookSpecificOutput"]["additionalContext"], flush=True)

    def run(self, *command: str, text: str | None = None, quiet: bool = False) -> str:
        """Run a command in the project and return its output, which without a `text` for it goes to the terminal."""
        done = subprocess.run(
            command,
            cwd=self._project,
            env=self._environ,
            check=False,
            input=text,
            stdout=subprocess.PIPE if quiet or text is not None else None,
            encoding="utf-8",
        )
        if done.returncode:
            raise SystemExit(done.returncode)
        return done.stdout or ""


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] not in LANGUAGES:
        raise SystemExit(f"There is no such demo: {sys.argv[1]}. DEMO is one of {', '.join(LANGUAGES)}.")
    main(*sys.argv[1:] or ["en"])
