"""Answer a prompt with memories of its subject, an error with its mend (spec M4), and a person with a sign of use.

Where this is slow or fails it prints nothing, and the host goes on without it. Apart from `cli.host`, as each event
waits for what it imports.
"""

from __future__ import annotations

import json
from functools import partial

from gitmem.store.locate import has_home_stores

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from gitmem.errors import GitmemError
    from gitmem.store.spool import HookSpool
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

        texts.append(_first_told(store, lambda one: tell_prompt(one, session, prompt)))
    if name == ERROR and isinstance(error, str) and store.config.recall.error:
        from gitmem.lessons.fix import tell_error

        given = payload.get("tool_input")
        command = given.get("command") if isinstance(given, dict) else ""
        said = command if isinstance(command, str) else ""
        texts.append(_first_told(store, lambda one: tell_error(one, session, error, said)))
    return "\n\n".join(filter(None, texts))


def _first_told(store: Store, tell_from: Callable[[Store], str]) -> str:
    """Return what is told from a store, else from what is private to its project on this machine."""
    text = tell_from(store)
    if text or not has_home_stores(store.context.home):
        return text
    from gitmem.store.layers import private_store

    private = private_store(store)
    return tell_from(private) if private else ""


def tell(
    out: TextIO, answer: Callable[[str], dict[str, object]], text: str, more: Mapping[str, object] | None = None
) -> None:
    """Print a text in the host's form, which `answer` makes, and `more` of the answer, if there is any."""
    reply = {**(answer(text) if text else {}), **(more or {})}
    if reply:
        print(json.dumps(reply, ensure_ascii=False), file=out, flush=True)


def tell_refused(out: TextIO, host: str, payload: Mapping[str, object], error: GitmemError) -> None:
    """Tell a session that starts that its store is refused, so that nothing of it is recorded, and what to run."""
    from gitmem.hosts.host import find_host
    from gitmem.text.fence import fenced
    from gitmem.text.terminal import plain

    agent = find_host(host)
    if not agent.tells_later("SessionStart"):
        said = plain(f"gitmem records nothing of this session. {error.sentences}")
        event = str(payload.get("hook_event_name"))
        tell(out, partial(agent.answer, event), fenced(said, "start"))
