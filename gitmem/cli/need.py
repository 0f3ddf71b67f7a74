"""Tell an agent what it needs at this moment: what its prompt speaks of, what mended the error it has (spec M4).

Whatever is slow or fails here says nothing: the host goes on without it.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from gitmem.store.spool.hooks import HookSpool
    from gitmem.store.store import Store

PROMPT, ERROR = "UserPromptSubmit", "PostToolUseFailure"


def tell(
    store: Store, out: TextIO, name: str, payload: dict[str, object], answer: Callable[[str], dict[str, object]]
) -> None:
    """Print the answer to an event if memory has one; `name` is gitmem's name of it, `answer` gives the host's form."""
    text = _text(store, name, payload)
    told = answer(text) if text else {}
    if told:
        print(json.dumps(told, ensure_ascii=False), file=out, flush=True)


def follow_settings(store: Store, spool: HookSpool) -> None:
    """Tell the script that runs at events which of them are not to be answered (hooks/hook.sh)."""
    spool.silence(PROMPT, silent=not store.config.recall.prompt)
    spool.silence(ERROR, silent=not store.config.recall.error)


def _text(store: Store, name: str, payload: dict[str, object]) -> str:
    session = payload.get("session_id")
    said = payload.get("prompt" if name == PROMPT else "error")
    if not isinstance(said, str) or not isinstance(session, str) or payload.get("is_interrupt") is True:
        return ""
    if name == PROMPT and store.config.recall.prompt:
        from gitmem.memory.guide.prompt import tell_prompt

        return tell_prompt(store, session, said)
    if name == ERROR and store.config.recall.error:
        from gitmem.memory.guide.mend import tell_error

        return tell_error(store, session, said)
    return ""
