from __future__ import annotations

import pytest

from gitmem.git.objects.oid import blob_id


@pytest.mark.parametrize("content", [b"", b"x", b"\r\n\0\xff" * 1000, b"0123456789abcdef" * (1 << 16)])
@pytest.mark.parametrize("kind, digits", [("sha1", 40), ("sha256", 64)])
def test_the_id_of_a_blob_is_gits(tmp_path, bare_git, kind, digits, content):
    bare_git(tmp_path, "init", "-q", f"--object-format={kind}")
    assert blob_id(content, "0" * digits) == bare_git(tmp_path, "hash-object", "--stdin", stdin=content)
