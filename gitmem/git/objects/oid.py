"""Compute the ids of blobs, without starting a git for each."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from hashlib import _Hash

_SHA1_DIGITS = 40
_LARGE = 1 << 19  # bytes from which OpenSSL's SHA-1, eight times as fast, is worth the 3 ms its import takes


def blob_id(content: bytes, like: str) -> str:
    """Return the id git gives a file's content: SHA-1 or SHA-256, as the id `like` is."""
    digest = _new_hash(like, len(content))
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()


def _new_hash(like: str, size: int) -> _Hash:
    if len(like) != _SHA1_DIGITS:
        from hashlib import sha256

        return sha256(usedforsecurity=False)
    if size <= _LARGE and "hashlib" not in sys.modules:
        try:
            from _sha1 import sha1  # type: ignore[import-not-found,unused-ignore]
        except ImportError:  # another Python
            pass
        else:
            small: _Hash = sha1(usedforsecurity=False)
            return small
    from hashlib import sha1 as openssl_sha1

    return openssl_sha1(usedforsecurity=False)
