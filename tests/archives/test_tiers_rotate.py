import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run

import pytest

from gitmem.archives.archives import pending_archives
from gitmem.archives.rotate import check
from gitmem.archives.summarize import read_summary
from gitmem.document.entry import MemoryType, entry_ids
from gitmem.facts.compare import MOST_DISPUTED
from gitmem.facts.edit import retire
from gitmem.facts.validity import in_force
from gitmem.history.records import rotations
from gitmem.importers.migrate import migrate
from gitmem.importers.plan import SourceKind
from gitmem.importers.read import Source
from gitmem.sessions.save import save
from gitmem.store.known_facts import known_facts
from tests.boxes import forget_private
from tests.own_settings import own_settings
from tests.started import session_start

SMALL = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n"


def configured(desk, text: str = SMALL):
    own_settings(desk.store.context, text)
    desk.store = type(desk.store)(desk.store.root, desk.store.context)
    return desk


def fill(desk, count: int) -> list[str]:
    ids = []
    for index in range(count):
        what = desk.save(f"entry number {index}, long enough to fill a file before long")
        save(desk.store, what)
        ids.append(what.id)
    return ids


def archives(desk) -> list[Path]:
    return sorted(Path(desk.store.root, "archive").glob("*.md"))


def write_memory(desk, size: int) -> bytes:
    path = Path(desk.store.root, "memory.md")
    head = b"# Memory\n\n## Recent Context\n\n"
    line = b"a line of text that fills the file up\n"
    data = (head + line * (size // len(line)))[:size]
    data += b"x" * (size - len(data))
    path.write_bytes(data)
    return data


def test_a_rotation_is_one_commit_of_archive_and_carryover(desk, bare_git):
    data = write_memory(desk, 100_000)
    result, _ = check(desk.store)
    root = Path(desk.store.root)
    assert result.archive == "archive/memory_20261121_140322.md"
    assert (root / result.archive).read_bytes() == data
    assert len((root / "memory.md").read_bytes()) <= 2_375 * 4 + 100
    changed = bare_git(root, "show", "--name-only", "--format=%s", "HEAD~1").split("\n")
    assert changed[0] == "Rotate memory.md into memory_20261121_140322.md (25,000 tokens)"
    assert sorted(changed[2:]) == ["archive/memory_20261121_140322.md", "memory.md"]
    assert bare_git(root, "log", "-1", "--format=%(trailers:key=Gitmem-Op,valueonly)", "HEAD~1") == "rotate"
    assert bare_git(root, "status", "--porcelain") == ""


def test_two_rotations_in_one_second_get_two_names(desk):
    write_memory(desk, 100_000)
    check(desk.store)
    write_memory(desk, 100_000)
    check(desk.store)
    assert [path.name for path in archives(desk)] == ["memory_20261121_140322.md", "memory_20261121_140322_02.md"]


def test_a_save_rotates_first_and_lands_in_the_new_file(desk):
    configured(desk)
    ids = fill(desk, 40)
    assert len(archives(desk)) >= 2
    memory = desk.text("memory.md")
    assert ids[-1] in memory
    everywhere = entry_ids(memory).union(*(entry_ids(path.read_text(encoding="utf-8")) for path in archives(desk)))
    assert everywhere == set(ids)
    assert set(ids) == entry_ids(desk.text("daily/2026/11/2026-11-21.md"))


@pytest.mark.slow
def test_of_many_decisions_none_is_lost_and_a_line_counts_those_without_one(desk):
    configured(desk, "rotation:\n  threshold_tokens: 1000\n  carryover_tokens: 100\n")
    made = [save(desk.store, desk.save(f"decision {index} on a part", MemoryType.DECISION)).id for index in range(80)]
    memory = desk.text("memory.md")
    shown = entry_ids(memory)
    assert archives(desk)
    assert made[-1] in shown
    assert len(in_force(known_facts(desk.store))) == 80
    assert sum(len(fact.review) for fact in known_facts(desk.store)) <= 2 * MOST_DISPUTED * 80, "it is a series"
    count = int(re.search(r"(\d+) more are facts: `gitmem facts list`", memory)[1])
    assert count == 80 - len(shown)
    hidden = next(fact for fact in known_facts(desk.store) if fact.id not in shown)
    retire(desk.store, hidden, "")
    assert f"{count - 1} more are facts" in desk.text("memory.md")
    assert entry_ids(desk.text("memory.md")) == shown


def test_rotation_can_be_switched_off(desk):
    configured(desk, SMALL + "  enabled: false\n")
    fill(desk, 30)
    assert archives(desk) == []


def test_archives_over_the_limit_leave_the_tree_but_not_history(desk, bare_git):
    configured(desk, SMALL + "  max_archives: 1\n")
    fill(desk, 40)
    assert len(archives(desk)) == 1
    added = bare_git(Path(desk.store.root), "log", "--diff-filter=A", "--name-only", "--format=", "--", "archive")
    assert len(added.split()) >= 2


def test_old_archives_leave_the_tree(desk):
    configured(desk, SMALL + "  archive_retention_days: 30\n")
    old = Path(desk.store.root, "archive/memory_20260101_000000.md")
    old.parent.mkdir()
    old.write_text("# long ago\n", encoding="utf-8")
    write_memory(desk, 4_000)
    result, _ = check(desk.store)
    assert result.dropped == ("archive/memory_20260101_000000.md",)
    assert not old.exists()


def test_of_two_checks_at_once_one_rotates_and_the_other_says_so(desk, environ):
    write_memory(desk, 100_000)
    command = [sys.executable, "-m", "gitmem", "-C", desk.store.root + "/..", "check"]
    root = Path(__file__).resolve().parents[2]
    with ThreadPoolExecutor(4) as pool:
        env = {**environ, "PYTHONPATH": str(root)}
        done = list(pool.map(lambda _: run(command, capture_output=True, text=True, check=True, env=env), range(4)))
    rotated = [one for one in done if "[GITMEM_ROTATE] file=archive/memory_" in one.stdout]
    assert len(rotated) == len(archives(desk)) == 1
    assert all(
        "nothing was left to do" in one.stdout or "Nothing to do" in one.stdout for one in done if one not in rotated
    )


def test_the_index_is_derived_whatever_file_of_an_older_tool_says_otherwise(desk):
    write_memory(desk, 100_000)
    check(desk.store)
    before = rotations(desk.store)
    Path(desk.store.root, "memory-index.json").write_text('{"version": 1, "rotatedFiles": [', encoding="utf-8")
    forget_private(Path(desk.store.private))
    assert rotations(desk.store) == before
    legacy = Path(desk.store.root).parent / ".claude" / "memory"
    legacy.mkdir(parents=True)
    (legacy / "memory-index.json").write_text("{", encoding="utf-8")
    (legacy / "memory_20260113_112700.md").write_text("- kept\n", encoding="utf-8")
    migrate(desk.store, Source(SourceKind.ROTATION, str(legacy)))
    assert rotations(desk.store)[0].path == "archive/memory_20260113_112700.md"


def test_from_a_full_memory_to_the_next_session(desk):
    line = b"- the parser caches its tokens now\n"
    Path(desk.store.root, "memory.md").write_bytes(b"# Memory\n\n## Recent Context\n\n" + line * 3_000)
    done = save(desk.store, desk.save("what comes after it lands in the new file"))
    assert "lands in the new file" in desk.text("memory.md")
    assert "lands in the new file" not in desk.text(done.archive)
    told = session_start(desk.store, (), None, pending_archives(desk.store))
    assert f"[GITMEM_ROTATE] file={done.archive}" in told
    assert "the parser caches its tokens" in told
    assert read_summary(desk.store, done.archive).overall_summary.split(".")[0] in session_start(
        desk.store, (), None, ()
    )
