"""What of a session lasts: what a person states for good (spec V4) or chooses, what the agent saved, and fixes. Pure.

The words that say so stand in `gitmem/data/LANGUAGE/cues.tsv`. Of a prompt that has a task, too, only the clause with
the cue counts; one that refers to something outside of it does not. A choice ("option 3", "let's go with Redis") is the
question with the option's own text, and none where the question names no subject. Precision before recall: a wrong
rule in every session is worse than a missing one. Sentences of the agent are no facts: what it decides it saves itself,
and its words replace those that the rules find in the same turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from gitmem.document.ids import is_timed, milliseconds_of
from gitmem.facts.compare import contradict, is_negated, says_the_same, stems_of
from gitmem.facts.fact import Fact, FactKind
from gitmem.platform.machine import datetime, timedelta
from gitmem.sessions.entries import relative_files
from gitmem.sessions.outcome import is_resolved
from gitmem.sessions.turns import Turn, human_text, is_restated, tells
from gitmem.text.sentences import Kind, blocks, is_korean, mask_code, sentences_of, shorten, split
from gitmem.text.words import languages, phrases, rows
from gitmem.values import Value

WHY = "**Why:**"
_KINDS = {"preference": FactKind.PREFERENCE, "decision": FactKind.DECISION, "rule": FactKind.RULE}
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_LONGEST = 300  # characters of a clause
_FEWEST_WORDS = 3  # of a clause that stands alone; a Korean one says as much in one word less
_LED = 40  # characters of the beginning of a clause that says where it holds: "In the API, always …"
_CLOSING = " ,;:.!"
_DASHES = re.compile(r"^[\s\u2013\u2014-]+(?=\s)|[\s\u2013\u2014-]+$")  # no part of `-race`
_OPENING_END = re.compile(r"[\s,.!:]*\s|[,.!:]+$")
_SPLIT = re.compile(r";\s|\s[\u2013\u2014-]{1,2}\s")
_JOINT = re.compile(r"(?:[,;:.!)\u2013\u2014-]|\s(?:and|but|so|und|aber))\s*$", re.IGNORECASE)
_INNER_JOINT = re.compile(r":\s|,\s(?:and|but|und|aber)\s", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|[\u201c\u300c][^\u201d\u300d\n]{1,300}[\u201d\u300d]")
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]")
_HANGUL = re.compile(r"[가-힣]")
_CODE = re.compile(r"[{}]\s*$|=>|\w\(\w*\)[,;]|;\s*(?://|$)")
# A line that a program printed.
_PASTED = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception|Warning): |^(?:error|fatal|FATAL|ERROR)(?:\[\w+\])?: ")
_ASKS = ("?", "\uff1f")
_ANTECEDENT = 3  # words before a pronoun that speaks of one of them
_LOOK_AT = 30_000  # characters of an answer, its last
_MOST_LINES = 400
_LONGEST_PROMPT = 160  # characters
_LONGEST_OPTION = 200  # characters of a question, and of an option
_MOST_OF_A_BARE_BAN = 2  # words; twice as many in Korean, whose verb of a ban has two
_FEWEST_OF_CONTEXT = 3  # words of a sentence that says what a statement speaks of
_MOST_WORDS = 8  # of a pick that names its option
_FEWEST_OF_SUBJECT = 2  # words of a question that names its subject
_LINE = re.compile(
    r"\s{0,6}(?:#{2,5}\s|[-*]\s)?(?:\*\*)?(?:\w{3,12}\s)?#?(?P<key>[0-9]{1,2}|[A-Ea-e])(?:\*\*)?[.):]"
    r"(?:\*\*)?\s(?P<text>.{2,600})$"
)
_KEYS = re.compile(r"#?([0-9]{1,2}|[a-e])(?:\s?(?:,|&|\+)?\s?#?([0-9]{1,2}))?", re.IGNORECASE)
_AND_MORE = re.compile(r"[.,;:)]\s")  # "2. and never …"
_MARKS = re.compile(r"\*\*|__|`")
_PART = re.compile(r"[^\W_]+(?:[.+#-][^\W_]+)*")


class Statement(Value):
    """What a person states; `why` is the reason given, "" if none."""

    kind: FactKind
    text: str
    why: str = ""


def statements_of(prompt: str) -> list[Statement]:
    """Return the lasting statements in a person's prompt."""
    if len(prompt) > _OWN_WORDS or prompt.startswith("/"):
        return []
    own = (block for block in blocks(prompt) if block.kind in (Kind.PARAGRAPH, Kind.ITEM))
    return [said for block in own if not _PASTED.search(block.text) for said in _of_paragraph(sentences_of(block))]


def _of_paragraph(sentences: Iterable[str]) -> list[Statement]:
    """Return the statements of a paragraph, with the sentences before or behind one that belong to it."""
    found: list[Statement] = []
    last = ""  # the sentence before
    before: list[Statement] = []  # of it
    for sentence in sentences:
        stated = list(_of_sentence(sentence))
        if before and not stated and _is_open(before[-1].text) and tells(sentence):
            stated = [_joined(found.pop(), Statement(FactKind.DECISION, sentence))]
        elif before and len(stated) == 1 and _is_bare_ban(stated[0].text):
            stated = [_joined(found.pop(), stated[0])]
        elif last and not before and not stated and _is_bare_cue(sentence) and _holds(last):
            stated = [_joined(Statement(FactKind.RULE, last), Statement(FactKind.RULE, sentence))]
        found += stated
        last, before = sentence, stated
    return [one for one in found if not _is_open(one.text) or len(split(one.text)) > 1]


def _joined(said: Statement, more: Statement) -> Statement:
    text = f"{as_statement(said.text)} {as_statement(more.text)}"
    return said._replace(text=text, why=said.why or more.why)


def _is_open(text: str) -> bool:
    """Return whether a text begins with a decision to change something that does not say to what."""
    first = next(iter(split(text)), "")
    return bool(phrases("open").search(first)) and not phrases("settled").search(first)


def _is_bare_ban(text: str) -> bool:
    """Return whether a text forbids a thing or two and not where: "Amounts are always cents. Never floats."."""
    return is_negated(text) and len(_without_cues(text).split()) <= _MOST_OF_A_BARE_BAN * (1 + is_korean(text))


def _is_bare_cue(sentence: str) -> bool:
    """Return whether a sentence only says that the one before holds for good: "From now on." "앞으로도 그렇게 해줘."."""
    masked = _masked(sentence)
    left = phrases("opening").sub(" ", phrases("points").sub(" ", _without_cues(masked)))
    return _cue(masked) is not None and len(left.split()) <= is_korean(sentence) and not phrases("leave").search(masked)


def _holds(sentence: str) -> bool:
    """Return whether a sentence that is to hold for good is understood alone, and no question or supposition."""
    return stands_alone(sentence) and not sentence.endswith(_ASKS) and not phrases("leave").search(_masked(sentence))


def _of_sentence(sentence: str) -> Iterator[Statement]:
    masked = _masked(sentence)
    if masked.rstrip(" )\"'").endswith(_ASKS) or _CODE.search(masked):
        return
    start = 0
    for end in (*(cut.start() for cut in _SPLIT.finditer(masked)), len(masked)):
        said = _of_clause(sentence[start:end].strip(" ;\u2013\u2014-"), masked)
        start = end
        if said is not None:
            yield said


def _of_clause(clause: str, sentence: str) -> Statement | None:
    """Return what a clause states for good, as far as it stands alone; `sentence` is masked."""
    label = phrases("label").match(without_opening(clause))
    if label:
        told = without_opening(clause)[label.end() :].lstrip(" :\uff1a,")
        return _standing(FactKind.RULE, told)
    clause = without_opening(clause)
    found = _cue(_masked(clause))
    if found is None:
        return None
    language, kind, at, end = found
    leaves, why = phrases("leave", language), phrases("why")
    for part in _parts(clause, language, at, end):
        if any(leaves.search(why.split(text, maxsplit=1)[0]) for text in (_masked(part), without_opening(sentence))):
            return None  # a question, a supposition, a report, or for now only
        if said := _standing(kind, part):
            return said
    return None


def _parts(clause: str, language: str, at: int, end: int) -> Iterator[str]:
    """Yield the parts of a clause that may state something for good, the likeliest first.

    A part begins at the cue, which stands between `at` and `end`, if what is before it only leads over to it, else with
    the clause ("No exceptions in the library, never"); then behind the last joint before the cue.
    """
    before = clause[:at]
    led = len(before) <= _LED and phrases("lead", language).match(before)
    contrasts = phrases("contrast", language).search(clause) and tells(before)  # "X, never Y"
    leads_over = not led and not contrasts and _JOINT.search(before)
    if leads_over:
        yield without_opening(clause[at:])
    if not leads_over or not _WORD.search(clause[end:]):
        yield clause
        yield from (without_opening(clause[joint.end() :]) for joint in [*_INNER_JOINT.finditer(before)][-1:])


def _cue(masked: str) -> tuple[str, FactKind, int, int] | None:
    """Return the language and kind of the first cue of a clause, and where it begins and ends; None without one."""
    found = [
        (match.start() + len(match[0]) - len(match[0].lstrip(" ,")), number, language, kind, match.end())
        for language in languages()
        for number, (name, kind) in enumerate(_KINDS.items())
        if (match := phrases(name, language).search(masked))
    ]
    if not found:
        return None
    at, _, language, _, end = min(found)
    kind = min(found, key=lambda one: one[1])[3]
    return language, kind, at, end


def _standing(kind: FactKind, clause: str) -> Statement | None:
    """Return a clause as a statement, without its reason; None if it needs what stands around it."""
    why = phrases("why").search(_masked(clause), 8)
    told, reason = (clause[: why.start()], clause[why.end() :]) if why else (clause, "")
    told, reason = _DASHES.sub("", told).strip(_CLOSING), reason.strip(_CLOSING)
    if stands_alone(told):
        return Statement(kind, told, reason if count_words(reason) > 1 else "")
    return None


def stands_alone(text: str) -> bool:
    """Return whether a text is understood without what was said before it."""
    masked = _masked(text)
    if len(text) > _LONGEST or count_words(text) < _FEWEST_WORDS or phrases("points").search(masked):
        return False
    pronoun = phrases("back").search(masked)
    return pronoun is None or count_words(masked[: pronoun.start()]) > _ANTECEDENT


def in_context(text: str, answer: str) -> str:
    """Return a statement about one thing alone behind the sentence of the answer before that names it.

    That is "" if the sentence says no more than the statement. If the answer does not name the thing, it needs none.
    """
    about = stems_of(_without_cues(text))
    if len(about) != 1:
        return text
    said = (one for block in blocks(human_text(answer)[-_LOOK_AT:]) for one in sentences_of(block))
    named = next((one for one in said if about <= stems_of(one)), "")
    if named and len(stems_of(named)) < _FEWEST_OF_CONTEXT:
        return ""
    return f"{as_statement(named)} {as_statement(text)}" if named and len(named) <= _LONGEST_OPTION else text


def _without_cues(text: str) -> str:
    """Return the masked text of a statement without the words that make it one."""
    masked = _masked(text)
    for language in languages():
        for kind in _KINDS:
            masked = phrases(kind, language).sub(" ", masked)
    return masked


def without_opening(text: str) -> str:
    """Return a text without words such as "ok, and also" that lead over to it."""
    while match := phrases("opening").match(text):
        rest = _OPENING_END.match(text, match.end())
        if rest is None:
            break
        text = text[rest.end() :]
    return text


def count_words(text: str) -> int:
    """Return the number of words of a text, one more if it is Korean."""
    return len(_WORD.findall(text)) + bool(_HANGUL.search(text))


def with_reason(statement: str, why: str) -> str:
    """Return the text of a fact: the statement, and its reason as a paragraph of its own."""
    return f"{statement}\n\n{WHY} {why}" if why else statement


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(text))


def picks_of(prompt: str, answer: str) -> list[Statement]:
    """Return the options of the answer before that a prompt picks, each behind the question."""
    said, why = _pick_in(prompt)
    chosen = chosen_options(prompt, answer) if not _AND_MORE.search(_left_of(said)) else []
    question = _question(answer[-_LOOK_AT:]) if chosen else ""
    return [Statement(FactKind.DECISION, f"{question} {option}", why) for option in chosen if question]


def chosen_options(prompt: str, answer: str) -> list[str]:
    """Return the options of an answer that the next prompt picks."""
    said, _ = _pick_in(prompt)
    answer = answer[-_LOOK_AT:]
    return _chosen(_left_of(said), _options_of(answer), (_asked(answer) or [""])[-1]) if said and answer else []


def without_options(answer: str) -> str:
    """Return an answer without the lines of a list of options."""
    return "\n".join(line for line in answer.splitlines() if not _LINE.match(line))


def _pick_in(prompt: str) -> tuple[str, str]:
    """Return the first line of a short prompt that asks nothing, and the reason it gives; "" for none."""
    said = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if len(prompt) > _LONGEST_PROMPT or said.endswith(_ASKS):
        return "", ""
    reason = phrases("why").search(said)
    return (said[: reason.start()], said[reason.end() :].strip(" ,.!")) if reason else (said, "")


def _asked(answer: str) -> list[str]:
    return [sentence for sentence in split(answer) if sentence.endswith(_ASKS)]


def _left_of(said: str) -> str:
    """Return what is left of "let's go with option 2, please": the number, or the words that name an option."""
    said = without_opening(f"{said} ").strip(" .,!")
    left = phrases("pick").sub(" ", re.sub(r"(?<=[0-9])(?=[가-힣])", " ", said))
    return " ".join(left.split()).strip(" .,!")


def _options_of(answer: str) -> dict[str, str]:
    """Return the options of an answer by their number or letter; of several lists, the last that has two."""
    lists: list[dict[str, str]] = [{}]
    for line in answer.splitlines()[-_MOST_LINES:]:
        match = _LINE.match(line)
        if match:
            key = match["key"].casefold()
            if key in lists[-1] or key in ("1", "a"):
                lists.append({})
            lists[-1][key] = shorten(_MARKS.sub("", match["text"]), _LONGEST_OPTION)
    return next((options for options in reversed(lists) if len(options) > 1), {})


def _chosen(left: str, options: dict[str, str], asked: str) -> list[str]:
    """Return the options that a pick names by number, letter, place or words, or its side of "Redis or Postgres?"."""
    if keys := _KEYS.fullmatch(left) or _KEYS.fullmatch(_AND_MORE.split(left, maxsplit=1)[0]):
        return [options[key.casefold()] for key in keys.groups() if key and key.casefold() in options]
    if phrases("ordinal").fullmatch(left):
        return [*options.values()][_place(left.casefold()) :][:1]
    sides = [*options.values()] or phrases("or").split(asked)
    words = _words(left)
    named = [side for side in sides if words and words <= _words(side)]
    if len(named) != 1 or len(sides) < 2 or count_words(left) > _MOST_WORDS:  # noqa: PLR2004  # a choice
        return []
    return named if options else [left]


def _place(ordinal: str) -> int:
    told = (row.phrases for language in languages() for row in rows(language) if row.kind == "ordinal")
    return next(ordinals.index(ordinal) for ordinals in told if ordinal in ordinals)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _PART.findall(text))


def _question(answer: str) -> str:
    """Return the last question of an answer that names its subject, options aside; "" if none does."""
    asked = reversed(_asked(without_options(answer)))
    fit = (text for text in asked if len(text) <= _LONGEST_OPTION and has_subject(text) and stands_alone(text))
    return next((text for text in fit if not phrases("back").search(mask_code(text))), "")


def has_subject(question: str) -> bool:
    """Return whether a question names what it is about, unlike "Which option would you prefer?"."""
    return count_words(phrases("hollow").sub(" ", mask_code(question))) > _FEWEST_OF_SUBJECT


_BY_AGENT_TOOL = "memory_save"  # ends the name of the tool in each host
_COMMAND = re.compile(r"\bgitmem\b[^\n;|&]{0,200}\ssave\b")
_AROUND = timedelta(seconds=2)  # a turn, as its events have times of their own
_NUMBER = re.compile(r"[0-9]+")
_SAME = 0.6  # share of the fewer keywords; within one turn little else shares so many
_FEWEST = 2


def saved_in(facts: Iterable[Fact], turn: Turn) -> list[Fact]:
    """Return the facts that the agent saved while a turn went on; a save that names no session is of the turn, too."""
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
    """Return whether a fact was saved by an agent or a person: not found by the rules, nor mirrored from elsewhere."""
    return bool(fact.origin.get("tool")) and "id" not in fact.origin


def repeated(saved: Iterable[Fact], text: str) -> Fact | None:
    """Return the fact that a guess says again in its own words, None if it says something else."""
    return next((fact for fact in saved if _repeats(fact.description, text)), None)


def _repeats(one: str, other: str) -> bool:
    if says_the_same(one, other):
        return True
    fewer, more = sorted((stems_of(text) | frozenset(_NUMBER.findall(text)) for text in (one, other)), key=len)
    shared = sum(any(_is_same(word, known) for known in more) for word in fewer)
    return shared >= max(_FEWEST, _SAME * len(fewer)) and not contradict(one, other)


def _is_same(one: str, other: str) -> bool:
    """Return whether two words are the same; of Korean ones, one may go on with an ending that no stem is cut from."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) > 1 and "가" <= shorter[0] <= "힣" and longer.startswith(shorter))


MAX_FILES = 5
_SURE = 0.9  # the confidence of what a person says
_PLAIN_WORD = re.compile(r"[^\W\d_A-Z]+(?![\w./:@(-])")  # no `new.ts`, `formatDate()` or `dashboard-app`
_FEWEST_NAMED = 2  # files and numbers that an issue and a mended failure share
_LONG_NUMBER = re.compile(r"(?<![\w.])[0-9]{3,}(?![\w.]*[0-9])")
_MENDED = 0.6  # share of an issue's words that its fix has
_FEWEST_MENDED = 3  # words of an issue that its fix has
_FILE_NAME = re.compile(r"(?<![\w/.-])(?:[\w-][\w.-]{0,80}/){0,12}[\w-][\w.-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")


class FoundFact(Value):
    """A fact found in a session, with its `scope`; `source` is its turn's entry, `by` the model that found it."""

    kind: FactKind
    text: str
    confidence: float
    at: datetime
    source: str
    files: tuple[str, ...] = ()
    by: str = ""
    scope: tuple[str, ...] = ()


def find_facts(turns: Sequence[Turn], roots: Sequence[str], boot_lines: Collection[str] = ()) -> list[FoundFact]:
    """Return the facts in the turns of a session, in order, each once.

    `roots` are the folders that file names are relative to; `boot_lines` are the lines of the agent's own boot files
    (`turns.content_lines`), which it reads at every start.
    """
    found: dict[tuple[FactKind, str], FoundFact] = {}
    answers: dict[str, str] = {}  # the last one of each session
    for turn in turns:
        files = relative_files(turn.files, (*roots, turn.cwd))
        for finding in facts_of_prompt(turn, answers.get(turn.session, ""), files):
            if not is_restated(finding.text, boot_lines):
                found.setdefault((finding.kind, finding.text.casefold()), finding)
        answers[turn.session] = turn.answer
    return list(found.values())


def facts_of_prompt(turn: Turn, answer_before: str, files: Sequence[str]) -> Iterator[FoundFact]:
    """Yield the facts that a person states, and the options of the last answer that the person picks."""
    prompt = human_text(turn.prompt)
    stated = (said._replace(text=in_context(said.text, answer_before)) for said in statements_of(prompt))
    for said in filter(lambda said: said.text, (*picks_of(prompt, answer_before), *stated)):
        text = with_reason(as_statement(said.text), as_statement(said.why) if said.why else "")
        scope = (turn.scope,) if turn.scope else ()
        yield FoundFact(said.kind, text, _SURE, turn.started, turn.exchange_id, files_named(text, files), scope=scope)


class Fix(Value):
    """A fix that an answer reports, with the words that it is about: its own, or those of a failure that works now.

    `named` are the files and numbers of that failure.
    """

    text: str
    at: datetime
    about: frozenset[str]
    named: frozenset[str] = frozenset()

    def mends(self, issue: str) -> bool:
        """Return whether the fix has most of the words of an issue, or its failure the same file and number."""
        words = stems_of(issue)
        shares_words = len(words & self.about) >= max(_MENDED * len(words), _FEWEST_MENDED)
        return shares_words or len(_named(issue) & self.named) >= _FEWEST_NAMED


def find_fixes(turns: Iterable[Turn]) -> Iterator[Fix]:
    """Yield the fixes that the answers of a session report, which end open issues, and one for each mended failure."""
    for turn in turns:
        sentences = [sentence for block in blocks(human_text(turn.answer)) for sentence in sentences_of(block)]
        fixed = [sentence for sentence in sentences if is_resolved(sentence)]
        yield from (Fix(as_statement(sentence), turn.ended, stems_of(sentence)) for sentence in fixed)
        wrong = [f"{failure.command} {failure.error}" for failure in turn.failures if failure.fixed_by] if fixed else []
        yield from (Fix(as_statement(fixed[0]), turn.ended, stems_of(one), _named(one)) for one in wrong)


def _named(text: str) -> frozenset[str]:
    """Return the files that a text names, and its numbers of three digits or more: a port, an error code."""
    return frozenset((*(match[0] for match in _FILE_NAME.finditer(text)), *_LONG_NUMBER.findall(text)))


def as_statement(text: str) -> str:
    """Return a sentence normalised as a fact's text, so that variants of its writing make one fact."""
    text = without_opening(" ".join(text.split())).rstrip(" .,;:!…")
    if _PLAIN_WORD.match(text) and not is_korean(text):  # whose first word in Latin letters is a name
        text = text[0].upper() + text[1:]
    return text if text.endswith(("?", "。")) else f"{text}."


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a session that a text names, by name or by path."""
    named = dict.fromkeys(match[0] for match in _FILE_NAME.finditer(text))
    inside = [file for file in files if not file.startswith(("/", "~", "../")) and file[1:2] != ":"]
    found = [file for name in named for file in inside if file == name or file.endswith(f"/{name}")]
    return tuple(dict.fromkeys(found))[:MAX_FILES]
