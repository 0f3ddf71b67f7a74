"""URLs in messages."""

from __future__ import annotations


def mask_urls(text: str) -> str:
    """Replace the parts of URLs before an `@` or behind a `?`, passwords and tokens, by `***`."""
    import re  # only a message about a failure needs it

    text = re.sub(r"://[^\s'\"]*@", "://***@", text)
    return re.sub(r"(://[^\s'\"?]*\?)[^\s'\"]+", r"\1***", text)
