"""Plan what an agent's installation writes: its files, the manifest that records them, lines of git's exclude list."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff

from gitmem.errors import RefusedError
from gitmem.git.setup import excluded, unexcluded
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import Host, InstallPlace, Scope
from gitmem.hosts.install import FileEdit, InstallRecord, Manifest, SettingsChange, plan_edits, plan_file
from gitmem.hosts.script import created_settings
from gitmem.hosts.settings import ALLOW, COMMANDS, HOOKS, SKILL, TRUST, Edit
from gitmem.hosts.text_settings import TablesEdit
from gitmem.values import Value

EXCLUDE = "exclude"


class InstallPlan(Value):
    """The planned changes of one host's files, each with its part, and the manifest that records them.

    `others` are the paths where somebody else's file is in the way; `hooks` is the file with the hooks.
    """

    host: Host
    place: InstallPlace
    manifest: Manifest | None
    items: Sequence[Edit]
    changes: tuple[tuple[str, SettingsChange], ...]
    others: tuple[str, ...]
    hooks: str


def plan_install(
    host: Host,
    place: InstallPlace,
    parts: tuple[str, ...],
    manifest: Manifest | None,
    common_dir: str | None,
    *,
    trust: bool,
) -> InstallPlan:
    """Plan the files of one host; none may be a link out of the project, whose git folder is `common_dir`."""
    records = manifest.records() if manifest else {}
    items, made = _items(host, place, parts, records, trust=trust), created_settings(place.home)
    changes, others = [], []
    for path, edits in by_path(items).items():
        change = plan_edits(path, edits, records.get(path), made)
        changes.append((edits[0].part, change))
        others += [path] * (isinstance(edits[0], FileEdit) and change.after != edits[0].data)
    top = place.project
    for _, change in changes:  # a link's target may affect other projects
        real = os.path.realpath(change.path)
        if change.path.startswith(os.path.join(top, "")) and not real.startswith(
            os.path.join(os.path.realpath(top), "")
        ):
            remedy = "Remove the link, or install for all your projects, with --user."
            raise RefusedError(f"{change.path} leads out of the project, to {real}.", remedy)
    changes.sort(key=lambda change: change[0] != HOOKS)
    if (passed_over := plan_excluded(place, items, common_dir, installs=True)) is not None:
        changes.append((EXCLUDE, passed_over))
    hooks = next((item.path for item in items if item.part == HOOKS), "")
    return InstallPlan(host, place, manifest, items, tuple(changes), tuple(others), hooks)


def _items(
    host: Host, place: InstallPlace, parts: tuple[str, ...], records: Mapping[str, InstallRecord], *, trust: bool
) -> list[Edit]:
    """Return the items to install, with `trust` also the entry that makes the host trust the planned hooks."""
    every = edits_of(host, place)
    items = [item for item in every if item.part in parts]
    hooks = next((item for item in items if item.part == HOOKS), None)
    if trust and host.trust and hooks:
        planned = plan_edits(hooks.path, [hooks], records.get(hooks.path))
        path = next(item.path for item in every if item.part == TRUST)
        tables = host.trust(hooks.path, (planned.after or b"").decode("utf-8", "surrogateescape"))
        items.append(TablesEdit(path, tables, TRUST))
    return items


def by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    """Return the edits of each file."""
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(edit.path, []).append(edit)
    return found


def plan_excluded(
    place: InstallPlace, edits: Iterable[Edit], common_dir: str | None, *, installs: bool
) -> SettingsChange | None:
    """Plan lines of git's exclude list for an agent's installed files in the user's own settings.

    Return None if nothing changes, there is no git, or the list is a link, which would change another file.
    """
    path = os.path.join(common_dir or "", "info", "exclude")
    if place.scope is Scope.USER or not common_dir or os.path.islink(path):
        return None
    change = plan_file(path, b"")
    text = change.before or b""
    top = os.path.join(place.project, "")
    for edit in (edit for edit in edits if edit.path.startswith(top)):
        whole = edit.part in {SKILL, COMMANDS} and isinstance(edit, FileEdit)  # the whole folder is gitmem's
        name = (os.path.join(os.path.dirname(edit.path), "") if whole else edit.path).removeprefix(top)
        is_mine = installs and (place.scope is Scope.LOCAL or edit.part == ALLOW)
        text = (excluded if is_mine else unexcluded)(text, f"/{name.replace(os.sep, '/')}")
    return None if text == (change.before or b"") else change._replace(after=text)


def diff_of(changes: Iterable[SettingsChange]) -> str:
    """Return the changes as a unified diff."""
    diff = ""
    for change in changes:
        before, after = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (change.before, change.after)
        )
        old, new = (change.path if data is not None else os.devnull for data in (change.before, change.after))
        diff += "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in unified_diff(before, after, old, new)
        )
    return diff


def count_removed(changes: Sequence[SettingsChange]) -> int:
    """Return how many lines changes take out of one file, one after the other or, if only planned, all at once."""
    if len({change.before for change in changes}) == len(changes):
        return sum(sum(line.startswith("-") for line in diff_of([one]).splitlines()[2:]) for one in changes)
    return len(set[int]().union(*map(_removed, changes)))


def _removed(change: SettingsChange) -> set[int]:
    """Return which lines of a list go."""
    left, gone = (change.after or b"").splitlines(), set[int]()
    for number, line in [*enumerate((change.before or b"").splitlines())][::-1]:  # the mark is before its line
        if left[-1:] == [line]:
            left.pop()
        else:
            gone.add(number)
    return gone
