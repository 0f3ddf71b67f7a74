"""Compare command lines: which only read, and which run another one again. Pure.

Tested through `tests/model/learned/test_sight.py` and `tests/model/learned/test_working.py`.
"""

from __future__ import annotations

import re

# Programs that only read: they mend nothing, and their failure to find something is no bug.
_LOOKS = re.compile(
    r"(?:ls|cat|bat|head|tail|less|more|grep|egrep|rg|ag|find|fd|pwd|cd|which|whereis|type|tree|stat|file|wc|du|df|ps"
    r"|echo|printf|env|printenv|date|whoami|jq|test|diff|sort|uniq|lsof|sleep|true"
    r"|git (?:status|diff|log|show|branch|blame|reflog|remote|ls-files|ls-tree|grep|stash list)"
    r"|gh (?:pr|run|issue) (?:view|list|status|checks))(?=\s|$)"
)
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_OUTPUT = re.compile(r"\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|\S{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)")


def bare(command: str) -> str:
    """Return a command line without redirections, pipes to pagers, and a leading `cd`."""
    parts = [part for part in _PARTS.split(_OUTPUT.sub("", command)) if not part.startswith("cd ")]
    return " && ".join(filter(None, parts)).strip()


def only_reads(command: str) -> bool:
    """Return whether a command line consists of programs that only read."""
    return all(_LOOKS.match(part) for part in _PARTS.split(bare(command)) if part)


def runs_again(failed: str, worked: str, *, by_flags: bool) -> bool:
    """Return whether the command that worked includes the failed one; with `by_flags` its flags may differ."""
    before, after = bare(failed), bare(worked)
    if set(_PARTS.split(before)) <= set(_PARTS.split(after)):
        return True
    named = [[word for word in command.split() if not word.startswith("-")] for command in (before, after)]
    return by_flags and named[0] == named[1]


def works_now(failed: str, worked: str) -> bool:
    """Return whether a command that worked shows that a failed one works now; of a pipe only the end is known."""
    return failed == worked or (bool(failed) and "|" not in worked and runs_again(failed, worked, by_flags=True))
