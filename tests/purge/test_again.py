"""What was purged stays away when the agent's transcript is read once more; what is said after the purge is new."""

import contextlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.learn.facts import adopt
from gitmem.purge.purge import answer_purge, waiting_purges
from gitmem.record.read import cleaner
from tests.agent import Agent, Player
from tests.copies import run_git
from tests.store.purges import files_with, objects_with, purge
from tests.world import NOON, World, converge, make_pair

PHRASE = "the vault opens with quince marmalade"
ASKED = f'Remember that {PHRASE}, and say "yes" in the file notes.md please.'

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the script of the hooks is one of a POSIX shell")


class Hooked(Player):
    """Plays sessions whose hooks are processes, as the settings of Claude Code run them."""

    def __init__(self, world: World) -> None:
        Agent.__init__(self, world, "")  # as no clock of this process is theirs
        self._turns = self._calls = 0
        self.environ["CLAUDE_PROJECT_DIR"] = self.cwd
        self.run("install", "claude")
        settings = json.loads((self.project / ".claude" / "settings.json").read_text("utf-8"))
        self.hooks = {
            event: [hook["command"] for group in groups for hook in group["hooks"]]
            for event, groups in settings["hooks"].items()
        }

    def run(self, *words: str) -> str:
        """Run a command, which first drains the spool."""
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        assert process.returncode in {0, 1}, err
        return (out + err).decode()

    def _now(self) -> datetime:
        return datetime.now(UTC)

    def _shown(self, event: str, **more: object) -> str:
        payload = self.payload(event, f"{self.session}-{self._turns}", transcript_path=str(self._transcript), **more)
        for command in self.hooks.get(event, ()):
            subprocess.run(
                ["sh", "-c", command], input=payload,
                cwd=self.project, env=self.environ, capture_output=True, check=True,
            )  # fmt: skip
        return ""

    def _drain(self) -> None:
        self.run("status")

    def import_again(self, session: str) -> None:
        self.session = session
        self.run("import", str(self._transcript))
        self.session = ""

    def nowhere(self) -> bool:
        found = self.run("search", PHRASE) + self.run("show") + self.run("facts", "list", "--all")
        root = self.project / ".gitmem"
        return PHRASE not in found.lower() and not objects_with(root, PHRASE) and not files_with(root, PHRASE)


@pytest.fixture
def hooked(world: World) -> Hooked:
    run_git(world.project, "init", "-q")
    return Hooked(world)


@pytest.mark.slow
@pytest.mark.parametrize("in_time", [True, False], ids=["recorded before", "in the spool"])
def test_a_purge_in_a_running_session_lasts(hooked: Hooked, in_time: bool) -> None:
    (Path(hooked.environ["HOME"]) / ".gitmem").mkdir(exist_ok=True)
    hooked.run("config", "transcripts.enabled", "true")
    hooked.begin("one")
    hooked.prompt("Which port has the shop, and is it the one of the other server as well?")
    hooked.answer("It is 8080, as the settings of the server say, and the other one has 8081.")
    hooked.prompt(ASKED)
    hooked.write("notes.md", PHRASE)
    if in_time:
        hooked.answer("It is written down.")
        assert not hooked.nowhere()
    assert "urged" in hooked.run("purge", PHRASE, "--yes")
    hooked.answer(f"I wrote down that {PHRASE}, in the file that you named, and nothing else was changed there.")
    hooked.end()
    assert hooked.nowhere()
    day = hooked.run("show", f"{datetime.now(UTC).astimezone():%Y-%m-%d}")
    assert "Remember that (purged), and say" in day
    assert day.count("Remember that") == 1
    assert "8081" in day
    hooked.import_again("one")
    assert hooked.nowhere()
    hooked.begin("two")
    hooked.prompt(f"Again: {PHRASE}, which I want to have in the memory now.")
    hooked.answer("Noted.")
    hooked.end()
    assert PHRASE in hooked.run("search", PHRASE)
    hooked.import_again("one")
    assert "Remember that (purged), and say" in hooked.run("show", f"{datetime.now(UTC).astimezone():%Y-%m-%d}")


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.few(1)
def test_the_purge_of_another_machine(machine, listed: bool) -> None:
    first, second = make_pair(machine)
    said = NOON - timedelta(days=1)
    first.save(f"Everyone knows that {PHRASE}.")
    purge(first.store, PHRASE)
    first.sync()
    second.sync()
    if not listed:
        second.configure("purge:\n  machines: [another]\n")
    clean = cleaner(second.store, said)
    assert clean(f"Say that {PHRASE}.") == ("Say that (purged)." if listed else f"Say that {PHRASE}.")
    assert cleaner(second.store, second.clock() + timedelta(hours=1))(PHRASE) == PHRASE


def test_a_purge_that_waits_cleans_nothing(machine) -> None:
    first, second = make_pair(machine)
    second.configure("purge:\n  machines: [another]\n")
    said = NOON - timedelta(days=1)
    second.save(f"Everyone knows that {PHRASE}.")
    converge(first, second)
    purge(first.store, PHRASE)
    first.sync()
    with contextlib.suppress(RefusedError):
        second.sync()
    assert cleaner(second.store, said)(PHRASE) == PHRASE
    (waiting,) = waiting_purges(second.store)
    answer_purge(second.store, waiting.path, yes=True)
    second.sync()
    assert cleaner(second.store, said)(PHRASE) == "(purged)"


def test_notes_of_the_agent_from_before_the_purge(world: World, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "vault.md").write_text(f"The team agreed that {PHRASE} each morning.\n")
    os.utime(notes / "vault.md", (world.clock().timestamp(), world.clock().timestamp()))
    adopt(world.store, str(notes))
    purge(world.store, PHRASE)
    (notes / "port.md").write_text("The shop listens on port 9931 behind the proxy.\n")
    adopt(world.store, str(notes))
    assert "9931" in world.git("grep", "9931")
    assert objects_with(world.root, PHRASE) == files_with(world.root, PHRASE) == []


def test_words_that_were_said_since_cost_no_search(world: World, git_starts: list[str], monkeypatch) -> None:
    assert cleaner(world.store, world.clock())(PHRASE) == PHRASE
    assert git_starts == []
    world.save(f"Everyone knows that {PHRASE}.")
    purge(world.store, PHRASE)
    before = world.clock() - timedelta(days=1)
    assert cleaner(world.store, before)(f"say: {PHRASE}, \udc80").startswith("say: (purged), ")
    git_starts.clear()
    monkeypatch.setattr("gitmem.purge.record.digest_of", None)
    assert cleaner(world.store, before)(f'"{PHRASE}"') == '"(purged)"'
    assert cleaner(world.reopen(), world.clock() + timedelta(days=3))(PHRASE) == PHRASE
    assert git_starts == []


@pytest.mark.slow
def test_a_session_that_is_forgotten_while_it_runs(hooked: Hooked) -> None:
    hooked.run("config", "transcripts.enabled", "true")
    hooked.begin("one")
    hooked.prompt(ASKED)
    hooked.answer("It is written down for all of us, in the file of notes that you named.")
    hooked.prompt("Go on with the parser of dates, which we began last week.")
    assert "urged" in hooked.run("forget", "--session", "one", "--yes")
    hooked.answer("It reads dates now, in the ISO form and in the German one.")
    hooked.end()
    hooked.import_again("one")
    root = hooked.project / ".gitmem"
    assert objects_with(root, PHRASE, "parser of dates") == files_with(root, PHRASE) == []
    hooked.session = "one"
    hooked.prompt("Which form has the calendar of the shop, and who looks after it?")
    hooked.answer("It has the ISO form.")
    hooked.end()
    assert "calendar of the shop" in hooked.run("show", f"{datetime.now(UTC).astimezone():%Y-%m-%d}")
