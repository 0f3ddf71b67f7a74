"""Sync over ssh: a real server on loopback, with keys of its own, where there is one (Debian's openssh-server)."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gitmem.errors import GitmemError
from tests.store.machines import converge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.store.machines import Machine

_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")  # which wants its whole path
pytestmark = pytest.mark.skipif(_SSHD is None or not shutil.which("ssh-keygen"), reason="there is no sshd here")


class Server(NamedTuple):
    """Where the remote is, and the command that gets in."""

    url: str
    command: list[str]


@pytest.fixture
def server(tmp_path: Path, remote: Path) -> Iterator[Server]:
    """Start an sshd that lets in whoever has one key, and a client that knows it and no other server."""
    for name in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    shutil.copyfile(tmp_path / "user.pub", tmp_path / "authorized")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = tmp_path / "sshd_config"
    settings.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\n"
    )
    tried = subprocess.run([str(_SSHD), "-t", "-f", str(settings)], capture_output=True, text=True, check=False)
    if tried.returncode:  # its folder in /run is not there, for one
        pytest.skip(f"sshd does not start here: {tried.stderr.strip()}")
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {(tmp_path / 'host.pub').read_text()}")
    with (tmp_path / "sshd.log").open("wb") as log:
        process = subprocess.Popen([str(_SSHD), "-D", "-e", "-f", str(settings)], stderr=log)
    command = ["ssh", "-F", "none", "-i", f"{tmp_path}/user", "-o", f"UserKnownHostsFile={tmp_path}/known"]
    try:
        _wait_for(port)
        yield Server(f"ssh://{getpass.getuser()}@127.0.0.1:{port}{remote}".replace(" ", "%20"), command)
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)


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
