"""Facts proposed on a branch, the check of what is pushed, also as a server's hook, and protected branches."""

import contextlib
import json
import os
import random
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from gitmem.document.entry import MemoryType
from gitmem.document.message import Message
from gitmem.errors import GitFailedError
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.platform.machine import read_resource
from gitmem.store.transact import transact
from gitmem.sync import proposals
from gitmem.sync.proposals import CiFinding, examine, open_for_ci, sarif
from tests.conftest import RunsGit
from tests.store.servers import gitolite, nginx
from tests.world import Machine

AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
UV = make_fact(FactKind.DECISION, "Use uv for packages.", AT)
SPACES = make_fact(FactKind.RULE, "Indent with four spaces.", AT)


def put(machine: Machine, files: dict[str, bytes]) -> None:
    message = Message("put", (("Gitmem-Op", "save"),))
    transact(machine.store, lambda transaction: transaction.commit(message, files), purpose="test")


def add(machine: Machine, *facts) -> None:
    put(machine, {fact.path: render_fact(fact) for fact in facts})


def commit(machine: Machine, name: str, email: str) -> None:
    machine.git("add", "-A")
    machine.git("-c", f"user.name={name}", "-c", f"user.email={email}", "commit", "-qm", "by hand")


def checked(machine: Machine, base: str, head: str = "HEAD", **more) -> list[CiFinding]:
    return examine(open_for_ci(str(machine.root), machine.context.environ), base, head, **more)


def kinds(found: list[CiFinding]) -> list[tuple[str, str, str]]:
    return [(one.check, one.level, one.path) for one in found]


def test_an_author_whom_nobody_named_is_found_and_no_secret_is_shown(pair):
    laptop, _ = pair
    base, secret = laptop.tip, "ghp_" + "a1B2" * 9
    laptop.write("notes.md", f"one\nthe token is {secret}\n")
    commit(laptop, "Eve", "eve@evil.example")
    found = checked(laptop, base, authors=["*@example.com"])
    assert kinds(found) == [("authors", "error", ""), ("secrets", "error", "notes.md")]
    assert secret not in str(found)


@pytest.mark.parametrize("form", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "nul"])
@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.few(4)
def test_no_encoding_hides_a_secret(pair, form, is_gone):
    laptop, _ = pair
    base, secret = laptop.tip, "ghp_" + "a1B2c3D4e" * 4
    text = f"one\nthe token is {secret}\n"
    (laptop.root / "notes.txt").write_bytes(f"a\0{secret}".encode() if form == "nul" else text.encode(form))
    commit(laptop, "A", "a@example.com")
    if is_gone:
        (laptop.root / "notes.txt").unlink()
        commit(laptop, "A", "a@example.com")
    found = checked(laptop, base)
    assert {*kinds(found)} == {("secrets", "error", "notes.txt")}
    assert secret not in str(found)
    (laptop.root / "other.txt").write_bytes(b"a\0b")
    tip = laptop.git("rev-parse", "HEAD")
    commit(laptop, "A", "a@example.com")
    assert checked(laptop, tip) == []


@pytest.mark.parametrize("role", ["author", "committer"])
@pytest.mark.parametrize("part", ["name", "email"])
def test_a_secret_in_the_name_of_an_author_is_found(pair, role, part):
    laptop, _ = pair
    base, secret = laptop.tip, "ghp_" + "a1B2c3D4e" * 4
    who = f"{secret} <a@b.c>" if part == "name" else f"A <{secret}>"
    raw = laptop.git("cat-file", "commit", "HEAD").replace(f"\n{role} ", f"\n{role} {who} 1 +0000\nx-", 1)
    raw = "\n".join(line for line in raw.split("\n") if not line.startswith(("x-", "parent")))
    raw = raw.replace("\n", f"\nparent {base}\n", 1)
    oid = laptop.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{raw}\n".encode())
    laptop.git("update-ref", "HEAD", oid)
    found = checked(laptop, base)
    assert kinds(found) == [("secrets", "error", "")]
    assert secret not in str(found)


def test_a_fact_that_contradicts_what_holds_is_a_warning_unless_it_says_so(pair):
    laptop, _ = pair
    add(laptop, make_fact(FactKind.RULE, "Always indent with tabs.", AT))
    base = laptop.tip
    new = make_fact(FactKind.RULE, "Never indent with tabs.", AT)
    add(laptop, new)
    assert kinds(checked(laptop, base)) == [("disputes", "warning", new.path)]
    old = make_fact(FactKind.RULE, "Always indent with tabs.", AT)
    put(laptop, {new.path: render_fact(new._replace(supersedes=(old.id,)))})
    assert checked(laptop, base) == []


def test_sarif_takes_any_name_of_a_file():
    places = (("secrets", "daily/a b.md", 3), ("size", "", 0), ("secrets", os.fsdecode(b"\xff.md"), 0))
    [run] = sarif([CiFinding(check, "error", path, line, "Said.") for check, path, line in places], "1")["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["secrets", "size"]
    told = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert told[0] == {"artifactLocation": {"uri": "daily/a%20b.md"}, "region": {"startLine": 3}}
    assert "%FF.md" in json.dumps(told[2])


@pytest.mark.timeout(60)
def test_a_commit_that_every_sync_refuses_is_found_though_a_later_one_takes_it_back(pair, bare_git):
    """Ten trees of ten entries each: such a push would stop the syncs of all machines."""
    laptop, _ = pair
    store = Path(laptop.store.root)
    before, oid = (bare_git(store, "rev-parse", name).strip() for name in ("HEAD^{tree}", "HEAD:FORMAT.md"))
    mode = "100644 blob"
    for _ in range(10):
        entries = "".join(f"{mode} {oid}\t{number}\n" for number in range(10))
        oid, mode = bare_git(store, "mktree", stdin=entries.encode()).strip(), "040000 tree"
    tip = "HEAD"
    for tree in (oid, before):
        tip = bare_git(store, "commit-tree", tree, "-p", tip, "-m", "Much").strip()
    assert kinds(checked(laptop, "HEAD", tip)) == [("size", "error", "")]


@pytest.mark.parametrize("where", ["notes.md", "a b\u00e4.md", "merge"])
@pytest.mark.few(1)
def test_a_secret_that_a_later_commit_takes_out_is_found(pair, bare_git, where):
    laptop, _ = pair
    base, secret, name = laptop.tip, "ghp_" + "a1B2" * 9, where if where != "merge" else "notes.md"
    laptop.write(".gitattributes", "* -diff\n")  # a user's own, which hides nothing from the check
    laptop.write(name, "one\n")
    commit(laptop, "A", "a@example.com")
    if where == "merge":  # whose own tree has it, and none of its parents'
        laptop.git("commit", "-q", "--allow-empty", "-m", "other")
        laptop.write(name, f"one\nthe token is {secret}\n")
        tree = laptop.git("add", "-A") or laptop.git("write-tree")
        laptop.git("update-ref", "HEAD", laptop.git("commit-tree", tree, "-p", "HEAD", "-p", "HEAD^", "-m", "merge"))
    else:
        laptop.write(name, f"one\nthe token is {secret}\n")
        commit(laptop, "A", "a@example.com")
    oid = laptop.git("rev-parse", "--short", "HEAD")
    laptop.write(name, "one\n")
    commit(laptop, "A", "a@example.com")
    found = checked(laptop, base)
    assert kinds(found) == [("secrets", "error", name)]
    assert f"Commit {oid} adds a likely secret" in found[0].message
    assert secret not in found[0].message
    assert checked(laptop, base, allow=[secret]) == checked(laptop, "HEAD^") == []


def test_a_secret_in_a_name_that_is_gone_is_found(pair):
    laptop, _ = pair
    base, secret = laptop.tip, "AKIA" + "QYLPMN5HFIQR7XYA"
    laptop.write(f"{secret}.md", "one\n")
    commit(laptop, "A", "a@example.com")
    (laptop.root / f"{secret}.md").unlink()
    commit(laptop, "A", "a@example.com")
    assert kinds(checked(laptop, base)) == [("secrets", "error", "")]


def test_more_than_a_check_reads_is_an_error(pair, monkeypatch):
    laptop, _ = pair
    base = laptop.tip
    laptop.write("notes.md", "word\n" * 300)
    commit(laptop, "A", "a@example.com")
    monkeypatch.setattr(proposals, "MAX_HISTORY", 1_000)
    assert kinds(checked(laptop, base)) == [("size", "error", "")]


def test_a_message_of_megabytes_is_an_error(pair, bare_git):
    laptop, _ = pair
    store = Path(laptop.store.root)
    tip = bare_git(store, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-F", "-", stdin=b"word " * 300_000).strip()
    assert kinds(checked(laptop, "HEAD", tip)) == [("size", "error", "")]


def protect(remote: Path, script: str) -> None:
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(script)
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)


def install_check(remote: Path) -> None:
    """Put the shipped hook into a bare repository, with this Python's gitmem before all others."""
    if not sys.executable.isascii():
        pytest.skip("Python does not start from an editable installation below this path in the locale of a hook")
    script = read_resource("templates", "ci", "pre-receive").decode()
    folder = Path(sys.executable).parent
    protect(remote, script.replace("#!/bin/sh\n", f"#!/bin/sh\nPATH='{folder}':$PATH\n", 1))


@pytest.mark.skipif(os.name == "nt", reason="a hook is a program of POSIX")
def test_a_server_refuses_a_secret_that_a_later_commit_of_the_push_takes_out(pair, remote):
    laptop, _ = pair
    install_check(remote)
    for words in ("one\n", f"one\nthe token is {'ghp_' + 'a1B2' * 9}\n", "one\n"):
        laptop.write("notes.md", words)
        commit(laptop, "A", "a@example.com")
    with pytest.raises(AssertionError, match="adds a likely secret"):
        laptop.git("push", "-q", "origin", "HEAD:gitmem")


def test_history_that_git_cannot_list_is_no_clean_one(pair, monkeypatch):
    laptop, _ = pair
    laptop.write("notes.md", "one\n")
    commit(laptop, "A", "a@example.com")
    monkeypatch.setattr(proposals, "_HISTORY", ("log", "--no-such-option"))
    with pytest.raises(GitFailedError):
        checked(laptop, "HEAD^")


def merge_plainly(remote: Path, folder: Path, bare_git: RunsGit, branch: str) -> bool:
    """Merge a branch into the memory as a forge does: without the driver; leave a conflict's markers in the files."""
    bare_git(folder.parent, "clone", "-q", "-b", "gitmem", str(remote), str(folder))
    user = ("-c", "user.name=Forge", "-c", "user.email=forge@example.com")
    try:
        bare_git(folder, *user, "merge", "-q", "-m", "Merge a proposal", f"origin/{branch}")
    except AssertionError:
        bare_git(folder, "add", "-A")
        bare_git(folder, *user, "commit", "-qm", "Merge with markers")
        conflicted = True
    else:
        conflicted = False
    bare_git(folder, "push", "-q", "origin", "HEAD:refs/heads/gitmem")
    return conflicted


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.few(1)
def test_a_merge_without_the_driver_loses_nothing_and_its_markers_are_healed_by_a_sync(
    pair, remote, bare_git, tmp_path, seed
):
    laptop, desktop = pair
    dice = random.Random(seed)
    lines = [f"Step {number} of the plan" for number in range(8)]
    put(laptop, {"knowledge/plan.md": "\n".join(["# Plan", *lines, ""]).encode()})
    add(laptop, UV, SPACES)
    laptop.sync()
    desktop.sync()
    texts = {text for machine in pair for text in generated(machine, dice, lines)}
    laptop.sync()
    desktop.git("push", "-q", str(remote), "HEAD:refs/heads/gitmem-proposals/all")
    assert merge_plainly(remote, tmp_path / "forge", bare_git, "gitmem-proposals/all")
    laptop.sync()
    desktop.sync()
    laptop.sync()
    for machine in pair:
        machine.sound()
        assert laptop.ids | desktop.ids <= set(machine.entries())
        held = "\n".join(path.read_text() for path in machine.root.glob("**/*.md"))
        assert [text for text in texts if text not in held] == []
    assert laptop.tip == desktop.tip


def generated(machine: Machine, dice: random.Random, lines: list[str]) -> set[str]:
    """Save, rewrite facts and the lines of a document that others rewrite, too; return what was written."""
    words, texts = ["port", "cache", "login", "비밀", "queue", "token"], set()
    for number in range(dice.randrange(6, 12)):
        text = f"{machine.name} {number}: {' '.join(dice.sample(words, 3))}"
        texts.add(text)
        match dice.randrange(4):
            case 0:
                fact = dice.choice((UV, SPACES))
                add(machine, fact._replace(text=f"{machine.read(fact.path).rpartition('---')[2].strip()}\n\n{text}"))
            case 1:
                plan, old = machine.read("knowledge/plan.md"), dice.choice(lines)
                put(machine, {"knowledge/plan.md": plan.replace(f"{old}\n", f"{old}\n{text}\n").encode()})
            case _:
                machine.save(text, dice.choice([MemoryType.NOTE, MemoryType.LEARNING, MemoryType.DECISION]))
    machine.save(f"{machine.name} is done")
    return texts


@contextlib.contextmanager
def served(kind: str, folder: Path, remote: Path, environ: dict[str, str]) -> Iterator[tuple[str, Path]]:
    """Serve an empty repository as a real server does; yield its address and its folder."""
    if kind == "path":
        yield str(remote), remote
    elif kind == "http":
        with nginx(folder, remote.parent) as address:
            yield address + remote.name.replace(" ", "%20"), remote
    else:
        with gitolite(folder, "RW") as server:
            server.enter(environ)
            yield server.url("/memory"), folder / "gitolite" / "repositories" / "memory.git"


@pytest.mark.skipif(os.name == "nt", reason="the servers and a hook are programs of POSIX")
@pytest.mark.parametrize("kind", ["path", "http", pytest.param("gitolite", marks=pytest.mark.slow)])
def test_the_shipped_hook_takes_good_pushes_and_refuses_bad_ones_and_the_end_of_the_memory(  # noqa: PLR0917
    kind, machine, remote, tmp_path_factory, environ, bare_git
):
    bare_git(remote, "config", "http.receivepack", "true")
    with served(kind, tmp_path_factory.mktemp("server"), remote, environ) as (address, repository):
        install_check(repository)
        laptop = machine("laptop", url=address)

        def push(what: str) -> None:
            bare_git(laptop.root, "push", address, what, env=environ)

        add(laptop, UV)
        laptop.sync()
        good = laptop.tip
        laptop.write("notes.md", "the token is ghp_" + "a1B2" * 9 + "\n")
        commit(laptop, "A", "a@example.com")
        with pytest.raises(AssertionError, match=r"notes\.md:1: error: A likely secret"):
            push("HEAD:refs/heads/gitmem")
        with pytest.raises(AssertionError, match="cannot be deleted"):
            push(":refs/heads/gitmem")
        push("HEAD:refs/heads/other")
        assert bare_git(repository, "rev-parse", "gitmem") == good


def shell_lines(name: str) -> list[str]:
    """Return the lines that a shipped file of a forge has its shell run, but for pip's."""
    value = yaml.safe_load(read_resource("templates", "ci", name))
    job = value["gitmem"] if "gitmem" in value else value["jobs"]["check"]
    lines = job.get("script") or [step["run"] for step in job["steps"] if "run" in step]
    return [line for line in lines if "pip install" not in line]


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.skipif(os.name == "nt", reason="the lines are for a shell of POSIX")
@pytest.mark.parametrize("name", ["action.yml", "gitlab.yml"])
@pytest.mark.parametrize("bad", [False, True])
def test_what_the_files_for_forges_run_passes_good_changes_and_fails_bad_ones(
    pair, remote, bare_git, tmp_path, name, *, bad
):
    laptop, _ = pair
    add(laptop, UV)
    done = laptop.propose()
    clone = tmp_path / "checkout"
    bare_git(tmp_path, "clone", "-q", "-b", done.branch, str(remote), str(clone))
    if bad:
        (clone / "facts" / "rule").mkdir(parents=True, exist_ok=True)
        (clone / "facts" / "rule" / "nonsense.md").write_text("no header\n")
        bare_git(clone, "add", "-A")
        bare_git(clone, "commit", "-qm", "bad")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    head = bare_git(clone, "rev-parse", "HEAD")
    forge = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "gitmem", "CI_COMMIT_SHA": head, "BASE": "gitmem"}
    lines, codes = shell_lines(name), []
    for line in lines:
        command = ["sh", "-ec", line]
        env = {**os.environ, **forge, "PATH": path}
        ran = subprocess.run(command, cwd=clone, env=env, capture_output=True, check=False)
        codes.append(ran.returncode)
    assert codes == ([int(bad), 0] if name == "action.yml" else [0, int(bad)])
    if name == "action.yml":
        results = json.loads((clone / "gitmem.sarif").read_text())["runs"][0]["results"]
        assert [one["ruleId"] for one in results] == ["format"] * bad


def test_the_owners_file_names_folders_of_facts_that_there_are():
    lines = read_resource("templates", "ci", "CODEOWNERS").decode().splitlines()
    kinds = {line.split("/")[2] for line in lines if line.startswith("/facts/")}
    assert kinds == {kind.value for kind in FactKind}
