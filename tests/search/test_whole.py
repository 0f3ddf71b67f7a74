"""A memory by its id."""

from __future__ import annotations

import pytest

from gitmem.errors import NotFoundError
from gitmem.search.whole import is_handle, read_memory


def test_a_memory_is_read_by_its_id_at_its_fullest_view(shelf):
    line = "- [10:00:00] **Exchange** #1b4e51f0: Which zinc? ^x4f7k2m9q0x\n"
    shelf.put("memory.md", line)
    shelf.put("daily/2026/11/2026-11-20.md", f"## Timeline\n\n{line}\n  **Answer:** {'Pure zinc. ' * 9}\n")
    shelf.put("facts/rule/r4f7k2m9q0x-zinc.md", "---\nid: r4f7k2m9q0x\n---\nRailings are of zinc.\n")

    assert (read_memory(shelf.store, "^x4f7k2m9q0x").path, read_memory(shelf.store, "x4f7k2m9q0x").start) == (
        "daily/2026/11/2026-11-20.md",
        3,
    )
    assert read_memory(shelf.store, "r4f7k2m9q0x").text == "Railings are of zinc."
    with pytest.raises(NotFoundError, match="no memory"):
        read_memory(shelf.store, "x000000000z")


def test_a_path_is_no_handle():
    assert is_handle("^x4f7k2m9q0x")
    assert not is_handle("memory.md")
    assert not is_handle("daily/2026/11/2026-11-20.md:3")
