"""Every door by which memory reaches an agent or a user: the one list for the tests of what all doors hold to."""

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from gitmem.cli.recall_hooks import ERROR, PROMPT, help_for, tell
from gitmem.hosts.registry import find_host
from gitmem.learn.end import replay
from gitmem.store.store import Store
from gitmem.web.render import export
from tests.agent import Recorder
from tests.command_line import Runner
from tests.mcp.conftest import Memory
from tests.web.conftest import Viewer
from tests.world import World

SAID = "Session tokens are kept in the Redis cache."  # what the recorded session says wherever it can
ISSUE = "The login page flickers in Safari."
QUESTION = "Where are the session tokens kept, in the Redis cache?"
_BROKE = "Exit code 2\nerror: the spindle broke"
_SUMMARY = f"""---
id: summary-1
kind: summary
themes:
  - name: login
    summary: {SAID}
key_decisions:
  - decision: {SAID}
    reason: ""
    date: 2026-10-03
issues:
  - issue: {ISSUE}
    status: open
    date: 2026-10-03
---
{SAID} More of it.
"""
_FACT = "---\nid: {id}\nkind: {kind}\nstatus: {status}\ncreated: 2026-10-03T09:00:00+00:00\n{more}---\n{text}\n"


class Doors:
    """A store in which a session, and all that is made of one, says `SAID`; and ways to ask it."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.root, context = folder.parent / "unset", world.store.context
        self.asked: list[str] = []  # hooks, each of a session of its own, which was told nothing yet
        self.context = context
        recorder = Recorder(folder / "one.jsonl", "s-one")
        recorder.turn(1, f"Move the sessions of the login page. {SAID}", f"Done. {SAID} It builds now.", fix="uv sync")
        recorder.turn(2, "Thanks, now describe where the session tokens are", f"I wrote it down. {SAID}")
        replay(world.store, recorder.write())
        self.put("summaries/memory_20261004_000000.summary.md", _SUMMARY)
        self.put("archive/memory_20261004_000000.md", f"# Old\n\n{SAID}\n")
        self.put("knowledge/login.md", f"# Login\n\n{SAID}\n")
        for number in range(60):  # so that the words of the question say something
            self.put(
                f"knowledge/{number}.md", f"# Part {number}\n\nThe importer reads part {number} of its settings.\n"
            )
        self.say("`uv sync`", SAID, header=True)
        self.say("changed: [uv sync]", f'fix: "{SAID}"', header=True)

    @property
    def store(self) -> Store:
        return Store(self.world.store.root, self.context)

    def put(self, path: str, text: str) -> None:
        file = self.place(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def fact(self, identifier: str, text: str, kind: str = "decision", status: str = "active", more: str = "") -> None:
        text = _FACT.format(id=identifier, kind=kind, status=status, more=more, text=text)
        self.put(f"facts/{kind}/{identifier}-x.md", text)

    def place(self, path: str) -> Path:
        return self.folder.__class__(self.world.store.root, path)

    def readable(self, path: str) -> Path:
        """Return a file of the memory, also while something else is checked out in the store."""
        return Path(self.store.documents, path)

    def say(self, old: str, new: str, *, header: bool = False) -> None:
        """Have every document say something else, as a sync or an editor does; with `header` its front matter, too."""
        for file in self.place("").rglob("*.md"):
            if ".git" not in file.parts:
                head, dashes, body = file.read_text(encoding="utf-8").rpartition("\n---\n")
                head = head.replace(old, new) if header else head
                file.write_text(f"{head}{dashes}{body.replace(old, new)}", encoding="utf-8")

    def only(self, pattern: str) -> str:
        """Return the path of the first file of a form."""
        found = sorted(self.readable("").glob(pattern))
        return found[0].relative_to(self.readable("")).as_posix()

    def id_of(self, pattern: str) -> str:
        return self.only(pattern).rpartition("/")[2].partition("-")[0].removesuffix(".md")

    def exchange(self) -> str:
        text = self.readable("memory.md").read_text(encoding="utf-8").partition("\n  Asked")[0]
        return (re.findall(r"\^(x[0-9a-z]{10})\b", text) or ["x0000000000"])[-1]

    def run(self, *argv: str) -> str:
        code, out, err = self.ran(*argv)
        assert code == 0, err
        return out

    def ran(self, *argv: str) -> tuple[int, str, str]:
        """Return what a command answers an agent: code, output, errors."""
        environ = {**self.context.environ, "CLAUDECODE": "1"}
        code, out, err = Runner(self.place("").parent, environ)(*argv, fence=True)
        return code, out, err

    def hook(self, name: str, **payload: object) -> str:
        """Return what a host is told at an event."""
        out = io.StringIO()
        host = find_host("claude")
        self.asked.append(name)
        payload["session_id"] = f"s-{len(self.asked)}"
        tell(out, lambda text: host.answer(name, text), help_for(self.store, name, payload))
        return json.loads(out.getvalue())["hookSpecificOutput"]["additionalContext"] if out.getvalue() else ""

    def tool(self, name: str, **arguments: object) -> str:
        return Memory(self.place(""), self.context).text(name, **arguments)

    def resource(self, path: str) -> str:
        server = Memory(self.place(""), self.context)
        read = server.ask(lambda client: client.read_resource(f"gitmem://store/{path}"))
        return "\n".join(content.text for content in read.contents)

    def topic(self, topic: str) -> str:
        server = Memory(self.place(""), self.context)
        told = server.ask(lambda client: client.get_prompt("recall", {"topic": topic}))
        return "\n".join(message.content.text for message in told.messages)

    def page(self, path: str) -> str:
        return Viewer(self.place(""), self.context).sign_in().get(path)

    def exported(self) -> str:
        shutil.rmtree(self.folder / "pages", ignore_errors=True)
        export(self.store, str(self.folder / "pages"))
        pages = [
            path
            for name in ("session/*", "concept/*", "index")
            for path in (self.folder / "pages").glob(f"{name}.html")
        ]
        return "\n".join(page.read_text(encoding="utf-8") for page in pages)


_SESSION = "sessions/2026/10/*.md"
# By whom they are read: an agent gets a fence and a browser HTML.
AGENT: dict[str, Callable[[Doors], str]] = {
    "start": lambda world: world.run("start"),
    "recall": lambda world: world.run("recall", QUESTION),
    "search": lambda world: world.run("search", QUESTION),
    "search --all": lambda world: world.run("search", "--all", QUESTION),
    "get ^id": lambda world: world.run("get", f"^{world.exchange()}"),
    "get path": lambda world: world.run("get", world.only(_SESSION)),
    "get summary": lambda world: world.run("get", world.only("summaries/*.md")),
    "show": lambda world: world.run("show"),
    "show path": lambda world: world.run("show", world.only("archive/*.md")),
    "show summary": lambda world: world.run("show", world.only("summaries/*.md")),
    "show ^id": lambda world: world.run("show", f"^{world.exchange()}"),
    "concepts show": lambda world: world.run("concepts", "show", world.id_of("concepts/*.md")),
    "episodes show": lambda world: world.run("episodes", "show", world.id_of("episodes/2026/10/*.md")),
    "patterns show": lambda world: world.run("patterns", "show", world.id_of("patterns/bugs/*.md")),
    "sessions ID": lambda world: world.run("sessions", "s-one"),
    "summary show": lambda world: world.run("summary", "show"),
    "facts list": lambda world: world.run("facts", "list", "--all"),
    "facts show": lambda world: world.run("facts", "show", "d000000000b"),
    "guide": lambda world: world.run("guide", QUESTION),
    "prompt": lambda world: world.hook(PROMPT, prompt=QUESTION),
    "error": lambda world: world.hook(ERROR, error=_BROKE),
    "memory_search": lambda world: world.tool("memory_search", query=QUESTION),
    "memory_get path": lambda world: world.tool("memory_get", path=world.only(_SESSION)),
    "memory_get ^id": lambda world: world.tool("memory_get", path=f"^{world.exchange()}"),
    "memory_load": lambda world: world.tool("memory_load"),
    "memory_guide": lambda world: world.tool("memory_guide", task=QUESTION),
    "resource": lambda world: world.resource(world.only(_SESSION)),
    "prompt recall": lambda world: world.topic(QUESTION),
}
BROWSER: dict[str, Callable[[Doors], str]] = {
    "page of a concept": lambda world: world.page(f"/concept/{world.id_of('concepts/*.md')}"),
    "page of a session": lambda world: world.page("/session/s-one"),
    "page of a search": lambda world: world.page("/search?q=session+tokens+Redis+cache"),
    "page of knowledge": lambda world: world.page("/knowledge"),
    "first page": lambda world: world.page("/"),
    "export": Doors.exported,
}
_WORDS: dict[str, Callable[[Doors], list[str]]] = {
    "search": lambda _: ["search", QUESTION],
    "get": lambda world: ["get", world.only(_SESSION)],
    "concepts show": lambda world: ["concepts", "show", world.id_of("concepts/*.md")],
    "episodes show": lambda world: ["episodes", "show", world.id_of("episodes/2026/10/*.md")],
    "sessions": lambda _: ["sessions", "s-one"],
    "summary show": lambda _: ["summary", "show"],
}
JSON = {
    f"{name} --json": lambda world, words=words: world.run(*words(world), "--json") for name, words in _WORDS.items()
}
DOORS = AGENT | BROWSER | JSON


def texts(value: object) -> Iterator[str]:
    """Yield the texts in JSON, without names such as the task of an episode."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in {"task", "name", "about"}:
                yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value
