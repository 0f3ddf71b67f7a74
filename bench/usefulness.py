"""Whether gitmem answers what a user asks about earlier sessions, beside plain BM25 over the raw exchanges.

Each set is replayed as transcripts, in the order in which its sessions began, into a store of its own. Each question is
then put to `gitmem search` (six hits), to `gitmem recall` (2,000 tokens), and to the prompt hook as if a user had
typed it; the text a session starts with is made once. No model is needed. The sets stand beside the repository, in
../shared/data:

- `devmembench`: 25 sessions of development, and questions with the sessions that hold the answer (its README names
  the source);
- `own`: 60 questions (bench/questions.json, 30 of them Korean) about recorded transcripts, in other words.

| column | |
| --- | --- |
| any@6, all@6 | some, all of the sessions that hold the answer are among those of six hits |
| newest | the first hit is of the newest of these sessions |
| hits, recall, start, prompt, guide | share of the answer's telling words that stand in this text |
| speaks | `gitmem guide` says something |
| marked | of questions without an answer in the store: no hit, or none that is not marked as weak |

    python bench/usefulness.py [SET...] [--vectors] [--misses] [--json]

With `--vectors` each store is then asked once more with the vectors of the extra `local`, which this bench waits for
however busy the machine is. The start and the prompt compare words only, and have no figures there. Each table of
gitmem also has the row `elsewhere`: the questions of the other sets, none of which this store answers.

The baseline is BM25 (k1 0.9, b 0.4, light stems) over exchanges, whole request and answer, in chunks of 1,600
characters that end at a paragraph: the best six, and what fits into 8,000 characters.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from gitmem.cli.app import App
from gitmem.cli.main import main as gitmem_main
from gitmem.hosts.registry import read_transcript
from gitmem.model.transcript import hook_events
from gitmem.model.turns import fold
from gitmem.model.words import human_text
from gitmem.search import near
from gitmem.text.words import stop_words

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BEST = 6
TOKENS = 2_000
CHARACTERS = 4 * TOKENS
CHUNK = 1_600
COLUMNS = ("any@6", "all@6", "newest", "hits", "recall", "start", "prompt", "guide", "speaks", "marked")
ELSEWHERE = "elsewhere"
LATE = 60.0  # seconds for the local model to embed a question
STOP = stop_words()


@dataclass(frozen=True)
class Question:
    """A question, the words that answer it, and the sessions that hold the answer, the oldest first."""

    text: str
    answer: frozenset[str]
    sessions: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Session:
    """A recorded session: its id, its transcript, and its exchanges as (request, answer)."""

    id: str
    lines: str
    exchanges: tuple[tuple[str, str], ...]


@dataclass
class Answers:
    """The texts that answer a question, and the sessions of the best hits."""

    sessions: list[str]
    hits: str
    recall: str
    start: str | None = None
    prompt: str | None = None
    guide: str | None = None
    good: int = 0  # hits that are not marked as weak
    row: dict[str, float] = field(default_factory=dict)


def telling_words(answer: str) -> frozenset[str]:
    """Return the numbers, names and code of an answer; its content words if these are fewer than two."""
    words = [word.strip("./:-") for word in re.findall(r"[\w/.@:-]*\w", answer)]
    names = {word.casefold() for word in words if re.search(r"[0-9_/.@]", word) or re.search(r"[A-Z]", word)}
    names -= STOP
    return frozenset(names if len(names) > 1 else {word.casefold() for word in words if len(word) > 2} - STOP)


def share(words: Iterable[str], text: str) -> float:
    """Return which share of these words stands in the text, compared without regard to case."""
    text = text.casefold()
    return statistics.mean(word.casefold() in text for word in words)


def transcript(session: str, date: str, cwd: str, messages: Sequence[dict[str, str]]) -> str:
    """Return messages as the lines of a Claude Code transcript, a minute apart from ten o'clock of a date."""
    lines, parent = [], None
    for index, message in enumerate(messages):
        role, text = message["role"], message["content"]
        said: dict[str, object] = {"role": role, "content": text}
        if role == "assistant":
            said |= {"id": f"msg_{index}", "type": "message", "content": [{"type": "text", "text": text}]}
            said |= {"model": "claude", "stop_reason": "end_turn"}
        row: dict[str, object] = {
            "type": role,
            "uuid": f"{session}-{index}",
            "parentUuid": parent,
            "sessionId": session,
            "cwd": cwd,
        }
        row |= {"message": said, "timestamp": f"{date}T10:{index:02d}:00.000Z", "isSidechain": False}
        row |= {"userType": "external", "version": "2.1.330", "gitBranch": "main"}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        parent = f"{session}-{index}"
    return "".join(lines)


def devmembench(cwd: str) -> tuple[list[Session], list[Question]]:
    """Return the sessions and questions of DevMemBench."""
    folder = DATA / "devmembench"
    recorded = json.loads((folder / "sessions.json").read_text("utf-8"))
    recorded.sort(key=lambda session: session["metadata"]["date"])
    sessions, ids = [], {}
    for session in recorded:
        ids[session["sessionId"]] = name = str(uuid.uuid5(uuid.NAMESPACE_URL, session["sessionId"]))
        said = session["messages"]
        pairs = tuple((said[at]["content"], said[at + 1]["content"]) for at in range(0, len(said) - 1, 2))
        sessions.append(Session(name, transcript(name, session["metadata"]["date"], cwd, said), pairs))
    order = list(ids)
    questions = []
    for one in json.loads((folder / "questions.json").read_text("utf-8")):
        gold = tuple(ids[name] for name in sorted(one["haystackSessionIds"], key=order.index))
        questions.append(Question(one["question"], telling_words(one["groundTruth"]), gold, one["questionType"]))
    return sessions, questions


def own(_: str) -> tuple[list[Session], list[Question]]:
    """Return the recorded transcripts that bench/questions.json asks about, and its questions."""
    asked = json.loads(Path(__file__).with_name("questions.json").read_text("utf-8"))["questions"]
    sessions, ids, begun = [], {}, {}
    for name in dict.fromkeys(one["transcript"] for one in asked):
        path = DATA / "transcripts" / name
        turns = fold(hook_events(read_transcript(str(path))))
        ids[name] = turns[0].session
        begun[turns[0].session] = turns[0].started
        pairs = tuple((human_text(turn.prompt), turn.answer) for turn in turns)
        sessions.append(Session(turns[0].session, path.read_text("utf-8", "replace"), pairs))
    sessions.sort(key=lambda session: begun[session.id])
    return sessions, [
        Question(one["question"], frozenset(one["answer"]), (ids[one["transcript"]],), one["language"]) for one in asked
    ]


SETS: dict[str, Callable[[str], tuple[list[Session], list[Question]]]] = {"devmembench": devmembench, "own": own}


class Baseline:
    """BM25 over chunks of raw exchanges."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        """Cut and count all exchanges."""
        self.chunks = [
            (session.id, chunk)
            for session in sessions
            for request, answer in session.exchanges
            for chunk in cut(f"{request}\n\n{answer}")
        ]
        self.counts = [collections.Counter(stems(chunk)) for _, chunk in self.chunks]
        self.lengths = [sum(count.values()) for count in self.counts]
        self.mean = statistics.mean(self.lengths)
        self.documents = collections.Counter(stem for count in self.counts for stem in count)

    def ask(self, question: str) -> Answers:
        """Return the six best chunks, and the chunks that fit into the budget."""
        terms = set(stems(question))
        scores = [self.score(terms, count, length) for count, length in zip(self.counts, self.lengths, strict=True)]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        text = ""
        for at in order:
            chunk = self.chunks[at][1]
            text += chunk if scores[at] and len(text) + len(chunk) <= CHARACTERS else ""
        best = [at for at in order[:BEST] if scores[at]]
        given = list(dict.fromkeys(self.chunks[at][0] for at in best))
        return Answers(given, "\n".join(self.chunks[at][1] for at in best), text, good=len(best))

    def score(self, terms: set[str], count: collections.Counter[str], length: int) -> float:
        k1, b, total = 0.9, 0.4, len(self.chunks)
        return sum(
            math.log(1 + (total - self.documents[term] + 0.5) / (self.documents[term] + 0.5))
            * count[term]
            * (k1 + 1)
            / (count[term] + k1 * (1 - b + b * length / self.mean))
            for term in terms
            if count[term]
        )


def cut(text: str) -> list[str]:
    """Return a text in chunks of about 1,600 characters that end at a paragraph."""
    chunks = [""]
    for paragraph in text.split("\n\n"):
        if chunks[-1] and len(chunks[-1]) + len(paragraph) > CHUNK:
            chunks.append("")
        chunks[-1] += paragraph + "\n\n"
    return chunks


def stems(text: str) -> list[str]:
    """Return the content words of a text without the commonest English endings, Hangul apart from other letters."""
    words = re.findall(r"[가-힣]+|[^\W가-힣]+", text.casefold())
    return [re.sub(r"(?<=\w{3})(ing|ed|es|s)$", "", word) for word in words if word not in STOP]


class Gitmem:
    """A store that holds the sessions, asked through the command line."""

    def __init__(self, home: str, project: str, sessions: Sequence[Session]) -> None:
        """Replay the sessions, the oldest first."""
        environ = {name: text for name, text in os.environ.items() if not name.startswith(("GIT", "CLAUDE", "PYTHON"))}
        self.environ = environ | {"HOME": home, "GITMEM_EMBEDDING_PROVIDER": "none"}
        self.project = project
        self.ids = [session.id for session in sessions]
        subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
        self.run("init")
        for session in sessions:
            path = Path(home, f"{session.id}.jsonl")
            path.write_text(session.lines, "utf-8")
            self.run("replay", str(path))
        self.start = self.hook("SessionStart", source="startup")

    def run(self, *args: str, text: str = "", fails: bool = True) -> str:
        """Return what a command of gitmem prints."""
        command = [sys.executable, "-m", "gitmem", *args]
        done = subprocess.run(
            command, cwd=self.project, env=self.environ, input=text, capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode and fails:
            sys.exit(f"gitmem {args[0]} failed: {done.stderr}")
        return done.stdout

    def answer(self, *args: str) -> str:
        """Return what a command of gitmem prints, run in this process, which keeps the model loaded."""
        out, err = io.StringIO(), io.StringIO()
        app = App(self.environ, self.project, io.StringIO(), out, err)
        with mock.patch.object(near, "SECONDS", LATE):
            code = gitmem_main(args, lambda: app)
        if code or "Only words" in err.getvalue():
            sys.exit(f"gitmem {args[0]} failed: {err.getvalue()}")
        return out.getvalue()

    def make_vectors(self) -> None:
        """Make the vectors of the store, which later questions are compared by."""
        self.environ["GITMEM_EMBEDDING_PROVIDER"] = "local"
        made = json.loads(self.run("reindex", "--json"))
        if made["provider"] != "local" or made["left"]:
            sys.exit(f"There are no vectors: {made}. The extra `local` brings the model.")

    def hook(self, event: str, **more: str) -> str:
        """Return what gitmem answers to an event of a new session."""
        payload = {"hook_event_name": event, "session_id": str(uuid.uuid4()), "cwd": self.project} | more
        return self.run("hook", "claude", text=json.dumps(payload | {"transcript_path": ""}), fails=False)

    def ask(self, asked: Question) -> Answers:
        """Put a question to search, recall and, by words, to the prompt hook."""
        question = asked.text
        hits = json.loads(self.answer("search", "--json", "-n", str(BEST), "--", question))
        named = [next((name for name in self.ids if name[:8] in json.dumps(hit)), "") for hit in hits]
        texts = "\n".join(str(hit.get("text") or hit["snippet"]) for hit in hits)
        recall = self.answer("recall", "--budget", str(TOKENS), "--", question)
        given = Answers([name for name in named if name], texts, recall, good=sum(not hit["weak"] for hit in hits))
        if asked.sessions and self.environ["GITMEM_EMBEDDING_PROVIDER"] == "none":
            given.start, given.prompt = self.start, self.hook("UserPromptSubmit", prompt=question)
            given.guide = self.answer("guide", "--", question)
        return given


def judge(question: Question, given: Answers) -> dict[str, float]:
    """Return the figures of one question, by column."""
    if not question.sessions:
        return {"marked": float(given.good == 0)}
    gold = set(question.sessions)
    row: dict[str, float] = {"any@6": bool(gold & set(given.sessions)), "all@6": gold <= set(given.sessions)}
    row["newest"] = given.sessions[:1] == [question.sessions[-1]]
    texts = {"hits": given.hits, "recall": given.recall, "start": given.start, "prompt": given.prompt}
    texts["guide"] = given.guide
    row |= {name: share(question.answer, text) for name, text in texts.items() if text is not None}
    row |= {} if given.guide is None else {"speaks": bool(given.guide.strip())}
    return {name: float(value) for name, value in row.items()}


def table(name: str, questions: Sequence[Question], answers: Sequence[Answers]) -> dict[str, dict[str, float]]:
    """Return the mean of each column, for each kind of question and for all."""
    rows: dict[str, list[dict[str, float]]] = collections.defaultdict(list)
    for question, given in zip(questions, answers, strict=True):
        given.row = judge(question, given)
        for kind in (question.kind, *(["all"] if question.kind != ELSEWHERE else [])):
            rows[f"{name}: {kind}"].append(given.row)
    return {
        kind: {
            column: statistics.mean(row[column] for row in several if column in row)
            for column in COLUMNS
            if any(column in row for row in several)
        }
        for kind, several in sorted(rows.items())
    }


def line(kind: str, means: dict[str, float]) -> str:
    """Return a row of the table as text."""
    return f"{kind:<54}" + "".join(f"{means[name]:8.2f}" if name in means else f"{'-':>8}" for name in COLUMNS)


def misses(questions: Sequence[Question], answers: Sequence[Answers]) -> Iterable[str]:
    """Return a line for each question whose answer is not wholly in six hits or in recall."""
    for question, given in zip(questions, answers, strict=True):
        if question.sessions and min(given.row["hits"], given.row["recall"]) < 1:
            yield f"  hits {given.row['hits']:.2f} recall {given.row['recall']:.2f}  {question.text}"


@dataclass(frozen=True)
class Part:
    """The tables of one way to answer a set's questions, and the questions that it does not answer wholly."""

    means: dict[str, dict[str, float]]
    misses: tuple[str, ...]


def measured(name: str, *, vectors: bool, misses_too: bool) -> Iterable[Part]:
    """Yield the tables of the baseline, of gitmem by words, and, if asked for, of gitmem with vectors."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as home:
        project = Path(home, "project")
        project.mkdir()
        sessions, questions = SETS[name](str(project))
        others = [make(str(project))[1] for other, make in SETS.items() if other != name]
        texts = [question.text for several in others for question in several if question.sessions]
        foreign = [Question(text, frozenset(), (), ELSEWHERE) for text in texts]
        answers = [Baseline(sessions).ask(question.text) for question in questions]
        yield Part(table(f"{name} BM25", questions, answers), ())
        gitmem = Gitmem(home, str(project), sessions)
        for label in ("gitmem", "gitmem with vectors")[: 1 + vectors]:
            if label != "gitmem":
                gitmem.make_vectors()
            answers = [gitmem.ask(question) for question in [*questions, *foreign]]
            means = table(f"{name} {label}", [*questions, *foreign], answers)
            yield Part(means, tuple(misses(questions, answers[: len(questions)])) if misses_too else ())


def main() -> None:
    """Measure the sets named, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"one of {', '.join(SETS)}; all without one")
    parser.add_argument("--vectors", action="store_true", help="ask once more with the vectors of the extra `local`")
    parser.add_argument("--misses", action="store_true", help="list the questions that gitmem does not answer wholly")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if unknown := set(args.sets) - set(SETS):
        parser.error(f"there is no set {', '.join(sorted(unknown))}; the sets are {', '.join(SETS)}")
    if not DATA.is_dir():
        sys.exit(f"There are no question sets: {DATA} does not exist.")
    report: dict[str, dict[str, float]] = {}
    if not args.json:
        print(f"{'':<54}" + "".join(f"{name:>8}" for name in COLUMNS))
    for name in args.sets or SETS:
        for part in measured(name, vectors=args.vectors, misses_too=args.misses):
            report |= part.means
            if not args.json:
                print("\n".join((*(line(kind, row) for kind, row in part.means.items()), *part.misses)), flush=True)
    if args.json:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
