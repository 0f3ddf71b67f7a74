"""Read objects through one open `git cat-file --batch-command` (git 2.36); a process for each would take 2 to 4 ms.

New objects, of a fetch or a commit, are found: git looks for new packs before it reports one as missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from gitmem.errors import GitFailedError
from gitmem.git.process import Git, failure
from gitmem.platform.spawn import Child
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
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


def empty_tree(git: Git) -> str:
    """Return the id of the empty tree."""
    return git.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()


_COMMAND = ("cat-file", "--batch-command", "--buffer")
_AT_ONCE = 64  # held in memory: some 6 MB of archives
_INFOS_AT_ONCE = 4096
_GRACE = 10.0  # seconds for an idle process to end


class Info(Value):
    """An object: its id, its kind (`blob`, `tree`, …), and its size in bytes."""

    oid: str
    kind: str
    size: int


class Objects:
    """Reads objects by full ids or any name `git rev-parse` takes; starts git on the first read.

    Used as a context manager. Results are in the order of the names, None for a missing object.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: Child | None = None

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> Child:
        """Start git ahead of the first read."""
        if self._process is None:
            self._process = self._git.spawn(*_COMMAND)
        return self._process

    def close(self) -> None:
        """End git; the next read starts it again."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=_GRACE)
        except BaseException:  # an interrupt, too: nothing is left running
            process.kill()
            process.communicate()
            raise

    def kill(self) -> None:
        """End git at once, from another thread; what reads from it fails."""
        process = self._process
        if process is not None:
            process.kill()

    def infos(self, names: Sequence[str]) -> list[Info | None]:
        """Return id, kind and size of objects. Raises GitFailedError if an object is damaged."""
        found: list[Info | None] = []
        for start in range(0, len(names), _INFOS_AT_ONCE):
            found += [info for info, _ in self._ask("info", names[start : start + _INFOS_AT_ONCE])]
        return found

    def contents(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of objects, a few at a time in memory. Raises as `infos`."""
        for start in range(0, len(names), _AT_ONCE):
            for _, data in self._ask("contents", names[start : start + _AT_ONCE]):
                yield data

    def existing(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of objects, a few at a time in memory.

        Raises GitFailedError if one is missing or damaged.
        """
        for name, data in zip(names, self.contents(names), strict=True):
            if data is None:
                raise _missing(name)
            yield data

    def sizes(self, names: Sequence[str]) -> list[int]:
        """Return the sizes of objects in bytes. Raises as `existing`."""
        sizes = []
        for name, info in zip(names, self.infos(names), strict=True):
            if info is None:
                raise _missing(name)
            sizes.append(info.size)
        return sizes

    def _ask(self, command: str, names: Sequence[str]) -> list[tuple[Info | None, bytes | None]]:
        if any("\n" in name for name in names):
            raise ValueError("a name of an object is one line")
        process = self.start()
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        answers: list[tuple[Info | None, bytes | None]] = []
        try:
            try:
                stdin.write("".join(f"{command} {name}\n" for name in names).encode() + b"flush\n")
                stdin.flush()
            except OSError:  # a broken pipe, which Windows calls an invalid argument
                raise EOFError from None
            for _ in names:
                line = stdout.readline()
                if not line.endswith(b"\n"):
                    raise EOFError  # noqa: TRY301
                info = _info(line)
                data = None
                if info is not None and command == "contents":
                    data = stdout.read(info.size + 1)[:-1]
                    if len(data) < info.size:
                        raise EOFError  # noqa: TRY301
                answers.append((info, data))
        except EOFError:
            self._process = None
            _, stderr = process.communicate()
            raise failure(_COMMAND, process.wait(), stderr) from None
        except BaseException:  # an interrupt: nobody may read the rest of the answer
            self._process = None
            process.kill()
            process.communicate()
            raise
        return answers


def read_objects(git: Git, oids: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of objects by a git of its own. Raises as `Objects.existing`."""
    with Objects(git) as objects:
        yield from objects.existing(oids)


def _info(line: bytes) -> Info | None:
    match = re.fullmatch(rb"([0-9a-f]{40,64}) ([a-z]+) ([0-9]+)\n", line)
    return None if match is None else Info(match[1].decode(), match[2].decode(), int(match[3]))


def _missing(name: str) -> GitFailedError:
    return GitFailedError(f"The object {name} is missing from the repository.", status=128, stderr="")
