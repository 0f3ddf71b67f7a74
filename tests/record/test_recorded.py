"""The recorded sessions of our own making: the reader finds every request, and labels point at what is there."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from gitmem.hosts.registry import find_host, writer
from gitmem.learn.end import replay
from gitmem.model.transcript import Role, Unread, hook_events, records
from gitmem.model.turns import fold

DATA = Path(__file__).resolve().parents[1] / "data" / "sessions"
SESSIONS = sorted(DATA.glob("*.jsonl"))


def prompts_of(path: Path) -> list[str]:
    """Return the prompts, from the lines themselves."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    said = [line["message"]["content"] for line in lines if line["type"] == "user" and not line.get("isCompactSummary")]
    return [text for text in said if isinstance(text, str)]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_recorded_session_is_read_whole(path):
    unread = Unread()
    parts = list(records(path.read_text("utf-8").splitlines(keepends=True), unread))
    turns = fold(hook_events(parts))
    assert not unread.lines
    assert find_host(writer(str(path))).name == "claude"
    assert [turn.prompt for turn in turns] == prompts_of(path)
    assert sum(not turn.answer for turn in turns) <= 1  # a user may go on, or leave, before an answer
    roles = Counter(part.role for part in parts)
    assert roles[Role.CALL] == roles[Role.RESULT]
    assert sum(turn.tools for turn in turns) == roles[Role.CALL]


LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")


@pytest.mark.slow
@pytest.mark.parametrize("project", ["calc", "backup"])
def test_every_link_of_a_store_that_recorded_sessions_made_leads_to_a_file_in_it(world, bare_git, project):
    for path in SESSIONS:
        if path.name.startswith(project):
            replay(world.store, str(path))
    root = Path(world.store.root)
    found = Counter()
    for path in sorted(root.rglob("*.md")):
        for target in LINK.findall(path.read_text("utf-8")):
            if not target.startswith("https://"):
                place = (path.parent / target).resolve()
                assert place.is_file(), (path, target)
                assert place.is_relative_to(root.resolve()), (path, target)
                found[path.relative_to(root).parts[0], place.relative_to(root.resolve()).parts[0]] += 1
    made = {folder for folder in ("facts", "episodes", "patterns") if (root / folder).exists()}
    assert {("concepts", "sessions"), ("episodes", "sessions"), *(("sessions", one) for one in made)} <= {*found}
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    for path in SESSIONS:
        if path.name.startswith(project):
            replay(world.store, str(path))
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before
    assert bare_git(root, "status", "--porcelain") == ""
