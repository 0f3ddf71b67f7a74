"""The viewer in a real browser: Debian's chromium, driven by Playwright; axe-core comes through npm."""

import contextlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.hosts.host import command, hook_script, script_path
from gitmem.learn.end import replay
from gitmem.platform.machine import Context
from gitmem.record.fact_edits import pin
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.store.last_event import note_event_arrival
from gitmem.store.store import Store
from gitmem.tell.usage_log import ShownText, record

pytestmark = pytest.mark.e2e
DEMO = Path(__file__).parents[1] / "data" / "demo"
PICTURES = os.environ.get("PICTURES")  # the folder that `make pictures` names
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = "axe-core@4.11.0"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SESSION = "5f0c2a7e-11d4-4c52-9d0e-6a2f3b1c8e01"
HOSTILE = (
    "Deploy with <script>document.title='owned'</script><img src=http://evil.example/p.png onerror=alert(1)> "
    "\u202eyadirF no\u200b [docs](http://evil.example/) ```\n</main><style>*{display:none}</style>"
)
LISTS = [
    "",
    "timeline",
    "search?q=hash",
    "facts",
    "sessions",
    "concepts",
    "knowledge",
    "review",
    "why?where=x",
    "sync",
    "stats",
]


class Site:
    """A viewer that serves the demo's memory, and a browser that is signed in."""

    def __init__(self, store: Store, url: str, browser) -> None:
        self.store = store
        self.base, self.token = url.split("/?")
        self.browser = browser
        page = browser.new_page()
        page.goto(url)
        self.state = page.context.storage_state()
        page.close()

    @contextlib.contextmanager
    def tab(self, width: int = 1100, **options):
        context = self.browser.new_context(
            storage_state=self.state, viewport={"width": width, "height": 800}, timezone_id="UTC", **options
        )
        yield context.new_page()
        context.close()

    def fact(self, words: str):
        return next(fact for fact in known_facts(self.store) if words in fact.description)

    def add(self, number: int, text: str, kind: str = "decision", at: datetime = NOW):
        identifier = make_id(int(at.timestamp() * 1000) + number, bytes([number]) * 10)
        saved = save(self.store, Save(identifier, at, text, MemoryType(kind), (), "", "cli"), scan=True)
        return next(fact for fact in known_facts(self.store) if fact.id == saved.id)

    def subjects(self) -> list[str]:
        command = ["git", "-C", self.store.root, "log", "--format=%s"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture
def site(home, environ, tmp_path, new_store, request):
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    project = tmp_path / "shop"
    project.mkdir()
    context = Context(environ, str(home), "box", lambda: NOW)
    store = new_store(project, context, NOW)
    for name in getattr(request, "param", ("1-login.jsonl", "2-orders.jsonl")):
        replay(store, str(DEMO / name))
    (tmp_path / "bakery").mkdir()
    new_store(tmp_path / "bakery", context, NOW)
    server = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "web", "--json"],
        cwd=project, env={**environ, "PYTHONPATH": os.getcwd()}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with server:
        try:
            url = json.loads("".join(server.stdout.readline() for _ in range(3)))["url"]
            with playwright.sync_playwright() as started:
                arguments = ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
                browser = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
                yield Site(store, url, browser)
                browser.close()
        finally:
            server.terminate()


def send(page, button: str) -> None:
    """Click a form's button and wait for the page that answers: a click alone returns before it is there."""
    with page.expect_navigation():
        page.click(button)


def every_page(site) -> list[str]:
    concept = next(Path(site.store.root, "concepts").glob("*.md")).name.partition("-")[0]
    return [
        *LISTS,
        f"fact/{site.fact('argon2id').id}",
        f"session/{SESSION}",
        f"transcript/{SESSION}",
        f"concept/{concept}",
        "commit/HEAD",
        "none",
    ]


def test_no_page_has_a_fault_that_axe_finds(site, fetched):
    axe = (fetched("axe-core", AXE).parent / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    site.add(1, "Always use tabs in Go files.")
    site.add(2, "Never use tabs in Go files.")
    for how, tokens in (("start", 900), ("prompt", 80), ("recall", 0)):  # draws the charts of tokens and answers
        record(site.store.private, ShownText(datetime.now(UTC), SESSION, how, (), tokens))
    found = []
    for scheme in ("light", "dark"):
        with site.tab(color_scheme=scheme) as page:
            for path in every_page(site):
                page.goto(f"{site.base}/{path}")
                page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
                page.evaluate(axe)
                faults = page.evaluate("axe.run()")["violations"]
                found += [
                    (scheme, path, one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in faults
                ]
            page.goto(f"{site.base}/facts")
            page.check(".ticked:has-text('argon2id') input")
            send(page, ".bar button:has-text('Delete for good')")
            page.evaluate(axe)
            found += [(scheme, "purge", one["id"]) for one in page.evaluate("axe.run()")["violations"]]
    assert not found


def test_narrow_print_and_korean(site):
    decided = "페이지는 오프셋 대신 커서 방식으로 하기로 했습니다."
    command = [sys.executable, "-m", "gitmem", "save", decided, "--type", "decision"]
    environ = {**site.store.context.environ, "PYTHONPATH": os.getcwd()}
    subprocess.run(command, cwd=os.path.dirname(site.store.root), env=environ, check=True, capture_output=True)
    with site.tab(width=320) as page:
        for path in every_page(site):
            page.goto(f"{site.base}/{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        page.goto(f"{site.base}/facts")
        assert decided in page.inner_text("main")
        page.emulate_media(media="print")
        assert not page.is_visible("nav")
        assert page.is_visible("text=커서 방식으로")


def test_both_sides_of_a_pair_are_read_whole_on_a_phone(site):
    site.add(1, "Always use tabs in Go files.")
    site.add(2, "Never use tabs in Go files.")
    with site.tab(width=390) as page:
        page.goto(f"{site.base}/review")
        boxes = [one.bounding_box() for one in page.locator(".pair .about").all()]
        assert len(boxes) == 2
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
        assert page.eval_on_selector_all(".half", "all => all.every((one) => one.scrollWidth <= one.clientWidth)")
        assert page.evaluate("document.querySelector('main').getBoundingClientRect().top") < 100


def test_keys(site):
    with site.tab() as page:
        page.goto(f"{site.base}/")
        page.keyboard.press("g")
        page.keyboard.press("f")
        page.wait_for_url("**/facts")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        first = page.inner_text(".item.at .what")
        page.keyboard.press("Enter")
        page.wait_for_url("**/fact/*")
        assert page.inner_text("h1") == first
        page.go_back()
        page.wait_for_url("**/facts")
        page.keyboard.press("?")
        assert page.is_visible("#keys")
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("t")
        page.wait_for_url("**/timeline")
        page.keyboard.press("/")
        page.keyboard.type("argon2id")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=argon2id*")
        assert "argon2id" in page.inner_text(".hits")


def test_acts_and_their_undo_by_keys_alone(site):
    site.add(1, "We deploy on Fridays.")
    with site.tab() as page:
        for path, keys, done in (("", "a", "Confirm: "), ("facts", "jxjxa", "Confirm 2 facts: ")):
            page.goto(f"{site.base}/{path}")
            while not path and not page.query_selector(".item.at > details.more"):
                page.keyboard.press("j")
            for key in keys:
                page.keyboard.press(key)
            with page.expect_navigation():
                page.keyboard.press("Enter")
            assert page.inner_text(".note").startswith(f"Done. {done}")
            with page.expect_navigation():
                page.keyboard.press("u")
            assert page.inner_text(".note").startswith(f'Done. Undo "{done}')


@pytest.mark.parametrize("script", [True, False])
def test_filters_and_the_slider_by_keys(site, script):
    command = [sys.executable, "-m", "gitmem", "save", "We deploy on Fridays.", "--type", "decision"]
    environ = {**site.store.context.environ, "PYTHONPATH": os.getcwd()}
    subprocess.run(command, cwd=os.path.dirname(site.store.root), env=environ, check=True, capture_output=True)
    with site.tab(java_script_enabled=script) as page:
        for name, value, wanted in (
            ("session", SESSION, {"claude-code on box"}),
            ("type", "decision", {"cli"}),
            ("host", "claude-code", {"claude-code on box"}),
            ("machine", "box", {" on box"}),
        ):
            page.goto(f"{site.base}/timeline")
            page.select_option(f"main select[name={name}]", value)
            page.focus("main .filters button")
            page.keyboard.press("Enter")
            page.wait_for_url(f"**/timeline?*{name}={value}*")
            found = page.eval_on_selector_all(".commits .about", "all => all.map((one) => one.textContent)")
            assert found
            assert all(any(words in one for words in wanted) for one in found), (name, found)
        page.goto(f"{site.base}/timeline")
        page.focus(".strip a:last-of-type")
        page.keyboard.press("Enter")
        page.wait_for_url("**/timeline?day=*")
        assert "We deploy on Fridays." in page.inner_text(".commits")

        page.goto(f"{site.base}/search?q=deploy+argon2id")
        assert "We deploy on Fridays." in page.inner_text(".hits")
        page.focus("input.back")
        page.keyboard.press("End")
        assert (page.inner_text("#as-of") != "now") == script
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?*back=*")
        assert page.inner_text("#as-of") == "2026-11-18"
        assert "argon2id" in page.inner_text(".hits")
        assert "We deploy on Fridays." not in page.inner_text("main")


@pytest.mark.parametrize("script", [True, False])
def test_an_act_and_its_undo_are_commits(site, script):
    fact = site.fact("argon2id")
    before = site.subjects()
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.base}/fact/{fact.id}")
        page.click("summary:has-text('Edit')")
        page.fill("textarea[name=text]", "We hash passwords with argon2id.\nNever with bcrypt.")
        send(page, "button:has-text('Save')")
        assert site.subjects()[1:] == before
        assert site.subjects()[0].startswith("Edit fact: We hash passwords with argon2id.")
        assert "edited" in page.inner_text(".life").lower()  # capitals are of the style
        send(page, ".note button:has-text('Undo')")
        assert len(site.subjects()) == len(before) + 2
        assert "instead of bcrypt" in page.inner_text("h1")
        page.click("summary:has-text('Retire')")
        send(page, "form[action$=retire] button")
        assert page.is_visible(".mark.retired")
        send(page, "button:has-text('Restore')")
        assert page.is_visible(".mark.in-force")


@pytest.mark.parametrize("script", [True, False])
def test_a_belief_is_ended_on_the_first_page_and_ticked_facts_in_their_list(site, script):
    site.add(4, "We deploy on Fridays.")
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.base}/")
        belief = ".beliefs li:has-text('We deploy on Fridays.')"
        page.click(f"{belief} summary")
        send(page, f"{belief} button:has-text('Retire')")
        assert not page.is_visible(belief)
        page.goto(f"{site.base}/facts")
        page.check(".ticked:has-text('argon2id') input")
        send(page, ".bar button:has-text('Delete for good')")
        assert page.is_visible("h1:has-text('Delete for good?')")
        page.check("input[name=sure]")
        send(page, "main button:has-text('Delete for good')")
    assert not any("argon2id" in fact.description for fact in known_facts(site.store))


def test_an_open_page_shows_what_is_saved_while_an_agent_works(site):
    with site.tab() as page:
        page.goto(f"{site.base}/facts")
        site.add(5, "We deploy on Fridays.")
        page.wait_for_selector("main .what:has-text('We deploy on Fridays.')", timeout=20_000)
        spool = Path(site.store.private, "spool", "hooks")
        spool.mkdir(parents=True, exist_ok=True)
        (spool / "PostToolUse-1-1-1.json").write_text("{}")
        page.wait_for_selector("#working:has-text('an agent is working')", timeout=20_000)
        page.fill("main input[name=q]", "Fri")
        site.add(6, "Offices open at nine.")
        page.wait_for_selector("#working:has-text('Something was saved')", timeout=20_000)
        assert page.input_value("main input[name=q]") == "Fri"


@pytest.mark.parametrize("script", [True, False])
def test_the_project_is_switched_and_all_are_searched(site, script):
    with site.tab(java_script_enabled=script) as page:
        page.goto(f"{site.base}/facts")
        page.click(".projects summary")
        send(page, ".projects a:has-text('bakery')")
        assert page.inner_text(".projects summary").endswith("bakery")
        page.goto(f"{page.url}/facts")
        page.click("summary:has-text('Add a fact')")
        page.fill("main textarea[name=text]", "Bread is baked on Fridays.")
        send(page, "main button:has-text('Add')")
        assert page.inner_text("h1") == "Bread is baked on Fridays."
        page.goto(f"{site.base}/")
        page.fill("#quick", "baked")
        page.check(".quick input[name=everywhere]")
        page.focus("#quick")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        send(page, ".hits a:has-text('Bread is baked')")
        assert "/p/bakery-" in page.url
        assert page.inner_text("h1") == "Bread is baked on Fridays."


def test_the_first_page_weighs_less_than_50_kb(site):
    weights = []
    with site.tab() as page:
        page.on("response", lambda answer: weights.append(answer))  # noqa: PLW0108  # it takes no builtin
        page.goto(f"{site.base}/")
        assert sum(len(one.body()) for one in weights if "/events" not in one.url) < 50_000


def test_hostile_memory_is_inert_and_nothing_leaves_the_machine(site):
    fact = site.add(3, HOSTILE)
    asked, dialogs = [], []
    with site.tab() as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for path in (
            "",
            "facts",
            f"fact/{fact.id}",
            "timeline",
            "search?q=deploy",
            "search?q=<script>alert(1)</script>",
        ):
            page.goto(f"{site.base}/{path}")
            assert page.is_visible("h1"), path
            assert page.title() != "owned"
            assert not page.query_selector("main img, main script, main style, main a[href^=http]")
        page.goto(f"{site.base}/fact/{fact.id}")
        assert "⟨U+202E⟩" in page.inner_text("h1")
        assert "\u202e" not in page.inner_text("h1")
    assert not dialogs
    assert all(address.startswith(f"{site.base}/") for address in asked)


def test_a_page_of_another_server_changes_nothing(site):
    fact = site.fact("argon2id")
    with site.tab() as page:
        page.goto(f"{site.base}/fact/{fact.id}")
        blob = page.get_attribute("input[name=blob]", "value")
    form = (
        f"<form method=post action='{site.base}/fact/{fact.id}/retire'><input name=blob value={blob}></form>"
        "<script>document.forms[0].submit()</script>"
    )

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(form.encode())

        def log_message(self, *_):
            pass

    foreign = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=foreign.serve_forever, args=(0.02,), daemon=True).start()
    before = site.subjects()
    try:
        for name in ("127.0.0.1", "evil.example"):  # the first is the same site, and its cookie is sent
            with site.tab() as page:
                with page.expect_response("**/retire") as answer:
                    page.goto(f"http://{name}:{foreign.server_port}/")
                assert answer.value.status == 403
    finally:
        foreign.shutdown()
        foreign.server_close()
    assert site.subjects() == before
    with site.tab() as page:
        assert page.goto(site.base.replace("127.0.0.1", "evil.example")).status == 421
        assert page.goto(f"{site.base}/?{site.token}").status == 403


@pytest.mark.parametrize(
    "site", [["1-login.jsonl"]], indirect=True
)  # the machine that makes them may have no Korean font
def test_pictures(site, tmp_path):
    folder = Path(PICTURES or tmp_path)
    folder.mkdir(exist_ok=True)
    fact = site.fact("argon2id")
    subprocess.run(["git", "-C", site.store.root, "config", "user.name", "Ada"], check=True)
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command("Stop")}]}]}}  # "it is recording"
    settings = Path(os.path.dirname(site.store.root), ".claude", "settings.json")
    settings.parent.mkdir()
    settings.write_text(json.dumps(hook))
    script = Path(script_path(site.store.context.home))
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_bytes(hook_script(""))
    note_event_arrival(site.store.private, ["claude-code"])
    today = datetime.now(UTC)  # the first page says what was learned since yesterday
    pin(site.store, site.add(1, "Always write a test before the code.", "rule", today), pinned=True)
    site.add(2, "Prices are integer cents, because floats lose money.", at=today)
    site.add(3, "Refunds fail for orders of two currencies.", "issue", today)
    for number, text in enumerate(("Always use tabs in Go files.", "Never use tabs in Go files."), 4):
        site.add(number, text)
    with site.tab() as page:
        page.set_viewport_size({"width": 1000, "height": 640})
        page.goto(f"{site.base}/fact/{fact.id}")
        send(page, "button:has-text('Confirm')")
        page.click("summary:has-text('Edit')")
        page.fill("textarea[name=text]", "We hash passwords with argon2id, because bcrypt cuts them at 72 bytes.")
        send(page, "button:has-text('Save')")
        page.goto(f"{site.base}/fact/{fact.id}")
        page.mouse.move(0, 0)
        page.screenshot(path=folder / "web-fact.png")
        page.goto(f"{site.base}/")
        page.screenshot(path=folder / "web.png")
    for name in ("web.png", "web-fact.png"):
        assert 10_000 < (folder / name).stat().st_size < 150_000
