"""`make try`: replay a recorded session in a temporary project, and print what the next session is told, on one screen.

The sessions were written for this (templates/demo), one a language. They take the same way as those of hooks.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  # runs the command as a user would
import sys
import tempfile
from pathlib import Path

from gitmem.platform.machine import own_command, resource
from gitmem.text.terminal import clipped

LANGUAGES = ("en", "ko")
_COLUMNS = 80
_ERROR = "ModuleNotFoundError: No module named 'hypothesis'"
_FAILURE: dict[str, object] = {
    "hook_event_name": "PostToolUseFailure",
    "session_id": "session-two",
    "tool_name": "Bash",
    "tool_use_id": "toolu_1",
    "tool_input": {"command": "uv run pytest"},
    "error": f"E   {_ERROR}",
}


def main(language: str, *, whole: bool = False) -> None:
    """Run the tour in a language, and exit with the code of the first command that fails.

    It prints of what the agent is shown what it shows, or with `whole` all.
    """
    with tempfile.TemporaryDirectory(prefix="gitmem-try-") as home:
        project = Path(home, "shop")
        project.mkdir()
        tour = _Tour(project, home)
        tour.run("git", "init", "--quiet", "--initial-branch=main")
        tour.run("git", "config", "--global", "user.name", "Ada")  # the home is the demo's own
        tour.run("git", "config", "--global", "user.email", "ada@example.org")
        tour.run(*own_command("init"))
        recorded = resource("templates", "demo", f"{language}.jsonl")
        tour.run(*own_command("replay", recorded))
        print("# Session one, recorded turn by turn; in it a user says:")
        print("\n".join(f"> {text}" for text in _prompts(recorded)))
        start, failure = tour.run(*own_command("start")), tour.hook(_FAILURE)
        print("# Session two starts. Its agent is shown (in full: make try ALL=1):")
        print(start if whole else _part(start, "## In force"))
        print("# A command fails in it. Its agent is shown:")
        print(failure if whole else _part(failure, _ERROR))
        print("$ git -C .gitmem log --oneline")
        commits = tour.run("git", "-C", ".gitmem", "log", "--oneline").splitlines()
        print("\n".join(clipped(line, _COLUMNS) for line in commits))
        print("# All of that is gone now. In a project of yours:")
        print("#   gitmem init && gitmem install claude")


def _prompts(transcript: str) -> list[str]:
    """Return what the user said in a transcript."""
    lines = Path(transcript).read_text(encoding="utf-8").splitlines()
    said = [json.loads(line)["message"]["content"] for line in lines]
    return [text for text in said if isinstance(text, str)]


def _part(told: str, first: str) -> str:
    """Return the lines of a text from the first one to the next blank one or the end of the fence."""
    part = told[told.index(f"\n{first}\n") + 1 :]
    return part.partition("\n\n")[0].partition("\n</gitmem-memory>")[0]


class _Tour:
    def __init__(self, project: Path, home: str) -> None:
        self._project = project
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        config = str(Path(home, ".config"))
        self._environ.update(HOME=home, XDG_CONFIG_HOME=config, APPDATA=config)
        self._environ.update(GIT_CONFIG_NOSYSTEM="1", PYTHONUTF8="1", TZ="UTC")

    def hook(self, payload: dict[str, object]) -> str:
        """Hand an event to the hook as an agent does, and return the text that the agent gets."""
        event = json.dumps({**payload, "cwd": str(self._project)})
        command = own_command("hook", "claude", str(payload["hook_event_name"]))
        tries = (self.run(*command, text=event) for _ in range(5))  # late on a busy machine, a hook says nothing
        answer = next(filter(None, tries))
        return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])

    def run(self, *command: str, text: str = "") -> str:
        """Run a command in the project and return its output."""
        done = subprocess.run(
            command,
            cwd=self._project,
            env=self._environ,
            check=False,
            input=text,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        if done.returncode:
            raise SystemExit(done.returncode)
        return done.stdout


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    words = sys.argv[1:]
    language = next((word for word in words if word != "--all"), "en")
    if language not in LANGUAGES:
        raise SystemExit(f"There is no such demo: {language}. DEMO is one of {', '.join(LANGUAGES)}.")
    main(language, whole="--all" in words)
