"""Which facts and which concept a session is told when it starts, and how little has to be read and asked for that."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.facts.edit import retire
from gitmem.facts.fact import FactKind, make_fact, render_fact
from gitmem.project import ProjectState
from gitmem.sessions import told as facts
from gitmem.sessions.background import do_upkeep
from gitmem.sessions.save import save
from gitmem.sessions.told import TITLE, choose_facts
from gitmem.store.init import Place, init_store
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.sessions.test_start import titles
from tests.started import session_start


@pytest.fixture
def code(desk, bare_git) -> Path:
    """Give the project of the desk some code under git, and the store two facts that speak of it."""
    project = Path(desk.store.root).parent
    bare_git(project, "init", "-q")
    (project / "src 한글.py").write_text("one\n")
    (project / "other.py").write_text("one\n")
    commit_all(project, bare_git)
    commit = bare_git(project, "rev-parse", "HEAD").strip()[:12]
    put(desk, FactKind.RULE, "The loader reads its settings in layers.", files=("src 한글.py",), commit=commit)
    put(desk, FactKind.RULE, "The parser caches its tokens.", files=("other.py",), commit=commit)
    return project


def commit_all(project: Path, bare_git) -> None:
    bare_git(project, "add", "-A", "--", ":!.gitmem")
    bare_git(project, "commit", "-qm", "Go on")


def put(desk, kind: FactKind, text: str, **more) -> Path:
    fact = make_fact(kind, text, desk.clock.now, **more)
    path = Path(desk.store.root, fact.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_fact(fact))
    return path


def told(desk) -> str:
    """Return what a session is told of facts when it starts."""
    return "\n".join(line for line, _ in choose_facts(desk.store, "").lines)


def test_what_may_be_out_of_date_is_marked(desk, code, bare_git):
    assert "out of date" not in told(desk)
    (code / "src 한글.py").write_text("two\n")
    assert "out of date" not in told(desk)  # nobody knows yet whether it stays so
    commit_all(code, bare_git)
    lines = told(desk).splitlines()
    assert ["since changed: src 한글.py" in line for line in lines] == ["layers" in line for line in lines]
    assert sum("since changed" in line for line in lines) == 1


def test_a_file_that_was_added_and_removed_since_is_marked(desk, code, bare_git):
    (code / "src 한글.py").write_text("two\n")
    (code / "new.py").write_text("one\n")
    commit_all(code, bare_git)
    commit = bare_git(code, "rev-parse", "HEAD").strip()
    put(desk, FactKind.RULE, "What is new is written in one file.", files=("new.py",), commit=commit)
    (code / "new.py").unlink()
    commit_all(code, bare_git)
    assert sorted(line.rpartition("changed: ")[2] for line in told(desk).splitlines() if "changed" in line) == [
        "new.py)",
        "src 한글.py)",
    ]


def test_facts_are_told_unmarked_if_git_does_not_answer(desk, code, bare_git, tmp_path, monkeypatch):
    if os.name != "posix":
        pytest.skip("a stand-in for git is a shell script")
    (code / "src 한글.py").write_text("two\n")
    commit_all(code, bare_git)
    assert "since changed" in told(desk)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    context = desk.store.context
    path = f"{tmp_path / 'bin'}{os.pathsep}{context.environ['PATH']}"
    monkeypatch.setattr(desk.store, "context", context._replace(environ={**context.environ, "PATH": path}))
    desk.store.patience = 0.1
    for cached in Path(desk.store.private, "known").glob("places.json"):
        cached.unlink()
    lines = told(desk).splitlines()
    assert len(lines) == 2
    assert "since changed" not in "".join(lines)


def test_what_is_edited_by_hand_is_told_as_it_is_now(desk):
    path = put(desk, FactKind.RULE, "Always run the linter.")
    put(desk, FactKind.PREFERENCE, "Prefer tabs.")
    assert "Always run the linter." in told(desk)
    path.write_text(path.read_text().replace("Always run the linter.", "Always run the tests."))
    assert "Always run the tests." in told(desk)
    assert "linter" not in told(desk)
    path.write_text(path.read_text().replace("status: active", "status: retired"))
    assert "Prefer tabs." in told(desk)
    assert "tests" not in told(desk)
    path.write_text(path.read_text().replace("status: retired", "status: active"))
    assert "Always run the tests." in told(desk)
    path.unlink()
    assert "tests" not in told(desk)


def test_of_facts_that_are_not_looked_at_an_edit_is_seen_behind_the_next_hook(desk, monkeypatch):
    monkeypatch.setattr(facts, "_MAX_RANKED", 1)
    put(desk, FactKind.RULE, "Always run the linter.")
    low = put(desk, FactKind.PATTERN, "Handlers are named by their event.")
    assert "linter" in told(desk)
    low.write_text(low.read_text().replace("kind: pattern", "kind: preference").replace("Handlers", "All handlers"))
    assert "linter" in told(desk)
    do_upkeep(desk.store, lambda: True)
    assert "All handlers" in told(desk)


def test_facts_about_what_is_changed_and_often_said_come_first(desk):
    for number in range(3):
        put(desk, FactKind.DECISION, f"Part {number} has its own settings.", files=(f"part_{number}.py",))
    put(desk, FactKind.DECISION, "Use uv.", sources=("x1111111111", "x2222222222", "x3333333333"))
    state = ProjectState("/p", "main", 1, (), ("part_1.py",))
    text = session_start(desk.store, (), state, ())
    places = [text.index(words) for words in ("Part 1 has", "Use uv.", "Part 2 has")]
    assert places[:1] < places[2:]
    assert places[1] < places[2]


# A person's own rules and preferences


@pytest.fixture
def own(desk, home):
    """Give a function that saves into the person's own store."""
    desk.store.context = desk.store.context._replace(home=str(home))
    init_store(str(home), desk.store.context, Place.USER)
    store = Store(str(home / ".gitmem"), desk.store.context)

    def put(text: str, kind: MemoryType = MemoryType.PREFERENCE) -> Store:
        save(store, desk.save(text, kind))
        return store

    return put


def started(desk) -> str:
    return session_start(Store(desk.store.root, desk.store.context), (), None, ())


def own_part(text: str) -> list[str]:
    _, found, rest = text.partition(f"## {TITLE}\n")
    return rest.partition("\n\n")[0].splitlines() if found else []


def test_rules_and_preferences_are_told_and_nothing_else(desk, own):
    own("Answer in Korean.")
    own("Never push without asking.", MemoryType.RULE)
    own("We chose Postgres for the shop.", MemoryType.DECISION)
    lines = own_part(started(desk))
    assert [line.partition(" (")[0] for line in lines] == ["- Never push without asking.", "- Answer in Korean."]


def test_of_two_rules_that_contradict_each_other_the_newer_is_told(desk, own):
    own("Always use tabs for indentation.", MemoryType.RULE)
    desk.clock.now += timedelta(days=1)
    own("Always use spaces for indentation.", MemoryType.RULE)
    (line,) = own_part(started(desk))
    assert line.startswith("- Always use spaces for indentation. (rule, ")
    assert "tabs" not in line


def test_what_contradicts_the_project_yields_and_is_said(desk, own):
    save(desk.store, desk.save("Always use tabs for indentation.", MemoryType.RULE))
    own("Always use spaces for indentation.", MemoryType.RULE)
    (line,) = own_part(started(desk))
    assert line == (
        "- Not here: Always use spaces for indentation. "
        "This project's rule goes before it: Always use tabs for indentation."
    )


def test_what_the_project_says_too_and_what_ended_are_left_out(desk, own):
    save(desk.store, desk.save("Always run the linter.", MemoryType.RULE))
    own("Always run the linter.", MemoryType.RULE)
    store = own("Answer in Korean.")
    (line,) = own_part(started(desk))
    assert "Korean" in line
    (answer,) = (fact for fact in known_facts(store) if "Korean" in fact.description)
    retire(store, answer, "")
    assert own_part(started(desk)) == []


def test_in_the_own_store_itself_nothing_is_told_twice(desk, own):
    store = own("Answer in Korean.")
    assert TITLE not in titles(session_start(store, (), None, ()))


def test_an_own_store_that_cannot_be_opened_is_no_trouble(desk, own):
    store = own("Answer in Korean.")
    with open(f"{store.root}/FORMAT.md", "w", encoding="utf-8") as file:
        file.write("version: 99\n")
    assert own_part(started(desk)) == []


def test_what_a_person_said_is_told_before_what_a_model_judged(desk):
    words = ("parser", "tokens", "encoding", "lines")
    judged = {"origin": {"by": "a-model"}, "keywords": words, "confidence": 1.0}
    put(desk, FactKind.RULE, "The parser reads tokens, encoding and lines.", **judged)
    put(desk, FactKind.DECISION, "Deploy on Mondays.")
    lines = [line for line, _ in choose_facts(desk.store, " ".join(words)).lines]
    assert [line.split(".")[0] for line in lines] == [
        "- Deploy on Mondays",
        "- The parser reads tokens, encoding and lines",
    ]
