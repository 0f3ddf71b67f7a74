"""Write gitmem's edits and files and take them back, with a record (docs/hosts.md, "What is written").

A plan has the file's new content; `carry_out` writes it. The file is replaced atomically and keeps its mode; if it is a
link, as of a dotfiles manager, its target is changed. Plans raise RefusedError if the present file is another kind of
file, cannot be read, or has something else at one of the places.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gitmem.document.document import decoded, encoded
from gitmem.errors import NotSavedError, RefusedError, disk_errors
from gitmem.hosts.json_settings import Noted, SettingsError
from gitmem.hosts.settings import Edit
from gitmem.platform.safe_open import read_json, read_regular, replace_file
from gitmem.values import Value

_VERSION = 1
WHOLE = "digest"  # key of the record for the SHA-256 of a file that is entirely gitmem's


class FileEdit(Edit):
    """A file that is entirely gitmem's. Another file in its place is kept, and so is one that a user changed."""

    part: str
    data: bytes
    executable: bool = False

    def put(self, text: str, noted: dict[str, str]) -> str:
        """See `Edit`; without a record the same file may be the team's."""
        if text and _sha256(text) != noted.get(WHOLE):
            return text
        content = decoded(self.data)
        noted[WHOLE] = _sha256(content)
        return content

    def take(self, text: str, noted: Noted) -> str:
        return "" if _sha256(text) == noted.get(WHOLE) else text

    def present(self, text: str) -> bool:
        """See `Edit`; somebody else's hook may have the same file name."""
        return "gitmem" in text or text == decoded(self.data)


def _sha256(text: str) -> str:
    return hashlib.sha256(encoded(text)).hexdigest()


class InstallRecord(Value):
    """The record of an installed file: whether gitmem created it, and the notes of its edits."""

    created: bool = False
    noted: Mapping[str, str] = {}


class SettingsChange(Value):
    """A file before and after (None: missing); `record` is None if nothing of gitmem is left in it."""

    path: str
    before: bytes | None
    after: bytes | None
    record: InstallRecord | None = None
    executable: bool = False

    @property
    def changes(self) -> bool:
        """Whether the content changes."""
        return self.before != self.after


def record_of(edit: Edit, made: Collection[str]) -> InstallRecord | None:
    """Return the record to assume if none exists; None for a file that is not gitmem's.

    A file that is entirely gitmem's must equal this version's. `made` are the settings files that gitmem created, since
    a user may have had empty ones.
    """
    if isinstance(edit, FileEdit):
        noted = {WHOLE: _sha256(decoded(edit.data))}
        return InstallRecord(created=True, noted=noted) if _read(edit.path) == edit.data else None
    return InstallRecord(created=edit.path in made) if is_present(edit) else None


class Manifest:
    """The records of the files that gitmem wrote, by path, and the folders that it made for them, in one file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def records(self) -> dict[str, InstallRecord]:
        """Return all readable records; hooks are recognized without any."""
        return self._read()[0]

    def put(self, path: str, record: InstallRecord | None, made: Iterable[str] = ()) -> None:
        """Store a record and the folders to be `made`, or with None delete it, and folders that are then empty."""
        records, folders = self._read()
        records.pop(path, None)
        if record is not None:
            records[path], folders = record, {*folders, *made}
        else:
            folders = remove_empty(folders)
        if not records:  # and the folders that were made for it
            with contextlib.suppress(OSError):
                os.unlink(self.path)
                os.rmdir(os.path.dirname(self.path))
                os.rmdir(os.path.dirname(os.path.dirname(self.path)))
            return
        files = {name: files._asdict() for name, files in records.items()}
        value = {"v": _VERSION, "files": files, "folders": sorted(folders)}
        if value == read_json(self.path):  # keep its time: that of the last installation that changed something
            return
        replace_file(self.path, json.dumps(value, indent=1).encode(), sync=True, mode=0o600)

    def _read(self) -> tuple[dict[str, InstallRecord], set[str]]:
        records: dict[str, InstallRecord] = {}
        folders: set[str] = set()
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            value = read_json(self.path)
            for path, record in value["files"].items():
                noted = {str(place): str(text) for place, text in record["noted"].items()}
                records[str(path)] = InstallRecord(record["created"] is True, noted)
            folders.update(map(str, value["folders"]))
        return records, folders


def remove_empty(folders: Iterable[str]) -> set[str]:
    """Remove the empty folders; return the others."""
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return set(filter(os.path.isdir, folders))


def plan_edits(
    path: str, edits: Sequence[Edit], known: InstallRecord | None, made: Collection[str] = ()
) -> SettingsChange:
    """Plan to put edits into a file; `known` is an earlier installation's record, `made` are files that gitmem made."""
    before = _read(path)
    text = decoded(before or b"")
    with _named(path):
        if before is None or (known and not (WHOLE in known.noted or any(edit.present(text) for edit in edits))):
            known = None  # the recorded file was removed
        if known is None and path in made and "gitmem" in text:  # by another host, or the record was removed
            known = record_of(edits[0], made) or InstallRecord(created=True)
        old = known or InstallRecord(before is None)
        noted = dict(old.noted)
        for edit in edits:
            text = edit.put(text, noted)
    after = None if before is None and not text else encoded(text)
    record = InstallRecord(old.created, noted) if known or old.created or before != after else None
    return SettingsChange(path, before, after, record, any(edit.executable for edit in edits))


def plan_takes(path: str, edits: Sequence[Edit], known: InstallRecord | None) -> SettingsChange:
    """Plan to take edits out of a file, by its record, or else by the marks in the file."""
    before = _read(path)
    if before is None:
        return SettingsChange(path, None, None)
    known = known or InstallRecord()
    text = decoded(before)
    with _named(path):
        for edit in reversed(edits):
            text = edit.take(text, known.noted)
    return SettingsChange(path, before, None if known.created and (not text or _is_stamp(text)) else encoded(text))


def _is_stamp(text: str) -> bool:
    """Return whether settings have only the keys that some hosts add on reading: `$schema`, `$version`."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        return isinstance(value, dict) and all(key.startswith("$") for key in value)
    return False


def plan_file(path: str, content: bytes | None) -> SettingsChange:
    """Plan to write a gitmem file that needs no record, or with None to remove it."""
    return SettingsChange(path, _read(path), content)


def carry_out(change: SettingsChange, manifest: Manifest | None = None) -> None:
    """Write the planned change. Raises NotSavedError if that fails; then the settings are as they were."""
    with disk_errors(f"{change.path} could not be written"):
        # The record goes first: without the file it does no harm.
        if manifest is not None and change.record is not None:
            manifest.put(change.path, change.record, missing_folders(change.path))
        if change.changes:
            _replace(change)
        if manifest is not None and change.record is None:
            manifest.put(change.path, None)


def missing_folders(path: str) -> Iterator[str]:
    """Yield the missing folders of a file's path, the innermost first."""
    folder = os.path.dirname(os.path.realpath(path))
    while not os.path.isdir(folder):
        yield folder
        folder = os.path.dirname(folder)


def is_present(edit: Edit) -> bool:
    """Return whether a readable settings file has the edit."""
    with contextlib.suppress(RefusedError, SettingsError):
        return edit.present(decoded(_read(edit.path) or b""))
    return False


def _replace(change: SettingsChange) -> None:
    target = os.path.realpath(change.path)
    if _read(change.path) != change.before:
        raise NotSavedError(f"{change.path} was changed by another program meanwhile.", "Try again.")
    if change.after is not None:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = None if change.before is None else stat.S_IMODE(os.stat(target).st_mode)
        replace_file(target, change.after, sync=True, mode=_usual_mode(change) if mode is None else mode)
        return
    os.unlink(target)


def _usual_mode(change: SettingsChange) -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return (0o777 if change.executable else 0o666) & ~mask


def _read(path: str) -> bytes | None:
    try:
        data = read_regular(path, sys.maxsize)  # None for a pipe, which would block
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}.") from error
    if data is None and os.path.exists(path):
        raise RefusedError(f"{path} is no file that settings can be in.", "Move it away, then try again.")
    return data


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        raise RefusedError(f"{path} {error}.", "Fix it, then try again. The file is as it was.") from error
