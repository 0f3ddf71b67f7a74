"""What a team does, over each kind of server that is installed here: a path, ssh, https, gitolite and S3."""

import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import GitmemError, RefusedError
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.purge.purge import PurgePlan, answer_purge, plan_erasure, plan_purge, purge, waiting_purges
from gitmem.store.remotes import find_remote
from gitmem.store.transact import transact
from gitmem.store.transcripts import put
from gitmem.sync.fetch import Chance, Options, SyncStep
from gitmem.sync.rounds import sync_remote
from tests.conftest import RunsGit
from tests.property.hostile import Objects, Said
from tests.store.servers import KINDS, s3, serve
from tests.world import LISTED, Machine, converge

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the servers are programs of POSIX")
AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
UNHURRIED = Chance(random=lambda: 0.0, sleep=lambda _: None, clock=lambda: 0.0)  # three rounds, however slow they are
SAID, KEPT = "Our depot in Turku closes at noon on Fridays", "Use tabs in the generator of the reports"


class Served:
    """A memory on a server, two machines that have it, and what anybody gets who clones it whole."""

    def __init__(self, machines: list[Machine], address: str, folder: Path, environ: dict[str, str]) -> None:
        self.ada, self.ben = machines
        self._address, self._folder, self._environ, self._clones = address, folder, environ, 0

    def refs(self, bare_git: RunsGit, pattern: str = "") -> list[str]:
        lines = bare_git(self._folder, "ls-remote", self._address, *filter(None, [pattern]), env=self._environ)
        return [line.split("\t")[1] for line in lines.splitlines()]

    def everything(self, bare_git: RunsGit) -> str:
        self._clones += 1
        clone = self._folder / f"clone {self._clones}"
        bare_git(self._folder, "clone", "-q", "--mirror", self._address, str(clone), env=self._environ)
        return bare_git(clone, "log", "-p", "--all", "--format=%H %an %ae %B")


_SLOW = (pytest.mark.slow, pytest.mark.timeout(600))  # each call of git-remote-s3 loads boto3


@pytest.fixture(params=["path", *(pytest.param(kind, marks=_SLOW) for kind in KINDS[1:])])
def team(  # noqa: PLR0917
    request, home, environ, tmp_path_factory, machine: Callable[..., Machine], remote: Path
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with serve(request.param, folder, remote, home, environ) as address:
        machines = []
        for name in ("ada", "ben"):
            one = machine(name, url=address)
            one.git("config", "user.name", name.title())
            one.git("config", "user.email", f"{name}@example.org")
            machines.append(Machine(one.root, name, one.context))
        yield Served(machines, address, folder, environ)


def _sync(one: Machine) -> None:
    sync_remote(one.store, find_remote(one.store, None), Options(chance=UNHURRIED), asks=False)


def _share(team: Served, lines: int = 20) -> None:
    """Both say something, with a transcript of so many lines, and hold both."""
    dice = random.Random(1)
    for one, text in ((team.ada, SAID), (team.ben, KEPT)):
        one.configure(f"{LISTED}sync:\n  transcripts: true\n")
        _sync(one)
        one.save(text, MemoryType.DECISION, session=f"the-session-of-{one.name}")
        said = (" ".join(f"{dice.choice('ab')}{dice.randrange(10**4)}" for _ in range(100)) for _ in range(lines))
        put(one.store, f"the-session-of-{one.name}", AT, [f'{{"text": "{line}"}}' for line in (text, *said)])
        _sync(one)
    _sync(team.ada)


def test_both_hold_what_both_saved_also_what_lay_in_the_inbox(team, bare_git):
    ada, ben = team.ada, team.ben
    for each in (ada, ben):
        each.save(f"of {each.name} 기억")
        each.sync()
    converge(ada, ben)
    beaten = []

    def lose(step: str) -> None:
        if step == SyncStep.PUSH and len(beaten) < most:
            beaten.append(ada.save("pushed first").id)
            ada.sync()

    most = 1
    ben.save("pushed second")
    assert ben.sync(progress=lose, chance=UNHURRIED).rounds == 2, (
        "a lost race is told from a refusal by the words of this server"
    )
    most = 4
    late = ben.save("left in the inbox").id
    assert "in the inbox of origin" in ben.sync(progress=lose, chance=UNHURRIED).notices[-1]
    assert len(team.refs(bare_git, "refs/gitmem/inbox/*")) == 1
    ada.sync()
    assert late in ada.entries()
    assert team.refs(bare_git, "refs/gitmem/inbox/*") == []
    converge(ada, ben)


def _author(one: Machine) -> PurgePlan:
    return plan_erasure(one.store, author="Ada")


def _session(one: Machine) -> PurgePlan:
    return plan_erasure(one.store, session="the-session-of-ada")


def _text(one: Machine) -> PurgePlan:
    return plan_purge(one.store, SAID)


@pytest.mark.parametrize("plan", [_text, *(pytest.param(plan, marks=pytest.mark.slow) for plan in (_author, _session))])
def test_what_is_purged_or_forgotten_is_gone_from_the_server_and_from_every_clone(
    team, plan: Callable[[Machine], PurgePlan], bare_git
):
    _share(team, 4_500 if plan is _session else 20)  # the first: 1.2 MB packed, more than git sends over http at once
    assert SAID in team.everything(bare_git)
    purge(team.ben.store, plan(team.ben))
    _sync(team.ben)
    held = team.everything(bare_git)
    assert SAID not in held
    assert KEPT in held
    assert ("ada@example.org" in held) == (plan is not _author)
    try:
        _sync(team.ada)
    except RefusedError:  # whose memories they are is asked
        [waiting] = waiting_purges(team.ada.store)
        answer_purge(team.ada.store, waiting.path, yes=True)
        _sync(team.ada)
    assert SAID not in team.ada.read("memory.md")
    _sync(team.ben)
    assert team.ada.tip == team.ben.tip
    assert SAID not in team.everything(bare_git)


@pytest.mark.slow
def test_a_proposal_becomes_a_branch_that_its_next_version_replaces(team, bare_git):
    _share(team)
    store = team.ada.store
    fact = make_fact(FactKind.RULE, "Indent with four spaces.", AT)
    for text in ("Indent with four spaces.", "Indent with four spaces, not tabs."):
        team.ada.write(fact.path, render_fact(fact._replace(text=text)).decode())
        transact(store, lambda _: None, purpose="test", scan=True)
        done = team.ada.propose(name="spaces")
        assert team.refs(bare_git, "refs/heads/gitmem-proposals/*") == ["refs/heads/gitmem-proposals/spaces"]
    assert fact.path in done.paths
    assert "not tabs" in team.everything(bare_git)


# S3


@pytest.mark.slow
def test_s3_is_for_those_who_allow_it(machine, home, environ, tmp_path_factory):
    with s3(tmp_path_factory.mktemp("server"), home, environ) as address:
        (home / ".gitconfig").write_text("")
        laptop = machine("laptop", url=address)
        laptop.git("config", "protocol.s3.allow", "always")  # the store's, which came from anywhere
        with pytest.raises(GitmemError, match="git-remote-s3, that is not there or that you have not allowed"):
            laptop.sync()
        environ["GIT_ALLOW_PROTOCOL"] = "https:s3"
        laptop.sync()


@pytest.mark.slow
def test_broken_objects_from_s3_are_refused(machine, home, environ, tmp_path_factory, bare_git):
    folder = tmp_path_factory.mktemp("server")
    with s3(folder, home, environ) as address:
        laptop = machine("laptop", url=address)
        laptop.sync()
        bare_git(folder, "clone", "-q", "--bare", address, "bad", env=environ)
        objects = Objects(folder / "bad")
        blob = objects.write("blob", b"x\n")
        tree = objects.write("tree", b"100644 .git\0" + bytes.fromhex(blob))
        objects.point("refs/heads/gitmem", objects.commit(tree, [laptop.tip], Said()))
        bare_git(folder / "bad", "push", "-q", address, "refs/heads/gitmem:refs/heads/gitmem", env=environ)
        with pytest.raises(RefusedError, match="unsafe or damaged"):
            laptop.sync()
        laptop.sound()
