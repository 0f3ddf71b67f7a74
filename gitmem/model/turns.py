"""Fold the events of sessions into turns (prompt, answer, failures, changed files), and recognize noise. Pure.

A turn lasts from a prompt to the answer that ends it; the host gives it one id. Events may come in any order, twice, or
be missing at either end; the same events always give the same turns. Noise is injected text, commands of the host,
restated boot files and trivial prompts; the host's markers are those of Claude Code 1.0.98 to 2.1.330 and Codex 0.169.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from gitmem.document.ids import TAIL_BYTES, digest, exchange_id, make_id
from gitmem.model.command import has_effect, runs_again, works_now
from gitmem.model.events import OWN_TOOL, Added, HookEvent, HookKind, UserWords, WordKind, edits_of, shown_changes
from gitmem.model.shell_reader import files_written
from gitmem.model.words import INTERRUPTION, noise
from gitmem.platform.machine import datetime
from gitmem.values import Value

BOOT_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "MEMORY.md")

_MAX_TRIVIAL = 60  # characters of a trivial prompt, at most
_WORD = re.compile(r"[^\W_]+")
_SHORT_LINE = 20  # characters; shorter lines occur in many files
_MOSTLY = 0.5


def is_trivial(text: str) -> bool:
    """Return whether a prompt only says "ok" or "continue", in a few words that carry no content."""
    if len(text) > _MAX_TRIVIAL:
        return False
    trivial = {word for words in noise("trivial") for word in words.split()}
    return all(word.casefold() in trivial or word.isdigit() for word in _WORD.findall(text))


def content_lines(texts: Iterable[str]) -> frozenset[str]:
    """Return the lines of boot files long enough to recognize in a text, without markup and in lower case."""
    return frozenset(line for text in texts for line in _plain_lines(text))


def is_restated(text: str, boot_lines: Collection[str]) -> bool:
    """Return whether most of a text comes from the boot files, which the agent loads at every start."""
    lines = _plain_lines(text)
    return bool(lines) and sum(line in boot_lines for line in lines) > _MOSTLY * len(lines)


def _plain_lines(text: str) -> list[str]:
    plain = (" ".join(_WORD.findall(line)).casefold() for line in text.split("\n"))
    return [line for line in plain if len(line) >= _SHORT_LINE]


TWICE_SECONDS = 5.0  # within which a prompt repeated without an id is a second delivery
_AGAIN_SECONDS = 1.0  # within which the same tool call without an id is a second delivery
_MAX_FAILURES = 20  # of a turn: only the last ones are kept
_MAX_SAID = 200  # texts of a turn between its tool calls
# How an MCP server answers arguments that its tool does not take.
_WRONG_ARGUMENTS = (
    r"(?:Error: )?(?:MCP error -32602|Input validation error|Error executing tool \S{1,200}: \d+ validation error)"
)
_MAX_RUNS = 50  # of a turn: only the last ones are kept


class Failure(Value):
    """A failed tool call: its command, its error, and the command that then worked ("" if none).

    `meanwhile` are the edits and effective commands until its command ran again, one per line: the fix, if the command
    then worked. `again`: it failed once more instead.
    `explained` is the fix as the log describes it, for a failure read back from there; `fixed_at` is the time of
    `fixed_by`, None if unknown.
    """

    at: datetime
    tool: str
    command: str
    error: str
    fixed_by: str = ""
    meanwhile: str = ""
    explained: str = ""
    fixed_at: datetime | None = None
    again: bool = False


class Run(Value):
    """A command and its output, if reported: a successful one's is only in transcripts.

    `after` are the edits between the previous command and this one.
    """

    command: str
    said: str
    failed: bool
    after: tuple[str, ...] = ()


class Turn(Value):
    """A prompt, its answer, and the tool calls between them.

    `closed`: it was answered, or the next prompt came; `interrupted`: no answer came; `stopped`: the user broke it off.
    `said` are the agent's texts between its tool calls, known from a transcript; `used` are the tools called, in order.
    `words` are the user's words besides the prompt, in order. `sources` are the names of its events, `logged` is the id
    of the entry that it was read back from, `known` the id under which it was saved in another way (`model.identity`),
    `edits` are those after its last command, `scope` is its part of the project, "" for all of it, `added` are the
    lines of code that its edits added, by file.
    """

    session: str
    host: str
    key: str
    started: datetime
    ended: datetime
    prompt: str = ""
    answer: str = ""
    files: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    tools: int = 0
    closed: bool = False
    cwd: str = ""
    sources: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    said: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    interrupted: bool = False
    stopped: bool = False
    logged: str = ""
    edits: tuple[str, ...] = ()
    scope: str = ""
    added: Added = ()
    words: tuple[UserWords, ...] = ()
    known: str = ""

    @property
    def exchange_id(self) -> str:
        """The id of this turn's exchange."""
        return self.logged or self.known or exchange_id(self.session, self.key)

    def entry_id(self, *what: str) -> str:
        """Return the id of an entry of this turn, independent of the time of capture."""
        return derived_id(self.started, self.session, self.key, *what)


def derived_id(at: datetime, *content: str) -> str:
    """Return an id whose tail is a digest of content and origin (docs/format.md, "Entries")."""
    return make_id(int(at.timestamp() * 1000), digest(*content)[:TAIL_BYTES])


def fold(events: Iterable[HookEvent]) -> list[Turn]:
    """Return the turns of all sessions in these events, in order of their start."""
    sessions: dict[str, _Session] = {}
    for event in sorted(events, key=lambda event: (event.at, _ORDER[event.kind])):
        if event.kind in _OF_TURN:
            sessions.setdefault(event.session, _Session(event.session)).add(event)
    turns = [turn for session in sessions.values() for turn in session.once()]
    return sorted(turns, key=lambda turn: (turn.started, turn.session, turn.key))


_OF_TURN = (
    *(HookKind.PROMPT, HookKind.NOTICE, HookKind.WORDS, HookKind.TOOL, HookKind.TOOL_FAILED),
    *(HookKind.STOP, HookKind.SAID, HookKind.INTERRUPTED),
)
_ORDER = {kind: index for index, kind in enumerate(HookKind)}  # of events at the same moment


def turn_key(event: HookEvent) -> str:
    """Return the key of the turn that an event starts; a digest of the prompt if the host has no turn ids.

    `model.identity` distinguishes turns with the same prompt, and finds those saved under another key.
    """
    return event.turn or f"{NO_ID}{digest(event.text)[:8].hex()}"


NO_ID = "p-"  # prefix of the key of a turn without a host's id


def is_same_turn(first: Turn, second: Turn) -> bool:
    """Return whether two turns of a session are the same: by the host's id, else by their prompt and time."""
    if first.key == second.key:
        return True
    near = abs((first.started - second.started).total_seconds()) <= TWICE_SECONDS
    return near and bool(first.prompt) and first.prompt == second.prompt


class _Session:
    """The turns of one session, built event by event."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: dict[object, datetime] = {}  # when each tool call was last seen, by its id or content
        self._current = ""
        self.turns: dict[str, Turn] = {}

    def add(self, event: HookEvent) -> None:
        key = event.turn or self._current
        if event.kind is HookKind.PROMPT:
            key = self._key_of_prompt(event)
        elif event.kind is HookKind.NOTICE or (event.kind is HookKind.WORDS and not key):
            key = event.turn or f"n-{int(event.at.timestamp() * 1000)}"
        turn = self.turns.get(key)
        if turn is None:
            before = self.turns.get(self._current)
            if before and not event.agent:  # the user sent another prompt, so no answer came
                self.turns[self._current] = before._replace(closed=True)
            turn = Turn(self._name, event.host, key, event.at, event.at, cwd=event.cwd)
        turn = turn._replace(ended=max(turn.ended, event.at), sources=(*turn.sources, event.source))
        if not self._is_again(event):
            turn = _changed(turn, event)
        self.turns[key] = turn
        if not event.agent:
            self._current = key

    def _is_again(self, event: HookEvent) -> bool:
        """Return whether a tool call is delivered again: with the same id, or without one the same call at once."""
        if event.kind not in {HookKind.TOOL, HookKind.TOOL_FAILED}:
            return False
        content = (event.turn, event.agent, event.tool, event.command, event.target, event.files, event.text)
        call = event.tool_id or content
        before = self._calls.get(call)
        self._calls[call] = event.at
        return before is not None and (bool(event.tool_id) or (event.at - before).total_seconds() < _AGAIN_SECONDS)

    def _key_of_prompt(self, event: HookEvent) -> str:
        key = first_key = turn_key(event)
        times = 1
        while not event.turn and (turn := self.turns.get(key)) and turn.closed:
            if (event.at - turn.ended).total_seconds() <= TWICE_SECONDS:
                break
            times += 1
            key = f"{first_key}-{times}"
        return key

    def once(self) -> Iterator[Turn]:
        """Yield the turns, without queued messages that also came as a prompt or command."""
        ran = (words for turn in self.turns.values() for words in turn.words if words.kind is WordKind.COMMAND)
        commands = {words.text.partition("\n")[0] for words in ran}
        prompts = commands | {" ".join(turn.prompt.split()) for turn in self.turns.values()}
        seen: set[str] = set()
        for turn in self.turns.values():
            unheard = []
            for words in turn.words:
                came_again = " ".join(words.text.split()) in prompts or words.text in seen
                if words.kind is WordKind.ADDITION and came_again:
                    continue
                seen.add(words.text)
                unheard.append(words)
            says_nothing = turn.words and not (unheard or turn.prompt or turn.answer or turn.said or turn.tools)
            if not says_nothing or any(turn.sources):  # a hook's events stay in the spool until their turn is saved
                yield turn._replace(words=tuple(unheard))


def _with_words(turn: Turn, words: UserWords) -> Turn:
    """Return a turn with the user's words added once; a command's output joins the command."""
    if not words.text and words.kind is WordKind.COMMAND:
        last = turn.words[-1:] and turn.words[-1]
        if not last or last.kind is not WordKind.COMMAND or last.text.endswith(words.about):
            return turn
        return turn._replace(words=(*turn.words[:-1], last._replace(text=f"{last.text}\n{words.about}")))
    return turn if words in turn.words else turn._replace(words=(*turn.words, words))


def _changed(turn: Turn, event: HookEvent) -> Turn:
    """Return a turn with one more event."""
    for words in event.words:
        turn = _with_words(turn, words)
    match event.kind:
        case HookKind.PROMPT if not turn.prompt:
            turn = turn._replace(prompt=event.text, started=min(turn.started, event.at))
        case HookKind.PROMPT if event.text != turn.prompt:  # a second message of a turn
            turn = _with_words(turn, UserWords(WordKind.ADDITION, event.text))
        case HookKind.STOP:
            turn = turn._replace(answer=event.text or turn.answer, closed=True, interrupted=False, stopped=False)
        case HookKind.SAID:
            turn = turn._replace(said=(*turn.said, event.text)[-_MAX_SAID:])
        case HookKind.INTERRUPTED:
            is_user = event.text.startswith(INTERRUPTION)  # else the transcript ends in a tool call
            turn = turn._replace(interrupted=True, stopped=is_user, closed=True)
        case HookKind.TOOL | HookKind.TOOL_FAILED:
            turn = _called(turn, event)
    return turn


def _called(turn: Turn, event: HookEvent) -> Turn:
    """Return a turn with one more tool call."""
    files, failed = turn.files, event.kind is HookKind.TOOL_FAILED
    if failed and _says_nothing(event):
        failures = turn.failures
    elif failed:
        failure = Failure(event.at, event.tool, _what(event) or _call(event), event.text)
        failures = (*(_failed_again(failure, event) for failure in turn.failures), failure)[-_MAX_FAILURES:]
    else:
        files = tuple(dict.fromkeys((*turn.files, *event.files)))
        failures = tuple(_after(failure, event) for failure in turn.failures)
    added = turn.added if failed and not event.command else (*turn.added, *event.added)  # a later part may have failed
    used = (*turn.used, event.tool)
    called = turn._replace(files=files, failures=failures, tools=turn.tools + 1, used=used, added=added)
    if not event.command:
        return called._replace(edits=(*turn.edits, *event.changes)[-_MAX_RUNS:])
    run = Run(event.command, event.text, failed, turn.edits)
    return called._replace(runs=(*turn.runs, run)[-_MAX_RUNS:], edits=())


def _says_nothing(event: HookEvent) -> bool:
    """Return whether a failed call is no error of the project: gitmem's own tool, or arguments of a wrong form."""
    is_misused = not event.command and re.match(_WRONG_ARGUMENTS, event.text)
    return bool(is_misused or re.fullmatch(OWN_TOOL, event.tool))


def _after(failure: Failure, event: HookEvent) -> Failure:
    """Return a failure updated by a later success."""
    if failure.fixed_by:
        return failure
    if _is_retry(failure, event):
        return failure._replace(fixed_by=_what(event), fixed_at=event.at)
    return failure if failure.again else _with_changes(failure, event.changes or effect_of(event.command))


def _failed_again(failure: Failure, event: HookEvent) -> Failure:
    """Return a failure updated by a later one."""
    if failure.again or failure.fixed_by:
        return failure
    ran = failure.tool == event.tool and bool(event.command) and runs_again(failure.command, event.command)
    if not (ran or _is_retry(failure, event)):
        return _with_changes(failure, effect_of(event.command.rpartition("&&")[0]))  # maybe only the end failed
    return failure._replace(again=True)


def _with_changes(failure: Failure, changes: Iterable[str]) -> Failure:
    """Return a failure with later changes added."""
    return failure._replace(meanwhile="\n".join(filter(None, (failure.meanwhile, *changes))))


def effect_of(command: str) -> tuple[str, ...]:
    """Return a command on one line if it may affect others, else the edit of the file it writes, if any."""
    if command and has_effect(command):
        return (" ".join(command.split()),)
    path, text = next(files_written(command), ("", ""))
    return shown_changes(edits_of("Write", {"path": path, "content": text}))


def _what(event: HookEvent) -> str:
    return event.command or " ".join(event.files)


def _call(event: HookEvent) -> str:
    return f"{event.tool} {event.target}".strip()


def _is_retry(failure: Failure, event: HookEvent) -> bool:
    """Return whether a tool call repeats the failed one: the same command, or the same file."""
    if failure.tool != event.tool:
        return False
    if event.command:
        return works_now(failure.command, event.command, event.text)
    return failure.command in {_what(event), _call(event)}


def program(command: str) -> str:
    """Return the program of a command line, with its subcommand; `cd` and assignments are skipped."""
    last = command.rpartition("&&")[2].strip()
    words = [word for word in last.split() if "=" not in word[:40] or word.startswith("-")]
    named = [word for word in words[:3] if not word.startswith("-")]
    return " ".join(named[:2]) if len(named) > 1 and named[1].isalnum() else " ".join(named[:1])
