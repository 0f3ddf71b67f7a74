"""`make try`: import two recorded sessions into a temporary project and print the resulting memory.

The sessions were written for this (templates/demo). They take the same way as those of hooks, with a threshold so small
that memory.md rotates.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  # runs the command as a user would
import tempfile
from pathlib import Path

from gitmem.platform.programs import own_command, resource
from gitmem.platform.shipped import install_command
from gitmem.store.settings import personal_folder

_SETTINGS = "rotation:\n  threshold_tokens: 700\n  carryover_tokens: 200\n"
_START = {"hook_event_name": "SessionStart", "session_id": "the-next-session", "source": "startup"}


def main() -> None:
    """Run the tour, and exit with the code of the first command that fails."""
    with tempfile.TemporaryDirectory(prefix="gitmem try ") as folder:
        project = Path(folder, "프로젝트")
        project.mkdir()
        tour = _Tour(project, Path(folder))
        tour.git("init", "--quiet")
        tour.gitmem("init")
        tour.configure(_SETTINGS)
        for name in ("1-login.jsonl", "2-orders.jsonl"):
            tour.gitmem("replay", resource("templates", "demo", name), shown=f"replay {name}")
        tour.tree()
        tour.show("memory.md", tour.store / "memory.md")
        tour.git("-C", str(tour.store), "log", "--oneline", "--stat", "-4")
        tour.gitmem("blame", f"memory.md:{_line_of(tour.store / 'memory.md', '**Decision**')}")
        tour.gitmem("summary", "show")
        tour.next_session()
        print(f"\nThat was in {project}, which is gone now. In a project of yours: gitmem init; gitmem install claude")
        print(f"To see a memory in the browser, and to correct it: {install_command('web')}; gitmem web --open")


def _line_of(path: Path, text: str) -> int:
    lines = path.read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if text in line)


class _Tour:
    def __init__(self, project: Path, home: Path) -> None:
        self.store = project / ".gitmem"
        self._project = project
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        config = str(home / ".config")
        self._environ.update(HOME=str(home), XDG_CONFIG_HOME=config, APPDATA=config)
        self._environ.update(GIT_CONFIG_NOSYSTEM="1", PYTHONUTF8="1", TZ="UTC")

    def configure(self, text: str) -> None:
        """Write the user's own settings."""
        folder = Path(personal_folder(self._environ, self._environ["HOME"]))
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(text)

    def gitmem(self, *args: str, shown: str = "") -> None:
        print("\n$ gitmem " + (shown or " ".join(f'"{arg}"' if " " in arg else arg for arg in args)), flush=True)
        self._run(*own_command(*args))

    def git(self, *args: str) -> None:
        print("\n$ git " + " ".join(".gitmem" if arg == str(self.store) else arg for arg in args), flush=True)
        self._run("git", *args)

    def show(self, name: str, path: Path) -> None:
        print(f"\n$ cat .gitmem/{name}\n{path.read_text(encoding='utf-8')}", end="", flush=True)

    def tree(self) -> None:
        """Show the files of the store."""
        print("\n$ git -C .gitmem ls-files", flush=True)
        self._run("git", "-C", str(self.store), "ls-files")

    def next_session(self) -> None:
        """Print the text for the start of the agent's next session."""
        print("\n# the text for the start of the agent's next session:", flush=True)
        payload = json.dumps({**_START, "cwd": str(self._project)})
        answer = self._run(*own_command("hook", "claude"), text=payload)
        print(json.loads(answer)["hookSpecificOutput"]["additionalContext"])

    def _run(self, *command: str, text: str | None = None) -> str:
        done = subprocess.run(
            command,
            cwd=self._project,
            env=self._environ,
            check=False,
            input=text,
            stdout=None if text is None else subprocess.PIPE,
            encoding="utf-8",
        )
        if done.returncode:
            raise SystemExit(done.returncode)
        return done.stdout or ""


if __name__ == "__main__":
    main()
