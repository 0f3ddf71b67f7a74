"""Compare command lines: which only read, which run another one again, which have an effect. Pure, and light."""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile

from gitmem.text.data import rows

# Programs that only read: they mend nothing, and their failure to find something is no bug.
_LOOKS = (
    r"(?:ls|cat|bat|head|tail|less|more|grep|egrep|rg|ag|find|fd|pwd|cd|which|whereis|type|tree|stat|file|wc|du|df|ps"
    r"|echo|printf|env|printenv|date|whoami|jq|test|diff|sort|uniq|lsof|sleep|true"
    r"|git (?:status|diff|log|show|branch|blame|reflog|remote|ls-files|ls-tree|grep|stash list)"
    r"|gh (?:pr|run|issue) (?:view|list|status|checks))(?=\s|$)"
)
_PARTS = r"\s*(?:&&|\|\||;|\n)\s*"
_OUTPUT = r"\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|\S{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)"
_SCRIPT = r"\"(?:[^\"\\\n]|\\.)*\n(?:[^\"\\]|\\[\s\S])*\"|'[^'\n]*\n[^']*'"  # a quoted text of several lines
_WRITES = r"(?<![0-9&<>-])>{1,2}\s?([\w./~-]{1,200})"
_COMMITS = (
    r"(?:^|&& )(?:git (?:-\S+ \S+ )?(?:commit|push)\b(?!.*--dry-run)|gh (?:pr (?:create|merge)|release create)\b)"
)
_SET = r"[A-Za-z_]\w*=\S*$"  # an assignment before a command
_OF_WRAPPER = r"-|[0-9.]+[smhd]?$"  # a flag or a time that goes with a wrapper
_OF_VERB = r"[\s:=-]+"


def bare(command: str) -> str:
    """Return a command line without redirections, what is fed to it, pipes to pagers, and a leading `cd`."""
    line = re.sub(_OUTPUT, "", command.partition("<<")[0])
    parts = [part for part in re.split(_PARTS, line) if not part.startswith("cd ")]
    return " && ".join(filter(None, parts)).strip()


def only_reads(command: str) -> bool:
    """Return whether a command line consists of programs that only read."""
    return all(re.match(_LOOKS, part) for part in re.split(_PARTS, bare(command)) if part)


def has_effect(command: str) -> bool:
    """Return whether a part of a command line installs, fetches, regenerates, or changes the environment."""
    return any(_acts(part) for part in re.split(_PARTS, bare(re.sub(_SCRIPT, "''", command))))


def is_commit(command: str) -> bool:
    """Return whether a command line commits, pushes or releases."""
    return re.search(_COMMITS, bare(command)) is not None


def written(command: str) -> str:
    """Return the file that a command line writes its output to, "" without one."""
    found = re.search(_WRITES, command.partition("\n")[0])
    return found[1] if found and not found[1].startswith("/dev/") else ""


def works_now(failed: str, worked: str) -> bool:
    """Return whether a command that worked shows that a failed one works now, behind whatever wrapper.

    Of a pipe only the end is known, and of commands in a row only the last, unless `&&` is between them.
    """
    if failed.strip() == worked.strip():
        return bool(failed.strip())
    last = re.split(r"\s*(?:\|\||;|\n)\s*", worked.strip())[-1]
    known = {_core(part) for part in last.split("&&") if "|" not in part}
    wanted = {_core(part) for part in re.split(_PARTS, bare(failed)) if part}
    return bool(wanted) and wanted <= known


def environment(command: str) -> tuple[str, ...]:
    """Return the wrappers of a command line that choose an environment, and its assignments."""
    return tuple(word for part in re.split(_PARTS, bare(command)) if part for word in _unwrapped(part)[1])


def _core(part: str) -> tuple[str, ...]:
    """Return the words of a command without its wrappers, in any order if there are flags among them."""
    words = _unwrapped(part)[0]
    return tuple(sorted(words)) if any(word.startswith("-") for word in words) else words


@cache
def _unwrapped(part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a command without its wrappers, and what chose its environment."""
    words = [word.strip("'\"") for word in bare(part).split()]
    around: list[str] = []
    while words and (size := _wrapper(words)):
        around += words[:size] if size > 0 else []
        words = words[abs(size) :]
        while words and re.match(_OF_WRAPPER, words[0]):
            words = words[1:]
    words[:1] = [name.rpartition("bin/")[2] for name in words[:1]]
    silent = {row[1] for row in rows("wrappers.tsv") if row[0] == "flag"}
    return tuple(word for word in words if word not in silent), tuple(around)


def _wrapper(words: list[str]) -> int:
    """Return the number of words of the wrapper at the head of a command, negative if it chooses no environment."""
    if re.match(_SET, words[0]):
        return 1
    head = [words[0].rpartition("bin/")[2], *words[1:2]]
    for kind, named, *_ in rows("wrappers.tsv"):
        size = named.count(" ") + 1
        if kind != "flag" and head[:size] == named.split() and len(words) > size:
            return size if kind == "environment" else -size
    return 0


def _acts(part: str) -> bool:
    words = _unwrapped(part)[0]
    if not words or words[:2] == ("git", "add"):
        return False
    named = {kind: {row[1] for row in rows("effects.tsv") if row[0] == kind} for kind in ("verb", "program", "flag")}
    told = takewhile(lambda word: not word.startswith("-"), words[1:3])
    said = {verb for word in told for verb in (word, re.split(_OF_VERB, word)[-1]) if verb == word or verb != "ci"}
    program = named["program"] & {words[0], " ".join(words[:2])}
    return bool(program or said & named["verb"] or set(words) & named["flag"])
