"""What `gitmem status` says of documents is what a look at all of them would, and it looks at few."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.git.packing import known_files
from gitmem.store import document_checks as changed
from gitmem.store.document_checks import check_conflicts, check_headers, look
from tests.boxes import Box

BROKEN = b"---\nid: [\n---\nbody\n"
MARKED = b"<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"
FINE = b"---\nid: x\n---\nbody\n"


def said(box: Box) -> list:
    box.reopen()
    return list(look(box.store, box.store.files.edited()).findings)


def all_that_is_wrong(box: Box) -> list:
    paths = known_files(box.store.repository.git)
    return [check(box.store, paths).finding for check in (check_headers, check_conflicts)]


@pytest.fixture
def looked_at(monkeypatch) -> list[str]:
    """Collect the names of the documents that are read."""
    seen: list[str] = []
    real = changed.check_headers

    def watched(store, paths):
        seen.extend(paths)
        return real(store, paths)

    monkeypatch.setattr(changed, "check_headers", watched)
    return seen


def test_only_what_changed_is_looked_at(box, looked_at):
    box.put({"facts/a.md": FINE, "facts/b.md": FINE})
    said(box)
    assert set(looked_at) == set(known_files(box.store.repository.git))
    looked_at.clear()
    said(box)
    assert looked_at == []
    box.put({"facts/b.md": FINE + b"more\n"})
    box.write("by hand 한글.md", FINE)
    said(box)
    assert looked_at == ["by hand 한글.md", "facts/b.md"]


def test_a_new_clone_is_looked_at_bit_by_bit(box, looked_at, monkeypatch):
    files = {f"facts/{number:03}.md": FINE for number in range(50)} | {"facts/049.md": BROKEN, "facts/048.md": MARKED}
    box.put(files | {"facts/047.md": FINE.replace(b"id: x", b"id: x\nreview: [Section]")})
    Path(box.store.private, "examined.json").unlink(missing_ok=True)
    counts, lefts, levels = [], [], []
    while True:
        looked_at.clear()
        looked = changed.look(box.store, (), most=20)
        counts, lefts, levels = [*counts, len(looked_at)], [*lefts, looked.left], [one.level for one in looked.findings]
        if not looked.left:
            break
    assert max(counts) <= 20 + 2
    assert lefts == sorted(lefts, reverse=True)
    assert [level.value for level in levels] == ["problem", "problem"]
    assert [item.path for item in looked.review] == ["facts/047.md"]


def test_what_was_found_is_told_until_it_is_mended(box):
    box.put({"facts/a.md": BROKEN, "facts/b.md": MARKED, "facts/c.md": FINE})
    for _ in range(3):
        assert said(box) == all_that_is_wrong(box)
        assert [finding.level.value for finding in said(box)] == ["problem", "problem"]
        box.put({"facts/c.md": FINE + b"more\n"})
    box.put({"facts/a.md": FINE, "facts/b.md": FINE})
    assert [finding.level.value for finding in said(box)] == ["ok", "ok"]


@pytest.mark.parametrize("committed, edited", [(FINE, BROKEN), (BROKEN, FINE)])
def test_an_edit_that_is_taken_back_leaves_what_is_committed(box, committed, edited):
    box.put({"facts/a.md": committed})
    for content in (committed, edited, committed):
        box.write("facts/a.md", content)
        assert said(box) == all_that_is_wrong(box)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"{",
        b"[]",
        b'{"by": "0", "commit": "x", "again": []}',
        json.dumps({"by": changed.__version__, "commit": "0" * 40, "again": []}).encode(),
        json.dumps({"by": changed.__version__, "commit": "--output=x", "again": 3}).encode(),
        json.dumps({"by": changed.__version__, "commit": "--output=x", "again": ["../../x", "/etc/passwd"]}).encode(),
    ],
)
def test_a_record_that_is_no_use_is_none(box, record):
    box.put({"facts/a.md": BROKEN})
    Path(box.store.private, "examined.json").write_bytes(record)
    assert said(box) == all_that_is_wrong(box)
    assert not list(box.root.glob("**/x"))


CONTENTS = st.sampled_from([BROKEN, MARKED, FINE, b"no header\n", b""])
EDITS = st.tuples(st.booleans(), st.sampled_from(["a.md", "b c.md", "facts/한글.md", "x.txt"]), CONTENTS)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDITS, min_size=1, max_size=6))
def test_it_is_what_a_look_at_all_says(box, edits):
    for committed, path, content in edits:
        if committed:
            box.put({path: content})
        else:
            box.write(path, content)
        assert said(box) == all_that_is_wrong(box)
