"""Recorded payloads and transcripts of real clients, beside the repository; where they are absent, tests say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "e2e" / "hosts"


@pytest.fixture
def recorded_payloads():
    """Give a function that returns a host's recorded payloads in their order."""

    def payloads(host: str) -> list[dict[str, object]]:
        folder = RECORDED / "payloads" / host
        if not folder.is_dir():
            pytest.skip(f"no recorded payloads of {host} at {folder}")
        paths = sorted(path for path in folder.glob("[0-9]*.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    return payloads


@pytest.fixture
def recorded_transcript():
    """Give a function that returns the path of a host's recorded transcript."""

    def transcript(host: str) -> str:
        paths = sorted((RECORDED / "transcripts" / host).rglob("*.jsonl"))
        if not paths:
            pytest.skip(f"no recorded transcript of {host} at {RECORDED}")
        return str(paths[0])

    return transcript
