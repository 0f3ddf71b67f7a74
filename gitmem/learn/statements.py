"""Find lasting statements in a session without a model: what the user states explicitly, and what was saved. Pure.

A clause of the user counts if it has one of the few phrases of `gitmem/data/LANGUAGE/cues.tsv` ("from now on",
"Decision:", "never" at the head of an order) and none that cancels it: a question, a report of others, "for now".
Nothing is inferred from choices, moods or tenses. Only the user's own words count, not quotations, code, printed
output, diffs, chats, documents or texts to be translated. A wrong rule is worse than a missing one.

Sentences of the agent are no facts: it saves its own decisions, and these replace facts learned from the user's words
in the same turn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence

from gitmem.document.ids import is_timed, milliseconds_of
from gitmem.model.entries import relative_files
from gitmem.model.fact import Fact, FactKind
from gitmem.model.similarity import SAID, repeats
from gitmem.model.turns import Turn, is_restated
from gitmem.model.words import human_text, own_statements, states
from gitmem.platform.machine import datetime, timedelta
from gitmem.text.sentences import Kind, blocks, is_korean, mask_code, sentences_of
from gitmem.text.words import languages, matcher, phrases
from gitmem.values import Value

_LABELS = {
    "decision": FactKind.DECISION,
    "preference": FactKind.PREFERENCE,
    "rule": FactKind.RULE,
    "knowledge": FactKind.CORE_LOGIC,
}  # kinds of phrases that are left out of the statement
_LASTING = ("lasts", "opens", "forbids")  # kinds of phrases that make an order a rule
# Korean particles: the subject, the object ("입력값을 검증해"), a topic and the manner ("변수명은 snake_case로 해").
_ACTS, _DONE, _TOPIC, _HOW = (
    re.compile(rf"\S{particle}\s")
    for particle in ("(?<![같없많깊높])[이가]", "[을를]", "(?<![때에서로])[은는]", "[로에게]")
)
_NOTHING = "(?!)"  # pattern of a kind without rows
_REDACTED = re.compile(r"\[REDACTED:[a-z-]{1,40}\]")  # placeholder of a secret
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_LONGEST = 300  # characters of a clause
_MOST_LABELS = 3  # below another text; more of them are a document
_FEWEST_WORDS = 2  # of a clause beside its cue: "use pnpm", "no mocks"
_ASKS = ("?", "\uff1f")
_QUESTION = re.compile(r"[?\uff1f](?![\w.])")  # also "Postgres?? hmm"; not `user?.name`
_QUESTION_AND_ANSWER = 2  # lines; a question after more of them is about a text
_CLAUSE_END = re.compile(r";\s|\s[\u2013\u2014]\s")
_OPENING_END = re.compile(r"[\s,.!:]*\s|[,.!:]*$")
_ITEM = re.compile(r"\s{0,12}(?:[-*]|\d{1,2}[.)])\s+")  # the sign before an item of a list
_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)|[\u201c\u300c\u2018][^\u201d\u300d\u2019\n]{1,300}[\u201d\u300d\u2019]"
    r"|[\u201e\u201a][^\u201c\u201d\u2018\n]{1,300}[\u201c\u201d\u2018]|\u00ab[^\u00bb\n]{1,300}\u00bb|\u300e[^\u300f\n]{1,300}\u300f"
)
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]|\d{2,}")
_CODE = re.compile(r"[{}]\s*$|=>|\w\(\w*\)[,;]|;\s*(?://|$)")
_PLAIN_WORD = re.compile(r"[^\W\d_A-Z]+(?![\w./:@(-])")  # no `new.ts`, `formatDate()` or `dashboard-app`
# A line from which on a message is not the user's own: a heading, a diff, a line of a program or chat, a mail header.
# `own_statements` has removed printed text before.
_FOREIGN = re.compile(
    r"\s*(?:#{1,6}\s|##\[|\+ ?\S|-(?:(?!-[a-z-]+[은는을를]\s)\S|  \S)"
    r"|\S{1,20} (?:WARN|ERR!|ERROR|INFO|DEBUG|FATAL)(?:\s|$)"
    r"|\[?[0-9]{1,2}:[0-9]{2}|(?:From|To|Subject|Date|Re|Fwd|Cc): |\[?(?:오전|오후)|\S{1,30} \(?[0-9]{1,2}:[0-9]{2}"
    r"|@?[A-Z][a-z]{1,20}: )"
)
_KEY = re.compile(r"[\w-]{1,30}:(?:\s|$)")  # of settings, or of a document's head
# A line that introduces somebody else's text.
_POINTS = re.compile(
    r"(?i)\b(?:this|these|below|following|here(?:'s| is| are)|diese[rsmn]?|folgende[rsmn]?|unten)\b|아래|다음|이거|이것"
    r"|^이 |[:\u2193\u2b07\U0001f447]\s*$"
)
# Where a text may begin within a line: after ">>>" or a colon, before a capital as in "the slogan Never …".
_TEXT_BEGINS = re.compile(r">>>|: +(?=\S)|(?<=[^\W\d_A-Z]) (?=[A-Z])")
# After "always" or "never" in English these make no order: a hyphen, "hits", "ended", "failing", but not verbs whose
# base form ends so.
_ENDS_SO = (
    "(?:re)?(?:seed|feed)|(?:pro|ex)ceed|embed|need|heed|weed|breed|shred|shed|speed|bring|ping|ring|string|spring|swing"
    "|(?:re)?focus|bias|alias"
)
_TELLS = re.compile(rf"[^\s\w,]|\s+(?!(?:{_ENDS_SO})\b)\w+(?:[^s]s|ed|ing)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002])\s+(?=\S)")
_IS_SENTENCE = re.compile(r"(?<!\.)[.!\u3002\uff01]\s*$")
_BY_AGENT_TOOL = "memory_save"  # suffix of the tool's name in each agent
_COMMAND = re.compile(r"\bgitmem\b[^\n;|&]{0,200}\ssave\b")
_AROUND = timedelta(seconds=2)  # tolerance around a turn, as its events have their own times
_MAX_FILES = 12


class Statement(Value):
    """A lasting statement of a user."""

    kind: FactKind
    text: str


class FoundFact(Value):
    """A fact found in a session, with its `scope`; `source` is its turn's entry."""

    kind: FactKind
    text: str
    confidence: float
    at: datetime
    source: str
    files: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()


def find_facts(turns: Sequence[Turn], roots: Sequence[str], boot_lines: Collection[str] = ()) -> list[FoundFact]:
    """Return the facts that the user states in a session, in order, each once.

    `roots` are the folders that file names are relative to; `boot_lines` are the lines of the agent's own boot files
    (`turns.content_lines`), which it reads at every start.
    """
    facts: dict[tuple[FactKind, str], FoundFact] = {}
    for turn in turns:
        files = relative_files(turn.files, (*roots, turn.cwd))
        for finding in facts_of_prompt(turn, files):
            if not is_restated(finding.text, boot_lines):
                facts.setdefault((finding.kind, finding.text.casefold()), finding)
    return list(facts.values())


def facts_of_prompt(turn: Turn, files: Sequence[str]) -> Iterator[FoundFact]:
    """Yield the facts that the user states in a turn, in its prompt or other words of theirs."""
    spoken = (human_text(turn.prompt), *(words.text for words in turn.words if states(words)))
    for statement in (statement for text in spoken for statement in statements_of(text)):
        text, scope = as_statement(statement.text), (turn.scope,) if turn.scope else ()
        yield FoundFact(
            statement.kind, text, SAID, turn.started, turn.exchange_id, files_named(text, files), scope=scope
        )


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the project's files among those of a session that a text names."""
    inside = [file for file in files if not file.startswith(("/", "~", "../")) and file[1:2] != ":"]
    return tuple(file for file in inside if file.rpartition("/")[2] in text)[:_MAX_FILES]


def statements_of(prompt: str) -> list[Statement]:
    """Return the lasting statements in a user's prompt."""
    own, statements = own_words(own_statements(unicodedata.normalize("NFC", prompt))), list[Statement]()
    own_blocks = (block for block in blocks(own) if block.kind in (Kind.PARAGRAPH, Kind.ITEM))
    stated: Statement | None = None  # by the clause before
    for clause in (clause for block in own_blocks for sentence in sentences_of(block) for clause in _clauses(sentence)):
        if stated and _is_reason(clause) and len(stated.text) + len(clause) < _LONGEST:
            statements[-1] = stated = stated._replace(text=f"{as_statement(stated.text)} {clause}")
            continue
        stated = _stated(clause)
        statements += [stated] if stated else []
    return statements


def labels_left_out(prompt: str) -> list[Statement]:
    """Return the statements behind a label that `statements_of` leaves out, as a text may begin in a line above them.

    None of a message with a text that is surely somebody else's (a task about it, a heading, a diff, a chat), or with
    more labels than a user types, nor of code, quotations and printed output.
    """
    text = own_statements(unicodedata.normalize("NFC", prompt))
    own, stated = own_words(text), list[Statement]()
    if not own:
        return []
    for line in text.split("\n")[own.count("\n") + 1 :]:
        bare = _ITEM.sub("", line, count=1)
        is_label = any((cue := _cue(kind, bare)) and cue[0].rstrip().endswith((":", "\uff1a")) for kind in _LABELS)
        if not is_label and (_FOREIGN.match(bare) or _KEY.match(bare)):
            return []
        stated += [statement for sentence in [bare] * is_label if (statement := _stated(sentence))]
    return stated if len(stated) <= _MOST_LABELS else []


def own_words(prompt: str) -> str:
    """Return the beginning of a prompt that is plainly the user's own, "" for a message about somebody else's text.

    It ends before a line of somebody else, and after a line that is no whole sentence: a text to be worked on follows a
    heading, a question or a hint.
    """
    lines = prompt.split("\n")
    asks_about = len(lines) > _QUESTION_AND_ANSWER and prompt.rstrip().endswith(_ASKS)  # about the text before
    is_about_text = asks_about or any(phrases("task").search(line.strip()) for line in lines)
    if len(prompt) > _OWN_WORDS or prompt.startswith("/") or is_about_text:
        return ""
    own, before = list[str](), ""
    for line in lines:
        head, colon, rest = line.replace("\uff1a", ":").partition(":")
        content = without_opening(line)
        # "House rules: never …" is neither a chat line nor a label of a text
        leads_in = colon and _leads_in(head) and not (rest.strip() and _label(content))
        content = without_opening(rest.lstrip()) if leads_in else content
        is_foreign = _FOREIGN.match(content) and not _label(content)
        if line.strip() and (is_foreign or (before and not _goes_on(before, line))):
            break
        own.append(_without_text(content))
        if own[-1] != content:
            break
        before = "" if leads_in and not content and not _edits_text(before) else line.strip() or before
    return "\n".join(own)


def _goes_on(line: str, behind: str) -> bool:
    """Return whether the line after `line` is the user's too: `line` is a statement, or a sentence introducing no text.

    An order such as "Add a login page" needs no full stop if the next line begins with a label: it introduces no text.
    """
    bare = _ITEM.sub("", line, count=1)
    if _label(line) or (_begins(bare) and _ITEM.match(behind)):
        return True
    if _POINTS.search(line):
        return False
    is_order = matcher("tasks.tsv", "orders").match(bare) is not None and not line.endswith(_ASKS)
    is_whole = _IS_SENTENCE.search(line) is not None or _has("lasts ending forbidding", line) or _begins(bare)
    return (
        is_whole
        or line.startswith(("- ", "* "))
        or (is_order and (_label(behind) or _leads_in(behind.rstrip(" :\uff1a"))) and not _edits_text(line))
    )


def _leads_in(head: str) -> bool:
    """Return whether words before a colon introduce what the user says next: "Please note", "Rules for this repo"."""
    return head[:1].isalpha() and not phrases("lead").sub("", head).strip(" ,*!")


def _edits_text(line: str) -> bool:
    """Return whether a line asks for work on a text, which may follow it."""
    return any(matcher("tasks.tsv", kind).search(line) for kind in ("review", "docs"))


def _without_text(line: str) -> str:
    """Return a line without an embedded text that would count as a statement: "Make this polite: Never be late."."""
    is_own = _label(line) or _begins(line)
    for place in _TEXT_BEGINS.finditer(line):
        is_stated = _label(_SENTENCE_END.split(line[: place.end()])[-1]) or _has("lasts", line[: place.start()])
        is_text = _begins(line[place.end() :]) and not (is_own or is_stated)
        if place[0] == ">>>" or is_text:
            return line[: place.start()]
    return line


def _begins(text: str) -> bool:
    """Return whether a text begins like a statement without a label."""
    return any(phrases(kind).match(text) for kind in _LASTING)


def _has(kinds: str, text: str) -> bool:
    return any(phrases(kind).search(text) for kind in kinds.split())


def _label(line: str) -> bool:
    """Return whether a line or item begins with a label of a statement ("Decision:"), not with a speaker's name."""
    bare = _ITEM.sub("", line, count=1)
    return any(_cue(kind, bare) for kind in _LABELS)


def _cue(kind: str, text: str, language: str = "") -> re.Match[str] | None:
    """Return the first phrase of a kind in a text, None without one or for a label within a longer word."""
    cue = phrases(kind, language).search(text)
    is_within = cue is not None and kind in _LABELS and cue[0][-1:].isalnum() and text[cue.end() :][:1].isalnum()
    return None if is_within else cue


def _clauses(sentence: str) -> Iterator[str]:
    masked = _masked(sentence)
    if _QUESTION.search(masked) or _CODE.search(masked):
        return
    ends = [*(end.start() for end in _CLAUSE_END.finditer(masked)), len(masked)]
    yield from (sentence[start:end].strip(" ;\u2013\u2014") for start, end in zip([0, *ends], ends, strict=False))


def _is_reason(clause: str) -> bool:
    """Return whether a clause gives the reason of the statement before it: "Because the reports need it."."""
    return phrases("reason").search(_masked(clause).strip(" .!…")) is not None


def _stated(clause: str) -> Statement | None:
    """Return a clause as a statement, None without a phrase that marks it as lasting, or with one that cancels it."""
    clause = without_opening(clause)
    bare = _masked(clause).strip(" .!…")
    if len(clause) > _LONGEST or _has("empty", bare):
        return None
    # In a clause with a secret, only a label marks the rest as lasting.
    names = _LABELS if _REDACTED.search(clause) else (*_LABELS, *_LASTING)
    for language in languages():
        for name in names:
            cue = _cue(name, bare, language)
            if cue is None or (name in _LASTING and not _orders(name, bare, cue, language)):
                continue
            rest = _REDACTED.sub("", bare[: cue.start()] + bare[cue.end() :])
            has_colon = cue[0].rstrip().endswith((":", "\uff1a"))  # a colon alone marks the rest as lasting
            if len(_WORD.findall(rest)) < _FEWEST_WORDS or (_has("unless", bare) and not has_colon):
                return None
            label = cue.end() if name in _LABELS else 0
            return Statement(_LABELS.get(name, FactKind.RULE), clause[label:].strip(" ,.:"))
    return None


def _orders(name: str, clause: str, cue: re.Match[str], language: str) -> bool:
    """Return whether a clause is an order, by its ending in a language with such endings, else unless it reports."""
    ends = phrases("ending", language)
    if ends.pattern != _NOTHING:
        head, _, reason = clause.rpartition(", ")
        order = head if head and _is_reason(reason) else clause
        if name == "forbids" or phrases("forbidding", language).search(order):
            return phrases("forbidding", language).search(order) is not None
        is_plain = phrases("plain", language).search(order) is not None
        return ends.search(order) is not None or (is_plain and _is_asked(order, language))
    report, rest = phrases("report", language), clause[: cue.start()] + clause[cue.end() :]
    is_told = name == "opens" and report.pattern != _NOTHING and _TELLS.match(rest)
    return not (is_told or report.search(rest.lstrip(" ,")))


def _is_asked(clause: str, language: str) -> bool:
    """Return whether a clause with an ambiguous ending is an order: it names an action and nobody who acts."""
    if _ACTS.search(clause) or phrases("report", language).search(clause):
        return False
    topic, done = _TOPIC.search(clause), _DONE.search(clause)
    return not done and _HOW.search(clause, topic.end() - 1) is not None if topic else done is not None


def saved_in(facts: Iterable[Fact], turn: Turn) -> list[Fact]:
    """Return the facts that the agent saved during a turn, including saves without a session."""
    if not (
        any(_COMMAND.search(run.command) for run in turn.runs)
        or any(name.endswith(_BY_AGENT_TOOL) for name in turn.used)
    ):
        return []
    begin, end = ((at.timestamp() * 1000) for at in (turn.started - _AROUND, turn.ended + _AROUND))
    return [
        fact
        for fact in facts
        if is_saved(fact)
        and fact.origin.get("session", turn.session) == turn.session
        and any(is_timed(source) and begin <= milliseconds_of(source) <= end for source in fact.sources)
    ]


def is_saved(fact: Fact) -> bool:
    """Return whether an agent or a user saved a fact, rather than that it was learned or mirrored."""
    return bool(fact.origin.get("tool")) and "id" not in fact.origin


def repeated(saved: Iterable[Fact], text: str) -> Fact | None:
    """Return the saved fact that a claim repeats in other words, None if there is none."""
    return next((fact for fact in saved if repeats(fact.description, text)), None)


def without_opening(text: str) -> str:
    """Return a text without lead-ins such as "ok, and also"."""
    while match := phrases("opening").match(text):
        rest = _OPENING_END.match(text, match.end())
        if rest is None:
            break
        text = text[rest.end() :]
    return text


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(text))


def as_statement(text: str) -> str:
    """Return a sentence normalised as a fact's text, so that spelling variants make one fact."""
    text = as_written(text)
    if _PLAIN_WORD.match(text) and not is_korean(text):  # in Korean, a first word in Latin letters is a name
        text = text[0].upper() + text[1:]
    return text


def as_written(text: str) -> str:
    """Return a sentence on one line with a full stop and without lead-ins, its case unchanged."""
    text = without_opening(" ".join(text.split())).rstrip(" .,;:!…")
    return text if text.endswith(("?", "。")) else f"{text}."
