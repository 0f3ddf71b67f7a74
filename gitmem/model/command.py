"""Read the command lines of a turn: the programs run, without wrappers, and whether they change anything. Pure.

Tables list what programs do: `commands.tsv` (kinds of commands and outputs), `effects.tsv`, `wrappers.tsv`.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile

from gitmem.platform.machine import table

# Words of a line that surely, or perhaps, names the error.
TELLING = (
    ("error:", "fatal:", "panic:", "exception", "--- fail", "undefined", "no such", "not found", "denied"),
    ("failed", "failure", "cannot", "can't", "unexpected", "invalid", "unknown", "missing", "refused", "timed out"),
)


@cache
def form(kind: str) -> re.Pattern[str]:
    """Return the form of a kind of commands, or of their outputs; compiled at first use, as hooks load this."""
    return re.compile("|".join(row[1] for row in table("commands.tsv") if row[0] == kind), re.MULTILINE)


_JOINERS = r"(?<!\s)\s*(?:&&|\|\||;|\n)\s*"
# A quoted text, except a script given to a shell: its commands count as the line's.
_TEXT = r"(?<!sh -c )(?<!sh -lc )(?:'[^'\n]*'|(?<!\\)\"(?:[^\"\\\n]|\\.)*\")"
_SIGNS = "&|;<>"
_IN_TEXT = str.maketrans(_SIGNS, "\ue000\ue001\ue002\ue003\ue004")
_AS_BEFORE = str.maketrans("\ue000\ue001\ue002\ue003\ue004", _SIGNS)
_OUTPUT = r"(?<!\s)\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|[^\s;&|]{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)"
# A quoted text of several lines.
_SCRIPT = r"(?<!\\)\"(?:[^\"\\\n]|\\.)*\n(?:[^\"\\]|\\[\s\S])*\"|'[^'\n]*\n[^']*'"
# The id of a process, or of something else such as a lock.
_ONCE = r"\bkill\b.{0,20}\s[0-9]+|\b[0-9a-f]{8}-[0-9a-f]{4}-|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{12,64}\b"
_SET = r"[A-Za-z_]\w*=\S*$"  # an assignment before a command
# A pipe that shows the end of the output, but hides the exit code.
_TO_READER = r"(?<!\s)\s*(?:[0-9]>&[0-9]\s*)?\|\s*(?:tail|tee|cat)\b[^|&;\n]*$"
_OF_WRAPPER = r"-|[0-9.]+[smhd]?$"  # a flag or time argument of a wrapper
_WHERE = r" (?:--(?:filter|workspace|prefix|dir|cwd)[= ]|-[CFw] )\S+"  # in which package a command runs
# Commands run only after a failure.
_OTHERWISE = r"(?<!\s)\s*\|\|\s*(?:\{[^{}]*\}|(?:true|:|exit [0-9]+)(?=\s*(?:$|[;&\n])))"
_OF_VERB = r"[\s:=-]+"
_NONE_FAILED = r"\b(?:0|no) (?:\w{1,20} )?(?:failed|failures?|failing|errors?|exceptions?|invalid|missing|unknown)\b"


def only_reads(command: str) -> bool:
    """Return whether a command line consists of programs that only read."""
    return all(map(_only_reads, _parts(command)))


def has_effect(command: str) -> bool:
    """Return whether a part of a command line installs, fetches, regenerates, or changes the environment."""
    return any(map(_has_side_effect, _parts(re.sub(_SCRIPT, "''", command))))


def is_commit(command: str) -> bool:
    """Return whether a command line commits, pushes or releases."""
    return any(map(form("commits").search, _parts(command)))


def runs_elsewhere(command: str) -> bool:
    """Return whether the end of a command line runs in a container, or on a server or another machine."""
    return any(form("elsewhere").search(" ".join(_unwrapped(part)[0])) for part in _parts(command)[-1:])


def is_once(command: str) -> bool:
    """Return whether a command line cannot be reused: it names a process or an id."""
    return re.search(_ONCE, command) is not None


def works_now(failed: str, worked: str, said: str = "") -> bool:
    """Return whether a command that worked shows that a failed one works now, wrappers aside.

    Only the last command of a pipe is known to have worked, unless the output, `said`, is complete and mentions no
    failure. Of a sequence only the last command is known to have worked, unless joined by `&&`. Commands before the end
    of the failed line that read, install, commit or the like need not be repeated. A run of all tests stands for one of
    some of them.
    """
    if "|" in worked and said and not _tells_failure(said):
        worked = re.sub(_TO_READER, "", worked)
    if failed.strip() == worked.strip():
        return bool(failed.strip())
    parts = _parts(failed)
    needed = {_normalized(part) for part in parts[:-1] if not (_is_done_once(part) or _only_reads(part))}
    known = _known(worked)
    return bool(parts) and needed <= known and not known.isdisjoint(_at_least(parts[-1]))


def _at_least(part: str) -> set[tuple[str, ...]]:
    """Return a command, and those that run all tests if it runs selected ones."""
    whole = form("selects").sub("", part) if form("tests").search(part) else part
    return {_normalized(part)} | ({_normalized(whole), _normalized(f"{whole} ./...")} if whole != part else set())


def runs_again(failed: str, later: str) -> bool:
    """Return whether a command line runs the last command of a failed one again."""
    return any(_normalized(part) in _known(later) for part in _parts(failed)[-1:])


def runs_otherwise(failed: str, worked: str) -> bool:
    """Return whether a command line that worked runs other commands than a failed one, or in another environment."""
    first, second = ([_unwrapped(part) for part in _parts(line) if not _only_reads(part)] for line in (failed, worked))
    return first != second


def _tells_failure(output: str) -> bool:
    low = re.sub(_NONE_FAILED, "", output.casefold())
    return any(word in low for words in TELLING for word in words)


def _parts(command: str) -> list[str]:
    """Return the commands of a line, without redirections, pipes to pagers and `cd`."""
    line = re.sub(f"{_OUTPUT}|{_OTHERWISE}", "", _without_signs(command).partition("<<")[0])
    parts = (part.translate(_AS_BEFORE) for part in re.split(_JOINERS, line.strip()))
    return [part for part in parts if part and not part.startswith("cd ")]


def _without_signs(command: str) -> str:
    """Return a command line with the shell operators in quoted texts masked (`_AS_BEFORE` restores them)."""
    return re.sub(_TEXT, lambda text: text[0].translate(_IN_TEXT), command)


def _only_reads(part: str) -> bool:
    """Return whether all commands of a pipe only read."""
    return all(form("looks").match(stage.strip()) for stage in _without_signs(part).split("|"))


def _known(worked: str) -> set[tuple[str, ...]]:
    """Return the commands of a successful line that its exit code shows to have worked."""
    last = re.split(r"(?<!\s)\s*(?:\|\||;|\n)\s*", _without_signs(worked).strip())[-1]
    parts = (part for part in last.split("&&") if "|" not in part)
    return {_normalized(plain) for part in parts for plain in _parts(part.translate(_AS_BEFORE))}


def _is_done_once(part: str) -> bool:
    """Return whether a command need not be repeated: it has an effect, commits, starts something, or sets the shell."""
    starts = part.endswith(("&", "&)"))
    return starts or _has_side_effect(part) or is_commit(part) or part.startswith(("git add ", "set "))


def _normalized(part: str) -> tuple[str, ...]:
    """Return a command's words without its wrappers, sorted if some are flags."""
    words = _unwrapped(part)[0]
    return tuple(sorted(words)) if any(word.startswith("-") for word in words) else words


@cache
def _unwrapped(part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a command's words without its wrappers, and the words that choose its environment."""
    words = [word.strip("'\"") for word in part.split()]
    around: list[str] = []
    flags = _words_of("wrappers.tsv")
    while words and (size := _wrapper(words)):
        around += words[:size] if size > 0 else []
        words = words[abs(size) :]
        while words and re.match(_OF_WRAPPER, words[0]):
            taken = 1 + (words[0] in flags["valued"] and len(words) > 1)
            around += words[:taken] if taken > 1 else []
            words = words[taken:]
    words[:1] = [name.rpartition("bin/")[2] for name in words[:1]]
    return tuple(word for word in words if word not in flags["flag"]), tuple(around)


def _wrapper(words: list[str]) -> int:
    """Return the length in words of a command's leading wrapper, negative if it chooses no environment."""
    if re.match(_SET, words[0]):
        return 1
    head = [words[0].rpartition("bin/")[2], *words[1:2]]
    for kind, named, *_ in table("wrappers.tsv"):
        size = named.count(" ") + 1
        if kind not in {"flag", "valued"} and head[:size] == named.split() and len(words) > size:
            return size if kind == "environment" else -size
    return 0


@cache
def _words_of(name: str) -> dict[str, set[str]]:
    """Return the words of a table by their kind."""
    words: dict[str, set[str]] = {}
    for kind, word, *_ in table(name):
        words.setdefault(kind, set()).add(word)
    return words


def names_command(text: str) -> bool:
    """Return whether a sentence surely names a command: code, a program that changes files, a test, or an install."""
    words = {*re.findall(r"[\w.-]+", text.casefold())} - {"."}
    is_form = any(form(kind).search(text) for kind in ("tests", "builds", "checks", "commits"))
    return "`" in text or is_form or not words.isdisjoint(_words_of("effects.tsv")["program"] | {"install"})


def _has_side_effect(part: str) -> bool:
    words = _unwrapped(re.sub(_WHERE, "", part))[0]
    if not words or words[:2] == ("git", "add"):
        return False
    named = _words_of("effects.tsv")
    heads = [*takewhile(lambda word: not word.startswith("-"), words[1:3])]
    verbs = {verb for word in heads for verb in (word, re.split(_OF_VERB, word)[-1]) if verb == word or verb != "ci"}
    if form("task").match(" ".join(words)) and not any(map(form("checks").search, heads)):
        verbs |= {re.split(_OF_VERB, word)[0] for word in heads}
    program = named["program"] & {words[0], " ".join(words[:2])}
    return bool(program or verbs & named["verb"] or set(words) & named["flag"])
