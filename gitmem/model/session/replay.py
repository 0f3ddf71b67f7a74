"""A transcript as the events its hooks would have delivered, with its own times (spec J3, J7)."""

from __future__ import annotations

from gitmem.model.session.changes import changes_of
from gitmem.model.session.events import MAX_DETAIL, MAX_TEXT, HookEvent, HookKind, changed_files, plan_steps, target_of
from gitmem.model.session.noise import INTERRUPTION, human_text
from gitmem.model.session.transcript import Record, Role

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo


_SAID = 500  # characters of the output of a command that worked


def hook_events(parts: Iterable[Record], zone: tzinfo | None, host: str = "claude-code") -> Iterator[HookEvent]:
    """Yield the prompts, tool uses, words and last answers of a transcript, times in `zone` (None: this machine's)."""
    calls: dict[str, Record] = {}
    last: Record | None = None  # the agent's last text, perhaps its answer
    called = False  # a tool, after it
    turn = ""

    def said(kind: HookKind) -> Iterator[HookEvent]:
        if last is not None:
            yield _event(kind, last, turn, zone, host, text=last.text[:MAX_TEXT])

    for part in parts:
        if part.role is Role.USER and not part.sidechain and (kind := _said_by_person(part)):
            yield from said(HookKind.STOP) if not called or kind is HookKind.INTERRUPTED else ()
            last, called = None, False
            turn = (part.turn if kind is HookKind.PROMPT else "") or turn
            yield _event(kind, part, turn, zone, host, text=part.text[:MAX_TEXT])
        elif part.role is Role.ASSISTANT and not part.sidechain and part.text.strip():
            yield from () if called else said(HookKind.SAID)
            last, called = part, False
        elif part.role is Role.CALL:
            calls[part.tool_id] = part
            if not part.sidechain:  # text before it was no answer, unless the turn is broken off
                yield from () if called else said(HookKind.SAID)
                called = True
        elif part.role is Role.RESULT and (call := calls.pop(part.tool_id, None)) is not None:
            yield from _tool(call, part, turn, zone, host)
    yield from said(HookKind.STOP)
    yield from said(HookKind.INTERRUPTED) if called else ()


def _said_by_person(part: Record) -> HookKind | None:
    """Return whether a person prompted or interrupted the agent; None for injected text."""
    if part.text.startswith(INTERRUPTION):
        return HookKind.INTERRUPTED
    return HookKind.PROMPT if not part.injected and human_text(part.text) else None


def _tool(call: Record, result: Record, turn: str, zone: tzinfo | None, host: str) -> Iterator[HookEvent]:
    given = call.input or {}
    command = given.get("command")
    event = _event(HookKind.TOOL_FAILED if result.failed else HookKind.TOOL, result, turn, zone, host)
    output = result.text[-_SAID:] if isinstance(command, str) else ""  # the result of a command is at its end
    yield event._replace(
        text=result.text[:MAX_DETAIL] if result.failed else output,
        tool=call.tool,
        tool_id=call.tool_id,
        command=command[:MAX_DETAIL] if isinstance(command, str) else "",
        target=target_of(given),
        files=changed_files(call.tool, given),
        steps=plan_steps(call.tool, given, result.text),
        changes=() if result.failed else changes_of(call.tool, given),
        agent="sidechain" if call.sidechain else "",
    )


def _event(kind: HookKind, part: Record, turn: str, zone: tzinfo | None, host: str, *, text: str = "") -> HookEvent:
    at = part.at.astimezone(zone)
    return HookEvent(kind, part.session, at, host, cwd=part.cwd, turn=turn, text=text)
