"""Answer a prompt with memories of its subject, and an error with the fix that once mended it (spec M4).

Where this is slow or fails it prints nothing, and the host goes on without it. Apart from `cli.host`, as each event
waits for what it imports.
"""

from __future__ import annotations

import json
from functools import partial

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from gitmem.errors import GitmemError
    from gitmem.store.hook_spool import HookSpool
    from gitmem.store.store import Store

PROMPT, ERROR = "UserPromptSubmit", "PostToolUseFailure"


def follow_settings(store: Store, spool: HookSpool) -> None:
    """Tell hooks/hook.sh which events need no answer."""
    spool.set_silent(PROMPT, silent=not store.config.recall.prompt)
    spool.set_silent(ERROR, silent=not store.config.recall.error)


def help_for(store: Store, name: str, payload: dict[str, object]) -> str:
    """Return memories of the prompt of an event and what fixed its error before; `name` is gitmem's name of it."""
    session, prompt, error = (payload.get(key) for key in ("session_id", "prompt", "error"))
    if not isinstance(session, str) or payload.get("is_interrupt") is True:
        return ""
    texts = []
    if isinstance(prompt, str) and prompt and store.config.recall.prompt:
        from gitmem.lessons.prompt import tell_prompt

        texts.append(tell_prompt(store, session, prompt))
    if name == ERROR and isinstance(error, str) and store.config.recall.error:
        from gitmem.lessons.fix import tell_error

        given = payload.get("tool_input")
        command = given.get("command") if isinstance(given, dict) else ""
        texts.append(tell_error(store, session, error, command if isinstance(command, str) else ""))
    return "\n\n".join(filter(None, texts))


def tell(out: TextIO, answer: Callable[[str], dict[str, object]], text: str) -> None:
    """Print a text in the host's form, which `answer` makes, if there is any."""
    reply = answer(text) if text else {}
    if reply:
        print(json.dumps(reply, ensure_ascii=False), file=out, flush=True)


def tell_refused(out: TextIO, host: str, payload: Mapping[str, object], error: GitmemError) -> None:
    """Tell a session that starts that its store is refused, so that nothing of it is recorded, and what to run."""
    from gitmem.hosts.all import find_host
    from gitmem.text.fence import fenced
    from gitmem.text.terminal import plain

    agent = find_host(host)
    if not agent.tells_later("SessionStart"):
        said = plain(f"gitmem records nothing of this session. {error.sentences}")
        event = str(payload.get("hook_event_name"))
        tell(out, partial(agent.answer, event), fenced(said, "start"))
