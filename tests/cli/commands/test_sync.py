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
