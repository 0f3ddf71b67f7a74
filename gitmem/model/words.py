"""Extract a user's words from each place where they speak, and decide who wrote a text in their place. Pure.

`words_in` decides for every door and host: the prompt of a hook, a record of a transcript, a queued message. What the
host reports about a text comes first (`is_from_user`, and the readers of `gitmem.hosts`). If it reports nothing, a text
is the host's if it begins with an element, a banner or a template that nobody types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from gitmem.model.events import HookEvent, HookKind, UserWords, WordKind
from gitmem.platform.machine import table
from gitmem.text.terminal import FENCE

INTERRUPTION = "[Request interrupted by user"
_ARROW = " → "
_MAX_ABOUT = 300  # characters of a question or a call
_MAX_OUTPUT = 500  # of a command that the user ran


def render_words(words: UserWords) -> str:
    """Render words for the daily log; `parse_words` reads them back."""
    about = f"{words.about}{_ARROW}" if words.about else ""
    return f"[{words.kind.value}] {about}{words.text}".rstrip()


def parse_words(text: str) -> UserWords:
    """Return the words in a part of the daily log; those of an unknown form count as an addition."""
    match = re.match(r"\[(\w+)\] ?", text)
    if match is None or match[1] not in set(WordKind):
        return UserWords(WordKind.ADDITION, text)
    rest, about = text[match.end() :], ""
    kind = WordKind(match[1])
    if kind in _WITH_ABOUT:
        before, arrow, after = rest.partition(_ARROW)
        about, rest = (before, after) if arrow else (rest.removesuffix(_ARROW.rstrip()).rstrip(), "")
    return UserWords(kind, rest.strip("\n "), about)


_WITH_ABOUT = (WordKind.ANSWER, WordKind.REFUSAL, WordKind.COMMENT)


def about_line(text: str) -> str:
    """Return a question or a call for `about`: on one line, shortened, without an arrow."""
    line = " ".join(text.split()).replace("→", "->")
    return line if len(line) <= _MAX_ABOUT else f"{line[:_MAX_ABOUT].rstrip()}…"


# Who wrote a text


def understood(event: HookEvent, *, vouched: bool | None = None) -> HookEvent:
    """Return a prompt's event with the user's part, or a notice. `vouched`: whether the host says a user wrote it."""
    words = words_in(event.text) if vouched is not False else None
    if words is None and vouched and human_text(event.text):
        words = UserWords(WordKind.PROMPT, human_text(event.text))
    if words is None:
        return event._replace(kind=HookKind.NOTICE, text="", words=plan_feedback(event.text))
    if words.kind is WordKind.PROMPT:
        return event._replace(text=words.text)
    return event._replace(kind=HookKind.WORDS, words=(words,), text="")


def with_words(event: HookEvent, asked: object, result: object, text: str) -> HookEvent:
    """Return a tool's event with the user's words in its result: answers to questions; of a refused call, the refusal.

    `result` is the host's structured result, `text` what the agent was shown.
    """
    if event.kind is HookKind.TOOL and event.tool in QUESTIONS:
        return event._replace(words=answers_in(asked if isinstance(asked, dict) else {}, result, text))
    if not event.tool or event.kind is not HookKind.TOOL_FAILED:  # a command's output is never a refusal
        return event
    refused = refusal_in(text, f"{event.tool} {event.command or event.target}")
    return event if refused is None else event._replace(kind=HookKind.WORDS, text="", words=refused)


def is_from_user(fields: Mapping[str, object]) -> bool | None:
    """Return whether a host's record or payload says that the user wrote its text; None if it does not say.

    An unknown kind of origin is not the user.
    """
    if any(fields.get(mark) is True for mark in _NOT_TYPED) or any(fields.get(mark) for mark in _WOKEN):
        return False
    origin, source = fields.get("origin"), fields.get("promptSource")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    if kind is not None and kind != "unclassified":
        return kind in _USERS
    return source in _USERS if isinstance(source, str) else None


_NOT_TYPED = ("isMeta", "isVisibleInTranscriptOnly", "isVirtual", "isSynthetic", "textNotTyped")
_WOKEN = ("scheduledTaskId", "wakeupSource")  # fields of a prompt that a timer or wake-up sent
_USERS = ("human", "user", "typed", "queued", "suggestion_accepted", "sdk")


def words_in(text: str) -> UserWords | None:
    """Return the user's words in a text in the user's place, None if nobody typed it."""
    if command := _element(text, "bash-input"):
        return UserWords(WordKind.COMMAND, command)
    if text.lstrip().startswith(("<bash-stdout>", "<bash-stderr>")):
        printed = "\n".join(filter(None, (_element(text, name) for name in ("bash-stdout", "bash-stderr"))))
        return UserWords(WordKind.COMMAND, "", _shortened(printed)) if printed else None
    if ran := _element(text, "user_shell_command"):  # of Codex
        printed = _shortened(_element(ran, "result"))
        return UserWords(WordKind.COMMAND, "\n".join(filter(None, (_element(ran, "command"), printed))))
    if note := _element(text, "user-memory-input"):
        return UserWords(WordKind.NOTE, note)
    name, comment = _element(text, "command-name"), _element(text, "command-args")
    if not name and text.startswith("/"):  # as queued, or as another host writes it
        name, _, comment = text.partition(" ")
    if name.strip() in noise("host_command"):
        comment = comment.strip()
        return UserWords(WordKind.COMMENT, comment, name.strip()) if len(comment.split()) > 1 else None
    typed = human_text(text)
    return UserWords(WordKind.PROMPT, typed) if typed and not _is_unsaid(typed) else None


def user_text(text: str) -> str:
    """Return the user's own part of a prompt, or ""."""
    words = words_in(text)
    return words.text if words is not None and words.kind is WordKind.PROMPT else ""


def _element(text: str, name: str) -> str:
    """Return the text of the first element of this name, "" if there is none."""
    _, opened, rest = text.partition(f"<{name}>")
    inner, closed, _ = rest.partition(f"</{name}>")
    return inner.strip() if opened and closed else ""


def _shortened(printed: str) -> str:
    if len(printed) <= _MAX_OUTPUT:
        return printed
    return f"{printed[: _MAX_OUTPUT // 2].rstrip()}\n[…]\n{printed[-_MAX_OUTPUT // 2 :].lstrip()}"


_TAGS = ("<command-name>", "</command-name>", "<command-args>", "</command-args>")
_OPENING = re.compile(r"<(?P<name>[A-Za-z][\w.:-]*+)(?P<attributes>[^<>\n]*+)>(?P<rest>[^\n]*)")
# A first line of a program: in brackets with three words in capitals, or two and a number; in capitals between rules or
# before a colon; marks of chat templates; and the output of a hook.
_PROGRAM = (
    r"(?:automat\w+|auto-\w+|injected|scheduled|cron|webhook|heartbeat|notifications?|hook"
    r"|system (?:message|not(?:ice|e)|reminder|event|alert|prompt)|(?:background|teammate|subagent) \w+|not user)\b"
)
_LOUD = r"(?:SYSTEM|INTERNAL|AUTOMAT\w*|INJECTED|SCHEDULED|NOTI\w+|NOT USER|REMINDER)\b"
_BANNER = re.compile(
    rf"[^\w\[<(\n]*\[(?=[^\]\n]*\s)(?:[^\]\n]*\b(?i:{_PROGRAM})"
    rf"|\[*(?:[A-Z][^a-z\]\n]*\b)?{_LOUD}|[A-Z]+(?: [A-Z]+){{2}}|[A-Z]+(?: [A-Z]+)+ [^a-z\]\n]*[0-9])"
    rf"|[=*#~_\u2500-\u257f-]{{2,}} *(?:[A-Z]+ )*{_LOUD}[^a-z\n]*[=*#~_\u2500-\u257f-]{{2,}} *$"
    rf"|[^\w\[<(\n]*(?=[A-Z]+ [A-Z])(?:[A-Z]+ )*{_LOUD}[A-Z /-]*(?:[:(\u2014]|$)"
    r"|[^\w\[<(\n]*(?:Automated|System) (?:message|notification|reminder|notice)(?: from [^:\n]*)?(?::|$)"
    r"|<\||(?:<<|\{\{|\[\[) *(?i:system|notif)|\w+(?::\S+)? hook (?:additional context|success|[a-z ]*error|feedback):",
    re.MULTILINE,
)
_IN_EDITOR, _REQUEST = "# Context from my IDE setup:", "## My request for Codex:"


def human_text(text: str) -> str:
    """Return a text without additions of hosts and hooks: the part of a prompt that somebody wrote."""
    if any(f"<command-name>{name}</command-name>" in text for name in noise("host_command")):
        return ""
    if text.startswith(_IN_EDITOR):  # of Codex: the editor's content precedes the request
        text = text.partition(_REQUEST)[2]
    text = without_elements(text, (FENCE, *noise("element")))
    for tag in _TAGS:  # the user's own command: its name and arguments
        text = text.replace(tag, " ")
    text = text.strip()
    return "" if text.startswith((INTERRUPTION, *noise("not_said"))) else text


def _is_unsaid(text: str) -> bool:
    """Return whether a text begins as nobody types: with a banner, or an element that is not HTML."""
    match = _OPENING.match(text)
    if match is None:
        return _BANNER.match(text) is not None
    name = match["name"]
    if name.casefold() in _markup() or (name[0].isupper() and name.isalnum()):  # HTML, or a component of a page
        return False
    is_closed = f"</{name}>" in text or match["attributes"].endswith("/")
    return is_closed or bool(match["attributes"].strip()) or not match["rest"].strip()


@cache
def noise(kind: str) -> tuple[str, ...]:
    """Return the words of a kind in `noise.tsv`."""
    return tuple(row[1] for row in table("noise.tsv") if row[0] == kind)


@cache
def _markup() -> frozenset[str]:
    return frozenset(name for names in noise("markup") for name in names.split())


def without_elements(text: str, names: Iterable[str]) -> str:
    """Return a text without these elements; an unclosed one reaches to the end."""
    for name in names:
        opening, closing = f"<{name}", f"</{name}>"
        start = text.find(opening)
        while start >= 0:
            after = text[start + len(opening) : start + len(opening) + 1]
            if after and after not in "> \t\r\n/":  # a longer name with this prefix
                start = text.find(opening, start + 1)
                continue
            end = text.find(closing, start)
            text = text[:start] + (text[end + len(closing) :] if end >= 0 else "")
            start = text.find(opening, start)
    return text


# Words in the results of tools

QUESTIONS = ("AskUserQuestion", "ask_user", "question", "request_user_input", "ask_followup_question")
RULE_MET = "This call does what a rule of"  # begins gitmem's own refusal
_DENIED = "Permission for this tool use was denied."  # the user's refusal only if it quotes their words
_REFUSED = ("The user doesn't want to ", "User rejected", "The user rejected", _DENIED)
# How hosts report that a hook, a setting or a missing answer prevented a call.
_BLOCKED = (
    rf"(?:.{{0,200}}: )?{RULE_MET}|PreToolUse:\S{{1,100}} hook |Hook PreToolUse:\S{{1,100}} denied|"
    r"Command blocked by PreToolUse hook|Tool execution blocked|"
    r"Permission to use .{1,400} (?:has been|was) denied|Claude requested permissions? to "
)
_SAID = r"(?i)the user said:|user feedback:"
_HINT = "\n\nNote: The user's next message may contain"  # of the host, to the agent
_TALKS = r"(?s)The user (?:wants|has indicated)\b.*?\bQuestions asked\b"
_PAIR = r'"(?P<question>[^"\n]+)"="(?P<answer>[^"]*)"(?: (?:user )?notes: (?P<notes>[^\n]*?)(?=\. You can|, "|\n|$))?'
_PICKED = (
    r'(?s)(?:"(?P<answer>.*?)"|\(no option selected\))(?: selected preview:\n.*?)?'
    r"(?: (?:user )?notes: (?P<notes>.*?))?,? ?"
)
_GOES_ON = r"(?s)\. (?:You can now\b|Read the answers |They also wrote|Call \w+ again).*\Z"
_RESPONSE = r'(?s)\AThe user responded: (?P<all>.+)|They also wrote: "(?P<also>.+)"\. Call '
_ASKED = (
    r'(?m)^- "(?P<question>.+)"\n +(?:Answer: (?P<answer>.+)|\(No answer provided\))(?:\n +User notes: (?P<notes>.+))?'
)


def answers_in(tool_input: Mapping[str, object], result: object, text: str = "") -> tuple[UserWords, ...]:
    """Return the user's answers to the questions of a call, from its structured result, else its text."""
    fields: Mapping[str, object] = result if isinstance(result, dict) else {}
    output = text or (result if isinstance(result, str) else "")
    options, asked = dict(_options_of(tool_input)), _asked(tool_input)
    pairs = _structured(fields) or list(_pairs_in(output, options))
    free = fields.get("response") or ((match := re.search(_RESPONSE, output)) and (match["all"] or match["also"]))
    answers = [
        UserWords(WordKind.ANSWER, answer, _question(asked.get(question, question), options))
        for question, value, notes in pairs
        if (answer := _with_notes(_answer(value), notes))
    ]
    if isinstance(free, str) and free.strip():
        answers.append(UserWords(WordKind.ANSWER, free.strip(), about_line(" ".join(options))))
    return tuple(answers)


def _structured(result: Mapping[str, object]) -> list[tuple[str, object, object]]:
    """Return each question with its answer and notes, from a structured result."""
    answers, notes = result.get("answers"), result.get("annotations")
    answers, notes = answers if isinstance(answers, dict) else {}, notes if isinstance(notes, dict) else {}
    keys = [key for key in dict.fromkeys((*answers, *notes)) if isinstance(key, str)]
    return [
        (key, answers.get(key), note.get("notes") if isinstance(note := notes.get(key), dict) else None) for key in keys
    ]


def _pairs_in(text: str, questions: Iterable[str]) -> Iterator[tuple[str, object, object]]:
    """Yield each question with its answer and notes, from a result's text."""
    places = sorted((place, question) for question in questions if (place := text.find(f'"{question}"=')) >= 0)
    ends = [*(place for place, _ in places), len(text)][1:]
    for (place, question), end in zip(places, ends, strict=False):
        picked = re.fullmatch(_PICKED, re.sub(_GOES_ON, "", text[place + len(question) + 3 : end]))
        if picked:
            yield question, picked["answer"], picked["notes"]
    for match in () if places else re.finditer(_PAIR, text):
        yield match["question"], match["answer"], match["notes"]


def _asked(tool_input: Mapping[str, object]) -> dict[str, str]:
    """Return the questions of a call by their ids and indexes, under which some hosts list the answers."""
    listed = tool_input.get("questions")
    questions = [item for item in (listed if isinstance(listed, list) else ()) if isinstance(item, dict)]
    pairs = (
        (key, item.get("question")) for place, item in enumerate(questions) for key in (item.get("id"), str(place))
    )
    return {key: question for key, question in pairs if isinstance(key, str) and isinstance(question, str)}


def _answer(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(item for item in value if isinstance(item, str)).strip()
    return value.strip() if isinstance(value, str) else ""


def _with_notes(answer: str, notes: object) -> str:
    return f"{answer}\n{notes.strip()}".strip() if isinstance(notes, str) and notes.strip() else answer


def _question(question: str, options: Mapping[str, str]) -> str:
    labels = options.get(question, "")
    return about_line(f"{question} ({labels})" if labels else question)


def _options_of(tool_input: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each question of a call with its options on one line."""
    listed = tool_input.get("questions")
    for entry in listed if isinstance(listed, list) else ():
        question, options = (entry.get("question"), entry.get("options")) if isinstance(entry, dict) else ("", ())
        labels = (item.get("label") if isinstance(item, dict) else item for item in options or ())
        if isinstance(question, str):
            yield question, " | ".join(label for label in labels if isinstance(label, str))


def refusal_in(text: str, about: str) -> tuple[UserWords, ...] | None:
    """Return the user's refusal of a call, with their words, from its result; None if it is no refusal.

    () is a refusal by a hook or the host. A refusal of questions, to discuss them first, includes the answers so far.
    """
    message = text.removeprefix("Error: ")
    if not message.startswith(_REFUSED):
        return () if re.match(_BLOCKED, message) else None
    match = re.search(_SAID, message)
    if message.startswith(_DENIED) and match is None:
        return ()
    words = message[match.end() :].partition(_HINT)[0].strip() if match else ""
    if not re.match(_TALKS, words):
        return (UserWords(WordKind.REFUSAL, words, about_line(about)),)
    asked = (
        (item["question"], _with_notes(item["answer"] or "", item["notes"])) for item in re.finditer(_ASKED, words)
    )
    answers = (UserWords(WordKind.ANSWER, answer.strip(), about_line(question)) for question, answer in asked if answer)
    return (UserWords(WordKind.REFUSAL, "", about_line(about)), *answers)


# What a user states

PLANNED = "Implement the following plan:"  # begins the prompt with a plan accepted for a new context
_FEEDBACK = "User feedback on this plan:"
_FENCED = r"(?ms)^[ \t]*(?P<mark>`{3,}|~{3,}|\"\"\"|''').*?(?:^[ \t]*(?P=mark)|\Z)"
_QUOTED = (
    r"\"[^\"\n]{30,}\"|[\u201c\u201e\u300c][^\u201c\u201d\u300d]{30,}[\u201c\u201d\u300d]|\u00ab[^\u00bb]{30,}\u00bb"
)
# A line printed by a program: boxes and marks of terminals, shell prompts, timestamps of logs, traces, diffs, data,
# padding.
_PRINTED = (
    r"(?m)[\u2500-\u259f\u23a0-\u23bf\u25cf\u23fa\u276f]|^\s*>|^\s*[$%]\s|\s{10,}$|^\t| {8,}\S|^\s*\|"
    r"|^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d|^(?:\+\+\+|---|@@|diff |index [0-9a-f]{6})"
    r"|^\s*(?:at \S+ ?\(|File \"|Traceback )|^\s*\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|error|fatal)\b[\]:\[]"
    r"|\b[A-Z]\w{0,60}(?:Error|Exception|Warning): |^\s*[{}\[\]]+,?\s*$|^\s*\"[\w-]+\"\s*:|[;{]\s*$|=>|^\s*</?\w[^>]*>"
    r"|^\s*[\w./-]+:\d+(?::\d+)?:|^\s*(?:commit [0-9a-f]{7}|Author: |Date: +)"
)


def own_statements(text: str) -> str:
    """Return the user's own statements in a message, without pasted, quoted or printed text."""
    if text.startswith(PLANNED):
        text = text.partition(_FEEDBACK)[2]
    text = re.sub(_FENCED, "\n\n", text)
    paragraphs = (part.strip("\n") for part in re.split(r"\n[ \t]*\n", text))
    return "\n\n".join(filter(None, (_without_printed(part) for part in paragraphs)))


def plan_feedback(text: str) -> tuple[UserWords, ...]:
    """Return the user's words on a plan that the host passes to a new session as its prompt."""
    feedback = text.partition(_FEEDBACK)[2].strip() if text.startswith(PLANNED) else ""
    return (UserWords(WordKind.PLAN, feedback),) if feedback else ()


def states(words: UserWords) -> bool:
    """Return whether words may state a fact: all kinds but a command with its output."""
    return words.kind is not WordKind.COMMAND


def _without_printed(paragraph: str) -> str:
    """Return a paragraph up to its first printed line: the rest was pasted with it."""
    lines = paragraph.split("\n")
    own = next((place for place, line in enumerate(lines) if re.search(_PRINTED, line)), len(lines))
    return re.sub(_QUOTED, "…", "\n".join(lines[:own])).strip()
