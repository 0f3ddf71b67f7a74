"""Write a finished session's exchanges into its file and `memory.md`, in one commit, without a model (spec V1, V2).

The summary is the sentence of the last answer that best tells the result: it reports an action, names a word of the
request or a changed file, and can stand alone. If it does not name the subject, the request is put before it. Entries
in archives, and entries that a person reworded, stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import permutations

from gitmem.archive.extractive import SentenceRole, is_statement, stems
from gitmem.document.document import Document
from gitmem.document.entry import LINKS, MemoryType, find_by_digest, find_section, put_entry, replace_entry
from gitmem.document.ids import MEMORY, session_path, short_session, tail_of
from gitmem.document.message import Op, Trailer, link, session_message
from gitmem.history.records import last_version
from gitmem.model.entries import exchange_of
from gitmem.model.exchange import (
    MAX_KEYWORDS,
    MAX_SUMMARY,
    SECTION,
    WORDS,
    Exchange,
    details_without,
    file_name,
    new_session,
    parse,
    render,
    took_the_place,
)
from gitmem.model.outcome import Outcome, find_cues, judge_outcome, offers, verdict_of
from gitmem.model.transcript import Record, hook_events
from gitmem.model.turns import Run, Turn, fold, program
from gitmem.model.words import human_text
from gitmem.record.read import boot_lines, redacted
from gitmem.record.save import rotate_if_full
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import Kind, blocks, is_korean, sentences_of, shorten
from gitmem.text.words import keywords, matcher
from gitmem.values import Value

_READ = 8_000  # characters of an answer
_SHORTEST, _LONGEST = 12, 280  # characters of a summary sentence
_ASKED = 80  # characters of the request before it
_FEWEST = 2.0  # score of a sentence that tells the result
_ITEM = 0.6  # factor for list items, unless they report an action
_NAMED = 3  # files or programs
_SHORTEST_WORD = 2
_CONSIDERED = MAX_KEYWORDS + 2  # words, some of which are joined
# "All 4 comments are addressed:" is a result; "Here are the changes:" is a lead-in.
_LEADING = re.compile(r"(?:\s+with)?\s*[:\uff1a]$")
_BOLD = re.compile(r"\*\*([^*\n]{12,280})\*\*")
_PER_BOLD, _FOR_LAST = 0.8, 0.3  # an answer stresses bold sentences and its last paragraph
_MARKUP = re.compile(r"^[ \t]*</?[\w-]{1,30}>", re.MULTILINE)
_ROLES = {MemoryType.ERROR_FIX: 1.5, MemoryType.DECISION: 1.0, MemoryType.LEARNING: 1.0}


# Endings of Korean requests and reasons: "고쳐줘" and "없어서" are keywords of `gitmem.text.words`, and no topics.
_NO_TOPIC = re.compile(r"(?:줘|줘요|주세요|하자|해라|해봐|[어꿔와워려켜져]서)$")
_PROGRAM = re.compile(r"[\w.-]{1,20}(?: [\w-]{1,20})?")


class ExchangeSummary(Value):
    """The words of an exchange: its summary, its keywords, and the sentence of the answer in the summary."""

    summary: str
    keywords: tuple[str, ...]
    sentence: str = ""


def summarize_exchange(
    asked: str, answer: str, files: Sequence[str], runs: Sequence[Run], *, interrupted: bool = False
) -> ExchangeSummary:
    """Return the summary, the keywords and the summary sentence of an exchange.

    `asked` and `answer` are the person's and the agent's words without noise; `interrupted` says that the person
    broke the turn off, and did not only type again.
    """
    changed, passed, failed, broken_off, ran = WORDS[is_korean(f"{asked} {answer[:_READ]}")]
    best = result = _best(asked, answer, files)
    first = next((sentence for block in blocks(asked[:_READ]) for sentence in sentences_of(block)), "")
    request = shorten(first or " ".join(asked[: 2 * _ASKED].split()), _ASKED)
    about = stems(asked)
    if not best:  # then the changed files or the programs that were run
        programs = [program(run.command) for run in runs if not run.failed]
        named = list(dict.fromkeys(name for name in programs if _PROGRAM.fullmatch(name)))
        bases = ", ".join(map(_base, files[:_NAMED])) + (", …" if len(files) > _NAMED else "")
        ends = [changed.format(bases)] if files else [ran.format(", ".join(named[-_NAMED:]))] if named else []
        result = ", ".join([*ends, *[broken_off] * interrupted])
    elif len(about & stems(best)) > min(1, len(about) // 4) or len(request) + len(best) > MAX_SUMMARY:
        request = ""
    summary = f"{request.rstrip(' .:')} → {result}" if request and result else request or result
    tests = verdict_of(runs)
    if tests is not None:
        summary = f"{summary.rstrip(' .')} ({passed if tests is Outcome.SUCCESS else failed})."
    return ExchangeSummary(summary, _keywords(asked, f"{best}\n{answer[:_READ]}", files), best)


def _best(asked: str, answer: str, files: Sequence[str]) -> str:
    """Return the sentence that best tells the result, "" if none does."""
    about, names = stems(asked), {_base(name).casefold() for name in files}
    worth = {cue.text: _ROLES[cue.type] for cue in find_cues(answer[:_READ]) if cue.type in _ROLES}
    bold = [" ".join(words.split()) for words in _BOLD.findall(answer[:_READ])]
    paragraphs = [block for block in blocks(answer[:_READ]) if block.kind is Kind.PARAGRAPH]
    last = " ".join(sentences_of(paragraphs[-1])) if paragraphs else ""
    found = []
    for index, (sentence, item) in enumerate(_statements(answer)):
        did = _says("did", sentence)
        score = 2.0 * did - _ITEM * (item and not did) + min(len(about & stems(sentence)), 3) * 0.7
        score += 1.5 * _says("concludes", sentence)
        score += 1.0 * any(name in sentence.casefold() for name in names)
        score += max((bonus for text, bonus in worth.items() if sentence in text or text in sentence), default=0.0)
        score += _PER_BOLD * any(words.startswith(sentence[:-1]) or sentence.startswith(words) for words in bold)
        score += _FOR_LAST * (sentence in last)
        score += 0.5 / (1 + index) - 0.02 * index - max(0, len(sentence) - 180) / 100
        found.append((score, -index, sentence))
    score, _, sentence = max(found, default=(0.0, 0, ""))
    return "" if score < _FEWEST and files else sentence  # the changed files tell more


def _statements(answer: str) -> Iterator[tuple[str, bool]]:
    """Yield the statements of an answer that can stand alone, and whether each is a list item."""
    asks = offers(answer)
    for block in blocks(_MARKUP.sub("", answer[:_READ])):
        if block.kind in {Kind.HEADING, Kind.QUOTE} or (asks and block.kind is Kind.ITEM):
            continue
        said_here = sentences_of(block)
        for place, said in enumerate(said_here):
            retracted = place + 1 < len(said_here) and _tells_no_result(said_here[place + 1], "takes_back")
            if retracted or _tells_no_result(said, "option", "takes_back", "announces", "dropped"):
                continue
            sentence = _LEADING.sub("", said) if _says("did", said) and not _says("leads_on", said) else said
            if _SHORTEST <= len(sentence) <= _LONGEST and is_statement(sentence, SentenceRole.DONE) and stems(sentence):
                yield sentence, block.kind is Kind.ITEM


def _says(kind: str, sentence: str) -> bool:
    return matcher("answers.tsv", kind).search(sentence) is not None


def _tells_no_result(sentence: str, *kinds: str) -> bool:
    """Return whether a sentence tells no result: an option among several, what the agent takes back or is about to."""
    words = sentence.lstrip("-*#> ")
    return any(matcher("outcomes.tsv", kind).search(words) for kind in kinds)


def _keywords(asked: str, said: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the keywords of an exchange, the most telling first, file names included."""
    score: dict[str, float] = {}
    shown: dict[str, str] = {}
    asked_stems = stems(asked)
    for text, weight in ((asked, 1.5), (said, 1.0)):
        for stem, word in keywords(text):
            shown.setdefault(stem, word)
            named = any(mark in word.strip("._/-") for mark in "._/") or word[1:] != word[1:].lower()
            score[stem] = score.get(stem, 0.0) + weight * (1.6 if named else 1.0)
    for stem in score:
        if stem in asked_stems:
            score[stem] *= 1.5
    for name in files:
        base = _base(name).rpartition(".")[0] or _base(name)
        for stem, word in keywords(base):
            shown.setdefault(stem, word)
            score[stem] = score.get(stem, 0.0) + 2.0
    chosen: list[str] = []
    for word in (shown[stem].strip("._/-") for stem in sorted(score, key=lambda one: -score[one])):
        folded = word.casefold()
        known = any(folded in other.casefold() or other.casefold() in folded for other in chosen)
        if len(word) >= _SHORTEST_WORD and not known and not _NO_TOPIC.search(word):
            chosen.append(word)
    return tuple(_joined(asked, chosen[:_CONSIDERED])[:MAX_KEYWORDS])


def _joined(asked: str, words: list[str]) -> list[str]:
    """Join keywords that are neighbours in the request, such as "login endpoint"."""
    for first, second in permutations(words, 2):
        end = "" if "가" <= second[-1] <= "힣" else r"(?!\w)"  # a Korean word may have a particle
        follows = re.search(rf"(?<!\w){re.escape(first)} {re.escape(second)}{end}", asked)
        if first in words and second in words and follows:
            words[min(words.index(first), words.index(second))] = f"{first} {second}"
            words = [word for word in words if word not in (first, second)]
    return words


def _base(name: str) -> str:
    return name.rpartition("/")[2] or name


_SHORT_ANSWER = 120  # characters; with a shorter answer and no tool used, an exchange is small talk
_MAX_READ = 20_000  # characters of a request and of an answer that are summarized


class Made(Value):
    """An exchange, and what its turn wrote into `memory.md`."""

    exchange: Exchange
    captured: Exchange


def turns_of(parts: Iterable[Record], session: str, host: str) -> list[Turn]:
    """Return the turns of a finished session's transcript; `host` is the host's label in entries."""
    turns = fold(hook_events(parts, None, host))
    return [turn._replace(closed=True) for turn in turns if turn.session in {session, ""}]


def exchanges_of(store: Store, turns: Sequence[Turn]) -> list[Made]:
    """Return the significant exchanges of a session, in order, redacted and made without a model."""
    boot, project = boot_lines(store), os.path.dirname(store.root)
    made = []
    for turn, following in zip(turns, (*turns[1:], None), strict=False):  # without turns there is one None
        clean = redacted(turn, store)
        read = clean._replace(prompt=clean.prompt[:_MAX_READ], answer=clean.answer[:_MAX_READ])
        entry = exchange_of(read, (project, turn.cwd), boot)
        raw, answer = parse(entry) if entry else None, human_text(clean.answer)
        if raw is None or not (turn.tools or len(answer) >= _SHORT_ANSWER):
            continue
        asked, answer = raw.summary, answer[:_MAX_READ]
        request = human_text(clean.prompt)[:_MAX_READ] if asked else ""
        result = summarize_exchange(request, answer, raw.files, clean.runs, interrupted=clean.interrupted)
        next_prompt = human_text(following.prompt) if following else ""
        exchange = raw._replace(
            summary=result.summary or asked or raw.details,
            asked="" if asked and result.summary.startswith(asked.rstrip(" .:…")) else asked,
            details=details_without(raw.details, result.sentence),
            keywords=result.keywords,
            outcome=judge_outcome(clean._replace(answer=answer, files=raw.files), next_prompt),
            raw=False,
        )
        made.append(Made(exchange, raw))
    return made


def save_exchanges(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the exchanges of a finished session, made without a model; returns the commit.

    Saved exchanges stay as they are; a second call adds nothing. Raises GitmemError if they could not be committed.
    """
    made = exchanges_of(store, turns)
    if not made:
        return None

    def plan(transaction: Transaction) -> int:
        begun = turns[0].started
        path = find_session_file(transaction, session, begun)
        path = path or session_path(begun.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), file_name(session))
        data = transaction.read(path)
        if data is None and last_version(store.repository, path) is not None:
            return 0  # cleared since
        document = Document.parse(data or new_session(session, host, file_name(session), begun))
        body, changed = document.body, []
        for one in made:
            if find_by_digest(body, tail_of(one.exchange.id)) is None:
                body = put_entry(body, SECTION, render(one.exchange), document.newline)
                changed.append(one)
        document = document.with_body(body)
        if not changed and data is not None:
            return 0
        rotate_if_full(transaction, store)
        changes: dict[str, bytes | None] = {path: document.render()}
        if memory := transaction.read(MEMORY) or b"":
            changes[MEMORY] = _with_exchanges(memory, changed)
        summary = changed[0].exchange.summary if len(changed) == 1 else f"{len(changed)} exchanges"
        subject = f"Session {short_session(file_name(session))}: {summary}"
        ids = (one.exchange.id for one in changed)
        message = session_message(subject, Op.EXCHANGES, Trailer.ENTRY, ids, session=session, host=host)
        return len(changed) if transaction.commit(message, changes, when=turns[-1].ended) else 0

    return transact(store, plan, purpose="exchanges").commit


def _with_exchanges(data: bytes, changed: Sequence[Made]) -> bytes:
    """Return `memory.md` with exchanges instead of the entries their turns wrote, if those are unchanged."""
    document = Document.parse(data)
    body = document.body
    for one in changed:
        present = find_by_digest(body, tail_of(one.exchange.id))
        now = parse(present.entry) if present else None
        if present and now and took_the_place(now, one.captured):
            # Perhaps of a longer turn.
            new = one.exchange._replace(time=now.time, files=now.files, failed=now.failed)
            body = replace_entry(body, present, render(new), document.newline)
    return document.with_body(body).render()


_LINKED = {"episodes": "task", "patterns": "error", "sessions": "session"}  # a fact's is its kind


def find_session_file(transaction: Transaction, session: str, started: datetime) -> str | None:
    """Return the path of the file of a session that began then, None if it has none."""
    name = file_name(session)
    folder = session_path(started.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), name).rpartition("/")[0]
    names = sorted(other for other in transaction.names(folder) if other.endswith(f"-{name}.md"))
    return f"{folder}/{names[0]}" if names else None


def with_links(transaction: Transaction, path: str, files: Mapping[str, str]) -> dict[str, bytes | None]:
    """Return the change of a document that adds links to these files, given with titles; {} if it has them all."""
    data, up = transaction.read(path), "../" * path.count("/")
    document = Document.parse(data or b"")
    new = [
        f"- {_LINKED.get(name.split('/')[0]) or name.split('/')[1]}: {link(title, up + name)}"
        for name, title in files.items()
        if f"({up}{name})" not in document.body
    ]
    if data is None or not new:
        return {}
    newline, there = document.newline, find_section(document.body, LINKS)
    end = there.end if there else len(document.body)
    before, after = document.body[:end].rstrip(), document.body[end:]
    title = [] if there else ["", f"## {LINKS}", ""]
    lines = [before, *title, *new, *([""] if after else [])]
    return {path: document.with_body(newline.join([*lines, ""]) + after).render()}


def without_links(data: bytes, gone: Collection[str]) -> bytes:
    """Return a document without its links to these files, and without the section if it has no others."""
    document = Document.parse(data)
    body, there = document.body, find_section(document.body, LINKS)
    if there is None:
        return data
    lines = body[there.body : there.end].splitlines(keepends=True)
    left = [line for line in lines if line.rpartition("../")[2].rstrip().removesuffix(")") not in gone]
    before, after = body[: there.body] + "".join(left), body[there.end :]
    if not "".join(left).strip():
        before = body[: there.start].rstrip() + document.newline * (2 if after else 1)
    return data if left == lines else document.with_body(before + after).render()
