"""Read a script by the shell's quoting rules: its commands as written, with their input. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gitmem.values import Value

_TOKEN = re.compile(
    r"(?P<comment>(?:(?<=[\s;&|()])|\A)#[^\n]*)|(?P<quoted>'[^']*(?:'|\Z)|\\.)|(?P<double>\")"
    r"|(?P<feed>&>>?|[0-9]*(?:<<<|>>|>\||[<>]&[0-9-]))|<<-?[ \t]*['\"]?(?P<document>\w+)['\"]?"
    r"|(?P<from>[0-9]*[<>])|(?P<end>\|\||&&|\|&|[;&|()`\n])|(?P<blank>[ \t\r\f\v]+)|(?P<word>[^\s;&|()`<>'\"\\]+|.)",
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r"\"|\$\((?!\()|`|\\.|[^\"\\$`]+|.", re.DOTALL)
_CHANGES_ALL = frozenset(("tee", "truncate", "mv", "rm", "unlink", "shred"))
_WRITES_LAST = frozenset(("cp", "install"))
_WRITES_IN_PLACE = frozenset(("sed", "gsed", "perl", "ruby"))
_ESCAPED = '$`"\\\n'  # after a backslash in double quotes, which stays before all else
_PRINTED = ("-n", "-e", "-E", "-ne", "-en")  # options of `echo`
_FORMATS = {"%s": "", "%s\\n": "\n"}  # of `printf` that print each word as it is, and what then stands between them
_UNKNOWN_PATH = re.compile(r"[$`*?~]|^/dev/|^-$|^$")
_IN_SUBSHELL = re.compile(r"\(\s*(?:cd|pushd)\s")
_MOST_COMMANDS, _DEEPEST = 200, 8  # substitutions within substitutions


class ShellCommand(Value):
    """A command: its words, the files that it writes by redirection, and whether the one before is piped into it.

    `text` is its input from a here-document or here-string, `piped_text` the output of an `echo` piped into it.
    """

    words: tuple[str, ...]
    redirected: tuple[str, ...] = ()
    is_piped: bool = False
    text: str = ""
    piped_text: str = ""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].rpartition("/")[2]

    @property
    def prints(self) -> str:
        """The text that the command prints, as far as its words show it."""
        words = [*self.words[1:]]
        while self.name == "echo" and words and words[0] in _PRINTED:
            del words[0]
        if self.name == "printf" and words and words[0] in _FORMATS:
            return _FORMATS[words[0]].join(words[1:])
        return " ".join(words).replace("\\n", "\n") if self.name in {"echo", "printf"} else ""

    def writes(self) -> tuple[str, ...]:
        """Return the paths that the command surely changes: those redirected to, edited, made, moved or removed."""
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


class ShellReader:
    """Reads the commands of a script, each followed by those of the substitutions in its quoted texts."""

    def __init__(self, script: str, place: int = 0, depth: int = 0) -> None:
        self.place = place
        self._script, self._depth = script, depth
        self._found, self._inner = list[ShellCommand](), list[ShellCommand]()
        self._ends = list[tuple[str, int]]()  # ends of here-documents begun in this line, with their commands' indexes
        self._word: str | None = None
        self._begin(is_piped=False)

    def read(self) -> list[ShellCommand]:
        """Return the commands up to the end of the script, or of the substitution in which this reader began."""
        opened = 0
        while len(self._found) <= _MOST_COMMANDS and (token := _TOKEN.match(self._script, self.place)):
            self.place, kind, text = token.end(), token.lastgroup, token[0]
            if kind in {"word", "quoted", "double"}:
                self._word = (self._word or "") + (self._double() if kind == "double" else _unquoted(text))
            elif kind == "document":
                self._end_word()
                self._ends.append((token["document"], len(self._found)))
            elif kind in {"feed", "from"}:
                self._end_word()
                self._feed = "" if "&" in text[1:] else text
            elif kind == "blank":
                self._end_word()
            elif kind == "end":
                self._end_command(text)
                opened += (text == "(") - (text == ")")
                if self._depth and opened < 0:
                    break
        self._end_command("\n")
        return self._found + self._inner

    def _begin(self, *, is_piped: bool) -> None:
        self._words, self._targets, self._text = list[str](), list[str](), ""
        self._feed, self._is_piped = "", is_piped

    def _end_word(self) -> None:
        if self._word is None:
            return
        if not self._feed:
            self._words.append(self._word)
        elif ">" in self._feed:
            self._targets.append(self._word)
        elif self._feed.endswith("<<<"):
            self._text = self._word
        self._word, self._feed = None, ""

    def _end_command(self, sign: str) -> None:
        self._end_word()
        if self._words:
            piped_text = self._found[-1].prints if self._is_piped and self._found else ""
            words, targets = tuple(self._words), tuple(self._targets)
            self._found.append(ShellCommand(words, targets, self._is_piped, self._text, piped_text))
        self._begin(is_piped=sign in {"|", "|&"} or (self._is_piped and not self._words))
        if sign == "\n":
            for end, index in self._ends:
                self._give(self._document(end), index)
            self._ends = []

    def _give(self, text: str, index: int) -> None:
        """Give a here-document to its command, and to those that it is piped into."""
        for at, row in enumerate(self._found[index:], index):
            if at > index and not row.is_piped:
                break
            self._found[at] = row._replace(text="\n".join(filter(None, (row.text, text))))

    def _document(self, end: str) -> str:
        """Read a here-document to the line that ends it."""
        lines, size = list[str](), len(self._script)
        while self.place < size:
            newline = self._script.find("\n", self.place)
            line = self._script[self.place : newline if newline >= 0 else size]
            self.place += len(line) + 1
            if line.strip() == end:
                break
            lines.append(line)
        return "\n".join(lines)

    def _double(self) -> str:
        """Read a text in double quotes; the commands of its substitutions are collected and left out of it."""
        text = ""
        while part := _IN_DOUBLE.match(self._script, self.place):
            self.place = part.end()
            if part[0] == '"':
                break
            if part[0] == "$(" and self._depth < _DEEPEST:
                inner = ShellReader(self._script, self.place, self._depth + 1)
                self._inner += inner.read()
                self.place = inner.place
            elif part[0] == "`" and self._depth < _DEEPEST:
                end = self._script.find("`", self.place) + 1 or len(self._script) + 1
                self._inner += ShellReader(self._script[self.place : end - 1], 0, self._depth + 1).read()
                self.place = end
            else:
                is_escape = part[0][0] == "\\" and part[0][1] in _ESCAPED
                text += part[0][1:].strip("\n") if is_escape else part[0]
        return text


def files_written(script: str) -> Iterator[tuple[str, str]]:
    """Yield the files that a script writes to, each with the text that it adds, "" if its words do not show that.

    Known are a here-document of a plain `cat`, and what `echo` and `printf` print; a `cd` counts up to one that names
    no plain folder.
    """
    folder, before = "", ShellCommand(("",))
    for command in ShellReader(script).read():
        if command.name in {"cd", "pushd"}:
            place = command.words[1] if len(command.words) == 2 else "~"  # noqa: PLR2004
            if _UNKNOWN_PATH.search(place) or _IN_SUBSHELL.search(script):
                return
            folder = posixpath.join(folder, place)
        is_tee = command.name == "tee"
        text = _text_of_tee(command, before) if is_tee else _text_of(command)
        for path in command.writes() if is_tee else command.redirected:
            if not _UNKNOWN_PATH.search(path) and (text or not is_tee):
                yield posixpath.normpath(posixpath.join(folder, path)), text
        before = command


def _text_of(command: ShellCommand) -> str:
    if command.words in {("cat",), ("cat", "-")}:
        return command.text
    form = command.words[1] if command.name == "printf" and len(command.words) > 1 else ""
    return "" if "%" in form and form not in _FORMATS else command.prints


def _text_of_tee(command: ShellCommand, before: ShellCommand) -> str:
    return (_text_of(before) if not before.redirected else "") if command.is_piped else command.text


def _unquoted(text: str) -> str:
    """Return a word, or a text in single quotes or after a backslash, as the program receives it."""
    if text.startswith("'"):
        return text.strip("'")
    return text[1:].strip("\n") if text.startswith("\\") else text
