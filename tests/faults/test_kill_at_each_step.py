"""A command killed at each of its steps, alone or with its children: the next command repairs the store.

Steps are seen from outside (victim.py); production code has no hooks for tests. A command goes through the same steps
each time, give or take a wait, so a loop kills at step 1, 2, 3, … until the command comes to its end.
"""

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from gitmem.document.ids import daily_path, monthly_path, weekly_path
from gitmem.errors import ExitCode
from gitmem.model.rotation import week_of
from tests.faults.conftest import Project, Victim, Victims

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

ROTATES_SOON = "rotation:\n  threshold_tokens: 300\n  carryover_tokens: 60\n"
# Packing in the background is not killed with the command that started it: while a test looks, it commits what it finds
# in the spool, and packs vanish under an fsck that is reading them.
NO_PACKING = "maintenance:\n  automatic: false\n"
SMALL = 1100  # bytes of a memory.md that was just rotated, at most
MOST_STEPS = 2_000
FEWEST_STEPS = 20
STAGED = re.compile(r"os\.rename \d+-[0-9a-f]{12}")  # a file of `.tmp/` on its way into its place


@pytest.fixture
def project(project: Project) -> Project:
    """Give a project without background work, so that nothing runs after a kill."""
    project.settings = NO_PACKING
    project.configure("")
    return project


def sampled(*, alone: int = 0, group: int = 0, slow: int = 1) -> pytest.MarkDecorator:
    """Have a test kill at every so many steps, and, as a slow test, at all, or at more of them: the group at fewer."""
    marks = (pytest.mark.slow, pytest.mark.timeout(600))
    more = [
        pytest.param("alone", slow, marks=(*marks, pytest.mark.long)),
        pytest.param("group", 2 * slow + 1, marks=marks),
    ]
    fast = [(how, every) for how, every in (("alone", alone), ("group", group)) if every]
    return pytest.mark.parametrize("how, every", fast + more)


def each_step(
    victims: Victims, project: Project, prepare: Callable[[], list[str]], how: str, every: int, *, wait: bool = True
) -> Iterator[tuple[int, Victim]]:
    """Run the command that `prepare` returns again and again, killed at every so many of its steps."""
    for step in range(1, MOST_STEPS, every):
        victim = victims.run(project.root, *prepare(), at=step, how=how, wait=wait)
        if not victim.killed:
            assert victim.code == 0, victim
            assert step > FEWEST_STEPS, "the command was not watched"
            return
        yield step, victim
    raise AssertionError("the command does not come to its end")


def saving(project: Project, first: Callable[[], object] = lambda: None) -> Callable[[], list[str]]:
    def prepare() -> list[str]:
        first()
        text = project.text()
        project.perhaps.add(text)
        return ["save", "--json", "--", text]

    return prepare


def save(project: Project, victims: Victims, where: str = "", env: Mapping[str, str] | None = None) -> Victim:
    """Save a text."""
    text = project.text()
    done = victims.run(project.root, "save", "--json", "--", text, env=env)
    assert done.code == 0, (where, done)
    project.saved(done.said["id"], text)
    return done


def repair(project: Project, victims: Victims, victim: Victim, number: int, where: str = "") -> None:
    """Run commands after a kill; check that each leaves the store in order, once leftovers are old enough."""
    where = where or f"step {number}: killed when about to {victim.steps[-1]}"
    project.check_entries(edits=False)
    if number % 3 == 0:
        done = victims.run(project.root, "check")
        assert done.code in {0, ExitCode.BUSY}, (where, done)
    unfinished, aside = project.age(), len(project.aside())
    if number % 2:
        done = save(project, victims, where)
    else:
        done = victims.run(project.root, "check")
        assert done.code == 0, (where, done)
    assert len(project.aside()) == aside + unfinished, where
    try:
        project.check()
    except AssertionError as error:
        raise AssertionError(f"{where}; then {done}") from error


@sampled(alone=59)
def test_a_save(project: Project, victims: Victims, how: str, every: int):
    project.save(project.text())
    for step, victim in each_step(victims, project, saving(project), how, every):
        repair(project, victims, victim, step)


@pytest.mark.parametrize("where", ["after an edit by hand", "on a branch of the project", "under a lock that is a ref"])
@sampled(alone=97, slow=2)
def test_a_save_elsewhere(projects: Callable[..., Project], victims: Victims, how: str, every: int, where: str):
    project = projects("project", *(("--branch",) if "branch" in where else ()))
    project.settings = NO_PACKING
    project.configure("lock:\n  kind: ref\n" if "ref" in where else "")
    prepare = saving(project, project.edit if "edit" in where else lambda: None)
    for step, victim in each_step(victims, project, prepare, how, every):
        repair(project, victims, victim, step)


@sampled(alone=59, slow=2)
def test_what_a_dead_command_started_may_still_run(project: Project, victims: Victims, how: str, every: int):
    """The next command does not wait for the git processes of the one that was killed."""
    prepare = saving(project)
    for step, victim in each_step(victims, project, prepare, how, every, wait=False):
        save(project, victims, victim.steps[-1])
        victims.wait(victim)
        repair(project, victims, victim, step)


@pytest.mark.parametrize("command", ["check", "save"])
@sampled(alone=83, group=127)
@pytest.mark.few(2)
def test_a_rotation(project: Project, victims: Victims, how: str, every: int, command: str):
    project.configure(ROTATES_SOON)
    project.save(project.text())
    archives: list[str] = []
    whole = ""

    def grow() -> list[str]:
        nonlocal archives, whole
        project.edit(size=1500)
        archives, whole = project.archives(), (project.store / "memory.md").read_text(encoding="utf-8")
        return ["check"]

    prepare = grow if command == "check" else saving(project, grow)
    for step, victim in each_step(victims, project, prepare, how, every):
        files = project.files()
        new = [path for path in project.archives() if path not in archives]
        old_state = not new and all(line in "".join(files.values()) for line in project.edits[:-1])
        new_state = [files[path] for path in new] == [whole] and len(files["memory.md"]) < SMALL
        assert old_state or new_state, victim.steps
        repair(project, victims, victim, step)
        assert len(project.archives()) == len(archives) + 1


@sampled(alone=167, slow=3)
def test_an_undo(project: Project, victims: Victims, how: str, every: int):
    pytest.importorskip("gitmem.cli.commands.history")
    project.save(project.text())
    identifier = ""

    def prepare() -> list[str]:
        nonlocal identifier
        identifier = project.save(project.text())
        return ["undo", f"^{identifier}"]

    def note() -> bool:
        if identifier in project.kept and identifier not in project.ids():
            del project.kept[identifier]
            project.undone.add(identifier)
        return identifier in project.undone

    for step, victim in each_step(victims, project, prepare, how, every):
        done = note()
        repair(project, victims, victim, step)
        assert note() is done, "what was not undone is not undone later by itself"
        if not done:
            assert victims.run(project.root, "undo", f"^{identifier}").code == 0
            assert note()
            project.check()


@sampled(alone=383, slow=47)
def test_a_consolidation(project: Project, victims: Victims, how: str, every: int):
    """Killed at any step, a day stands in the store once: as its log, or in its week."""
    project.save(project.text())
    monday = date(2020, 1, 6)
    line, day = "", monday

    def prepare() -> list[str]:
        nonlocal line, day
        day = monday + timedelta(weeks=len(project.edits))
        line = f"A line of {day} by hand."
        path = project.store / daily_path(str(day))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {day}\n\n{line}\n", encoding="utf-8")
        project.edits.append(line)
        return ["consolidate"]

    for step, victim in each_step(victims, project, prepare, how, every):
        holding = [path for path, text in project.files().items() if line in text]
        log = daily_path(str(day))
        assert holding in ([], [log], [weekly_path(week_of(day))], [monthly_path(month(day))]), holding
        assert holding or line in (project.store / log).read_text(encoding="utf-8")  # an edit that is not committed yet
        repair(project, victims, victim, step)
        again = victims.run(project.root, "consolidate")
        assert again.code == 0, (victim.steps[-1], again)
        project.check()
        assert project.files()[monthly_path(month(day))].count(line) == 1
        assert not [path for path in project.files() if path.startswith("daily/2020/")]


def month(monday: date) -> str:
    return (monday + timedelta(days=3)).strftime("%Y-%m")


@sampled(alone=179, slow=3)
def test_a_maintenance(project: Project, victims: Victims, how: str, every: int):
    def prepare() -> list[str]:
        for _ in range(2):
            save(project, victims)
        return ["maintain"]

    for step, victim in each_step(victims, project, prepare, how, every):
        project.check_entries()
        project.age()
        done = victims.run(project.root, "maintain")
        assert done.code == 0, (victim.steps[-1], done)
        repair(project, victims, victim, step)


KINDS = pytest.mark.parametrize("options", [(), ("--branch",), ("--home",)], ids=" ".join)


def complete(project: Project, victims: Victims, options: tuple[str, ...], home: Path, where: str) -> None:
    """Save, and init again, after an init that was cut off: there is one store then, and it has all it should."""
    environ = {"HOME": str(home)}
    text = project.text()
    saved = victims.run(project.root, "save", "--json", "--", text, env=environ)
    # A link that git had half made names the command that makes it whole.
    assert saved.code in {0, ExitCode.NO_STORE} or "'gitmem init'" in saved.err, (where, saved)
    again = victims.run(project.root, "init", *options, "--json", env=environ)
    if again.code == ExitCode.BUSY:  # for some seconds, a lock of the git that was killed is not known from another's
        for left in (one for folder in (project.root, home) for one in folder.rglob("*.lock")):
            os.utime(left, (1, 1))
        again = victims.run(project.root, "init", *options, "--json", env=environ)
    assert again.code == 0, (where, again)
    project.store = Path(again.said["store"])
    if saved.code == 0:
        project.saved(saved.said["id"], text)
    assert {"FORMAT.md", "config.yaml", ".gitattributes", ".gitignore", "memory.md"} <= set(project.files()), where
    excluded = (project.root / ".git" / "info" / "exclude").read_text().splitlines()
    assert excluded.count("/.gitmem/") == (options != ("--home",)), where
    project.age()
    save(project, victims, where, environ)
    project.check()


@KINDS
@sampled(alone=331, slow=5)
def test_an_init(  # noqa: PLR0917
    home: Path, projects: Callable[..., Project], victims: Victims, how: str, every: int, options: tuple[str, ...]
):
    for step in range(1, MOST_STEPS, every):
        project = projects(f"project-{step}", None)
        victim = victims.run(project.root, "init", *options, at=step, how=how, env={"HOME": str(home)})
        if not victim.killed:
            assert victim.code == 0, victim
            assert step > FEWEST_STEPS
            return
        complete(project, victims, options, home, f"step {step}: killed when about to {victim.steps[-1]}")
    raise AssertionError("the command does not come to its end")


def branch_has_moved(steps: tuple[str, ...]) -> int:
    """Return the number of the step before which the branch has moved, and nothing of the work tree."""
    return next(number for number, step in enumerate(steps, 1) if STAGED.fullmatch(step))


@sampled(alone=179, slow=3)
def test_the_repair_itself(project: Project, victims: Victims, how: str, every: int):
    """Killed when the branch has moved and nothing else, and the next command again, at each of its steps."""
    project.save(project.text())
    text = project.text()
    watched = victims.run(project.root, "save", "--json", "--", text, at=0)
    project.saved(watched.said["id"], text)
    moved = branch_has_moved(watched.steps)

    def prepare() -> list[str]:
        tip = project.git("rev-parse", "HEAD")
        first = victims.run(project.root, *saving(project)(), at=moved)
        assert first.killed
        assert project.git("rev-parse", "HEAD") != tip
        assert project.git("status", "--porcelain") != ""
        project.edit("memory.md" if len(project.edits) % 2 else "config.yaml")
        return saving(project)()

    for step, victim in each_step(victims, project, prepare, how, every):
        repair(project, victims, victim, step)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [5, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.timeout(600)
def test_a_power_cut_at_any_moment(project: Project, victims: Victims, cuts: int):
    """All processes of a command end at once, also in the middle of what git does."""
    project.configure(ROTATES_SOON)
    chance = random.Random(5)
    for cut in range(cuts):
        project.edit(size=chance.choice([0, 700, 1500]))
        whole = save(project, victims)
        text = project.text()
        victim = victims.run(project.root, "save", "--json", "--", text, after=whole.seconds * chance.uniform(0, 1.1))
        if victim.killed:
            project.perhaps.add(text)
        else:
            project.saved(victim.said["id"], text)
        repair(project, victims, victim, cut, f"cut {cut} of {cuts}")


# `git gc --prune=now` at a step of a save removes no object that the branch is about to point to


_SLOW = (pytest.mark.slow, pytest.mark.timeout(900))
REPOSITORIES = pytest.mark.parametrize(
    "options", [(), pytest.param(("--branch",), marks=_SLOW)], ids=["its own repository", "the project's"]
)


@pytest.mark.parametrize(
    "every",
    [17, pytest.param(3, marks=_SLOW), pytest.param(1, marks=[*_SLOW, pytest.mark.long])],
    ids=["some", "more", "all"],
)
@REPOSITORIES
def test_at_each_step_of_a_save(projects: Callable[..., Project], victims: Victims, options: tuple[str], every: int):
    project = projects("project", *options)
    project.settings = NO_PACKING
    project.configure("")
    for step in range(1, MOST_STEPS, every):
        text = project.text()
        done = victims.run(project.root, "save", "--json", "--", text, at=step, how="gc")
        assert done.code == 0, (step, done)
        project.saved(done.said["id"], text)
        project.age()
        save(project, victims)  # which removes what the clean-up made git leave behind
        project.check()
        if not done.steps:
            assert step > FEWEST_STEPS, "the command was not watched"
            return
    raise AssertionError("the command does not come to its end")
