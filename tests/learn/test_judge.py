"""A model judges a finished session once; what passes is one commit, marked as the model's."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep, process_spool
from gitmem.document.entry import MemoryType
from gitmem.errors import BusyError
from gitmem.learn.judge import answers_of, is_judged, judge_requested, judged_sessions, request_judgement
from gitmem.llm.ask import PATIENCE
from gitmem.model.exchange import exchanges_in
from gitmem.model.fact import FactKind
from gitmem.model.outcome import Outcome
from gitmem.model.validity import fact_statuses
from gitmem.record.fact_edits import find_fact, retire
from gitmem.search.engine import answer
from gitmem.store.findings import FailureLog
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_concepts, newest_episodes
from gitmem.store.store import Store
from gitmem.tell.start import start_parts, start_text
from tests.own_settings import own_settings

PATH = "sessions/2026/10/20261003_090001-s-rec.md"
UV = {
    "kind": "decision",
    "statement": "빌드는 pnpm 대신 uv를 사용한다.",
    "reason": "",
    "request": 1,
    "quote": "빌드는 pnpm 대신 uv를 사용하기로 결정했습니다",
    "known": [],
    "until": "",
    "forbids": [],
    "lasts": "yes",
}
NFS = UV | {"kind": "issue", "statement": "The index breaks on NFS.", "request": 3}
NFS |= {"quote": "Known issue: the index breaks on NFS"}
FIX = {
    "error": "make 1 fails: error: the spindle broke",
    "cause": "f1.py was wrong",
    "mend": "Change f1.py",
    "request": 1,
}
FIX |= {"quote": "FAILED `make 1`: Exit code 2 error: the spindle broke"}
SENTENCES = ("CRLF 파서를 f1.py에 추가했다.", "The docs of CRLF are written.", "The index breaks on NFS.")
REQUESTS = [
    {"request": number, "left": "", "sentence": sentence, "state": state, "topic": topic}
    for number, sentence, state, topic in zip(
        (1, 2, 3), SENTENCES, ("done", "done", "partial"), ("CRLF 파서", "CRLF 파서", "index on NFS"), strict=True
    )
]
ANSWER = {"ended": [], "pairs": [], "facts": [UV, NFS], "mends": [FIX], "requests": REQUESTS}


@pytest.fixture
def asking(world, home, model_server):
    settings = f"summary:\n  provider: openai\n  base_url: {model_server.url}\n  model: fake-mini\n"
    own_settings(world.store.context, settings)
    again(world)
    model_server.reply = lambda _: ANSWER
    return world


def again(world) -> Store:
    world.store = Store(world.store.root, world.store.context)
    return world.store


def closed(world, recorder) -> None:
    recorder.write()
    recorder.deliver("SessionEnd", 1_791_018_100.0, "", reason="other")
    recorder.live(world.store)
    process_spool(world.store)
    process_spool(again(world))


def judged(world) -> list:
    return [fact for fact in known_facts(again(world)) if "by" in fact.origin]


def test_question_reply_and_facts_in_one_commit_of_the_models(asking, recorder, model_server, bare_git):
    closed(asking, recorder)
    assert model_server.asked == []
    do_upkeep(again(asking), lambda: False)
    (request,) = model_server.asked
    assert "[1] USER: CRLF 파서를 추가해줘" in request["messages"][-1]["content"]
    issue, decision = sorted(judged(asking), key=lambda fact: fact.kind, reverse=True)
    assert (decision.description, issue.description) == (f"{UV['quote']}.", NFS["statement"])  # in the words quoted
    assert decision.origin["by"] == "fake-mini"
    text = asking.text(PATH)
    assert "by: fake-mini" in text
    assert "method: fake-mini" in text
    assert [one.summary for one in exchanges_in(text.encode())] == [SENTENCES[0], SENTENCES[1], SENTENCES[2]]
    assert "Outcome: partial" in text.split(SENTENCES[2])[1]
    assert SENTENCES[0] in asking.text("memory.md")
    root = Path(asking.store.root)
    form = "--format=%an%n%(trailers:key=Gitmem-Model,valueonly,separator=)%n%s"
    author, model, subject = bare_git(root, "log", "-1", "--grep=Gitmem-Model", form).splitlines()
    assert (author, model) == ("gitmem", "fake-mini")
    assert subject.startswith("Judge session s-rec: 빌드는")
    names = bare_git(root, "log", "-1", "--grep=Gitmem-Model", "--format=", "--name-only").splitlines()
    assert {name.partition("/")[0].strip('"') for name in names} >= {"facts", "sessions", "episodes", "patterns"}
    assert bare_git(root, "status", "--porcelain") == ""
    (one,) = judged_sessions(asking.store)
    assert (one.kept, one.refused, one.tokens) == (3, {}, 1_100)
    do_upkeep(again(asking), lambda: False)
    assert len(model_server.asked) == 1
    told = start_text(asking.store, start_parts(asking.store, [], None, []))
    last = told.split("## Where the last session stopped")[1]
    lines = re.findall(r"(?m)^- \[[^]]*\] (.*)$", last)
    # The fact above was learned from the first exchange.
    assert lines == [f"{SENTENCES[2].removesuffix('.')} (partial).", SENTENCES[1]]


def test_of_a_fix_whose_error_is_long_the_description_has_the_fix_whole(asking, recorder, model_server):
    closed(asking, recorder)
    error = f"link step of the archive: {'nothing of the sort was seen ' * 12}"
    fix = FIX | {"error": error[:300], "mend": "Change f1.py to link late"}
    model_server.reply = lambda _: ANSWER | {"mends": [fix]}
    do_upkeep(again(asking), lambda: False)
    (kept,) = [fact for fact in judged(asking) if fact.kind is FactKind.SOLUTION]
    assert kept.description.startswith("link step of the archive: ")
    assert kept.description.endswith("…: Change f1.py to link late.")


def test_topics_are_the_sessions_concepts_and_episodes_in_place_of_those_made_by_words(asking, recorder, model_server):
    closed(asking, recorder)
    before = {concept.name for concept in known_concepts(again(asking))}
    do_upkeep(again(asking), lambda: False)
    concepts = {concept.name: len(concept.exchanges) for concept in known_concepts(again(asking))}
    assert concepts == {"CRLF 파서": 2, "index on NFS": 1}
    assert before.isdisjoint(concepts)
    episodes, _ = newest_episodes(again(asking), 9)
    assert {(one.by, one.solution, one.outcome) for one, _ in episodes} == {
        ("fake-mini", SENTENCES[1], Outcome.SUCCESS),
        ("fake-mini", SENTENCES[2], Outcome.PARTIAL),
    }


def test_what_was_refuted_is_told_by_no_door_as_done(asking, recorder, model_server):
    closed(asking, recorder)
    sentence = "CRLF 파서를 추가했다고 했지만 아직 없다고 사용자가 말했다."
    refuted = REQUESTS[0] | {"sentence": sentence, "state": "refuted"}
    model_server.reply = lambda _: ANSWER | {"requests": [refuted, *REQUESTS[1:]]}
    do_upkeep(again(asking), lambda: False)
    (exchange, *_) = exchanges_in(asking.text(PATH).encode())
    assert (exchange.outcome, exchange.summary, exchange.details) == (Outcome.REFUTED, sentence, "")
    assert "CRLF 파서를 추가했다" not in start_text(asking.store, start_parts(asking.store, [], None, []))
    hits = [hit for hit in answer(again(asking), "CRLF 파서 추가").hits if hit.entry == exchange.id]
    assert [hit.standing.partition(":")[0] for hit in hits] == ["refuted"]


def test_what_is_left_of_a_request_is_told_at_each_door_and_it_is_not_done(asking, recorder, model_server):
    closed(asking, recorder)
    left = REQUESTS[1] | {"left": "nothing is said of the index on NFS"}
    model_server.reply = lambda _: ANSWER | {"requests": [REQUESTS[0], left, REQUESTS[2]]}
    do_upkeep(again(asking), lambda: False)
    sentence = f"{SENTENCES[1]} Still open: nothing is said of the index on NFS."
    exchange = exchanges_in(asking.text(PATH).encode())[1]
    assert (exchange.outcome, exchange.summary) == (Outcome.PARTIAL, sentence)
    assert sentence in asking.text("memory.md")
    start = start_text(asking.store, start_parts(asking.store, [], None, []))
    assert f"{sentence.removesuffix('.')} (partial)." in start
    hits = answer(again(asking), "docs of CRLF").hits
    assert any(sentence in hit.text for hit in hits if hit.entry == exchange.id)
    episodes, _ = newest_episodes(again(asking), 9)
    assert (sentence, Outcome.PARTIAL) in {(one.solution, one.outcome) for one, _ in episodes}


def test_a_sentence_a_name_and_an_episode_that_a_user_changed_stay(asking, recorder, model_server):
    closed(asking, recorder)
    (concept, *_) = known_concepts(again(asking))
    for path, old, new in (
        (PATH, "CRLF", "CRLF, as I see it"),
        (concept.path, concept.name, "my own name"),
    ):
        file = Path(asking.store.root, path)
        file.write_text(file.read_text("utf-8").replace(old, new, 1), "utf-8")
    do_upkeep(again(asking), lambda: False)
    assert "CRLF, as I see it" in asking.text(PATH)
    assert SENTENCES[1] in asking.text(PATH)
    kept = {one.name: one.exchanges for one in known_concepts(again(asking))}
    assert kept["my own name"] == concept.exchanges


def test_a_session_is_asked_about_by_one_process_at_a_time(asking, recorder, model_server):
    closed(asking, recorder)
    folder = str(Path(asking.store.private, "asking"))
    with asking.store.folder_lock(folder, "judge").acquire(0):
        do_upkeep(again(asking), lambda: False)
    assert model_server.asked == []
    do_upkeep(again(asking), lambda: False)
    assert len(model_server.asked) == 1


def test_an_answer_waits_for_its_commit_and_is_not_paid_for_twice(asking, recorder, model_server, monkeypatch):
    closed(asking, recorder)
    with monkeypatch.context() as patch:
        patch.setattr("gitmem.learn.judge.keep", busy)
        do_upkeep(again(asking), lambda: False)
    assert not is_judged(again(asking), "s-rec", PATH)
    asking.save("CRLF 파서는 f1.py에 둔다", MemoryType.DECISION)  # of which the question did not know
    judge_requested(again(asking), lambda: False)
    assert len(model_server.asked) == 1
    assert judged(asking)
    assert is_judged(asking.store, "s-rec", PATH)


def busy(*_: object) -> None:
    raise BusyError("The store is held by another process.", "Try again.")


def test_judged_again_the_same_statement_is_the_same_fact(asking, recorder, model_server):
    closed(asking, recorder)
    do_upkeep(again(asking), lambda: False)
    before = {fact.id for fact in known_facts(asking.store)}
    request_judgement(asking.store, "s-rec", "claude-code", str(recorder.path))
    judge_requested(again(asking), lambda: False)
    assert {fact.id for fact in known_facts(again(asking))} == before


def test_what_a_user_retired_since_is_not_learned_again(asking, recorder, model_server):
    closed(asking, recorder)
    do_upkeep(again(asking), lambda: False)
    (fact,) = [one for one in judged(asking) if one.kind == "decision"]
    retire(asking.store, find_fact(asking.store, fact.id), "no longer")
    model_server.reply = lambda _: ANSWER | {"facts": [UV | {"statement": "빌드는 uv를 사용한다, pnpm 대신."}]}
    Path(asking.store.private, "judged", "s-rec.json").unlink()
    request_judgement(asking.store, "s-rec", "claude-code", str(recorder.path))
    judge_requested(again(asking), lambda: False)
    assert [one for one in judged(asking) if one.binds and one.kind == "decision"] == []


def test_a_claim_never_ends_what_was_saved_but_waits_beside_it(asking, recorder, model_server):
    asking.save("빌드는 npm을 사용한다", MemoryType.DECISION)
    closed(asking, recorder)

    def reply(request: dict) -> dict:
        (name,) = re.findall(r"(F[0-9]) [^\n]*npm을", request["messages"][-1]["content"])
        ended = {"known": [name], "why": "replaced", "now": UV["statement"], "request": 1, "quote": UV["quote"]}
        return ANSWER | {"ended": [ended]}

    model_server.reply = reply
    do_upkeep(again(asking), lambda: False)
    facts = [one for one in known_facts(again(asking)) if one.kind is FactKind.DECISION]
    assert sorted(one.binds for one in facts) == [True, True]
    statuses = fact_statuses(facts)
    assert all(statuses[one.id].disputes for one in facts)


def test_a_failure_leaves_the_offline_result_and_is_given_up_after_three_tries(
    asking, recorder, model_server, monkeypatch
):
    monkeypatch.setattr("gitmem.llm.ask.PATIENCE", PATIENCE._replace(sleep=lambda _: None))
    closed(asking, recorder)
    model_server.behave = ["status:401:"] * 9
    for _ in range(6):
        do_upkeep(again(asking), lambda: False)
        do_upkeep(again(asking), lambda: False)  # not at once again
        asking.clock.now += timedelta(hours=2)
    assert len(model_server.asked) == 3
    assert judged(asking) == []
    assert "## Exchanges" in asking.text(PATH)
    assert any("401" in one.message for one in FailureLog(asking.store.private).failures())
    assert list(Path(asking.store.private, "asking").glob("*.json")) == []


@pytest.mark.parametrize("behave", ["text:not JSON", "text:{}", "cut", "refuse", "fields", "huge"])
@pytest.mark.few(2)
def test_garbage_leaves_the_offline_result(asking, recorder, model_server, monkeypatch, behave):
    monkeypatch.setattr("gitmem.llm.ask.PATIENCE", PATIENCE._replace(tries=1, sleep=lambda _: None))
    closed(asking, recorder)
    model_server.behave = [behave] * 3
    do_upkeep(again(asking), lambda: False)
    assert len(model_server.asked) == 1
    assert judged(asking) == []
    assert FailureLog(asking.store.private).failures()


def test_no_secret_is_sent_or_kept(asking, recorder, model_server):
    secret = "sk-ant-api03-" + "A1b2C3d4" * 11
    recorder.turn(4, f"The key is {secret}, keep it", "Done with the key.")
    fact = UV | {"statement": f"The deploy key is {secret} always.", "request": 4}
    told = REQUESTS[0] | {"sentence": f"The key is {secret}."}
    model_server.reply = lambda _: ANSWER | {"facts": [fact], "requests": [told]}
    closed(asking, recorder)
    do_upkeep(again(asking), lambda: False)
    assert secret not in json.dumps(model_server.asked)
    assert judged(asking) == []
    assert secret not in asking.text(PATH)
    assert secret not in "".join(one.answer for one in answers_of(asking.store, "s-rec"))


def test_damaged_requests_are_removed(asking):
    folder = Path(asking.store.private, "asking")
    folder.mkdir()
    for number, text in enumerate(("", "[]", "{", '{"session": "s"}', json.dumps({"session": "s", "tries": "x"}))):
        (folder / f"{number}.json").write_text(text)
    judge_requested(asking.store, lambda: False)
    assert list(folder.glob("*.json")) == []
