"""Write the history of refs to a git bundle, read it back, and check whether a file is a complete bundle.

Tested through `tests/cli/commands/test_backups.py`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence

from gitmem.errors import GitmemError
from gitmem.git.packing import SECONDS
from gitmem.git.process import Git, git_without_repository
from gitmem.git.repository import read_refs
from gitmem.platform.safe_open import read_regular

_LONGEST_LINE = 1 << 16
_PIECE = 1 << 20
_HEADER = (b"# v2 git bundle\n", b"# v3 git bundle\n")


def is_bundle(path: str) -> bool:
    """Return whether a path is a file with the signature of a bundle."""
    try:
        return read_regular(path, len(_HEADER[0])) in _HEADER
    except OSError:
        return False


def is_whole(path: str) -> bool:
    """Return whether a bundle is neither cut off nor damaged, by the checksum at the end of its pack."""
    with open(path, "rb") as file:
        algorithm = "sha1"
        while (line := file.readline(_LONGEST_LINE)).strip():
            algorithm = "sha256" if line == b"@object-format=sha256\n" else algorithm
        digest = hashlib.new(algorithm, usedforsecurity=False)
        remaining = os.fstat(file.fileno()).st_size - file.tell() - digest.digest_size
        while remaining > 0 and (data := file.read(min(remaining, _PIECE))):
            digest.update(data)
            remaining -= len(data)
        return remaining == 0 and file.read() == digest.digest()


def write_bundle(git: Git, path: str, refs: Sequence[str], environ: Mapping[str, str]) -> Mapping[str, str]:
    """Write these refs with their whole history to a new file, read it back, and return the commits by ref."""
    expected = _exactly(git, refs)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # whatever the umask; git renames its file over it
    git.run("bundle", "create", "--quiet", path, *refs, timeout=SECONDS)
    os.chmod(path, 0o600)
    refs_read = _read_back(path, refs, environ, git.run("rev-parse", "--show-object-format").decode().strip())
    if refs_read not in (expected, _exactly(git, refs)):  # a session may have saved something meanwhile
        raise GitmemError(
            f"The backup does not contain what it should: {refs_read} in place of {expected}.",
            "Try again, on another disk.",
        )
    return refs_read


def _exactly(git: Git, refs: Sequence[str]) -> Mapping[str, str]:
    return {ref: oid for ref, oid in read_refs(git, *refs).items() if ref in refs}


def _read_back(path: str, refs: Sequence[str], environ: Mapping[str, str], kind: str) -> Mapping[str, str]:
    """Return the refs of a bundle, from an empty repository that fetched and checked all its objects."""
    with tempfile.TemporaryDirectory(prefix=f"{os.path.basename(path)}-", dir=os.path.dirname(path)) as folder:
        options = ("--quiet", "--bare", "--template=", f"--object-format={kind}")
        git_without_repository(environ).run("init", *options, "--", folder)
        reader = Git(folder, None, environ, variables={"GIT_ALLOW_PROTOCOL": "file"})
        wanted = [f"{ref}:{ref}" for ref in refs]
        reader.run(
            "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--", path, *wanted, timeout=SECONDS
        )
        return read_refs(reader, *refs)
