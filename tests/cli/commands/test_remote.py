from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.commands.project import Ran
    from tests.conftest import RunsGit


def test_a_remote_is_added_listed_and_removed(first: Path, remote: Path, run_in: Callable[..., Ran], bare_git: RunsGit):
    run_in(first, "remote", "add", "backup", str(remote))
    assert [line.split()[0] for line in run_in(first, "remote").out.splitlines()] == ["origin", "backup"]
    run_in(first, "remote", "add", "backup", str(remote), ok=False)
    run_in(first, "sync", "backup")
    run_in(first, "remote", "remove", "backup")
    assert [line.split()[0] for line in run_in(first, "remote").out.splitlines()] == ["origin"]
    assert "backup" not in bare_git(first / ".gitmem", "for-each-ref")
    run_in(first, "remote", "remove", "backup", ok=False)
    run_in(first, "remote", "add", "ext::sh -c x", ok=False)


@pytest.mark.parametrize(
    "words", ["remote add URL other", "sync URL", "remote list URL", "review URL --take ours", "URL"]
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_address_in_the_wrong_place_does_not_show_its_password(run_in, tmp_path, words, more):
    run_in(tmp_path, "init")
    given = ["https://ada:hunter2secret@127.0.0.1:1/x.git" if word == "URL" else word for word in words.split()]
    done = run_in(tmp_path, *given, *more, ok=False)
    assert done.code != 0
    assert "hunter2secret" not in done.out + done.err


def test_the_next_command_is_for_the_same_store(gitmem, remote):
    assert gitmem("remote", "add", str(remote))[1].endswith("\nTry: gitmem sync\n")
    assert '\nTry: gitmem --user save "' in gitmem("init", "--user")[1]
    assert gitmem("--user", "remote", "add", str(remote))[1].endswith("\nTry: gitmem --user sync\n")
