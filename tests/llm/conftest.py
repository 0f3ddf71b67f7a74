"""The two ways on which a provider's server is asked."""

from __future__ import annotations

import pytest

from gitmem.llm import server


@pytest.fixture(params=["http", "sdk"])
def way(request, monkeypatch) -> str:
    """Ask with the official SDKs, or as if they were not installed."""
    if request.param == "http":
        monkeypatch.setattr(server, "_sdk", lambda _: None)
    else:
        pytest.importorskip("anthropic", reason="the official SDKs are not installed (gitmem-store[anthropic,openai])")
        pytest.importorskip("openai", reason="the official SDKs are not installed (gitmem-store[anthropic,openai])")
    return request.param
