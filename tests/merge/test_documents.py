"""Each scenario that gitmem.merge.documents lists, and the laws of every merge."""

import itertools

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gitmem.document.document import Document
from gitmem.document.entry import Entry, entry_ids, find_entries, render_entry, section_of
from gitmem.document.ids import make_id
from gitmem.merge.documents import Merged, MergeStatus, beside_path, has_markers, is_beside, merge, without_markers
from gitmem.merge.trees import merge_trees
from gitmem.model.exchange import Fields, render_fields
from gitmem.model.fact import parse_fact

HEADER = "---\nid: {0}\nkind: {0}\ncreated: 2026-11-21T00:00:00Z\n---\n"
SECTIONS = ("Core Decisions", "Current State", "Recent Context", "Known Issues")


def entry(number: int, text: str | None = None) -> str:
    """Return an entry as it stands in a log; its number orders it."""
    said = text if text is not None else f"said number {number}"
    identifier = make_id(1_700_000_000_000 + number * 1000, b"%07d" % number)
    return render_entry(Entry(identifier, f"2026-11-21 10:{number // 60:02d}:{number % 60:02d}", "Note", said))


def ident(number: int) -> str:
    return make_id(1_700_000_000_000 + number * 1000, b"%07d" % number)


def log(*parts: str, header: str = HEADER.format("memory")) -> bytes:
    return (header + "# Memory\n\n" + "\n".join(parts)).encode()


def section(title: str, *entries: str) -> str:
    return f"## {title}\n\n" + "".join(entries)


def recent(*numbers: int) -> bytes:
    return log(section("Recent Context", *map(entry, numbers)))


def numbers(data: bytes | None) -> list[str]:
    assert data is not None
    return [found.entry.id for found in find_entries(Document.parse(data).body)]


def both(base: bytes | None, ours: bytes | None, theirs: bytes | None, path: str = "memory.md"):
    """Merge from either side, which must come to the same."""
    merged = merge(path, base, ours, theirs)
    assert merge(path, base, theirs, ours) == merged
    if merged.data is not None:
        assert not has_markers(merged.data)
    return merged


def review(data: bytes | None) -> object:
    assert data is not None
    return Document.parse(data).get("review")


# Scenarios, in the order of the docstring


def test_one_side_unchanged_both_the_same_both_absent():
    a, b = recent(1), recent(1, 2)
    assert both(a, a, b) == Merged(b, MergeStatus.TAKEN, None)
    assert both(a, b, b) == Merged(b, MergeStatus.SAME, None)
    assert both(a, None, None) == Merged(None, MergeStatus.SAME, None)
    assert both(None, None, b) == Merged(b, MergeStatus.TAKEN, None)
    assert both(a, None, a) == Merged(None, MergeStatus.REMOVED, None)


def test_appends_on_both_sides_are_all_there_by_time():
    merged = both(recent(1), recent(1, 3, 4), recent(1, 2, 5))
    assert merged.data == recent(1, 2, 3, 4, 5)
    assert merged.status is MergeStatus.MERGED


def test_a_daily_log_made_on_both_sides_holds_the_entries_of_both_in_their_sections():
    header = HEADER.format("day-2026-11-21")
    ours = log(section("Timeline", entry(1)), section("Decision", entry(3)), header=header)
    theirs = log(section("Timeline", entry(2)), section("Learning", entry(4)), header=header)
    merged = both(None, ours, theirs, "daily/2026/11/2026-11-21.md")
    wanted = [section("Timeline", entry(1), entry(2)), section("Decision", entry(3)), section("Learning", entry(4))]
    assert merged.data == log(*wanted, header=header)


def test_an_entry_removed_here_and_untouched_there_is_removed():
    merged = both(recent(1, 2, 3), recent(1, 3), recent(1, 2, 3, 4))
    assert merged.data == recent(1, 3, 4)


def test_an_entry_removed_here_and_changed_there_is_kept():
    changed = log(section("Recent Context", entry(1), entry(2, "said otherwise")))
    merged = both(recent(1, 2), recent(1, 3), changed)
    assert numbers(merged.data) == [ident(1), ident(2), ident(3)]
    assert b"said otherwise" in merged.data


def test_an_entry_changed_on_both_sides_is_kept_twice_and_to_be_reviewed():
    ours, theirs = (log(section("Recent Context", entry(1, text), entry(2))) for text in ("red", "blue"))
    merged = both(recent(1, 2), ours, theirs)
    assert merged.status is MergeStatus.REVIEW
    assert review(merged.data) == ["Recent Context"]
    assert len(numbers(merged.data)) == len(set(numbers(merged.data))) == 3
    assert b": red ^" in merged.data
    assert b": blue ^" in merged.data
    # Once more, by a machine that has not seen it: the same.
    for side in (ours, theirs):
        assert both(recent(1, 2), side, merged.data).data == merged.data


def test_an_entry_that_grew_on_one_side_and_more_on_the_other_has_all_of_it():
    ours, theirs = (log(section("Recent Context", entry(1, text))) for text in ("asked", "asked\nDone: all of it"))
    merged = both(recent(1), ours, theirs)
    assert merged.data == theirs
    assert merged.status is MergeStatus.MERGED


def test_different_lines_of_one_entry_changed_on_two_sides_go_together():
    base, ours, theirs = (
        log(section("Recent Context", entry(1, text)))
        for text in ("what\nwhy\nhow\nwhen", "what\nwhy not\nhow\nwhen", "what\nwhy\nhow\nwhen then")
    )
    assert both(base, ours, theirs).data == log(section("Recent Context", entry(1, "what\nwhy not\nhow\nwhen then")))


def test_an_entry_moved_here_and_changed_there_is_moved_with_the_change():
    base = log(section("Recent Context", entry(1), entry(2)), section("Known Issues"))
    ours = log(section("Recent Context", entry(2)), section("Known Issues", entry(1)))
    theirs = log(section("Recent Context", entry(1, "changed"), entry(2), entry(3)), section("Known Issues"))
    merged = both(base, ours, theirs)
    wanted = log(section("Recent Context", entry(2), entry(3)), section("Known Issues", entry(1, "changed")))
    assert merged.data == wanted


def test_rotation_here_and_appends_there_give_the_carryover_and_what_was_appended():
    base, ours, theirs = recent(1, 2, 3, 4), recent(4), recent(1, 2, 3, 4, 5)
    trees = merge_trees(
        {"memory.md": base}, {"memory.md": ours, "archive/memory_20261121_100000.md": base}, {"memory.md": theirs}
    )
    assert trees.files == {"memory.md": recent(4, 5), "archive/memory_20261121_100000.md": base}


def test_rotation_on_both_sides_keeps_both_archives_and_everything_new():
    base = recent(1, 2, 3, 4)
    ours = {"memory.md": recent(4, 6), "archive/memory_20261121_100000.md": recent(1, 2, 3, 4, 6)}
    theirs = {"memory.md": recent(3, 4, 5, 7), "archive/memory_20261121_110000.md": recent(1, 2, 3, 4, 5)}
    trees = merge_trees({"memory.md": base}, ours, theirs)
    assert trees.files == {**ours, **theirs, "memory.md": recent(4, 5, 6, 7)}
    assert merge_trees({"memory.md": base}, theirs, ours).files == trees.files


def test_rotation_on_both_sides_in_one_second_makes_one_archive_of_both():
    name = "archive/memory_20261121_100000.md"
    trees = merge_trees(
        {"memory.md": recent(1)},
        {"memory.md": recent(2), name: recent(1, 2)},
        {"memory.md": recent(3), name: recent(1, 3)},
    )
    assert trees.files == {"memory.md": recent(2, 3), name: recent(1, 2, 3)}


def test_a_log_consolidated_here_and_appended_to_there_holds_what_was_appended_alone():
    path = "daily/2026/11/2026-11-21.md"
    trees = merge_trees({path: recent(1, 2)}, {"weekly/2026/2026-W47.md": b"# Week\n"}, {path: recent(1, 2, 3)})
    assert trees.files == {path: recent(3), "weekly/2026/2026-W47.md": b"# Week\n"}
    assert both(recent(1, 2), None, recent(2), path) == Merged(None, MergeStatus.REMOVED, None)


def test_a_document_removed_here_and_changed_there_is_kept():
    fact, changed = b"---\nid: d001\nstatus: open\n---\nUse uv.\n", b"---\nid: d001\nstatus: done\n---\nUse uv.\n"
    assert both(fact, None, changed, "facts/decision/d001-use-uv.md").data == changed
    assert both(b"note\n", None, b"a note\n", "notes.txt").data == b"a note\n"
    assert both(b"note\n", None, b"note\n", "notes.txt").data is None


def test_a_document_renamed_here_and_changed_there_is_changed_under_the_new_name():
    fact, changed = b"---\nid: d001\n---\nUse uv.\n", b"---\nid: d001\n---\nUse uv, not pip.\n"
    trees = merge_trees({"facts/a.md": fact}, {"facts/b.md": fact}, {"facts/a.md": changed})
    assert trees.files == {"facts/a.md": None, "facts/b.md": changed}
    again = merge_trees({"facts/a.md": fact}, {"facts/a.md": changed}, {"facts/b.md": fact})
    assert again.files == trees.files
    plain = merge_trees({"a.txt": b"one\n"}, {"b.txt": b"one\n"}, {"a.txt": b"one\ntwo\n"})
    assert plain.files == {"a.txt": None, "b.txt": b"one\ntwo\n"}


def test_a_document_renamed_on_both_sides_has_one_name():
    fact = b"---\nid: d001\n---\nUse uv.\n\nBecause it is fast.\n"
    ours, theirs = fact.replace(b"uv", b"pnpm"), fact.replace(b"fast", b"small")
    trees = merge_trees({"facts/a.md": fact}, {"facts/c.md": ours}, {"facts/b.md": theirs})
    assert trees.files["facts/b.md"] == ours.replace(b"fast", b"small")
    assert trees.files.get("facts/c.md") is None
    assert trees.files["facts/a.md"] is None


def test_a_document_renamed_here_and_removed_there_is_kept():
    fact = b"---\nid: d001\n---\nUse uv.\n"
    trees = merge_trees({"facts/a.md": fact}, {"facts/b.md": fact + b"More.\n"}, {})
    assert trees.files["facts/b.md"] == fact + b"More.\n"


def test_two_files_made_under_one_name_become_one_document():
    ours = b"---\nid: k1\nkeywords: [git]\n---\n# Git\n\nUse rebase.\n"
    theirs = b"---\nid: k1\nkeywords: [merge]\n---\n# Git\n\nUse merge.\n"
    merged = both(None, ours, theirs, "knowledge/git.md")
    assert Document.parse(merged.data).get("keywords") == ["git", "merge"]
    assert b"Use rebase.\n" in merged.data
    assert b"Use merge.\n" in merged.data


def test_one_memory_made_on_both_sides_under_two_names_is_one_document():
    head = b"---\nid: e4f7k2m9q0x\nkind: episode\nexchanges: [%s]\n---\n# A task\n\n## Tips\n\n- %s\n"
    old, new = "episodes/2026/11/e4f7k2m9q0x.md", "episodes/2026/11/e4f7k2m9q0x-a-task.md"
    one, two = head % (b"x1", b"Run it twice."), head % (b"x2", b"Run it once.")
    trees = merge_trees({}, {old: one}, {new: two})
    assert trees.files == merge_trees({}, {new: two}, {old: one}).files
    merged = trees.files[new] or b""
    assert trees.files[old] is None
    assert all(part in merged for part in (b"x1", b"x2", b"Run it twice.", b"Run it once."))
    other = one.replace(b"e4f7k2m9q0x", b"e5f7k2m9q0x")  # a name that says the id of another one
    assert merge_trees({}, {old: other}, {new: two}).files == {old: other, new: two}
    assert merge_trees({}, {old: one, new: two}, {old: one}).files == {old: one, new: two}


def test_a_fact_that_two_sessions_taught_links_both():
    fact, link = (
        b"---\nid: d4f7k2m9q0x\nkind: decision\n---\nUse uv.\n",
        b"- session: [2026-11-2%d](../../sessions/%d.md)\n",
    )
    sides = [fact + b"\n## Links\n\n" + link % (day, day) for day in (1, 2)]
    for base in (None, fact):
        merged = both(base, *sides, path="facts/decision/d4f7k2m9q0x.md").data or b""
        assert all(link % (day, day) in merged for day in (1, 2))
        assert review(merged) is None
        assert parse_fact(merged).text == "Use uv."


def test_two_names_that_some_file_system_takes_for_one_become_one_document():
    trees = merge_trees({}, {"knowledge/Git.md": b"one\n"}, {"knowledge/git.md": b"two\n", "Knowledge/x.md": b"x\n"})
    kept = {path: data for path, data in trees.files.items() if data is not None}
    assert sorted(kept) == ["Knowledge/Git.md", "Knowledge/x.md"]
    assert sorted((kept["Knowledge/Git.md"]).split()) == [b"one", b"two"]
    trees = merge_trees({}, {}, {"memory.MD": b"two\n"}, around=["memory.md"])
    assert trees.files["memory.md"] == b"two\n"


def test_a_file_here_and_a_folder_of_that_name_there_stand_beside_each_other():
    trees = merge_trees({}, {"notes": b"one\n"}, {"notes/a.md": b"two\n"})
    beside = beside_path("notes", b"one\n")
    assert {path: data for path, data in trees.files.items() if data} == {beside: b"one\n", "notes/a.md": b"two\n"}
    assert trees.review == {beside}


def test_fields_are_merged_each_for_itself():
    base = b"---\nid: p1\ncreated: 2026-11-02\nuses: 5\ntags: [a, b]\nname: old  # why\nkeep: 007\n---\n"
    ours = b"---\nid: p1\ncreated: 2026-11-02\nuses: 7\ntags: [b, c]\nname: mine\nkeep: 007\nupdated: 2026-11-03\n---\n"
    theirs = b"---\nid: p1\ncreated: 2026-11-01\nuses: 6\ntags: [a, b, d]\nname: theirs\nkeep: 007\n---\n"
    theirs = theirs.replace(b"keep: 007\n", b"keep: 007\nupdated: 2026-11-04\n")
    merged = Document.parse(both(base, ours, theirs, "patterns/bug/p1.md").data)
    assert str(merged.get("created")) == "2026-11-01"
    assert str(merged.get("updated")) == "2026-11-04"
    assert merged.get("uses") == 8
    assert merged.get("tags") == ["b", "c", "d"]
    assert merged.get("name") == "theirs"
    assert "keep: 007" in (merged.header or "")


def test_what_each_side_did_to_a_header_keeps_its_comments_and_its_order():
    base = b"---\nid: p1\n# a comment\nname: x\n---\n"
    merged = both(base, base.replace(b"a comment", b"another"), base.replace(b"name: x", b"name: y"), "patterns/p1.md")
    assert merged.data == b"---\nid: p1\n# another\nname: y\n---\n"


def test_a_header_that_cannot_be_read_is_merged_by_line_or_kept_on_both_sides():
    base = b"---\nid: a\nb: c\n---\nText.\n"
    broken = base.replace(b"b: c", b"b: [c")
    assert both(base, broken, base + b"More.\n", "knowledge/a.md").data == broken + b"More.\n"
    merged = both(base, broken, base.replace(b"b: c", b"b: dd"), "knowledge/a.md")
    assert merged.status is MergeStatus.REVIEW
    assert {merged.data, merged.beside} == {broken, base.replace(b"b: c", b"b: dd")}


def test_files_of_an_unknown_kind_are_merged_by_line():
    base = b"a: 1\nb: 2\nc: 3\n"
    assert both(base, b"a: 1\nb: 2\nc: 4\n", b"a: 0\nb: 2\nc: 3\n", "config.yaml").data == b"a: 0\nb: 2\nc: 4\n"


def test_files_of_an_unknown_kind_that_cannot_be_merged_are_both_kept():
    trees = merge_trees({"config.yaml": b"a: 1\n"}, {"config.yaml": b"a: 2\n"}, {"config.yaml": b"a: 3\n"})
    beside = beside_path("config.yaml", b"a: 2\n")
    assert trees.files == {"config.yaml": b"a: 3\n", beside: b"a: 2\n"}
    assert is_beside(beside)
    assert trees.review == {beside}
    image, other = b"\x89PNG\0\1", b"\x89PNG\0\2"
    assert both(b"\x89PNG\0", image, other, "knowledge/a.png").beside == image


def test_lines_changed_on_both_sides_are_both_kept_and_to_be_reviewed():
    base = log("## Current State\n\nIt builds.\n\nIt is tested.\n", "## Notes\n\nNothing.\n")
    ours, theirs = base.replace(b"It builds.", b"It fails."), base.replace(b"It builds.", b"It builds fast.")
    merged = both(base, ours, theirs)
    assert merged.status is MergeStatus.REVIEW
    assert review(merged.data) == ["Current State"]
    body = Document.parse(merged.data).body
    assert "It fails.\n" in body
    assert "It builds fast.\n" in body
    assert "It builds.\n" not in body
    assert body.count("It is tested.\n") == 1


def test_lines_changed_here_and_others_there_go_together_even_side_by_side():
    base = log("## Current State\n\none\ntwo\nthree\n")
    merged = both(base, base.replace(b"one", b"1"), base.replace(b"two", b"2"))
    assert merged == Merged(log("## Current State\n\n1\n2\nthree\n"), MergeStatus.MERGED, None)


def test_what_a_user_wrote_below_an_entry_stays_there():
    base = log(section("Recent Context", entry(1), "About the first.\n", entry(2)))
    ours = log(section("Recent Context", entry(1), "About the first.\n", entry(2), "About the second.\n", entry(4)))
    theirs = log(section("Recent Context", entry(1), "About the first.\n", entry(2), entry(3), "About the third.\n"))
    wanted = section(
        "Recent Context", entry(1), "About the first.\n", entry(2), "About the second.\n", entry(3),
        "About the third.\n", entry(4),
    )  # fmt: skip
    assert both(base, ours, theirs).data == log(wanted)


def test_a_review_that_one_side_finished_stays_finished():
    base = b"---\nid: memory\nreview: [Current State, Notes]\n---\nText.\n"
    done, more = base.replace(b"[Current State, Notes]", b"[Notes]"), base + b"More.\n"
    assert review(both(base, done, more).data) == ["Notes"]


def test_summaries_are_not_mixed():
    offline = b"---\nid: s\nmethod: offline\n---\nA long summary that was only extracted.\n"
    model = b"---\nid: s\nmethod: haiku\n---\nA short one.\n"
    path = "summaries/memory_20261121_100000.summary.md"
    assert both(None, offline, model, path) == Merged(model, MergeStatus.MERGED, None)


@pytest.mark.parametrize("style", ["merge", "diff3"])
def test_markers_left_by_a_plain_git_merge_are_taken_apart(style: str):
    middle = f"||||||| base\n{entry(9)}" if style == "diff3" else ""
    marked = log(
        section(
            "Recent Context", entry(1), f"<<<<<<< HEAD\n{entry(3)}{middle}=======\n{entry(2)}>>>>>>> origin/gitmem\n"
        )
    )
    assert has_markers(marked)
    assert without_markers("memory.md", marked) == recent(1, 2, 3)
    assert both(recent(1), marked, recent(1, 4)).data == recent(1, 2, 3, 4)
    text = b"---\nid: a\n---\n<<<<<<< HEAD\nred\n=======\nblue\n>>>>>>> theirs\n"
    assert without_markers("knowledge/a.md", text) == b"---\nid: a\nreview: [(top)]\n---\nblue\nred\n".replace(
        b"[(top)]", b'["(top)"]'
    )


def test_markers_that_are_an_example_stay():
    example_of_git = b"# Git\n\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n```\n"
    assert not has_markers(example_of_git)
    assert without_markers("knowledge/git.md", example_of_git) == example_of_git
    assert not has_markers(b"Heading\n=======\n")


def test_markers_in_a_header_are_taken_apart():
    marked = b"---\nid: a\n<<<<<<< HEAD\nuses: 1\n=======\nuses: 2\n>>>>>>> b\n---\nText.\n"
    assert Document.parse(without_markers("knowledge/a.md", marked)).problem is None


def test_one_side_with_windows_line_ends_and_an_append_on_the_other():
    base = recent(1, 2)
    merged = both(base, base.replace(b"\n", b"\r\n"), recent(1, 2, 3))
    assert merged.data.replace(b"\r\n", b"\n") == recent(1, 2, 3)


@pytest.mark.slow
def test_a_large_document_is_merged():
    many = recent(*range(5000))
    ours, theirs = recent(*range(5000), 6000), recent(*range(10, 5000), 6001)
    assert merge("memory.md", many, ours, theirs).data == recent(*range(10, 5000), 6000, 6001)


@pytest.mark.slow
def test_hostile_text_is_merged():
    base, ours, theirs = (b"\n".join(b"ab"[n % k % 2 :][:1] for n in range(30_000)) for k in (2, 3, 5))
    merged = merge("knowledge/a.md", base, ours, theirs)
    assert merged == merge("knowledge/a.md", base, theirs, ours)
    markers = merge("memory.md", b"", b"<<<<<<< a\n" * 50_000, b"<<<<<<< a\n=======\n" * 50_000)
    assert markers.data


# Laws

_LINES = st.sampled_from(["one", "two", "three", "네", "", "  five", "- six", "\ttab"])
_ENTRIES = st.integers(0, 9).flatmap(
    lambda number: st.sampled_from(["said", "said more\n\nand more", "기억 ☕"]).map(lambda text: entry(number, text))
)


@st.composite
def _documents(draw: st.DrawFn) -> bytes:
    parts = []
    used: set[str] = set()
    for title in draw(st.lists(st.sampled_from([*SECTIONS, "Notes"]), max_size=3, unique=True)):
        pieces = draw(st.lists(st.one_of(_ENTRIES, _LINES.map(lambda line: f"{line}\n")), max_size=5))
        kept = []
        for piece in pieces:
            ids = entry_ids(piece)
            if not ids & used:
                kept.append(piece)
            used |= ids
        parts.append(f"## {title}\n\n" + "".join(kept) + draw(st.sampled_from(["", "\n"])))
    header = draw(
        st.sampled_from(
            [
                "",
                "---\nid: memory\n---\n",
                "---\nid: memory\ntags: [a, b]\nupdated: 2026-11-21\n---\n",
                "---\nid: memory\ntags: [b, c]\nupdated: 2026-11-22\nname: x\n---\n",
                "---\nid: [\n---\n",
            ]
        )
    )
    text = header + draw(st.sampled_from(["", "# Memory\n\n", "intro\n"])) + "".join(parts)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return (text.replace("\n", "\r\n") if draw(st.integers(0, 9)) == 0 else text).encode()


DOCUMENTS = st.one_of(_documents(), st.binary(max_size=30))
MAYBE = st.one_of(st.none(), DOCUMENTS)
PATHS = st.sampled_from(["memory.md", "notes.txt", "archive/memory_20261121_100000.md"])


@given(path=PATHS, base=MAYBE, ours=MAYBE, theirs=MAYBE)
def test_it_does_not_matter_which_side_is_ours(path, base, ours, theirs):
    assert merge(path, base, ours, theirs) == merge(path, base, theirs, ours)


@given(path=PATHS, base=MAYBE, ours=MAYBE)
def test_what_is_untouched_on_one_side_comes_out_as_the_other_byte_for_byte(path, base, ours):
    assert merge(path, base, ours, base).data == ours
    assert merge(path, base, ours, ours).data == ours
    assert merge(path, ours, ours, ours).data == ours


@given(base=MAYBE, ours=DOCUMENTS, theirs=DOCUMENTS)
def test_no_line_and_no_entry_of_either_side_that_is_new_is_lost(base, ours, theirs):
    merged = merge("memory.md", base, ours, theirs)
    texts = [data for data in (merged.data, merged.beside) if data is not None]
    for side in (ours, theirs):
        for line in set(_lines(side)) - set(_lines(base or b"")):
            assume(not line.startswith((b"tags:", b"updated:", b"name:", b"id:")))
            if b"^" in line:  # an entry that both changed has another id on one side
                continue
            assert any(line in _lines(text) for text in texts), line
    body = Document.parse(merged.data or b"").body
    ids = [found.entry.id for found in find_entries(body)]
    sides = [entry_ids(Document.parse(data).body) for data in (base or b"", ours, theirs)]
    beside = entry_ids(Document.parse(merged.beside or b"").body)
    assert (sides[1] | sides[2]) - sides[0] <= set(ids) | beside
    if all(not Document.parse(data).problem for data in (ours, theirs)):
        assert len(ids) == len(set(ids))
        gone = sides[0] - (sides[1] & sides[2])
        kept = _said(base or b"")
        unchanged = {
            one for one in gone if all(_said(data).get(one, kept[one]) == kept[one] for data in (ours, theirs))
        }
        assert not unchanged & set(ids)


def _lines(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]


def _said(data: bytes) -> dict[str, str]:
    return {found.entry.id: found.entry.text for found in find_entries(Document.parse(data).body)}


@given(base=MAYBE, ours=MAYBE, theirs=MAYBE)
@example(base=b"", ours=b"a", theirs=b"- b\n ")
@example(base=b"", ours=b"# \na\n\r", theirs=b"## Notes")
@example(base=b"", ours=f"intro\n{entry(1, 'red')}".encode(), theirs=f"two\n{entry(1, 'blue')}".encode())
@example(base=None, ours=f"\n{entry(7)}".encode(), theirs=f"## Notes\n{entry(7)}".encode())
@example(base=b"## A\n\none\nthree\n", ours=b"", theirs=b"## A\n\nthree\none\n")
@example(base=b"one\ntwo\nthree\n", ours=b"three\n", theirs=b"two\none\nthree\n")
def test_a_side_merged_with_what_it_was_merged_into_changes_nothing(base, ours, theirs):
    # Of two lines that are the same nobody can tell which one was added, and which one the other side removed.
    assume(all(len(_lines(data)) == len(set(_lines(data))) for data in (base, ours, theirs) if data))
    merged = merge("memory.md", base, ours, theirs).data
    for side in (ours, theirs):
        assert _meaning(merge("memory.md", base, side, merged).data) == _meaning(merged)


def _meaning(data: bytes | None) -> object:
    """Return what a document says, with the entries of each section and its lines as sets."""
    if data is None:
        return None
    document = Document.parse(data)
    placed = {(section_of(document.body, found), found.entry.id) for found in find_entries(document.body)}
    return document.metadata.get("tags"), placed, set(_lines(document.body.encode("utf-8", "surrogateescape")))


@given(
    start=st.lists(st.integers(0, 5), unique=True),
    sides=st.lists(st.lists(st.integers(6, 20), unique=True), min_size=3, max_size=3),
    removed=st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_logs_come_out_the_same_in_whichever_order_three_machines_meet(start, sides, removed):
    base = recent(*sorted(start))
    logs = [recent(*sorted({*start, *side} - {gone})) for side, gone in zip(sides, removed, strict=True)]
    results = set()
    for first, second, third in itertools.permutations(logs):
        both_first = merge("memory.md", base, first, second).data
        results.add(merge("memory.md", base, both_first, third).data)
    assert len(results) == 1
    wanted = sorted({*start, *itertools.chain(*sides)} - set(removed))
    assert results == {recent(*wanted)}


NAMED = b"---\nid: memory\n---\n"
TREES = st.dictionaries(
    st.sampled_from(["memory.md", "a.md", "A.md", "a", "a/b.md", "facts/x.md", "facts/y.md", "n.txt", "í.md", "í.md"]),
    DOCUMENTS,
    max_size=4,
)


@given(base=TREES, ours=TREES, theirs=TREES)
@example(base={}, ours={"a": b"1"}, theirs={"a/b.md": b"2"})
@example(base={"m.md": NAMED, "n.txt": NAMED}, ours={"a": NAMED, "m.md": b"", "b": b""}, theirs={"a": NAMED})
def test_trees_are_merged_the_same_from_either_side(base, ours, theirs):
    merged = merge_trees(base, ours, theirs)
    again = merge_trees(base, theirs, ours)
    assert merged.files == again.files
    assert merged.review == again.review
    paths = [path for path, data in merged.files.items() if data is not None]
    folders = {path.rpartition("/")[0] for path in paths}
    assert not folders & set(paths)


@given(base=TREES, ours=TREES)
def test_trees_of_which_one_side_is_untouched_come_out_as_the_other(base, ours):
    merged = merge_trees(base, ours, base)
    assert {path: data for path, data in merged.files.items() if data is not None} == ours or _clashes(base, ours)


def _clashes(*trees: dict[str, bytes]) -> bool:
    """Say whether a tree holds names that no one file system can hold together, as a user's may."""
    return any({"A.md", "a.md"} <= set(tree) or "a" in tree or "í.md" in tree for tree in trees)


WORDS = st.sampled_from(["", "It works.", "It works.\n\nWith tests.", "Done.", "```py\nx = 1\n```"])
CAPTURES = st.builds(
    Fields,
    request=st.sampled_from(["", "Fix it."]),
    answer=WORDS,
    said=st.lists(st.sampled_from(["The cause is a lock.", "It is on NFS."]), max_size=2, unique=True).map(tuple),
    errors=st.lists(st.sampled_from(["`a`: no", "`b`: no"]), max_size=2, unique=True).map(tuple),
    files=st.lists(st.sampled_from(["a.py", "b.py"]), max_size=2, unique=True).map(tuple),
    outcome=st.just(""),
    words=st.just(()),
).filter(any)


@given(base=st.none() | CAPTURES, ours=CAPTURES, theirs=CAPTURES)
def test_two_clones_that_captured_parts_of_one_turn_lose_nothing(base, ours, theirs):
    """One exchange has one id on both; what each knows of the turn stands in the merged log."""

    def captured(fields: Fields | None) -> bytes:
        entries = [] if fields is None else [Entry("x4f7k2m9q0x", "10:00:00", "Exchange", render_fields(fields))]
        text = "".join(map(render_entry, entries))
        return log(section("Timeline", entry(1), text, entry(120)), header=HEADER.format("day-2026-11-21"))

    merged = both(captured(base), captured(ours), captured(theirs), "daily/2026/11/2026-11-21.md")
    told = [found.entry for found in find_entries(Document.parse(merged.data or b"").body)]
    assert len({one.id for one in told}) == len(told)
    words = "\n\n".join(one.text for one in told if one.label == "Exchange")
    gone = base or Fields()
    for side in (ours, theirs):
        for part in ("said", "errors", "files"):
            for new in {*getattr(side, part)} - {*getattr(gone, part)}:
                assert new in words
        for paragraph in {*side.answer.split("\n\n")} - {*gone.answer.split("\n\n")}:
            assert paragraph in words
