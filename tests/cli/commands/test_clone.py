from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.commands.project import Ran


def test_a_clone_of_nothing_leaves_nothing(tmp_path: Path, remote: Path, run_in: Callable[..., Ran]):
    (tmp_path / "empty").mkdir()
    failed = run_in(tmp_path / "empty", "clone", str(remote), ok=False)
    assert failed.code == ExitCode.NOT_FOUND
    assert list((tmp_path / "empty").iterdir()) == []
    run_in(tmp_path / "empty", "clone", str(tmp_path / "nowhere.git"), ok=False)
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_store_is_not_cloned_over(first: Path, remote: Path, run_in: Callable[..., Ran]):
    assert "has a store already" in run_in(first, "clone", str(remote), ok=False).err
