"""The commands that hosts run at events: the texts of `hooks/`, each as one line (hooks/deliver.sh says why)."""

from __future__ import annotations

from gitmem.machine.resources import read_resource

DELIVER = "deliver.sh"
ANSWER = "answer.sh"
_MARK = "gitmem="
# After these words the shell goes on reading, so that the next line follows with a blank; else it begins a command.
_OPEN = ("{", "do", "then", "else", "in", ";;", "&&", "||", "|")


def command(script: str, event: str) -> str:
    """Return the command for an event: what `hooks/SCRIPT` says, on one line, marked as gitmem's."""
    return f"{_MARK}{event}; {one_line(read_resource('hooks', script).decode())}"


def is_ours(text: object) -> bool:
    """Say whether the command of a hook is one of gitmem's, of whatever version."""
    return isinstance(text, str) and text.startswith(_MARK)


def one_line(script: str) -> str:
    """Return a shell script without its indentation and its lines of comment, joined to one line."""
    joined = ""
    for line in (line.strip() for line in script.splitlines()):
        if line and not line.startswith("#"):
            joined += line if not joined else f" {line}" if joined.endswith(_OPEN) else f"; {line}"
    return joined
