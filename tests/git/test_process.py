"""Nothing that the caller, the user, the repository or its tree says changes what git does."""

import os
import sys
import time
from pathlib import Path

import pytest

from gitmem.errors import BusyError, GitFailedError, GitmemError
from gitmem.git import process
from gitmem.git.process import Git, clean_environment, find_git, git_version, git_without_repository
from tests.conftest import RunsGit
from tests.copies import new_repository

EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
FAST_IMPORT = b"""\
commit refs/heads/memory
committer Ada <ada@example.org> 0 +0000
data 5
saved
M 100644 inline memory.md
data 8
one
two

"""
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for git")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "project", {"memory.md": b"one\r\ntwo\r\n"})


@pytest.fixture
def git(project: Path, environ: dict[str, str]) -> Git:
    return Git(project / ".git", project, environ)


def write_script(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", newline="\n")
    path.chmod(0o755)
    return path.as_posix()


class Trap:
    """Configuration and hooks that leave a mark when anything of theirs is started or read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = folder / "mark"
        self.program = write_script(folder / "program", f'echo "$0 $*" >> "{self.mark.as_posix()}"; exit 1')
        self.hooks = folder / "hooks"
        self.set_hooks(self.hooks)
        self.set_hooks(folder / "template" / "hooks")
        (folder / "attributes").write_text("* filter=evil diff=evil text\n")
        (folder / "ignore").write_text("*\n")

    def set_hooks(self, folder: Path) -> None:
        for name in ("reference-transaction", "pre-commit", "post-commit", "post-index-change", "commit-msg"):
            write_script(folder / name, f'echo "{name}" >> "{self.mark.as_posix()}"; exit 1')

    def settings(self) -> dict[str, str]:
        return {
            "core.hooksPath": self.hooks.as_posix(),
            "core.fsmonitor": self.program,
            "core.attributesFile": (self.folder / "attributes").as_posix(),
            "core.excludesFile": (self.folder / "ignore").as_posix(),
            "core.autocrlf": "true",
            "core.safecrlf": "true",
            "core.editor": self.program,
            "core.pager": self.program,
            "core.quotePath": "true",
            "core.sparseCheckout": "true",
            "color.ui": "always",
            "color.status": "always",
            "commit.gpgSign": "true",
            "tag.gpgSign": "true",
            "gpg.program": self.program,
            "log.showSignature": "true",
            "i18n.commitEncoding": "ISO-8859-1",
            "i18n.logOutputEncoding": "ISO-8859-1",
            "init.defaultBranch": "wrong",
            "init.templateDir": (self.folder / "template").as_posix(),
            "filter.evil.clean": self.program,
            "filter.evil.required": "true",
            "diff.evil.textconv": self.program,
            "diff.external": self.program,
            "diff.noprefix": "true",
            "status.showUntrackedFiles": "no",
            "hook.evil.command": self.program,
            "hook.evil.event": "reference-transaction",
        }

    def as_config(self) -> str:
        lines = []
        for key, value in self.settings().items():
            section, _, name = key.rpartition(".")
            head, _, sub = section.partition(".")
            lines.append(f'[{head} "{sub}"]' if sub else f"[{head}]")
            lines.append(f'\t{name} = "{value}"')
        return "\n".join(lines) + "\n"


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    (tmp_path / "trap").mkdir()
    return Trap(tmp_path / "trap")


def work(git: Git) -> list[bytes]:
    """Everything a save may ask of git, with what it answered."""
    identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _ADA.items()}
    git.run("fast-import", "--quiet", "--done", stdin=FAST_IMPORT + b"done\n")
    tree = git.run("rev-parse", "memory^{tree}").decode().strip()
    commit = git.run("commit-tree", "-m", "Grüße", tree, env=identity).decode().strip()
    git.run("update-ref", "refs/heads/other", commit, "0" * 40)
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"a\r\nb\n")
    git.run("update-index", "--add", "--cacheinfo", f"100644,{blob.decode().strip()},ä.md")
    git.run("commit", "-q", "-m", "second", env=identity)
    git.run("tag", "-a", "-m", "tagged", "v1", env=identity)
    return [
        blob,
        commit.encode(),
        git.run("rev-parse", "memory", "HEAD^{tree}", "v1"),
        git.run("log", "--format=%H %s", "-1", "--patch", "--no-ext-diff", "--no-textconv"),
        git.run("log", "--format=%s", "-1", "other"),
        git.run("diff", "--no-ext-diff", "--no-textconv", "HEAD~1", "HEAD"),
        git.run("status", "--porcelain", "--untracked-files=all"),
        git.run("ls-files", "-s"),
        git.run("for-each-ref"),
    ]


_ADA = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "1700000000 +0000"}


def test_nothing_in_the_user_configuration_bites(project, trap, bare_git, home):
    clean_answers = _work_in_a_copy(project, dict(os.environ))
    (home / ".gitconfig").write_text(trap.as_config())

    answers = _work_in_a_copy(project, dict(os.environ))

    assert answers == clean_answers
    assert not trap.mark.exists()
    # The trap is armed: plain git walks into it.
    with pytest.raises(AssertionError):
        bare_git(project, "update-ref", "refs/heads/x", "HEAD")
    assert trap.mark.exists()


@pytest.mark.skipif(
    git_version(dict(os.environ)) == (2, 54),
    reason="2.54 runs hooks named in the configuration and cannot switch them off",
)
def test_nothing_in_the_repository_configuration_bites(project, trap, environ):
    clean_answers = _work_in_a_copy(project, environ)
    with (project / ".git" / "config").open("a") as config:
        config.write(trap.as_config())
    trap.set_hooks(project / ".git" / "hooks")

    assert _work_in_a_copy(project, environ) == clean_answers
    assert not trap.mark.exists()


def test_hooks_in_the_git_folder_do_not_run(project, trap, environ, bare_git):
    trap.set_hooks(project / ".git" / "hooks")
    Git(project / ".git", project, environ).run("update-ref", "refs/heads/x", "HEAD")
    assert not trap.mark.exists()
    with pytest.raises(AssertionError):
        bare_git(project, "update-ref", "refs/heads/y", "HEAD")
    assert trap.mark.exists()


def _work_in_a_copy(project: Path, environ: dict[str, str]) -> list[bytes]:
    import shutil

    place = project.parent / "copy"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(project, place)
    (place / "new.md").write_text("not tracked\n")
    answers = work(Git(place / ".git", place, environ))
    shutil.rmtree(place)
    return answers


def test_every_variable_git_calls_local_is_dropped(environ, git):
    names = git.run("rev-parse", "--local-env-vars").decode().split()
    others = ("git_dir", "GIT_NAMESPACE", "GIT_TRACE", "GIT_TRACE2_EVENT", "GIT_EXTERNAL_DIFF", "GIT_AUTHOR_NAME")
    others += ("GIT_COMMITTER_DATE", "GIT_LITERAL_PATHSPECS", "GIT_DEFAULT_HASH", "LC_ALL", "LC_MESSAGES", "LANGUAGE")
    clean = clean_environment(environ | dict.fromkeys((*names, *others), "leaked"))
    assert "GIT_DIR" in names
    assert "leaked" not in clean.values()
    assert {name for name in names if name in clean} == {"GIT_CONFIG_COUNT", "GIT_NO_REPLACE_OBJECTS"}
    git_dir = git.git_dir or ""
    leaked = Git(git_dir, git.work_tree, environ | dict.fromkeys(names, "/nowhere"))
    assert leaked.run("rev-parse", "--absolute-git-dir").decode().strip() == git_dir


def test_the_rest_of_the_environment_stays(environ):
    clean = clean_environment(environ | {"SSH_AUTH_SOCK": "/s", "HOME": "/h", "GIT_EXEC_PATH": "/e"})
    assert (clean["SSH_AUTH_SOCK"], clean["HOME"], clean["GIT_EXEC_PATH"]) == ("/s", "/h", "/e")
    assert clean["PATH"] == environ["PATH"]


def test_user_configuration_is_read_only_when_asked_for(home, project, monkeypatch):
    (home / ".gitconfig").write_text("[user]\n\tname = Grace\n[core]\n\thooksPath = /elsewhere\n")
    environ = dict(os.environ) | {"GIT_SSH_COMMAND": "ssh -4", "GIT_CONFIG_COUNT": "7"}
    place = project / ".git"
    local, network = Git(place, project, environ), Git(place, project, environ, user_config=True)

    assert local.run("config", "user.name", ok=(0, 1)) == b""
    assert network.run("config", "user.name") == b"Grace\n"
    assert git_without_repository(environ, user_config=True).run("config", "--global", "user.name") == b"Grace\n"
    assert network.run("config", "core.hooksPath") == b"/dev/null\n"
    assert "GIT_SSH_COMMAND" not in clean_environment(environ)
    assert clean_environment(environ, user_config=True)["GIT_SSH_COMMAND"] == "ssh -4"


def test_an_argument_wins_over_what_is_set_here(git):
    assert git.run("config", "core.logAllRefUpdates") == b"true\n"
    assert git.run("-c", "core.logAllRefUpdates=false", "config", "core.logAllRefUpdates") == b"false\n"


def test_an_init_is_the_same_everywhere(tmp_path, trap, home):
    (home / ".gitconfig").write_text(trap.as_config())
    git_without_repository(dict(os.environ)).run("init", str(tmp_path / "new"))
    assert (tmp_path / "new" / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert not (tmp_path / "new" / ".git" / "hooks").exists()
    assert not trap.mark.exists()


def test_without_a_work_tree_the_current_folder_is_none(project, environ):
    git = Git(project / ".git", None, environ)
    assert git.run("rev-parse", "--is-inside-work-tree") == b"false\n"
    assert git.run("rev-parse", "HEAD").strip()


def test_a_relative_path_is_refused(environ):
    with pytest.raises(ValueError, match="absolute"):
        Git("project/.git", None, environ)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_read_and_written(project, environ, bare_git):
    for path in (project, *project.rglob("*")):
        os.chown(path, 12345, 12345)
    with pytest.raises(AssertionError, match="dubious ownership"):
        bare_git(project, "status")
    git = Git(project / ".git", project, environ)
    assert git.run("status", "--porcelain") == b""
    git.run("update-ref", "refs/heads/x", "HEAD")


def test_git_never_waits_for_a_terminal(git):
    assert git.run("hash-object", "--stdin") == EMPTY_BLOB
    assert git.run("hash-object", "--stdin", stdin=b"") == EMPTY_BLOB


def test_a_failure_says_what_status_and_why(git):
    with pytest.raises(GitFailedError, match=r"git rev-parse failed with status 128: fatal: .*revision") as caught:
        git.run("-c", "core.abbrev=8", "rev-parse", "--verify", "nowhere")
    assert caught.value.status == 128
    assert caught.value.stderr.startswith("fatal:")


def test_passwords_in_urls_are_masked_and_long_output_is_cut(git):
    error = process.failure(
        ("fetch", "https://me:hunter2@example.org/x"), 1, b"x" * 9999 + b"\nfatal: https://me:hu@nter2@example.org/: no"
    )
    assert "hunter2" not in error.message + error.stderr
    assert "nter2" not in error.message + error.stderr
    assert error.message.endswith("fatal: https://***@example.org/: no")
    assert len(error.stderr) <= process.STDERR_LIMIT


@pytest.fixture
def limited_from(monkeypatch):
    """Give a function that has the time limit of a git begin once a file is written, however busy the machine is."""

    def begin_with(note: Path) -> None:
        communicate = process.Child.communicate

        def late(running, *args, **kwargs):
            end = time.monotonic() + 60
            while not note.exists() or not note.read_text().strip():
                assert time.monotonic() < end
                time.sleep(0.01)
            return communicate(running, *args, **kwargs)

        monkeypatch.setattr(process.Child, "communicate", late)

    return begin_with


@needs_posix
def test_a_git_that_takes_too_long_is_ended_with_what_it_started(git, tmp_path, limited_from):
    note = tmp_path / "pid"
    limited_from(note)
    with pytest.raises(GitFailedError, match=r"git hang did not finish within 0\.5 s") as caught:
        git.run("-c", f"alias.hang=!echo $$ > {note}; exec sleep 60", "hang", timeout=0.5)
    assert caught.value.status != 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@needs_posix
def test_a_git_that_will_not_end_is_killed_and_reaped(tmp_path, monkeypatch, environ, limited_from):
    note = tmp_path / "pid"
    limited_from(note)
    write_script(tmp_path / "bin" / "git", f"trap '' TERM; echo stuck >&2; echo $$ > {note}; exec sleep 60")
    monkeypatch.setattr(process, "_GRACE", 0.2)
    with pytest.raises(GitFailedError) as caught:
        git_without_repository(environ | {"PATH": f"{tmp_path / 'bin'}:{environ['PATH']}"}).run("fetch", timeout=0.5)
    assert (caught.value.status, caught.value.stderr) == (-9, "stuck")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@needs_posix
def test_a_git_that_says_too_much_is_ended(git, monkeypatch):
    monkeypatch.setattr(process, "MOST_OUTPUT", 100_000)
    with pytest.raises(GitFailedError, match="git flood says more than 100,000 bytes"):
        git.run("-c", "alias.flood=!yes", "flood", timeout=30)


@needs_posix
def test_an_interrupt_leaves_nothing_running(git, tmp_path, monkeypatch):
    note = tmp_path / "pid"

    def interrupted(running, *_args, **_kwargs):
        while not note.exists() or not note.read_text().strip():
            pass
        time.sleep(0.2)  # git itself has to take note of what it started
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(process.Child, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        git.run("-c", f"alias.hang=!echo $$ > {note}; exec sleep 60", "hang")
    with pytest.raises(ProcessLookupError):
        wait_for_end(int(note.read_text()))


def wait_for_end(pid: int) -> None:
    """Look for a process that is no child of ours: its own parent, or init, has to take note of its end."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        os.kill(pid, 0)
        time.sleep(0.01)


def test_a_missing_git_has_a_remedy(project, environ, tmp_path):
    with pytest.raises(GitmemError) as caught:
        Git(project / ".git", project, environ | {"PATH": str(tmp_path)})
    assert "2.38" in caught.value.remedy


def test_a_missing_folder_is_not_taken_for_a_missing_git(tmp_path, environ):
    with pytest.raises(GitmemError, match="gone"):
        Git(tmp_path / "gone" / ".git", tmp_path / "gone", environ).run("status")


@needs_posix
def test_a_git_that_came_with_the_project_is_not_started(project, environ, monkeypatch):
    write_script(project / "git", "echo hostile")
    monkeypatch.chdir(project)
    path = os.pathsep.join((".", "", environ["PATH"]))
    assert find_git(environ | {"PATH": path}) == find_git(environ)
    assert b"hostile" not in Git(project / ".git", project, environ | {"PATH": path}).run("--version")


@needs_posix
@pytest.mark.parametrize(
    "said, version",
    [
        ("git version 2.39.5 (Apple Git-154)", (2, 39)),
        ("git version 2.45.1.windows.1", (2, 45)),
        ("git version 3.0.GIT", (3, 0)),
        ("git version 2.37.9", None),
        ("something else", None),
    ],
)
def test_versions_are_understood_and_old_ones_refused_with_a_remedy(said, version, tmp_path, environ):
    write_script(tmp_path / "git", f"echo '{said}'")
    environ |= {"PATH": str(tmp_path)}
    if version:
        assert git_version(environ) == version
    else:
        with pytest.raises(GitmemError, match="too old") as caught:
            git_version(environ)
        assert "2.38" in caught.value.remedy


def test_what_the_repository_says_of_its_file_system_counts(tmp_path: Path, bare_git: RunsGit, environ: dict[str, str]):
    bare_git(tmp_path, "init", "-q")
    bare_git(tmp_path, "config", "core.fileMode", "false")
    bare_git(tmp_path, "config", "core.fsmonitor", "touch ran")
    git = Git(str(tmp_path / ".git"), str(tmp_path), environ).unfiltered
    assert git.run("config", "core.fileMode").strip() == b"false"
    assert git.run("config", "core.fsmonitor").strip() == b"false"


# Locks of other gits


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "locked, args",
    [
        ("config", ("config", "merge.gitmem.name", "a b")),
        ("refs/heads/other", ("update-ref", "refs/heads/other", "HEAD")),
        ("packed-refs", ("update-ref", "-d", "refs/heads/other")),
    ],
)
def test_the_lock_of_a_git_that_was_killed_is_passed_and_a_fresh_one_is_named(git, project, locked, args, monkeypatch):
    monkeypatch.setattr(process, "left_behind_after", lambda _: 0.0)
    monkeypatch.setattr(process, "_GRACE", 0.2)
    lock = project / ".git" / f"{locked}.lock"
    lock.touch()
    with pytest.raises(BusyError, match=rf"{locked}\.lock"):
        git.run(*args)
    os.utime(lock, (1, 1))
    git.run(*args)
    assert not lock.exists()
    with pytest.raises(GitFailedError):
        git.run(args[0], "--no-such-option")


def test_a_lock_at_the_other_end_is_left_to_the_other_end(git, project, bare_git, tmp_path):
    bare_git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    lock = tmp_path / "remote.git" / "refs" / "heads" / "main.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    with pytest.raises(GitFailedError):
        git.run("push", str(tmp_path / "remote.git"), "HEAD:refs/heads/main")
    assert lock.exists()
