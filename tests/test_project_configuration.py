"""Nothing that a project's configuration names is run by what reads the project's state (docs/security.md, "Trust")."""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.git import process as run
from gitmem.model.fact import Fact, FactKind
from gitmem.project.code import ProjectQuestions, project_code
from gitmem.project.places import places_of
from tests.command_line import Runner
from tests.patient import _patient  # noqa: F401

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are POSIX shell")
TOMORROW = datetime.now(UTC) + timedelta(days=1)
FACT = Fact(id="one", kind=FactKind.DECISION, text="x", created=TOMORROW, files=("main.py",))
HOOKS = ("post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman")


class Trap:
    """A project with one changed file, whose configuration can be made to name commands that leave a mark."""

    def __init__(self, folder: Path, git) -> None:
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.project = folder / "프로젝트 one"
        self.project.mkdir()
        self._git = git
        self.git("init", "-q")
        (self.project / "main.py").write_text("print(1)\n")
        (self.project / "same.py").write_text("print(2)\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    def git(self, *args: str) -> str:
        return self._git(self.project, *args)

    def command(self, name: str) -> str:
        return f"touch '{self.marks}/{name}'"

    def configure(self, text: str) -> None:
        with (self.project / ".git" / "config").open("a", encoding="utf-8") as file:
            file.write(text)

    def stir(self) -> None:
        """Have git compare contents: what it remembers of the files' times is not right any more."""
        (self.project / "main.py").write_text("print(3)\n")
        for name in ("main.py", "same.py"):
            os.utime(self.project / name, (1, 1))

    def sprung(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())


@pytest.fixture
def trap(tmp_path, bare_git, home) -> Trap:
    return Trap(tmp_path, bare_git)


def read_all(trap: Trap, environ: dict[str, str]) -> tuple[object, object]:
    """Read all that gitmem ever reads of a project."""
    with ProjectQuestions(str(trap.project), environ) as questions:
        state = questions.answer()
    code = project_code(str(trap.project), environ)
    commit, files = code.as_of(TOMORROW)
    code.past()
    with_branch = FACT._replace(commit=commit or "abcdef0", branch="gone")
    places_of(code, [with_branch], str(trap.project.parent / "places.json"))
    return state, files


def filters(trap: Trap, name: str, form: str = '[filter "{}"]') -> str:
    command = trap.command("filter").replace('"', '\\"')
    keys = "".join(f'\t{key} = "{command}"\n' for key in ("clean", "smudge", "process"))
    return f"{form.format(name)}\n{keys}\trequired = true\n"


@pytest.mark.parametrize("name", ["evil", "two words", "a.b=c", "필터", "UPPER", ""])
@pytest.mark.parametrize("attributes", [".gitattributes", ".git/info/attributes"])
def test_filters(trap, environ, name, attributes):
    macro = f"* filter={name}\n" if " " not in name else "* filter=other\n"
    (trap.project / attributes).write_text(macro, encoding="utf-8")
    trap.configure(filters(trap, name) + filters(trap, "other"))
    trap.stir()
    state, files = read_all(trap, environ)
    assert trap.sprung() == []
    assert state.changed == 1
    assert files == {"same.py"} | {".gitattributes"} & files


@pytest.mark.parametrize("where", ["[FILTER.evil]", "include", "includeIf", "worktree"])
def test_filters_however_they_are_written(trap, environ, where, tmp_path):
    (trap.project / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    text = filters(trap, "evil", where if where.startswith("[") else '[filter "{}"]')
    if where.startswith("["):
        trap.configure(text)
    elif where == "worktree":
        trap.configure("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
        (trap.project / ".git" / "config.worktree").write_text(text)
    else:
        (tmp_path / "more").write_text(text)
        section = "[include]" if where == "include" else f'[includeIf "gitdir:{trap.project}/"]'
        trap.configure(f'{section}\n\tpath = "{tmp_path}/more"\n')
    trap.stir()
    state, _ = read_all(trap, environ)
    assert trap.sprung() == []
    assert state.changed == 1


PROMISED = """\
[core]
\trepositoryFormatVersion = 1
[extensions]
\tpartialClone = evil
[protocol]
\tallow = always
[protocol "ext"]
\tallow = always
[protocol "file"]
\tallow = always
[remote "evil"]
\tpromisor = true
"""


@pytest.mark.parametrize("way", ["ext", "uploadpack", "ssh", "helper"])
def test_a_missing_object_is_fetched_from_nowhere(trap, environ, way, tmp_path, monkeypatch):
    monkeypatch.delitem(run.given("local"), "GIT_NO_LAZY_FETCH")  # which git knows since 2.44
    command = trap.command(way)
    (tmp_path / "git-remote-evil").write_text(f"#!/bin/sh\n{command}\n")
    (tmp_path / "git-remote-evil").chmod(0o755)
    said = {
        "ext": f"\turl = \"ext::sh -c touch% '{trap.marks}/ext'\"\n",
        "uploadpack": f'\turl = {tmp_path}\n\tuploadpack = "{command} #"\n',
        "ssh": f'\turl = ssh://host/x\n[core]\n\tsshCommand = "{command} #"\n',
        "helper": "\turl = evil::x\n\tvcs = evil\n",
    }[way]
    oids = trap.git("rev-parse", "HEAD^{tree}", "HEAD:main.py").split()
    trap.configure(PROMISED + said)
    for oid in oids:
        (trap.project / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    environ = environ | {"PATH": f"{tmp_path}{os.pathsep}{environ['PATH']}"}
    read_all(trap, environ)
    assert trap.sprung() == []


def test_a_submodule_s_configuration_is_not_read(trap, environ, tmp_path, bare_git):
    (tmp_path / "inner").mkdir()
    inner = Trap(tmp_path / "inner", bare_git)
    trap.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.project), "sub")
    trap.git("commit", "-q", "-m", "submodule")
    with (trap.project / ".git" / "modules" / "sub" / "config").open("a") as file:
        file.write(f'[core]\n\tfsmonitor = "{trap.command("fsmonitor")}"\n' + filters(trap, "evil"))
    (trap.project / ".git" / "modules" / "sub" / "info" / "attributes").write_text("* filter=evil\n")
    os.utime(trap.project / "sub" / "main.py", (1, 1))
    trap.stir()
    _, files = read_all(trap, environ)
    assert trap.sprung() == []
    assert "same.py" in files


def name_all_else(trap: Trap) -> None:
    """Have the configuration and the git folder name all that git runs elsewhere."""
    hooks = trap.project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).write_text(f"#!/bin/sh\n{trap.command(name)}\n")
        (hooks / name).chmod(0o755)
    commands = {
        "core": ("fsmonitor", "sshCommand", "editor", "pager", "askPass", "gitProxy", "alternateRefsCommand"),
        "gpg": ("program",),
        "credential": ("helper",),
        "diff": ("external",),
        "pager": ("log", "status"),
        "alias": ("status", "log", "cat-file", "rev-list"),
        'diff "evil"': ("command", "textconv"),
        'merge "evil"': ("driver",),
        "sequence": ("editor",),
        "interactive": ("diffFilter",),
    }
    for section, keys in commands.items():
        trap.configure(f"[{section}]\n" + "".join(f'\t{key} = "{trap.command(key)} #"\n' for key in keys))
    for name in HOOKS:  # named by the configuration, as git has it since 2.54
        trap.configure(f'[hook "{name}-evil"]\n\tevent = {name}\n\tcommand = "{trap.command(name)}"\n')
    trap.configure("[log]\n\tshowSignature = true\n[status]\n\tsubmoduleSummary = true\n")
    (trap.project / ".gitattributes").write_text("* diff=evil merge=evil\n")


def test_all_else_that_a_configuration_can_name(trap, environ):
    name_all_else(trap)
    trap.configure("[core]\n\tworktree = /\n")
    trap.stir()
    state, _ = read_all(trap, environ)
    assert trap.sprung() == []
    assert (state.root, state.changed, len(state.commits)) == (str(trap.project), 1, 1)


@pytest.mark.parametrize("place", ["project", pytest.param("branch", marks=pytest.mark.slow)])
def test_commands_run_nothing_that_the_configuration_names(trap, environ, bare_git, tmp_path, monkeypatch, place):  # noqa: PLR0917
    monkeypatch.setattr("gitmem.project.code.SECONDS", 60.0)  # as a busy machine needs a second for git's answers
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    run = Runner(trap.project, environ)

    def gitmem(*args: str, stdin: bytes = b"") -> str:
        code, out, err = run(*args, stdin=stdin)
        assert code == 0, (args, err)
        return out

    gitmem("init", *["--branch"] * (place == "branch"))
    name_all_else(trap)
    (trap.project / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    trap.configure(filters(trap, "evil"))
    trap.stir()
    said = {"cwd": str(trap.project), "session_id": "one", "prompt_id": "1"}
    gitmem("save", "Use uv, not pnpm", "--type", "decision")
    memory = trap.project / ".gitmem" / "memory.md"
    memory.write_text(memory.read_text() + "\nBy hand.\n")
    answer = gitmem("hook", "claude", stdin=json.dumps(said | {"hook_event_name": "SessionStart"}).encode())
    assert "changed since the last commit: " in answer
    gitmem("hook", "claude", stdin=json.dumps(said | {"hook_event_name": "UserPromptSubmit", "prompt": "go"}).encode())
    gitmem("hook", "claude", "--drain")
    gitmem("remote", "add", str(tmp_path / "remote.git"))
    for command in ("search uv", "sync", "status", "doctor", "log", "diff HEAD~1 HEAD", "maintain"):
        gitmem(*command.split())
    assert trap.sprung() == []
