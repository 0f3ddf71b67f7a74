"""The commands as a user sees them: `tests/transcripts/*.md` hold commands and their output, and are run.

A line `$ gitmem …` in a block of code is run in the folder of the transcript, and what follows is what it prints, both
streams and an exit code other than 0. `cd` and a shell's other commands are run, too, but `sleep` moves the clock on
instead; `y | gitmem …` is what a user types, `gitmem … < FILE` reads a file, `NAME=value gitmem …` has a variable. What
changes from run to run has a name: ID1, HASH1, DATE, TIME, `~`; a command may use the numbered ones. Those in `details`
are no part of docs/examples.md.

`tests/sessions/*.md` hold sessions of an agent, too, in blocks that begin with ```session. A line `# NAME` begins a
session in the folder that `$ cd` went to, `> ` is what its user types, `+ COMMAND` a command that worked, `! COMMAND`
one that failed with the lines `  | ` below it, `~ PATH: TEXT` a file that the agent writes, `% auto` a compaction, `< `
its answer. Behind each, indented, stands what the agent is shown then; nothing, where it is shown nothing.
`GITMEM_WRITE_TRANSCRIPTS=1 pytest tests/test_transcripts.py` writes the output anew.
"""

import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import textwrap
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from gitmem.cli.app import App
from gitmem.cli.main import main
from gitmem.platform.machine import Context, machine_name, now
from tests.agent import Player
from tests.command_line import Terminal
from tests.world import World

FOLDER = Path(__file__).parent / "transcripts"
SESSIONS = Path(__file__).parent / "sessions"
_WRITES = "GITMEM_WRITE_TRANSCRIPTS" in os.environ  # tests have no such variables
_BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_SESSION = re.compile(r"(?<=```session\n).*?(?=```)", re.DOTALL)
_ACT = re.compile(r"^([#>+!<$~%]) (.*(?:\n  \| .*)*)", re.MULTILINE)
_INDENT = "    "  # of what the agent is shown
_ID = "0123456789abcdefghjkmnpqrstvwxyz"
_NAMED = re.compile(
    rf"(?P<ID>(?<![\w.])(?:[0-9][{_ID}]{{19}}|(?!preferences)[a-z][{_ID}]{{10}})(?!\w))"
    r"|(?P<HASH>\b(?:[0-9a-f]{40}|[0-9a-f]{10})\b)"
)
_CHANGES = (
    (re.compile(r"\b20\d\d/\d\d/(?=20\d\d-|20\d{6}_|ID\d)"), "YEAR/MONTH/"),
    (re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)"), "MOMENT"),
    (re.compile(r"\b(19|20)\d\d-\d\d-\d\d\b|\b\d{1,2} [A-Z][a-z]+ 20\d\d\b"), "DATE"),
    (re.compile(r"20\d{6}[-_]\d{6}"), "STAMP"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?( [+-]\d{4})?"), "TIME"),
    (re.compile(r"\b[\d.,]+ [kKMG]B\b|(?<= of )\d+ bytes\b"), "SIZE"),
    (re.compile(r"index [0-9a-f]{7}\.\.[0-9a-f]{7}"), "index BLOB..BLOB"),
    (re.compile(r"(?<=migrate-)((?:rotation|jikime|memory-keeper)-)[0-9a-f]{8}\b"), r"\1"),
    (re.compile(r"^gitmem: [a-z, ]+ …\n", re.MULTILINE), ""),  # what a slow machine is told of the work under way
    (re.compile(r"(?<=\[y/N\] )gitmem: [a-z, ]+ …$", re.MULTILINE), ""),  # the same, behind a question
    (re.compile(r"(?<=the oldest for )\d+ \w+"), "AGE"),
    (re.compile(r" +$", re.MULTILINE), ""),
)


class Transcript:
    """Runs commands in a folder, and names what changes from run to run."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.top = self.folder = folder
        own = folder.parent / f"{folder.name}.gitconfig"
        own.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n", encoding="utf-8")
        self.environ = environ | {"NO_COLOR": "1", "GIT_CONFIG_GLOBAL": str(own)}
        self.names: dict[str, str] = {}
        self._slept = timedelta(0)

    def now(self) -> datetime:
        """Return the time on the clock of the commands, which `sleep` moves on."""
        return now() + self._slept

    def play(self, block: str) -> str:
        """Return a block with what its commands print now."""
        commands = re.findall(r"^\$ (.*(?:\\\n.*)*)", block, re.MULTILINE)
        return "".join(f"$ {command}\n{self.named(self.run(command))}" for command in commands)

    def play_sessions(self, block: str, player: Player) -> str:
        """Return a block of sessions with what the agent is shown now, and what commands print."""
        return "".join(
            f"{match[0]}\n{self.named(textwrap.indent(self.act(*match.groups(), player), _INDENT, lambda _: True))}"
            for match in _ACT.finditer(block)
        )

    def act(self, sign: str, text: str, player: Player) -> str:
        """Do what a line of a session says; return what is shown after it."""
        player.acts += 1
        player.cwd = str(self.folder)
        if sign == "$":
            return self.run(text)
        text, _, more = text.partition("\n")
        failure = "\n".join(line.removeprefix("  | ") for line in more.split("\n"))
        path, _, content = text.partition(": ")
        acts = {"#": player.begin, ">": player.prompt, "<": player.answer, "+": player.command, "%": player.compact}
        if sign in acts:
            shown = acts[sign](f"{text}\n{failure}" if more else text)
        else:
            shown = player.command(text, failure) if sign == "!" else player.write(path, content)
        return shown and shown + "\n"

    def run(self, command: str) -> str:
        real = re.sub(r"\b(?:ID|HASH)\d+\b", lambda match: self.value(match[0]), command)
        typed, pipe, rest = real.partition(" | gitmem ")
        words = shlex.split(f"gitmem {rest}" if pipe else real)
        own = dict(word.split("=", 1) for word in itertools.takewhile(re.compile(r"[A-Z_]+=").match, words))
        if words[len(own)] == "gitmem":
            words, own = words[len(own) :], self.environ | own
        if words[0] == "cd":
            self.folder = Path(os.path.normpath(self.folder / words[1]))
            return ""
        if words[0] == "sleep":
            self._slept += timedelta(seconds=int(words[1]))
            return ""
        if words[0] != "gitmem":
            environ = self.environ
            if self._slept:
                environ = environ | dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), self.now().isoformat())
            done = subprocess.run(
                ["sh", "-c", real], cwd=self.folder, env=environ, capture_output=True, text=True, check=False
            )
            said = done.stdout + done.stderr
            return said + "\n" * bool(said and not said.endswith("\n"))
        stdin: io.TextIOWrapper = Terminal(f"{typed}\n" if pipe else "")
        if "<" in words:
            stdin = io.TextIOWrapper(io.BytesIO((self.folder / words.pop()).read_bytes()), encoding="utf-8")
            words.remove("<")
        out, err = Terminal(), Terminal() if pipe else io.TextIOWrapper(io.BytesIO(), write_through=True)
        code = main(words[1:], lambda: App(own, str(self.folder), stdin, out, err))
        printed = (out.buffer.getvalue() + err.buffer.getvalue()).decode()  # type: ignore[attr-defined]
        return printed.rstrip("\n") + "\n" * bool(printed.strip()) + (f"[exit {int(code)}]\n" if code else "")

    def value(self, name: str) -> str:
        return next(value for value, known in self.names.items() if known == name)

    def named(self, printed: str) -> str:
        def name(match: re.Match[str]) -> str:
            kind, text = str(match.lastgroup), match[0]
            short = next((known for known in self.names if known.startswith(text) or text.startswith(known)), text)
            many = sum(known.startswith(kind) for known in self.names.values())
            return self.names.setdefault(short, f"{kind}{many + 1}")

        printed = printed.replace(str(self.top), "~").replace(self.environ["HOME"], "HOME")
        printed = re.sub(rf'(?<=[ "]){re.escape(machine_name(self.environ["HOME"]))}', "MACHINE", printed)
        printed = _NAMED.sub(name, printed)
        for pattern, word in _CHANGES:
            printed = pattern.sub(word, printed)
        return printed


# Those of two machines and their remote take a second or more each.
_LONG = {
    *("backup", "branch", "by_hand", "history", "machines", "others", "plain_git", "proposed"),
    *("scopes", "two_ends", "undone", "versions"),
}
_PAGES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in _LONG))
    for path in sorted(FOLDER.rglob("*.md"))
]


@pytest.mark.skipif(sys.platform == "win32", reason="transcripts have paths and shells as on POSIX")
@pytest.mark.parametrize("path", _PAGES)
def test_commands_print_what_the_transcript_says(path, tmp_path, home, environ, monkeypatch):
    transcript, text = Transcript(tmp_path, environ), path.read_text(encoding="utf-8")
    monkeypatch.setattr("gitmem.cli.app.now", transcript.now)
    played = _BLOCK.sub(lambda block: transcript.play(block[0]), text)
    if _WRITES:
        path.write_text(played, encoding="utf-8")
    assert played == text


@pytest.mark.skipif(sys.platform == "win32", reason="pages have paths and shells as on POSIX")
@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*.md")), ids=lambda path: path.stem)
def test_sessions_are_shown_what_the_page_says(path, tmp_path, home, environ, initialize, bare_git, monkeypatch):  # noqa: PLR0917
    project = tmp_path / "shop"
    project.mkdir()
    bare_git(project, "init", "-q", "-b", "main")
    initialize(project)
    transcript, text = Transcript(tmp_path, environ), path.read_text(encoding="utf-8")
    transcript.folder = project
    context = Context(transcript.environ, str(home), machine_name(str(home)), now)
    player = Player(World(project / ".gitmem", context), monkeypatch)
    played = _SESSION.sub(lambda block: transcript.play_sessions(block[0], player), text)
    player.end()
    if _WRITES:
        path.write_text(played, encoding="utf-8")
    assert played == text
