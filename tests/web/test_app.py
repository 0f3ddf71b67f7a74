from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from gitmem.archive.clear import clear
from gitmem.document.entry import Entry, MemoryType, render_entry
from gitmem.document.event import Save
from gitmem.document.ids import TAIL_BYTES, id_in, make_id
from gitmem.errors import RefusedError
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.health.status import status_reader
from gitmem.history.undo import undo
from gitmem.learn.end import replay
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.record.fact_edits import forbid
from gitmem.record.save import save, save_text
from gitmem.search.many_stores import search_stores
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.store.known_facts import known_facts, read_headers
from gitmem.store.layers import private_store
from gitmem.store.remotes import REFS, add_remote
from gitmem.tell.forbidden import Firing, note_firing, record_made
from gitmem.tell.outcome_counts import add_shown
from gitmem.tell.usage_log import ShownFixes, ShownText, record, record_fixes
from gitmem.web.render import MENU, export
from tests.agent import Recorder
from tests.web.conftest import NOW, Viewer

DEMO = Path(__file__).parents[1] / "data" / "demo"


JUDGED = """---
by: judge-mini
---
# Session

## Exchanges

"""
SAID = Entry(
    make_id(0, bytes(TAIL_BYTES)), "2026-11-21 12:00:00", "Exchange", "Exports sort by date now.\nOutcome: partial"
)


def test_every_page_of_an_empty_store_opens(viewer):
    for name in ("", *MENU):
        assert "<main" in viewer.get(f"/{name}")
        assert viewer.json(f"/{name or 'home'}.json")
    assert viewer.json("/home.json")["parts"] == []
    home = viewer.get("/")
    assert home.count("gitmem install") == 1, "where to begin, said once"
    assert "Nothing waits for you" not in home
    assert "summary.provider agent" in viewer.get("/stats"), "how a model is asked"
    viewer.get("/nothing", 404)
    viewer.get("/fact/dzzzzzzzzzz", 404)
    viewer.get("/fact/../../etc/passwd", 404)
    viewer.get("/session/none.json", 404)


def test_the_first_page_shows_what_the_next_session_is_told(viewer):
    fact = viewer.add("We deploy on Fridays.")
    home = viewer.json("/home.json")
    told = next(part for part in home["parts"] if part["title"] == "In force")
    assert "We deploy on Fridays." in told["text"]
    assert 0 < told["tokens"] < home["tokens"] < home["budget"]
    assert (told["pieces"], told["of"]) == (1, 1)
    assert sum(part["tokens"] for part in home["parts"]) + home["frame"] == home["tokens"]
    assert "We deploy on Fridays." in viewer.get("/")
    assert re.search(rf'href="/fact/{fact.id}">[^<]*<mark>Fridays</mark>', viewer.get("/search?q=friday"))
    viewer.get("/facts?show=ended&kind=rule")
    assert 'href="/facts?show=ended&amp;kind=rule"' in viewer.get(f"/fact/{fact.id}"), "a list as it was filtered"
    viewer.get("/facts")
    assert 'data-page="facts" href="/facts"' in viewer.get(f"/fact/{fact.id}")


def test_facts_are_filtered_and_go_on_behind_the_last_one(viewer, monkeypatch):
    monkeypatch.setattr("gitmem.web.view.LENGTH", 2)
    ids = {viewer.add(f"Fact {word} is of its own.").id for word in ("apple", "river", "candle", "mountain", "paper")}
    seen, path = [], "/facts.json"
    while path:
        page = viewer.json(path)
        seen += [fact["id"] for fact in page["facts"]]
        path = page["next"] and f"/facts.json?after={page['next']}"
    assert (len(seen), set(seen)) == (5, ids)
    assert [fact["description"] for fact in viewer.json("/facts.json?q=RIVER")["facts"]] == [
        "Fact river is of its own."
    ]
    assert not viewer.json("/facts.json?show=ended")["facts"]
    assert not viewer.json("/facts.json?kind=rule")["facts"]


def test_the_timeline_goes_on_behind_a_commit_though_others_are_of_the_same_second(viewer, monkeypatch, bare_git):
    monkeypatch.setattr("gitmem.web.history.LENGTH", 2)
    for word in ("apple", "river", "candle", "mountain"):
        viewer.add(f"Fact {word} is of its own.")
    every = bare_git(viewer.root, "log", "--format=%H").split()
    seen, path = [], "/timeline.json"
    while path:
        page = viewer.json(path)
        seen += [commit["commit"] for day in page["days"] for commit in day["commits"]]
        path = page["next"] and f"/timeline.json?after={page['next']}"
    assert seen == every[:-1]  # the first of every store is dated 1970
    assert viewer.json("/timeline.json?type=decision")["days"]
    assert viewer.json("/timeline.json")["known"] == {"host": ["cli"], "machine": ["box"], "type": ["decision"]}
    assert viewer.json("/timeline.json?host=cli&machine=box")["days"]
    assert not viewer.json("/timeline.json?host=codex")["days"]
    assert viewer.send("GET", "/timeline.json?session=none").json()["days"] == []
    assert not viewer.json("/timeline.json?machine=nobody")["days"]
    assert not viewer.json("/timeline.json?day=1999-01-01")["days"]


def test_a_search_says_of_which_part_of_the_project_a_summary_is(viewer):
    head = "---\nid: summary-20261004-000000\nkind: summary\nscope: [packages/a]\n---\n"
    viewer.write("summaries/memory_20261004_000000.summary.md", f"{head}The zebra importer caches its tokens.\n")
    [hit] = viewer.json("/search.json?q=zebra")["hits"]
    assert hit["part"] == "of packages/a"
    assert "of packages/a" in viewer.get("/search?q=zebra")


def test_a_search_shows_what_it_left_out(viewer):
    old, new = viewer.add("We pack with pnpm."), viewer.add("The logo is a green leaf.")
    other = viewer.add("The pnpm cache lies in the home.")
    blob = viewer.json(f"/fact/{old.id}.json")["blob"]
    viewer.post(f"/fact/{old.id}/supersede", blob=blob, by=new.id)
    found = viewer.json("/search.json?q=pnpm")
    assert other.id in {hit["fact"] for hit in found["hits"]}
    assert old.id not in {hit["fact"] for hit in found["hits"]}
    assert old.id in {hit["fact"] for hit in found["left_out"]}
    assert viewer.json("/search.json?q=pnpm&back=9999")["trouble"]
    assert viewer.json("/search.json?q=pnpm")["oldest"] == 0
    assert viewer.json('/search.json?q=since:"nonsense" x')["trouble"]
    assert "Did you mean type:decision?" in viewer.json("/search.json?q=type:decison")["trouble"]


@pytest.fixture
def demo(place) -> Viewer:
    viewer = Viewer(*place)
    for name in ("1-login.jsonl", "2-orders.jsonl"):
        replay(viewer.reopen(), str(DEMO / name))
    return viewer.sign_in()


@pytest.mark.slow
def test_a_fact_tells_its_life_and_where_it_comes_from(demo):
    fact = next(one for one in demo.json("/facts.json")["facts"] if "argon2id" in one["description"])
    page = demo.json(f"/fact/{fact['id']}.json")
    assert page["life"][0]["act"] == "learned"
    assert page["life"][0]["session"] == page["session"]
    assert "argon2id" in page["sources"][0]["text"]
    session = demo.json(f"/session/{page['session']}.json")
    assert fact["id"] in {one["id"] for one in session["facts"]}
    assert session["exchanges"][0]["outcome"] == "success"
    assert demo.get(f"/session/{page['session']}")
    commit = page["life"][0]["commit"]
    assert f"+id: {fact['id']}" in demo.json(f"/commit/{commit}.json")["diff"]
    assert f"<ins>id: {fact['id']}</ins>" in demo.get(f"/commit/{commit}")  # the style draws the sign
    assert demo.json("/concepts.json")["total"] == 4
    concept = demo.json("/concepts.json")["concepts"][0]
    page = demo.json(f"/concept/{concept['id']}.json")
    assert page["name"] == concept["name"]
    assert (len(page["times"]), page["text"]) == (concept["exchanges"], "")
    assert sum(sum(column["values"]) for column in page["chart"]["columns"]) == concept["exchanges"]


def test_what_a_model_judged_says_so(viewer, bare_git):
    origin = {"session": "s-1", "by": "judge-mini"}
    found = make_fact(FactKind.DECISION, "Exports go into out/new by date.", NOW, confidence=0.8, origin=origin)
    viewer.write(found.path, render_fact(found).decode())
    viewer.write("sessions/2026/11/20261121_120000-s-1.md", f"{JUDGED}\n{render_entry(SAID)}\n")
    bare_git(viewer.root, "add", "-A")
    bare_git(viewer.root, "commit", "-qm", "Judge s-1\n\nGitmem-Op: fact\nGitmem-Session: s-1")
    (fact,) = known_facts(viewer.reopen())
    viewer.add("Columns are named in snake_case.")
    assert viewer.get("/facts").count("judged by judge-mini") == 1
    assert "judged by judge-mini" in viewer.get(f"/fact/{fact.id}")
    session = viewer.get("/session/s-1")
    assert session.index("outcomes by judge-mini") < session.index("Exports sort by date now.")


def test_a_long_session_goes_on_behind_an_exchange(demo, monkeypatch):
    monkeypatch.setattr("gitmem.web.history._EXCHANGES", 2)
    session = demo.json("/sessions.json")["sessions"][0]
    whole = demo.json(f"/session/{session['id']}.json?whole=1")
    first = demo.json(f"/session/{session['id']}.json")
    rest = demo.json(f"/session/{session['id']}.json?after={first['next']}")
    assert (len(first["exchanges"]), whole["next"], rest["next"]) == (2, None, None)
    assert first["exchanges"] + rest["exchanges"] == whole["exchanges"]
    assert f"?after={first['next']}" in demo.get(f"/session/{session['id']}")


@pytest.mark.slow
def test_a_cleared_session_is_shown_as_it_was_and_said_to_be_cleared(demo):
    session = demo.json("/sessions.json")["sessions"][0]["id"]
    there = demo.json(f"/session/{session}.json")["exchanges"]
    clear(demo.reopen(), days=-1)
    page = demo.json(f"/session/{session}.json")
    assert [one["id"] for one in page["exchanges"]] == [one["id"] for one in there]
    assert "Clear memory older" in page["gone"]


@pytest.mark.slow
def test_a_session_shows_what_it_was_told_and_its_tokens(demo):
    fact = next(one for one in demo.json("/facts.json")["facts"] if "argon2id" in one["description"])
    private = demo.reopen().private
    bug = next(id_in(path.name) for path in sorted(Path(demo.reopen().root, "patterns", "bugs").glob("*.md")))
    for how, tokens in (("start", 900), ("prompt", 80), ("recall", 40), ("search", 0)):
        record(private, ShownText(NOW, fact["session"], how, (fact["id"], bug) if tokens else (), tokens, 12))
    record(private, ShownText(NOW, "another", "prompt", (), 70))
    record_fixes(private, ShownFixes(NOW, fact["session"], 3, 2))
    add_shown(demo.reopen(), {bug: {NOW.isoformat(): 1.0}}, "Count")
    session = demo.json(f"/session/{fact['session']}.json")
    assert session["tokens"] == {"injected": 980, "recalled": 40}
    assert [(one["how"], one["tokens"]) for one in session["told"]][1:] == [
        ("prompt", 80),
        ("recall", 40),
        ("search", 0),
    ]
    told = session["told"][0]["memories"]
    assert [(one["id"], one["fact"]) for one in told] == [(fact["id"], fact["description"]), (bug, None)]
    assert html.escape(told[1]["title"]) in demo.get(f"/session/{fact['session']}")
    page = demo.get(f"/session/{fact['session']}")
    assert "1,020 tokens" in page
    assert "nothing was found" in page
    stats = demo.json("/stats.json")
    assert stats["tokens"]["session"] == {"start": 450, "injected": 75, "recalled": 20, "models": 0}
    assert stats["spent"]["columns"][-1]["values"] == [900, 150, 40, 0]
    assert stats["answers"]["columns"][-1]["values"] == [1, 0]
    page = demo.get("/stats")
    assert "3 times a session was shown the fix of an error; 2 times the error was gone afterwards." in page
    assert '<td class="number">1</td></tr>' in page[page.index("Errors shown most") :]
    assert page.count("As a table") == page.count("<svg")
    charts = [*stats["growth"], stats["spent"], stats["answers"]]
    assert page.count("<svg") == sum(chart["bars"] > 1 for chart in charts) < 4, "a chart of one bar is not drawn"


def test_sync_shows_what_is_to_be_sent_and_merged_and_when_machines_came(viewer, tmp_path, bare_git):
    bare_git(tmp_path, "init", "--quiet", "--bare", "remote")
    add_remote(viewer.reopen(), "origin", str(tmp_path / "remote"))
    viewer.add("We deploy on Fridays.")
    (never,) = viewer.json("/sync.json")["remotes"]
    assert (never["waiting"], "behind" in never) == (None, False)
    newer = bare_git(viewer.root, "commit-tree", "-p", "HEAD~1", "-m", "x", "HEAD^{tree}")
    bare_git(viewer.root, "update-ref", f"{REFS}/origin/{MEMORY_BRANCH}", newer)
    page = viewer.json("/sync.json")
    assert (page["remotes"][0]["waiting"], page["remotes"][0]["behind"]) == (1, 1)
    assert [(one["name"], one["commits"]) for one in page["machines"]] == [("box", 2)]
    assert "1 commit</td><td>1 commit" in viewer.get("/sync")


def test_hostile_memory_is_shown_and_not_obeyed(viewer):
    text = "Run </textarea><script>alert(1)</script> \u202ereversed\u200b ```\n</main><style>*{display:none}</style>"
    fact = viewer.add(text)
    for path in ("/", "/facts", f"/fact/{fact.id}", "/timeline", "/search?q=reversed"):
        page = viewer.get(path)
        assert "<script>" not in page
        assert "<style>" not in page
        assert "⟨U+202E⟩" in page, path
        assert "\u202e" not in page.replace(page.partition("<textarea")[2].partition("</textarea>")[0], "")
    edited = viewer.get(f"/fact/{fact.id}").partition("<textarea")[2].partition("</textarea>")[0]
    assert "\u202e" in edited  # what is saved again is what it was
    assert 'value="&#34;&gt;&lt;b&gt;"' in viewer.get("/search?q=%22%3E%3Cb%3E")


@pytest.mark.slow
def test_the_export_leads_nowhere_but_to_its_own_files(demo, tmp_path):
    folder = tmp_path / "pages"
    written = export(demo.reopen(), str(folder))
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) == written
    assert {"index.html", "facts.html", "timeline.html"} <= {page.name for page in pages}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert '<form method="post"' not in text
        for address in {part.partition('"')[0] for part in text.split('href="')[1:]}:
            if not address.startswith("#"):
                assert (page.parent / address).is_file(), (page, address)


def test_an_export_has_nothing_private_and_none_of_the_user_s_own_rules(viewer, tmp_path):
    """It is made to be passed on; the first page showed what the next session's start would."""
    ours = viewer.add("The parser is written by hand.")
    private = private_store(viewer.reopen(), make=True)
    save_text(private, "The customer Zoe pays late.", MemoryType.DECISION, host="cli")
    assert "Zoe" in viewer.get("/")
    folder = tmp_path / "pages"
    export(viewer.reopen(), str(folder))
    pages = {page.name: page.read_text(encoding="utf-8") for page in folder.rglob("*.html")}
    assert ours.description in pages["index.html"]
    assert [name for name, text in pages.items() if "Zoe" in text] == []


def test_no_session_of_another_s_commit_leads_an_export_out_of_its_folder(viewer, tmp_path, bare_git):
    """The page behind the fiftieth session was named by that session's id, with its slashes."""
    tip, tree = (bare_git(viewer.root, "rev-parse", name).strip() for name in ("HEAD", "HEAD^{tree}"))
    for number in range(51):
        trailers = f"Gitmem-Op: turn\nGitmem-Session: ../../../led-astray-{number}\nGitmem-Entry: {number:011}"
        tip = bare_git(viewer.root, "commit-tree", tree, "-p", tip, "-m", f"A turn\n\n{trailers}").strip()
    bare_git(viewer.root, "update-ref", "HEAD", tip)
    before = {path for path in tmp_path.rglob("*") if ".git" not in path.parts}
    folder = tmp_path / "a" / "b" / "c" / "pages"
    export(viewer.reopen(), str(folder))
    new = {path for path in tmp_path.rglob("*") if ".git" not in path.parts} - before
    assert [path for path in new if path.is_file() and folder not in path.parents] == []
    assert len(list((folder / "sessions").iterdir())) == 1
    text = (folder / "sessions.html").read_text(encoding="utf-8")
    (older,) = (part.partition('"')[0] for part in text.split('rel="next" href="')[1:])
    assert (folder / older).is_file()


def test_an_export_overwrites_nothing(viewer, tmp_path):
    (tmp_path / "mine").write_text("x")
    for place in (tmp_path, tmp_path / "mine"):
        with pytest.raises(RefusedError):
            export(viewer.reopen(), str(place))


@pytest.fixture
def address(viewer):
    """Give the address that `gitmem web` prints, in a process of its own."""
    environ = {**os.environ, "PYTHONPATH": os.getcwd()}
    server = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "web", "--json"],
        cwd=viewer.root.parent, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with server:
        try:
            yield json.loads("".join(server.stdout.readline() for _ in range(3)))["url"]
        finally:
            server.terminate()
        assert "Traceback" not in server.stderr.read()


@pytest.mark.slow
def test_the_command_prints_an_address_that_opens_once(address):
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert "Nothing is remembered yet" in opener.open(address, timeout=20).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address, timeout=20)


@pytest.mark.slow
def test_the_stream_says_when_something_is_saved(viewer, address):
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.open(address, timeout=20).read()
    with opener.open(address.partition("?")[0] + "events", timeout=20) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first = json.loads(stream.readline().removeprefix(b"data: "))
        stream.readline()
        viewer.add("We deploy on Fridays.")
        second = json.loads(stream.readline().removeprefix(b"data: "))
    assert first["tip"] != second["tip"] == viewer.reopen().tip


def test_the_first_page_shows_the_newest_failures_and_that_of_syncs_more(viewer):
    log = FailureLog(viewer.reopen().private)
    for number in range(5):
        log.record(LoggedFailure(NOW, "sync", f"failure {number}"))
    home, sync = (viewer.json(f"/{name}.json") for name in ("home", "sync"))
    assert [one["message"] for one in home["recording"]["failures"]] == ["failure 4", "failure 3", "failure 2"]
    assert len(sync["failures"]) == 5


@pytest.fixture
def other(viewer, new_store):
    """Another project of the same user, with a fact of its own."""
    project = viewer.root.parent.parent / "bakery"
    project.mkdir()
    new_store(project, viewer.context, NOW)
    elsewhere = Viewer(project / ".gitmem", viewer.context)
    return elsewhere, elsewhere.add("Bread is baked on Fridays.")


def test_all_projects_of_the_machine_are_shown_changed_and_searched(viewer, other):
    elsewhere, fact = other
    viewer.add("We deploy on Fridays.")
    base = re.search(r'href="(/p/bakery-\w+)"', viewer.get("/"))[1]
    assert "Bread is baked" in viewer.get(f"{base}/facts")
    assert "Bread is baked" not in viewer.get("/facts")
    page = viewer.get(f"{base}/fact/{fact.id}")
    assert f'action="{base}/fact/{fact.id}/retire"' in page
    blob = viewer.json(f"{base}/fact/{fact.id}.json")["blob"]
    answer = viewer.post(f"{base}/fact/{fact.id}/retire", blob=blob, why="")
    assert answer.headers["location"].startswith(f"{base}/fact/{fact.id}?done=")
    assert next(one for one in known_facts(elsewhere.reopen()) if one.id == fact.id).status != "active"
    assert viewer.post(f"{base}/fact/{fact.id}/confirm", blob=viewer.json(f"{base}/fact/{fact.id}.json")["blob"])
    found = viewer.json("/search.json?q=fridays&everywhere=1")
    assert {one["name"] for one in found["others"]} == {"bakery"}
    by_command = search_stores([elsewhere.reopen().root], viewer.context, "fridays").hits
    assert [one["entry"] for one in found["others"]] == [one.hit.entry for one in by_command]
    assert "<strong>bakery</strong>" in viewer.get("/search?q=fridays&everywhere=1")
    assert viewer.json("/search.json?q=fridays%20session:s&everywhere=1")["others"] == []
    assert f'href="{base}/fact/{fact.id}"' in viewer.get("/search?q=fridays&everywhere=1")
    viewer.get("/p/nowhere-12345678/facts", 404)
    assert "aria-current" in viewer.get("/nothing", 404).partition("</details>")[0]  # the switch is on such a page, too


def test_the_first_page_reads_headers_once_after_a_save_starts_three_gits_and_none_when_nothing_changed(
    viewer, git_starts, monkeypatch
):
    viewer.add("We deploy on Fridays.")
    viewer.get("/")
    git_starts.clear()
    viewer.get("/")
    assert git_starts == []
    passes: list[str] = []
    headers = read_headers
    beside: list[str] = []

    def read(store, folder, *rest, **named):
        passes.append(folder)
        end = time.monotonic() + 5
        while len(git_starts) < 3 and folder == "facts" and time.monotonic() < end:
            time.sleep(0.001)
        beside[:] = git_starts
        return headers(store, folder, *rest, **named)

    viewer.add("Offices open at nine.")
    monkeypatch.setattr("gitmem.store.known_facts.read_headers", read)
    git_starts.clear()
    viewer.get("/")
    assert passes.count("facts") == 1
    assert sorted(beside) == ["config", "diff-tree", "log"]  # who the user is and what came, while facts are read
    assert git_starts == beside


def test_a_store_that_may_not_be_written_says_so_on_each_page_and_has_no_forms(place):
    root, context = place
    viewer = Viewer(root, context._replace(environ={**context.environ, "GITMEM_READONLY": "1"})).sign_in()
    for path in ("/", "/facts", "/review"):
        page = viewer.get(path)
        assert "GITMEM_READONLY is set: nothing is saved or sent." in page
        assert 'method="post"' not in page
    assert "What the next session would be shown" in viewer.get("/")


def test_a_fact_without_text_has_a_name_and_one_whose_file_is_broken_says_so(viewer):
    empty, broken = viewer.add("Use uv."), viewer.add("Use git.")
    path = next(viewer.root.glob(f"facts/*/{empty.id}-*.md"))
    header = path.read_text().split("---\n")[1].replace("description: Use uv.", "description: ''")
    path.write_text(f"---\n{header}---\n")
    next(viewer.root.glob(f"facts/*/{broken.id}-*.md")).write_text("---\nid: [\n")
    assert f'href="/fact/{empty.id}">(no text)</a>' in viewer.get("/facts")
    assert "(no text)</h1>" in viewer.get(f"/fact/{empty.id}")
    assert "cannot be read as a fact" not in viewer.get(f"/fact/{empty.id}")
    assert "This is the last version that could" in viewer.get(f"/fact/{broken.id}")


def test_a_fact_that_does_not_say_when_it_was_made_is_undated(viewer):
    path = next(viewer.root.glob(f"facts/*/{viewer.add('Use uv.').id}-*.md"))
    path.write_text(path.read_text().replace("created:", "made:"))
    assert "<dt>Learned</dt><dd>undated</dd>" in viewer.get(f"/fact/{path.name.partition('-')[0]}")


def test_a_fact_of_a_part_of_the_project_says_so(viewer):
    fact = viewer.add("We deploy on Fridays.")
    file = viewer.root / fact.path
    file.write_text(file.read_text().replace("kind: decision\n", "kind: decision\nscope: [packages/a]\n"))
    for page in ("/facts", f"/fact/{fact.id}"):
        assert '<span class="mark">of packages/a</span>' in viewer.get(page)
    assert viewer.json(f"/fact/{fact.id}.json")["scope"] == ["packages/a"]


def test_a_badge_counts_what_needs_one(viewer):
    assert 'class="badge"' not in viewer.get("/facts")
    viewer.add("Always use tabs in Go files.")
    viewer.add("Never use tabs in Go files.")
    assert 'aria-label="1 thing needs you">1</a>' in viewer.get("/facts")


@pytest.mark.parametrize("take, forbids", [("keep", ["make"]), ("deny", ["make"]), ("drop", [])])
def test_a_rule_that_agents_ignore_waits_as_in_the_status_until_the_user_keeps_it_or_not(viewer, take, forbids):
    rule = viewer.add("Always deploy with the script.", "rule")
    store = viewer.reopen()
    forbid(store, rule, ["make"])
    for session in "abc":
        note_firing(store.private, Firing(store.context.clock(), session, rule.id, "t"))
        record_made(store.private, [(session, "t")])
    assert "1 rule that agents ignore" in viewer.get("/")
    (shown,) = viewer.json("/review.json")["rules"]
    assert "ignored 3 of 3 times" in viewer.get("/review")
    viewer.post("/review/rule", id=rule.id, blob=shown["blob"], take=take)
    assert not viewer.json("/review.json")["rules"]
    assert viewer.json(f"/fact/{rule.id}.json")["forbids"] == forbids
    assert 'class="badge"' not in viewer.get("/facts")


@pytest.mark.parametrize("take, said", [("ours", "Always use tabs."), ("theirs", "Always use four blanks.")])
def test_a_copy_that_another_program_left_is_removed_or_taken_over(viewer, take, said):
    fact = viewer.add("Always use tabs.", "rule")
    copy = fact.path.replace(".md", " (1).md")
    viewer.write(copy, viewer.reopen().read(fact.path).decode().replace("Always use tabs.", "Always use four blanks."))
    (shown,) = viewer.json("/review.json")["copies"]
    assert (shown["path"], shown["original"]) == (copy, fact.path)
    assert "Copies that another program left" in viewer.get("/review")
    viewer.post("/review/copy", path=copy, blob=shown["blob"], take=take)
    assert not viewer.json("/review.json")["copies"]
    assert viewer.json(f"/fact/{fact.id}.json")["description"] == said


@pytest.mark.parametrize("take, facts", [("mine", ["Keep prices in cents."]), ("pasted", [])])
def test_a_label_below_another_text_is_the_user_s_to_judge(viewer, tmp_path, take, facts):
    session = Recorder(tmp_path / "one.jsonl", "s-one")
    session.turn(1, "Good morning\nDecision: keep prices in cents.", "Done.")
    replay(viewer.reopen(), session.write())
    assert "1 message with a decision or rule that may be pasted" in viewer.get("/")
    (shown,) = viewer.json("/review.json")["left_out"]
    assert [line["text"] for line in shown["lines"]] == ["Keep prices in cents."]
    assert "are they yours, or pasted?" in viewer.get("/review")
    viewer.post("/review/left-out", row=shown["row"], take=take)
    assert not viewer.json("/review.json")["left_out"]
    assert [fact.description for fact in known_facts(viewer.reopen())] == facts


@pytest.mark.slow
@pytest.mark.parametrize("zone, shown", [("Pacific/Kiritimati", ">02:00</time>"), ("../evil", "2026-11-2")])
def test_the_clock_is_the_one_of_the_reader_s_browser(viewer, zone, shown):
    viewer.add("We deploy on Fridays.")
    replay(viewer.reopen(), str(DEMO / "1-login.jsonl"))
    viewer.cookies["gitmem-zone"] = zone
    assert shown in viewer.get("/timeline")
    told = re.search(r'\[<time datetime="[^"]*">2026-11-(\d\d \d\d:\d\d)</time>] Add a login endpoint', viewer.get("/"))
    assert (told[1] == "18 23:13") == (zone == "Pacific/Kiritimati")


@pytest.mark.slow
def test_each_page_leads_to_its_twin_and_a_session_to_its_transcript(viewer):
    viewer.write("config.yaml", "transcripts:\n  enabled: true\n")
    replay(viewer.reopen(), str(DEMO / "1-login.jsonl"))
    fact = viewer.add("We deploy on Fridays.")
    session, concept = (viewer.json(f"/{name}.json")[name][0]["id"] for name in ("sessions", "concepts"))
    items = (f"fact/{fact.id}", f"session/{session}", f"transcript/{session}", f"concept/{concept}")
    for path in ("home", *MENU, *items, f"commit/{viewer.reopen().tip}"):
        assert f'href="/{path}.json">JSON<' in viewer.get(f"/{path}")
        assert viewer.json(f"/{path}.json")
    page = viewer.get(f"/session/{session}")
    assert "refresh tokens after 14 days" in page
    assert f'href="/transcript/{session}"' in page
    said = viewer.json(f"/transcript/{session}.json")["lines"]
    assert said[0]["role"] == "user"
    assert {"call", "result"} <= {one["role"] for one in said}
    assert "Add a login endpoint" in viewer.get(f"/transcript/{session}")


def test_a_line_of_code_leads_to_the_session_that_wrote_it_and_back(viewer, bare_git):
    project = viewer.root.parent
    bare_git(project, "init", "-q")
    (project / "app.py").write_text("def pages():\n    return 3\n")
    bare_git(project, "add", "app.py")
    bare_git(project, "commit", "-qm", "Pages")
    answer = viewer.json("/why.json?where=app.py:2")
    assert [(one["place"], one["ground"]) for one in answer["reasons"]] == [("app.py:2", "nobody")]
    assert "No session wrote these lines" in viewer.get("/why?where=app.py:2")
    for wrong in ("none.py:1", "app.py:3-1", "../app.py"):
        assert viewer.json(f"/why.json?where={wrong}")["trouble"], wrong


def test_the_first_page_says_what_is_new(viewer):
    assert viewer.json("/home.json")["learned"]["total"] == 0
    viewer.add("We deploy on Fridays.")
    learned = viewer.json("/home.json")["learned"]
    assert [fact["description"] for fact in learned["facts"]] == ["We deploy on Fridays."]
    assert not learned["saves"]
    identifier = make_id(int(NOW.timestamp() * 1000), b"a" * 10)
    saved = Save(identifier, NOW, "Locks are held too long.", MemoryType.LEARNING, (), "", "cli")
    save(viewer.reopen(), saved, scan=True)
    (learning,) = viewer.json("/home.json")["learned"]["saves"]
    assert learning["subject"] == "Save learning: Locks are held too long."
    assert "Learned since yesterday" in viewer.get("/")


def test_the_first_page_names_no_session_that_was_undone_and_no_save(viewer):
    kept, undone = (
        save(viewer.reopen(), viewer.event(f"Ship the {name}.", session=name, host="cli"), scan=True)
        for name in ("parts", "wheels")
    )
    undo(viewer.reopen(), revision=f"^{undone.id}")
    home = viewer.json("/home.json")
    assert [one["id"] for one in home["learned"]["sessions"]] == ["parts"]
    assert "parts" in home["recording"]["subject"]
    with status_reader(viewer.reopen()) as read:
        assert read().last_save.commit == kept.commit
