"""The surroundings of a command: streams, environment, folder, clock, store, and the arguments that several share."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping

from gitmem.cli.arguments import MOST_BYTES, Args, text_of
from gitmem.errors import GitmemError, NotFoundError, StoreNotFoundError, UnfinishedError
from gitmem.platform.machine import Context, machine_name, now
from gitmem.store.acceptance import no_store
from gitmem.store.locate import find_store, is_store, user_store
from gitmem.store.store import Store
from gitmem.text.terminal import fenced, harmless, json_text, painted, plain, styled, wrapped
from gitmem.values import Any, TextIO, Value

OWN = ""  # the source of an answer that needs no fence
_MAX_CHARACTERS = 400_000  # of a command's output, at most
_MAX_BYTES = 4 * _MAX_CHARACTERS + 1
# The variables with the session of the agent that started a command or server.
SESSIONS = ("CLAUDE_CODE_SESSION_ID", "QWEN_CODE_SESSION_ID", "GEMINI_SESSION_ID")
# More variables that an agent sets for the commands it runs, as seen with the real ones (tests/e2e/test_states.py).
AGENTS = (
    *("CLAUDECODE", "CODEX_CI", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "KILO", "AGENT"),
    *("COPILOT_CLI", "FACTORY_DISABLE_SETTINGS_PERSISTENCE", "PI_SESSION_ID", "CLINE_CONNECTOR_CLI_LAUNCH"),
    *("CURSOR_AGENT", "CURSOR_VERSION"),  # as documented
)


class App(Value):
    """Environment, current folder, streams and arguments of a command, and its ways to answer."""

    environ: Mapping[str, str]
    cwd: str
    stdin: TextIO
    out: TextIO
    err: TextIO
    pages: bool = True
    args: Args = Args()

    def harmless(self) -> App:
        """Return this app with streams that escape all control characters except ASCII's.

        Commands colour lines with ASCII's; `plain` removes those from text that was read.
        """
        return self._replace(out=_Harmless(self.out), err=_Harmless(self.err))

    def home(self) -> str:
        """Return the user's home folder."""
        return self.environ.get("HOME") or os.path.expanduser("~")

    def context(self) -> Context:
        """Return the surroundings a store works in."""
        return Context(self.environ, self.home(), machine_name(self.home(), make=not self.read_only), now)

    @property
    def read_only(self) -> bool:
        """Whether the environment forbids recording (`gitmem.store.store.Store.read_only`)."""
        return self.environ.get("GITMEM_READONLY", "0") not in {"", "0"}

    def folder(self) -> str:
        """Return the folder that the command works in. Raises NotFoundError if there is no such folder."""
        if self.args.directory is None:
            gone = self.environ.get("PWD", self.cwd)
            if self.cwd == os.sep and not os.path.isdir(gone):  # as `real_app` has it
                raise NotFoundError(
                    f"The current folder, {gone}, is gone.", "Change to another one, or give one by -C."
                )
            return self.cwd
        folder = os.path.join(self.cwd, os.path.expanduser(self.args.directory))
        if not os.path.isdir(folder):
            from gitmem.platform.barred import barred

            raise barred(folder) or NotFoundError(f"There is no folder {folder}.", "-C takes the folder to work in.")
        return folder

    def path(self, name: str) -> str:
        """Return the absolute path that an argument names. Raises as `folder`."""
        return os.path.abspath(os.path.join(self.folder(), os.path.expanduser(name)))

    def find(self) -> str:
        """Return the work tree of the command's store. Raises StoreNotFoundError if there is none."""
        if self.args.user:
            folder = user_store(self.home())
            if is_store(folder):
                return folder
            raise StoreNotFoundError(f"You have no store of your own at {folder}.", "'gitmem init --user' makes one.")
        start = self.folder()
        store = find_store(start, self.home())
        if store is None:
            raise no_store(start, self.home(), self.environ)
        return store

    def open(self) -> Store:
        """Return the command's store without committing or repairing anything."""
        from gitmem.purge.unfinished import finish_purge

        store = Store(self.find(), self.context())
        store.folder = self.folder()
        if self.args.private:
            from gitmem.store.layers import store_for_session

            store = store_for_session(store, "", private=True)
        return finish_purge(store)

    def settled(self, *, read: bool = True) -> Store:
        """Commit the spool, repair what a crash left, and return the command's store.

        If that fails (busy, read-only, a merge in progress), stderr has the reason; the store can be read. A command
        that reads no tree passes `read=False`, since an unaccepted store may have endless trees.
        """
        store = self.open()
        if not store.may_write():  # it is read-only
            from gitmem.sync.clone import check_untrusted

            check_untrusted(store, read=read)
            return store
        from gitmem.store.known_facts import are_edited, notice_edits

        notice_edits(store)
        try:
            arrived = are_edited(store)
            if store.is_behind():
                from gitmem.record.save import drain

                arrived = arrived or store.tip != store.recorded_checkout()
                self.notices(tuple(drain(store).notices))
            hooks = os.path.join(store.spool.folder, "hooks")
            if os.path.isdir(hooks) and os.listdir(hooks):
                from gitmem.background import process_spool

                self.notices(tuple(process_spool(store)))
            if arrived:  # by a user's editor or git
                from gitmem.record.fact_edits import compare_arrivals

                compare_arrivals(store)
        except UnfinishedError as error:  # not logged, since the state itself shows it
            self.notices((error.sentences,))
        except GitmemError as error:
            from gitmem.store.findings import FailureLog, LoggedFailure

            FailureLog(store.private).record(
                LoggedFailure(now(), f"{self.args.command}, saving first what waited", error.message)
            )
            self.notices((error.sentences,))
        return store

    def read_output(self, name: str | None) -> str:
        """Return the text of a file, of standard input for "-", "" for None; raises NotFoundError."""
        if name is None:
            return ""
        try:
            if name == "-":
                data = self.stdin.buffer.read(_MAX_BYTES)
            else:
                with open(self.path(name), "rb") as file:
                    data = file.read(_MAX_BYTES)
            return data.decode("utf-8", "replace")[: _MAX_CHARACTERS + 1]
        except OSError as error:
            raise NotFoundError(f"{name} cannot be read: {error.strerror}.", "Name a file, or - for input.") from None

    def rotated(self, archive: str) -> str:
        """Return the line about a rotation: a sentence for a user, or the mark that starts an agent's skill."""
        if not self.for_agent():
            return f"memory.md was full: all it held is in {archive} now, and summed up below summaries/."
        return f"[GITMEM_ROTATE] file={archive}"

    def answer(self, value: object, text: str, source: str | None = None, *, aside: Iterable[str] = ()) -> None:
        """Print `value` as JSON with `--json`, else `text`; for an agent in a fence that names the source.

        The source defaults to the command; `OWN` adds no fence: the words are gitmem's own, or are fenced already.
        Lines `aside` go to stderr, except with `--json`.
        """
        cleans, paints = source != OWN and not self.out.isatty(), self.colour()
        if self.args.json or cleans or paints:
            if self.args.json:
                print(json_text(value, indent=2), file=self.out)
                return
            text = plain(text) if cleans else text
            text = fenced(text, source or self.args.command) if cleans and self.for_agent() else text
            text = painted(text) if paints else text
        if text:
            self.write(text)
        self.notices(tuple(filter(None, aside)))

    def write(self, text: str, *, wrap: bool = True) -> None:
        """Print a text; on a terminal wrap it, and use a pager if it is longer than the screen."""
        size = self.screen(self.out)
        if size is None:
            print(text, file=self.out)
            return
        text = _fitted(text, size) if wrap else text
        pager = self._pager() if self.pages and text.count("\n") >= size.lines > 0 else ""
        if not pager:
            print(text, file=self.out)
            return
        self.out.flush()
        options = "" if "LESS" in self.environ or os.name != "posix" else "LESS=FRX "
        command = options + pager  # run by a shell, as git runs it
        with contextlib.suppress(BrokenPipeError), os.popen(command, "w") as pipe:  # noqa: S605  # quit before the end
            pipe.write(f"{text}\n")

    def say(self, text: str) -> None:
        """Print a text on stderr, wrapped on a terminal."""
        print(_fitted(text, self.screen(self.err)), file=self.err)

    def screen(self, stream: TextIO) -> os.terminal_size | None:
        """Return the size of a stream's terminal, None if it has none."""
        try:
            return os.get_terminal_size(stream.fileno())
        except (OSError, ValueError, AttributeError):
            return None

    def _pager(self) -> str:
        """Return git's pager, by the environment and the user's settings, never the project's; "" for none."""
        from gitmem.git.process import git_without_repository

        pager = self.environ.get("GIT_PAGER")
        if pager is None:
            asked = git_without_repository(self.environ, user_config=True).run("config", "core.pager", ok=(0, 1))
            pager = asked.decode("utf-8", "replace").strip() or self.environ.get("PAGER", "less")
        return "" if pager.strip() == "cat" or self.environ.get("TERM") == "dumb" else pager

    def notices(self, notices: tuple[str, ...]) -> None:
        """Print notices on stderr."""
        for notice in notices:
            self.say(f"gitmem: {plain(notice)}")

    def waiting(self) -> contextlib.AbstractContextManager[object]:
        """Show a user at a terminal, after a second, what a saving command is doing."""
        if not self.err.isatty():
            return contextlib.nullcontext()
        from gitmem.cli.progress import Progress

        return Progress(self.err, "committing what you edited, and this")

    def typed(self) -> str:
        """Return the text on stdin, as `typed_bytes` does. Raises as `text_of`."""
        return text_of(self.typed_bytes(MOST_BYTES))

    def typed_bytes(self, most: int) -> bytes:
        """Return at most `most` bytes of stdin; at a terminal, print how to end the input."""
        if self.stdin.isatty():
            print("gitmem: reading the text from the terminal; end it with Ctrl-D.", file=self.err)
        return self.stdin.buffer.read(most)

    def session(self) -> str:
        """Return the agent session in which this command runs, "" if unknown."""
        return next((self.environ[name] for name in SESSIONS if self.environ.get(name)), "")

    def for_agent(self) -> bool:
        """Return whether an agent reads the output, by `--for-agent` or its environment, and it is no terminal."""
        named = getattr(self.args, "for_agent", False) or any(self.environ.get(name) for name in (*SESSIONS, *AGENTS))
        return bool(named) and not self.out.isatty()

    def undo_hint(self, commits: Iterable[str | None], several: str = "") -> str:
        """Return the end of a report's line on how to undo a small change; "" for an agent or without a change.

        `several` is the command for several commits.
        """
        made = [commit[:10] for commit in commits if commit]
        undo = several if several and len(made) > 1 else f"undo {', then '.join(made[::-1])}"
        return f" (undo: gitmem {undo})" if made and not self.for_agent() else ""

    def can_ask(self) -> bool:
        """Return whether a user is at a terminal to answer a question."""
        return self.stdin.isatty() and self.err.isatty()

    def ask(self, question: str, *, usual: bool = False) -> bool | None:
        """Ask a user a yes-or-no question; an empty line is the `usual` answer, the end of the input None."""
        prompt = _fitted(f"{question} [{'Y/n' if usual else 'y/N'}] ", self.screen(self.err))
        print(prompt, end="", file=self.err, flush=True)
        line = self.stdin.readline()
        return (line.strip().casefold() or "ny"[usual]) in {"y", "yes"} if line else None

    def colour(self, stream: TextIO | None = None) -> bool:
        """Return whether to use colour: on a terminal, unless the user refuses it (https://no-color.org)."""
        refused = self.environ.get("NO_COLOR") or self.environ.get("TERM") == "dumb"
        return (stream or self.out).isatty() and not refused

    def styled(self, style: str, text: str) -> str:
        """Return a text in one of the `STYLES` of gitmem.text.terminal, or unchanged if no colour is used."""
        if not self.colour():
            return text

        return styled(style, text)


def _fitted(text: str, size: os.terminal_size | None) -> str:
    if size is None or not size.columns:
        return text

    return wrapped(text, size.columns)


class _Harmless:
    """A text stream that writes its text through `gitmem.text.terminal.harmless`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not text.isascii() or "\x7f" in text:
            text = harmless(text)
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise GitmemError(not_printed(error)) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def not_printed(error: OSError) -> str:
    """Return why an output could not be written, as on a full disk."""
    return f"The output could not be written: {error.strerror}."


def real_app() -> App:
    """Return the app of this process; its output is UTF-8 in any locale and accepts every character."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        cwd = os.getcwd()
    except FileNotFoundError:  # the folder was removed under us
        cwd = os.sep
    return App(dict(os.environ), cwd, sys.stdin, sys.stdout, sys.stderr)  # a copy: `os.environ` decodes each access
