"""The user's name and address, as git knows them."""

from __future__ import annotations

from gitmem.git.process.run import Git
from gitmem.machine.spawn import ExpiredError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS = 5.0


class Identity(Value):
    """A name and an e-mail address for commits."""

    name: str
    email: str


GITMEM = Identity("gitmem", "gitmem@localhost")


class IdentityLookup:
    """Ask git for `user.name` and `user.email` in the background; `result` waits for the answer.

    Read with the user's own configuration; `GITMEM` fills in what is missing.
    """

    def __init__(self, git_dir: str, work_tree: str, environ: Mapping[str, str]) -> None:
        git = Git(git_dir, work_tree, environ, user_config=True)
        self._process = git.spawn("config", "--null", "--get-regexp", r"^user\.(name|email)$")
        self._result: Identity | None = None
        self.expired = False  # no answer came in time

    def result(self) -> Identity:
        """Return the identity; ignore a configuration that git cannot read."""
        if self._result is None:
            self._result = self._read()
        return self._result

    def _read(self) -> Identity:
        try:
            stdout, _ = self._process.communicate(timeout=_SECONDS)
        except ExpiredError:
            self.expired = True
            self._process.kill()
            self._process.communicate()
            return GITMEM
        values = {}
        for record in stdout.decode("utf-8", "replace").split("\0"):
            key, _, value = record.partition("\n")
            values[key] = value.strip()
        return Identity(values.get("user.name") or GITMEM.name, values.get("user.email") or GITMEM.email)
