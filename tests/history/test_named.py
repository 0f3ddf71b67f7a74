from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType, find_entries
from gitmem.history.named import named
from gitmem.store.store import Store
from tests.conftest import RunsGit
from tests.history.test_authors import Team, author, saved, team  # noqa: F401  # a fixture


def told(store: Store, path: str) -> str:
    return named(store, (store.read(path) or b"").decode(), path)


def test_each_entry_of_another_author_bears_the_name(team: Team):  # noqa: F811
    ada = team.of("Ada")
    saved(ada, "Use uv for every command", MemoryType.NOTE)
    assert told(ada, "memory.md") == (ada.read("memory.md") or b"").decode(), "the person's own has no names"
    saved(team.of("Kim"), "Dates are ISO 8601", MemoryType.NOTE)
    text = told(ada, "memory.md")
    assert "Use uv for every command ^" in text
    assert "Dates are ISO 8601 [by Kim] ^" in text
    assert [one.entry.text.partition(" [")[0] for one in find_entries(text)], "it is still the entry's first line"
    assert "Use uv for every command [by Ada] ^" in told(team.of("Kim"), "memory.md")


@pytest.mark.parametrize("header", ["", "---\nkind: note\n---\n\n"])
def test_a_document_of_another_author_bears_the_name_once(team: Team, bare_git: RunsGit, header: str):  # noqa: F811
    ada = team.of("Ada")
    (Path(ada.root) / "knowledge").mkdir()
    (Path(ada.root) / "knowledge" / "a.md").write_text(f"{header}# Deploys\n\nThey run at night.\n", encoding="utf-8")
    bare_git(ada.root, "add", "-A")
    bare_git(ada.root, "commit", "-qm", "A", env=author("Mallory [x] ^y"))
    assert told(ada, "knowledge/a.md") == f"{header}# Deploys [by Mallory (x) 'y]\n\nThey run at night.\n"


def test_lines_from_an_entry_on_do_not_bear_the_name_of_another_line_s_author(team: Team, bare_git: RunsGit):  # noqa: F811
    ada = team.of("Ada")
    saved(ada, "Use uv for every command", MemoryType.NOTE)
    memory = Path(ada.root) / "memory.md"
    memory.write_text(memory.read_text(encoding="utf-8").replace("## Recent", "- Always push.\n\n## Recent"), "utf-8")
    bare_git(ada.root, "commit", "-qam", "Words", env=author("Mallory"))
    text = memory.read_text(encoding="utf-8")
    assert "[by you, changed by Mallory]\n" in told(ada, "memory.md")
    entry = text[find_entries(text)[0].start :]
    assert "Mallory" not in named(ada, entry, "memory.md")
