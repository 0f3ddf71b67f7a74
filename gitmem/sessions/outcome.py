"""What a turn's commands and errors say, how it ended, and which sentences of its answer are worth keeping. Pure.

One judge of outcomes serves all views and episodes: tests and releases, errors, the answer, the person's next prompt
(`bench/outcomes.py`). Sentences that are kept are decisions, open issues, learnings, fixes. Precision before recall:
questions, offers, plans, quotations, suppositions and denials are no memories, and a problem that the answer then works
on is no open issue. The words stand in `gitmem/data/LANGUAGE/answers.tsv`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from itertools import takewhile

from gitmem.document.entry import MemoryType
from gitmem.platform.machine import table
from gitmem.text.sentences import Block, Kind, blocks, mask_code, sentences_of, split
from gitmem.text.words import matcher
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.sessions.turns import Run, Turn


ERROR_LENGTH = 200  # characters
_NOT_FAILED = ("<tool_use_error>", "The user doesn't want to", "User rejected", "[Request interrupted")
_SAYS_NOTHING = ("warn", "task failed", "errors found", "exit status", "npm err! code")
# Words of an error's telling line, surely and perhaps; and words of lines that say nothing.
_TELLING = (
    ("error:", "fatal:", "panic:", "exception", "--- fail", "undefined", "no such", "not found", "denied"),
    ("failed", "failure", "cannot", "can't", "unexpected", "invalid", "unknown", "missing", "refused", "timed out"),
)


def told_error(text: str) -> str:
    """Return the most telling line of an error; "" for no failure.

    An exit code for "no", as of grep, is no failure, nor is a call that the person or the host refused.
    """
    lines = [line for line in (line.strip() for line in text.split("\n")) if line]
    if lines and lines[0].casefold().startswith("exit code"):
        lines = lines[1:]
    if lines and lines[0].startswith(_NOT_FAILED):
        return ""
    meaningful = [line for line in lines if not any(words in line.casefold() for words in _SAYS_NOTHING)]
    telling = (
        line
        for some in (meaningful, lines)
        for words in _TELLING
        for line in some
        if any(w in line.casefold() for w in words)
    )
    line = next(telling, lines[0] if lines else "")
    return line[:ERROR_LENGTH].rstrip() + "…" if len(line) > ERROR_LENGTH else line


@cache
def _form(kind: str) -> re.Pattern[str]:
    """Return the form of a kind of commands, or of their outputs; compiled at first use, as hooks load this."""
    return re.compile("|".join(row[1] for row in table("commands.tsv") if row[0] == kind), re.MULTILINE)


_JOINERS = r"\s*(&&|\|\||;|\n)\s*"
# A quoted text, but for the script of a shell, whose commands are those of the line.
_TEXT = r"(?<!sh -c )(?<!sh -lc )(?:'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")"
_SIGNS = "&|;<>"
_IN_TEXT = str.maketrans(_SIGNS, "\ue000\ue001\ue002\ue003\ue004")
_AS_BEFORE = str.maketrans("\ue000\ue001\ue002\ue003\ue004", _SIGNS)
_OUTPUT = r"\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|[^\s;&|]{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)"
_SCRIPT = r"\"(?:[^\"\\\n]|\\.)*\n(?:[^\"\\]|\\[\s\S])*\"|'[^'\n]*\n[^']*'"  # a quoted text of several lines
_WRITES = r"(?<![0-9&<>-])>{1,2}\s?([\w./~-]{1,200})"
_OPENS = r"(?:for|while|until|if|case)\b"  # a statement of the shell over several parts
_ID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{12,64}\b"  # as of a lock: of use once
_SET = r"[A-Za-z_]\w*=\S*$"  # an assignment before a command
_TO_READER = r"\s*(?:[0-9]>&[0-9]\s*)?\|\s*(?:tail|tee|cat)\b[^|&;\n]*$"  # shows the end, but hides whether it worked
_OF_WRAPPER = r"-|[0-9.]+[smhd]?$"  # a flag or a time that goes with a wrapper
_WHERE = r" (?:--(?:filter|workspace|prefix|dir|cwd)[= ]|-[CFw] )\S+"  # in which package a command runs
_OTHERWISE = r"\s*\|\|\s*(?:\{[^{}]*\}|(?:true|:|exit [0-9]+)(?=\s*(?:$|[;&\n])))"  # what follows a failure alone
_OF_VERB = r"[\s:=-]+"
_NONE_FAILED = r"\b(?:0|no) (?:\w{1,20} )?(?:failed|failures?|failing|errors?|exceptions?|invalid|missing|unknown)\b"
_XARGS = r"^\s*xargs (?:-\S+ )*"
_TARGET = r"[\w.:/][\w.:/-]*"


def bare(command: str) -> str:
    """Return a command line without redirections, what is fed to it, pipes to pagers, and each `cd`."""
    return _joined(_rows(command))


def only_reads(command: str) -> bool:
    """Return whether a command line consists of programs that only read."""
    return all(map(_looks, _parts(command)))


def has_effect(command: str) -> bool:
    """Return whether a part of a command line installs, fetches, regenerates, or changes the environment."""
    return any(_acts(part) for part in _parts(re.sub(_SCRIPT, "''", command)))


def is_commit(command: str) -> bool:
    """Return whether a command line commits, pushes or releases."""
    return _form("commits").search(bare(command)) is not None


def runs_elsewhere(command: str) -> bool:
    """Return whether the end of a command line runs in a container, or on a server or another machine."""
    return any(_form("elsewhere").search(" ".join(_unwrapped(part)[0])) for part in _parts(command)[-1:])


def written(command: str) -> str:
    """Return the file that a command line writes its output to, "" without one."""
    match = re.search(_WRITES, command.partition("\n")[0])
    return match[1] if match and not match[1].startswith("/dev/") else ""


def works_now(failed: str, worked: str, said: str = "") -> bool:
    """Return whether a command that worked shows that a failed one works now, behind whatever wrapper.

    Of a pipe only the end is known, unless `said`, its output, is shown to its end without a word of failure. Of
    commands in a row only the last is known, unless `&&` is between them. What reads, installs, commits or the like
    before the end of the failed row need not be done again.
    """
    if "|" in worked and said and not _tells_failure(said):
        worked = re.sub(_TO_READER, "", worked)
    if failed.strip() == worked.strip():
        return bool(failed.strip())
    parts = _parts(failed)
    needed = (part for part in parts[:-1] if not (_is_done_once(part) or _looks(part)))
    lasting = {_core(part) for part in (*needed, *parts[-1:])}
    return bool(lasting) and lasting <= _known(worked)


def shows_mended(failed: str, output: str, worked: str, said: str = "") -> bool:
    """Return whether a command that worked shows that a failed one works: its tests, if the output blames them."""
    tests = [part for part in _parts(failed) if _form("tests").search(part)]
    is_of_tests = len(tests) == 1 and _form("failing").search(output) is not None
    return works_now(failed, worked, said) or (is_of_tests and works_now(tests[0], worked, said))


def _tells_failure(said: str) -> bool:
    low = re.sub(_NONE_FAILED, "", said.casefold())
    return any(word in low for words in _TELLING for word in words)


def runs_again(failed: str, later: str) -> bool:
    """Return whether a command line runs the end of a failed one once more."""
    return any(_core(part) in _known(later) for part in _parts(failed)[-1:])


def repeated_elsewhere(failed: str, worked: str) -> str:
    """Return the part of a command line that repeats the end of a failed one in another environment; "" without one."""
    last = _parts(failed)[-1:]
    around = {_core(part): _unwrapped(part)[1] for part in last}
    same = (part for part in _parts(worked) if _core(part) in around)
    return next((part for part in same if (new := _unwrapped(part)[1]) and new != around[_core(part)]), "")


def effects_before(failed: str, later: str) -> str:
    """Return what a command line runs before what it repeats of a failed one; "" if none of it has an effect."""
    before = _changing(_rows_before(_parts(failed), later))
    return before if has_effect(before) else ""


def run_before(failed: str, later: str) -> str:
    """Return what a command line runs before the end of a failed one and that did not; nothing that reads or checks."""
    return beyond(failed, _changing(_rows_before(_parts(failed)[-1:], later)))


def commits_before(failed: str, later: str) -> bool:
    """Return whether a command line commits before what it repeats of a failed one."""
    return any(is_commit(part) for _, part in _rows_before(_parts(failed), later))


def _rows_before(parts: list[str], later: str) -> list[tuple[str, str]]:
    repeated = {_core(part) for part in parts}
    return [*takewhile(lambda row: _core(row[1]) not in repeated, _rows(later))]


def _changing(rows: Iterable[tuple[str, str]]) -> str:
    """Return commands as a line without those that only read, check or commit."""
    return _joined((joiner, "" if _looks(part) or _ends(part) else part) for joiner, part in rows)


def runs_program_before(failed: str, later: str) -> bool:
    """Return whether a command line runs the program of a failed one before it repeats its end."""
    before = {_unwrapped(part)[0][:1] for _, part in _rows_before(_parts(failed), later) if part}
    return bool(before & {_unwrapped(part)[0][:1] for part in _parts(failed)[-1:]})


def effect_in(command: str) -> str:
    """Return a command line without what only reads, and what tests or commits at its end; "" if nothing acts."""
    rows = [(joiner, "" if _looks(part) else part) for joiner, part in _rows(command)]
    while rows and (not rows[-1][1] or _ends(rows[-1][1])):
        rows.pop()
    return _joined(rows) if any(_acts(part) for _, part in rows) else ""


def without_wrappers(command: str) -> str:
    """Return the commands of a line without what runs them: `uv run pytest -q` is `pytest -q`."""
    return " && ".join(" ".join(_unwrapped(part)[0]) for part in _parts(command))


def has_compound(command: str) -> bool:
    """Return whether a command line has a loop or a condition of the shell, which its parts do not tell."""
    return any(re.match(_OPENS, part) for part in _parts(command))


def adds_named(command: str) -> bool:
    """Return whether a command line adds or installs something by its name."""
    return any(map(_added, _parts(command.strip("`"))))


def installs_named(command: str) -> bool:
    """Return whether a command line installs something by its name where it runs, not in the project's files."""
    return adds_named(command) and not any(map(_is_of_project, map(_added, _parts(command.strip("`")))))


def is_proposed(command: str, said: str) -> bool:
    """Return whether a command line adds to the project what an output says, in its words: it is there since."""
    text = " ".join(said.split())
    return any(_is_of_project(one) and one in text for one in map(_added, _parts(command)))


def _is_of_project(added: str) -> bool:
    return " ".join(added.split()[:2]) in _words_of("effects.tsv")["manifest"]


def _added(part: str) -> str:
    """Return a command that adds something up to its name without its version, "" if it adds nothing."""
    words, adds = _unwrapped(re.sub(_WHERE, "", part))[0], _words_of("effects.tsv")["adds"]
    at = next((at for at, word in enumerate(words[1:3], 1) if word in adds), 0)
    name = next((word for word in words[at + 1 :] if at and not word.startswith("-")), "")
    return f"{' '.join(words[: at + 1])} {name.partition('@')[0] or name}" if name else ""


def helps_once(command: str) -> bool:
    """Return whether a command line helps no second time: it edits files in place, or names a process or an id."""
    edits = _words_of("effects.tsv")["edit"]
    stages = (stage for part in _parts(command) for stage in _without_signs(part).split("|"))
    parts = [_unwrapped(re.sub(_XARGS, "", stage.translate(_AS_BEFORE)))[0] for stage in stages]
    once = (" ".join(words[:2]) in edits or (words[:1] == ("kill",) and words[-1].isdecimal()) for words in parts)
    return any(once) or re.search(_ID, command) is not None


def _parts(command: str) -> list[str]:
    return [part for _, part in _rows(command) if part]


def _rows(command: str) -> list[tuple[str, str]]:
    """Return the commands of a line, each with what joins it to the one before; "" for a `cd`."""
    line = re.sub(f"{_OUTPUT}|{_OTHERWISE}", "", _without_signs(command).partition("<<")[0])
    joiners_and_parts = ["&&", *re.split(_JOINERS, line.strip())]
    rows: list[tuple[str, str]] = []
    for joiner, part in zip(joiners_and_parts[::2], joiners_and_parts[1::2], strict=True):
        first, *others = _targets("" if part.startswith("cd ") else part.translate(_AS_BEFORE))
        rows += [(joiner, first), *(("&&", other) for other in others)]
    return rows


def _targets(part: str) -> list[str]:
    """Return a command that builds several targets as one for each: `make a b` is `make a && make b`."""
    head = _form("targets").match(part)
    named = part[head.end() :].split() if head else []
    several = len(named) > 1 and all(map(re.compile(_TARGET).fullmatch, named))
    return [f"{part[: head.end()].strip()} {name}" for name in named] if head and several else [part]


def _joined(rows: Iterable[tuple[str, str]]) -> str:
    """Return commands as a line. Around one that is left out, `&&` holds only if it stands on both sides."""
    line, between = "", []
    for joiner, part in rows:
        between.append(joiner)
        if part:
            sure = between[0] if len(set(between)) == 1 and between[0] != "\n" else ";"
            line += part if not line else f" {sure} {part}" if sure != ";" else f"; {part}"
            between = []
    return line.strip()


def _without_signs(command: str) -> str:
    """Return a command line in whose quoted texts no sign joins or redirects commands."""
    return re.sub(_TEXT, lambda text: text[0].translate(_IN_TEXT), command)


def _looks(part: str) -> bool:
    """Return whether a command and all that it is piped to only read."""
    return all(_form("looks").match(stage.strip()) for stage in _without_signs(part).split("|"))


def _known(worked: str) -> set[tuple[str, ...]]:
    """Return the commands of a line that worked, as far as its end shows it."""
    last = re.split(r"\s*(?:\|\||;|\n)\s*", _without_signs(worked).strip())[-1]
    plain = (part.strip().translate(_AS_BEFORE) for part in last.split("&&") if "|" not in part)
    return {_core(target) for part in plain for target in _targets(part)}


def _ends(part: str) -> bool:
    """Return whether a command tests, checks or commits, and changes nothing that another one needs."""
    commits = is_commit(part) or part.startswith("git add ")
    return not _acts(part) and (commits or any(_form(kind).search(part) for kind in ("tests", "checks")))


def beyond(failed: str, command: str) -> str:
    """Return what a command line does that a failed one did not."""
    done = {_core(part) for part in _parts(failed)}
    return _joined((joiner, "" if part and _core(part) in done else part) for joiner, part in _rows(command))


def _is_done_once(part: str) -> bool:
    """Return whether a command need not be done again: it acts, commits, starts something, or sets up the shell."""
    starts = part.endswith(("&", "&)"))
    return starts or _acts(part) or is_commit(part) or part.startswith(("git add ", "set "))


def environment(command: str) -> tuple[str, ...]:
    """Return the wrappers of a command line that choose an environment, and its assignments."""
    return tuple(word for part in _parts(command) for word in _unwrapped(part)[1])


def _core(part: str) -> tuple[str, ...]:
    """Return the words of a command without its wrappers, in any order if there are flags among them."""
    words = _unwrapped(part)[0]
    return tuple(sorted(words)) if any(word.startswith("-") for word in words) else words


@cache
def _unwrapped(part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a command without its wrappers, and what chose its environment."""
    words = [word.strip("'\"") for word in bare(part).split()]
    around: list[str] = []
    flags = _words_of("wrappers.tsv")
    while words and (size := _wrapper(words)):
        around += words[:size] if size > 0 else []
        words = words[abs(size) :]
        while words and re.match(_OF_WRAPPER, words[0]):
            taken = 1 + (words[0] in flags["valued"] and len(words) > 1)
            around += words[:taken] if taken > 1 else []
            words = words[taken:]
    words[:1] = [name.rpartition("bin/")[2] for name in words[:1]]
    return tuple(word for word in words if word not in flags["flag"]), tuple(around)


def _wrapper(words: list[str]) -> int:
    """Return the number of words of the wrapper at the head of a command, negative if it chooses no environment."""
    if re.match(_SET, words[0]):
        return 1
    head = [words[0].rpartition("bin/")[2], *words[1:2]]
    for kind, named, *_ in table("wrappers.tsv"):
        size = named.count(" ") + 1
        if kind not in {"flag", "valued"} and head[:size] == named.split() and len(words) > size:
            return size if kind == "environment" else -size
    return 0


@cache
def _words_of(name: str) -> dict[str, set[str]]:
    """Return the words of a table by their kind."""
    words: dict[str, set[str]] = {}
    for kind, word, *_ in table(name):
        words.setdefault(kind, set()).add(word)
    return words


def _acts(part: str) -> bool:
    words = _unwrapped(re.sub(_WHERE, "", part))[0]
    if not words or words[:2] == ("git", "add"):
        return False
    named = _words_of("effects.tsv")
    told = [*takewhile(lambda word: not word.startswith("-"), words[1:3])]
    said = {verb for word in told for verb in (word, re.split(_OF_VERB, word)[-1]) if verb == word or verb != "ci"}
    if _form("task").match(" ".join(words)) and not any(map(_form("checks").search, told)):
        said |= {re.split(_OF_VERB, word)[0] for word in told}
    program = (named["program"] | named["edit"]) & {words[0], " ".join(words[:2])}
    return bool(program or said & named["verb"] or set(words) & named["flag"])


class Outcome(StrEnum):
    """How an exchange, or an episode, ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # the person, or the end of the session, broke it off: nobody judged a result


_WORDS = "outcomes.tsv"
_READ = 400  # characters of the next request: the rest is pasted or sets another task
_FIRST = 60  # characters of its first sentence, in which thanks count
_QUOTED = 4  # words: so many of an answer's command at the head of the next request are that command


def judge_outcome(turn: Turn, next_prompt: str = "") -> Outcome:
    """Return the outcome of a turn; `next_prompt` is the person's next prompt, without injected text.

    The person's reaction counts first: a rejection or the same request again, then a doubt, then thanks. Then tests and
    releases, an answer that gives up, and unmended errors.
    """
    reaction = reaction_of(turn, next_prompt)
    if reaction is Outcome.FAILED:
        return reaction
    mended = all(failure.fixed_by or failure.explained for failure in turn.failures if told_error(failure.error))
    changed = bool(turn.files) or any(not run.failed for run in turn.runs)
    ended = outcome_of(verdict_of(turn.runs), turn.answer, changed=changed, mended=mended, interrupted=turn.interrupted)
    if reaction is Outcome.PARTIAL and ended is Outcome.SUCCESS:
        return reaction
    return Outcome.SUCCESS if reaction is Outcome.SUCCESS and ended is Outcome.PARTIAL else ended


def reaction_of(turn: Turn, next_prompt: str) -> Outcome | None:
    """Return the person's verdict on a turn in the next request: a rejection, a doubt, thanks; or None."""
    text, answered = " ".join(next_prompt[:_READ].split()), turn.answer.strip() and not turn.interrupted
    again = bool(turn.prompt.split() and answered) and turn.prompt.split() == next_prompt.split()
    given = " ".join(text.split()[:_QUOTED]) in " ".join(turn.answer.split())  # a command that the answer gave
    fails = given and not turn.tools and matcher(_WORDS, "error").search(text) is not None
    if rejects(turn, next_prompt) or (text and (again or fails)):
        return Outcome.FAILED
    if matcher(_WORDS, "doubted").search(text):
        return Outcome.PARTIAL
    return Outcome.SUCCESS if matcher(_WORDS, "thanked").search(text[:_FIRST].partition(". ")[0]) else None


def rejects(turn: Turn, next_prompt: str) -> bool:
    """Return whether the next request says a clear no about the result; one to a question or an offer is none."""
    text = " ".join(next_prompt[:_READ].split())
    last = split(turn.answer[-_READ:])[-1:]
    declines = not all(map(reports, last)) and matcher(_WORDS, "declined").search(text)
    return not declines and matcher(_WORDS, "rejected").search(text) is not None


def offers(answer: str) -> bool:
    """Return whether an answer lists options and asks which to take."""
    return matcher(_WORDS, "asks").search(answer[-_READ:]) is not None


def verdict_of(runs: Iterable[Run]) -> Outcome | None:
    """Return the outcome of the last tests that were run, FAILED after a release that failed; None without either.

    If tests passed in a command line that failed, something else did: that is None.
    """
    backwards = list(reversed(list(runs)))
    last = next((run for run in backwards if _form("releases").search(run.command)), None)
    if last is None or not last.failed:
        last = next((run for run in backwards if _form("tests").search(run.command)), None)
    if last is None:
        return None
    passed = _says_passed(last.said)
    if last.failed:
        return None if passed else Outcome.FAILED
    return Outcome.FAILED if not passed and _form("failed").search(last.said) else Outcome.SUCCESS


def _says_passed(said: str) -> bool:
    """Return whether an output says in some line that tests passed, and in none that one failed."""
    lines = [line for line in said.split("\n") if _form("passed").search(line)]
    return bool(lines) and not any(map(_form("failed").search, lines)) and not _form("failing").search(said)


def outcome_of(
    tests: Outcome | None, answer: str, *, changed: bool, mended: bool, interrupted: bool = False
) -> Outcome:
    """Return the outcome of an exchange by its tests and releases, its answer and its errors.

    `answer` is "" without one; `changed` says that files were changed or commands worked, `mended` that every error was
    followed by a success. A turn that was broken off, or that has neither an answer nor a result, is interrupted.
    """
    if interrupted:
        return Outcome.INTERRUPTED
    some = Outcome.PARTIAL if changed else Outcome.FAILED
    if tests is Outcome.FAILED:
        return some
    if not answer.strip():
        return (Outcome.SUCCESS if mended else some) if changed else Outcome.INTERRUPTED
    if matcher(_WORDS, "gave_up").search(answer):
        return some
    return Outcome.SUCCESS if mended or tests is Outcome.SUCCESS else Outcome.PARTIAL


_STATED = (MemoryType.DECISION, MemoryType.ISSUE, MemoryType.LEARNING, MemoryType.ERROR_FIX)
_HEADED = _STATED[:3]  # a heading "Fix" is also that of a step of a plan
_IS_CODE = re.compile(r"[\])}>\"'\w];\s*(?:$|//)|=>|^\$\{|[{}]\s*$|\w\(\w*\)[,;]")  # outside a fence
_IN_QUOTES = re.compile(r"\"[^\"\n]{1,200}\"|[\u201c\u300c][^\u201d\u300d\n]{1,200}[\u201d\u300d]")
# Characters of a sentence: a shorter one is not understood later, a longer one is data.
_SHORTEST = 9
_LONGEST = 600
_LEAD_INS = (":", "\uff1a")  # ends of a sentence that introduces the next
_LOOK_AT = 400_000  # characters of an answer; real ones have a few thousand


class Cue(Value):
    """A sentence worth keeping and its type; a label ("Decision:") is left out of the text."""

    type: MemoryType
    text: str


def find_cues(text: str) -> list[Cue]:
    """Return the decisions, issues, learnings and fixes in an agent's answer (markdown), each sentence once."""
    cues: dict[str, Cue] = {}
    heading: MemoryType | None = None
    parts = blocks(text[:_LOOK_AT])
    for index, block in enumerate(parts):
        if block.kind is Kind.HEADING:
            heading = next((kind for kind in _HEADED if _heading(kind).match(block.text)), None)
            continue
        following = parts[index + 1] if index + 1 < len(parts) else None
        for cue in _cues_of(block, heading, following):
            cues.setdefault(cue.text.casefold(), cue)
    return list(cues.values())


def without_label(text: str) -> str:
    """Return a text without its label ("Decision: ...")."""
    cue = _labelled(text)
    return cue.text if cue else text


def is_resolved(text: str) -> bool:
    """Return whether the text of an issue says that it is resolved."""
    masked = mask_code(" ".join(text[:_LOOK_AT].split()))
    return _says("resolved", masked) and not _says("unresolved", masked)


def is_prose(sentence: str) -> bool:
    """Return whether a sentence is no lead-in and no line of code."""
    return not sentence.endswith(_LEAD_INS) and _IS_CODE.search(sentence) is None


def reports(sentence: str) -> bool:
    """Return whether a sentence says something: no question, offer, plan, lead-in or line of code."""
    return is_prose(sentence) and not any(_says(kind, sentence) for kind in ("begins_no_report", "ends_no_report"))


def _says(kind: str, text: str) -> bool:
    return matcher("answers.tsv", kind).search(text) is not None


def _cues_of(block: Block, heading: MemoryType | None, following: Block | None) -> Iterator[Cue]:
    """Yield the cues of one block; `heading` is the type of items under the heading above it."""
    if block.kind is Kind.QUOTE:
        return
    sentences = sentences_of(block)
    for index, sentence in enumerate(sentences):
        last = index + 1 == len(sentences)
        after = sentences[index + 1] if not last else following.text if following else ""
        cue = _labelled(sentence)
        if cue is None and heading and index == 0 and block.kind is Kind.ITEM:
            cue = Cue(heading, sentence)
        if cue is None and (kind := _stated(sentence, after)):
            before = sentences[index - 1] if index and _says("leans_back", sentence) else ""
            cue = Cue(kind, f"{before} {sentence}".strip())
        if cue and _says_something(cue):
            yield cue


def _labelled(sentence: str) -> Cue | None:
    """Return the cue of a sentence with a label ("Decision: ...")."""
    for kind in _STATED:
        if label := _label(kind).match(sentence):
            return Cue(kind, sentence[label.end() :])
    return None


def _stated(sentence: str, after: str) -> MemoryType | None:
    """Return the cue of a sentence without a label, None unless it is certain."""
    if len(sentence) > _LONGEST or sentence.endswith(_LEAD_INS):
        return None
    masked = _IN_QUOTES.sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))
    kind = next((kind for kind in _STATED if _says(_name(kind), masked)), None)
    is_open = kind is MemoryType.ISSUE and not _says("works_on_it", after)
    if _says("begins_no_report", masked) or _says("unsure", masked):
        return None
    return kind if is_open or kind is not MemoryType.ISSUE else None


def _says_something(cue: Cue) -> bool:
    """Return whether a cue's text is a statement that is understood without its context."""
    masked = mask_code(cue.text)
    wide = sum("\u1100" <= character <= "\uffdc" for character in masked[:_SHORTEST])  # Hangul needs fewer characters
    if not _SHORTEST - wide <= len(masked) <= _LONGEST or " " not in masked or masked.endswith(_LEAD_INS):
        return False
    if _IS_CODE.search(masked) or any(
        _says(kind, masked) for kind in ("ends_no_report", "topic", f"denied_{_name(cue.type)}")
    ):
        return False
    return cue.type is not MemoryType.ISSUE or not is_resolved(cue.text)


@cache
def _heading(kind: MemoryType) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{matcher('answers.tsv', f'heading_{_name(kind)}').pattern})\W*$", re.IGNORECASE)


@cache
def _label(kind: MemoryType) -> re.Pattern[str]:
    """Return the form of a label ("Decision: …"): a heading's words count, too, and an emoji may stand before them."""
    names = [f"label_{_name(kind)}", *([f"heading_{_name(kind)}"] if kind in _HEADED else [])]
    words = "|".join(matcher("answers.tsv", name).pattern for name in names)
    return re.compile(rf"\W{{0,4}}(?:{words})\s?(?:[:\uff1a]|\s[\u2013\u2014])\s*(?=\S)", re.IGNORECASE)


def _name(kind: MemoryType) -> str:
    return kind.name.lower()
