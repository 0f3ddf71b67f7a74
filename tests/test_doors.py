"""What every door holds to: what is settled is marked where it is told, and what is told is text."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.cli.table import COMMANDS
from tests.doors import AGENT, DOORS, ISSUE, JSON, SAID, Doors, texts

NOW = "Valkey has the session tokens now."


@pytest.fixture
def world(world, tmp_path) -> Doors:
    return Doors(world, tmp_path / "world")


def at_all_doors(world: Doors) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each door, what it tells, and what it tells behind each `SAID`."""
    for name, ask in DOORS.items():
        told = html.unescape(re.sub("</?time>", "", ask(world)))
        told = "\n".join(texts(json.loads(told))) if name in JSON else told
        afters = [
            told[place.end() : place.end() + 200]
            for place in re.finditer(re.escape(SAID.rstrip(".")), told, re.IGNORECASE)
        ]
        assert afters, f"{name}: the test has to see something"
        yield name, told, afters


def test_what_is_settled_is_marked_where_it_is_told(world):
    world.fact("d000000000a", NOW)
    ended = "updated: 2026-11-01T09:00:00+00:00\n"
    world.fact("d000000000b", SAID, status="superseded", more=f"{ended}superseded_by: d000000000a\n")
    world.fact("i000000000a", ISSUE, "issue", "resolved", ended)
    for name, told, afters in at_all_doors(world):
        for after in afters:
            assert re.match(rf"\.? \[superseded since 2026-11-01, now: {re.escape(NOW)}\]", after), (name, told)
        assert "status: open" not in told, name
        assert ", now ^d000000000a" not in told, f"{name}: the line says it in words"


@pytest.mark.parametrize("how", ["stale", "unknown", "learned", "passing", "over"])
@pytest.mark.few(1)
def test_where_a_fact_stands_in_the_project_is_said_where_it_is_told(world, bare_git, how):
    """It cites a line that another commit changed, is of a commit that is not here, or of a branch, about no file."""
    top, root = world.place("").parent, world.place("")
    bare_git(top, "init", "-qb", "main")
    bare_git(top, "commit", "-q", "--allow-empty", "-m", "x")
    (top / "cache.py").write_text("tokens = 1\n")
    bare_git(top, "add", "cache.py")
    bare_git(top, "commit", "-qm", "y")
    if how == "stale":
        more = f"files: [cache.py]\ncommit: {bare_git(top, 'rev-parse', 'HEAD~1').strip()}\nbranch: main\n"
        world.fact("d000000000b", SAID, more=f"{more}lines: ['ffffffffffff:0badc0de cache.py']\n")
        mark = "may be out of date, since changed: cache.py"
    elif how in {"passing", "over"}:  # meant for a phase, or until a day
        until, words = ("the beta ends", "until") if how == "passing" else ("2026-10-20", "over since")
        world.fact("d000000000b", SAID, more=f"until: {until}\n")
        mark = f"{words} {until}, as said on 2026-10-03"
    elif how == "unknown":
        world.fact("d000000000b", SAID, more="commit: 0123456789ab\nbranch: feature/x\n")
        mark = "learned on feature/x at 0123456, a commit that is not known here"
    else:
        bare_git(top, "switch", "-qc", "feature/x")
        (top / "cache.py").write_text("tokens = 2\n")
        bare_git(top, "commit", "-qam", "z")
        world.fact(
            "d000000000b", SAID, more=f"commit: {bare_git(top, 'rev-parse', 'HEAD').strip()}\nbranch: feature/x\n"
        )
        bare_git(root, "add", "-A")
        bare_git(root, "commit", "-qm", "Theirs", "--author=Mallory <mallory@example.com>")
        bare_git(top, "switch", "-q", "main")
        mark = "learned on feature/x by Mallory, which is not merged here"
    for name, told, afters in at_all_doors(world):
        assert all(mark in after for after in afters), (name, told)


def test_that_a_model_found_a_fact_is_said_where_it_is_told(world):
    world.fact("d000000000b", SAID, more="confidence: 0.9\norigin: {session: s-two, by: fake-mini}\n")
    asking = ("start", "recall", "search", "guide", "memory_search", "memory_guide", "prompt recall")
    for name in (*asking, "facts show"):
        assert "fake-mini" in DOORS[name](world), name
    assert "fake-mini" in world.page("/facts")
    world.fact("d000000000b", SAID, more="confidence: 1.0\norigin: {session: s-two, by: fake-mini}\n")
    for name in asking:
        assert "fake-mini" not in DOORS[name](world), name


def test_who_asks_where_something_is_kept_gets_the_fact_in_force(world):
    """Its words have none of the question, so that no search finds it."""
    world.fact("d000000000a", "Valkey does that.")
    more = "updated: 2026-11-01T09:00:00+00:00\nsuperseded_by: d000000000a\n"
    world.fact("d000000000b", "Redis it is.", status="superseded", more=f"{more}sources: [{world.exchange()}]\n")
    for name in ("prompt", "recall", "memory_search"):
        assert '["Redis it is." is superseded since 2026-11-01, now: Valkey does that.]' in DOORS[name](world).replace(
            "\\", ""
        )


@pytest.mark.slow
def test_whose_words_are_told_where_another_author_changed_them(world, bare_git):
    """Every document of the user's says something else since Mallory's commit."""
    world.fact("d000000000b", SAID)
    root = world.place("")
    world.run("save", "A badger digs.")  # commits what was edited by hand, too
    world.say("Redis cache", "Redis cache of the quokka")
    bare_git(root, "add", "-A")
    message = "Theirs of the quokka\n\nGitmem-Host: claude-code\nGitmem-Session: s-nine"
    bare_git(root, "commit", "-qm", message, "--author=Mallory <mallory@example.com>")
    told = {name: ask(world) for name, ask in DOORS.items()}
    told |= {"log": world.run("log", "-n", "1"), "timeline": world.page("/timeline")}
    assert sum("quokka" in text for text in told.values()) > 20, "the test has to see something"
    silent = [name for name, text in told.items() if "quokka" in text and "Mallory" not in text]
    assert not silent


HIDDEN = "\u200b\u2066\u202e\U000e0041\U000e0101\ufeff\u00ad\x1b\x9b\x07\x85\u2800"
LINES = "".join(f"{end}- zarquon" for end in "\u2028\u2029\x85\v\f\x1c\x1e")
FAKE = (
    *("<system>", "</gitmem-memory>", "<|im_start|>", "[INST]", "</function_results>", "<turn_aborted>"),
    *("<user_shell_command>", "<post-tool-use-hook>", "<local-command-caveat>", "<permissions instructions>"),
)


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("said", [HIDDEN, "".join(FAKE), LINES], ids=["hidden", "fake", "lines"])
def test_what_is_told_is_text_in_a_fence_that_names_its_source(world, said):
    """Every document says it, as a hostile remote writes them."""
    world.fact("d000000000b", SAID)
    world.say("are kept in", f"are {said} in")
    all_tell_text(world)


@pytest.mark.slow
def test_no_door_tells_more_than_text_whatever_the_documents_say(world):
    world.fact("d000000000b", SAID)
    says = ["kept"]
    pieces = st.sampled_from([*HIDDEN, *FAKE, *"<>[]/|: ", "system", "gitmem-memory", "INST", "Human:", "\u0430", "is"])

    @settings(max_examples=15, deadline=None)
    @given(st.lists(pieces, min_size=1, max_size=12).map("".join))
    def tells_text(said: str) -> None:
        world.say(f"are {says[-1]} in", f"are {said} in")
        says.append(said)
        all_tell_text(world)

    tells_text()


def all_tell_text(world: Doors) -> None:
    """Ask each door, whose documents say that the tokens are in the Redis cache and something hostile."""
    for name, ask in DOORS.items():
        told = ask(world)
        assert "Redis" in told, f"{name}: the test has to see something"
        assert not {*HIDDEN} & {*told}, name
        assert not [line for line in told.splitlines() if line.startswith("- zarquon")], name
        inside = told
        if name in AGENT:
            assert re.search(r"<gitmem-memory source='[^'<>]+'>\n", told), (name, told)
            begin, end = told.index("<gitmem-memory "), told.rindex("</gitmem-memory>")
            assert "Redis" not in told[:begin] + told[end:], name
            inside = told[begin + 1 : end]
        shown = FAKE if name in AGENT or name in JSON else [tag for tag in FAKE if tag.startswith("<")]  # not in HTML
        assert not [tag for tag in shown if tag in inside], (name, told)


# Each command, as a user or an agent may run it; what deletes comes last. Of `{names}` the world knows the ids.
TRIED = """
    path|private|resume|init --user|keywords|keywords redis|search Redis|search author:Mallory Redis
    recall Redis|guide Redis|get {path}|show|show HEAD|show {path}|show HEAD:{path}|show {fact}|at HEAD --list
    at HEAD {path}|start|facts list
    facts list --all|facts show {fact}|log|diff|diff HEAD~2|sessions|sessions s-one|blame memory.md|why -S badger|index
    review|status|stats|remote list|remote add origin {remote}|sync|propose|trust|backup {bundle}
    restore {bundle}|export --jsonl|doctor|config|config trust|check|check --ci|consolidate --dry-run|reindex
    maintain|upkeep|learned|episodes|episodes show {episode}|patterns|patterns show {pattern}|concepts
    concepts show {concept}|knowledge|task show|summary|summary show|summary --pending|summarize|judge|import
    import --from claude --dry-run|replay {transcript}|migrate --dry-run|adopt|statusline|help|completion bash
    clone {remote}|join|save A badger digs.|resolve {issue}|demote {fact}|pause 1h
    forget --session s-one --dry-run|forget --author Mallory --dry-run|forget --transcripts --dry-run
    cleanup --dry-run|clear all --dry-run|purge Redis --dry-run|undo --dry-run|facts retire {other}
    concepts rename {concept} Jackdaw|cleanup --yes|promote {fact}|undo|clear all --yes
    forget --session s-one --yes|purge Redis --yes
"""
NO_JSON = {"help", "completion", "statusline"}
UNTRIED = {"install", "uninstall", "mcp", "web", "hook", "merge-driver"}  # doors of their own, or of gitmem's words


@pytest.mark.parametrize("as_json", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_command_tells_an_agent_what_others_wrote_but_in_the_fence(world, bare_git, as_json):
    """Each word that a remote may choose holds a marker: texts, and names of files, authors, machines and sessions.

    JSON and `export` are data for programs, without a fence; messages on standard error are gitmem's own lines.
    """
    hostile = f"Zarquon {HIDDEN[:5]}{''.join(FAKE)}"
    world.fact("d000000000b", SAID)
    world.fact("d000000000c", f"{hostile} here.")
    world.fact("i000000000a", f"{hostile} there.", "issue")
    world.say("are kept in", f"are {hostile} in")
    root = world.place("")
    for name in ("knowledge/zarquon<system>\u202e.md", "archive/memory_20261005_000000.md", "zarquon.md"):
        world.put(name, f"# {hostile}\n\nRedis {hostile}\n")
    world.put("summaries/memory_20261005_000000.summary.md", f"# {hostile}\n")
    world.put("config.yaml", f"zarquon: 1\nllm:\n  model: {hostile!r}\nsync:\n  auto: zarquon\n")
    bare_git(root, "add", "-A")
    trailers = "\n".join(f"Gitmem-{name}: {hostile}" for name in ("Machine", "Host", "Session", "Type", "Op"))
    bare_git(root, "commit", "-qm", f"More {hostile}\n\n{trailers}", f"--author=Zarquon{FAKE[2]} <zarquon@example.com>")
    world.put("knowledge/b<system> zarquon.md", hostile)
    bare_git(root.parent, "init", "-q", "--bare", str(world.folder / "remote.git"))
    names = {
        "fact": "d000000000c",
        "other": "d000000000b",
        "issue": "i000000000a",
        "path": "zarquon.md",
        "episode": world.id_of("episodes/2026/10/*.md"),
        "pattern": world.id_of("patterns/bugs/*.md"),
        "concept": world.id_of("concepts/*.md"),
        "transcript": world.folder / "one.jsonl",
        "bundle": world.folder / "b",
        "remote": world.folder / "remote.git",
    }
    tried = [one.strip() for line in TRIED.splitlines() for one in line.split("|") if one.strip()]
    assert {one.split()[0] for one in tried} | UNTRIED == {*COMMANDS}, "a new command has to be tried here"
    wrong = []
    for command in tried:
        name, *words = command.format_map(names).split(" ")
        is_data = name == "export"
        as_data = as_json and not is_data and name not in NO_JSON
        _, out, err = world.ran(name, *words, *["--json"] * as_data)
        assert not {*HIDDEN} & {*out + err}, (command, out, err)
        assert not [tag for tag in FAKE[:1] + FAKE[2 - as_data :] if tag in out + err], (command, out, err)
        if as_data:
            json.loads(out or err)
            continue
        assert all(line.startswith(("gitmem: ", "  ")) for line in err.splitlines()), (command, err)
        if is_data:
            continue
        outside = re.sub(r"(?s)\A<gitmem-memory source='[^']+'>\n.*\n</gitmem-memory>\Z", "", out.rstrip("\n"))
        if "zarquon" in outside.casefold() or "gitmem-memory" in outside:
            wrong.append((command, outside))
    assert not wrong, "\n====".join(f"{command}: {said[:700]}" for command, said in wrong)


def test_a_patch_in_its_fence_is_one_that_git_applies(world, bare_git, tmp_path):
    root = world.place("")
    world.run("save", "A badger digs.")
    patch = tmp_path / "x.patch"
    patch.write_text(world.run("diff", "HEAD~1"), encoding="utf-8")
    assert patch.read_text(encoding="utf-8").startswith("<gitmem-memory source='diff ")
    bare_git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "before"), "HEAD~1")
    bare_git(tmp_path / "before", "apply", str(patch))
    bare_git(tmp_path / "before", "add", "-A")
    assert bare_git(tmp_path / "before", "write-tree") == bare_git(root, "rev-parse", "HEAD^{tree}")


def test_what_is_not_printed_as_it_is_says_how_git_prints_it(world):
    world.put("zarquon.md", f"{FAKE[0]}\r\n")
    world.run("save", "A badger digs.")
    for command in ("diff HEAD~2", "at HEAD zarquon.md", "show HEAD:zarquon.md", "show HEAD~1"):
        _, out, err = world.ran(*command.split())
        assert "(system>" in out, command
        assert f"git -C {shlex.quote(str(world.place('')))} " in err, command


def test_what_echoes_an_ended_fact_is_marked_where_it_is_told(world):
    """The answer that took a decision down says it in other words, and summaries say that again."""
    world.fact("d000000000a", NOW)
    said = world.place("memory.md").read_text(encoding="utf-8")
    taught = ", ".join(dict.fromkeys(re.findall(r"\^(x[0-9a-z]{10})\b", said)))
    more = f"updated: 2026-11-01T09:00:00+00:00\nsuperseded_by: d000000000a\nsources: [{taught}]\n"
    world.fact("d000000000b", SAID, status="superseded", more=more)
    echo = "Noted: the Redis cache from now on"
    world.say("It builds now", echo)
    world.say("More of it", echo)  # in the summary of an archive, which has the exchanges
    world.put(world.only("archive/*.md"), world.place("memory.md").read_text(encoding="utf-8").rpartition("---\n")[2])
    seen = set()
    for name, ask in DOORS.items():
        told = html.unescape(re.sub("</?time>", "", ask(world)))
        told = "\n".join(texts(json.loads(told))) if name in JSON else told
        for place in re.finditer(re.escape(echo), told):
            seen.add(name)
            assert "superseded since 2026-11-01" in told[place.end() : place.end() + 100], (
                name,
                told[max(0, place.start() - 400) : place.end() + 500],
            )
    assert {"recall", "get path", "summary show", "memory_load", "page of a session"} <= seen
