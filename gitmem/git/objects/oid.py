"""Ids of blobs, made here: a process of git's for each would take longer than what it is wanted for."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Hash(Protocol):
        """A hash of hashlib's."""

        @property
        def digest_size(self) -> int: ...  # noqa: D102
        def update(self, data: bytes | memoryview, /) -> None: ...  # noqa: D102
        def digest(self) -> bytes: ...  # noqa: D102

    NewHash = Callable[[], Hash]

SHA1_DIGITS = 40  # of an object id; in a repository of longer ones it is SHA-256's
_LARGE = 1 << 19  # bytes from which on OpenSSL's SHA-1, eight times as fast, is worth the 3 ms that importing it takes


def blob_id(content: bytes, like: str) -> str:
    """Return the id git gives a file's content, in the kind of hash that the id `like` is of."""
    if len(like) == SHA1_DIGITS:
        digest = sha1(len(content))()
    else:
        import hashlib

        digest = hashlib.sha256(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.digest().hex()


def sha1(size: int) -> NewHash:
    """Return what makes a hash for so many bytes."""
    if size > _LARGE or "hashlib" in sys.modules:
        from hashlib import sha1
    else:
        try:
            from _sha1 import sha1  # type: ignore[import-not-found,no-redef,unused-ignore]
        except ImportError:
            from hashlib import sha1

    def new_hash() -> Hash:
        return sha1(usedforsecurity=False)

    return new_hash
