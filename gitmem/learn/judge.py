"""Have a model judge finished sessions, each once, and keep what passes in one commit (spec U7).

The end of a session writes a request into the private folder, a file each; the background work asks, and so does
`gitmem judge`. An answer is kept beside the requests, before its commit and after it: what was stopped goes on without
a second question, and a user can see what was asked. A request is tried three times; then, and until then, the offline
result stays.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

from gitmem.document.document import Document
from gitmem.errors import BusyError
from gitmem.history.authors import People
from gitmem.learn.concepts import known_concepts
from gitmem.learn.end import filed_turns, logged_turns, read_records
from gitmem.learn.keep import JudgedSession, keep
from gitmem.learn.question import SCHEMA, KnownMemory, choose_known, digest_of, question_of, windows_of
from gitmem.learn.reply import Judged, Reader
from gitmem.llm import Question, ReplyError, parse_reply
from gitmem.llm.ask import ask, instructions_for, is_worth_asking, without_secrets
from gitmem.model.exchange import file_name
from gitmem.model.transcript import Role
from gitmem.model.turns import Turn
from gitmem.platform.safe_open import drop_file, read_json, write_json
from gitmem.record.exchanges import turns_of
from gitmem.record.read import redacted
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.values import Value

_REQUESTS, _ANSWERS = "asking", "judged"  # folders of the private folder: by session, a file each
_SUFFIX = ".json"
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
    """The result for a session: what passed, the commit, and why nothing did ("" where a model answered)."""

    judged: Judged
    commit: str | None = None
    why: str = ""


def request_judgement(store: Store, session: str, host: str, transcript: str) -> None:
    """Request that a model judges a session in the background."""
    _write(store, _REQUESTS, session, {"session": session, "host": host, "transcript": transcript, "tries": 0})


def judge_requested(store: Store, late: Callable[[], bool]) -> None:
    """Have requested sessions judged until it is `late`, unless another process is at it.

    A session that failed three times is given up. Raises GitmemError if an answer could not be committed.
    """
    folder = os.path.join(store.private, _REQUESTS)
    if not _requests(folder):
        return
    with contextlib.suppress(BusyError), store.folder_lock(folder, "judge").acquire(0):
        seen = set[str]()
        while new := [name for name in _requests(folder) if name not in seen]:
            seen.update(new)
            for name in new:
                if late() or not _judge_one(store, os.path.join(folder, name)):
                    return


def _requests(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIX)) if os.path.isdir(folder) else []


def _judge_one(store: Store, path: str) -> bool:
    """Have a requested session judged; return False if that failed, as the next question probably would."""
    given = _read(path)
    session, tries = str(given.get("session", "")), given.get("tries")
    if not session or not isinstance(tries, int):
        drop_file(path)
        return True
    if not is_worth_asking(store, _subject(session)):
        return True
    _write(store, _REQUESTS, session, {**given, "tries": tries + 1})  # counts, whatever ends this process
    host = str(given.get("host", ""))
    read = read_session(store, session, host, str(given.get("transcript", "")))
    done = judge_session(store, session, host, read)
    if not done.why or tries + 1 >= _TRIES:
        drop_file(path)
    return not done.why


def judge_session(store: Store, session: str, host: str, read: tuple[list[Turn], list[str]]) -> JudgementResult:
    """Have the model of the settings judge a session as it was read, and keep what passes.

    Raises GitmemError if it could not be committed.
    """
    turns, outputs = read
    windows, allow = windows_of(turns), store.config.redaction.allow
    if not windows:
        return JudgementResult(Judged())
    before = answers_of(store, session)
    known = _known_before(store, session) if before else None
    known = known or choose_known(chain.from_iterable(windows), known_facts(store), known_concepts(store))
    judged, asked = Judged(), []
    for window in windows:
        found = {f"S{number}": claim.statement for number, claim in enumerate(judged.facts, 1)}
        question = question_of(instructions_for(store, "session"), window, known, found)
        one, why = _answer(store, session, question, before)
        if one is None:
            return JudgementResult(judged, why=why)
        asked.append(one)
        _keep_answers(store, session, asked, known)
        reader = Reader(window, known, found, outputs, allow)
        judged = judged.joined(reader.read(parse_reply(one.answer, SCHEMA)))
    commit = keep(store, JudgedSession(session, host, tuple(turns), asked[-1].model), judged, known)
    _keep_answers(store, session, asked, known, judged)  # only now: until the commit the answers are all there is
    return JudgementResult(judged, commit)


def read_session(
    store: Store, session: str, host: str, transcript: str, path: str = ""
) -> tuple[list[Turn], list[str]]:
    """Return the redacted turns of a session, of its transcript or as the logs or its file tell, and tools' outputs.

    Of logs and files only the person's own exchanges count: anybody who pushes can write there that a person said so.
    """
    records = [*read_records(transcript)] if transcript else []
    turns = turns_of(records, session, host)
    if not turns:
        people = People(store)
        told = logged_turns(store, session, host)
        told = told or (filed_turns(store.read(path) or b"", session, host) if path else [])
        turns = [turn for turn in told if not people.whose(turn.exchange_id)]
    outputs = [record.text for record in records if record.role is Role.RESULT]
    return [redacted(turn, store) for turn in turns], outputs


def is_judged(store: Store, session: str, path: str) -> bool:
    """Return whether a model has judged the session of a file, on this machine also one that a person summed up."""
    by = Document.parse(store.read(path) or b"").get("by")
    return bool(by) or "kept" in _read(_path(store, _ANSWERS, session))


def _answer(
    store: Store, session: str, question: Question, before: list[AnsweredWindow]
) -> tuple[AnsweredWindow | None, str]:
    """Return the kept answer to a question, else the model's, redacted; or None and why there is none."""
    digest = digest_of(question)
    kept = next((one for one in before if one.digest == digest), None)
    if kept is not None:
        return kept, ""

    def read(given: Mapping[str, object]) -> str:
        return json.dumps(without_secrets(store, given), ensure_ascii=False)

    asked = ask(store, question, _subject(session), read)
    if asked.value is None:
        return None, asked.why
    return AnsweredWindow(digest, question.material, asked.value, asked.model, asked.tokens), ""


def answers_of(store: Store, session: str) -> list[AnsweredWindow]:
    """Return what was asked about a session on this machine, window by window, with the answers."""
    asked = _read(_path(store, _ANSWERS, session)).get("asked")
    found = []
    for one in asked if isinstance(asked, list) else []:
        with contextlib.suppress(KeyError, TypeError, ReplyError):
            text = str(one["answer"])
            parse_reply(text, SCHEMA)
            found.append(
                AnsweredWindow(str(one["digest"]), str(one["question"]), text, str(one["model"]), int(one["tokens"]))
            )
    return found


def _known_before(store: Store, session: str) -> KnownMemory | None:
    """Return the memory that was shown with answers whose commit was cut off, so that the questions are the same."""
    value = _read(_path(store, _ANSWERS, session))
    if "kept" in value or not isinstance(value.get("known"), list):
        return None
    facts = {fact.id: fact for fact in known_facts(store)}
    concepts = {concept.id: concept for concept in known_concepts(store)}
    return KnownMemory(
        tuple(facts[name] for name in value["known"] if name in facts),
        tuple(concepts[name] for name in value["known"] if name in concepts),
    )


def _keep_answers(
    store: Store, session: str, asked: list[AnsweredWindow], known: KnownMemory, judged: Judged | None = None
) -> None:
    folder = os.path.join(store.private, _ANSWERS)
    value: dict[str, object] = {"asked": [one._asdict() for one in asked], "at": store.context.clock().isoformat()}
    value["known"] = [*(fact.id for fact in known.facts), *(concept.id for concept in known.concepts)]
    if judged is not None:
        value |= {"kept": judged.kept, "refused": dict(judged.refused)}
    _write(store, _ANSWERS, session, value, sync=True)
    paths = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
    for path in paths[:-_KEPT_ANSWERS]:
        drop_file(path)


class Counted(Value):
    """The claims of a judged session that were kept and refused, and the tokens it took."""

    at: datetime
    kept: int
    refused: Mapping[str, int]
    tokens: int


def counted(store: Store) -> list[Counted]:
    """Return the figures of the sessions that were judged on this machine."""
    folder = os.path.join(store.private, _ANSWERS)
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        given = _read(os.path.join(folder, name))
        with contextlib.suppress(KeyError, TypeError, ValueError):
            tokens = sum(int(one["tokens"]) for one in given["asked"])
            found.append(
                Counted(datetime.fromisoformat(given["at"]), int(given["kept"]), dict(given["refused"]), tokens)
            )
    return found


def _subject(session: str) -> str:
    return f"session {session}"


def _path(store: Store, folder: str, session: str) -> str:
    return os.path.join(store.private, folder, file_name(session) + _SUFFIX)


def _read(path: str) -> dict[str, Any]:
    value = read_json(path)
    return value if isinstance(value, dict) else {}


def _write(store: Store, folder: str, session: str, value: Mapping[str, object], *, sync: bool = False) -> None:
    write_json(_path(store, folder, session), value, sync=sync)
