"""URLs in messages."""

from __future__ import annotations

import pytest

from gitmem.text.urls import mask_urls


@pytest.mark.parametrize(
    "text, masked",
    [
        ("no URL, me@example.org?", "no URL, me@example.org?"),
        ("fetch https://me:hunter2@example.org/x", "fetch https://***@example.org/x"),
        ("https://me:hu@nter2@example.org/: no", "https://***@example.org/: no"),
        ("'https://example.org/x?token=1' and ssh://git@host/y", "'https://example.org/x?***' and ssh://***@host/y"),
    ],
)
def test_passwords_and_queries_are_masked(text, masked):
    assert mask_urls(text) == masked
