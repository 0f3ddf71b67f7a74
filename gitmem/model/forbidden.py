"""Which literals of a rule a tool call meets: in its command, its paths, or the text that it writes. Pure.

A literal is the user's own words, such as `pip install`, `src/generated/*` or `datetime.utcnow`; `*` stands for
anything in one word or path. `command:`, `path:` or `text:` before it says where it counts; else its form does.
Commands are read by their words: quoted text, comments, and what is fed to a program are no commands.
"""

from __future__ import annotations

import re

from gitmem.values import Value

COMMAND, PATH, TEXT = "command", "path", "text"
MOST_LITERALS, MAX_LITERAL = 40, 200  # of one rule; characters
_CODE = re.compile(r"[(){}\[\]=:;\"'<>]")
_FILE = re.compile(r"[\w.*-]*\.[\w*]{1,5}")
_DOTTED = re.compile(r"\w+(?:\.\w+)+\(?")
_DOCUMENTS = (".md", ".mdx", ".rst", ".txt", ".adoc")
_COMMENTS = ("#", "//", "/*", "*", "--", "<!--", ";")
_HEREDOC = re.compile(r"<<-?[ \t]*['\"]?(\w+)")
_TOKEN = re.compile(
    r"(?P<quoted>'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|\\.)|(?P<end>[;&|()`\n])|(?P<feed>[<>])"
    r"|(?P<blank>[ \t\r\f\v]+)|(?P<word>[^\s;&|()`<>'\"\\]+)",
    re.DOTALL,
)
_SETS = re.compile(r"[A-Za-z_]\w*=")
# What runs the command behind it; those of the second kind take one more word first.
_WRAPPERS = frozenset(
    (
        "sudo",
        "doas",
        "env",
        "time",
        "nohup",
        "nice",
        "exec",
        "command",
        "builtin",
        "xargs",
        "then",
        "do",
        "else",
        "if",
        "while",
        "!",
        "{",
        "}",
    )
)
_RUNNERS = frozenset(
    (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("hatch", "run"))
)
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_PYTHON = re.compile(r"(?:python|pypy|py)[0-9.]*(?:\.exe)?")
_MAX_COMMAND, _MAX_TEXT, _MOST_COMMANDS = 20_000, 400_000, 200
_DEEPEST = 3  # shells within shells


class ToolCall(Value):
    """What a tool is about to do: the command it runs, the files it writes, the text it writes into them."""

    command: str = ""
    paths: tuple[str, ...] = ()  # relative to the project where they are below it
    text: str = ""


def usable(literal: str) -> bool:
    """Return whether a text can be a literal: one line, of some letters or digits, not too long."""
    kind, _, rest = literal.partition(":")
    body = rest if kind in {COMMAND, PATH, TEXT} else literal
    return len(literal) <= MAX_LITERAL and literal.isprintable() and sum(map(str.isalnum, body)) > 1


def needles(literal: str) -> tuple[str, ...]:
    """Return what any JSON of a tool call that meets a literal holds: its longest word, in both escapings."""
    words = re.split(r"[\s*\"\\]+", _parts(literal)[1])
    word = max((word for word in words if word[:1] != "-"), key=len, default="")
    escaped = "".join(
        letter if letter < "\x7f" else f"\\u{ord(letter):04x}" for letter in word if ord(letter) < 1 << 16
    )
    return tuple(dict.fromkeys((word, escaped))) if len(word) > 1 else ()


def meets(literal: str, call: ToolCall) -> bool:
    """Return whether a tool call does what a literal forbids."""
    kinds, body = _parts(literal)
    return (
        (COMMAND in kinds and any(_runs(body.split(), words) for words in commands(call.command)))
        or (PATH in kinds and any(_names(body, path) for path in call.paths))
        or (TEXT in kinds and _writes(body, call))
    )


def _parts(literal: str) -> tuple[frozenset[str], str]:
    """Return where a literal counts, and the literal itself."""
    kind, colon, rest = literal.partition(":")
    if colon and kind in {COMMAND, PATH, TEXT} and rest.strip():
        return frozenset({kind}), rest.strip()
    text = literal.strip()
    if " " in text:
        return frozenset({TEXT} if _CODE.search(text) else {COMMAND}), text
    if "/" in text or text.startswith("*."):
        return frozenset({PATH}), text
    kinds = {PATH} if _FILE.fullmatch(text) else set()
    if _CODE.search(text) or _DOTTED.fullmatch(text):
        return frozenset(kinds | {TEXT}), text
    return frozenset(kinds or {COMMAND, TEXT}), text


def commands(line: str, depth: int = 0) -> list[list[str]]:
    """Return the commands of a shell's line, each as its words, behind wrappers such as `sudo` and `python -m`."""
    found: list[list[str]] = []
    for words in _split(_without_heredocs(line[:_MAX_COMMAND])):
        words = _unwrapped(words)  # noqa: PLW2901
        if not words:
            continue
        script = _script(words) if depth < _DEEPEST else ""
        found += commands(script, depth + 1) if script else [words]
        if len(found) > _MOST_COMMANDS:
            break
    return found


def _without_heredocs(script: str) -> str:
    """Return a script without the texts that it feeds to programs."""
    kept, ends = list[str](), ""
    for line in script.split("\n"):
        if ends:
            ends = "" if line.strip() == ends else ends
            continue
        kept.append(line)
        begins = _HEREDOC.search(line)
        ends = begins[1] if begins else ""
    return "\n".join(kept)


def _split(line: str) -> list[list[str]]:
    """Return the words of each command of a line, by the shell's rules of quoting; redirections are left out."""
    found: list[list[str]] = [[]]
    word: list[str] | None = None
    is_comment = is_redirected = False
    for token in _TOKEN.finditer(line + "\n"):
        kind, text = token.lastgroup, token[0]
        if is_comment and text != "\n":
            continue
        is_comment = kind == "word" and word is None and text.startswith("#")
        if is_comment:
            continue
        if kind in {"word", "quoted"}:
            word = [*(word or ()), text if kind == "word" else _unquoted(text)]
            continue
        if word is not None and not is_redirected:
            found[-1].append("".join(word))
        is_redirected = kind == "feed" or (is_redirected and word is None)
        word = None
        if kind == "end":
            found.append([])
            is_redirected = False
    return [words for words in found if words]


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text.strip("'")
    if text.startswith("\\"):
        return text[1:].strip("\n")
    return re.sub(r"\\(.)", r"\1", text.strip('"'), flags=re.DOTALL)


def _unwrapped(words: list[str]) -> list[str]:
    """Return the words of a command without assignments, wrappers with their options, and `python -m`."""
    while words:
        name = words[0].rpartition("/")[2]
        if _SETS.match(words[0]):
            words = words[1:]
        elif name in _WRAPPERS:
            words = words[1:]
            while words and (words[0].startswith("-") or words[0][:1].isdigit()):
                words = words[1:]
        elif tuple(words[:2]) in _RUNNERS:
            words = words[2:]
        elif _PYTHON.fullmatch(name) and "-m" in words[:4]:
            words = words[words.index("-m") + 1 :]
        else:
            return words
    return words


def _script(words: list[str]) -> str:
    """Return the script that a shell is given with `-c`, "" for any other command."""
    if words[0].rpartition("/")[2] == "eval":
        return " ".join(words[1:])
    if words[0].rpartition("/")[2] not in _SHELLS:
        return ""
    place = next((place for place, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), 0)
    return words[place + 1] if place and place + 1 < len(words) else ""


def _runs(literal: list[str], words: list[str]) -> bool:
    """Return whether a command's words are those of a literal, in order; options in between do not matter.

    A word that follows an option may be its value.
    """
    if not literal or not (_fits(literal[0], words[0].rpartition("/")[2]) or _fits(literal[0], words[0])):
        return False
    given = words[1:]
    options = [word for word in literal[1:] if word.startswith("-")]
    if not all(any(_is_option(option, word) for word in given) for option in options):
        return False
    plain = [word for word in literal[1:] if not word.startswith("-")]
    after_option = False
    for word in given:
        if not plain:
            return True
        if word.startswith("-"):
            after_option = True
        elif _fits(plain[0], word):
            plain, after_option = plain[1:], False
        elif after_option or options:
            after_option = False
        else:
            return False
    return not plain


def _is_option(literal: str, word: str) -> bool:
    """Return whether a word has an option: `-rf` has `-r` and is `-fr`."""
    if _fits(literal, word) or (literal.startswith("--") and word.startswith(f"{literal}=")):
        return True
    is_short = all(text[:1] == "-" and text[1:].isalpha() and len(text) <= 5 for text in (literal, word))  # noqa: PLR2004
    return is_short and set(literal[1:]) <= set(word[1:])


def _names(literal: str, path: str) -> bool:
    """Return whether a literal names a path, a folder above it, or the end of it."""
    path, literal = path.replace("\\", "/"), literal.removeprefix("./")
    if literal.endswith("/"):
        return path.startswith(literal) or f"/{literal}" in f"/{path}"
    places = [path, *(path[place + 1 :] for place, letter in enumerate(path) if letter == "/")][:60]
    return any(_fits(literal, place) for place in places)


def _writes(literal: str, call: ToolCall) -> bool:
    """Return whether code that a call writes holds a literal, at the bounds of words, outside of comment lines."""
    if call.paths and all(path.casefold().endswith(_DOCUMENTS) for path in call.paths):
        return False
    lines = (line.strip() for line in call.text[:_MAX_TEXT].split("\n"))
    return any(_holds(literal, line) for line in lines if not line.startswith(_COMMENTS))


def _holds(literal: str, line: str) -> bool:
    first, *rest = literal.split("*")
    place = line.find(first)
    while place >= 0:
        end = place + len(first)
        is_whole = not (_is_word(literal[:1]) and _is_word(line[place - 1 : place] if place else ""))
        for part in rest:
            found = line.find(part, end)
            end = found + len(part) if found >= 0 and " " not in line[end:found].strip() else -1
            if end < 0:
                break
        if end >= 0 and is_whole and not (_is_word(literal[-1:]) and _is_word(line[end : end + 1])):
            return True
        place = line.find(first, place + 1) if first else -1
    return False


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _fits(literal: str, word: str) -> bool:
    """Return whether a word is a literal, in which `*` stands for anything; the time is linear in both."""
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
