"""What real servers refuse is told as what it is, with their own words and at once; a race is only a ref that moved."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from gitmem.errors import GitFailedError, GitmemError, UnreachableError
from gitmem.git import remote as connection
from gitmem.git.address import Remote
from gitmem.git.refusals import explain_fetch
from gitmem.store.remotes import add_remote, find_remote, remove_remote
from tests.as_root import fill, root_needed, small_disk
from tests.command_line import Runner
from tests.store.servers import gitolite, nginx, program, sshd
from tests.world import Machine, converge

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the servers are programs of POSIX")

_SHELL = 'git-shell -c "$SSH_ORIGINAL_COMMAND"'
_READ_ONLY_KEY = (
    "case $SSH_ORIGINAL_COMMAND in git-receive-pack*) "
    "echo 'ERROR: The key you are authenticating with has been marked as read only.' >&2; exit 1;; esac; " + _SHELL
)


class Place(NamedTuple):
    """What a refusal needs: the machine that pushes, its remote, a folder for the server, the machine's environment."""

    machine: Machine
    remote: Path
    folder: Path
    environ: dict[str, str]

    def configure(self, key: str, value: str) -> None:
        subprocess.run(["git", "-C", str(self.remote), "config", key, value], check=True)

    def hook(self, name: str, text: str) -> None:
        path = self.remote / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def go_to(self, url: str) -> None:
        remove_remote(self.machine.store, "origin")
        add_remote(self.machine.store, "origin", url)

    def seed(self) -> None:
        """Have the remote hold the memory, so that only the push is refused."""
        self.machine.sync()
        self.machine.write("knowledge/much.md", os.urandom(40_000).hex())

    def put_purge(self) -> None:
        """Replace the history that the remote holds, as a purge does."""
        from gitmem.purge.purge import plan_purge, purge

        self.machine.save("the secret is swordfish-1234-blue")
        self.machine.sync()
        purge(self.machine.store, plan_purge(self.machine.store, "swordfish-1234-blue"))


@contextlib.contextmanager
def _by_ssh(place: Place, forced: str = _SHELL, key: str = "user") -> Iterator[None]:
    program("git-shell")
    place.seed()
    with sshd(place.folder, forced) as server:
        command = [word.replace("/user", f"/{key}") for word in server.command]
        server._replace(command=command).enter(place.environ)
        place.go_to(server.url(place.remote))
        yield


@contextlib.contextmanager
def _unknown_server(place: Place) -> Iterator[None]:
    with _by_ssh(place):
        nobody = place.folder / "nobody"
        place.environ["GIT_SSH_COMMAND"] = place.environ["GIT_SSH_COMMAND"].replace(
            f"{place.folder}/known", str(nobody)
        )
        yield
        assert not nobody.exists(), "nobody was asked"


@contextlib.contextmanager
def _by_http(place: Place, rules: str = "", receives: str = "true") -> Iterator[None]:
    place.seed()
    place.configure("http.receivepack", receives)
    with nginx(place.folder, place.remote.parent, rules) as address:
        place.go_to(address + place.remote.name.replace(" ", "%20"))
        yield


@contextlib.contextmanager
def _gitolite(place: Place) -> Iterator[None]:
    with gitolite(place.folder) as server:
        server.enter(place.environ)
        place.go_to(server.url("/memory"))
        yield


@contextlib.contextmanager
def _lock(place: Place) -> Iterator[None]:
    with _by_ssh(place):
        (place.remote / "refs" / "heads" / "gitmem.lock").touch()
        yield


@contextlib.contextmanager
def _hook(place: Place, name: str, text: str) -> Iterator[None]:
    with _by_ssh(place):
        place.hook(name, text)
        yield


@contextlib.contextmanager
def _no_rewriting(place: Place) -> Iterator[None]:
    place.configure("receive.denyNonFastForwards", "true")
    with _by_ssh(place):
        place.put_purge()
        yield


@contextlib.contextmanager
def _size(place: Place) -> Iterator[None]:
    with _by_ssh(place):
        place.configure("receive.maxInputSize", "10")
        yield


@contextlib.contextmanager
def _full(place: Place) -> Iterator[None]:
    with small_disk(place.folder / "disk") as disk:
        small = disk / "small.git"
        place.machine.git("init", "-q", "--bare", str(small))
        place.go_to(str(small))
        place.seed()
        fill(disk, 2)
        yield


@contextlib.contextmanager
def _other_hash(place: Place) -> Iterator[None]:
    other = place.folder / "sha256.git"
    place.machine.git("init", "-q", "--bare", "--object-format=sha256", str(other))
    place.go_to(str(other))
    yield


# What is set up, and the words that must be in the message: what happened, and what the server itself said.
REFUSALS: dict[str, tuple[Callable[[Place], contextlib.AbstractContextManager[None]], tuple[str, ...]]] = {
    "ssh: a read-only key": (lambda place: _by_ssh(place, _READ_ONLY_KEY), ("but not push", "marked as read only")),
    "ssh: an unknown key": (lambda place: _by_ssh(place, key="stranger"), ("let nobody in", "Permission denied")),
    "ssh: a server nobody knows": (_unknown_server, ("let nobody in",)),
    "ssh: history may not be replaced": (_no_rewriting, ("no push that replaces history", "can still be read there")),
    "ssh: a stale lock": (_lock, ("a lock in the way", "gitmem.lock': File exists")),
    "ssh: a pre-receive hook": (
        lambda place: _hook(place, "pre-receive", "echo 'no pushes on Fridays' >&2; exit 1"),
        ("did not take what was pushed", "pre-receive hook declined", "no pushes on Fridays"),
    ),
    "ssh: an update hook that speaks of a race": (
        lambda place: _hook(place, "update", "echo 'is at 42, fetch first' >&2; exit 1"),
        ("did not take what was pushed", "hook declined", "is at 42, fetch first"),
    ),
    "ssh: a protected branch": (
        lambda place: _hook(place, "update", "echo 'GitLab: You are not allowed to push code here.' >&2; exit 1"),
        ("but not push", "GitLab: You are not allowed to push code here."),
    ),
    "ssh: too much at once": (_size, ("takes no push of this size", "maximum allowed size")),
    "nginx: too large a request": (
        lambda place: _by_http(place, "client_max_body_size 8k;"),
        ("takes no push of this size", "413"),
    ),
    "nginx: pushes are off": (lambda place: _by_http(place, receives="false"), ("but not push", "403")),
    "nginx: a password is asked for": (
        lambda place: _by_http(place, "if ($request_uri ~ receive-pack) { return 401; }"),
        ("let nobody in",),
    ),
    "gitolite: only reading": (_gitolite, ("but not push", "DENIED by fallthru")),
    "another hash": (_other_hash, ("by another hash than this store", "--object-format=FORMAT")),
    "a full disk": (_full, ("its disk is full",)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=root_needed) if name == "a full disk" else name for name in REFUSALS]
)
@pytest.mark.few(2)
def test_a_refusal_is_told_as_what_it_is(machine, remote, tmp_path, environ, git_starts, name: str):  # noqa: PLR0917
    folder = tmp_path / "server"
    folder.mkdir()
    place = Place(machine("laptop"), remote, folder, environ)
    place.machine.save("one")
    prepare, words = REFUSALS[name]
    with prepare(place):
        git_starts.clear()
        with pytest.raises(GitmemError) as caught:
            place.machine.sync()
    said = f"{caught.value.message} {caught.value.remedy}"
    assert [word for word in words if word not in said] == [], said
    assert not isinstance(caught.value, UnreachableError), said
    assert git_starts.count("push") <= 3, "it is no race, so it is not run again and again"
    place.machine.sound()


_NO_REPOSITORY = "echo 'ERROR: Repository not found.' >&2; exit 1"
# The words of a clone that is refused; without any, the clone succeeds, and the next push tells.
AT_CLONE: dict[str, tuple[Callable[[Place], contextlib.AbstractContextManager[None]], tuple[str, ...]]] = {
    "a read-only key": (lambda place: _by_ssh(place, _READ_ONLY_KEY), ()),
    "an unknown key": (lambda place: _by_ssh(place, key="stranger"), ("let nobody in", "Permission denied")),
    "a key of another repository": (
        lambda place: _by_ssh(place, _NO_REPOSITORY),
        ("is no repository that can be read", "Repository not found"),
    ),
}


@pytest.mark.parametrize("name", AT_CLONE)
def test_a_clone_tells_the_server_s_words_and_a_remedy(machine, remote, tmp_path, environ, bare_git, name: str):  # noqa: PLR0917
    folder, project = tmp_path / "server", tmp_path / "project"
    folder.mkdir()
    bare_git(tmp_path, "init", "-q", str(project))
    place = Place(machine("laptop"), remote, folder, environ)
    place.machine.save("one")
    prepare, words = AT_CLONE[name]
    run = Runner(project, environ)
    with prepare(place):
        url = find_remote(place.machine.store, None).url
        code, _, said = run("clone", url)
        if not words:
            assert code == 0, said
            assert run("save", "two")[0] == 0
            code, _, said = run("sync")
            words = ("but not push", "marked as read only", "Have your key or account given the right to push")
    assert code != 0
    assert [word for word in words if word not in said] == [], said
    assert "try again when" not in said.lower()


def test_a_lock_that_goes_away_is_waited_for(machine, remote, monkeypatch):
    first: Machine = machine("laptop")
    first.sync()
    first.save("one")
    lock = remote / "refs" / "heads" / "gitmem.lock"
    lock.touch()
    monkeypatch.setattr(connection, "time", SimpleNamespace(sleep=lambda _: lock.unlink()))
    first.sync()
    converge(first)


def test_a_ref_that_moved_is_a_race_whatever_the_server_says(pair, remote):
    """The other machine's push runs while a hook of the server holds this one's."""
    first, second = pair
    second.save("from there")
    first.save("from here")
    hook = remote / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    moved = remote / "moved"
    hook.write_text(
        f"#!/bin/sh\n[ -e '{moved}' ] && exit 0\n>'{moved}'\n"
        f"unset GIT_QUARANTINE_PATH\ncd '{second.root}' && env -u GIT_DIR git push -q origin HEAD:gitmem >&2\nexit 0\n"
    )
    hook.chmod(0o755)
    assert first.sync().rounds == 2
    hook.unlink()
    converge(*pair)


@pytest.mark.parametrize(
    "said",
    [
        "fatal: unable to access 'https://h/x.git/': server certificate verification failed. CAfile: /etc/ssl/ca.crt",
        "fatal: unable to access 'https://h/x.git/': SSL certificate problem: self-signed certificate",
    ],
)
def test_a_certificate_that_nobody_signed_is_told_with_gits_words_and_a_remedy(said):
    error = explain_fetch(
        GitFailedError("git fetch failed", status=128, stderr=said), Remote("origin", *["https://h/x.git"] * 2)
    )
    assert "shows a certificate that this machine does not trust" in error.message
    assert "certificate" in error.message.partition("trust: ")[2]
    assert "http.https://h/x.git.sslCAInfo" in error.remedy
