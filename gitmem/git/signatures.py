"""Check and make signatures of commits as the person configured git; the repository's configuration does not count.

Tested through `tests/store/test_signed.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gitmem.errors import GitFailedError, GitmemError
from gitmem.git.process import Git, unfiltered_settings
from gitmem.git.repository import Layout
from gitmem.git.trust import Identity
from gitmem.values import Value

_GOOD = "G"  # of git's `%G?`: a good signature of a key that the person trusts
_SECONDS = 120.0  # a person may have to unlock a key
_MOST = 200  # commits whose signatures are checked to name those without


class Unsigned(Value):
    """A commit that no good signature covers."""

    oid: str
    author: str
    subject: str


class Signatures:
    """The signatures in a repository, as the person's git sees them."""

    def __init__(self, layout: Layout, environ: Mapping[str, str]) -> None:
        """Read no configuration yet."""
        settings, variables = unfiltered_settings(layout.git_dir)
        self._git = Git(
            layout.git_dir, layout.work_tree, environ, user_config=True, settings=settings, variables=variables
        )

    def signers(self, commits: Collection[str]) -> dict[str, str]:
        """Return the addresses of whose trusted keys signed commits, each with its history; of many, the first ones."""
        lines = self._log("%H%x09%G?%x09%GS", commits, "--no-walk=unsorted") if commits else []
        fields = (line.split("\t", 2) for line in lines)
        return {oid: name.rpartition("<")[2].partition(">")[0].strip() for oid, state, name in fields if state == _GOOD}

    def unsigned(self, commit: str, known: Iterable[str], here: str | None = None) -> list[Unsigned]:
        """Return the newest commits, of those that `known` do not reach, that no good signature covers.

        A signature is looked for in the history of the commit and of `here`.
        """
        without = [f"^{oid}" for oid in known]
        found = self._log("%H %G?", [commit, *filter(None, [here]), *without])
        signed = [f"^{line.split()[0]}" for line in found if line.endswith(f" {_GOOD}")]
        lines = self._log("%H%x09%an%x09%s", [commit, *without, *signed])
        return [Unsigned(*line.split("\t", 2)) for line in lines]

    def sign(self, commit: str, message: str, author: Identity, date: str, parent: str = "") -> str:
        """Return a new signed commit with a commit's tree, and this commit, or another `parent`, as its parent.

        Raises GitmemError if git could not sign, as without a key.
        """
        who = {
            f"GIT_{role}_{field}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", author.name), ("EMAIL", author.email), ("DATE", date))
        }
        try:
            tree = self._git.run("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").decode().strip()
            command = ("commit-tree", "--gpg-sign", "-p", parent or commit, tree)
            new = self._git.run(*command, stdin=message.encode(), env=who, timeout=_SECONDS)
        except GitFailedError as error:
            raise GitmemError(
                f"git could not sign a commit: {error.stderr.strip() or error.message}",
                "'git config --global user.signingkey' names your key, gpg.format its kind.",
            ) from error
        return new.decode().strip()

    def _log(self, form: str, revisions: Iterable[str], *more: str) -> list[str]:
        names = "".join(f"{revision}\n" for revision in revisions)
        options = (f"--max-count={_MOST}", f"--format={form}", "--no-show-signature", *more, "--stdin")
        output = self._git.run("log", *options, stdin=names.encode(), timeout=_SECONDS)
        return output.decode("utf-8", "replace").split("\n")[:-1]  # a name may hold other ends of lines
