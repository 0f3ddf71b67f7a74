"""How well a model judges sessions, by answers that real models gave to exactly these questions.

`tests/data/sessions/NAME.jsonl` are sessions of our own making, `NAME.labels.json` what a reader found in each before
looking at answers, `NAME.known.json` what the memory held before. `tests/replies/NAME.json` holds a model's answer with
the digest of its question; where the question has changed, the answer counts no more until it is recorded again.

    python bench/judgement.py --write DIR     writes each question to DIR/NAME.txt, its digest to DIR/NAME.sha256
    python bench/judgement.py [--answers DIR] [--sessions DIR] [--list]

A label: `{"kind": "decision", "request": 3, "words": ["sqlite wal"]}`. A statement is right if all words of one
alternative stand in it. `optional` labels count for precision only; `replaces` and `resolves` name a known fact.
What passed is also kept in a store of its own, to see what the next session's start tells.

The answers are those of one large model. No small model's have been recorded yet: its target (.60) is not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from gitmem.config.values import Config
from gitmem.hosts.registry import find_host, read_transcript, writer
from gitmem.learn import keep
from gitmem.learn.check import AnswerChecker
from gitmem.learn.evidence import AgentOutput
from gitmem.learn.judge import outputs_in
from gitmem.learn.question import SCHEMA, KnownMemory, RecordPart, digest_of, question_of, windows_of
from gitmem.learn.reply import Judged
from gitmem.learn.results import JudgedSession
from gitmem.llm.protocol import Question, fenced, parse_reply
from gitmem.model.concept import Concept
from gitmem.model.fact import FactKind, make_fact
from gitmem.model.transcript import Record, hook_events
from gitmem.model.turns import Turn, fold
from gitmem.platform.machine import Context, read_resource
from gitmem.record.fact_book import FactBook, fact_message
from gitmem.record.read import redacted
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.tell.start import start_parts, start_text
from gitmem.text.words import estimate_tokens

ROOT = Path(__file__).resolve().parents[1]
SESSIONS, REPLIES = ROOT / "tests" / "data" / "sessions", ROOT / "tests" / "replies"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
# What is asked of a store: its settings, and whether something was purged.
AS_SHIPPED: Any = SimpleNamespace(config=Config(), scope_of=lambda _: "", names=lambda _: [])
ASKED_FOR = ("decision", "preference", "rule", "issue")
RELATIONS = ("replaces", "resolves")
BEFORE = "(before: "  # stands in front of what a told fact took the place of
WEIGHED = (FactKind.DECISION, FactKind.PREFERENCE, FactKind.RULE, FactKind.ISSUE)


class Session(NamedTuple):
    name: str
    windows: list[tuple[RecordPart, ...]]
    turns: list[Turn]
    known: KnownMemory
    outputs: list[AgentOutput]
    labels: list[dict[str, Any]]


class Played(NamedTuple):
    judged: Judged
    tokens_in: int
    tokens_out: int


def read_session(path: Path) -> Session:
    host = find_host(writer(str(path)))
    records: list[Record] = list(read_transcript(str(path), None, host.name))
    turns = [redacted(turn._replace(closed=True), AS_SHIPPED) for turn in fold(hook_events(records, host.label))]
    windows = windows_of(turns)
    given = _json(path.with_suffix(".known.json"), {})
    facts = [
        make_fact(FactKind(one["kind"]), one["statement"], BEGAN.replace(minute=59 - number), origin={"by": "claude"})
        for number, one in enumerate(given.get("facts", ()))
    ]
    concepts = [
        Concept("", f"k{number}", name, "", "", (), (), (), ()) for number, name in enumerate(given.get("concepts", ()))
    ]
    known = KnownMemory(tuple(facts), tuple(concepts))  # in the file's order, so that labels can name them
    outputs = [*outputs_in(records)]
    return Session(path.stem, windows, turns, known, outputs, _json(path.with_suffix(".labels.json"), []))


def _json(path: Path, default: Any) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else default


def question(session: Session, number: int, found: dict[str, str]) -> Question:
    instructions = read_resource("templates", "prompts", "session.md").decode()
    return question_of(instructions, session.windows[number], session.known, found)


def found_in(judged: Judged) -> dict[str, str]:
    return {f"S{number}": claim.statement for number, claim in enumerate(judged.facts, 1)}


def recorded(session: Session, replies: Path) -> tuple[list[str], list[Any]]:
    """Return the recorded answers of a session with the digests of their questions; plain replies have none."""
    given = _json(replies / f"{session.name}.json", {})
    if "facts" in given:  # the reply itself
        digest = replies / f"{session.name}.sha256"
        return [digest.read_text().strip()] if digest.exists() else [], [given]
    answers = given.get("answers") or ([given["answer"]] if given.get("answer") else [])
    return given.get("questions") or ([given["question"]] if given.get("question") else []), answers


def play(session: Session, replies: Path) -> Played | str:
    """Play the recorded answers of a session; a text says why they do not count."""
    digests, answers = recorded(session, replies)
    judged, tokens = Judged(), [0, 0]
    for number, window in enumerate(session.windows):
        found = found_in(judged)
        asked = question(session, number, found)
        if number >= len(answers):
            return f"no answer to window {number + 1}"
        if digests and digests[number] != digest_of(asked):
            return "the question has changed"
        request, text = fenced(asked, bytes(16)), json.dumps(answers[number], ensure_ascii=False)
        tokens[0] += estimate_tokens(request.system + request.text)
        tokens[1] += estimate_tokens(text)
        reader = AnswerChecker(window, session.known, found, session.outputs)
        judged = judged.joined(reader.read(parse_reply(text, SCHEMA)))
    return Played(judged, *tokens)


def keep_in(store: Store, session: Session, judged: Judged) -> str | None:
    """Commit what was known before a session, then what was judged of it; returns that commit."""

    def plan(transaction: Transaction) -> bool:
        book = FactBook(store, transaction)
        changes: dict[str, bytes | None] = {}
        for fact in session.known.facts:
            kept = book.keep(fact, session.name, again=False)
            changes |= kept[1] if kept else {}
        return bool(changes) and transaction.commit(fact_message("Know before", book.known()), changes)

    transact(store, plan, purpose="learn")
    about = JudgedSession(session.turns[0].session, "claude-code", tuple(session.turns), "claude")
    return keep.keep(store, about, judged, session.known)


def tell(session: Session, judged: Judged, told: Counter[str]) -> None:
    """Count what the next session's start tells of the labels, and of the facts that were replaced or resolved."""
    with tempfile.TemporaryDirectory() as home:
        folder = f"{home}/project"
        os.mkdir(folder)
        clock = lambda: session.turns[-1].ended + timedelta(days=1)  # noqa: E731
        context = Context({"PATH": os.environ["PATH"], "HOME": home}, home, "bench", clock)
        init_store(folder, context, Place.PROJECT)
        store = Store(f"{folder}/.gitmem", context)
        keep_in(store, session, judged)
        text = start_text(store, start_parts(store, [], None, []))
    lines, names = text.splitlines(), session.known.names()
    for label in session.labels:
        if label["kind"] in ASKED_FOR and not label.get("optional"):
            told["asked at start"] += 1
            told["told at start"] += any(fits(line, label) for line in lines)
        for relation in RELATIONS:
            if name := label.get(relation):
                told[relation] += 1
                told[f"{relation}, told"] += any(names[name].description in line.partition(BEFORE)[0] for line in lines)


def write(sessions: list[Session], folder: Path, replies: Path) -> None:
    """Write the question of each session; a later window once the answers before it are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for session in sessions:
        _, answers = recorded(session, replies)
        judged = Judged()
        for number, window in enumerate(session.windows):
            found = found_in(judged)
            asked = question(session, number, found)
            request = fenced(asked, bytes(16))
            name = session.name if len(session.windows) == 1 else f"{session.name}.{number + 1}"
            schema = json.dumps(request.schema)
            text = f"{request.system}\n\nSchema: {schema}\n\n{request.text}\n"
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            (folder / f"{name}.sha256").write_text(f"{digest_of(asked)}\n")
            print(f"{name}: {estimate_tokens(text):,} tokens, {digest_of(asked)}")
            if number >= len(answers):
                break
            reader = AnswerChecker(window, session.known, found, session.outputs)
            judged = judged.joined(reader.read(answers[number]))


def fits(text: str, label: dict[str, Any]) -> bool:
    folded = text.casefold()
    return any(all(word in folded for word in words.casefold().split()) for words in label["words"])


def count(session: Session, judged: Judged, told: Counter[str], lines: list[str]) -> None:
    """Compare what passed with the labels."""
    ended = {name for one in judged.facts for name in one.replaces} | {one.known for one in judged.endings}
    told["disputed"] += sum(len(one.disputes) for one in judged.facts)
    told["wrongly changed"] += len(ended - {label.get(key) for label in session.labels for key in RELATIONS})
    for label in session.labels:
        if label["kind"] == "mend":
            continue
        texts = [f"{one.statement} {one.reason}" for one in judged.facts]
        texts += [one.how for one in judged.endings if one.known == label.get("resolves")]
        right = [text for text in texts if fits(text, label)]
        if label["kind"] in ASKED_FOR and not label.get("optional"):
            told["labels"] += 1
            told["found"] += bool(right)
            lines += [] if right else [f"{session.name} missed: {label['kind']} {label['words'][0]}"]
        for relation in RELATIONS:
            if label.get(relation):
                told["changes"] += 1
                told["changed"] += label[relation] in ended
    for claim in judged.facts:
        if claim.kind in WEIGHED:
            is_right = any(fits(f"{claim.statement} {claim.reason}", label) for label in session.labels)
            told["weighed"] += 1
            told["right"] += is_right
            lines += [] if is_right else [f"{session.name} unlabelled: {claim.kind} {claim.statement}"]
    for fix in judged.fixes:
        text = f"{fix.error} {fix.cause} {fix.fix}"
        is_right = any(label["kind"] == "mend" and fits(text, label) for label in session.labels)
        told["mends"] += 1
        told["right mends"] += is_right
        lines += [] if is_right else [f"{session.name} unlabelled mend: {fix.fix}"]


def main() -> int:
    """Write the questions, or print what the recorded answers bring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the questions and their digests")
    parser.add_argument("--answers", type=Path, default=REPLIES, metavar="DIR", help="recorded answers")
    parser.add_argument("--sessions", type=Path, default=SESSIONS, metavar="DIR", help="sessions to judge")
    parser.add_argument("--list", action="store_true", help="print what was missed, and what has no label")
    args = parser.parse_args()
    sessions = [read_session(path) for path in sorted(args.sessions.glob("*.jsonl"))]
    if not sessions:
        print(f"skipped: {args.sessions} has no sessions")
        return 0
    if args.write:
        write(sessions, args.write, args.answers)
        return 0
    told: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    lines: list[str] = []
    for session in sessions:
        played = play(session, args.answers)
        if isinstance(played, str):
            told[f"not counted: {played}"] += 1
            continue
        told["sessions"] += 1
        told["tokens in"] += played.tokens_in
        told["tokens out"] += played.tokens_out
        told["kept"] += played.judged.kept
        told["requests"] += len({part.request for window in session.windows for part in window})
        told["told requests"] += len(played.judged.requests)
        refused.update(played.judged.refused)
        count(session, played.judged, told, lines)
        tell(session, played.judged, told)
    report(told, refused)
    if args.list:
        print("\n".join(lines))
    return 0


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {part / whole:.2f}" if whole else "none"


def report(told: Counter[str], refused: Counter[str]) -> None:
    number = told["sessions"]
    for key in sorted(key for key in told if key.startswith("not counted")):
        print(f"{key}: {told[key]} sessions")
    print(f"{number} sessions")
    if not number:
        return
    print(f"found of decisions, preferences, rules, issues: {share(told['found'], told['labels'])}")
    print(f"right of those told: {share(told['right'], told['weighed'])}")
    print(f"mends right: {share(told['right mends'], told['mends'])}")
    print(f"replaced or resolved as labelled: {share(told['changed'], told['changes'])}; ", end="")
    print(f"wrongly: {told['wrongly changed']}, left to a verdict: {told['disputed']}")
    print(f"requests told: {share(told['told requests'], told['requests'])}")
    print(f"told at the next start: {share(told['told at start'], told['asked at start'])}")
    for relation, text in (("replaces", "replaced"), ("resolves", "resolved")):
        print(f"{text}, still told: {share(told[f'{relation}, told'], told[relation])}")
    print(f"tokens a session: {told['tokens in'] / number:,.0f} in, {told['tokens out'] / number:,.0f} out")
    everything = told["kept"] + sum(refused.values())
    print(f"refused: {share(sum(refused.values()), everything)}", dict(refused.most_common()))


if __name__ == "__main__":
    sys.exit(main())
