"""The commands of sync as a user types them, and plain git beside them."""

import json

from gitmem.errors import ExitCode
from gitmem.store import maintenance


def test_a_memory_that_others_will_refuse_is_told_before(first, second, run_in, monkeypatch):
    assert run_in(first, "sync").err == ""
    monkeypatch.setattr(maintenance, "MANY_FILES", 4)
    for command in ("sync", "status", "doctor"):
        ran = run_in(second, command)
        said = " ".join((ran.out + ran.err).split())
        assert "files; other machines refuse it above 200,000." in said, command
        assert "'gitmem clear old --days 365 --dry-run'" in said, command


def test_being_offline_has_an_exit_code_of_its_own(first, run_in, bare_git):
    bare_git(first / ".gitmem", "remote", "set-url", "origin", "http://ada:s3cr3t@127.0.0.1:9/x.git")
    failed = run_in(first, "sync", "--json", ok=False)
    assert failed.code == ExitCode.UNREACHABLE
    assert json.loads(failed.err)["exit_code"] == ExitCode.UNREACHABLE
    everything = [
        failed.err,
        run_in(first, "remote", "list").out,
        run_in(first, "status").out,
        run_in(first, "doctor").out,
    ]
    everything += [path.read_text() for path in (first / ".gitmem" / ".git" / "gitmem").rglob("*.json")]
    assert not any("s3cr3t" in text for text in everything)


def test_of_several_remotes_one_that_is_away_keeps_no_other_waiting(first, remote, run_in, bare_git):
    bare_git(first, "init", "-q", "--bare", "../stick.git")
    run_in(first, "remote", "add", "stick", "../stick.git")
    remote.rename(remote.with_name("away.git"))
    failed = run_in(first, "sync", ok=False)
    assert failed.out == "Synced with stick: received nothing, sent 3 commits.\n"
    assert "origin" in failed.err
    (done,) = run_in(first, "sync", "--json", ok=False).json
    assert done["remote"] == "stick"
    (first.parent / "stick.git").rename(first.parent / "lost.git")
    failed = run_in(first, "sync", ok=False)
    assert failed.out == ""
    assert failed.err.count("is no repository that can be read") == 2


def test_a_server_that_serves_an_old_state_is_noticed_by_sync_and_status(first, remote, run_in, bare_git):
    old = bare_git(remote, "rev-parse", "gitmem")
    run_in(first, "save", "seen by the server")
    run_in(first, "sync")
    seen = bare_git(remote, "rev-parse", "gitmem")
    bare_git(remote, "update-ref", "refs/heads/gitmem", old)
    run_in(first, "sync", "--background")
    assert "serves an old state" in run_in(first, "status").out
    failed = run_in(first, "sync", ok=False)
    assert failed.code == ExitCode.REFUSED
    assert f"it has {old[:10]}, without its successor {seen[:10]}" in failed.err
    assert bare_git(remote, "rev-parse", "gitmem") == old
    run_in(first, "sync", "--accept", "rewritten")
    assert "seen by the server" in bare_git(remote, "show", "gitmem:memory.md")
    assert not run_in(first, "remote", "list", "--json").json[0]["failure"]
