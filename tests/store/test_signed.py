from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from gitmem.errors import GitmemError, RefusedError
from gitmem.purge.marks import make_record
from gitmem.purge.purge import waiting_purges
from tests.copies import accept
from tests.own_settings import own_settings
from tests.store.machines import converge

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RunsGit
    from tests.store.machines import Machine

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
SIGNED = "remote:\n  trust: signed\n"


@pytest.fixture
def signing(tmp_path: Path) -> Callable[[Machine], Machine]:
    """Give a function that gives a machine a home with a key, whose signatures all of these machines trust."""
    trusted = tmp_path / "allowed signers"

    def give(machine: Machine, *, is_trusted: bool = True, settings: str = SIGNED) -> Machine:
        home = tmp_path / f"home of {machine.name}"
        home.mkdir()
        key = home / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        address = f"{machine.name}@example.org"
        if is_trusted:
            with trusted.open("a", encoding="utf-8") as file:
                file.write(f"{address} {key.with_suffix('.pub').read_text(encoding='utf-8')}")
        (home / ".gitconfig").write_text(
            f"[user]\n\tname = {machine.name}\n\temail = {address}\n\tsigningkey = {key}.pub\n"
            f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = {trusted}\n',
            encoding="utf-8",
        )
        environ = {**machine.context.environ, "HOME": str(home), "USERPROFILE": str(home)}
        environ = {name: value for name, value in environ.items() if name != "XDG_CONFIG_HOME"}
        machine.context = machine.context._replace(environ=environ, home=str(home))
        own_settings(machine.context, settings)
        machine.store = accept(machine.root.parent, machine.context)
        return machine

    return give


def test_signed_memory_reaches_both_machines(pair: tuple[Machine, Machine], signing: Callable[..., Machine]):
    first, second = map(signing, pair)
    one = first.save("of the laptop")
    first.sync()
    two = second.save("of the desktop")
    second.sync()
    first.sync()
    assert first.tip == second.tip
    assert set(first.entries()) == {one, two}
    assert first.git("log", "-1", "--format=%s") == "Sign the memory"
    assert first.sync().commit == second.sync().commit
    for each in (first, second):
        each.sound()


def test_what_nobody_signed_is_refused_by_name(pair: tuple[Machine, Machine], signing: Callable[..., Machine]):
    first, second = signing(pair[0]), signing(pair[1], settings="")
    second.save("of the desktop")
    second.sync()
    before = first.tip
    first.save("of the laptop")
    with pytest.raises(RefusedError, match=r"no trusted key signed: [0-9a-f]{10} of desktop: ") as error:
        first.sync()
    assert "of the desktop" in error.value.message
    assert "of the desktop" not in first.read("memory.md")
    assert first.git("rev-parse", "HEAD~1") == before


@pytest.mark.parametrize("mark", ["\u2028", "\x0c", "\t"])
def test_no_name_hides_a_commit_that_nobody_signed(
    pair: tuple[Machine, Machine], signing: Callable[..., Machine], mark: str
):
    """A name with a line end of its own was no line with an id, so that no commit was without a signature."""
    first, second = signing(pair[0]), signing(pair[1], settings="")
    second.write("knowledge/a.md", "# A\n\nOf the desktop.\n")
    second.git("add", "-A")
    second.git("commit", "-q", f"--author=M{mark}N <m@example.org>", "-m", f"one{mark}two")
    second.git("push", "-q", "origin", "HEAD:gitmem")
    with pytest.raises(RefusedError, match=r"no trusted key signed: [0-9a-f]{10} of M"):
        first.sync()
    assert not (first.root / "knowledge" / "a.md").exists()


def test_a_strangers_signature_does_not_count(pair: tuple[Machine, Machine], signing: Callable[..., Machine]):
    first, second = signing(pair[0]), signing(pair[1], is_trusted=False, settings="")
    second.save("of the desktop")
    second.git("-c", f"user.signingkey={second.context.home}/key.pub", "-c", "gpg.format=ssh", *_COMMIT)
    second.sync()
    assert "BEGIN SSH SIGNATURE" in second.git("cat-file", "commit", "HEAD")
    with pytest.raises(RefusedError, match="no trusted key signed"):
        first.sync()


_COMMIT = ("commit", "--allow-empty", "--gpg-sign", "-m", "Mine")


def test_without_a_key_nothing_is_pushed(pair: tuple[Machine, Machine], signing: Callable[..., Machine]):
    first, second = signing(pair[0]), pair[1]
    os.remove(os.path.join(first.context.home, "key"))
    one = first.save("of the laptop")
    with pytest.raises(GitmemError, match="could not sign"):
        first.sync()
    assert one in first.entries()
    second.sync()
    assert one not in second.entries()


def test_a_program_that_the_store_names_is_not_run(
    pair: tuple[Machine, Machine], signing: Callable[..., Machine], tmp_path: Path, bare_git: RunsGit
):
    first, second = map(signing, pair)
    flag = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{flag}'\n", encoding="utf-8")
    program.chmod(0o755)
    for key in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "gpg.x509.program"):
        first.git("config", key, str(program))
    second.save("of the desktop")
    second.sync()
    first.save("of the laptop")
    first.sync()
    assert not flag.exists()


@pytest.mark.parametrize("how", ["signed", "unsigned", "signed by another person", "signed with another key"])
@pytest.mark.few(2)
def test_a_purge_of_a_machine_that_is_not_listed_is_followed_if_the_person_signed_it(
    pair: tuple[Machine, Machine], signing: Callable[..., Machine], how: str
):
    also = "" if how == "signed by another person" else "author:\n  also: [desktop@example.org]\n"
    first = signing(pair[0], settings=also)
    second = signing(pair[1], is_trusted=how != "signed with another key", settings="")
    for number in range(6):
        first.save(f"Decision {number}: the build runs in container {number}, since it is the same everywhere then.")
    first.save("The code name of the release is bluewhale9, says Ada.")
    converge(first, second)
    record = make_record("20261121-120000-000001", "2026-11-21T12:00:00+00:00", b"0123456789abcdef", [b"bluewhale9"])
    second.write("purged/20261121-120000-000001.json", record.render().decode())
    environ = second.context.environ
    sign = [] if how == "unsigned" else ["-S"]
    for args in (["add", "-A"], ["commit", "-q", *sign, "-m", "Purge\n\nGitmem-Op: purge\nGitmem-Machine: desktop"]):
        subprocess.run(["git", *args], cwd=second.root, env=environ, check=True)
    second.git("push", "-q", "origin", "HEAD:gitmem")
    first.sync()
    assert ("bluewhale9" in first.read("memory.md")) == (how != "signed")
    assert len(waiting_purges(first.store)) == (how != "signed")
