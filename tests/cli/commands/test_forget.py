import io
import os

import pytest

from gitmem.cli.app import App
from gitmem.cli.main import main


@pytest.mark.parametrize("text", ["the leaked words of 한국어".encode(), b"not \xff UTF-8"])
def test_a_text_to_purge_is_read_byte_for_byte_from_standard_input(world, text):
    world.commit_file("knowledge/note.md", b"# Note\n\n" + text + b"\n", "a note")
    assert "1 text" in world.run("purge", "-", "--yes", stdin=text + b"\r\n").out
    assert (world.root / "knowledge" / "note.md").read_bytes() == b"# Note\n\n(purged)\n"


class _Endless(io.RawIOBase):
    """Input without an end, of which no more than a megabyte is to be read."""

    _read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer):
        self._read += len(buffer)
        assert self._read <= 1 << 20
        buffer[:] = b"y" * len(buffer)
        return len(buffer)


def test_standard_input_without_an_end_is_no_text_to_purge(world):
    stdin = io.TextIOWrapper(io.BufferedReader(_Endless()), encoding="utf-8")
    said = io.StringIO()
    assert main(["purge", "-"], lambda: App(os.environ, str(world.project), stdin, io.StringIO(), said)) == 8
    assert "4 to 65,536 bytes" in said.getvalue()
