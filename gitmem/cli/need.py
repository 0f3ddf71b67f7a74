"""Answer a prompt with memories of its subject, and an error with the fix that once mended it (spec M4).

Where this is slow or fails it prints nothing, and the host goes on without it.

Tested through `tests/cli/commands/test_hook.py` and `tests/memory/guide/test_feedback.py`.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from gitmem.errors import GitmemError
    from gitmem.store.spool.hooks import HookSpool
    from gitmem.store.store import Store

PROMPT, ERROR = "UserPromptSubmit", "PostToolUseFailure"


def tell(
    store: Store, out: TextIO, name: str, payload: dict[str, object], answer: Callable[[str], dict[str, object]]
) -> None:
    """Print memory's answer to an event, if any; `name` is gitmem's name of it, `answer` makes the host's form."""
    text = _text(store, name, payload)
    reply = answer(text) if text else {}
    if reply:
        print(json.dumps(reply, ensure_ascii=False), file=out, flush=True)


def follow_settings(store: Store, spool: HookSpool) -> None:
    """Tell hooks/hook.sh which events need no answer."""
    spool.silence(PROMPT, silent=not store.config.recall.prompt)
    spool.silence(ERROR, silent=not store.config.recall.error)


def _text(store: Store, name: str, payload: dict[str, object]) -> str:
    session = payload.get("session_id")
    text = payload.get("prompt" if name == PROMPT else "error")
    if not isinstance(text, str) or not isinstance(session, str) or payload.get("is_interrupt") is True:
        return ""
    if name == PROMPT and store.config.recall.prompt:
        from gitmem.memory.guide.prompt import tell_prompt

        return tell_prompt(store, session, text)
    if name == ERROR and store.config.recall.error:
        from gitmem.memory.guide.mend import tell_error

        given = payload.get("tool_input")
        command = given.get("command") if isinstance(given, dict) else ""
        return tell_error(store, session, text, command if isinstance(command, str) else "")
    return ""


def tell_refused(out: TextIO, host: str, payload: Mapping[str, object], error: GitmemError) -> None:
    """Tell a session that starts that its store is refused, so that nothing of it is recorded, and what to run."""
    from gitmem.hosts.all import find_host
    from gitmem.text.fence import FENCE, cannot_close
    from gitmem.text.terminal import plain

    agent = find_host(host)
    if not agent.tells_later("SessionStart"):
        said = cannot_close(plain(f"gitmem records nothing of this session. {error.message} {error.remedy}"))
        answer = agent.answer(str(payload.get("hook_event_name")), f"<{FENCE}>\n{said}\n</{FENCE}>")
        print(json.dumps(answer, ensure_ascii=False), file=out)
