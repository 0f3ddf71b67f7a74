"""Read sessions that Entire recorded on a branch of the project: the longest snapshot of each.

A checkpoint is a folder `XX/REST/N` of the branch `entire/checkpoints/v1` with `full.jsonl`, the transcript of a
session up to then, and `metadata.json`, which names the session. Nothing of the branch is trusted.
"""

from __future__ import annotations

import json
import os
import re

from gitmem.document.ids import slug
from gitmem.errors import GitmemError
from gitmem.project.code import ProjectCode
from gitmem.values import Value

NAME = "entire"
_BRANCHES = ("refs/heads/entire/checkpoints/v1", "refs/remotes/origin/entire/checkpoints/v1")
_TRANSCRIPT = re.compile(r"(?P<folder>[0-9a-f]{2}/[0-9a-zA-Z-]{1,64}(?:/[0-9]{1,6})?)/full\.jsonl")
_LARGEST = 256 * 1024 * 1024  # bytes of a transcript, as of any other (gitmem.hosts.registry.MAX_TRANSCRIPT)
_MOST = 20_000  # checkpoints
_SECONDS = 120.0


class Snapshot(Value):
    """The longest snapshot of a session: its session's id, the blob's id, and its bytes."""

    session: str
    oid: str
    size: int


def snapshots(code: ProjectCode) -> list[Snapshot]:
    """Return the longest snapshot of each session that Entire recorded, by session; none without the branch."""
    for branch in _BRANCHES:
        try:
            listed = code.git.run("ls-tree", "-r", "-l", "-z", "--full-tree", branch, timeout=_SECONDS)
        except GitmemError:
            continue
        return _longest(code, listed.decode("utf-8", "replace").split("\0"))
    return []


def _longest(code: ProjectCode, listed: list[str]) -> list[Snapshot]:
    files: dict[str, tuple[str, int]] = {}
    for row in listed:
        head, _, path = row.partition("\t")
        words = head.split()  # mode, type, id, bytes
        if words[1:2] == ["blob"] and words[-1].isdecimal():
            files[path] = (words[2], int(words[-1]))
    longest: dict[str, Snapshot] = {}
    for path, (oid, size) in list(files.items())[: 4 * _MOST]:
        match = _TRANSCRIPT.fullmatch(path)
        if match is None or size > _LARGEST:
            continue
        session = _session(code, files.get(f"{match['folder']}/metadata.json")) or match["folder"]
        if session not in longest or size > longest[session].size:
            longest[session] = Snapshot(session, oid, size)
    return [longest[session] for session in sorted(longest)]


def _session(code: ProjectCode, metadata: tuple[str, int] | None) -> str:
    """Return the session that a checkpoint's metadata names, "" if it names none."""
    if metadata is None or metadata[1] > 1 << 20:
        return ""
    try:
        known = json.loads(code.git.run("cat-file", "blob", metadata[0], timeout=_SECONDS))
    except (GitmemError, ValueError, RecursionError):
        return ""
    session = known.get("session_id") if isinstance(known, dict) else None
    return session[:200] if isinstance(session, str) else ""


def write_transcripts(code: ProjectCode, snapshots: list[Snapshot], folder: str) -> list[str]:
    """Write snapshots as transcripts into a folder of gitmem; return their paths.

    Raises GitmemError if git cannot read one.
    """
    paths = []
    for number, snapshot in enumerate(snapshots):
        path = os.path.join(folder, f"{number:05}-{slug(snapshot.session) or 'session'}.jsonl")
        with open(path, "xb") as file:
            file.write(code.git.run("cat-file", "blob", snapshot.oid, timeout=_SECONDS))
        paths.append(path)
    return paths
