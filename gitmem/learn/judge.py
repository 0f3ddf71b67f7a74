"""Have a model judge finished sessions, each once, and commit the claims that pass.

The end of a session writes a request file into the private folder; the background work or `gitmem judge` asks the
model. The answer is stored beside the requests before its commit and stays there, so that an interrupted judgement
resumes without asking again and a user can see the question. A request is tried three times; until one succeeds, the
offline result stays.
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
from gitmem.history.authors import Authors
from gitmem.hosts.registry import read_transcript
from gitmem.learn.check import AnswerChecker
from gitmem.learn.end import logged_turns, turns_of_file, turns_of_transcript
from gitmem.learn.evidence import AgentOutput
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
from gitmem.record.read import redacted, turns_of
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_concepts
from gitmem.store.store import Store
from gitmem.store.transcripts import read as read_stored
from gitmem.values import Value

_ANSWERS = "judged"  # in the private folder, a file for each session
Answer = Callable[[Question], tuple["AnsweredWindow | None", str]]
_TRIES = 3
_KEPT_ANSWERS = 200


class AnsweredWindow(Value):
    """A question about one window of a session, the model's answer as stored, and the model."""

    digest: str
    question: str
    answer: str
    model: str
    tokens: int = 0


class JudgementResult(Value):
    """The claims that passed, the commit, the `question` without an answer, and why ("" if a model answered)."""

    judged: Judged
    commit: str | None = None
    why: str = ""
    question: Question | None = None


def request_judgement(store: Store, session: str, host: str, transcript: str) -> None:
    """Request that a session is judged, by a model in the background or by the agent at its next start."""
    request = {"session": session, "host": host, "transcript": transcript, "tries": 0}
    requests.write_request(store.private, file_name(session), request)


def judge_requested(store: Store, late: Callable[[], bool]) -> None:
    """Judge requested sessions until it is `late`, three tries each, unless another process is doing so."""
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
    """Judge a requested session; return False if that failed, as the next one would probably fail too."""
    request = read_object(path)
    session, tries = str(request.get("session", "")), request.get("tries")
    if not session or not isinstance(tries, int):
        drop_file(path)
        return True
    if not is_worth_asking(store, _subject(session)):
        return True
    # Counted before asking, as the process may be killed.
    requests.write_request(store.private, file_name(session), {**request, "tries": tries + 1})
    host, transcript = str(request.get("host", "")), str(request.get("transcript", ""))
    done = judge_session(store, read_session(store, session, host, transcript))
    if not done.why or tries + 1 >= _TRIES:
        drop_file(path)
    return not done.why


class SessionRecord(Value):
    """A session's redacted turns, and the texts of the agent and its tools, None if unknown."""

    id: str
    host: str
    turns: tuple[Turn, ...]
    outputs: tuple[AgentOutput, ...] | None


def judge_session(store: Store, record: SessionRecord) -> JudgementResult:
    """Have the configured model judge a session, and keep the claims that pass."""
    return _judge(store, record, partial(_asked, store, record.id))


def open_question(store: Store, record: SessionRecord) -> Question | None:
    """Return the next question about a session for the agent itself to answer, None if all are answered."""
    return _judge(store, record, lambda _: (None, "")).question


def put_answer(store: Store, record: SessionRecord, reply: str, model: str) -> JudgementResult:
    """Take an agent's reply to the open question about a session; keep what passes once all are answered."""
    parsed = without_secrets(store, parse_reply(reply, ANSWERED))
    replies = [json.dumps(parsed, ensure_ascii=False)]

    def answer(question: Question) -> tuple[AnsweredWindow | None, str]:
        if not replies:
            return None, ""
        return AnsweredWindow(digest_of(question), question.material, replies.pop(), model), ""

    return _judge(store, record, answer)


def _judge(store: Store, record: SessionRecord, answer: Answer) -> JudgementResult:
    """Keep the claims that pass, from the stored answers and then from those that `answer` returns."""
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
        reader = AnswerChecker(window, memory, earlier, record.outputs, allow)
        judged = judged.joined(reader.read(parse_reply(answered.answer, ANSWERED)))
    commit = keep(store, JudgedSession(record.id, record.host, record.turns, asked[-1].model), judged, memory)
    requests.drop_request(store.private, file_name(record.id))
    _keep_answers(store, record.id, asked, memory, judged)  # only now: until the commit there is no other copy
    return JudgementResult(judged, commit)


def read_session(store: Store, session: str, host: str, transcript: str, path: str = "") -> SessionRecord:
    """Read a session from its transcript, else from the daily logs or its file.

    From logs and files only the user's own exchanges count, as anybody who pushes can write there.
    They lack tool outputs, which the stored transcript (L1) may have.
    """
    records = [*read_transcript(transcript)] if transcript else []
    turns = turns_of(records, session, host)
    outputs: tuple[AgentOutput, ...] | None = tuple(outputs_in(records))
    if not turns:
        authors = Authors(store)
        logged = logged_turns(store, session, host)
        logged = logged or _filed_turns(store, session, host, path)
        turns = [turn for turn in logged if not authors.others(turn.exchange_id)]
        outputs = _outputs_before(store, session)
    return SessionRecord(session, host, tuple(redacted(turn, store) for turn in turns), outputs)


def _filed_turns(store: Store, session: str, host: str, path: str) -> list[Turn]:
    """Return the turns of a session from its file, as its logs are gone.

    The stored transcript of a migrated session has them in full, unless transcripts come from elsewhere.
    """
    data = (store.read(path) if path else None) or b""
    stored = [] if store.config.sync.transcripts else read_stored(store, session) or []
    turns, known = turns_of_transcript(stored, session, host), {exchange.id for exchange in exchanges_in(data)}
    is_migrated = bool(known) and known.issubset(turn.exchange_id for turn in turns)
    return turns if is_migrated else turns_of_file(data, session, host)


_SPEAKERS = {Role.ASSISTANT: AGENT, Role.RESULT: TOOL}


def outputs_in(records: Iterable[Record]) -> Iterator[AgentOutput]:
    """Yield the texts of the agent and its tools in a transcript, in order."""
    for record in records:
        if record.role in _SPEAKERS and record.text and not (record.sidechain and record.role is Role.ASSISTANT):
            yield AgentOutput(_SPEAKERS[record.role], record.text)


def _outputs_before(store: Store, session: str) -> tuple[AgentOutput, ...] | None:
    """Return the texts of the agent and its tools in the stored transcript, None without one."""
    lines = read_stored(store, session)
    if lines is None:
        return None
    facts = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            part = json.loads(line)
            role, text = Role(part["role"]), part.get("text")
            if role in _SPEAKERS and isinstance(text, str) and (role is Role.RESULT or "agent" not in part):
                facts.append(AgentOutput(_SPEAKERS[role], text))
    return tuple(facts)


def is_judged(store: Store, session: str, path: str) -> bool:
    """Return whether a model judged a session, by its file or, on this machine, by its stored answers."""
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
    """Return the questions about a session on this machine, window by window, with the answers."""
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
    """Return the memory shown with answers that were not committed, so that the same questions are asked."""
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


class Figures(Value):
    """The numbers of kept and refused claims of a judged session, and the tokens used."""

    at: datetime
    kept: int
    refused: Mapping[str, int]
    tokens: int


def judged_sessions(store: Store) -> list[Figures]:
    """Return the figures of the sessions that were judged on this machine."""
    folder = os.path.join(store.private, _ANSWERS)
    sessions = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        record = read_object(os.path.join(folder, name))
        with contextlib.suppress(KeyError, TypeError, ValueError):
            tokens = sum(int(item["tokens"]) for item in record["asked"])
            sessions.append(
                Figures(datetime.fromisoformat(record["at"]), int(record["kept"]), dict(record["refused"]), tokens)
            )
    return sessions


def _subject(session: str) -> str:
    return f"session {session}"


def _answers_file(store: Store, session: str) -> str:
    return os.path.join(store.private, _ANSWERS, file_name(session) + requests.SUFFIX)
