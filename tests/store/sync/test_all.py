"""A store that came with its configuration starts nothing in the background; what is no URL is never gone to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gitmem.errors import ExitCode, GitmemError, RefusedError
from gitmem.store.setup.remotes import find_remote
from gitmem.store.sync.all import sync_in_background, sync_remote
from gitmem.store.sync.lease import alone
from gitmem.store.sync.retry import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.store.machines import Machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are programs of POSIX")

# What a repository's own configuration may name, and the URL with which git would start it.
NAMED = {
    "ssh": ("ssh://nobody@127.0.0.1:9/x", {"core.sshCommand": "{trap}"}),
    "proxy": ("git://127.0.0.1:9/x", {"core.gitProxy": "{trap}"}),
    "fetching": ("file://{remote}", {"remote.file://{remote}.uploadpack": "{trap}"}),
    "pushing": ("file://{remote}", {"remote.file://{remote}.receivepack": "{trap}"}),
    "helper": ("file://{remote}", {"remote.file://{remote}.vcs": "ext", "protocol.ext.allow": "always"}),
    "instead": ("https://x/", {"url.ext::{trap} .insteadOf": "https://x/", "protocol.ext.allow": "always"}),
}


def trapped(machine: Machine, remote: Path, tmp_path: Path, url: str, config: dict[str, str]) -> Path:
    """Configure a store as an archive of somebody's might have it; returns the file that exists once something ran."""
    mark, trap = tmp_path / "ran", tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\n>>'{mark}'\nexit 1\n")
    trap.chmod(0o755)
    for key, value in {"remote.origin.url": url, **config}.items():
        machine.git("config", *(text.format(trap=trap, remote=remote) for text in (key, value)))
    return mark


@pytest.mark.parametrize("how", NAMED)
def test_nothing_that_a_repository_names_is_started_in_the_background(
    machine: Callable[[str], Machine],
    remote: Path,
    tmp_path: Path,
    how: str,
):
    first = machine("laptop")
    first.save("one")
    mark = trapped(first, remote, tmp_path, *NAMED[how])
    errors = list(sync_in_background(first.store, Options()))
    assert [error.exit_code for error in errors] == [ExitCode.REFUSED]
    assert "is not synced with in the background" in errors[0].message
    with alone(first.store, "consolidate"):
        pass
    assert not mark.exists()


@pytest.mark.parametrize("how", ["ssh", "proxy", "fetching", "pushing"])
def test_these_traps_are_what_git_would_start(
    machine: Callable[[str], Machine],
    remote: Path,
    tmp_path: Path,
    how: str,
):
    """As they do when a person asks: the configuration is taken for theirs, as by git itself."""
    first = machine("laptop")
    first.save("one")
    mark = trapped(first, remote, tmp_path, *NAMED[how])
    with pytest.raises(GitmemError):
        sync_remote(first.store, find_remote(first.store, None), Options(), asks=False, seconds=20)
    assert mark.exists()


def test_the_persons_own_configuration_counts(
    machine: Callable[[str], Machine],
    remote: Path,
    home: Path,
):
    first = machine("laptop")
    first.save("one")
    (home / ".gitconfig").write_text("[credential]\n\thelper = store\n[core]\n\tsshCommand = ssh -v\n")
    assert list(sync_in_background(first.store, Options())) == []


@pytest.mark.parametrize("unattended", [True, False])
def test_an_address_that_starts_a_program_is_refused_wherever_it_stands(
    machine: Callable[[str], Machine],
    remote: Path,
    tmp_path: Path,
    unattended: bool,
):
    first = machine("laptop")
    first.save("one")
    mark = trapped(first, remote, tmp_path, "ext::{trap}", {"protocol.ext.allow": "always"})
    found = find_remote(first.store, None)
    with pytest.raises(RefusedError):
        sync_remote(first.store, found, Options(), asks=False, seconds=20, unattended=unattended)
    assert not mark.exists()
