"""Read a shell's line as the commands that it runs, with what they write and what is piped into them. Pure.

Quoted text, comments and what is fed to a program are no commands; what is fed to a shell is. A command is given
behind what only runs it, such as `sudo`, `env`, `python -m`, `uv run` or `docker exec NAME`.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.platform.machine import table
from gitmem.values import Value

_HEREDOC = re.compile(r"(?<!<)<<(?!<)-?[ \t]*['\"]?(\w+)")
_TOKEN = re.compile(
    r"(?P<quoted>'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|\\.)|(?P<feed>&>>?|[0-9]*(?:<<<|>>|>\||[<>]&[0-9-]|[<>]))"
    r"|(?P<end>\|\||&&|\|&|[;&|()`\n])|(?P<blank>[ \t\r\f\v]+)|(?P<word>[^\s;&|()`<>'\"\\]+)",
    re.DOTALL,
)
_SETS = re.compile(r"[A-Za-z_]\w*=")
# What runs the command behind it, besides the wrappers of `data/wrappers.tsv`.
_WRAPPERS = frozenset("doas builtin xargs then do else if while ! { }".split())  # noqa: SIM905
# What runs a command elsewhere: behind its options and the name of a place, of which only the program knows the number.
_ELSEWHERE = (
    *((program, *verb) for program in ("docker", "podman") for verb in (("exec",), ("run",), ("compose", "exec"))),
    *((program, "compose", "run") for program in ("docker", "podman")),
    ("docker-compose", "exec"),
    ("docker-compose", "run"),
    ("kubectl", "exec"),
    ("oc", "exec"),
    ("ssh",),
)
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_INTERPRETERS = _SHELLS | {"node", "ruby", "php", "perl", "deno", "bun"}
_PYTHON = re.compile(r"(?:python|pypy|py)[0-9.]*(?:\.exe)?")
_CHANGES_ALL = frozenset(("tee", "truncate", "mv", "rm", "unlink", "shred"))
_WRITES_LAST = frozenset(("cp", "install"))
_WRITES_IN_PLACE = frozenset(("sed", "gsed", "perl", "ruby"))
_MAX_COMMAND, _MOST_COMMANDS, _MOST_PLACES = 20_000, 200, 8
_DEEPEST = 3  # shells within shells


class ShellCommand(Value):
    """A command: its words, the files that it writes by redirection, and whether the one before is piped into it.

    `text` is what a here-document feeds to it, unless it is a shell, whose commands follow it.
    """

    words: tuple[str, ...]
    redirected: tuple[str, ...] = ()
    is_piped: bool = False
    text: str = ""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].rpartition("/")[2]

    def writes(self) -> tuple[str, ...]:
        """Return the paths that the command surely changes: what it redirects to, edits, makes, moves or removes."""
        plain = tuple(word for word in self.words[1:] if not word.startswith("-"))
        if self.name in _CHANGES_ALL:
            return (*self.redirected, *plain)
        if self.words[:2] in {("git", "mv"), ("git", "rm")}:
            return (*self.redirected, *plain[1:])
        if self.name in _WRITES_LAST:
            return (*self.redirected, *plain[-1:])
        if self.name in _WRITES_IN_PLACE and any(re.match(r"-(?:[a-zE]*i|-in-place)", word) for word in self.words[1:]):
            return (*self.redirected, *plain)
        return self.redirected


def commands(line: str, depth: int = 0) -> list[ShellCommand]:
    """Return the commands of a shell's line, those of scripts within it too."""
    found: list[ShellCommand] = []
    for part, fed in _with_heredocs(line[:_MAX_COMMAND]):
        run = [(command, words) for command in _split(part) for words in _run_by(command.words)]
        for command, words in run:
            inner = _script(words) if depth < _DEEPEST else ""
            found += commands(inner, depth + 1) if inner else [command._replace(words=words, text=fed)]
        if fed and depth < _DEEPEST and any(_reads_script(words) for _, words in run):
            found += commands(fed, depth + 1)
        if len(found) > _MOST_COMMANDS:
            break
    return found


def _with_heredocs(script: str) -> list[tuple[str, str]]:
    """Return the parts of a script, each with the here-document that its last line is fed, "" for none."""
    parts, lines, text, ends = list[tuple[str, str]](), list[str](), list[str](), ""
    for line in script.split("\n"):
        if ends and line.strip() != ends:
            text.append(line)
        elif ends:
            parts.append((lines[-1], "\n".join(text)))
            ends, lines, text = "", [], []
        else:
            lines.append(line)
            begins = _HEREDOC.search(line)
            if begins:
                parts += [("\n".join(lines[:-1]), "")]
                ends = begins[1]
    return [*parts, ("\n".join(lines[-1:] if ends else lines), "")]


def _split(line: str) -> list[ShellCommand]:
    """Return the commands of a line by the shell's rules of quoting, as they stand."""
    found: list[ShellCommand] = []
    words, targets, word, feed, is_piped, is_comment = list[str](), list[str](), None, "", False, False
    for token in _TOKEN.finditer(line + "\n"):
        kind, text = token.lastgroup, token[0]
        is_comment = text != "\n" and (is_comment or (kind == "word" and word is None and text.startswith("#")))
        if is_comment:
            continue
        if kind in {"word", "quoted"}:
            word = (word or "") + (text if kind == "word" else _unquoted(text))
            continue
        if word is not None and not feed:
            words.append(word)
        elif word is not None and ">" in feed:
            targets.append(word)
        if kind == "feed":
            feed = "" if "&" in text[1:] else text
        elif word is not None:
            feed = ""
        word = None
        if kind == "end":
            found += [ShellCommand(tuple(words), tuple(targets), is_piped)] if words else []
            is_piped = text in {"|", "|&"} or (is_piped and not words)
            words, targets, feed = [], [], ""
    return found


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text.strip("'")
    if text.startswith("\\"):
        return text[1:].strip("\n")
    return re.sub(r"\\(.)", r"\1", text.strip('"'), flags=re.DOTALL)


def _run_by(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the commands that a command runs: itself, that behind each wrapper, or that in a container or on a host.

    Where the command behind the name of a place begins is not known, so each of the next words is tried.
    """
    run = _unwrapped(words)
    if not run:
        return []
    words = run[-1]
    named = (words[0].rpartition("/")[2], *words[1:])
    head = next((head for head in _ELSEWHERE if named[: len(head)] == head), None)
    if head is not None:
        plain = [place for place in range(len(head), len(words)) if not words[place].startswith("-")]
        places = plain[1:_MOST_PLACES]
    elif named[0] == "find":
        places = [place + 1 for place, word in enumerate(words) if word in {"-exec", "-execdir", "-ok"}]
    else:
        places = []
    return [*run, *(inner for place in places for inner in _unwrapped(words[place:]))]


def _unwrapped(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the words of a command without assignments, then without each wrapper and interpreter."""
    run = list[tuple[str, ...]]()
    while words:
        name = words[0].rpartition("/")[2]
        if _SETS.match(words[0]):
            words = words[1:]
            continue
        run.append(words)
        length = next((length for length in (2, 1) if (name, *words[1:length]) in _wrappers()), 0)
        if length:
            words = words[length:]
            while words and (words[0].startswith("-") or words[0][:1].isdigit()):
                words = words[1:]
        elif _PYTHON.fullmatch(name) and "-m" in words[:4]:
            words = words[words.index("-m") + 1 :]
        elif (_PYTHON.fullmatch(name) or name in _INTERPRETERS) and words[1:] and not words[1].startswith("-"):
            words = words[1:]  # a script, which may have a command of its own: `python manage.py migrate`
        else:
            break
    return run


@cache
def _wrappers() -> frozenset[tuple[str, ...]]:
    """Return the words of each wrapper; `bash -c` and its like have scripts, which are read elsewhere."""
    named = (tuple(words.split()) for kind, words, *_ in table("wrappers.tsv") if kind in {"plain", "environment"})
    runners = {(name, "run") for name in ("pdm", "rye", "hatch")}
    return frozenset(words for words in named if words[0] not in _SHELLS) | {(name,) for name in _WRAPPERS} | runners


def _script(words: tuple[str, ...]) -> str:
    """Return the script that a shell is given with `-c`, or a host as one word; "" for any other command."""
    name = words[0].rpartition("/")[2]
    if len(words) == 1 and " " in name:
        return words[0]
    if name == "eval":
        return " ".join(words[1:])
    place = next((place for place, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), 0)
    return words[place + 1] if name in _SHELLS and place and place + 1 < len(words) else ""


def _reads_script(words: tuple[str, ...]) -> bool:
    """Return whether a command is a shell that reads its script from standard input."""
    return words[0].rpartition("/")[2] in _SHELLS and all(word.startswith("-") for word in words[1:])
