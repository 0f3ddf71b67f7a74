"""Match the literals of a rule with a tool call: its command, its paths, or the text it writes. Pure.

A literal is the user's own words, such as `pip install`, `src/generated/*` or `datetime.utcnow`; `*` matches anything
in one word or path. The prefix `command:`, `path:` or `text:` sets where it counts, else its form does. Commands are
compared word by word (`gitmem.model.shell`); `|` in a literal is a pipe. A literal may leave out the program:
`push --force`, `--no-verify`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from gitmem.model.command import form
from gitmem.model.shell import PRINTS, SETS, commands
from gitmem.model.shell_reader import ShellCommand
from gitmem.platform.machine import table
from gitmem.values import Value

COMMAND, PATH, TEXT = "command", "path", "text"
MOST_LITERALS, MAX_LITERAL = 40, 200  # of one rule; characters
_CODE = re.compile(r"[(){}\[\]=:;\"'<>]")
_NO_COMMAND = re.compile(r"[(){}\[\]=;\"'<>]|^\W|^\w*[A-Z]")  # a program's name has no capital letter
_FILE = re.compile(r"[\w.*-]*\.[\w*]{1,5}|[A-Z]\w*file")
_DOTTED = re.compile(r"\w+(?:\.\w+)+\(?")
DOCUMENTS = (".md", ".mdx", ".rst", ".txt", ".adoc")
_VERSION = "0123456789.-"  # may end the name of a program: `pip3`, `gcc-12`, `python3.12`
_PATTERN = re.compile(  # `psql.*prod`, `\bpsql`, `^git`; no `.env.*`, no `C:\src`
    r"(?:^|\w)\.[*+]\??\w|^\^\w|\w\$$|\[\^|\(\?[:=!]|(?<![\w.:\\])\\[bBdDsSwW]|\\[bBdDsSwW](?=[+*{\s]|$)"
)
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
# Before a string that is run: a library call of some language, or an option of a shell.
_RUNNERS = re.compile(
    r"\b(?:run|call|check_call|check_output|getoutput|popen|system|passthru|shell|sh|eval|(?:shell_)?exec\w{0,9}|"
    r"spawn\w{0,9}|command(?:::new)?)(?: ?\(| (?=['\"]))|\s-\w{0,4}c\s",
    re.IGNORECASE,
)
_SETTINGS = (".json", ".yml", ".yaml", ".toml", "dockerfile")  # whose values may be commands
_SCRIPTS = (".sh", ".bash", ".zsh", ".mk", "makefile", "dockerfile", ".yml", ".yaml")  # whose lines may be commands
_BEFORE = re.compile(r"(?:- )?(?:(?:run|script): |(?:RUN|CMD) |@)?")  # what stands before a command in these
_SIGNS = "#/*-<!; "  # with which a comment begins
_COMMENTS = ("#", "//", "/*", "*", "--", "<!--", ";")
_DATABASES = frozenset("psql mysql mariadb sqlite3 duckdb cqlsh sqlcmd clickhouse-client mongosh".split())  # noqa: SIM905
# Programs whose names are verbs of others, too: `uv pip`, `git rm`.
_VERBS = frozenset("pip rm mv cp ln kill diff exec sh bash".split())  # noqa: SIM905
_FINDS = PRINTS | {"ag", "ack", "egrep", "fgrep", "log", "gitmem"}
_PACKAGE = re.compile(r"(?:\S*npm:)?(@?[\w./+-]*\w)")  # before its version; behind an alias
_MAX_TEXT = 400_000  # characters of one call


class ToolCall(Value):
    """A tool call: the command it runs, the files it writes, the text it writes into them."""

    command: str = ""
    paths: tuple[str, ...] = ()  # relative to the project where they are below it
    text: str = ""


def usable(literal: str) -> bool:
    """Return whether a text can be a literal: one line with letters or digits, not too long."""
    kind, _, rest = literal.partition(":")
    body = rest if kind in {COMMAND, PATH, TEXT} else literal
    return len(literal) <= MAX_LITERAL and literal.isprintable() and sum(map(str.isalnum, body)) > 1


def usable_ones(literals: Sequence[str]) -> list[str]:
    """Return the literals of a rule that are looked for; others may stand in its file."""
    return [*filter(usable, literals[:MOST_LITERALS])]


def needles(literal: str) -> tuple[str, ...]:
    """Return strings, one of which the JSON of any matching call contains: the longest word, in both escapings."""
    words = re.split(r"[\s*\"\\]+", _parts(literal)[1])
    word = max((word for word in words if word[:1] != "-"), key=len, default="") or max(words, key=len)
    escaped = "".join(
        letter if letter < "\x7f" else f"\\u{ord(letter):04x}" for letter in word if ord(letter) < 1 << 16
    )
    words = [word, escaped, *([word.lower()] if _is_caseless(literal) else []), *_programs_of_option(word)]
    return tuple(dict.fromkeys(words)) if len(word) > 1 else ()


def _is_caseless(literal: str) -> bool:
    """Return whether a literal is SQL, which lower case matches as well: `DROP TABLE`."""
    return literal.isupper() and " " in literal


def acts_on(literal: str) -> str:
    """Describe, as a part of a sentence, the acts of an agent in which a literal is looked for."""
    kinds, body = _parts(literal)
    installs = COMMAND in kinds and not _is_line(body)
    acts = (("runs", COMMAND in kinds), ("installs", installs), ("edits as a path", PATH in kinds))
    *first, last = [act for act, is_looked_at in (*acts, ("writes into code", TEXT in kinds)) if is_looked_at]
    return " or ".join(filter(None, (", ".join(first), last)))


def _is_line(literal: str) -> bool:
    """Return whether a literal can only be words of a command: two of them, or an option."""
    return " " in literal or literal.startswith("-")


def looks_like_pattern(literal: str) -> bool:
    """Return whether a literal contains syntax of regular expressions, which has no effect in literals."""
    return _PATTERN.search(literal) is not None


def meets(literal: str, call: ToolCall, rule: str = "") -> bool:
    """Return whether a tool call does what a literal of a rule forbids: `pip` is also `pip3`, which no rule names."""
    kinds, body = _parts(literal)
    line = _commands(call.command)
    paths = (*call.paths, *(path for command in line for path in command.writes()))
    return (
        (COMMAND in kinds and _pipes(body, line, rule))
        or (PATH in kinds and any(_names(body, path) for path in paths))
        or (TEXT in kinds and any(_writes(body, written, kinds) for written in (call, *_written(line, kinds))))
    )


_commands = lru_cache(maxsize=2)(commands)  # one call is compared with each literal of each rule


def _written(line: Sequence[ShellCommand], kinds: frozenset[str]) -> Iterator[ToolCall]:
    """Yield the texts that commands write into files or send to a database, as tool calls.

    Commands in such texts are not run.
    """
    for command in line:
        text = command.text or ("" if COMMAND in kinds else command.piped_text or command.prints)
        if command.name in _DATABASES:
            yield ToolCall(text="\n".join((*command.words[1:], command.text, command.piped_text)))
        elif text and (paths := command.writes()):
            yield ToolCall(paths=paths, text=text)


def _parts(literal: str) -> tuple[frozenset[str], str]:
    """Return the kinds of places where a literal counts, and the literal without its prefix."""
    kind, colon, rest = literal.partition(":")
    if colon and kind in {COMMAND, PATH, TEXT} and rest.strip():
        return frozenset({kind}), rest.strip()
    text = literal.strip()
    if " " in text:  # a line of a script may be a command, too
        return frozenset({COMMAND} if "|" in text else {TEXT} if _NO_COMMAND.search(text) else {COMMAND, TEXT}), text
    if "://" in text or ("/" in text and not any(map(str.isalpha, text))):  # an address
        return frozenset({TEXT}), text
    if "/" in text or text.startswith("*."):
        return frozenset({PATH}), text
    kinds = {PATH} if _FILE.fullmatch(text) else set()
    if _CODE.search(text) or _DOTTED.fullmatch(text):
        return frozenset(kinds | {TEXT}), text
    return frozenset(kinds or {COMMAND, TEXT} | ({PATH} if text[:1].isupper() else set())), text  # such as LICENSE


def _pipes(literal: str, line: Sequence[ShellCommand], rule: str = "") -> bool:
    """Return whether commands match a literal; `|` in it requires the one to be piped into the next."""
    first, *rest = (part.split() for part in literal.split("|"))
    for place, command in enumerate(line):
        if not first or _runs_part(first, command.words, rule):
            wanted = iter(rest)
            awaited = next(wanted, None)
            for later in takewhile(lambda command: command.is_piped, line[place + 1 :]):
                awaited = next(wanted, None) if awaited and _runs_part(awaited, later.words) else awaited
            if awaited is None:
                return True
    return False


def _runs_part(literal: Sequence[str], words: Sequence[str], rule: str = "") -> bool:
    """Return whether a command's words match a literal, which may begin after the program: `push --force`.

    One word alone is a program, an option, or a package to install. What prints or finds its words runs none of them.
    """
    if _runs(literal, words, rule) or (len(literal) == 1 and literal[0] in _packages(words)):
        return True
    is_part = _is_line(" ".join(literal)) and literal[0] not in _VERBS
    is_program = words[0].islower() and not words[0].endswith(":") and _FINDS.isdisjoint(words)
    return is_part and is_program and _runs(("*", *literal), words)


def _runs(literal: Sequence[str], words: Sequence[str], rule: str = "") -> bool:
    """Return whether a command's words match those of a literal, in order, ignoring options in between.

    A word that follows an option may be its value.
    """
    name = words[0].rpartition("/")[2]
    names = (words[0], name, *(() if name in rule else (name.rstrip(_VERSION),)))
    if not literal or not any(_fits(literal[0], known) for known in names):
        return False
    arguments = words[1:]
    options = [word for word in literal[1:] if word.startswith("-")]
    if options and not all(_has_option(option, (*arguments, *_equal_options(words))) for option in options):
        return False
    plain = [word for word in literal[1:] if not word.startswith("-")]
    after_option = False
    for word in arguments:
        if not plain:
            return True
        if word.startswith("-"):
            after_option = True
        elif _fits(_plain_path(plain[0]), _plain_path(word).removeprefix("+")):  # `git push origin +main`
            plain, after_option = plain[1:], False
        elif after_option or options or word.startswith("+") or SETS.match(word):  # `cargo +nightly fmt`
            after_option = False
        else:
            return False
    return not plain


@lru_cache(maxsize=2)
def _packages(words: Sequence[str]) -> frozenset[str]:
    """Return the names, without versions, of the packages that a command installs: `lodash` of `npm i lodash@4`."""
    line = " ".join((words[0].rpartition("/")[2], *words[1:]))
    adds = form("adds").match(line)
    named = (_PACKAGE.match(word) for word in line[adds.end() :].split()) if adds else ()
    return frozenset(match[1] for match in named if match)


def _plain_path(word: str) -> str:
    return word.removeprefix("./").rstrip("/") or word


def _has_option(literal: str, words: Sequence[str]) -> bool:
    """Return whether words include an option; `-rf` is also `-fr` and `-r -f`."""
    short = {letter for word in words if _is_short(word) for letter in word[1:]}
    return (_is_short(literal) and set(literal[1:]) <= short) or any(
        _fits(literal, word) or (literal.startswith("--") and word.startswith(f"{literal}=")) for word in words
    )


def _is_short(word: str) -> bool:
    return word[:1] == "-" and word[1:].isalpha() and len(word) <= 5  # noqa: PLR2004


@lru_cache(maxsize=2)
def _equal_options(words: Sequence[str]) -> tuple[str, ...]:
    """Return the other spellings of a command's options: `--force` for `git push -f`, as the table has them."""
    equal = set[str]()
    for command, takes_value, short, long in table("options.tsv"):
        if _runs(command.split(), words):
            clusters = (re.split(f"[{takes_value}]", word[1:], maxsplit=1)[0] for word in words if _is_short(word))
            given = {*words, *equal, *(f"-{letter}" for cluster in clusters for letter in cluster)}
            if any(_fits(short, word) for word in given):
                equal.update(long.split())
            if given.issuperset(long.split()):
                equal.add(short)
    return tuple(equal)


def _programs_of_option(word: str) -> Iterator[str]:
    """Yield what a call with another spelling of an option has: `commit ` for `--no-verify`, which may be `-n`."""
    for command, _, short, long in table("options.tsv"):
        if word in {short, long}:
            yield f"{command.rpartition(' ')[2]} "


def _names(literal: str, path: str) -> bool:
    """Return whether a literal matches a path, its end, or a folder above it."""
    path, literal = path.replace("\\", "/"), literal.removeprefix("./")
    if literal.endswith("/"):
        return path.startswith(literal) or f"/{literal}" in f"/{path}"
    places = [path, *(path[place + 1 :] for place, letter in enumerate(path) if letter == "/")][:60]
    return any(_fits(literal, place) for place in places)


def _writes(literal: str, call: ToolCall, kinds: frozenset[str]) -> bool:
    """Return whether code that a call writes contains a literal, at word boundaries.

    A literal that may be a command counts in a string only if the string is run; one that may be a file name only if
    used as code (`console.log(`).
    Comments count only for literals found nowhere else: marks in capitals, such as TODO, and directives at the
    beginning of a comment, such as `eslint-disable`.
    """
    if call.paths and all(path.casefold().endswith(DOCUMENTS) for path in call.paths):
        return False
    is_mark = literal.isupper() and " " not in literal
    is_order = re.search(r"[@:-]", literal) is not None and not _DOTTED.fullmatch(literal)
    lines = (line.strip() for line in call.text[:_MAX_TEXT].split("\n"))
    read = (
        line
        for line in lines
        if is_mark or not line.startswith(_COMMENTS) or (is_order and line.lstrip(_SIGNS).startswith(literal))
    )
    if COMMAND in kinds and _is_line(literal):
        code = [*read]
        near = (line for line in code if literal.partition(" ")[0] in line)
        if any(_pipes(literal, commands(text)) for line in near for text in _run_texts(line, call.paths)):
            return True
        read = (_STRING.sub("''", line) for line in code)
    after = ("(", "[", ".") if PATH in kinds and _FILE.fullmatch(literal) else ("",)
    forms = (literal, literal.lower()) if _is_caseless(literal) else (literal,)
    return any(_holds(form + next_, line) for line in read for form in forms for next_ in after)


def _run_texts(line: str, paths: Sequence[str]) -> Iterator[str]:
    """Yield what a line may run: a call's first string, all joined as its words, settings' values, a script's line."""
    has_values, is_script = (any(path.casefold().endswith(ends) for path in paths) for ends in (_SETTINGS, _SCRIPTS))
    runner = _RUNNERS.search(line)
    strings = _STRING.findall(line[runner.end() :] if runner else line) if runner or has_values else []
    yield from (string[1:-1] for string in (strings if has_values else strings[:1]))
    yield " ".join(["python"] * ("sys.executable" in line) + strings)
    yield _BEFORE.sub("", line, count=1) * is_script


def _holds(literal: str, line: str) -> bool:
    first, *rest = literal.split("*")
    is_option = literal.rpartition(" ")[2].startswith("-")  # `--force` is no `--force-with-lease`
    place = line.find(first)
    while place >= 0:
        end = place + len(first)
        is_whole = not (literal[:1].isalnum() and _is_word(line[place - 1 : place] if place else ""))
        for part in rest:
            at = line.find(part, end)
            end = at + len(part) if at >= 0 and " " not in line[end:at].strip() else -1
            if end < 0:
                break
        is_cut = literal[-1:].isalnum() and (
            _is_word(line[end : end + 1]) or (is_option and line[end : end + 1] == "-")
        )
        if end >= 0 and is_whole and not is_cut:
            return True
        place = line.find(first, place + 1) if first else -1
    return False


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _fits(literal: str, word: str) -> bool:
    """Return whether a word matches a literal with `*` for anything; the time is linear in both."""
    first, *rest = literal.split("*")
    if not rest:
        return literal == word
    if not word.startswith(first) or not word.endswith(rest[-1]) or len(word) < len(first) + len(rest[-1]):
        return False
    place = len(first)
    for part in rest[:-1]:
        place = word.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return place <= len(word) - len(rest[-1])
