"""Sync over ssh: who gets in, and who is not asked (`tests/sync/test_servers.py` has the rest)."""

import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.errors import GitmemError
from tests.store.machines import Machine, converge
from tests.store.servers import sshd

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the server is a program of POSIX")


class Server(NamedTuple):
    """Where the remote is, and the command that gets in."""

    url: str
    command: list[str]


@pytest.fixture
def server(tmp_path: Path, remote: Path) -> Iterator[Server]:
    with sshd(tmp_path) as started:
        yield Server(started.url(remote), started.command)


@pytest.mark.slow
def test_two_machines_by_ssh(machine: Callable[..., Machine], server: Server, environ: dict[str, str]):
    environ["GIT_SSH_COMMAND"] = shlex.join(server.command)
    machines = [machine(name, url=server.url) for name in ("laptop", "desktop")]
    for each in machines:
        each.save(f"of {each.name} 기억")
        each.sync()
    converge(*machines)


def test_a_key_that_is_not_let_in_is_said(machine: Callable[..., Machine], server: Server, environ: dict[str, str]):
    strange = [word.replace("/user", "/stranger") for word in server.command]
    environ["GIT_SSH_COMMAND"] = shlex.join(strange)
    first = machine("laptop", url=server.url)
    first.save("stays here")
    with pytest.raises(GitmemError, match="let nobody in"):
        first.sync()
    first.sound()


def test_a_server_nobody_knows_asks_nobody(machine: Callable[..., Machine], server: Server, environ, tmp_path: Path):
    environ["GIT_SSH_COMMAND"] = shlex.join([*server.command[:-1], f"UserKnownHostsFile={tmp_path}/nobody"])
    first = machine("laptop", url=server.url)
    with pytest.raises(GitmemError, match="let nobody in"):
        first.sync()
    assert not (tmp_path / "nobody").exists()
