"""Answer a prompt with related memories, an error with its fix, and show the user a line about that.

If this is slow or fails, it prints nothing and the host continues. An agent requests a status line after each answer,
so `gitmem.__main__` calls `tell_sign` without a parser, and this imports little.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial

from gitmem.errors import GitmemError
from gitmem.platform.safe_open import write_text
from gitmem.store.acceptance import NotAcceptedError, accepted_folder
from gitmem.store.locate import find_store, has_home_stores
from gitmem.values import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from gitmem.store.store import Store

PROMPT, ERROR = "UserPromptSubmit", "PostToolUseFailure"


def help_for(store: Store, name: str, payload: dict[str, object]) -> str:
    """Return memories related to an event's prompt, and the earlier fix of its error; `name` is gitmem's event name."""
    from gitmem.hosts.host import text_of  # late: a status line needs none

    session, prompt, error = (text_of(payload, key) for key in ("session_id", "prompt", "error"))
    if "session_id" not in payload or payload.get("is_interrupt") is True:
        return ""
    texts = []
    if prompt and store.config.recall.prompt:
        from gitmem.tell.prompt import tell_prompt

        texts.append(_first_told(store, lambda memory: tell_prompt(memory, session, prompt)))
    if name == ERROR and error and store.config.recall.error:
        from gitmem.tell.known_errors import tell_error

        command = text_of(payload, "tool_input", "command")
        texts.append(_first_told(store, lambda memory: tell_error(memory, session, error, command)))
    return "\n\n".join(filter(None, texts))


_KEPT = (
    "gitmem: this prompt is recorded all the same. <private>…</private> around words keeps them out, "
    "'gitmem pause 1h' keeps out all, and 'gitmem purge TEXT' removes what was said"
)


def said_kept(store: Store, name: str, payload: dict[str, object]) -> str:
    """For a prompt that asks not to be remembered, return that it is recorded and how to prevent that; else ""."""
    from gitmem.hosts.host import text_of
    from gitmem.store.layers import mode_words
    from gitmem.text.words import phrases

    prompt = text_of(payload, "prompt") if name == PROMPT else ""
    asks = bool(prompt) and phrases("unkept").match(prompt) is not None
    return _KEPT if asks and not mode_words(store, text_of(payload, "session_id")).startswith("paused") else ""


def _first_told(store: Store, tell_from: Callable[[Store], str]) -> str:
    """Return the text from the store, or if empty from the project's private store."""
    text = tell_from(store)
    if text or not has_home_stores(store.context.home):
        return text
    from gitmem.store.layers import private_store

    private = private_store(store)
    return tell_from(private) if private else ""


def tell(
    out: TextIO, answer: Callable[[str], dict[str, object]], text: str, more: Mapping[str, object] | None = None
) -> None:
    """Print a text in the host's form, made by `answer`, merged with `more`; nothing if both are empty."""
    import json  # late: a status line needs none

    reply = {**(answer(text) if text else {}), **(more or {})}
    if reply:
        print(json.dumps(reply, ensure_ascii=False), file=out, flush=True)


def tell_refused(out: TextIO, host: str, payload: Mapping[str, object], error: GitmemError) -> None:
    """Show a starting session that its store is refused, that nothing is recorded, and what to run."""
    from gitmem.hosts.registry import find_host
    from gitmem.text.terminal import fenced, plain

    agent = find_host(host)
    if not agent.answers_late("SessionStart"):
        message = plain(f"gitmem records nothing of this session. {error.sentences}")
        event = str(payload.get("hook_event_name"))
        tell(out, partial(agent.answer, event), fenced(message, "start"))


SIGN = "sign"  # file of the private folder


def sign_of_use(store: Store, ids: Collection[str], text: str, session: str = "", *, recorded: bool) -> str:
    """Return the line about what a session was shown, and store it for status lines."""
    from gitmem.document.ids import is_fact_id
    from gitmem.store.layers import mode_words
    from gitmem.tell.start import LEARNED
    from gitmem.text.sentences import count
    from gitmem.text.words import estimate_tokens

    kinds = [identifier[0] for identifier in {*ids} if is_fact_id(identifier)]
    counts = {"decision": kinds.count("d"), "open issue": kinds.count("i")}
    rest = len(kinds) - sum(counts.values())
    counts["other fact" if any(counts.values()) else "fact"] = rest
    shown = ", ".join(count(number, what) for what, number in counts.items() if number) or "the last work"
    line = f"gitmem: {shown} shown ({estimate_tokens(text):,} tokens)" if text else "gitmem: nothing to show"
    mode = mode_words(store, session) or "recording"
    line += f"; {mode}" if recorded else "; NOT recording: 'gitmem doctor' says why"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        write_text(os.path.join(store.private, SIGN), line)
        learned = os.path.join(store.private, LEARNED)
        with open(learned, encoding="utf-8") as last:
            line += f". {last.read().strip()}"
        os.unlink(learned)
    return line


NOWHERE = "gitmem: nothing is recorded here"  # as in hooks/hook.sh
NOT_YET = "gitmem: no session is recorded here yet"


def tell_sign(folder: str) -> None:
    """Print the line of the project of a folder, or of the JSON on stdin, if its store is accepted; as hook.sh does."""
    with contextlib.suppress(GitmemError, OSError, ValueError, AttributeError, TypeError):
        payload = "" if sys.stdin.isatty() else sys.stdin.read()
        print(_sign_of(os.path.join(folder, _named(payload) if payload else "")))


def _sign_of(folder: str) -> str:
    """Return the line that the last start stored for a folder, or that nothing is recorded."""
    home = os.environ.get("HOME") or os.path.expanduser("~")
    root = find_store(folder, home)
    if root is None:
        return NOWHERE
    try:
        private = accepted_folder(root, os.environ, home)
    except NotAcceptedError:
        return f"{NOWHERE} until you say yes to this memory: gitmem trust"
    with contextlib.suppress(OSError), open(os.path.join(private, SIGN), encoding="utf-8") as file:
        line = file.read()
        return line if line.startswith("gitmem:") and line.isprintable() else NOT_YET
    return NOT_YET


def _named(payload: str) -> str:
    """Return the folder in an agent's request, "" if it has none."""
    folder, closed, _ = payload.partition('"workspace":{')[2].partition('"project_dir":"')[2].partition('"')
    if closed and "\\" not in folder:  # as in hooks/hook.sh
        return folder
    import json

    event = json.loads(payload)
    return (event.get("workspace") or {}).get("project_dir") or event.get("cwd") or ""
