"""No setting of a store's repository starts a program or leads elsewhere, and what is no URL is never gone to."""

import contextlib
import os
from pathlib import Path

import pytest

from gitmem.errors import GitmemError, RefusedError
from gitmem.store.remotes import find_remote
from gitmem.sync.fetch import Options
from gitmem.sync.rounds import sync_in_background, sync_remote
from tests.store.servers import password_server
from tests.world import Machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are programs of POSIX")

_SSH, _GIT, _HTTP, _FILE = (
    "ssh://nobody@127.0.0.1:9/x",
    "git://127.0.0.1:9/x",
    "http://127.0.0.1:9/x",
    "file://{remote}",
)
# All keys of git-config(1) of git 2.52 whose value git starts as a program, or that have it start one, and that do so
# when it fetches, pushes, or does what follows: a URL with which git would, and the configuration.
KEYS = {
    "core.sshCommand": (_SSH, {"core.sshCommand": "{trap}"}),
    "ssh.variant": (_SSH, {"core.sshCommand": "{trap}", "ssh.variant": "simple"}),
    "core.gitProxy": (_GIT, {"core.gitProxy": "{trap}"}),
    "core.askPass": ("http://ada@127.0.0.1:{port}/x", {"core.askPass": "{trap}"}),
    "credential.helper": ("http://ada@127.0.0.1:{port}/x", {"credential.helper": "!{trap}"}),
    "credential.<url>.helper": ("http://ada@127.0.0.1:{port}/x", {"credential.http://127.0.0.1.helper": "!{trap}"}),
    "remote.<name>.uploadpack": (_FILE, {"remote.file://{remote}.uploadpack": "{trap}"}),
    "remote.<name>.receivepack": (_FILE, {"remote.file://{remote}.receivepack": "{trap}"}),
    "remote.<name>.vcs": (_FILE, {"remote.file://{remote}.vcs": "ext", "protocol.ext.allow": "always"}),
    "remote.<name>.url": ("ext::{trap}", {"protocol.allow": "always"}),
    "url.<base>.insteadOf": (_HTTP, {"url.ext::{trap} .insteadOf": _HTTP, "protocol.ext.allow": "always"}),
    "url.<base>.pushInsteadOf": (_FILE, {"url.ext::{trap} .pushInsteadOf": _FILE, "protocol.ext.allow": "always"}),
    "include.path": (_SSH, {"include.path": "{included}"}),
    "includeIf.<condition>.path": (_SSH, {"includeIf.gitdir:/.path": "{included}"}),
    "extensions.worktreeConfig": (_SSH, {"extensions.worktreeConfig": "true", "core.sshCommand": "{trap}"}),
    "extensions.partialClone": (
        _FILE,
        {"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true"}
        | {"remote.evil.url": _FILE, "remote.evil.uploadpack": "{trap}"},
    ),
    "core.hooksPath": (_FILE, {"core.hooksPath": "{hooks}"}),
    "hook.<name>.command": (_FILE, {"hook.evil.command": "{trap}", "hook.evil.event": "pre-push"}),
    "core.fsmonitor": (_FILE, {"core.fsmonitor": "{trap}"}),
    "core.alternateRefsCommand": (_FILE, {"core.alternateRefsCommand": "{trap}"}),
    "core.pager": (_FILE, {"core.pager": "{trap}", "pager.push": "{trap}", "pager.fetch": "{trap}"}),
    "core.editor": (_FILE, {"core.editor": "{trap}", "sequence.editor": "{trap}"}),
    "gpg.program": (_FILE, {"gpg.program": "{trap}", "push.gpgSign": "true", "commit.gpgSign": "true"}),
    "gpg.<format>.program": (_FILE, {"gpg.format": "ssh", "gpg.ssh.program": "{trap}", "push.gpgSign": "if-asked"}),
    "gpg.ssh.defaultKeyCommand": (_FILE, {"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": "{trap}"}),
    "filter.<driver>.clean": (_FILE, {"filter.evil.clean": "{trap}", "filter.evil.smudge": "{trap}"}),
    "filter.<driver>.process": (_FILE, {"filter.evil.process": "{trap}"}),
    "diff.external": (
        _FILE,
        {"diff.external": "{trap}", "diff.evil.textconv": "{trap}", "diff.evil.command": "{trap}"},
    ),
    "merge.<driver>.driver": (_FILE, {"merge.gitmem.driver": "{trap}", "merge.default": "gitmem"}),
    "trailer.<name>.cmd": (_FILE, {"trailer.evil.cmd": "{trap}", "trailer.evil.command": "{trap}"}),
    "uploadpack.packObjectsHook": (_FILE, {"uploadpack.packObjectsHook": "{trap}"}),
    "receive.procReceiveRefs": (_FILE, {"receive.procReceiveRefs": "refs", "core.hooksPath": "{hooks}"}),
    "submodule.<name>.update": (_FILE, {"submodule.evil.update": "!{trap}", "submodule.recurse": "true"}),
    "alias": (_FILE, {"alias.fetch": "!{trap}", "alias.push": "!{trap}", "alias.config": "!{trap}"}),
}
_KEYS_OF_PLAIN_GIT = ["core.sshCommand", "core.gitProxy", "remote.<name>.uploadpack", "include.path", "core.hooksPath"]
_HOOKS = ("pre-push", "reference-transaction", "post-index-change", "pre-receive", "post-update", "pre-auto-gc")


class Traps:
    """What an archive of somebody's might have in a store's configuration; `ran` says whether something was started."""

    def __init__(self, folder: Path, remote: Path) -> None:
        self._mark, trap, included = folder / "ran", folder / "trap", folder / "included"
        trap.write_text(f"#!/bin/sh\n>>'{self._mark}'\nexit 1\n")
        trap.chmod(0o755)
        included.write_text(f"[core]\n\tsshCommand = {trap}\n")
        (folder / "hooks").mkdir()
        for name in _HOOKS:
            (folder / "hooks" / name).symlink_to(trap)
        self._names = {"trap": trap, "remote": remote, "included": included, "hooks": folder / "hooks"}

    def set(self, machine: Machine, url: str, config: dict[str, str], port: int = 9) -> None:
        for key, value in {"remote.origin.url": url, **config}.items():
            machine.git("config", *(text.format(**self._names, port=port) for text in (key, value)))

    @property
    def ran(self) -> bool:
        return self._mark.exists()


@pytest.fixture
def traps(tmp_path: Path, remote: Path) -> Traps:
    return Traps(tmp_path, remote)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.few(1)
def test_no_key_of_a_repository_starts_a_program(machine, traps, key):
    first = machine("laptop")
    first.save("one")
    told: list[str] = []
    with password_server() as port:
        traps.set(first, *KEYS[key], port=port)
        for asks in (False, True):
            try:
                sync_remote(first.store, find_remote(first.store, None), Options(), asks=asks)
            except GitmemError as error:
                told.append(error.remedy)
        list(sync_in_background(first.store, Options()))
    assert not traps.ran
    assert "trap" not in "".join(told), "nobody is told to use what is not theirs"


def test_a_sync_behind_a_hook_works_where_the_lock_is_a_ref_as_on_a_shared_file_system(machine, monkeypatch):
    monkeypatch.setattr("gitmem.git.locking.file_locks_serve", lambda _: False)
    first = machine("laptop")
    first.save("one")
    assert list(sync_in_background(first.store, Options())) == []
    second = machine("desktop")
    second.save("two")
    assert list(sync_in_background(second.store, Options())) == []
    assert list(sync_in_background(first.store, Options())) == [], "it merges, and moves its branch under the lock"


@pytest.mark.parametrize("key", _KEYS_OF_PLAIN_GIT)
def test_plain_git_starts_what_the_traps_name(machine, traps, key):
    first = machine("laptop")
    first.save("one")
    traps.set(first, *KEYS[key])
    for command in (["fetch", first.git("config", "remote.origin.url")], ["push", "origin", "HEAD:refs/heads/x"]):
        with contextlib.suppress(AssertionError):
            first.git(*command)
    assert traps.ran


def test_a_redirected_address_is_not_gone_to(pair, traps, remote, tmp_path, bare_git):
    """Nothing is started, but the memory would go elsewhere."""
    first, _ = pair
    elsewhere = tmp_path / "elsewhere.git"
    bare_git(tmp_path, "init", "-q", "--bare", str(elsewhere))
    traps.set(first, str(remote), {f"url.{elsewhere}.insteadOf": str(remote), "http.proxy": "http://127.0.0.1:9"})
    first.save("one")
    first.sync()
    assert bare_git(elsewhere, "for-each-ref") == ""
    assert bare_git(remote, "rev-parse", "gitmem") == first.tip


def test_the_users_own_configuration_counts(machine, traps, tmp_path, home, remote):
    first = machine("laptop", url=_SSH)
    first.save("one")
    own = tmp_path / "own"
    own.write_text(f"#!/bin/sh\n>>'{tmp_path}/own-ran'\nexit 1\n")
    own.chmod(0o755)
    (home / "work").write_text(f"[core]\n\tsshCommand = {own}\n")
    # Of all repositories, of those in a folder, and of those with a remote like this one.
    for section in (
        "include",
        f'includeIf "gitdir:{tmp_path}/"',
        'includeIf "hasconfig:remote.*.url:ssh://nobody@*/**"',
    ):
        (home / ".gitconfig").write_text(f"[{section}]\n\tpath = {home}/work\n")
        with pytest.raises(GitmemError):
            sync_remote(first.store, find_remote(first.store, None), Options(), asks=False)
        assert (tmp_path / "own-ran").exists(), section
        (tmp_path / "own-ran").unlink()
    (home / ".gitconfig").write_text(f'[url "{remote}"]\n\tinsteadOf = {_SSH}\n')
    first.sync()
    assert first.sync().commit == first.tip


@pytest.mark.parametrize("asks", [True, False])
def test_an_address_that_starts_a_program_is_refused_wherever_it_stands(machine, traps, asks):
    first: Machine = machine("laptop")
    first.save("one")
    traps.set(first, "ext::{trap}", {"protocol.ext.allow": "always"})
    found = find_remote(first.store, None)
    with pytest.raises(RefusedError):
        sync_remote(first.store, found, Options(), asks=asks)
    assert not traps.ran


def test_only_gits_own_transports_are_used(machine, traps, home, tmp_path):
    first = machine("laptop", url="https://x/")
    first.save("one")
    (home / ".gitconfig").write_text(
        f'[url "ext::{tmp_path}/trap "]\n\tinsteadOf = https://x/\n[protocol]\n\tallow = always\n'
    )
    with pytest.raises(GitmemError):
        sync_remote(first.store, find_remote(first.store, None), Options(), asks=False)
    assert not traps.ran
