"""`make try`: the main job in a temporary project, with the real command, and what a user gets of it."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251  # runs the command as a user would
import sys
import tempfile
from pathlib import Path

_SAVES = (
    ("Use uv for packages, not pnpm: one lock file for all services.", "--type", "decision", "--tag", "build"),
    ("결정: JWT 만료시간은 15분으로 한다.", "--type", "decision", "--tag", "auth"),
    ("The test suite hangs when port 5432 is taken; set PGPORT.", "--type", "issue"),
    ("`ls /no/such` failed: the folder is called src/ now.", "--type", "error_fix", "--session", "demo-2"),
    ("deploy with token ghp_" + "0123456789abcdefghijABCDEFGHIJ012345" + " from the vault", "--session", "demo-2"),
)


def main() -> None:
    """Run the tour; ends with the exit code of the first command that fails."""
    with tempfile.TemporaryDirectory(prefix="gitmem try ") as folder:
        project = Path(folder, "프로젝트")
        project.mkdir()
        tour = _Tour(project, Path(folder))
        tour.git("init", "--quiet")
        tour.gitmem("init")
        for text, *options in _SAVES:
            tour.gitmem("save", text, *options)
        tour.show("memory.md", tour.store / "memory.md")
        (tour.store / "memory.md").open("a", encoding="utf-8").write("\nA line written by hand is kept, as an edit.\n")
        (tour.store / "config.yaml").write_text("rotation:\n  threshold_tokens: 180\n  carryover_tokens: 60\n")
        tour.gitmem("check")
        tour.gitmem("save", "Saved after the rotation, into the new memory.md.")
        tour.git("-C", str(tour.store), "log", "--oneline", "--stat", "-4")
        tour.gitmem("blame", "memory.md")
        tour.gitmem("index")
        tour.gitmem("status")
        print(f"\nThat was in {project}, which is gone now. In a project of yours: gitmem init")


class _Tour:
    def __init__(self, project: Path, home: Path) -> None:
        self.store = project / ".gitmem"
        self._project = project
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environ.update(HOME=str(home), GIT_CONFIG_NOSYSTEM="1", PYTHONUTF8="1")

    def gitmem(self, *args: str) -> None:
        print("\n$ gitmem " + " ".join(f'"{arg}"' if " " in arg else arg for arg in args), flush=True)
        self._run(sys.executable, "-m", "gitmem", *args)

    def git(self, *args: str) -> None:
        print("\n$ git " + " ".join(".gitmem" if arg == str(self.store) else arg for arg in args), flush=True)
        self._run("git", *args)

    def show(self, name: str, path: Path) -> None:
        print(f"\n$ cat .gitmem/{name}\n{path.read_text(encoding='utf-8')}", end="", flush=True)

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, cwd=self._project, env=self._environ, check=False)
        if done.returncode:
            raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
