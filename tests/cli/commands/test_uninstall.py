import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command_line import Runner


def driver(gitmem) -> bool:
    return "merge-driver" in (gitmem.root / ".git" / "config").read_text(encoding="utf-8")


def files_in(*folders: Path) -> dict[str, bytes]:
    """Return the files of folders, without those of stores."""
    paths = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in paths if ".gitmem" not in path.parts}


@pytest.fixture
def bare_project(tmp_path, home, environ, bare_git) -> Runner:
    """Give a function that runs a command in a git project without a store."""
    project = tmp_path / "project"
    project.mkdir()
    bare_git(project, "init", "-q")
    (project / ".git" / "info").mkdir(exist_ok=True)
    return Runner(project, environ)


def test_everything_goes_after_a_yes_and_what_the_user_wrote_stays(bare_project, home):
    run, project = bare_project, bare_project.cwd
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"model": "opus"}\n', encoding="utf-8")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "x"\n', encoding="utf-8")
    with (project / ".git" / "info" / "exclude").open("a") as file:
        file.write("*.mine\n/.gitmem/mine/\n")
    other = Runner(project.parent / "other", run.environ)
    shutil.copytree(project, other.cwd)
    folders = (home, project, other.cwd)
    before = files_in(*folders)
    for one in (run, other):
        assert one("init")[0] == 0
        assert one("install", "claude", "--yes")[0] == 0
    assert run("install", "codex", "--user", "--trust", "--yes")[0] == 0
    assert run("config", "--user", "sync.auto", "off")[0] == 0
    assert run("reindex", "--background")[0] == 0
    there = files_in(*folders)
    code, out, err = run("uninstall", "--everything")
    assert (code, files_in(*folders)) == (8, there), "as other commands that nobody could be asked about"
    for path in (".claude/settings.json", "hook.sh", "config.yaml", ".codex/", "/other:"):
        assert path in out
    assert "Repeat it with --yes." in err
    assert run("uninstall", "--everything", answer="n\n")[0] == 0
    assert files_in(*folders) == there
    said = run("uninstall", "--everything", answer="y\n")
    assert (said[0], str(run.root) in said[2], str(other.root) in said[2]) == (0, True, True)
    left = [path for path, text in files_in(*folders).items() - before.items() if b".gitmem" not in text]
    assert {Path(path).name for path in left if ".gitmem" not in path} == {"machine"}, "what the stores' entries name"
    for one in (run, other):
        assert not driver(one)
        assert "/.gitmem/" in (one.cwd / ".git" / "info" / "exclude").read_text(), "the memory stays out of the project"
        assert one("save", "x")[0] == 0, "it is still the one that was made here"
        shutil.rmtree(one.root)
    assert run("uninstall", "--everything", "--yes")[0] == 0
    assert files_in(*folders) == before
    assert not {".local", ".config"} & {*os.listdir(home)}
    assert run("uninstall", "--everything", "--yes")[1] == "Nothing to do.\n"


@pytest.mark.parametrize("edited", ["", "# mine\nsync:\n  minutes: 9\n"])
@pytest.mark.parametrize("what", ["claude", "--everything"])
def test_a_dry_run_names_the_files_that_the_real_one_names(bare_project, home, what, edited):
    bare_project("init")
    assert bare_project("install", "claude", "--yes")[0] == 0
    config = home / ".config" / "gitmem" / "config.yaml"
    config.write_text(edited + config.read_text())
    planned = bare_project("uninstall", what, "--dry-run")[1].partition("\n--- ")[0]
    done = bare_project("uninstall", what, "--yes")[1]
    assert "config.yaml" in planned
    assert planned.replace("Would remove", "Removed").replace("Would take", "Took").splitlines() == done.splitlines()
    assert (config.read_text() if config.exists() else "").startswith(edited)


@pytest.mark.parametrize("is_there", [True, False])
def test_an_empty_folder_of_settings_stays_only_if_it_was_the_users(bare_project, home, is_there):
    folder = home / ".config"
    if is_there:
        folder.mkdir()
    assert bare_project("install", "claude", "--init", "--yes")[0] == 0
    assert (folder / "gitmem").is_dir()
    assert bare_project("uninstall", "--everything", "--yes")[0] == 0
    assert not (folder / "gitmem").exists()
    assert folder.exists() is is_there


def test_what_it_wrote_goes_also_where_the_memory_with_its_record_went_before(bare_project):
    run, project = bare_project, bare_project.cwd
    assert run("install", "claude", "--init", "--yes")[0] == 0
    (project / ".claude" / "commands" / "gitmem" / "save.md").write_text("of the person\n", encoding="utf-8")
    shutil.rmtree(run.root)
    assert run("uninstall", "claude")[0] == 0
    left = [path.name for path in (project / ".claude").rglob("*") if path.is_file()]
    assert left == ["save.md"]


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["{}", "{\n}\n", '{"hooks": {}, "mcpServers": {}}\n'])
def test_settings_that_were_there_stay_where_the_record_went(bare_project, text):
    run = bare_project
    settings = [run.cwd / ".mcp.json", run.cwd / ".gemini" / "settings.json", run.cwd / ".vscode" / "mcp.json"]
    for path in settings:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert run("init")[0] == 0
    for _ in range(2):  # the second install has no record of the first one
        assert run("init")[0] == 0
        for agent in ("claude", "gemini", "vscode"):
            assert run("install", agent, "--yes")[0] == 0
        shutil.rmtree(run.root)
    for agent in ("claude", "gemini", "vscode"):
        assert run("uninstall", agent)[0] == 0
    assert all(path.is_file() for path in settings)
    assert not (run.cwd / ".claude").exists()


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("agent", [("claude",), ("codex",), ("cursor", "--user"), ("gemini", "--user"), ("vscode",)])
def test_nothing_stays_of_what_it_wrote_where_the_record_went(bare_project, home, agent):
    run = bare_project
    assert run("init")[0] == 0
    before = {*run.cwd.rglob("*"), *home.rglob("*")}
    for _ in range(2):
        assert run("init")[0] == 0
        assert run("install", *agent, "--yes")[0] == 0
        shutil.rmtree(run.root)
        shutil.rmtree(home / ".gitmem", ignore_errors=True)
    assert run("uninstall", *agent)[0] == 0
    assert {path.name for path in {*run.cwd.rglob("*"), *home.rglob("*")} - before} <= {"machine"}


@pytest.mark.parametrize("how", ["work tree", "copy"])
def test_in_another_work_tree_or_a_copy_nothing_of_the_first_folder_goes(gitmem, bare_git, tmp_path_factory, how):
    """The record of an installation names the files of the folder that it was made in."""
    bare_git(gitmem.cwd, "init", "-q")
    bare_git(gitmem.cwd, "commit", "-q", "--allow-empty", "-m", "a")
    gitmem("install", "claude", "--project", "--no-judge")
    written = {path: path.read_bytes() for path in gitmem.cwd.rglob("*") if ".claude" in path.parts and path.is_file()}
    other = tmp_path_factory.mktemp("other") / "folder"
    if how == "copy":
        shutil.copytree(gitmem.cwd, other, symlinks=True)
    else:
        bare_git(gitmem.cwd, "worktree", "add", "-q", str(other))
    out = Runner(other, gitmem.environ)("uninstall", "claude")
    assert {path: path.read_bytes() for path in written if path.exists()} == written
    assert out[2].count(f"gitmem's in {gitmem.cwd} stay") == 1
    command = shlex.split(out[2].strip().rpartition("To take them out: gitmem ")[2])
    left = [path for path in other.rglob("*") if ".claude" in path.parts and path.is_file()]
    assert not left
    assert command == ["-C", str(gitmem.cwd), "uninstall", "claude"]
    Runner(other, gitmem.environ)(*command)
    assert not [path for path in written if path.exists()]


def test_everything_leaves_a_memory_out_of_git_until_it_is_removed(gitmem, bare_git, tmp_path_factory):
    bare_git(gitmem.cwd, "init", "-q")
    gitmem("init")
    exclude = gitmem.cwd / ".git" / "info" / "exclude"
    assert "/.gitmem/" in exclude.read_text()
    elsewhere = Runner(tmp_path_factory.mktemp("elsewhere"), gitmem.environ)
    assert elsewhere("uninstall", "--everything", "--yes")[0] == 0
    assert "/.gitmem/" in exclude.read_text()
    assert gitmem("save", "x")[0] == 0
    gitmem("install", "claude", "--local", "--only", "hooks,skill", "--yes", "--no-judge")
    added = exclude.read_text().count("# by gitmem:") * 2
    shutil.rmtree(gitmem.root)
    lines = f" .git/info/exclude: {added} lines.\n"
    assert gitmem("uninstall", "--everything", "--dry-run")[1].count(f"Would take gitmem out of{lines}") == 1
    assert gitmem("uninstall", "--everything", "--yes")[1].count(f"Took gitmem out of{lines}") == 1
    assert "/.gitmem/" not in exclude.read_text()


def is_in(path: str, place: str, run, home) -> bool:
    whole = os.path.join(run.cwd, place.replace("~", str(home), 1) if place.startswith("~") else place)
    return path == whole or (whole.endswith(os.sep) and path.startswith(whole))


@pytest.mark.few(1)
@pytest.mark.parametrize("scope", ["--project", "--user"])
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "pi", "opencode"])
def test_an_installation_names_each_place_that_it_writes_to_and_is_taken_back_whole(bare_project, home, agent, scope):
    run = bare_project
    run("init")
    run("save", "x")  # the first entry gives the machine its name
    before = files_in(home, run.cwd)
    said = run("install", agent, scope)[1]
    line = next(line for line in said.splitlines() if line.startswith("Written: "))
    places, _, command = line.removeprefix("Written: ").partition(". To take it back: ")
    named = [place.partition(" (")[0] for place in places.split(", ")]
    written = [path for path, text in files_in(home, run.cwd).items() if before.get(path) != text]
    assert written
    assert ("which git ignores by a line of .git/info/exclude" in said) is (scope == "--project")
    assert [path for path in written if not any(is_in(path, place, run, home) for place in named)] == []
    assert run(*shlex.split(command)[1:])[0] == 0
    assert {path: text for path, text in files_in(home, run.cwd).items() if before.get(path) != text} == {}


@pytest.mark.parametrize("option", [(), ("--branch",), ("--home",)])
@pytest.mark.few(1)
def test_after_the_removal_that_it_names_nothing_is_left(bare_project, bare_git, home, environ, option):
    run = bare_project
    bare_git(run.cwd, "commit", "-q", "--allow-empty", "-m", "first")

    def left():
        paths = {str(path) for folder in (home, run.cwd) for path in folder.rglob("*")}
        return {path for path in paths if not {"objects", "packed-refs"} & {*Path(path).parts}}

    before, exclude = left(), (run.cwd / ".git" / "info" / "exclude").read_bytes()
    run("init", *option)
    run("install", "claude", "--yes")
    run("facts", "add", "Use uv, never pip", "--forbids", "pip install")
    preview = run("uninstall", "--everything")[1].splitlines()
    assert "Would remove .mcp.json." in preview
    assert len(preview) < 20, "a line a file"
    said = run("uninstall", "--everything", "--yes")[2]
    *commands, last = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert last == "gitmem uninstall --everything --yes"
    assert commands
    for command in commands:
        subprocess.run(["sh", "-ec", command], check=True, env=environ, capture_output=True)
    assert run(*last.split()[1:])[0] == 0
    assert left() - before == set()
    assert (run.cwd / ".git" / "info" / "exclude").read_bytes() == exclude
