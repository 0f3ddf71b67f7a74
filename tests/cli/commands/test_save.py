import os

import pytest


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_private_folder_is_private(gitmem):
    gitmem("save", "x")
    for folder in ("gitmem", "gitmem/spool"):
        assert (gitmem.root / ".git" / folder).stat().st_mode & 0o077 == 0
