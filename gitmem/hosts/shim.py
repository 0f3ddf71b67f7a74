"""The line that hosts run at events, and the script behind it, `hooks/hook.sh`; see its comments."""

from __future__ import annotations

import os
import re

SCRIPT = "hook.sh"
FOLDER = (".local", "share", "gitmem")
_LINE = r'h=\S+/hook\.sh"?; \[ -r "\$h" \] && gitmem=[A-Za-z.-]+ \. "\$h"; exit 0'
_OLD_MARK = "gitmem="  # began the lines of 1,500 characters that gitmem wrote before there was a script
_PROGRAM = "gitmem_installed=''"


def command(event: str, host: str = "claude", folder: str = f"$HOME/{'/'.join(FOLDER)}") -> str:
    """Return the line for an event, in gitmem's word for it; `folder` is where the script is, as a shell reads it."""
    word = event if host == "claude" else _with_host(event, host)
    return f'h={folder}/{SCRIPT}; [ -r "$h" ] && gitmem={word} . "$h"; exit 0'


def _with_host(event: str, host: str) -> str:
    name, dot, when = event.partition(".")
    return f"{name}.{host}{dot}{when}"


# What a project's settings start as the MCP server: gitmem, or for who has none a server without tools instead of one
# that fails in each session. Gemini CLI and Qwen Code take a server for failed that has nothing at all.
_ABLE = '"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"gitmem","version":"0"}'
SERVER_LINE = f"""\
command -v gitmem >/dev/null && exec gitmem mcp; while read -r m; do i=${{m##*'"id":'}}; i=${{i%%[,\\}}]*}}; \
case $m in *'"initialize"'*) r='{{"protocolVersion":"2025-06-18",{_ABLE}}}';; \
*'"resources/list"'*) r='{{"resources":[{{"uri":"gitmem://none","name":"gitmem is not installed"}}]}}';; \
*'"id":'*) r='{{"tools":[]}}';; *) continue;; esac; \
printf '%s\\n' "{{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$i,\\"result\\":$r}}"; done"""
LATE = ".late"
"""After the name of an event: the host is told its memory with the next prompt, not at this event."""
DUE = ".due"
"""After the name of an event: late answers go out with this event, as the host reads none at its prompts."""


def is_ours(text: object) -> bool:
    """Return whether the command of a hook is one of gitmem's, of whatever version."""
    return isinstance(text, str) and (text.startswith(_OLD_MARK) or re.fullmatch(_LINE, text) is not None)


def script_path(home: str) -> str:
    """Return where the script stands on this machine."""
    return os.path.join(home, *FOLDER, SCRIPT)


def script(program: str) -> bytes:
    """Return the script; `program` is the gitmem to start if the PATH has none, "" if unknown."""
    import shlex

    from gitmem.machine.resources import read_resource

    text = read_resource("hooks", SCRIPT).decode()
    return text.replace(_PROGRAM, f"gitmem_installed={shlex.quote(program)}").encode("utf-8", "surrogateescape")


def is_current(text: str) -> bool:
    """Return whether a script is the one of this version, whatever program it starts."""
    return re.sub(r"(?m)^gitmem_installed=.*$", _PROGRAM, text) == script("").decode()
