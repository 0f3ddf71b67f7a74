"""Lines of code lead to the exchange that wrote them, whatever git and formatters did to the lines."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.document.code_lines import digest_of, parse_written
from tests.copies import run_git
from tests.web.conftest import Viewer
from tests.world import World

BEGAN = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
CART = """\
import decimal


def total_price(cart):
    return sum(item.price * item.count for item in cart.items)


def discounted_price(cart, percent):
    price_before = total_price(cart)
    return price_before * (decimal.Decimal(100) - percent) / 100
"""
CONFIRM = """\


def send_confirmation(order, mailer):
    message = render_template("confirmation.html", order=order)
    mailer.deliver(recipient=order.customer.address, message=message)
"""
WORDS = "Compute the total of a cart", "Mail a confirmation of each order", "항목이 없는 장바구니를 거절해 줘"


class Coder:
    """Writes transcripts of Claude Code and Codex at set times into a `World`, does their edits, and commits them."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder, self.now = world, folder, BEGAN
        self.number = 0

    def later(self, minutes: int = 5) -> str:
        self.now += timedelta(minutes=minutes)
        return self.now.isoformat().replace("+00:00", "Z")

    def commit(self, message: str, *more: str) -> str:
        self.later()
        dates = {"GIT_AUTHOR_DATE": self.now.isoformat(), "GIT_COMMITTER_DATE": self.now.isoformat()}
        run_git(self.world.project, "add", "-A", ".", ":(exclude).gitmem")
        run_git(self.world.project, "commit", "-qm", message, *more, env=dates)
        return run_git(self.world.project, "rev-parse", "HEAD").strip()

    def file(self, path: str) -> Path:
        file = self.world.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def append(self, path: str, text: str) -> None:
        file = self.file(path)
        file.write_text((file.read_text() if file.exists() else "") + text)

    def claude(self, request: str, path: str, text: str, *, old: str = "", agent: str = "") -> None:
        """A turn of Claude Code that writes a file, or replaces a part of it."""
        file = self.file(path)
        given = {"file_path": str(file), "content": text}
        if old:
            given = {"file_path": str(file), "old_string": old, "new_string": text}
            text = file.read_text().replace(old, text)
        file.write_text(text)
        self._record("claude", request, ("Edit" if old else "Write", given), sidechain=bool(agent))

    def codex(self, request: str, path: str, text: str) -> None:
        """A turn of Codex that adds lines by a patch."""
        added = "\n".join(f"+{line}" for line in text.splitlines())
        self.append(path, text)
        self._record(
            "codex", request, ("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n{added}\n*** End Patch\n")
        )

    def shell(self, request: str, command: str) -> None:
        """A turn of Claude Code that runs a shell command."""
        stamp = (self.now + timedelta(minutes=3)).isoformat()  # in which `_record` has it run
        environ = os.environ | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        environ |= {"GIT_AUTHOR_NAME": "Ada", "GIT_COMMITTER_NAME": "Ada", "EMAIL": "ada@example.org"}
        subprocess.run(
            ["bash", "-c", command], cwd=self.world.project, check=True, stdout=subprocess.DEVNULL, env=environ
        )
        self._record("claude", request, ("Bash", {"command": command}))

    def _record(self, host: str, request: str, call: tuple[str, object], *, sidechain: bool = False) -> None:
        self.number += 1
        session = f"5e55{self.number:04}-0000-4000-8000-000000000000"
        write = self._codex if host == "codex" else self._claude
        lines = write(session, request, call)
        path = self.folder / (f"rollout-2026-11-20T09-00-00-{session}.jsonl" if host == "codex" else f"{session}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        self.world.run("import", str(path))

    def _claude(self, session: str, request: str, call: tuple[str, object]) -> list[dict]:
        name, given = call
        common = {
            "sessionId": session,
            "cwd": str(self.world.project),
            "version": "2.1.330",
            "promptId": f"p{self.number}",
        }
        said = [{"type": "tool_use", "id": f"t{self.number}", "name": name, "input": given}]
        result = [{"type": "tool_result", "tool_use_id": f"t{self.number}", "content": "ok"}]
        done = [{"type": "text", "text": f"Done as asked: {request}. All callers use it now, and the tests pass."}]
        rows = (("user", request), ("assistant", said), ("user", result), ("assistant", done))
        return [
            common
            | {
                "type": role,
                "uuid": f"{session}-{place}",
                "timestamp": self.later(1),
                "message": {"role": role, "content": content},
            }
            for place, (role, content) in enumerate(rows)
        ]

    def _codex(self, session: str, request: str, call: tuple[str, object]) -> list[dict]:
        name, patch = call
        payloads = (
            ("session_meta", {"id": session, "cwd": str(self.world.project), "timestamp": self.later(1)}),
            ("event_msg", {"type": "user_message", "message": request}),
            (
                "response_item",
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": request}]},
            ),
            ("response_item", {"type": "custom_tool_call", "name": name, "call_id": "c1", "input": patch}),
            ("response_item", {"type": "custom_tool_call_output", "call_id": "c1", "output": "Success."}),
            (
                "response_item",
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": f"Done as asked: {request}."}],
                },
            ),
            ("event_msg", {"type": "task_complete", "last_agent_message": f"Done as asked: {request}."}),
        )
        return [{"timestamp": self.later(1), "type": kind, "payload": payload} for kind, payload in payloads]

    def why(self, *what: str) -> list[dict]:
        return self.world.run("why", *what, "--json").json

    def origins(self, path: str) -> dict[int, tuple[str, bool]]:
        """Return by line the request that it is led back to, "" for nobody, and whether that is certain."""
        found = {}
        for reason in self.why(path):
            request = reason["exchange"]["request"] if reason["exchange"] else ""
            found |= {line["line"]: (request, reason["certain"]) for line in reason["lines"]}
        return found


@pytest.fixture
def coder(world, tmp_path) -> Coder:
    run_git(world.project, "init", "-qb", "main")
    return Coder(world, tmp_path / "transcripts")


def check(coder: Coder, path: str, expected: Sequence[tuple[str, str]]) -> None:
    """Compare the origins of lines that hold a text with the requests expected of them; no certain one may be wrong."""
    texts = (coder.world.project / path).read_text().splitlines()
    origins = coder.origins(path)
    for text, request in expected:
        number = next(place for place, line in enumerate(texts, 1) if text in line)
        assert origins[number][0] == request, (text, origins[number])
    wanted = {next(place for place, line in enumerate(texts, 1) if text in line): request for text, request in expected}
    assert all(origins[number][0] == request for number, request in wanted.items() if origins[number][1])


@pytest.mark.parametrize("typed", ["cart.py:6", "src/crat.py:6"])
def test_a_file_that_is_not_there_leads_to_the_one_that_was_meant(coder, typed):
    coder.file("src/cart.py").write_text(CART)
    coder.commit("Add the cart")
    ran = coder.world.ran("why", typed)
    assert (ran.code, "Did you mean src/cart.py:6? " in ran.err) == (9, True), ran.err
    coder.file("lib/cart.py").write_text(CART)
    coder.commit("Add another cart")
    assert "Did you mean" not in coder.world.ran("why", "cart.py:6").err, "two have this name"


def test_each_line_leads_to_the_request_that_wrote_it(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.commit("Add the cart")
    coder.codex(WORDS[1], "src/cart.py", CONFIRM)
    coder.claude(
        WORDS[2],
        "src/cart.py",
        "    if not cart.items:\n        raise EmptyCartError(cart.owner)\n    price_before",
        old="    price_before",
    )
    coder.append("src/cart.py", "\n\ndef typed_by_the_user_alone(order):\n    return order.reference_number\n")
    coder.commit("Confirm orders")
    expected = [
        ("sum(item.price", WORDS[0]),
        ("def discounted_price", WORDS[0]),
        ("price_before = total", WORDS[0]),
        ("raise EmptyCartError", WORDS[2]),
        ("mailer.deliver", WORDS[1]),
        ("def typed_by", ""),
        ("order.reference_number", ""),
    ]
    check(coder, "src/cart.py", expected)


def test_a_line_that_a_shell_command_wrote_leads_to_its_request(coder):
    coder.shell(WORDS[0], f"mkdir -p src && cat > src/cart.py <<'EOF'\n{CART}EOF\npython3 -m compileall -q src")
    coder.shell(WORDS[1], "cd src && echo 'def delivery_days(order): return 3' | tee -a cart.py")
    coder.shell(WORDS[2], r"""printf '%s\n' "def express_days(order):" "    return order.days // 2" >> src/cart.py""")
    coder.shell(WORDS[0], 'for day in one two; do echo "days_of_week = $day" >> src/cart.py; done')
    coder.commit("Add the cart")
    expected = [
        ("sum(item.price", WORDS[0]),
        ("delivery_days", WORDS[1]),
        ("express_days", WORDS[2]),
        ("order.days // 2", WORDS[2]),
        ("days_of_week = one", WORDS[0]),  # perhaps: the loop names the file
    ]
    check(coder, "src/cart.py", expected)
    assert WORDS[1] in coder.world.run("why", "src/cart.py:11").out


SCRIPT = """\
python3 - <<'EOF'
from pathlib import Path
p = Path('src/cart.py')
p.write_text(p.read_text().replace('count', 'pieces'))
EOF"""
PATCH = """\
cat > fix.patch <<'EOF'
--- a/src/cart.py
+++ b/src/cart.py
@@ -1,2 +1,2 @@
-import decimal
+import fractions
 \n\
EOF
git apply fix.patch"""
CHANGES = {
    "sed": ("sed -i 's/item.count/item.pieces/' src/cart.py", "item.pieces"),
    "perl": ("cd src && perl -pi -e 's/item.count/item.pieces/' cart.py", "item.pieces"),
    "script": (SCRIPT, "item.pieces"),
    "patch": (PATCH, "import fractions"),
    "move": ("sed s/item.count/item.pieces/ src/cart.py > new.py && mv new.py src/cart.py", "item.pieces"),
    "copy": ("mkdir x; sed s/item.count/item.pieces/ src/cart.py > x/cart.py; cp x/cart.py src/", "item.pieces"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_line_that_a_command_changed_leads_to_its_session_perhaps(coder, change):
    command, text = CHANGES[change]
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.shell("Look around before", "sed -i 's/nothing/at all/' src/cart.py")
    coder.commit("Add the cart")
    coder.shell(WORDS[1], command)
    coder.shell("Look at it", "cat src/cart.py && git diff src/cart.py && python3 src/cart.py")
    coder.later(120)
    commit = coder.commit("Rename")
    coder.shell("Look around later", "sed -i 's/nothing/at all/' src/cart.py")
    number = next(at for at, line in enumerate(coder.file("src/cart.py").read_text().splitlines(), 1) if text in line)
    [why] = coder.why(f"src/cart.py:{number}")
    assert (why["commit"], why["ground"], why["certain"]) == (commit, "command", False)
    assert why["exchange"]["request"] == WORDS[1]
    assert [ran["command"] for ran in why["commands"]] == [command]
    told = coder.world.run("why", f"src/cart.py:{number}").out
    assert "asked     perhaps 2026-11-20" in told
    assert "(2 hours before the commit); which lines a command changes is not recorded" in told


def test_of_two_commands_the_one_with_the_text_of_the_line_is_named_first(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.commit("Add the cart")
    coder.shell(WORDS[1], "sed -i 's/import decimal/import fractions/' src/cart.py")
    coder.shell(WORDS[2], "sed -i 's/percent/per_cent/' src/cart.py")
    [why] = coder.why("src/cart.py:1")
    assert (why["commit"], why["exchange"]["request"], len(why["commands"])) == (None, WORDS[1], 2)
    told = coder.world.run("why", "src/cart.py:1").out
    assert re.search(r"  or        session 5e550003 ran `sed .*` \(\d+ \w+ ago\)", told)
    assert coder.origins("src/cart.py")[8] == (WORDS[2], False), "the newest, as no command has the text of line 8"


def test_a_line_whose_commit_a_session_made_leads_to_it_perhaps(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.file("fix.py").write_text(
        "import pathlib\nfor p in pathlib.Path('src').iterdir():\n"
        "    p.write_text(p.read_text().replace('count', 'pieces'))\n"
    )
    coder.commit("Add the cart")
    coder.shell(WORDS[1], "python3 fix.py && git commit -qam 'Count pieces'")
    [why] = coder.why("src/cart.py:5")
    assert (why["ground"], why["certain"], why["exchange"]["request"]) == ("commit", False, WORDS[1])
    assert "perhaps   the session made this commit; which" in coder.world.run("why", "src/cart.py:5").out
    coder.file("src/cart.py").write_text(CART.replace("percent", "per_cent"))
    coder.commit("By hand")
    assert coder.why("src/cart.py:8")[0]["ground"] == "nobody"


def test_a_running_session_is_known_by_its_last_commands(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.commit("Add the cart")
    command = "sed -i 's/item.count/item.pieces/' src/cart.py"
    subprocess.run(["bash", "-c", command], cwd=coder.world.project, check=True)
    running = {"session_id": "5e55f000-0000-4000-8000-000000000000", "cwd": str(coder.world.project), "prompt_id": "p1"}
    call = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}, "tool_response": "ok"}
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": WORDS[1]},
        {"hook_event_name": "PostToolUse"} | call,
        {"hook_event_name": "Stop", "last_assistant_message": "Pieces are counted now, in all callers."},
    ):
        coder.world.run("hook", "claude", stdin=json.dumps(running | event).encode())
    coder.world.run("hook", "claude", "--drain")
    [why] = coder.why("src/cart.py:5")
    assert (why["ground"], why["exchange"]["request"]) == ("command", WORDS[1])


def test_a_short_line_is_certain_between_lines_of_the_same_edit_and_commit(coder):
    coder.file("src/cart.py").write_text(CART)
    coder.commit("By hand")
    text = "def shipping_costs(order):\n    if order.is_heavy:\n        return 5\n    return order.total_weight\n"
    coder.claude(WORDS[1], "src/cart.py", f"import decimal\n\n\n{text}", old="import decimal\n")
    coder.commit("Add shipping")
    assert [why["certain"] for why in coder.why("src/cart.py:6")] == [True]
    coder.file("src/cart.py").write_text(coder.file("src/cart.py").read_text().replace("return 5", "return 7"))
    coder.commit("By hand")
    assert coder.why("src/cart.py:6")[0]["exchange"] is None, "its neighbours are of another commit"


@pytest.mark.parametrize("by", ["edit", "command"])
def test_a_short_line_that_a_later_change_may_have_written_is_not_certain(coder, by):
    coder.claude(WORDS[0], "src/cart.py", CART.replace("import decimal\n", "import decimal\nx = 5\nimport fractions\n"))
    if by == "edit":
        coder.claude(WORDS[1], "src/cart.py", "x = 7", old="x = 5")
    else:
        coder.shell(WORDS[1], "sed -i 's/x = 5/x = 7/' src/cart.py")
    coder.commit("Add the cart")
    [why] = coder.why("src/cart.py:2")
    assert why["certain"] is False
    assert why["exchange"]["request"] == (WORDS[0] if by == "edit" else WORDS[1])


def test_a_line_two_sessions_wrote_is_led_to_the_last_before_its_commit(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.commit("Add the cart")
    coder.file("src/cart.py").write_text("")
    coder.commit("Throw it away")
    coder.claude(WORDS[1], "src/cart.py", CART)
    commit = coder.commit("Once more")
    coder.claude(WORDS[2], "src/cart.py", CART)
    (reason,) = coder.why("src/cart.py:5")
    assert (reason["exchange"]["request"], reason["certain"], reason["others"]) == (WORDS[1], True, 1)
    assert reason["commit"] == commit
    assert "1 earlier exchange wrote the same line" in coder.world.run("why", "src/cart.py:5").out


@pytest.mark.parametrize("path", ["src/login.py", "auth/token.py", "etc/password.py", "secrets/api_key.py"])
def test_the_digests_of_a_file_named_after_a_secret_are_no_secret(coder, path):
    coder.claude(WORDS[0], path, CART)
    coder.commit("Add the cart")
    assert coder.origins(path)[6] == (WORDS[0], True)
    coder.codex(WORDS[1], path, CONFIRM)
    coder.commit("Confirm orders")
    origins = coder.origins(path)
    assert (origins[6], origins[14]) == ((WORDS[0], True), (WORDS[1], True))
    checks = {item["check"]: item["level"] for item in coder.world.run("doctor", "--json").json["checks"]}
    assert checks["secrets"] == "ok"
    assert "othing" in coder.world.run("purge", "--secret", "--dry-run").out
    base = coder.world.git("rev-list", "--max-parents=0", "HEAD").strip()
    found = coder.world.ran("check", "--ci", "--base", base, "--json", cwd=coder.world.root).json["findings"]
    assert "secrets" not in {item["check"] for item in found}


def test_a_row_that_gitmem_did_not_write_is_read_as_text(coder):
    coder.claude(WORDS[0], "src/login.py", CART)
    record = next((coder.world.root / "lines").rglob("*.txt"))
    row = record.read_text().split(" ")
    *others, last = re.findall(".{11}", row[2])
    forged = [
        " ".join([row[0], row[1], digests, "src/login.py"])
        for digests in ("".join([last, *others]), "".join([*others, f"{last[:-1]}B"]), row[2] + last)
    ]
    record.write_text("\n".join([*forged, " ".join(row)]))
    coder.world.run("save", "Carts have owners.")
    rows = record.read_text().split("\n")
    assert [line.split(" ")[2] for line in rows[:3]] == ["[REDACTED:api-key]"] * 3
    assert rows[3:] == " ".join(row).split("\n")


def test_a_line_past_the_end_of_a_file_that_is_not_committed_says_how_many_it_has(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    ran = coder.world.ran("why", "src/cart.py:99")
    assert (ran.code, "src/cart.py has no line 99: it has 10." in ran.err) == (9, True), ran.err
    assert "not committed" in ran.err


def test_a_line_that_is_too_short_is_not_said_to_be_written_by_a_session(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.append("src/cart.py", "# ===\n")
    coder.commit("Add the cart")
    shown = coder.world.run("why", "src/cart.py:11").out
    assert "the session wrote a line beside this one, which is too short to be recorded itself" in shown
    assert "asked     perhaps" in shown


def test_a_commit_and_a_text_lead_there_too(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    commit = coder.commit("Add the cart")
    assert {reason["exchange"]["request"] for reason in coder.why(commit[:10])} == {WORDS[0]}
    assert [reason["lines"][0]["line"] for reason in coder.why("-S", "total_price")] == [4, 9]


def test_a_decision_that_cites_the_exchange_is_told_and_whether_it_is_in_force(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.commit("Add the cart")
    exchange = coder.why("src/cart.py:5")[0]["exchange"]["id"]
    fact = coder.world.run("facts", "add", "Prices are decimals, never floats.", "--json").json["id"]
    file = next((coder.world.root / "facts").rglob(f"{fact}*"))
    file.write_text(re.sub("(?m)^sources: .*$", f"sources: [{exchange}]\n", file.read_text(), count=1))
    told = coder.world.run("why", "src/cart.py:5").out
    assert f"Prices are decimals, never floats. ^{fact}" in told
    coder.world.run("facts", "retire", fact)
    assert coder.why("src/cart.py:5")[0]["facts"][0]["in_force"] is False


def test_a_decision_of_the_same_turn_about_something_else_is_called_so_and_lines_of_one_answer_are_one_block(coder):
    coder.file("pyproject.toml").write_text("\n")
    coder.commit("Begin")
    text = '[project]\nname = "tides"\nversion = "0.1.0"\nrequires-python = ">=3.11"\n'
    said = "Decision: heights are in metres. Rule: the project needs Python 3.11. Start it"
    coder.claude(said, "pyproject.toml", text)
    coder.commit("Add the project")
    told = coder.world.run("why", "pyproject.toml").out
    assert told.startswith("pyproject.toml:1-4  [project]\n")
    assert told.count("  asked ") == 1
    assert re.search(r"(?m)^  same turn Heights are in metres\. \^", told)
    assert re.search(r"(?m)^  rule      The project needs Python 3\.11\. \^", told)
    facts = coder.why("pyproject.toml")[0]["facts"]
    assert {fact["kind"]: fact["same_turn"] for fact in facts} == {"decision": True, "rule": False}
    viewer = Viewer(str(coder.world.root), coder.world.context).sign_in()
    page = viewer.get("/why?where=pyproject.toml:1")
    assert re.search(r"Heights are in metres\.</a> <span[^>]*>of the same turn<", page)
    assert page.count("of the same turn") == 1


def test_a_file_that_was_never_committed_leads_to_the_request_that_wrote_it(coder):
    coder.file("src/old.py").write_text("value = 1\n")
    coder.commit("Begin")
    coder.claude(WORDS[0], "src/cart.py", CART)
    [why] = coder.why("src/cart.py:5")
    assert (why["exchange"]["request"], why["certain"], why["commit"]) == (WORDS[0], True, None)
    assert "src/cart.py: 6 of 6 lines left" in coder.world.run("show", f"^{why['exchange']['id']}").out
    assert coder.world.ran("why", "src/cart.py:99").code == 9


def test_an_edit_that_is_known_by_the_words_it_replaced_is_perhaps_the_lines(coder):
    coder.file("src/db.py").write_text('URL = "sqlite:///a.db"\nOTHER = "by hand alone"\n')
    coder.commit("Begin")
    coder.claude(WORDS[0], "src/db.py", "postgresql://shop", old="sqlite:///a.db")
    [why] = coder.why("src/db.py:1")
    assert (why["exchange"]["request"], why["certain"]) == (WORDS[0], False)
    assert "an edit of the session wrote a part of this line" in coder.world.run("why", "src/db.py:1").out


def test_an_empty_answer_says_what_was_looked_at(coder):
    coder.file("src/old.py").write_text("value_of_long_ago = compute_everything()\n")
    commit = coder.commit("Long ago")
    coder.claude("Just note it", "src/short.py", "x\n")  # a session is recorded, and no line that tells it
    assert "no edit of a session is recorded yet" in coder.world.run("why", "src/old.py:1").out
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.append("src/old.py", "typed_now_by_hand = compute_everything(again=True)\n")
    assert "this line is older than the recorded edits, which begin at 20" in coder.world.run("why", "src/old.py:1").out
    assert "no recorded command names its file: somebody typed it" in coder.world.run("why", "src/old.py:2").out
    later = coder.commit("By hand")
    told = coder.world.run("why", "src/old.py:2").out
    assert "no recorded session made its commit: somebody typed it, or a program wrote it" in told
    assert f"git show {later[:10]}, gitmem show 2026-11-20 (what sessions did that day)" in told
    assert commit != later


@pytest.mark.parametrize(
    "what, code",
    [("nothing.py:1", 9), ("src/old.py:99", 9), ("../outside.py", 9), ("--", 2), ("src/old.py:3-1", 2)],
)
def test_a_wrong_place_is_refused_with_a_remedy(coder, what, code):
    coder.file("src/old.py").write_text("value = 1\n")
    coder.commit("Begin")
    ran = coder.world.ran("why", what)
    assert ran.code == code
    assert ran.err.count("\n") >= 1
    assert "Traceback" not in ran.err


def test_an_exchange_and_a_session_say_what_is_left_of_their_code(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    commit = coder.commit("Add the cart")
    exchange = coder.why("src/cart.py:5")[0]["exchange"]["id"]
    assert f"src/cart.py: 6 of 6 lines left, in {commit[:10]} (6)" in coder.world.run("show", f"^{exchange}").out
    run_git(coder.world.project, "mv", "src/cart.py", "src/basket.py")
    text = coder.file("src/basket.py").read_text()
    coder.file("src/basket.py").write_text(text.replace("import decimal\n", "import fractions\n"))
    coder.commit("Rename it")
    assert "src/basket.py (then src/cart.py): 5 of 6 lines left" in coder.world.run("show", f"^{exchange}").out
    session = coder.world.run("sessions", "--json").json[0]["id"]
    shown = coder.world.run("show", session).out
    assert "src/basket.py (then src/cart.py): 5 of 6 lines left" in shown
    assert coder.world.run("sessions", session).out == shown
    run_git(coder.world.project, "rm", "-q", "src/basket.py")
    coder.commit("Remove it")
    assert "src/cart.py is gone; 6 lines were written into it" in coder.world.run("show", f"^{exchange}").out


def test_a_file_leads_to_the_requests_that_made_it(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.commit("Add the cart")
    run_git(coder.world.project, "mv", "src/cart.py", "src/basket.py")
    coder.commit("Rename it")
    coder.codex(WORDS[1], "src/basket.py", CONFIRM)
    made = coder.world.run("log", "--code", "src/basket.py", "--json").json
    assert [(item["request"], item["left"]) for item in made] == [(WORDS[1], 3), (WORDS[0], 6)]
    assert "6 of 6 lines left" in coder.world.run("log", "--code", "src/basket.py").out
    assert coder.world.ran("log", "--code", "nothing.py").code == 9


def test_the_sessions_on_a_branch_of_entire_are_read_each_at_its_longest(coder):
    """The branch has two snapshots of one growing session; the longer one says what wrote the line."""
    git, project = run_git, coder.world.project
    lines = coder._claude(
        "5e55a000-0000-4000-8000-000000000000",
        WORDS[0],
        ("Write", {"file_path": str(project / "src/cart.py"), "content": CART}),
    )
    coder.file("src/cart.py").write_text(CART)
    coder.commit("Add the cart")
    assert coder.world.ran("import", "--from", "entire").code == 9
    git(project, "switch", "-q", "--orphan", "entire/checkpoints/v1")
    for number, length in ((0, 2), (1, 4)):
        folder = project / f"a{number}" / "b1c2d3e4f5" / "0"
        folder.mkdir(parents=True)
        (folder / "full.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines[:length]))
        (folder / "metadata.json").write_text(json.dumps({"session_id": lines[0]["sessionId"]}))
    (project / "a0" / "b1c2d3e4f5" / "full.jsonl").write_text("no transcript\n")
    git(project, "add", "a0", "a1")
    git(project, "commit", "-qm", "Checkpoint")
    git(project, "switch", "-q", "main")
    assert "sessions on Entire's branch" in coder.world.run("import").out
    assert coder.world.run("import", "--from", "entire", "--dry-run", "--json").json["files"]
    assert coder.world.run("import", "--from", "entire", "--json").json["saved"] == 1
    (reason,) = coder.why("src/cart.py:5")
    assert (reason["exchange"]["request"], reason["certain"]) == (WORDS[0], True)
    assert coder.world.run("import", "--from", "entire", "--json").json["saved"] == 0


def test_a_row_that_somebody_added_to_an_exchange_makes_nothing_certain(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.file("src/other.py").write_text("secret_backdoor_of_mallory = open_the_door()\n")
    coder.commit("Both")
    record = next((coder.world.root / "lines").rglob("*.txt"))
    row = record.read_text().splitlines()[0].split()
    forged = f"{row[0]} {row[1]} {digest_of('secret_backdoor_of_mallory = open_the_door()')} src/other.py\n"
    record.write_text(record.read_text() + forged)
    (reason,) = coder.why("src/other.py:1")
    assert reason["certain"] is False


def test_a_forgotten_session_takes_its_rows_along(coder):
    coder.claude(WORDS[0], "src/cart.py", CART)
    coder.codex(WORDS[1], "src/cart.py", CONFIRM)
    coder.commit("Both")
    session = next(one["id"] for one in coder.world.run("sessions", "--json").json if WORDS[0] in one["about"])
    coder.world.run("forget", "--session", session, "--yes")
    records = b"".join(path.read_bytes() for path in (coder.world.root / "lines").rglob("*.txt"))
    assert len(parse_written(records)) == 1, "the other session's row stays"
    history = run_git(coder.world.root, "log", "--all", "-p", "--", "lines")
    assert digest_of("    return sum(item.price * item.count for item in cart.items)") not in history
    assert coder.why("src/cart.py:5")[0]["ground"] == "nobody"
