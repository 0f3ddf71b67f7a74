"""Time limits of a session's start, lengthened where a test is not about them: a busy machine is no failure."""

import pytest

ENOUGH = 60.0  # seconds


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for git's answers about the project."""
    monkeypatch.setattr("gitmem.project.code.SECONDS", ENOUGH)
