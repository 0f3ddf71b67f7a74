"""What is known of the project is learned once, again when it changes, and never of a user's home."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep
from gitmem.learn.facts import learn
from gitmem.learn.lessons import known_knowledge, learn_commands, learn_preferences, learn_project
from gitmem.model.project_knowledge import read_commands
from gitmem.model.turns import Run, Turn
from gitmem.model.validity import in_force
from gitmem.store.init import Place, init_store
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store, open_user_store


@pytest.fixture
def project(world, bare_git) -> Path:
    folder = Path(world.store.root).parent
    bare_git(folder, "init", "-q")
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text(".gitmem\n")
    (folder / "pyproject.toml").write_text('[project]\ndependencies = ["httpx>=0.27", "typer[all]"]\n')
    (folder / "app").mkdir()
    for number in range(4):
        (folder / "app" / "load.py").write_text(f"{number}\n")
        (folder / "app" / "save.py").write_text(f"{number}\n")
        bare_git(folder, "add", "-A")
        bare_git(folder, "commit", "-qm", f"Change {number}")
    return folder


def lines(world) -> dict[str, tuple[str, ...]]:
    return {known.kind.value: known.lines for known, _ in known_knowledge(world.store)}


def again(world) -> Store:
    world.store = Store(world.store.root, world.store.context)
    return world.store


def test_the_background_learns_it_once_a_day(world, project, bare_git):
    do_upkeep(world.store, lambda: False)
    assert lines(world)["stack"] == ("pyproject.toml needs httpx, typer",)
    (project / "pyproject.toml").write_text("[project")
    bare_git(project, "commit", "-qam", "Break it")
    do_upkeep(again(world), lambda: False)
    assert lines(world)["stack"] == ("pyproject.toml needs httpx, typer",)
    world.clock.now += timedelta(days=1)
    do_upkeep(again(world), lambda: False)
    assert lines(world)["stack"] == ("pyproject.toml",)


def test_nothing_is_learned_of_the_users_home(world, project):
    store = again(world)
    store.context = store.context._replace(home=str(project))
    assert learn_project(store) is None


def ran(world, session: str, *runs: tuple[str, bool]) -> str | None:
    world.clock.now += timedelta(days=1)
    at = world.clock.now.astimezone(UTC)
    told = tuple(Run(command, "", failed=not ok) for command, ok in runs)
    return learn_commands(again(world), session, "claude-code", [Turn(session, "h", "t", at, at, runs=told)])


def test_commands_are_counted_with_the_exchanges_they_ran_in(world):
    assert ran(world, "s-1", ("make test", True))
    assert ran(world, "s-2", ("make test", True), ("ls", True))
    world.clock.now -= timedelta(days=1)
    assert ran(world, "s-2", ("make test", True)) is None
    [(known, data)] = known_knowledge(world.store)
    assert known.lines == ("Tests run with `make test`",)
    command = read_commands(data)["make test"]
    assert len(command.worked) == 2
    assert datetime.fromisoformat(command.last_worked) == world.clock.now
    ran(world, "s-3", ("make test", False))
    [(known, data)] = known_knowledge(world.store)
    assert known.lines == ("Tests run with `make test`; its last run failed",)
    assert set(known.sources) == {*read_commands(data)["make test"].worked, *read_commands(data)["make test"].failed}


@pytest.fixture
def own(world, tmp_path) -> Store:
    home = tmp_path / "somebody's home"
    home.mkdir()
    world.store = Store(world.store.root, world.store.context._replace(home=str(home)))
    world.store.acceptance.accept(())
    init_store(str(home), world.store.context, Place.USER)
    found = open_user_store(world.store)
    assert found is not None
    return found


def said(world, session: str, *prompts: str) -> None:
    """Have a session end in which a user said this."""
    world.clock.now += timedelta(hours=1)
    at = world.clock.now
    world.store = Store(world.store.root, world.store.context)
    turns = [Turn(session, "h", f"t{number}", at, at, text, closed=True) for number, text in enumerate(prompts)]
    learn(world.store, session, "h", turns)
    learn_preferences(world.store, session, "h", turns)


def held(own: Store) -> set[str]:
    return {fact.description for fact in in_force(known_facts(Store(own.root, own.context)))}


def test_what_a_user_prefers_is_known_everywhere(world, own):
    said(
        world, "s-1", "Preference: answer in short sentences. Fix the bug.", "선호: 답은 한국어로", "Never use emojis."
    )
    assert held(own) == {"Answer in short sentences.", "답은 한국어로."}
    tip = Store(own.root, own.context).tip
    said(world, "s-1", "Preference: answer in short sentences. Fix the bug.")
    assert Store(own.root, own.context).tip == tip


@pytest.mark.parametrize(
    "rule",
    [
        "Always run `make lint` before committing.",
        "Never edit app/a.py by hand.",
        "Never log the access token.",
        "Preference: two spaces in `src/ui`.",
        "항상 금요일 오전에만 배포하자.",
    ],
)
@pytest.mark.few(3)
def test_what_is_of_the_project_stays_there(world, own, rule):
    said(world, "s-1", rule)
    said(world, "s-2", rule)
    assert held(own) == set()
    assert held(world.store)
