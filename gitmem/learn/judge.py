"""Have a model judge finished sessions, each once, and keep what passes in one commit.

The end of a session writes a request into the private folder, a file each; the background work asks, and so does
`gitmem judge`. An answer is kept beside the requests, before its commit and after it: what was stopped goes on without
a second question, and a user can see what was asked. A request is tried three times; then, and until then, the offline
result stays.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import chain

from gitmem.document.document import Document
from gitmem.errors import BusyError
from gitmem.history.authors import People
from gitmem.learn.check import Reader
from gitmem.learn.end import filed_turns, l1_turns, logged_turns, read_records
from gitmem.learn.evidence import Heard
from gitmem.learn.keep import keep
from gitmem.learn.question import (
    AGENT,
    ANSWERED,
    PURPOSE,
    TOOL,
    KnownMemory,
    choose_known,
    digest_of,
    question_of,
    waiting_pairs,
    windows_of,
)
from gitmem.learn.reply import Judged
from gitmem.learn.results import JudgedSession
from gitmem.llm import requests
from gitmem.llm.ask import ask, instructions_for, is_worth_asking, without_secrets
from gitmem.llm.protocol import Question, ReplyError, parse_reply
from gitmem.model.exchange import exchanges_in, file_name
from gitmem.model.transcript import Record, Role
from gitmem.model.turns import Turn
from gitmem.platform.safe_open import drop_file, read_object, write_json
from gitmem.record.exchanges import turns_of
from gitmem.record.read import redacted
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_concepts
from gitmem.store.store import Store
from gitmem.store.transcripts import read as read_transcript
from gitmem.values import Value

_ANSWERS = "judged"  # folder of the private folder: by session, a file each
Answer = Callable[[Question], tuple["AnsweredWindow | None", str]]
_TRIES = 3
_KEPT_ANSWERS = 200


class AnsweredWindow(Value):
    """A question about one window of a session, the model's answer as it was kept, and the model."""

    digest: str
    question: str
    answer: str
    model: str
    tokens: int = 0


class JudgementResult(Value):
    """What passed of a session, the commit, the `question` without an answer, and why ("" if a model answered)."""

    judged: Judged
    commit: str | None = None
    why: str = ""
    question: Question | None = None


def request_judgement(store: Store, session: str, host: str, transcript: str) -> None:
    """Request that a model judges a session in the background, or the agent itself at its next start."""
    request = {"session": session, "host": host, "transcript": transcript, "tries": 0}
    requests.write_request(store.private, file_name(session), request)


def judge_requested(store: Store, late: Callable[[], bool]) -> None:
    """Have requested sessions judged until it is `late`, three times each, unless another process is at it."""
    if not requests.waiting(store.private):
        return
    folder = os.path.join(store.private, requests.FOLDER)
    with contextlib.suppress(BusyError), store.folder_lock(folder, "judge").acquire(0):
        seen = set[str]()
        while new := [path for path in requests.waiting(store.private) if path not in seen]:
            seen.update(new)
            for path in new:
                if late() or not _judge_requested(store, path):
                    return


def _judge_requested(store: Store, path: str) -> bool:
    """Have a requested session judged; return False if that failed, as the next question probably would."""
    request = read_object(path)
    session, tries = str(request.get("session", "")), request.get("tries")
    if not session or not isinstance(tries, int):
        drop_file(path)
        return True
    if not is_worth_asking(store, _subject(session)):
        return True
    # The try counts, whatever ends this process.
    requests.write_request(store.private, file_name(session), {**request, "tries": tries + 1})
    host, transcript = str(request.get("host", "")), str(request.get("transcript", ""))
    done = judge_session(store, read_session(store, session, host, transcript))
    if not done.why or tries + 1 >= _TRIES:
        drop_file(path)
    return not done.why


class SessionRecord(Value):
    """A session as it was read: its redacted turns, and what the agent and its tools said, None if nobody knows."""

    id: str
    host: str
    turns: tuple[Turn, ...]
    heard: tuple[Heard, ...] | None


def judge_session(store: Store, record: SessionRecord) -> JudgementResult:
    """Have the model of the settings judge a session as it was read, and keep what passes."""
    return _judge(store, record, partial(_asked, store, record.id))


def open_question(store: Store, record: SessionRecord) -> Question | None:
    """Return the next question about a session for an agent that answers by itself; None if all are answered."""
    return _judge(store, record, lambda _: (None, "")).question


def put_answer(store: Store, record: SessionRecord, reply: str, model: str) -> JudgementResult:
    """Take an agent's reply to the open question about a session; keep what passes once all are answered."""
    given = without_secrets(store, parse_reply(reply, ANSWERED))
    replies = [json.dumps(given, ensure_ascii=False)]

    def answer(question: Question) -> tuple[AnsweredWindow | None, str]:
        if not replies:
            return None, ""
        return AnsweredWindow(digest_of(question), question.material, replies.pop(), model), ""

    return _judge(store, record, answer)


def _judge(store: Store, record: SessionRecord, answer: Answer) -> JudgementResult:
    """Keep what passes of the answers about a session: those kept before, then those that `answer` returns."""
    windows, allow = windows_of(record.turns), store.config.redaction.allow
    if not windows:
        return JudgementResult(Judged())
    before = {window.digest: window for window in answers_of(store, record.id)}
    memory = _known_before(store, record.id)
    memory = memory or choose_known(chain.from_iterable(windows), known_facts(store), known_concepts(store))
    judged, asked = Judged(), list[AnsweredWindow]()
    for window in windows:
        earlier = {f"S{number}": claim.statement for number, claim in enumerate(judged.facts, 1)}
        question = question_of(instructions_for(store, PURPOSE), window, memory, earlier)
        answered = before.get(digest_of(question))
        if answered is None:
            _keep_answers(store, record.id, asked, memory)
            answered, why = answer(question)
            if answered is None:
                return JudgementResult(judged, why=why, question=question)
        asked.append(answered)
        _keep_answers(store, record.id, asked, memory)
        reader = Reader(window, memory, earlier, record.heard, allow)
        judged = judged.joined(reader.read(parse_reply(answered.answer, ANSWERED)))
    commit = keep(store, JudgedSession(record.id, record.host, record.turns, asked[-1].model), judged, memory)
    requests.drop_request(store.private, file_name(record.id))
    _keep_answers(store, record.id, asked, memory, judged)  # only now: until the commit the answers are all there is
    return JudgementResult(judged, commit)


def read_session(store: Store, session: str, host: str, transcript: str, path: str = "") -> SessionRecord:
    """Return a session as its transcript, else as the logs or its file tell it.

    Of logs and files only the user's own exchanges count: anybody who pushes can write there that a user said so.
    They lack what tools put out, which the stored transcript (L1) may have.
    """
    records = [*read_records(transcript)] if transcript else []
    turns = turns_of(records, session, host)
    heard: tuple[Heard, ...] | None = tuple(heard_in(records))
    if not turns:
        people = People(store)
        logged = logged_turns(store, session, host)
        logged = logged or _filed_turns(store, session, host, path)
        turns = [turn for turn in logged if not people.whose(turn.exchange_id)]
        heard = _heard_before(store, session)
    return SessionRecord(session, host, tuple(redacted(turn, store) for turn in turns), heard)


def _filed_turns(store: Store, session: str, host: str, path: str) -> list[Turn]:
    """Return the turns of a session whose logs are gone, as its file tells them.

    A migrated one has them in full in its stored transcript, unless transcripts come from elsewhere.
    """
    data = (store.read(path) if path else None) or b""
    stored = [] if store.config.sync.transcripts else read_transcript(store, session) or []
    turns, known = l1_turns(stored, session, host), {exchange.id for exchange in exchanges_in(data)}
    is_migrated = bool(known) and known.issubset(turn.exchange_id for turn in turns)
    return turns if is_migrated else filed_turns(data, session, host)


_SPEAKERS = {Role.ASSISTANT: AGENT, Role.RESULT: TOOL}


def heard_in(records: Iterable[Record]) -> Iterator[Heard]:
    """Yield what the agent and its tools said in a transcript, in order."""
    for record in records:
        if record.role in _SPEAKERS and record.text and not (record.sidechain and record.role is Role.ASSISTANT):
            yield Heard(_SPEAKERS[record.role], record.text)


def _heard_before(store: Store, session: str) -> tuple[Heard, ...] | None:
    """Return what the agent and its tools said as the stored transcript tells it, None if there is none."""
    lines = read_transcript(store, session)
    if lines is None:
        return None
    facts = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            part = json.loads(line)
            role, text = Role(part["role"]), part.get("text")
            if role in _SPEAKERS and isinstance(text, str) and (role is Role.RESULT or "agent" not in part):
                facts.append(Heard(_SPEAKERS[role], text))
    return tuple(facts)


def is_judged(store: Store, session: str, path: str) -> bool:
    """Return whether a model has judged the session of a file, on this machine also one that a user summed up."""
    by = Document.parse((store.read(path) if path else None) or b"").get("by")
    return bool(by) or "kept" in read_object(_answers_file(store, session))


def _asked(store: Store, session: str, question: Question) -> tuple[AnsweredWindow | None, str]:
    """Return the model's answer to a question, redacted; or None and why there is none."""

    def read(answer: Mapping[str, object]) -> str:
        return json.dumps(without_secrets(store, answer), ensure_ascii=False)

    asked = ask(store, question, _subject(session), read)
    if asked.value is None:
        return None, asked.why
    return AnsweredWindow(digest_of(question), question.material, asked.value, asked.model, asked.tokens), ""


def answers_of(store: Store, session: str) -> list[AnsweredWindow]:
    """Return what was asked about a session on this machine, window by window, with the answers."""
    asked = read_object(_answers_file(store, session)).get("asked")
    answers = []
    for item in asked if isinstance(asked, list) else []:
        with contextlib.suppress(KeyError, TypeError, ReplyError):
            text = str(item["answer"])
            parse_reply(text, ANSWERED)
            answers.append(
                AnsweredWindow(
                    str(item["digest"]), str(item["question"]), text, str(item["model"]), int(item["tokens"])
                )
            )
    return answers


def _known_before(store: Store, session: str) -> KnownMemory | None:
    """Return the memory that was shown with answers whose commit was cut off, so that the questions are the same."""
    value = read_object(_answers_file(store, session))
    if "kept" in value or not isinstance(value.get("known"), list):
        return None
    facts = {fact.id: fact for fact in known_facts(store)}
    concepts = {concept.id: concept for concept in known_concepts(store)}
    some = tuple(facts[name] for name in value["known"] if name in facts)
    return KnownMemory(some, tuple(concepts[name] for name in value["known"] if name in concepts), waiting_pairs(some))


def _keep_answers(
    store: Store, session: str, asked: list[AnsweredWindow], known: KnownMemory, judged: Judged | None = None
) -> None:
    folder = os.path.join(store.private, _ANSWERS)
    value: dict[str, object] = {
        "asked": [window._asdict() for window in asked],
        "at": store.context.clock().isoformat(),
    }
    value["known"] = [*(fact.id for fact in known.facts), *(concept.id for concept in known.concepts)]
    if judged is not None:
        value |= {"kept": judged.kept, "refused": dict(judged.refused)}
    write_json(_answers_file(store, session), value, sync=True)
    paths = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
    for path in paths[:-_KEPT_ANSWERS]:
        drop_file(path)


class Counted(Value):
    """The claims of a judged session that were kept and refused, and the tokens it took."""

    at: datetime
    kept: int
    refused: Mapping[str, int]
    tokens: int


def judged_sessions(store: Store) -> list[Counted]:
    """Return the figures of the sessions that were judged on this machine."""
    folder = os.path.join(store.private, _ANSWERS)
    sessions = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        record = read_object(os.path.join(folder, name))
        with contextlib.suppress(KeyError, TypeError, ValueError):
            tokens = sum(int(item["tokens"]) for item in record["asked"])
            sessions.append(
                Counted(datetime.fromisoformat(record["at"]), int(record["kept"]), dict(record["refused"]), tokens)
            )
    return sessions


def _subject(session: str) -> str:
    return f"session {session}"


def _answers_file(store: Store, session: str) -> str:
    return os.path.join(store.private, _ANSWERS, file_name(session) + requests.SUFFIX)
