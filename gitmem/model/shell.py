"""Read a shell script: the commands it runs, the files they write and their piped input. Pure.

Quoted text, comments and input of a program are no commands; input of a shell is. A command is returned without the
wrappers that run it, such as `sudo`, `env`, `python -m`, `uv run` or `docker exec NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from gitmem.model.shell_reader import ShellCommand, ShellReader
from gitmem.platform.machine import table

SETS = re.compile(r"[A-Za-z_]\w*=")
_DECLARES = frozenset(("export", "local", "readonly", "declare"))
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
# Programs that run the command after them, in addition to the wrappers of `data/wrappers.tsv`.
_WRAPPERS = frozenset(
    "doas builtin xargs parallel watch setsid ionice strace chronic unbuffer caffeinate busybox corepack yarn pnpm "  # noqa: SIM905
    "screen then do else if while ! { }".split()
)
# Programs that run a command elsewhere, after options and the name of a place, of which only they know the number.
_ELSEWHERE = (
    *((program, *verb) for program in ("docker", "podman") for verb in (("exec",), ("run",), ("compose", "exec"))),
    *((program, "compose", "run") for program in ("docker", "podman")),
    *(("tmux", verb) for verb in ("new", "new-session", "new-window", "send", "send-keys")),
    ("docker-compose", "exec"),
    ("docker-compose", "run"),
    *(("rustup", "run"), ("conda", "run"), ("mamba", "run"), ("volta", "run"), ("nvm", "exec")),
    ("kubectl", "exec"),
    ("oc", "exec"),
    ("ssh",),
    ("flock",),
)
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_GIVEN_SCRIPTS = frozenset("su runuser flock script nix-shell pwsh powershell cmd cmd.exe powershell.exe".split())  # noqa: SIM905
_SCRIPT_OPTION = re.compile(r"-[a-z]*c|--command|--run|-Command|/[cC]")
_CODE_OPTION = re.compile(r"-[a-zA-Z]*[cemr]|--eval|--print")  # gives an interpreter code instead of a file
_INTERPRETERS = _SHELLS | {"node", "ruby", "php", "perl", "deno", "bun"}
_PYTHON = re.compile(r"(?:python|pypy|py)[0-9.]*(?:\.exe)?")
PRINTS = frozenset(("echo", "printf", "grep", "rg", "man", "which"))  # their words, and run none
_MAX_COMMAND, _MAX_VALUE = 20_000, 200  # characters
_MOST_COMMANDS, _MOST_RUN, _MOST_PLACES = 200, 24, 8
_DEEPEST = 3  # shells within shells


def commands(script: str, depth: int = 0) -> list[ShellCommand]:
    """Return the commands of a shell script and of scripts within it, with its variables expanded."""
    runs, variables = list[ShellCommand](), dict[str, str]()
    for command in ShellReader(script[:_MAX_COMMAND].replace("\\\n", " ")).read():
        words = _expanded(command.words, variables)
        sets = words[1:] if words[0] in _DECLARES else words
        if all(map(SETS.match, sets)):
            variables.update((name, value[:_MAX_VALUE]) for name, _, value in (word.partition("=") for word in sets))
        for run in _run_by(words):
            if len(runs) > _MOST_COMMANDS:
                return runs
            inner = _script(run)
            runs.append(command._replace(words=run))
            if not inner and _reads_script(run):
                inner = command.text or command.piped_text
            runs += commands(inner, depth + 1) if inner and depth < _DEEPEST else []
    return runs


def _expanded(words: tuple[str, ...], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words with the script's variables expanded; a variable in the program's place may be several words."""
    if not variables:
        return words
    new = tuple(_VARIABLE.sub(lambda name: variables.get(name[1] or name[2], name[0]), word) for word in words)
    return new if new[0] == words[0] else (*(new[0].split() or [""]), *new[1:])


def _run_by(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the commands that a command runs: itself, and the one after each wrapper, in a container or on a host.

    Only the wrapper knows where the command after its options or the name of a place begins, so each of the next words
    is tried, up to a program that only prints or finds the rest.
    """
    in_place, waiting = dict[int, tuple[str, ...]](), [0]
    while waiting and len(in_place) < _MOST_RUN:
        place = waiting.pop(0)
        while place < len(words) and SETS.match(words[place]):
            place += 1
        if place < len(words) and place not in in_place:
            in_place[place] = words[place:]
            waiting += [place + begin for begin in _begins(words[place:])]
    return [*in_place.values()]


def _begins(words: tuple[str, ...]) -> list[int]:
    """Return the indexes of a command's words at which another command that it runs may begin."""
    name = words[0].rpartition("/")[2]
    named = (name, *words[1:3])
    head = next((head for head in _ELSEWHERE if named[: len(head)] == head), None)
    if head is not None:
        return _places(words, len(head), is_elsewhere=True)
    if name == "find":
        return [place + 1 for place, word in enumerate(words) if word in {"-exec", "-execdir", "-ok"}]
    length = next((length for length in (2, 1) if named[:length] in _wrappers()), 0)
    if length:
        return _places(words, length)
    if _PYTHON.fullmatch(name) and "-m" in words[:4]:
        return [words.index("-m") + 1]
    if not (_PYTHON.fullmatch(name) or name in _INTERPRETERS) or any(map(_CODE_OPTION.fullmatch, words[1:])):
        return []
    return _places(words, 1)  # a script may have a command of its own: `python manage.py migrate`


def _places(words: tuple[str, ...], first: int, *, is_elsewhere: bool = False) -> list[int]:
    """Return the indexes at which a command may begin after options; a word after an option may be its value.

    If it runs elsewhere, the name of the place comes first.
    """
    places, follows_option = list[int](), False
    for place, word in enumerate(words[first:], first):
        if word.startswith("-"):
            follows_option = True
            continue
        if is_elsewhere or not word[:1].isdigit():
            is_text = is_elsewhere and follows_option and " " in word
            places += [] if is_text else [place]
            if word in PRINTS or len(places) > _MOST_PLACES or not (is_elsewhere or follows_option):
                break
        follows_option = False
    return places[1:] if is_elsewhere else places


@cache
def _wrappers() -> frozenset[tuple[str, ...]]:
    """Return the words of each wrapper, without `bash -c` and the like, whose scripts `_script` reads."""
    named = (tuple(words.split()) for kind, words, *_ in table("wrappers.tsv") if kind in {"plain", "environment"})
    runners = {(name, "run") for name in ("pdm", "rye", "hatch", "npm", "pnpm", "yarn", "bun")}
    return frozenset(words for words in named if words[0] not in _SHELLS) | {(name,) for name in _WRAPPERS} | runners


def _script(words: tuple[str, ...]) -> str:
    """Return the script given to a shell with `-c`, or to a host as one word; "" for other commands."""
    name = words[0].rpartition("/")[2]
    if " " in name or " " in words[0].partition("/")[0]:
        return " ".join(words)
    if name == "eval":
        return " ".join(words[1:])
    place = next((place for place, word in enumerate(words) if _SCRIPT_OPTION.fullmatch(word)), 0)
    if not place:
        return ""
    return " ".join(words[place + 1 :] if name in _GIVEN_SCRIPTS else words[place + 1 : place + 2] * (name in _SHELLS))


def _reads_script(words: tuple[str, ...]) -> bool:
    """Return whether a command is a shell that reads its script from standard input."""
    return words[0].rpartition("/")[2] in _SHELLS and ("-s" in words or all(word[:1] == "-" for word in words[1:]))
