"""Read the command lines of a turn: what they run, change and show, behind whatever wrapper. Pure.

What programs do stands in tables: `commands.tsv` (kinds of commands and outputs), `effects.tsv`, `wrappers.tsv`.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile

from gitmem.platform.machine import table
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Words of an error's telling line, surely and perhaps; and words of lines that say nothing.
TELLING = (
    ("error:", "fatal:", "panic:", "exception", "--- fail", "undefined", "no such", "not found", "denied"),
    ("failed", "failure", "cannot", "can't", "unexpected", "invalid", "unknown", "missing", "refused", "timed out"),
)


@cache
def form(kind: str) -> re.Pattern[str]:
    """Return the form of a kind of commands, or of their outputs; compiled at first use, as hooks load this."""
    return re.compile("|".join(row[1] for row in table("commands.tsv") if row[0] == kind), re.MULTILINE)


_JOINERS = r"\s*(&&|\|\||;|\n)\s*"
# A quoted text, but for the script of a shell, whose commands are those of the line.
_TEXT = r"(?<!sh -c )(?<!sh -lc )(?:'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")"
_SIGNS = "&|;<>"
_IN_TEXT = str.maketrans(_SIGNS, "\ue000\ue001\ue002\ue003\ue004")
_AS_BEFORE = str.maketrans("\ue000\ue001\ue002\ue003\ue004", _SIGNS)
_OUTPUT = r"\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|[^\s;&|]{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)"
_SCRIPT = r"\"(?:[^\"\\\n]|\\.)*\n(?:[^\"\\]|\\[\s\S])*\"|'[^'\n]*\n[^']*'"  # a quoted text of several lines
_WRITES = r"(?<![0-9&<>-])>{1,2}\s?([\w./~-]{1,200})"
_OPENS = r"(?:for|while|until|if|case)\b"  # a statement of the shell over several parts
_ID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{12,64}\b"  # as of a lock: of use once
_SET = r"[A-Za-z_]\w*=\S*$"  # an assignment before a command
_TO_READER = r"\s*(?:[0-9]>&[0-9]\s*)?\|\s*(?:tail|tee|cat)\b[^|&;\n]*$"  # shows the end, but hides whether it worked
_OF_WRAPPER = r"-|[0-9.]+[smhd]?$"  # a flag or a time that goes with a wrapper
_WHERE = r" (?:--(?:filter|workspace|prefix|dir|cwd)[= ]|-[CFw] )\S+"  # in which package a command runs
_OTHERWISE = r"\s*\|\|\s*(?:\{[^{}]*\}|(?:true|:|exit [0-9]+)(?=\s*(?:$|[;&\n])))"  # what follows a failure alone
_OF_VERB = r"[\s:=-]+"
_NONE_FAILED = r"\b(?:0|no) (?:\w{1,20} )?(?:failed|failures?|failing|errors?|exceptions?|invalid|missing|unknown)\b"
_XARGS = r"^\s*xargs (?:-\S+ )*"
_TELLS = (  # before a command that an output tells to run
    r"(?:\b(?i:run|try|use|execute)|\bcommand\b[^:]{0,60}:)\W{1,40}"
    r"(?:[\w./-]{1,40} ){0,3}(?:[\w.-]{0,20}/){0,3}"
)
_OF_SHELL = r"(?:export|source|set|\.) "  # holds in one shell alone
_TARGET = r"[\w.:/][\w.:/-]*"


def bare(command: str) -> str:
    """Return a command line without redirections, what is fed to it, pipes to pagers, and each `cd`."""
    return _joined((joiner, "" if _moves(part) else part) for joiner, part in _rows(command))


def only_reads(command: str) -> bool:
    """Return whether a command line consists of programs that only read."""
    return all(map(_looks, _parts(command)))


def has_effect(command: str) -> bool:
    """Return whether a part of a command line installs, fetches, regenerates, or changes the environment."""
    return any(_acts(part) for part in _parts(re.sub(_SCRIPT, "''", command)))


def is_commit(command: str) -> bool:
    """Return whether a command line commits, pushes or releases."""
    return form("commits").search(bare(command)) is not None


def runs_elsewhere(command: str) -> bool:
    """Return whether the end of a command line runs in a container, or on a server or another machine."""
    return any(form("elsewhere").search(" ".join(_unwrapped(part)[0])) for part in _parts(command)[-1:])


def written(command: str) -> str:
    """Return the file that a command line writes its output to, "" without one."""
    match = re.search(_WRITES, command.partition("\n")[0])
    return match[1] if match and not match[1].startswith("/dev/") else ""


def works_now(failed: str, worked: str, said: str = "") -> bool:
    """Return whether a command that worked shows that a failed one works now, behind whatever wrapper.

    Of a pipe only the end is known, unless `said`, its output, is shown to its end without a word of failure. Of
    commands in a row only the last is known, unless `&&` is between them. What reads, installs, commits or the like
    before the end of the failed row need not be done again.
    """
    if "|" in worked and said and not _tells_failure(said):
        worked = re.sub(_TO_READER, "", worked)
    if failed.strip() == worked.strip():
        return bool(failed.strip())
    parts = _parts(failed)
    needed = (part for part in parts[:-1] if not (_is_done_once(part) or _looks(part)))
    lasting = {_core(part) for part in (*needed, *parts[-1:])}
    return bool(lasting) and lasting <= _known(worked)


def shows_fixed(failed: str, output: str, worked: str, said: str = "") -> bool:
    """Return whether a command that worked shows that a failed one works: its tests, if the output blames them."""
    tests = [part for part in _parts(failed) if form("tests").search(part)]
    is_of_tests = len(tests) == 1 and form("failing").search(output) is not None
    return works_now(failed, worked, said) or (is_of_tests and works_now(tests[0], worked, said))


def _tells_failure(said: str) -> bool:
    low = re.sub(_NONE_FAILED, "", said.casefold())
    return any(word in low for words in TELLING for word in words)


def runs_again(failed: str, later: str) -> bool:
    """Return whether a command line runs the end of a failed one once more."""
    return any(_core(part) in _known(later) for part in _parts(failed)[-1:])


def repeated_elsewhere(failed: str, worked: str) -> str:
    """Return the part of a command line that repeats the end of a failed one in another environment; "" without one."""
    last = _parts(failed)[-1:]
    around = {_core(part): _unwrapped(part)[1] for part in last}
    same = (part for part in _parts(worked) if _core(part) in around)
    return next((part for part in same if (new := _unwrapped(part)[1]) and new != around[_core(part)]), "")


def effects_before(failed: str, later: str) -> str:
    """Return what a command line runs before what it repeats of a failed one; "" if none of it has an effect."""
    before = _changing(_rows_before(_parts(failed), later))
    return before if has_effect(before) else ""


def run_before(failed: str, later: str) -> str:
    """Return what a command line runs before the end of a failed one and that did not; nothing that reads or checks."""
    return beyond(failed, _changing(_rows_before(_parts(failed)[-1:], later)))


def commits_before(failed: str, later: str) -> bool:
    """Return whether a command line commits before what it repeats of a failed one."""
    return any(is_commit(part) for _, part in _rows_before(_parts(failed), later))


def _rows_before(parts: list[str], later: str) -> list[tuple[str, str]]:
    repeated = {_core(part) for part in parts}
    return [*takewhile(lambda row: _core(row[1]) not in repeated, _rows(later))]


def _changing(rows: Iterable[tuple[str, str]]) -> str:
    """Return commands as a line without those that only read, check or commit."""
    return _joined((joiner, part if _moves(part) or not (_looks(part) or _ends(part)) else "") for joiner, part in rows)


def runs_program_before(failed: str, later: str) -> bool:
    """Return whether a command line runs the program of a failed one before it repeats its end."""
    before = {_unwrapped(part)[0][:1] for _, part in _rows_before(_parts(failed), later) if part}
    return bool(before & {_unwrapped(part)[0][:1] for part in _parts(failed)[-1:]})


def effect_in(command: str) -> str:
    """Return a command line without what only reads, and what tests or commits at its end; "" if nothing acts."""
    rows = [(joiner, part if _moves(part) or not _looks(part) else "") for joiner, part in _rows(command)]
    while rows and (not rows[-1][1] or _moves(rows[-1][1]) or _ends(rows[-1][1])):
        rows.pop()
    return _joined(rows) if any(_acts(part) for _, part in rows) else ""


def without_wrappers(command: str) -> str:
    """Return the commands of a line without what runs them: `uv run pytest -q` is `pytest -q`."""
    return " && ".join(" ".join(_unwrapped(part)[0]) for part in _parts(command))


def has_compound(command: str) -> bool:
    """Return whether a command line has a loop or a condition of the shell, which its parts do not tell."""
    return any(re.match(_OPENS, part) for part in _parts(command))


def adds_named(command: str) -> bool:
    """Return whether a command line adds or installs something by its name."""
    return any(map(_added, _parts(command.strip("`"))))


def installs_named(command: str) -> bool:
    """Return whether a command line installs something by its name where it runs, not in the project's files."""
    return adds_named(command) and not any(map(_is_of_project, map(_added, _parts(command.strip("`")))))


def is_proposed(command: str, said: str) -> bool:
    """Return whether a command line adds to the project what an output says, in its words: it is there since."""
    text = " ".join(said.split())
    return any(_is_of_project(one) and one in text for one in map(_added, _parts(command)))


def says_all(output: str, command: str) -> bool:
    """Return whether an output tells to run all of a command line; where and in which environment is more than that."""
    told = " ".join(output.split())
    heads = [(" ".join(words[:2]), around) for words, around in map(_unwrapped, _parts(command))]
    is_more = re.search(_WHERE, command) or any("=" in word for _, around in heads for word in around)
    return bool(heads) and not is_more and all(re.search(f"{_TELLS}{re.escape(head)}", told) for head, _ in heads)


def _is_of_project(added: str) -> bool:
    return " ".join(added.split()[:2]) in _words_of("effects.tsv")["manifest"]


def _added(part: str) -> str:
    """Return a command that adds something up to its name without its version, "" if it adds nothing."""
    words, adds = _unwrapped(re.sub(_WHERE, "", part))[0], _words_of("effects.tsv")["adds"]
    at = next((at for at, word in enumerate(words[1:3], 1) if word in adds), 0)
    name = next((word for word in words[at + 1 :] if at and not word.startswith("-")), "")
    return f"{' '.join(words[: at + 1])} {name.partition('@')[0] or name}" if name else ""


def helps_once(command: str) -> bool:
    """Return whether a command line helps no second time: it edits files in place, or names a process or an id."""
    edits = _words_of("effects.tsv")["edit"]
    stages = (stage for part in _parts(command) for stage in _without_signs(part).split("|"))
    parts = [_unwrapped(re.sub(_XARGS, "", stage.translate(_AS_BEFORE)))[0] for stage in stages]
    once = (" ".join(words[:2]) in edits or (words[:1] == ("kill",) and words[-1].isdecimal()) for words in parts)
    return any(once) or re.search(_ID, command) is not None


def _parts(command: str) -> list[str]:
    return [part for _, part in _rows(command) if part and not _moves(part)]


def _moves(part: str) -> bool:
    """Return whether a command goes to another folder."""
    return part.startswith("cd ")


def _rows(command: str) -> list[tuple[str, str]]:
    """Return the commands of a line, each with what joins it to the one before."""
    line = re.sub(f"{_OUTPUT}|{_OTHERWISE}", "", _without_signs(command).partition("<<")[0])
    joiners_and_parts = ["&&", *re.split(_JOINERS, line.strip())]
    rows: list[tuple[str, str]] = []
    for joiner, part in zip(joiners_and_parts[::2], joiners_and_parts[1::2], strict=True):
        first, *others = _targets(part.translate(_AS_BEFORE))
        rows += [(joiner, first), *(("&&", other) for other in others)]
    return rows


def _targets(part: str) -> list[str]:
    """Return a command that builds several targets as one for each: `make a b` is `make a && make b`."""
    head = form("targets").match(part)
    named = part[head.end() :].split() if head else []
    several = len(named) > 1 and all(map(re.compile(_TARGET).fullmatch, named))
    return [f"{part[: head.end()].strip()} {name}" for name in named] if head and several else [part]


def _joined(rows: Iterable[tuple[str, str]]) -> str:
    """Return commands as a line. Around one that is left out, `&&` holds only if it stands on both sides.

    A `cd` is told between two commands alone: the first runs where the agent was.
    """
    line, between, moved = "", [], ""
    for joiner, part in rows:
        between.append(joiner)
        if _moves(part):
            moved = f"{part} && " if line else ""
        elif part:
            sure = between[0] if len(set(between)) == 1 and between[0] != "\n" else ";"
            told = moved + part
            line += told if not line else f" {sure} {told}" if sure != ";" else f"; {told}"
            between, moved = [], ""
    return line.strip()


def _without_signs(command: str) -> str:
    """Return a command line in whose quoted texts no sign joins or redirects commands."""
    return re.sub(_TEXT, lambda text: text[0].translate(_IN_TEXT), command)


def _looks(part: str) -> bool:
    """Return whether a command and all that it is piped to only read."""
    return all(form("looks").match(stage.strip()) for stage in _without_signs(part).split("|"))


def _known(worked: str) -> set[tuple[str, ...]]:
    """Return the commands of a line that worked, as far as its end shows it."""
    last = re.split(r"\s*(?:\|\||;|\n)\s*", _without_signs(worked).strip())[-1]
    plain = (part.strip().translate(_AS_BEFORE) for part in last.split("&&") if "|" not in part)
    return {_core(target) for part in plain for target in _targets(part)}


def _ends(part: str) -> bool:
    """Return whether a command tests, checks or commits, and changes nothing that another one needs."""
    commits = is_commit(part) or part.startswith("git add ")
    return not _acts(part) and (commits or any(form(kind).search(part) for kind in ("tests", "checks")))


def beyond(failed: str, command: str) -> str:
    """Return what a command line does that a failed one did not."""
    done = {_core(part) for part in _parts(failed)}
    return _joined((joiner, "" if part and _core(part) in done else part) for joiner, part in _rows(command))


def was_done(command: str, ran: Iterable[str]) -> bool:
    """Return whether all that a command line does, and what lasts beyond its shell, was done by lines that ran."""
    if not has_effect(command) or any(re.match(_OF_SHELL, part) for part in _parts(command)):
        return False
    left = command
    for line in ran:
        left = beyond(line, left)
    return not left


def _is_done_once(part: str) -> bool:
    """Return whether a command need not be done again: it acts, commits, starts something, or sets up the shell."""
    starts = part.endswith(("&", "&)"))
    return starts or _acts(part) or is_commit(part) or part.startswith(("git add ", "set "))


def environment(command: str) -> tuple[str, ...]:
    """Return the wrappers of a command line that choose an environment, and its assignments."""
    return tuple(word for part in _parts(command) for word in _unwrapped(part)[1])


def _core(part: str) -> tuple[str, ...]:
    """Return the words of a command without its wrappers, in any order if there are flags among them."""
    words = _unwrapped(part)[0]
    return tuple(sorted(words)) if any(word.startswith("-") for word in words) else words


@cache
def _unwrapped(part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a command without its wrappers, and what chose its environment."""
    words = [word.strip("'\"") for word in bare(part).split()]
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
    """Return the number of words of the wrapper at the head of a command, negative if it chooses no environment."""
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


def _acts(part: str) -> bool:
    words = _unwrapped(re.sub(_WHERE, "", part))[0]
    if not words or words[:2] == ("git", "add"):
        return False
    named = _words_of("effects.tsv")
    told = [*takewhile(lambda word: not word.startswith("-"), words[1:3])]
    said = {verb for word in told for verb in (word, re.split(_OF_VERB, word)[-1]) if verb == word or verb != "ci"}
    if form("task").match(" ".join(words)) and not any(map(form("checks").search, told)):
        said |= {re.split(_OF_VERB, word)[0] for word in told}
    program = (named["program"] | named["edit"]) & {words[0], " ".join(words[:2])}
    return bool(program or said & named["verb"] or set(words) & named["flag"])
