"""A transcript as the events its hooks would have delivered, with its own times (spec J3, J7)."""

from __future__ import annotations

from gitmem.model.session.events import MAX_DETAIL, MAX_TEXT, HookEvent, HookKind, changed_files, target_of
from gitmem.model.session.noise import human_text
from gitmem.model.session.transcript import Record, Role

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo


_SAID = 500  # characters of the output of a command that worked


def hook_events(parts: Iterable[Record], zone: tzinfo | None, host: str = "claude-code") -> Iterator[HookEvent]:
    """Yield the prompts, tool uses and last answers of a transcript, times in `zone` (None: this machine's)."""
    calls: dict[str, Record] = {}
    answer: Record | None = None
    turn = ""
    for part in parts:
        if part.role is Role.USER and not part.sidechain and not part.injected and human_text(part.text):
            if answer is not None:
                yield _event(HookKind.STOP, answer, turn, zone, host, text=answer.text[:MAX_TEXT])
                answer = None
            turn = part.turn or turn
            yield _event(HookKind.PROMPT, part, turn, zone, host, text=part.text[:MAX_TEXT])
        elif part.role is Role.ASSISTANT and not part.sidechain and part.text.strip():
            answer = part
        elif part.role is Role.CALL:
            calls[part.tool_id] = part
            answer = answer if part.sidechain else None  # text before it was no answer yet
        elif part.role is Role.RESULT:
            call = calls.pop(part.tool_id, None)
            if call is not None:
                yield from _tool(call, part, turn, zone, host)
    if answer is not None:
        yield _event(HookKind.STOP, answer, turn, zone, host, text=answer.text[:MAX_TEXT])


def _tool(call: Record, result: Record, turn: str, zone: tzinfo | None, host: str) -> Iterator[HookEvent]:
    given = call.input or {}
    command = given.get("command")
    event = _event(HookKind.TOOL_FAILED if result.failed else HookKind.TOOL, result, turn, zone, host)
    said = result.text[-_SAID:] if isinstance(command, str) else ""  # the result of a command is at its end
    yield event._replace(
        text=result.text[:MAX_DETAIL] if result.failed else said,
        tool=call.tool,
        tool_id=call.tool_id,
        command=command[:MAX_DETAIL] if isinstance(command, str) else "",
        target=target_of(given),
        files=changed_files(call.tool, given),
        agent="sidechain" if call.sidechain else "",
    )


def _event(kind: HookKind, part: Record, turn: str, zone: tzinfo | None, host: str, *, text: str = "") -> HookEvent:
    at = part.at.astimezone(zone)
    return HookEvent(kind, part.session, at, host, cwd=part.cwd, turn=turn, text=text)
