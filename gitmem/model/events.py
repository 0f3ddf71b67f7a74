"""Events of an agent's session, and what their tool calls edit and plan, in one form for all hosts.

A call's JSON is not trusted: a field of the wrong type counts as missing, and texts are bounded.

Hosts report an edit in one of four forms: a patch of git or of their own, the text before and after, the whole new
file, or a list of edits. The resulting patch of a write, if reported, is preferred to the call, since a rewritten file
contains many unchanged lines. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from gitmem.platform.machine import datetime
from gitmem.values import Any, Value

Added = tuple[tuple[str, str], ...]  # paths as the call names them, each with the added lines
PLACE = "change `"  # begins an edit's text; one of more than a few lines only names the file
EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch")
PATHS = ("file_path", "notebook_path", "path")
_BEFORE, _AFTER = ("old_string", "old_str"), ("new_string", "new_str", "content", "file_text", "new_source")
_BEGIN, _MOVED = "*** Begin Patch", "*** Move to: "
_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")
_MAX_CHARACTERS = 2_000_000  # of one call; a larger file is generated
_MOST, _LONGEST = 6, 320  # lines and characters of a change that is shown
_REDIRECTS = re.compile(r"(?<![0-9&=-])>(?!\s*/dev/|&)|\btee\s")
_UNTOLD = ".env"  # prefix of a file name whose lines are never shown
_TARGETS = (*PATHS, "url", "pattern", "query", "description")
MAX_TEXT = 200_000  # characters of a prompt or an answer that are kept; the transcript has the rest
MAX_DETAIL = 4_000  # characters of a command or an error
MAX_NAME = 1_000  # characters of an id or a path
# Tools that write a whole plan, and its key in their input: of Codex, Claude Code, OpenCode, Qwen and Gemini.
_PLANS = {"update_plan": "plan", **dict.fromkeys(("TodoWrite", "todowrite", "todo_write", "write_todos"), "todos")}
# gitmem's own tools, as hosts name them: `mcp__gitmem__memory_get`, `gitmem___memory_get`, `gitmem_memory_get`.
OWN_TOOL = r"(?:.*[\W_])?gitmem[\W_]+memory_\w+"
_APPROVED = "ExitPlanMode"  # Claude Code's tool that succeeds when the user accepts a plan
_STATES = ("pending", "in_progress", "completed")
GIVEN_UP = ("cancelled", "deleted")  # of OpenCode and Gemini, Claude Code
_MAX_STEPS = 50
# Lines that begin a step of a plan, the clearest form first: a checkbox, a numbered heading, a number, a dash.
_STEPS = (
    r"^[-*] \[(?P<done>[ xX])\] +(?P<text>.+)",
    r"^#{1,6} +(?:\*\*)?(?:(?:step|phase|task|단계) *)?[0-9]{1,2}(?:단계)?[.):\u2014-]? +(?P<text>.+)",
    r"^(?:\*\*)?[0-9]{1,2}[.)] +(?P<text>.+)",
    r"^[-*] +(?P<text>.+)",
)
_CODE = r"(?ms)^[ \t]*```.*?(?:^[ \t]*```|\Z)"


class HookKind(StrEnum):
    """The kind of an event; the value is the host's own name for it."""

    SESSION_START = "SessionStart"
    PROMPT = "UserPromptSubmit"
    NOTICE = "(notice)"  # in place of a prompt, typed by nobody: begins a turn without a request
    TOOL = "PostToolUse"
    TOOL_FAILED = "PostToolUseFailure"
    WORDS = "(words)"  # only in a transcript: the user's words besides the prompt
    STOP = "Stop"
    SUBAGENT_STOP = "SubagentStop"
    PRE_COMPACT = "PreCompact"
    POST_COMPACT = "PostCompact"
    SESSION_END = "SessionEnd"
    SAID = "(said)"  # only in a transcript: between two tool calls
    INTERRUPTED = "(interrupted)"  # only in a transcript: the user, or the transcript's end, broke the turn off


class WordKind(StrEnum):
    """The place in which a user spoke."""

    PROMPT = "prompt"
    ADDITION = "addition"  # a message sent while the agent works, or a second one of a turn
    ANSWER = "answer"  # to a question of the agent
    REFUSAL = "refusal"  # of a tool call, with or without words
    PLAN = "plan"  # the user's words on accepting a plan
    COMMAND = "command"  # run by the user in the agent, with its output
    COMMENT = "comment"  # after a command of the host: "/compact keep the failing test"
    NOTE = "note"  # a memory shortcut: "# we deploy on Fridays"


class UserWords(Value):
    """A user's words in one place. `about` is the question, refused call or command that they are about.

    A refusal without words has no `text`. The text of a command ends with its output, shortened.
    """

    kind: WordKind
    text: str
    about: str = ""


class HookEvent(Value):
    """One event of a session.

    `turn` is the host's id of the turn ("" if it has none); `text` is the prompt, the last answer, the error, the
    source of a start or the reason of an end; `command` is the command that a tool ran, `target` another argument (a
    file it read, an address), and `files` are the files it changed; `agent` is the subagent ("" for the main one);
    `source` is the name of the event in the spool; `steps` are those that a tool wrote down (`plan_steps`), `changes`
    the lines that it changed, by file, `added` all lines that it added; `words` are the
    user's own besides a prompt: answers to the agent's questions, a refusal, a message sent while the agent works.
    """

    kind: HookKind
    session: str
    at: datetime
    host: str
    cwd: str = ""
    transcript: str = ""
    turn: str = ""
    text: str = ""
    tool: str = ""
    tool_id: str = ""
    command: str = ""
    target: str = ""
    files: tuple[str, ...] = ()
    agent: str = ""
    source: str = ""
    steps: tuple[tuple[str, str, str], ...] = ()
    changes: tuple[str, ...] = ()
    added: Added = ()
    words: tuple[UserWords, ...] = ()


def call_fields(tool: str, asked: object, result: object = None) -> dict[str, Any]:
    """Return the fields of an event that a tool call with this input and this result fills."""
    tool_input: Mapping[str, object] = asked if isinstance(asked, dict) else {}
    edits = edits_of(tool, tool_input)
    return {
        "tool": tool,
        "command": _string(tool_input, "command", MAX_DETAIL),
        "target": _first(tool_input, _TARGETS, MAX_DETAIL),
        "files": changed_files(edits),
        "steps": plan_steps(tool, tool_input, result),
        "changes": shown_changes(edits),
        "added": added_lines(edits, result) if edits else lines_by_shell(tool_input.get("command")),
    }


def plan_steps(tool: str, tool_input: Mapping[str, object], result: object = None) -> tuple[tuple[str, str, str], ...]:
    """Return the plan steps in a call, as text, status and the host's key; () for other tools.

    Most tools give the whole plan, `TaskCreate` one more step. `TaskUpdate` gives what changes in the step of its key:
    "" for what stays, one of `GIVEN_UP` for a step that goes. `result` is the call's result, as the host tells it.
    """
    if tool == "TaskCreate":
        created = _key_of(result)
        return tuple((text, status, created) for text, status, _ in _steps([tool_input], "subject"))
    if tool == "TaskUpdate":
        status, text = _string(tool_input, "status", MAX_NAME), _string(tool_input, "subject", MAX_DETAIL)
        status, key = status if status in {*_STATES, *GIVEN_UP} else "", _string(tool_input, "taskId", MAX_NAME)
        return ((text, status, key),) if key and (text or status) else ()
    if tool == _APPROVED:
        told = result.get("plan") if isinstance(result, dict) else result
        plan = _string(tool_input, "plan") or _string({"plan": told}, "plan")
        return steps_of_plan(plan.rpartition("Approved Plan")[2])
    steps = tool_input.get(_PLANS.get(tool, ""))
    return steps_of_plan(steps) if isinstance(steps, str) else _steps(steps, "content", "step", "description")


def steps_of_plan(plan: str) -> tuple[tuple[str, str, str], ...]:
    """Return the steps of a plan in markdown: its ticked lines, else its numbered headings, numbers or dashes.

    The first form that begins two lines counts, dashes only in a plan without headings; code is skipped.
    """
    lines = re.sub(_CODE, "", plan[:MAX_TEXT]).splitlines()
    headed = any(line.startswith("#") for line in lines)
    for form in _STEPS[:-1] if headed else _STEPS:
        matches = [match for line in lines if (match := re.match(form, line[:MAX_DETAIL], re.IGNORECASE))]
        if len(matches) > 1:
            done = (match.groupdict().get("done") for match in matches)
            texts = (match["text"].replace("**", "").strip(" -:\u2014") for match in matches)
            marks_and_texts = zip(texts, done, strict=True)
            return tuple((text, _STATES[2 * (sign in {"x", "X"})], "") for text, sign in marks_and_texts)[:_MAX_STEPS]
    return ()


def _key_of(result: object) -> str:
    """Return the host's key of a created step, from an object or a sentence ("Task #3 created …")."""
    task = result.get("task") if isinstance(result, dict) else None
    if isinstance(task, dict):
        return str(task.get("id", ""))[:MAX_NAME]
    match = re.match(r"Task #(\w{1,40}) created", result) if isinstance(result, str) else None
    return match[1] if match else ""


def _steps(steps: object, *names: str) -> tuple[tuple[str, str, str], ...]:
    listed = [step for step in steps[:_MAX_STEPS] if isinstance(step, dict)] if isinstance(steps, list) else []
    every = ((_first(step, names, MAX_DETAIL), _string(step, "status")) for step in listed)
    rows = ((text, status) for text, status in every if text and status not in GIVEN_UP)
    return tuple((text, status if status in _STATES else "pending", "") for text, status in rows)


def _string(payload: Mapping[str, object], key: str, limit: int = MAX_TEXT) -> str:
    value = payload.get(key) if key else None
    return value[:limit] if isinstance(value, str) else ""


def _first(mapping: Mapping[str, object], keys: Iterable[str], limit: int = MAX_TEXT) -> str:
    return next(filter(None, (_string(mapping, key, limit) for key in keys)), "")


class Edit(Value):
    """A call's edit of a file, with removed lines after `-` and added ones after `+`.

    `moved` is the new path, or "".
    """

    path: str
    lines: tuple[str, ...] = ()
    moved: str = ""


def edits_of(tool: str, tool_input: Mapping[str, object]) -> list[Edit]:
    """Return the edits of a tool call, one for each file; none for a tool that does not edit."""
    if tool not in EDITORS:
        return []
    patch = _first(tool_input, ("patch", "command"), _MAX_CHARACTERS)
    if _BEGIN in patch:
        return _patched(patch)
    path, edits = _first(tool_input, PATHS, MAX_NAME), tool_input.get("edits")
    listed = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [tool_input]
    pairs = ((_first(edit, _BEFORE, _MAX_CHARACTERS), _first(edit, _AFTER, _MAX_CHARACTERS)) for edit in listed)
    lines = tuple(line for before, after in pairs for line in _differing(before, after))
    return [Edit(path, lines)] if path else []


def changed_files(edits: list[Edit]) -> tuple[str, ...]:
    """Return the files that edits change, as named in the call."""
    return tuple(dict.fromkeys(filter(None, (path for edit in edits for path in (edit.path, edit.moved)))))


def shown_changes(edits: list[Edit]) -> tuple[str, ...]:
    """Return a text for each edit: its lines if they are few, else the file alone."""
    return tuple(_shown(edit) for edit in edits)


def is_place(change: str) -> bool:
    """Return whether the text of an edit only names the file."""
    return change.startswith(PLACE) and change.endswith("`") and change.count("`") == 2  # noqa: PLR2004


def added_lines(edits: list[Edit], result: object = None) -> Added:
    """Return each file with its added lines, joined by line feeds; `result` is the host's report of the call."""
    reported = _from_result(result)
    texts = ((edit.moved or edit.path, reported or _added(edit.lines)) for edit in edits)
    return tuple((path, text[:_MAX_CHARACTERS]) for path, text in texts if text)


def lines_by_shell(command: object) -> Added:
    """Return each file that a shell command writes its own text to, with that text (`files_written`)."""
    if not isinstance(command, str) or not _REDIRECTS.search(command):
        return ()
    from gitmem.model.shell_reader import files_written  # late: a hook parses events, most of them without this

    return tuple((path, text) for path, text in files_written(command[:_MAX_CHARACTERS]) if text)


def _from_result(result: object) -> str:
    """Return the added lines of Claude Code's `structuredPatch`, a list of hunks; "" if there is none."""
    hunks = result.get("structuredPatch") if isinstance(result, dict) else None
    lists = [hunk.get("lines") for hunk in hunks if isinstance(hunk, dict)] if isinstance(hunks, list) else []
    return _added(line for listed in lists if isinstance(listed, list) for line in listed if isinstance(line, str))


def _added(lines: Iterable[str]) -> str:
    return "\n".join(line[1:] for line in lines if line[:1] == "+")


def _patched(patch: str) -> list[Edit]:
    """Return the files of a patch in the form of Codex."""
    edits: list[Edit] = []
    lines: list[list[str]] = []
    for line in patch.splitlines():
        head = next((head for head in _HEADS if line.startswith(head)), "")
        if head:
            edits.append(Edit(line.removeprefix(head).strip()[:MAX_NAME]))
            lines.append([])
        elif edits and line.startswith(_MOVED):
            edits[-1] = edits[-1]._replace(moved=line.removeprefix(_MOVED).strip()[:MAX_NAME])
        elif edits and line[:1] in {"-", "+"}:
            lines[-1].append(line)
    return [edit._replace(lines=tuple(own)) for edit, own in zip(edits, lines, strict=True) if edit.path]


def _differing(before: str, after: str) -> list[str]:
    """Return the differing lines of two versions, without their common beginning and end."""
    old, new = before.splitlines(), after.splitlines()
    least, start, end = min(len(old), len(new)), 0, 0
    while start < least and old[start] == new[start]:
        start += 1
    while end < least - start and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    return [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


def _shown(edit: Edit) -> str:
    place = f"{PLACE}{edit.path}`"
    lines = [f"{line[0]} {line[1:].strip()}" for line in edit.lines if line[1:].strip()]
    text = " ".join(f"`{line.replace('`', chr(39))}`" for line in lines[: _MOST + 1])
    secret = edit.path.replace("\\", "/").rpartition("/")[2].startswith(_UNTOLD)
    return place if secret or not text or len(lines) > _MOST or len(text) > _LONGEST else f"{place}: {text}"
