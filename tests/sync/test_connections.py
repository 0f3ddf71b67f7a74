"""Connections that are slow or break off, and clones that lack a part of the history."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import ExitCode, UnreachableError
from gitmem.store.remotes import find_remote
from gitmem.store.transcripts import put, read, sessions
from gitmem.sync import transcripts
from gitmem.sync.clone import back_up, merge_backup
from gitmem.sync.fetch import Options
from gitmem.sync.rounds import sync_remote
from tests.command_line import Runner
from tests.conftest import RunsGit
from tests.started import session_start
from tests.store.servers import NO_LIMIT, Relay, git_daemon, serve
from tests.world import LISTED, QUICK, Machine, converge

_PART = 60_000  # bytes
_SESSIONS = 12


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    """Stand between the machines and a git daemon."""
    with git_daemon(tmp_path) as port:
        made = Relay(port)
        yield made
        made.close()


@pytest.fixture
def apart(machine: Callable[..., Machine], relay: Relay, remote: Path, monkeypatch) -> list[Machine]:
    """Two machines behind the relay, which sync transcripts in small parts."""
    monkeypatch.setattr(transcripts, "PART", _PART)
    url = f"git://127.0.0.1:{relay.port}/{remote.name}".replace(" ", "%20")
    machines = [machine(name, url=url) for name in ("laptop", "desktop")]
    for each in machines:
        each.configure(f"{LISTED}sync:\n  transcripts: true\n")
    return machines


def talk(one: Machine, number: int = _SESSIONS) -> None:
    """Have sessions whose transcripts are of some 20 kB each when packed."""
    dice = random.Random(one.name)
    for session in range(number):
        lines = [" ".join(dice.choice(("ada", "ben")) + str(dice.randrange(999)) for _ in range(99)) for _ in range(99)]
        put(one.store, f"{one.name}-{session}", one.clock(), lines)


def sync_all(one: Machine) -> None:
    sync_remote(one.store, find_remote(one.store, None), Options(chance=QUICK), asks=False)


def parts(remote: Path, bare_git: RunsGit) -> int:
    (ref,) = bare_git(remote, "for-each-ref", "--format=%(refname)", "refs/heads/gitmem-l1-*").split() or [""]
    return len(bare_git(remote, "reflog", "show", "--format=%H", ref).splitlines()) if ref else 0


@pytest.mark.slow
def test_many_transcripts_get_there_in_parts_though_each_connection_breaks_off_after_some_bytes(
    apart, relay, remote, bare_git
):
    bare_git(remote, "config", "core.logAllRefUpdates", "always")
    laptop, desktop = apart
    talk(laptop)
    relay.limits = lambda _: (3 * _PART, NO_LIMIT)
    sync_all(laptop)
    assert relay.broken == 0
    assert parts(remote, bare_git) > 4
    relay.limits = lambda _: (NO_LIMIT, NO_LIMIT)
    sync_all(desktop)
    assert len(sessions(desktop.store)) == _SESSIONS


@pytest.mark.slow
def test_a_push_that_breaks_off_goes_on_after_the_last_part(apart, relay, remote, bare_git):
    bare_git(remote, "config", "core.logAllRefUpdates", "always")
    laptop, _ = apart
    laptop.sync()
    talk(laptop)
    size = int(laptop.git("rev-list", "--objects", "--disk-usage", "--glob=refs/gitmem/l1/*"))
    before = relay.sent
    relay.limits = lambda _: (NO_LIMIT, NO_LIMIT) if relay.sent - before < size / 2 else (0, 0)
    with pytest.raises(UnreachableError, match="broke off, and once more"):
        sync_all(laptop)
    began = parts(remote, bare_git)
    assert began > 1
    relay.limits = lambda _: (NO_LIMIT, NO_LIMIT)
    sync_all(laptop)
    assert parts(remote, bare_git) > began
    assert relay.sent - before < 1.5 * size, "what had arrived is not sent again"
    assert laptop.git("for-each-ref", "refs/gitmem/pending") == ""


@pytest.mark.slow
def test_a_transcript_larger_than_a_part_goes_as_one_and_a_backup_is_read_without_parts(apart, monkeypatch, tmp_path):
    laptop, desktop = apart
    monkeypatch.setattr(transcripts, "PART", 1_000)
    talk(laptop, 2)
    sync_all(laptop)
    back_up(laptop.store, str(tmp_path / "backup"), transcripts=True)
    talk(desktop, 2)
    merge_backup(desktop.store, str(tmp_path / "backup"), Options(chance=QUICK))
    assert read(desktop.store, "laptop-1") == read(laptop.store, "laptop-1")
    assert len(sessions(desktop.store)) == 4


@pytest.mark.slow
def test_where_a_third_of_the_connections_break_off_a_sync_ends_or_says_so_and_nothing_is_lost(apart, relay):
    dice, failures = random.Random(3), list[str]()

    def limits(_: int) -> tuple[int, int]:
        return (dice.randrange(4_000), dice.randrange(4_000)) if dice.random() < 0.3 else (NO_LIMIT, NO_LIMIT)

    relay.limits = limits
    for number in range(8):
        for each in apart:
            each.save(f"{number} of {each.name}")
            try:
                each.sync()
            except UnreachableError as error:
                failures.append(error.message)
    assert relay.broken > len(failures), "most are tried again with success"
    assert all("broke off" in one for one in failures), failures
    relay.limits = lambda _: (NO_LIMIT, NO_LIMIT)
    converge(*apart)


# Clones that git made without all of the history

_COMMANDS = (
    ("save", "--type", "decision", "Deploys are made on Mondays"),
    *(("search", "fact"), ("show", "HEAD"), ("show", "memory.md"), ("log", "--long"), ("facts", "list"), ("diff",)),
    *(("status",), ("doctor",), ("doctor", "--deep"), ("maintain",), ("export", "--jsonl"), ("propose",), ("sync",)),
)


@pytest.fixture(params=["path", pytest.param("ssh", marks=pytest.mark.slow)])
def address(request, home: Path, environ: dict[str, str], tmp_path_factory, remote: Path) -> Iterator[str]:
    with serve(request.param, tmp_path_factory.mktemp("server"), remote, home, environ) as served:
        yield f"file://{served}" if request.param == "path" else served


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options, how", [("--depth=1", "--unshallow"), ("--filter=blob:none", "--refetch --no-filter")]
)
def test_a_clone_by_git_that_lacks_history_is_a_store_that_works(  # noqa: PLR0917
    pair, address: str, remote, tmp_path, bare_git, environ, options, how
):
    first, _ = pair
    for key in ("allowFilter", "allowAnySHA1InWant"):
        bare_git(remote, "config", f"uploadpack.{key}", "true")
    for number in range(3):
        first.save(f"fact {number}")
        first.sync()
    project = tmp_path / "partial"
    bare_git(tmp_path, "init", "-q", str(project))
    store = str(project / ".gitmem")
    bare_git(tmp_path, "clone", "-q", "--branch=gitmem", options, address.replace(" ", "%20"), store, env=environ)
    run = Runner(project, environ)
    assert "fact 2" in run("search", "fact")[1], "before anybody accepted it"
    assert run("trust", answer="y\n")[0] == 0
    third = Machine(project / ".gitmem", "phone", first.context)
    saved = third.save("of the one that lacks history").id
    assert "of the one that lacks history" in session_start(third.store, [], None, [])
    first.save("of the laptop, meanwhile")
    first.sync()
    for words in _COMMANDS:
        code, out, err = run(*words)
        assert code == 0, f"{words}: {out}{err}"
    first.sync()
    assert saved in first.entries()
    assert "Deploys are made on Mondays" in first.read("memory.md")
    third.sync()
    third.sound()
    for words in (
        ("backup", str(tmp_path / "b")),
        ("purge", "fact 1", "--yes"),
        ("forget", "--author", "Ada", "--yes"),
    ):
        code, _, err = run(*words)
        assert code == ExitCode.REFUSED
        assert f"git fetch {how}" in err
    bare_git(project / ".gitmem", "fetch", "-q", *how.split(), env=environ)
    assert run("backup", str(tmp_path / "b"))[0] == 0
