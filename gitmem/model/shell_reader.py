"""Read a script by the shell's quoting rules: its commands as written, with their input. Pure."""

from __future__ import annotations

import re

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
_MOST_COMMANDS, _DEEPEST = 200, 8  # substitutions within substitutions


class ShellCommand(Value):
    """A command: its words, the files that it writes by redirection, and whether the one before is piped into it.

    `text` is its input from a here-document or here-string, `heard` the output of an `echo` piped into it.
    """

    words: tuple[str, ...]
    redirected: tuple[str, ...] = ()
    is_piped: bool = False
    text: str = ""
    heard: str = ""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].rpartition("/")[2]

    @property
    def prints(self) -> str:
        """The text that the command prints, as far as its words show it."""
        return " ".join(self.words[1:]).replace("\\n", "\n") if self.name in {"echo", "printf"} else ""

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
        self._ends, self._line = list[str](), 0  # ends of here-documents begun in this line; its first command
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
                self._ends.append(token["document"])
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
            heard = self._found[-1].prints if self._is_piped and self._found else ""
            words, targets = tuple(self._words), tuple(self._targets)
            self._found.append(ShellCommand(words, targets, self._is_piped, self._text, heard))
        self._begin(is_piped=sign in {"|", "|&"} or (self._is_piped and not self._words))
        if sign == "\n":
            documents = "\n".join([self._document(end) for end in self._ends])
            if documents:
                self._found[self._line :] = [row._replace(text=documents) for row in self._found[self._line :]]
            self._ends, self._line = [], len(self._found)

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
                text += part[0][1:].strip("\n") if part[0][0] == "\\" else part[0]
        return text


def _unquoted(text: str) -> str:
    """Return a word, or a text in single quotes or after a backslash, as the program receives it."""
    if text.startswith("'"):
        return text.strip("'")
    return text[1:].strip("\n") if text.startswith("\\") else text
