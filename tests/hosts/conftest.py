"""Transcripts that real clients wrote, databases made of their rows."""

import pytest

from tests.recorded import make_database, transcript_of


@pytest.fixture
def recorded_transcript(tmp_path):
    """Give a function that returns the path of a host's recorded transcript."""

    def transcript(host: str) -> str:
        path = transcript_of(host)
        return (
            make_database(path, path.with_name("schema.sql"), tmp_path / host / f"{host}.db")
            if path.name == "rows.jsonl"
            else str(path)
        )

    return transcript
