"""Clearing old memory, or all of it."""

from datetime import date
from pathlib import Path

from gitmem.archive.clear import clear, old_files
from gitmem.history.undo import undo

DAY = date(2026, 11, 21)
LAYOUT = [
    *("FORMAT.md", "archive/memory_20261001_101010.md", "archive/memory_20261001_101010_02.md"),
    *("archive/memory_20261120_101010.md", "archive/notes.md", "concepts/c1.md", "daily/2026/10/2026-10-21.md"),
    *("daily/2026/10/2026-10-22.md", "daily/2026/13/2026-13-01.md", "facts/decision/d4f7k2m9q0x.md", "memory.md"),
    *("monthly/2026/2026-09.md", "monthly/2026/2026-10.md", "sessions/2026/10/20261001_101010-x.md"),
    *("summaries/memory_20261001_101010.summary.md", "weekly/2026/2026-W42.md", "weekly/2026/2026-W43.md"),
]


def test_old_is_what_ended_more_than_so_many_days_ago():
    assert old_files(LAYOUT, DAY, 30) == [
        "archive/memory_20261001_101010.md",
        "archive/memory_20261001_101010_02.md",
        "daily/2026/10/2026-10-21.md",
        "monthly/2026/2026-09.md",
        "sessions/2026/10/20261001_101010-x.md",
        "weekly/2026/2026-W42.md",
    ]
    assert old_files(LAYOUT, DAY, 36_500) == []


def test_the_links_of_concepts_to_old_sessions_go_too(autumn):
    folder = Path(autumn.store.root)
    old, new = "sessions/2026/09/20260901_101010-x.md", "sessions/2026/11/20261120_101010-y.md"
    lines = {"xaaaaaaaaaa": old, "xbbbbbbbbbb": new}
    both, gone = "concepts/kaaaaaaaaaa-both.md", "concepts/kbbbbbbbbbb-old.md"
    concepts = {both: ["xaaaaaaaaaa", "xbbbbbbbbbb"], gone: ["xaaaaaaaaaa"]}
    for path in (old, new):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("# Session\n", encoding="utf-8")
    (folder / "concepts").mkdir()
    for path, ids in concepts.items():
        identifier, name = path.removeprefix("concepts/").removesuffix(".md").split("-")
        links = "".join(f"- 2026-09-01 [Done](of) it.](../{lines[one]}) {one}\n" for one in ids)
        head = f"---\nid: {identifier}\nkind: concept\nname: {name}\nexchanges: [{', '.join(ids)}]\n---\n# {name}\n\n"
        (folder / path).write_text(f"{head}## Exchanges\n\n{links}", encoding="utf-8")
    autumn.save("commits what was written")
    done = clear(autumn.store, days=30)
    assert {gone, old} <= {*done.files}
    assert not (folder / gone).exists()
    left = autumn.text(both)
    assert "xbbbbbbbbbb" in left
    assert "xaaaaaaaaaa" not in left
    undo(autumn.store)
    assert "xaaaaaaaaaa" in autumn.text(both)
    assert (folder / gone).exists()
