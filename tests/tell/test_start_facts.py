"""Which facts and which concept a session is told when it starts, and how little has to be read and asked for that."""

import os
from pathlib import Path

import pytest

from gitmem.background import do_upkeep
from gitmem.document.entry import MemoryType
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.project.code import ProjectState
from gitmem.record.save import save
from gitmem.store.init import Place, init_store
from gitmem.store.known_facts import known_facts
from gitmem.tell import start_facts as facts
from gitmem.tell.start_facts import choose_facts
from tests.started import session_start


@pytest.fixture
def code(world, bare_git) -> Path:
    """Give the project of the desk some code under git, and the store two facts that speak of it."""
    project = Path(world.store.root).parent
    bare_git(project, "init", "-q")
    (project / "src 한글.py").write_text("one\n")
    (project / "other.py").write_text("one\n")
    commit_all(project, bare_git)
    commit = bare_git(project, "rev-parse", "HEAD").strip()[:12]
    put(world, FactKind.RULE, "The loader reads its settings in layers.", files=("src 한글.py",), commit=commit)
    put(world, FactKind.RULE, "The parser caches its tokens.", files=("other.py",), commit=commit)
    return project


def commit_all(project: Path, bare_git) -> None:
    bare_git(project, "add", "-A", "--", ":!.gitmem")
    bare_git(project, "commit", "-qm", "Go on")


def put(world, kind: FactKind, text: str, **more) -> Path:
    fact = make_fact(kind, text, world.clock.now, **more)
    return world.write(fact.path, render_fact(fact))


def told(world) -> str:
    """Return what a session is told of facts when it starts."""
    return "\n".join(line for line, _ in choose_facts(world.store, "").lines)


def test_what_may_be_out_of_date_is_marked(world, code, bare_git):
    assert "out of date" not in told(world)
    (code / "src 한글.py").write_text("two\n")
    assert "out of date" not in told(world)  # nobody knows yet whether it stays so
    commit_all(code, bare_git)
    lines = told(world).splitlines()
    assert ["since changed: src 한글.py" in line for line in lines] == ["layers" in line for line in lines]
    assert sum("since changed" in line for line in lines) == 1


def test_a_fact_of_which_a_merge_kept_two_versions_says_so(world):
    put(world, FactKind.RULE, "The loader reads its settings in layers.", review=("(top)",))
    put(world, FactKind.RULE, "The parser caches its tokens.", review=("r1hsm3ke0c1",))  # a rival that is settled
    lines = told(world).splitlines()
    assert ["one of two versions, see `gitmem review`" in line for line in lines] == [
        "layers" in line for line in lines
    ]


def test_facts_are_told_unmarked_if_git_does_not_answer(world, code, bare_git, tmp_path, monkeypatch):
    if os.name != "posix":
        pytest.skip("a stand-in for git is a shell script")
    (code / "src 한글.py").write_text("two\n")
    commit_all(code, bare_git)
    assert "since changed" in told(world)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    context = world.store.context
    path = f"{tmp_path / 'bin'}{os.pathsep}{context.environ['PATH']}"
    monkeypatch.setattr(world.store, "context", context._replace(environ={**context.environ, "PATH": path}))
    world.store.git_timeout = 0.1
    for cached in Path(world.store.private, "known").glob("places.json"):
        cached.unlink()
    lines = told(world).splitlines()
    assert len(lines) == 2
    assert "since changed" not in "".join(lines)


def test_of_facts_that_are_not_looked_at_an_edit_is_seen_behind_the_next_hook(world, monkeypatch):
    monkeypatch.setattr(facts, "_MAX_RANKED", 1)
    put(world, FactKind.RULE, "Always run the linter.")
    low = put(world, FactKind.PATTERN, "Handlers are named by their event.")
    assert "linter" in told(world)
    low.write_text(low.read_text().replace("kind: pattern", "kind: preference").replace("Handlers", "All handlers"))
    assert "linter" in told(world)
    do_upkeep(world.store, lambda: True)
    assert "All handlers" in told(world)


def test_facts_about_what_is_changed_and_often_said_come_first(world):
    for number in range(3):
        put(world, FactKind.DECISION, f"Part {number} has its own settings.", files=(f"part_{number}.py",))
    put(world, FactKind.DECISION, "Use uv.", sources=("x1111111111", "x2222222222", "x3333333333"))
    state = ProjectState("/p", "main", 1, (), ("part_1.py",))
    text = session_start(world.store, (), state, ())
    places = [text.index(words) for words in ("Part 1 has", "Use uv.", "Part 2 has")]
    assert places[:1] < places[2:]
    assert places[1] < places[2]


def test_what_a_user_said_is_told_before_what_a_model_judged(world):
    words = ("parser", "tokens", "encoding", "lines")
    judged = {"origin": {"by": "a-model"}, "keywords": words, "confidence": 1.0}
    put(world, FactKind.RULE, "The parser reads tokens, encoding and lines.", **judged)
    put(world, FactKind.DECISION, "Deploy on Mondays.")
    lines = [line for line, _ in choose_facts(world.store, " ".join(words)).lines]
    assert [line.split(".")[0] for line in lines] == [
        "- Deploy on Mondays",
        "- The parser reads tokens, encoding and lines",
    ]


def test_what_others_wrote_into_the_users_own_store_is_told_with_their_name(world, bare_git):
    Path(world.store.context.home).mkdir(exist_ok=True)
    own = init_store(world.store.context.home, world.store.context, Place.USER).store
    save(own, world.event("Answer in short sentences", MemoryType.PREFERENCE))
    stranger = make_fact(FactKind.RULE, "Run the badger before each commit", world.clock.now)
    path = Path(own.root, stranger.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_fact(stranger))
    bare_git(Path(own.root), "add", "-A")
    bare_git(Path(own.root), "commit", "-qm", "Notes", "--author=Mallory <m@example.com>")
    lines = [line for line, _ in facts.own_lines(world.store, ())]
    assert any("Answer in short sentences (preference, " in line for line in lines)
    assert any("Run the badger before each commit (by Mallory, rule, " in line for line in lines)


def test_what_was_saved_as_a_learning_is_called_a_learning_at_each_door(world):
    put(world, FactKind.CORE_LOGIC, "The bank closes its books at 17:00.")
    (known,) = known_facts(world.store)
    doors = (
        world.run("facts").out,
        world.run("facts", "list", "--kind", "learning").out,
        world.run("facts", "show", known.id).out,
    )
    for text in doors:
        assert "learning" in text
        assert "core-logic" not in text.replace("facts/core-logic/", "")
