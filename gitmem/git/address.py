"""A remote, and the addresses that git may be given.

Tested through `tests/store/test_remotes.py` and `tests/store/test_refusals.py`.
"""

from __future__ import annotations

import re

from gitmem.errors import RefusedError
from gitmem.text.terminal import mask_urls
from gitmem.values import Value

# Allowed schemes: not `ext::`, which starts any program; `s3://` starts git-remote-s3 if the user allows it.
S3 = "s3"
_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://", "git+ssh://", f"{S3}://")


class Remote(Value):
    """A remote: name, URLs for fetch and push; `backup`: a file, read once; `new`: remove its store if this fails."""

    name: str
    url: str
    push_url: str
    backup: bool = False
    new: bool = False

    @property
    def called(self) -> str:
        """The name that a user knows the remote by."""
        return self.shown if self.backup or self.new else self.name

    @property
    def described(self) -> str:
        """The name and the address."""
        return self.shown if self.backup or self.new else f"{self.name} ({self.shown})"

    def to_accept(self, what: str) -> str:
        """Return the command that accepts a refused change; `what` names the kind of refusal."""
        first = f"'gitmem init', 'gitmem remote add {self.shown}' and " * self.new
        return f"'gitmem restore FILE --accept {what}'" if self.backup else f"{first}'gitmem sync --accept {what}'"

    @property
    def shown(self) -> str:
        """The URL without a password."""
        return mask_urls(self.url)


def is_ssh(url: str) -> bool:
    """Return whether git reaches a URL by ssh: `ssh://…`, or `host:path` that is no Windows drive."""
    if "://" in url:
        return url.startswith(("ssh://", "git+ssh://"))
    return bool(re.match(r"[^/\\:]{2,}:(?!:)", url))


def check_url(url: str) -> str:
    """Return a URL or path if git may be given it; raises RefusedError for an option, a program, control characters."""
    bad = not url.strip() or url.startswith("-") or url.endswith("://") or any(ord(character) < 32 for character in url)  # noqa: PLR2004
    helper = re.match(r"[A-Za-z0-9+.-]+::", url)
    scheme = "://" in url and not url.lower().startswith(_SCHEMES)
    if bad or helper or scheme:
        raise RefusedError(
            f"{mask_urls(ascii(url))} is no address of a repository that gitmem goes to.",
            "Use an https, ssh, git, file or s3 URL, host:path, or a path.",
        )
    return url


def is_s3(url: str) -> bool:
    """Return whether git reaches a URL by git-remote-s3."""
    return url.lower().startswith(f"{S3}://")
