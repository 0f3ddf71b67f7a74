"""The commands hosts run at events, in every shell at hand, as a host runs them: `sh -c COMMAND` with JSON on stdin."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.hosts.host import DUE, LATE, command, direct_command, hook_script, is_gitmem_hook, script_path
from gitmem.store.locate import find_store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
CANDIDATES = {
    "sh": ["sh"],
    "dash": ["dash"],
    "bash": ["bash"],
    "busybox": ["busybox", "sh"],
    "zsh": ["zsh", "--emulate", "sh"],
}
FOUND = {name: shutil.which(words[0]) for name, words in CANDIDATES.items()}
SHELLS = {  # each once: `sh` is often one of the others
    name: CANDIDATES[name] for name in {os.path.realpath(path): name for name, path in FOUND.items() if path}.values()
}
PAYLOAD = json.dumps({"hook_event_name": "PostToolUse", "text": "첫 번째 'quote\""}, ensure_ascii=False).encode()
# As a user's `gitmem` would be found; it notes how it was called.
STAND_IN = """#!/bin/sh
[ "$(umask)" = "$GITMEM_UMASK" ] || echo "the umask is $(umask)" >>"$GITMEM_CALLS"
{ printf '%s|' "$PPID" "$PWD" "$@"; cat; printf '\\n'; } >>"$GITMEM_CALLS"
echo answered
"""


class ShellHost:
    """Runs the script of the hooks in a shell, as a host does; gitmem is a stand-in, so there is no `World`."""

    def __init__(self, folder: Path, shell: list[str]) -> None:
        self.shell = shell
        self.folder = folder
        self.accepts = True
        self.calls = folder / "calls"
        self.home = folder / "home"
        self.home.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in ("cat", "grep", "head", "rm", "sed", "tail"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.script = Path(script_path(str(self.home)))
        self.script.parent.mkdir(parents=True)
        self.script.write_bytes(hook_script(""))
        self.environ = {"HOME": str(self.home), "PATH": str(self.bin), "GITMEM_CALLS": str(self.calls)}
        os.umask(mask := os.umask(0))
        self.environ["GITMEM_UMASK"] = f"{mask:04o}"

    def install_gitmem(self) -> None:
        (self.bin / "gitmem").write_text(STAND_IN.replace("cat;", f"{shutil.which('cat')};"))
        (self.bin / "gitmem").chmod(0o755)

    def run(
        self,
        cwd: Path,
        event="PostToolUse",
        payload: bytes = PAYLOAD,
        *,
        host="claude",
        stdin=None,
        before="",
        **environ,
    ):
        if self.accepts:
            self.accept()
        done = subprocess.run(
            [self.find(), *self.shell[1:], "-c", before + command(event, host)],
            cwd=cwd,
            env=self.environ | environ,
            **({"input": payload} if stdin is None else {"stdin": stdin}),
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0
        assert done.stderr == b""
        return done.stdout

    def accept(self) -> None:
        """Say yes to all stores of the test, as far as the script looks."""
        for private in self.folder.rglob("gitmem/spool"):
            record = self.script.parent / "stores" / str(private.parent.resolve())[1:] / "accepted"
            record.parent.mkdir(parents=True, exist_ok=True)
            for path in (record, private.parent / "machine"):
                if not path.exists():  # else another run may read it now
                    path.write_text("0123456789abcdef" * 2 + "\n")

    def find(self) -> str:
        return shutil.which(self.shell[0])

    def called(self) -> list[str]:
        """Return how gitmem was called: by our child in the background, in the foreground always by us, the host."""
        calls = [line.split("|", 1) for line in self.calls.read_text().splitlines()] if self.calls.exists() else []
        assert all(parent == str(os.getpid()) for parent, call in calls if "--drain" not in call)
        return [call for _, call in calls]


@pytest.fixture(params=SHELLS)
def host(request, tmp_path) -> ShellHost:
    return ShellHost(tmp_path, SHELLS[request.param])


def repository(folder: Path, bare_git) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    bare_git(folder, "init", "-q")
    bare_git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def own_store(project: Path) -> Path:
    """Make the part of a store that the shim looks at; returns the folder of hook events."""
    git = project / ".gitmem" / ".git"
    (git / "gitmem" / "spool" / "hooks").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/gitmem\n")
    return git / "gitmem" / "spool" / "hooks"


@pytest.fixture
def project(tmp_path, bare_git) -> Path:
    return repository(tmp_path / '프로젝트 it\'s "one" $HOME [a]*', bare_git)


@pytest.fixture
def spool(project) -> Path:
    return own_store(project)


def delivered(spool: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(spool.iterdir())]


def test_an_event_becomes_a_file_of_its_own_that_names_the_event_and_the_host(host, project, spool):
    assert host.run(project) == b""
    (file,) = spool.iterdir()
    event, parent, own, number = file.name.removesuffix(".json").split("-")
    assert (event, int(parent), number) == ("PostToolUse", os.getpid(), "1")
    assert own.isdigit()
    assert file.read_bytes() == PAYLOAD


@pytest.mark.few(12)
@pytest.mark.parametrize("option", ["-u", "-e", "-eu", "-f", "-C"])
@pytest.mark.parametrize(
    "event", ["PostToolUse", "PostToolUse.codex", "UserPromptSubmit", "Stop", "SessionStart", "statusline"]
)
def test_options_of_the_shell_end_no_hook(host, project, spool, option, event):
    """As `SHELLOPTS` and `ENV` set them for every shell; `run` checks the exit code, and that nothing is complained."""
    before = f"set {option}; "
    assert host.run(project, event, before=before) == b""
    assert delivered(spool) == [PAYLOAD] * (event not in {"SessionStart", "statusline"})
    assert host.run(project.parent, event, before=before) == b""


def test_a_store_that_came_with_the_project_gets_no_event(host, project, spool):
    """gitmem is asked, which knows whether it was moved, or is that of an older gitmem."""
    host.accepts = False
    host.install_gitmem()
    host.run(project)
    assert delivered(spool) == []
    assert [call.split("|")[1:4] for call in host.called()] == [["-C", str(project), "hook"]]


@pytest.mark.parametrize("token", ["fedcba9876543210" * 2, "", None])
def test_another_store_in_the_place_of_one_gets_no_event(host, project, spool, token):
    """A project was deleted, and an archive unpacked in its place."""
    host.accept()
    host.accepts = False
    host.install_gitmem()
    machine = spool.parents[1] / "machine"
    if token is None:
        machine.unlink()
    else:
        machine.write_text(token)
    host.run(project)
    assert delivered(spool) == []
    assert len(host.called()) == 1


def test_the_store_is_found_from_a_subfolder_and_from_inside_the_store(host, project, spool):
    below = project / "src" / "깊은 곳"
    below.mkdir(parents=True)
    host.run(below)
    host.run(project / ".gitmem" / ".git" / "gitmem")
    assert delivered(spool) == [PAYLOAD, PAYLOAD]
    assert find_store(str(below), str(host.home)) == str(project / ".gitmem")


@pytest.mark.parametrize("form", ["gitdir: {}\n", "gitdir: {}\r\n", "gitdir: {}"])
@pytest.mark.parametrize("relative", [False, True])
def test_a_linked_work_tree_belongs_to_the_main_one(host, spool, bare_git, form, relative):
    project = spool.parents[4]
    tree = project.parent / "linked tree"
    bare_git(project, "worktree", "add", "-q", "--detach", str(tree))
    target = (tree / ".git").read_text().removeprefix("gitdir: ").strip()
    if relative:
        target = os.path.relpath(target, tree)
    (tree / ".git").write_bytes(form.format(target).encode())
    (tree / "sub").mkdir()
    host.run(tree / "sub")
    assert delivered(spool) == [PAYLOAD]
    assert find_store(str(tree), str(host.home)) == str(project / ".gitmem")


def test_a_bare_repository_in_a_hidden_folder_belongs_to_the_folder_around_it(host, tmp_path, bare_git):
    top = tmp_path / "top"
    first = repository(top / "first", bare_git)
    bare_git(top, "clone", "-q", "--bare", str(first), ".bare")
    bare_git(top / ".bare", "worktree", "add", "-q", str(top / "tree"), "-b", "tree")
    spool = own_store(top)
    host.run(top / "tree")
    assert delivered(spool) == [PAYLOAD]


def test_in_branch_mode_the_spool_is_in_the_projects_own_repository(host, project, tmp_path, bare_git):
    tree = tmp_path / "linked"
    bare_git(project, "worktree", "add", "-q", "--detach", str(tree))
    bare_git(project, "worktree", "add", "-q", "--detach", str(project / ".gitmem"))
    spool = project / ".git" / "gitmem" / "spool" / "hooks"
    spool.mkdir(parents=True)
    for cwd in (project, tree, project / ".gitmem"):
        host.run(cwd)
    assert delivered(spool) == [PAYLOAD] * 3


def test_a_copied_project_delivers_into_its_own_repository(host, project, tmp_path, bare_git):
    bare_git(project, "worktree", "add", "-q", "--detach", str(project / ".gitmem"))
    spool = project / ".git" / "gitmem" / "spool" / "hooks"
    spool.mkdir(parents=True)
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, symlinks=True)
    for cwd in (copy, copy / ".gitmem"):
        host.run(cwd)
    assert delivered(spool) == []
    assert delivered(copy / ".git" / "gitmem" / "spool" / "hooks") == [PAYLOAD] * 2


@pytest.mark.parametrize("relative", [False, True])
def test_a_copy_of_a_linked_work_tree_delivers_nothing_into_the_originals_spool(host, spool, bare_git, relative):
    project = spool.parents[4]
    tree = project / "trees" / "one"
    bare_git(project, "worktree", "add", "-q", "--detach", str(tree))
    if relative:
        record = Path((tree / ".git").read_text().removeprefix("gitdir: ").strip())
        (record / "gitdir").write_text(os.path.relpath(tree / ".git", record) + "\n")
    host.run(tree)
    assert delivered(spool) == [PAYLOAD]
    shutil.copytree(project, project.parent / "copy", symlinks=True)
    host.install_gitmem()
    host.run(project.parent / "copy" / "trees" / "one")
    assert delivered(spool) == [PAYLOAD]
    assert len(host.called()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["gitdir", "HEAD", "commondir"])
def test_a_pipe_where_a_linked_work_tree_leads_to_holds_nothing_up(host, project, tmp_path, bare_git, *, name):
    bare_git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    spool = own_store(project)
    [record] = (project / ".git" / "worktrees").iterdir()
    (record / name).unlink()
    os.mkfifo(record / name)
    host.install_gitmem()
    host.run(tmp_path / "linked")
    assert delivered(spool) == ([PAYLOAD] if name == "commondir" else [])


@pytest.mark.parametrize("step", [".gitmem", ".gitmem/.git", "gitmem", "gitmem/spool", "gitmem/spool/hooks"])
@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.few(10)
def test_nothing_is_written_through_a_link(host, project, tmp_path, bare_git, *, step, branch):
    if branch:
        bare_git(project, "worktree", "add", "-q", "--detach", str(project / ".gitmem"))
        (project / ".git" / "gitmem" / "spool" / "hooks").mkdir(parents=True)
    else:
        own_store(project)
    git = project / ".git" if branch else project / ".gitmem" / ".git"
    place = project / step if step.startswith(".") else git / step
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    host.install_gitmem()
    host.run(project)
    assert [path for path in tmp_path.rglob("*") if path.suffix == ".json"] == []
    assert len(host.called()) == 1


@pytest.mark.skipif(os.geteuid() != 0 if hasattr(os, "geteuid") else True, reason="only root can give a folder away")
@pytest.mark.parametrize("foreign", [".gitmem", ".gitmem/.git/gitmem/spool/hooks"])
def test_another_users_store_is_not_written_to(host, project, spool, foreign):
    host.install_gitmem()
    os.lchown(project / foreign, 65534, 65534)
    host.run(project)
    assert delivered(spool) == []
    assert len(host.called()) == 1


def test_a_repository_inside_another_one_does_not_write_into_the_outer_ones_memory(host, project, spool, bare_git):
    host.install_gitmem()
    nested = repository(project / "vendor" / "lib", bare_git)
    assert host.run(nested) == b""
    assert (delivered(spool), host.called()) == ([], [])
    assert find_store(str(nested), str(host.home)) is None


def test_what_happens_in_such_a_place_during_a_session_belongs_to_the_sessions_project(host, project, spool, bare_git):
    nested = repository(project / "vendor" / "lib", bare_git)
    host.run(nested, CLAUDE_PROJECT_DIR=str(project))
    assert delivered(spool) == [PAYLOAD]


def test_a_project_without_git_has_its_store_in_the_folder(host, tmp_path):
    plain = tmp_path / "plain" / "sub"
    plain.mkdir(parents=True)
    spool = own_store(plain.parent)
    host.run(plain)
    assert delivered(spool) == [PAYLOAD]


def test_a_link_into_a_project_leads_to_the_project_and_not_to_where_the_link_is(
    host, project, spool, tmp_path, bare_git
):
    other = repository(tmp_path / "other", bare_git)
    wrong = own_store(other)
    (other / "link").symlink_to(project)
    host.run(other / "link", PWD=str(other / "link"))
    assert (delivered(wrong), delivered(spool)) == ([], [PAYLOAD])


def _bare(project: Path, git) -> Path:
    git(project, "init", "-q", "--bare", "project.git")
    return project / "project.git"


def _submodule(project: Path, git) -> Path:
    repository(project / "a", git)
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./a", "sub")
    return project / "sub"


def _separate(project: Path, git) -> Path:
    git(project, "init", "-q", f"--separate-git-dir={project}/.elsewhere", "separate")
    return project / "separate"


@pytest.mark.parametrize("make", [_bare, _submodule, _separate])
def test_what_is_rare_is_left_to_gitmem_with_the_event_whole(host, project, spool, bare_git, make):
    host.install_gitmem()
    place = make(project, bare_git)
    assert host.run(place) == b"answered\n"
    assert delivered(spool) == []
    assert host.called() == [f"/|-C|{place}|hook|claude|PostToolUse|{PAYLOAD.decode()}"]


def test_a_store_without_the_folder_a_link_in_its_place_or_one_in_the_home_is_left_to_gitmem(host, project, tmp_path):
    host.install_gitmem()
    spool = own_store(project)
    spool.rmdir()
    host.run(project)
    shutil.move(project / ".gitmem", tmp_path / "moved")
    (tmp_path / "moved" / ".git" / "gitmem" / "spool" / "hooks").mkdir()
    (project / ".gitmem").symlink_to(tmp_path / "moved")
    host.run(project)
    mine = own_store(host.home)
    host.run(host.home)
    assert len(host.called()) == 3
    assert delivered(mine) == []


def test_where_stores_are_kept_under_the_home_gitmem_is_asked(host, project):
    host.install_gitmem()
    host.run(project)
    assert host.called() == []
    (host.home / ".gitmem" / "projects").mkdir(parents=True)
    host.run(project)
    assert len(host.called()) == 1


def test_a_taken_name_is_never_written_to(host, project, spool):
    # The number of the next process is not known, so that the shell itself takes the names first.
    host.accept()
    taken = f'for i in 1 2 3; do echo taken >"{spool.name}/PostToolUse-$PPID-$$-$i.json"; done; '
    script = f'cd "$SPOOL/.."; {taken} cd "$BACK"; {command("PostToolUse")}'
    environ = host.environ | {"SPOOL": str(spool), "BACK": str(project)}
    subprocess.run([host.find(), *host.shell[1:], "-c", script], cwd=project, env=environ, input=PAYLOAD, check=True)
    contents = delivered(spool)
    assert sorted(contents) == sorted([b"taken\n"] * 3 + [PAYLOAD])


@pytest.mark.parametrize("events", [80, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.few(1)
def test_nobody_loses_an_event_to_another_one(host, project, spool, events):
    def run(number: int) -> None:
        host.run(project, payload=json.dumps({"number": number}).encode())

    host.accept()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(events)))
    assert sorted(json.loads(data)["number"] for data in delivered(spool)) == list(range(events))


def test_nothing_on_standard_input_leaves_nothing(host, project, spool):
    host.run(project, payload=b"")
    host.run(project, stdin=subprocess.DEVNULL)
    closed = [host.find(), *host.shell[1:], "-c", f"exec <&-; {command('Stop')}"]
    done = subprocess.run(closed, cwd=project, env=host.environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert delivered(spool) == []


def test_a_folder_that_cannot_be_written_to_leaves_the_event_to_gitmem_whole(host, project, spool):
    host.install_gitmem()
    if os.geteuid() == 0:  # whom no mode keeps out: a name that is too long fails for everybody
        long = "E" * 250
        host.run(project, long)
    else:
        spool.chmod(0o500)
        host.run(project)
        spool.chmod(0o700)
    assert [call.rpartition("|")[2] for call in host.called()] == [PAYLOAD.decode()]
    assert delivered(spool) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_nobodys_trouble(host, project, spool):
    limited = f"ulimit -f 8; trap '' XFSZ; {command('PostToolUse')}"
    done = subprocess.run(
        [host.find(), *host.shell[1:], "-c", limited],
        cwd=project,
        env=host.environ,
        input=b"x" * 1_000_000,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_gitmem_or_the_script_nothing_is_said(host, project, spool):
    for event in ("Stop", "PreCompact", "SessionEnd", "SessionStart"):
        assert host.run(project, event) == b""
    shutil.rmtree(spool)
    assert host.run(project, "Stop") == b""
    host.install_gitmem()
    host.script.unlink()
    assert host.run(project, "SessionStart") == host.run(project, "Stop") == b""
    assert host.called() == []


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "event, times, drains",
    [
        *((event, 1, 1) for event in ("Stop", "PreCompact", "SessionEnd")),
        *((event, 11, 2) for event in ("PostToolUse", "PostToolUseFailure")),  # of five events of tools one drains
        *((event, 5, 0) for event in ("UserPromptSubmit", "SubagentStop", "PostCompact")),
    ],
)
def test_what_is_there_is_drained_in_the_background(host, project, spool, *, event, times, drains):
    host.install_gitmem()
    for name in ("UserPromptSubmit", "PostToolUseFailure"):
        (spool / f"off-{name}").touch()
    for _ in range(times):
        host.run(project, event)
    seconds = 5.0 if drains else 0.3
    assert _waited(host, drains or 1, seconds) == [f"/|-C|{project}/|hook|claude|--drain|"] * drains


def test_an_agent_that_reads_until_the_output_is_closed_waits_for_no_drain(host, project, spool):
    ended = host.folder / "ended"
    sleep = shutil.which("sleep")
    (host.bin / "gitmem").write_text(f"#!/bin/sh\n{sleep} 3\ntrue >{ended}\n")
    (host.bin / "gitmem").chmod(0o755)
    host.run(project, "Stop", host="codex")  # Codex calls a hook failed that keeps its output open for ten seconds
    assert not ended.exists()


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUseFailure"])
def test_a_prompt_and_an_error_are_delivered_and_answered_unless_that_is_off(host, project, spool, event):
    assert host.run(project, event) == b""
    assert delivered(spool) == [PAYLOAD]
    host.install_gitmem()
    assert host.run(project, event) == b"answered\n"
    (call,) = host.called()
    start, _, path = call.rpartition("--delivered|")
    assert start == f"/|-C|{project}/|hook|claude|{event}|"
    assert Path(path.removesuffix("|")).read_bytes() == PAYLOAD
    (spool / f"off-{event}").touch()
    assert host.run(project, event) == b""
    assert len(host.called()) == 1


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PostToolUseFailure", "Stop", "PostToolUse"])
def test_hooks_can_be_switched_off_or_made_to_answer_and_keep_nothing(host, project, spool, event):
    host.install_gitmem()
    assert host.run(project, event, GITMEM_HOOKS="off") == b""
    assert (delivered(spool), host.called()) == ([], [])
    host.run(project, event, GITMEM_READONLY="1")
    assert delivered(spool) == []
    assert len(host.called()) == (event in {"SessionStart", "UserPromptSubmit", "PostToolUseFailure"})


def test_in_a_pause_the_script_writes_nothing_and_gitmem_gets_the_event_whole(host, project, spool):
    host.install_gitmem()
    (spool / "paused").touch()
    for event in ("UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"):
        host.run(project, event)
    assert [call.rpartition("|")[2] for call in host.called()] == [PAYLOAD.decode()] * 4
    (spool / "paused").unlink()
    assert delivered(spool) == []
    host.run(project)
    assert delivered(spool) == [PAYLOAD]


def _waited(host: ShellHost, number: int, seconds: float = 5.0) -> list[str]:
    import time

    end = time.monotonic() + seconds
    while len(host.called()) < number and time.monotonic() < end:
        time.sleep(0.01)
    return host.called()


def test_other_hosts_are_named_in_the_file_and_to_gitmem(host, project, spool):
    host.install_gitmem()
    host.run(project, "Stop", host="codex")
    (file,) = spool.iterdir()
    assert file.name.startswith(f"Stop.codex-{os.getpid()}-")
    assert _waited(host, 1) == [f"/|-C|{project}/|hook|codex|--drain|"]
    assert host.run(project, "SessionStart", host="codex") == b"answered\n"
    assert host.called()[1] == f"/|-C|{project}|hook|codex|SessionStart|{PAYLOAD.decode()}"


def test_a_host_that_is_told_later_is_answered_at_its_next_prompt_only(host, project, spool):
    host.install_gitmem()
    (spool / "off-UserPromptSubmit").touch()
    assert host.run(project, "UserPromptSubmit", host="gemini") == b""
    assert host.run(project, f"SessionStart{LATE}", host="gemini") == b""
    mark = spool / f"tell-{os.getpid()}"
    assert mark.exists()
    assert host.run(project, "PostToolUse", host="gemini") == b""
    assert host.run(project, "UserPromptSubmit", host="gemini") == b"answered\n"
    mark.unlink()  # as gitmem does
    assert host.run(project, "UserPromptSubmit", host="gemini") == b""
    assert len(host.called()) == 1
    assert len(list(spool.glob("*.json")) + list(spool.glob("tell-*"))) == 4


def test_a_host_that_hears_no_answer_at_prompts_is_answered_with_the_next_event_that_is_due(host, project, spool):
    host.install_gitmem()
    assert host.run(project, f"SessionStart{LATE}", host="cline") == b""
    assert host.run(project, f"PostToolUse{DUE}", host="cline") == b"answered\n"
    (spool / f"tell-{os.getpid()}").unlink()  # as gitmem does
    assert host.run(project, f"PostToolUse{DUE}", host="cline") == b""
    assert [name.name.partition("-")[0] for name in sorted(spool.iterdir())] == [
        "PostToolUse.cline",
        "SessionStart.cline",
    ]


@pytest.mark.parametrize("agent", ["claude", "gemini", "opencode"])
@pytest.mark.parametrize("size", [300, 4_000])
def test_every_byte_arrives_also_where_the_result_is_looked_at(host, project, spool, agent, size):
    payload = bytes(range(256)) * size + "ŁŃ가👍\n\n".encode()
    host.run(project, payload=payload, host=agent)
    assert delivered(spool) == [payload]


FAILURES = {
    "cline": "[Command exited with code 2]",
    "codex": "Exit code: 1",
    "copilot": "<shellId: 0 completed with exit code 2>",
    "gemini": "Exit Code: 2",
}


def test_a_tool_that_failed_is_answered_where_only_the_result_says_so(host, project, spool):
    host.install_gitmem()

    def told(agent: str, result: bytes) -> bytes:
        for path in spool.glob("*.json"):  # no fifth event, which would drain
            path.unlink()
        return host.run(project, payload=result, host=agent)

    for agent, said in FAILURES.items():
        assert told(agent, said.encode()) == b"answered\n"
        assert told(agent, b"xit code: 0 Exit") == b""
    assert told("gemini", b"x" * 2_000_000 + b"\xff\\nExit Code: 2") == b"answered\n"  # at the end of a large one
    assert told("opencode", b"Exit code: 1") == told("claude", b"Exit code: 1") == b""  # they have an event for it
    assert host.run(project, "PostToolUseFailure", host="opencode") == b"answered\n"
    assert host.run(project, "PostToolUseFailure", host="amp") == b""  # its plugin passes no answer on
    rollout = project.parent / "it's a 롤아웃.jsonl"
    line = b'{"session_id":"s","transcript_path":"%s","tool_response":"\\"transcript_path\\":\\"/x\\""}'
    for status, answer in ((b"completed", b""), (b"failed", b"answered\n")):
        rollout.write_bytes(b'{"status":"failed"}' + b" " * 9_000 + b'"status":"%s","exit_code":2\n{}' % status)
        assert told("codex", line % bytes(rollout)) == answer
    (spool / "off-PostToolUseFailure").touch()
    assert told("gemini", b"Exit Code: 2") == b""
    assert [call.split("|")[4:6] for call in host.called()] == [
        *([agent, "PostToolUse"] for agent in (*FAILURES, "gemini")),
        ["opencode", "PostToolUseFailure"],
        ["codex", "PostToolUse"],
    ]


def test_without_gitmem_on_the_path_the_one_that_installed_the_script_is_started(host, project, spool):
    host.install_gitmem()
    elsewhere = host.home / "it's here" / "gitmem"
    elsewhere.parent.mkdir()
    (host.bin / "gitmem").rename(elsewhere)
    assert host.run(project, "SessionStart") == b""
    host.script.write_bytes(hook_script(str(elsewhere)))
    assert host.run(project, "SessionStart") == b"answered\n"
    host.run(project, "Stop")
    assert len(_waited(host, 2)) == 2


def status(host: ShellHost, where: Path, project: Path | None) -> str:
    """Return what the script prints for a status line that is asked for in a folder, about a project."""
    event = {"cwd": "/", "workspace": {"current_dir": "/", "project_dir": str(project)}} if project else None
    payload = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() if event else b""
    return host.run(where, "statusline", payload).decode()


@pytest.fixture
def plain_project(tmp_path, bare_git) -> Path:
    """Return a project with the line of its last start, at a path that JSON writes as it is."""
    project = repository(tmp_path / "프로젝트 it's $HOME [a]*", bare_git)
    (own_store(project).parents[1] / "sign").write_text("gitmem: 1 decision told; recording")
    return project


def test_a_status_line_is_that_of_the_agents_project(host, plain_project, tmp_path, bare_git):
    other = repository(tmp_path / "other", bare_git)
    (own_store(other).parents[1] / "sign").write_text("gitmem: of another project")
    host.install_gitmem()
    assert status(host, other, plain_project) == "gitmem: 1 decision told; recording\n"
    assert status(host, plain_project, None) == "gitmem: 1 decision told; recording\n"
    assert status(host, other, tmp_path / "nowhere") == "gitmem: nothing is recorded here\n"
    without = repository(tmp_path / "no store", bare_git)
    assert status(host, other, without) == "gitmem: nothing is recorded here\n"
    assert host.called() == []


def test_a_status_line_is_gitmems_where_the_script_cannot_tell(host, project, spool, tmp_path, plain_project):
    (spool.parents[1] / "sign").write_text("gitmem: of this project")
    host.install_gitmem()
    assert status(host, tmp_path, project) == "answered\n"  # its path has quotes, which JSON escapes
    (call,) = filter(None, host.calls.read_text().splitlines())
    assert json.loads(call.split("statusline|")[1])["workspace"]["project_dir"] == str(project)
    host.accepts = False
    (host.script.parent / "stores").rename(host.script.parent / "other")
    assert status(host, tmp_path, plain_project) == "answered\n"


def test_a_status_line_is_no_place_for_control_characters(host, plain_project):
    (plain_project / ".gitmem/.git/gitmem/sign").write_text("gitmem: \x1b[2J told")
    assert status(host, plain_project, plain_project) == "gitmem: no session is recorded here yet\n"
    (plain_project / ".gitmem/.git/gitmem/sign").unlink()
    assert status(host, plain_project, plain_project) == "gitmem: no session is recorded here yet\n"


def test_the_line_is_short_and_recognized_as_are_those_of_older_versions():
    for event in ("SessionStart", "PostToolUseFailure"):
        assert len(command(event)) <= 160
        assert is_gitmem_hook(command(event))
        assert is_gitmem_hook(command(f"{event}{LATE}", "opencode"))
    assert command("PostToolUse") == (
        ": 'gitmem, where installed, remembers sessions'; "
        'h=$HOME/.local/share/gitmem/hook.sh; [ -r "$h" ] && gitmem=PostToolUse . "$h"; exit 0'
    )
    assert is_gitmem_hook("gitmem=Stop; { set -C; exit 0")
    assert is_gitmem_hook('h=$HOME/.local/share/gitmem/hook.sh; [ -r "$h" ] && gitmem=Stop . "$h"; exit 0')
    assert is_gitmem_hook(direct_command("SessionStart.late", "gemini"))
    assert not is_gitmem_hook("gitmem hook claude")
    assert not is_gitmem_hook("h=/x/hook.sh; rm -rf /")
    assert not is_gitmem_hook(None)
