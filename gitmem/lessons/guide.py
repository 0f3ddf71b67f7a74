"""Guidance for a task, a question or an error (spec M4).

Working memory is asked first, then episodes and exchanges, then facts, the person's preferences,
bug patterns and what is known of the project.
Each line names its sources. Memories without a clear match are left out, even if no line remains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from gitmem.document.ids import BUGS, short_session
from gitmem.document.message import one_line
from gitmem.facts.extract import purposes_in
from gitmem.facts.fact import FactKind
from gitmem.facts.validity import in_force
from gitmem.history.authors import People
from gitmem.lessons.counts import BEGINS, usefulness_of
from gitmem.lessons.episode import FOLDER as EPISODES_FOLDER
from gitmem.lessons.episode import REJECTED, UNMENDED, ending
from gitmem.lessons.episodes import Ranked, ranked_episodes, similar
from gitmem.lessons.error import MATCH, ErrorSignature, likeness, names_in, quoted, read_errors
from gitmem.lessons.fix import mend_line
from gitmem.lessons.learn_project import known_knowledge
from gitmem.lessons.pattern import FOLDER as PATTERNS
from gitmem.lessons.pattern import LETTER
from gitmem.lessons.project_knowledge import KnowledgeKind, command_lines, read_commands
from gitmem.lessons.prompt import excerpt, needles_of, plain_query
from gitmem.lessons.read import counts, match, own_part, pattern_headers, read_pattern, signature_of
from gitmem.lessons.risk import from_other, without_risk
from gitmem.lessons.usage_log import GUIDE, GivenText, note_asked
from gitmem.search.engine import Answer, answer
from gitmem.search.hits import Hit
from gitmem.search.query import fold, parse_query
from gitmem.search.recall import with_own
from gitmem.search.units import bare_text, fields_in
from gitmem.sessions.events import PLACE, is_place
from gitmem.sessions.memory import running
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.state import TaskStatus, TaskType, WorkingMemory, classify
from gitmem.store.known_facts import known_facts, marked
from gitmem.store.store import Store
from gitmem.text.sentences import seen_times
from gitmem.values import Value

_HITS = 12
_FIRST = 3  # hits of which one matches a task, if any does
_LINES = 4  # of a part
_FEW = 2  # lines of a kind from one episode, of errors; ids of a source
_EPISODES, _RULES, _OF_PROJECT = 3, 3, 3  # episodes; lines of rules and of a document
_READ = 20  # patterns
_TOKENS = 60  # of a line
_LONGEST, _TASK = 400, 120  # characters of a line, and of the task in it
_CONCEPT = "k"
# The least that a memory shares with a task: the weighted share of its words, their weight, their number.
_ASKED, _ORDERED = (0.25, 4.5, 2), (0.3, 6.0, 2)
_LIKE_THE_BEST = 0.6  # of the best memory's share of words
_THE_SAME = 2 / 3  # confidence from which an episode's task is nearly this one
_FEWEST, _REPEATS = 4, 0.7  # words of lines that can be compared; the share of them in lines that say the same
_RULE = re.compile(r"(?m)^\s*\|[-| :]*\|\s*$")  # of a table
_MARKS = r"^\s*(?:#{1,6}|[-*>])\s+|\*\*"  # of headings, lists and bold words
_ENDS = (".", "!", "?", ":", "。", "|")
_NOT_SAID = r"(?m)^(?:Asked|Files|Failed|요청|파일|실패): .*$|^(?:Done|한 일): "  # in an entry of memory.md
_FORBIDS = re.compile(r"\b(?:never|don't|do not|avoid)\b|하지 ?마|쓰지 ?마|금지", re.IGNORECASE)
_DID_NOT_HELP = ("did not help", REJECTED)
_TRIED = ("mended it", "did not help")  # end the lines of errors
_FILE = re.compile(r"[\w.+-]*(?:/[\w.+-]+)+|[\w+-]+\.[A-Za-z]\w{0,5}\b")
_CLAUSE = re.compile(r"[,;.?!\n]\s|\b(?:so|because|since|before|after|until|unless|which|that)\b", re.IGNORECASE)
# Who speaks of failures needs the command that shows them; unasked, it is told only to who asks how to run it.
_RUNS = re.compile(
    r"^how\b|\bhow (?:do|to|can|should)\b|\bruns?\b|어떻게|실행|돌려|돌리"
    r"|\b(?:tests?|lint\w*|types?|type-?check\w*|builds?|format\w*) (?:errors?|failures?|warnings?|issues?|problems?)\b"
    r"|\b(?:failing|broken) (?:[\w-]+ )?(?:tests?|lint\w*|types?|builds?|format\w*)\b"
    r"|\b(?:tests?|lint\w*|builds?) (?:(?:is|are|still|now) ){0,2}(?:fail\w*|broken|red)\b"
    r"|(?:테스트|린트|타입|빌드|포맷).{0,6}(?:실패|에러|오류|깨)",
    re.IGNORECASE,
)


class Part(StrEnum):
    """The use of a line of guidance."""

    APPROACH = "approach"
    TRY = "try"
    AVOID = "avoid"
    CHALLENGE = "challenge"


class Line(Value):
    """A piece of advice, the ids of its sources, and its confidence, 0 to 1."""

    part: Part
    text: str
    sources: tuple[str, ...]
    confidence: float


class Guidance(Value):
    """The advice for a situation."""

    lines: tuple[Line, ...]
    confidence: float


def guide(store: Store, task: str, *, error: str = "", session: str = "") -> Guidance:
    """Return advice for a task, a question, or the error in an output, and record that it was given."""
    began = store.context.clock()
    error = error or quoted(task)
    work = _running(store, session)
    hits = _fitting(store, task) if task.strip() else []
    episodes = ranked_episodes(store, hits, alike=classify(task))[:_EPISODES]
    files = episodes[0].episode.files if episodes else ()
    project = [*_of_errors_in(store, _files_in(task)), *_of_project(store, task, files)] if task.strip() else []
    person = list(_of_person(store, task)) if task.strip() else []
    needles = needles_of(parse_query(plain_query(task)).terms)
    past = [*_of_review(store, task), *_of_past(hits, episodes, needles), *_of_hits(store, hits, episodes, needles)]
    past = list(_by_authors(store, past))
    # A question wants general knowledge before single cases.
    asks = classify(task) is TaskType.QUESTION
    learned = [*person, *project, *past] if asks else [*past, *person, *project]
    lines = _kept(store, [*_of_work(work, task, error), *(_of_error(store, error) if error else ()), *learned])
    ids = tuple(dict.fromkeys(source for line in lines for source in line.sources))
    session = session or (work.session if work else "")
    note_asked(store, GivenText(began, session, GUIDE, ids), "\n".join(line.text for line in lines))
    return Guidance(lines, round(max((line.confidence for line in lines), default=0.0), 2))


def _kept(store: Store, lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return the first lines of each part, without repetitions, with marks on what does not hold."""
    kept: list[Line] = []
    for line in lines:
        same = [one.text for one in kept if one.part is line.part]
        if len(same) < _LINES and not _is_repeated(line.text, same):
            kept.append(line)
    return tuple(one._replace(text=marked(store, one.text, one.sources[0])) for one in kept)


def _is_repeated(text: str, others: Iterable[str]) -> bool:
    """Return whether one of the other texts says nearly the same, or holds the whole of this one."""
    words = set(re.findall(r"\w+", fold(text)))
    for other in others:
        own = set(re.findall(r"\w+", fold(other)))
        shorter = min(len(words), len(own))
        if text == other or (shorter >= _FEWEST and len(words & own) >= _REPEATS * shorter):
            return True
    return False


def _by_authors(store: Store, lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines with the name of an author who is not the person, and without that author's risky commands."""
    people = People(store)
    for line in lines:
        handle = line.sources[0]  # of a pattern the parts have authors of their own
        author = "" if handle.startswith(LETTER) else people.whose(handle.partition(":")[0])
        if author and handle.startswith(("e", "x")):
            yield line._replace(text=from_other(line.text, author, handle))
        elif author:
            yield line._replace(text=f"{without_risk(line.text, handle)} (by {author})")
        else:
            yield line


def _fitting(store: Store, task: str) -> list[Hit]:
    """Return the memories that clearly match a task, about as well as the best of the first.

    The very first may be near by its vector only.
    """
    found = answer(store, plain_query(task), limit=_HITS, beside=EPISODES_FOLDER).hits
    hits = [hit for hit in found if not hit.is_beside]
    least = _ASKED if classify(task) is TaskType.QUESTION else _ORDERED
    best = next((hit for hit in hits[:_FIRST] if _reaches(hit, least)), None)
    if best is None:
        return []
    worst = max(best.worth.share * _LIKE_THE_BEST, least[0])
    return [hit for hit in hits if hit.worth.share >= worst and not hit.weak]


def _reaches(hit: Hit, least: tuple[float, float, int]) -> bool:
    share, weight, words = least
    return hit.worth.share >= share and hit.worth.weight >= weight and hit.worth.words >= words


def _running(store: Store, session: str) -> WorkingMemory | None:
    """Return the working memory of the session, or of the newest with an active task."""
    return next(
        (
            memory
            for memory in running(store)
            if session in {"", memory.session} and memory.task and memory.task.status is TaskStatus.ACTIVE
        ),
        None,
    )


def _of_work(memory: WorkingMemory | None, task: str, error: str) -> Iterator[Line]:
    """Yield what the session tried against these errors, its open hypotheses, and its unmended errors near the task."""
    if memory is None:
        return
    tag = short_session(memory.session)
    seen = read_errors(error) if error else []
    for known in memory.errors:
        signature = ErrorSignature(known.type, known.message, names_in(known.message))
        if any(likeness(signature, one) > MATCH for one in seen):
            text = f"The same again after `{known.command}` failed with it at {known.at[11:16]}: {known.message}"
            yield Line(Part.AVOID, text, (tag,), 1.0)
    for one in memory.hypotheses:
        yield Line(Part.TRY, f"Open: {one.text}", (f"{tag}/{one.id}",), round(one.confidence, 2))
    terms = parse_query(plain_query(task)).terms
    for known in memory.failed:
        text = f"`{known.command}` failed: {known.message}"
        near = [one.weight for one in terms if any(needle.text in fold(text) for needle in one.needles)]
        if near:
            yield Line(Part.CHALLENGE, text, (tag,), round(sum(near) / sum(one.weight for one in terms), 2))


def _of_error(store: Store, error: str) -> Iterator[Line]:
    """Yield what episodes with these errors did, then the working and the failed solutions of the errors."""
    for found in similar(store, error=error, limit=_EPISODES):
        yield from _by_authors(store, _of_episode(found, found.likeness, {}, ()))
    matched = match(store, error)
    useful = counts(store) if matched else {}
    for one in matched:
        pattern, alike = one.pattern, round(one.score, 2)
        if one.solution:
            # A mend that helped whom it was told is surer, one that did not is less sure.
            helped = usefulness_of(useful, (pattern.id, *pattern.episodes)) / BEGINS
            sure = min(one.score * one.solution.confidence * helped, 1.0)
            ids = (pattern.id, *pattern.episodes[-1:], *one.solution.worked[-_LINES:])
            yield Line(Part.TRY, mend_line(one), ids, round(sure / 2 if one.author else sure, 2))
        if one.author:
            continue
        for cause in pattern.causes[:1]:
            yield Line(Part.CHALLENGE, f"Cause: {cause.text}", (pattern.id, *cause.said[-_LINES:]), alike)
        for other in pattern.solutions:
            if other.failed and not other.worked:
                text = f"{other.text} did not help against {pattern.title}"
                yield Line(Part.AVOID, text, (pattern.id, *other.failed[-_LINES:]), alike)


def _of_errors_in(store: Store, named: Sequence[str]) -> Iterator[Line]:
    """Yield the last errors that came from these files, with what mended them; stale ones are left out."""
    names = {_base(file) for file in named}
    headers = pattern_headers(store) if names else []
    paths = [one.path for one in headers if any(frame.partition(":")[0] in names for frame in signature_of(one).frames)]
    about = []
    for pattern in (read_pattern(store, path) for path in paths[:_READ]):
        # Of its files with the name of a named one, if there are any, one has to be that file.
        same = [(file, one) for file in pattern.files for one in named if _base(file) == _base(one)] if pattern else ()
        is_about = not same or any(f"/{file}".endswith(f"/{one}") for file, one in same)
        if pattern and not pattern.stale and is_about and (own := own_part(store, pattern)):
            about.append(own)
    for one in sorted(about, key=lambda one: (one.updated, one.id), reverse=True)[:_FEW]:
        best = one.best()
        mended = f"mended by {best.text}" if best else "not known to be mended"
        text = f"{one.title}: {seen_times(len(one.seen)).lower()}, {mended}, last {one.updated:%Y-%m-%d}"
        ids = (one.id, *(best.worked if best else one.seen)[-_FEW:])
        yield Line(Part.CHALLENGE, text, ids, round(best.confidence if best else MATCH, 2))


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _of_review(store: Store, task: str) -> Iterator[Line]:
    """Yield, for a review, the project's rules that were stated most often."""
    if classify(task) is TaskType.REVIEW:
        rules = [fact for fact in in_force(known_facts(store)) if fact.kind is FactKind.RULE]
        rules.sort(key=lambda fact: (len(fact.sources), fact.when, fact.id), reverse=True)
        for fact in rules[:_RULES]:
            yield Line(Part.APPROACH, f"Check: {fact.description}", (fact.id,), round(fact.confidence or 0.0, 2))


def _of_past(hits: Sequence[Hit], episodes: Sequence[Ranked], needles: Sequence[str]) -> Iterator[Line]:
    """Yield the advice of episodes like a task, in the words of their exchanges where these are hits, too."""
    said = {hit.entry: _excerpt(hit, needles) for hit in hits if hit.entry and not hit.fact}
    shares = {hit.path: hit.worth.share for hit in reversed(hits)}
    for one in episodes:
        yield from _of_episode(one, shares.get(one.path, 0.0), said, needles)


def _of_episode(found: Ranked, share: float, said: dict[str, str], needles: Sequence[str]) -> Iterator[Line]:
    """Yield the advice of an episode that shares so much of the task, whose words are `needles`.

    `said` has, by id of an exchange, its lines that say most of the task.
    """
    episode, source = found.episode, (found.episode.id,)
    # An episode that helped before is surer than its words; one that did not is told only if asked for.
    sure = round(min(share * found.count.usefulness / BEGINS, 1.0), 2)
    failed = episode.outcome is Outcome.FAILED
    exchange = next((one for one in episode.exchanges if one in said), "")
    how = said.get(exchange) or episode.solution
    plan = "; ".join(step[4:] for step in episode.plan if step.startswith("[x] "))
    if how or plan:
        text = f"{one_line(episode.task, _TASK)} ({ending(episode)}): {how}" + (f" Steps: {plan}" if plan else "")
        part = Part.CHALLENGE if failed else Part.APPROACH  # why it failed is not known, so it may still be right
        yield Line(part, one_line(text, _LONGEST), (*source, exchange) if exchange else source, sure)
    tips = [] if failed else [tip for tip in episode.tips if not _is_place(tip)]
    tried = [one for one in episode.gotchas if any(words in one for words in _DID_NOT_HELP)]
    others = [one for one in episode.gotchas if one not in tried]
    for part, lines in ((Part.TRY, tips), (Part.AVOID, tried), (Part.CHALLENGE, others)):
        yield from (Line(part, text, source, sure) for text in _nearest(lines, needles, sure))
    for change in episode.changes[:1]:
        yield Line(Part.CHALLENGE, f"The person then turned the work: {change}", source, sure)


def _is_place(tip: str) -> bool:
    """Return whether a tip says no more than which file was changed."""
    return is_place(f"{PLACE}{tip.removesuffix(' mended it').partition(PLACE)[2]}")


def _nearest(lines: Sequence[str], needles: Sequence[str], sure: float) -> list[str]:
    """Return the lines that share words with the task; else, of nearly the same task, what mended an error or did not.

    What a task stated beside that is about something else, unless it shares a word with this one.
    """
    near = [line for line in lines if any(needle in fold(line) for needle in needles)]
    tried = [line for line in lines if line.endswith(_TRIED) and not line.endswith(UNMENDED)]
    return near[:_FEW] or (tried[:1] if sure >= _THE_SAME else [])


def _of_hits(store: Store, hits: Sequence[Hit], episodes: Sequence[Ranked], needles: Sequence[str]) -> Iterator[Line]:
    """Yield what exchanges and facts say: approaches, failures, open issues; then bug patterns."""
    told = {exchange for one in episodes for exchange in one.episode.exchanges}
    for hit in hits:
        if hit.path.startswith((f"{EPISODES_FOLDER}/", f"{PATTERNS}/")) or hit.entry in told:
            continue
        yield from _of_hit(hit, _excerpt(hit, needles))
    for hit in hits:
        read = read_pattern(store, hit.path) if hit.path.startswith(f"{BUGS}/") else None
        pattern = own_part(store, read) if read else None
        best = pattern.best() if pattern else None
        if pattern and best:
            text, sure = f"{pattern.title}: mended by {best.text}", min(hit.worth.share, 1.0) * best.confidence
            yield Line(Part.TRY, text, (pattern.id, *best.worked[-_LINES:]), round(sure, 2))
        elif pattern:
            yield Line(Part.CHALLENGE, pattern.title, (pattern.id,), round(min(hit.worth.share, 1.0), 2))


def _of_hit(hit: Hit, text: str) -> Iterator[Line]:
    """Yield the text of a fact, or the answer of an exchange: its errors have patterns."""
    sources, sure = (hit.entry or f"{hit.path}:{hit.start}",), round(min(hit.worth.share, 1.0), 2)
    if hit.fact:
        yield Line(Part.CHALLENGE if hit.entry.startswith("i") else Part.APPROACH, text, sources, sure)
        return
    fields = fields_in(hit.text)
    if hit.entry.startswith(_CONCEPT) or (fields.outcome and not fields.answer):
        return  # a list of exchanges, and a request that nothing came of
    yield Line(Part.CHALLENGE if fields.outcome == "failed" else Part.APPROACH, text, sources, sure)


def _of_person(store: Store, task: str) -> Iterator[Line]:
    """Yield the person's own preferences and rules that a task speaks of."""
    for hit in with_own(store, plain_query(task), Answer([], "")).hits:
        if hit.worth.share >= _ASKED[0]:
            text = " ".join(bare_text(hit.text).split())
            part = Part.AVOID if _FORBIDS.search(text) else Part.APPROACH
            yield Line(part, text[: _TOKENS * 4], (hit.entry,), round(min(hit.worth.share, 1.0), 2))


def _of_project(store: Store, task: str, files: Sequence[str] = ()) -> Iterator[Line]:
    """Yield the lines of project knowledge that match a task; `files` are the files of similar tasks."""
    words: dict[int, list[str]] = {}
    for term in parse_query(task).terms:
        if not term.aside:
            words.setdefault(term.group, []).extend(needle.text for needle in term.needles)
    clauses = [clause for clause in _CLAUSE.split(task) if _RUNS.search(clause)]  # not "how do I install it to test it"
    purposes = {purpose for clause in clauses for purpose in purposes_in(clause)}
    named = (*_files_in(task), *files)
    for known, data in known_knowledge(store):
        source = (known.kind.path,)
        if known.kind is KnowledgeKind.COMMANDS:
            for one in read_commands(data).values():
                lines = [line for line in command_lines([one], counted=True) if line.startswith(tuple(purposes))]
                part = Part.CHALLENGE if one.fails_now else Part.TRY
                yield from (Line(part, line, source, round(len(one.worked) / one.tried, 2)) for line in lines)
        elif known.kind is KnowledgeKind.HOTSPOTS:
            about = (
                line
                for line in known.lines
                if any(f"/{file}".endswith(tuple(f"/{one}" for one in named)) for file in _files_in(line))
            )
            yield from (Line(Part.CHALLENGE, line, source, known.confidence) for line in [*about][:_OF_PROJECT])
        else:
            near = (
                line
                for line in known.lines
                if sum(any(one in fold(line) for one in forms) for forms in words.values()) >= _FEW
            )
            yield from (Line(Part.APPROACH, line, source, known.confidence) for line in [*near][:_OF_PROJECT])


def _files_in(text: str) -> list[str]:
    """Return the files that a text names."""
    return [match[0].removeprefix("./") for match in _FILE.finditer(text)]


def _excerpt(hit: Hit, needles: Sequence[str]) -> str:
    """Return the lines of a memory that say most of a task; of an exchange those of its answer."""
    fields = fields_in(hit.text)
    said = "\n".join(filter(None, (fields.answer, *fields.said))) or re.sub(_NOT_SAID, "", bare_text(hit.text))
    return _joined(excerpt(_RULE.sub("", said), needles, _TOKENS).splitlines())


def _joined(lines: Iterable[str]) -> str:
    """Return lines of markdown as one line of plain text."""
    bare = [" ".join(re.sub(_MARKS, "", line).split()) for line in lines]
    ended = [f"{line.rstrip(';,')}{'' if line.endswith(_ENDS) else ';'}" for line in bare if line]
    return " ".join(ended).rstrip(";")


_SURE = {0.75: "These fit well.", 0.5: "These fit in part.", 0: "These are only alike in some words."}


def as_text(found: Guidance, *, person: bool = False) -> str:
    """Return guidance as a few headed lines, "" where there is none; a `person` gets how sure it is in words."""
    if not found.lines:
        return ""
    titles = {
        Part.APPROACH: "What was done and decided",
        Part.TRY: "Try",
        Part.AVOID: "Avoid",
        Part.CHALLENGE: "Expect",
    }
    lines = []
    for part, title in titles.items():
        own = [line for line in found.lines if line.part is part]
        lines += [f"{title}:", *(f"- {line.text} ({_sources(line)})" for line in own)] if own else []
    if person:
        sure = next(words for least, words in _SURE.items() if found.confidence >= least)
        return "\n".join([*lines, "", f"{sure} 'gitmem show ^ID' prints a source."])
    return "\n".join([*lines, f"confidence: {found.confidence:.2f}"])


def _sources(line: Line) -> str:
    return " ".join(source if "/" in source or ":" in source else f"^{source}" for source in line.sources)
