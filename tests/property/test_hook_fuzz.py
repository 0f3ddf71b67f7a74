"""Payloads of any form cause no exception, no hang and no file outside the store; each is kept or set aside."""

import io
import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.background import process_spool
from gitmem.cli.app import App
from gitmem.cli.commands.hook import hook
from gitmem.document.entry import find_entries, render_entry
from gitmem.model.entries import remember
from gitmem.model.events import HookEvent, HookKind
from gitmem.model.turns import fold
from gitmem.platform.machine import Context, machine_name
from gitmem.record.read import parse_payload
from gitmem.store.findings import FailureLog
from gitmem.store.init import Place, init_store
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.copies import run_git

AT = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
HOSTILE = [
    *("", " ", "..", ".", ".git", "../../x", "/etc/passwd", "a/../../b", "C:\\x", "CON", "~", "-C", "--drain"),
    *("\0", "a\0b", "/a\0b", "\n", "a\nGitmem-Op: rotate", "\r\n\r\n", "\u2028", "\x1b[31m", "\ud800", "\udcff\ud83d"),
    *("<private>", "</private>", "<private>x", "</gitmem-memory>", "<system-reminder>x", "<task-notification>y"),
    *("- [10:00:00] **Note**: x ^00000000000000000000", "## Timeline", "---\nid: x\n---", "```"),
    "^0123456789abcdefghjk",
    *("ok", "계속", "한글 문장입니다. 결정: uv를 사용하기로 결정했습니다.", "We decided to use uv instead of pnpm."),
    *(
        "*** Begin Patch\n*** Add File: ../../../x\n",
        "exit code 1\nerror: no",
        "x" * 3_000,
        "한" * 2_000,
        "é́" * 50,
        "🧠",
    ),
]
TEXT = st.sampled_from(HOSTILE) | st.text(max_size=40) | st.lists(st.sampled_from(HOSTILE), max_size=4).map("\n".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.integers(10**30, 10**40) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from([kind.value for kind in HookKind])
INPUT = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("command", "file_path", "notebook_path", "path", "patch", "content", "description"), TEXT | JSON
    ),
)


def payloads(paths=TEXT):
    """Draw nearly valid payloads: each field is valid, hostile, of another type, or missing."""
    return st.fixed_dictionaries(
        {
            "hook_event_name": KINDS | KINDS | TEXT | JSON,
            "session_id": st.sampled_from(["s-1", "s-2"]) | TEXT | JSON,
        },
        optional={
            "prompt_id": st.sampled_from(["p-1", "p-2"]) | TEXT | JSON,
            "turn_id": TEXT | JSON,
            "prompt": TEXT | JSON,
            "last_assistant_message": TEXT | JSON,
            "error": TEXT | JSON,
            "source": st.sampled_from(["startup", "resume", "compact"]) | JSON,
            "tool_name": st.sampled_from(["Bash", "Edit", "Write", "apply_patch"]) | TEXT | JSON,
            "tool_use_id": st.sampled_from(["t-1", "t-2"]) | TEXT | JSON,
            "tool_input": INPUT | INPUT | JSON,
            "tool_response": JSON,
            "agent_id": st.just("") | TEXT | JSON,
            "cwd": paths | JSON,
            "transcript_path": paths | JSON,
            "background_tasks": JSON,
        },
    )


def check_pure(delivered: list[dict]) -> None:
    """Parse payloads into events, turns and entries; check that the entries can be written and read."""
    events: list[HookEvent] = []
    for number, payload in enumerate(delivered):
        try:
            event = parse_payload(payload, AT + timedelta(seconds=number), "claude-code")
        except ValueError:
            continue
        if event is not None:
            events.append(event._replace(source=str(number)))
    turns = fold(events)
    assert fold(reversed(events)) == turns
    for turn in turns:
        for asked in (True, False):
            what = remember(turn._replace(closed=True), ("/p", turn.cwd), exchange=asked)
            if what is None:
                continue
            for entry in filter(None, (what.logged, what.recent)):
                assert [found.entry for found in find_entries(render_entry(entry))] == [entry]
                render_entry(entry).encode()


def examples(few: int, many: int) -> pytest.MarkDecorator:
    """Have a test try a few examples, and in the longest runs many."""
    long = (pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1_800))
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=long)], ids=["few", "many"])


def tried(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@examples(50, 9_000)
def test_payloads_of_any_form(count):
    tried(count)(given(st.lists(payloads(), max_size=6))(check_pure))()


# Through the app, into a store


class Watched:
    """A project with a store in a watched folder; made once, since that takes longest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.project = self.folder / "project"
        self.project.mkdir()
        self.environ = {**os.environ, "HOME": str(self.folder / "home")}
        self.context = Context(self.environ, str(self.folder / "home"), "box", lambda: datetime.now(UTC))
        self.store = init_store(str(self.project), self.context, Place.PROJECT).store
        run_git(self.store.root, "config", "gc.auto", "0")
        machine_name(self.context.home)  # made once, by the first command
        self.outside = self._outside()

    def deliver(self, data: bytes) -> str:
        out = io.StringIO()
        stdin = io.TextIOWrapper(io.BytesIO(data))
        assert hook(["hook", "claude"], App(self.environ, str(self.project), stdin, out, out)) == 0
        return out.getvalue()

    def process_spool(self) -> None:
        store = Store(self.store.root, self.context)
        process_spool(store, lambda _: False)
        assert HookSpool(store.private).names() == [], FailureLog(store.private).failures()
        assert run_git(self.store.root, "status", "--porcelain") == ""
        assert self._outside() == self.outside

    def _outside(self) -> list[str]:
        """List every file outside the store."""
        found = []
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name != ".gitmem"]
            found += [os.path.join(folder, name) for name in (*folders, *names)]
        return sorted(found)


def through_the_door(place: Watched, delivered: list[dict], cut: int) -> None:
    failures = len(FailureLog(place.store.private).failures())
    for payload in delivered:
        data = json.dumps(payload).encode()
        said = place.deliver(data[:cut] if cut and len(data) > 200 else data)
        if said:  # a line for the user, or text for the agent as well
            answer = json.loads(said)
            text = answer.get("hookSpecificOutput", {}).get("additionalContext", answer.get("systemMessage"))
            assert len(text) < 10_000
            text.encode()
    place.process_spool()
    later = FailureLog(place.store.private).failures()[failures:]
    expected = (
        "not a JSON object",
        "tells no turn",
        "is not there",
    )  # the latter of transcripts
    assert [one.message for one in later if not any(words in one.message for words in expected)] == []


PATHS = st.sampled_from(
    ["/no/such", "/", "..", "a\0b", "/a\0b", "\ud800", "/\udcff", "/dev/null", "/dev/zero", "/" + "x/" * 3_000]
)


@pytest.fixture(scope="module")
def place(_isolated):
    with tempfile.TemporaryDirectory(prefix="gitmem fuzz ") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "start", lambda *_: None)  # the drain is done here, after each example
        yield Watched(Path(folder))


@pytest.mark.slow
@examples(40, 1_000)
def test_payloads_through_the_door(place, count):
    @tried(count)
    @given(st.lists(payloads(PATHS), min_size=1, max_size=4), st.sampled_from([0, 0, 0, 150]))
    def checked(delivered, cut):
        through_the_door(place, delivered, cut)

    checked()
