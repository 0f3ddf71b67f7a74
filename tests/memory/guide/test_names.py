"""Files and commands that a text names are found; what says where a memory is from is none."""

from __future__ import annotations

from gitmem.memory.guide.names import names_of


def test_files_and_commands_are_found_and_gitmems_own_are_not():
    told = (
        "<gitmem-memory>\n[2026-11-21, Decision, 1b4e51f0, ^d4f7k2m9q0x, daily/2026/11/2026-11-21.md:4]\n"
        "Mended by `uv  sync --all` in src/한글/loader.py, see example.com, Python 3.12 and e.g. `app.toml`.\n"
        "More: `gitmem search WORDS`, memory.md.\n</gitmem-memory>"
    )
    assert names_of(told) == ("uv sync --all", "app.toml", "src/한글/loader.py")
    assert names_of("") == ()
    assert len(names_of(" ".join(f"`command {number}`" for number in range(40)))) == 12
