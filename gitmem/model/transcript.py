"""Read a host's transcript tolerantly (docs/format.md, "Transcripts").

The format is the host's own and changes with every version, so any part may be missing: a line that is no JSON, two
objects on a line or a record of an unknown kind never prevent reading the rest. This module reads Claude Code's JSON
lines (seen from 1.0.98 to 2.1.330); other hosts bring a reader (gitmem.hosts).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from gitmem.model.events import MAX_DETAIL, MAX_TEXT, OWN_TOOL, HookEvent, HookKind, UserWords, WordKind, call_fields
from gitmem.model.words import INTERRUPTION, human_text, is_from_user, understood, with_words, words_in
from gitmem.platform.machine import UTC, datetime
from gitmem.values import Value

Reader = Callable[[dict[str, object], "Record"], Iterator["Record"]]


MAX_LINE = 16 * 1024 * 1024  # characters, three times a picture; a longer line is read in pieces
_BETWEEN = " \t\r\n\ufeff"  # characters around objects
_TRIES = 50  # positions of a damaged line at which an object is looked for
_DECODER = json.JSONDecoder(strict=False)
_BEFORE_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = range(1970, 9999)  # a `datetime` at the limits of its range cannot change its time zone


class Role(StrEnum):
    """The author of a part of a transcript."""

    USER = "user"
    ASSISTANT = "assistant"
    CALL = "call"
    RESULT = "result"
    SUMMARY = "summary"
    ABOUT = "about"  # not a part: sets the session, folder and turn of the parts after it


class Record(Value):
    """One part of a transcript.

    `text` is a message or a tool's result; `turn` is the host's id of the turn, else of the record; `input` are a
    tool's arguments; `injected`: neither a user nor a model wrote it; `sidechain`: a subagent wrote it.
    `vouched` is whether the host says that the user wrote it, None if it does not say; `words` are the user's words
    besides a prompt; `data` is a result in the host's structured form; `agent` is the subagent of a `sidechain`.
    `tokens` is the size of the context in use, if the host reports it.
    """

    role: Role
    at: datetime
    session: str
    text: str = ""
    turn: str = ""
    tool: str = ""
    tool_id: str = ""
    input: dict[str, object] | None = None
    failed: bool = False
    injected: bool = False
    sidechain: bool = False
    cwd: str = ""
    model: str = ""
    tokens: int = 0
    vouched: bool | None = None
    words: tuple[UserWords, ...] = ()
    data: object = None
    agent: str = ""

    def call(self, tool: str, key: str, arguments: object) -> Record:
        """Return a tool call based on this record; arguments that are no JSON object are ignored."""
        return self._replace(
            role=Role.CALL, tool=tool, tool_id=key, input=arguments if isinstance(arguments, dict) else {}
        )

    def result(self, text: str, key: str, *, failed: bool) -> Record:
        """Return the result of the call with this key."""
        return self._replace(role=Role.RESULT, text=text, tool_id=key, failed=failed)


class Unread:
    """Counts the lines of a transcript that are not JSON objects from end to end."""

    def __init__(self) -> None:
        self.lines = 0
        self._damaged = self._goes_on = False

    def damage(self) -> None:
        """Count the current line as unreadable."""
        self._damaged = True

    def end(self, line: str) -> None:
        """End the current line; an overlong one comes in pieces, of which only the last has a line end."""
        self.lines += self._damaged and not self._goes_on
        self._goes_on = self._damaged and not line.endswith("\n")
        self._damaged = False


def records(lines: Iterable[str], unread: Unread | None = None, read: Reader | None = None) -> Iterator[Record]:
    """Yield the parts of a transcript in order; a missing time is that of the record before.

    `read` yields the parts of a JSON object, given a record with its time, session and folder; without it, the form is
    Claude Code's. Unreadable lines are skipped; `unread` counts them.
    """
    base = Record(Role.ABOUT, _BEFORE_TIME, "")
    unread, read = unread or Unread(), read or _claude
    for line in lines:
        for item in objects(line, unread.damage):
            at, session = _time(item.get("timestamp")) or base.at, _string(item, "sessionId") or base.session
            base = base._replace(at=at, session=session)
            for part in read(item, base):
                if part.role is Role.ABOUT:
                    base = part
                else:
                    yield part
        unread.end(line)


def objects(line: str, damage: Callable[[], object] = bool) -> Iterator[dict[str, object]]:
    """Yield the JSON objects on a line, skipping damaged parts and calling `damage` for each."""
    if len(line) > MAX_LINE:
        damage()
        return
    end, tries, begins = 0, 0, "{"
    while tries < _TRIES and (position := line.find(begins, end)) >= 0:
        if line[end:position].strip(_BETWEEN):
            damage()
        try:
            item, end = _DECODER.raw_decode(line, position)
        except (ValueError, RecursionError):
            damage()
            end, tries, begins = position + 1, tries + 1, '{"'
            continue
        begins = "{"
        if isinstance(item, dict):
            yield item
    if line[end:].strip(_BETWEEN):
        damage()


def _claude(item: dict[str, object], base: Record) -> Iterator[Record]:
    kind, message = _string(item, "type"), item.get("message")
    if kind in {"queue-operation", "attachment"}:
        yield from _queued(item, base)
        return
    if kind == "progress":  # a subagent's record, in older versions
        data = item.get("data")
        inner = data.get("message") if isinstance(data, dict) else None
        if isinstance(data, dict) and isinstance(inner, dict) and isinstance(inner.get("message"), dict):
            yield from _claude({**inner, "isSidechain": True, "agentId": data.get("agentId")}, base)
        return
    if kind not in {"user", "assistant"} or not isinstance(message, dict):
        return
    vouched = is_from_user(item)
    base = base._replace(
        role=Role.USER if kind == "user" else Role.ASSISTANT,
        turn=_string(item, "promptId"),
        injected=vouched is False or message.get("model") == _SYNTHETIC,
        vouched=vouched,
        sidechain=item.get("isSidechain") is True,
        agent=_string(item, "agentId"),
        cwd=_string(item, "cwd") or base.cwd,
        model=_string(message, "model"),
        tokens=_tokens(message.get("usage")),
        data=item.get("toolUseResult"),
    )
    if item.get("isCompactSummary") is True:
        yield base._replace(role=Role.SUMMARY, text=content_text(message.get("content")), injected=True)
        return
    content = message.get("content")
    answers = isinstance(content, list) and any(isinstance(item, dict) and item.get("tool_use_id") for item in content)
    for part in blocks(content, base):
        yield _beside_result(part) if answers and part.role is Role.USER else part


def _beside_result(part: Record) -> Record:
    """Return a text in the same message as a tool's result as the user's words on accepting the call."""
    words = None if part.injected or part.text.startswith(INTERRUPTION) else words_in(part.text)
    is_said = words is not None and words.kind is WordKind.PROMPT
    return part._replace(words=(words._replace(kind=WordKind.ADDITION),)) if words and is_said else part


_SYNTHETIC = "<synthetic>"  # the model named in texts that the host writes for the agent


def _queued(item: dict[str, object], base: Record) -> Iterator[Record]:
    """Yield a message that the user sent while the agent worked, from the queue or as passed to the agent.

    A queued message that becomes a prompt is also recorded as one; `turns.fold` keeps it once.
    """
    attached = item.get("attachment")
    if isinstance(attached, dict):
        is_queued, data, text = attached.get("type") == "queued_command", attached, content_text(attached.get("prompt"))
        mode = attached.get("commandMode")
    else:
        is_queued, data, text, mode = item.get("operation") == "enqueue", item, _string(item, "content"), None
    text = f"<bash-input>{text}</bash-input>" if mode == "bash" else text
    is_queued = is_queued and mode in {None, "prompt", "bash"} and is_from_user(data) is not False
    words = words_in(text) if is_queued else None
    if words is not None:
        words = words._replace(kind=WordKind.ADDITION) if words.kind is WordKind.PROMPT else words
        yield base._replace(role=Role.USER, text=words.text, words=(words,), sidechain=item.get("isSidechain") is True)


def blocks(content: object, base: Record) -> Iterator[Record]:
    """Yield the texts, calls and results of a message (a text or Anthropic's blocks) as records based on `base`."""
    if isinstance(content, str):
        yield base._replace(text=content)
    for block in content if isinstance(content, list) else ():
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and _string(block, "text"):
            yield base._replace(text=_string(block, "text"))
        elif kind == "tool_use":
            yield base.call(_string(block, "name"), _string(block, "id"), block.get("input"))
        elif kind == "tool_result":
            text, failed = content_text(block.get("content")), block.get("is_error") is True
            yield base.result(text, _string(block, "tool_use_id"), failed=failed)


def content_text(content: object) -> str:
    """Return the text of a message or a result: a string, or the texts among its blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(text for block in blocks if isinstance(block, dict) and (text := _string(block, "text")))


def _tokens(usage: object) -> int:
    if not isinstance(usage, dict):
        return 0
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    values = (usage.get(name) for name in names)
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at if at.year in _YEARS else None


def _string(item: dict[str, object], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


_MAX_INPUT = 2_000  # characters of one argument of a tool


def l1_lines(parts: Iterable[Record], result_chars: int, clean: Callable[[str], str] = str) -> Iterator[str]:
    """Yield a transcript's lines for L1, without injected text; tool results are cut to `result_chars` characters.

    Results of gitmem's own tools are left out, as the memory has them already. `clean` removes secrets from a text
    before it is truncated, so that none is cut in two and missed.
    """
    own: set[str] = set()
    for part in parts:
        if part.role is Role.CALL and re.fullmatch(OWN_TOOL, part.tool):
            own.add(part.tool_id)
        if part.injected and part.role is not Role.SUMMARY:
            continue
        head = {"at": part.at.isoformat(timespec="milliseconds"), "role": part.role.value}
        if part.sidechain:
            head["agent"] = part.agent or "sub"
        try:
            recalled = part.role is Role.RESULT and part.tool_id in own
            content = _said(part._replace(text="") if recalled else part, result_chars, clean)
            line = json.dumps({**head, **content}, ensure_ascii=False) if content else ""
        except RecursionError:  # parsed, but nested too deeply for this recursion
            continue
        if line:
            yield line


def _said(part: Record, result_chars: int, clean: Callable[[str], str]) -> dict[str, object]:
    if part.role is Role.CALL:
        fields = {key: _short(value, _MAX_INPUT, clean) for key, value in (part.input or {}).items()}
        return {"tool": part.tool, "id": part.tool_id, "input": fields}
    if part.role is Role.RESULT:
        said: dict[str, object] = {"id": part.tool_id, "text": _short(human_text(part.text), result_chars, clean)}
        return {**said, "failed": True} if part.failed else said
    words = part.words or (words_in(part.text),) if part.role is Role.USER else ()
    text = "\n".join(word.text or word.about for word in words if word) if words else part.text.strip()
    text = human_text(part.text) if part.role is Role.USER and part.sidechain else text
    return {"text": text} if text else {}


def _short(value: object, limit: int, clean: Callable[[str], str]) -> object:
    """Return a value truncated; a text keeps its beginning and end, with the number of characters left out."""
    if isinstance(value, int | float | bool) or value is None:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= limit or (isinstance(value, str) and len(clean(text)) <= limit):
        return value if len(text) <= limit else clean(text)
    text, head = clean(text), limit * 2 // 3
    return f"{text[:head]}\n… {len(text) - limit:,} characters left out …\n{text[len(text) - limit + head :]}"


_SAID = 500  # characters of the output of a command that worked


def hook_events(parts: Iterable[Record], host: str = "claude-code") -> Iterator[HookEvent]:
    """Yield the prompts, tool uses, words and last answers of a transcript, with the times of this machine's zone."""
    calls: dict[str, Record] = {}
    last: Record | None = None  # the agent's last text, which may be its answer
    called = False  # whether a tool was called after it
    turn = ""
    is_own = False  # whether some records are not a subagent's: its own transcript is read with the session's

    def said(kind: HookKind) -> Iterator[HookEvent]:
        if last is not None:
            yield _event(kind, last, turn, host, text=last.text[:MAX_TEXT])

    for part in parts:
        is_own = is_own or not part.sidechain
        if part.role is Role.USER and not part.sidechain:
            event = _user_event(part, turn, host)
            if event is None or (event.kind is HookKind.NOTICE and not event.words and (last is None or called)):
                continue  # in the middle of a turn that continues
            if event.kind is not HookKind.WORDS:
                yield from said(HookKind.STOP) if not called or event.kind is HookKind.INTERRUPTED else ()
                last, called = None, False
                turn = turn if event.kind is HookKind.INTERRUPTED else part.turn
            yield event
        elif part.role is Role.ASSISTANT and not part.sidechain and not part.injected and part.text.strip():
            yield from () if called else said(HookKind.SAID)
            last, called = part, False
        elif part.role is Role.CALL:
            calls[part.tool_id] = part
            # The text before it was no answer, unless the turn is broken off.
            yield from () if called or part.sidechain else said(HookKind.SAID)
            called = called or not part.sidechain
        elif part.role is Role.RESULT and (call := calls.pop(part.tool_id, None)) is not None and is_own:
            yield _tool(call, part, turn, host)
    yield from said(HookKind.STOP)
    yield from said(HookKind.INTERRUPTED) if called else ()


def _user_event(part: Record, turn: str, host: str) -> HookEvent | None:
    """Return a text in the user's place as an event: a prompt, other words of theirs, an interruption, or a notice.

    None for a text that the host added to a turn.
    """
    if part.words:
        return _event(HookKind.WORDS, part, turn, host)._replace(words=part.words)
    if part.text.startswith(INTERRUPTION):
        return _event(HookKind.INTERRUPTED, part, turn, host, text=part.text[:MAX_TEXT])
    event = _event(HookKind.PROMPT, part, part.turn, host, text=part.text[:MAX_TEXT])
    event = understood(event, vouched=False if part.injected else part.vouched)
    if event.kind is HookKind.WORDS:
        return event._replace(turn=turn)
    return event if event.kind is HookKind.PROMPT or event.words or _starts_turn(part) else None


_CONTEXT = ("<system-reminder", "<local-command", "<command-", "<ide_", "<user-prompt-submit-hook")


def _starts_turn(part: Record) -> bool:
    """Return whether a text of the host, such as a notice that a task ended, makes the agent answer."""
    text = part.text.lstrip()
    return text.startswith(("<", "[")) and not text.startswith(_CONTEXT)


def _tool(call: Record, result: Record, turn: str, host: str) -> HookEvent:
    turn = (result.turn if result.sidechain else "") or turn
    event = _event(HookKind.TOOL_FAILED if result.failed else HookKind.TOOL, result, turn, host)
    event = event._replace(tool_id=call.tool_id, **call_fields(call.tool, call.input, result.text))
    event = with_words(event, call.input, result.data, result.text)
    if event.kind is not HookKind.WORDS:
        output = result.text[-_SAID:] if event.command else ""  # the end of an output has the result
        event = event._replace(
            text=result.text[:MAX_DETAIL] if result.failed else output,
            changes=() if result.failed else event.changes,
            agent=(call.agent or "sidechain") if call.sidechain else "",
        )
    return event


def _event(kind: HookKind, part: Record, turn: str, host: str, *, text: str = "") -> HookEvent:
    at = part.at.astimezone()
    return HookEvent(kind, part.session, at, host, cwd=part.cwd, turn=turn, text=text)
