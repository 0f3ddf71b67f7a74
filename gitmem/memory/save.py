"""Saving what a person or an agent wants remembered: into the spool, then into `memory.md` and the daily log.

One save is one commit (spec G2), made by whoever drains the spool first; the drain rotates before it saves (R4). What
was delivered twice, or drained twice after a crash, is met by its id in the daily log and not saved again.
"""

from __future__ import annotations

from gitmem.errors import DoesNotFitError, GitmemError, RefusedError
from gitmem.model.entry.save import UnknownEventError, parse_event
from gitmem.model.paths import MEMORY
from gitmem.model.tiers.limits import Limits, needs_rotation
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitmem.config import RotationConfig
    from gitmem.model.entry.save import Save
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

BATCH = 500  # events of one lock and one fast-import; a larger spool takes several


class Saved(Value):
    """A save that is committed: its entry's id, and the commit (None if another process made it).

    `redacted` counts what was left out of its text, by kind: secrets, and passages in `<private>`.
    """

    id: str
    commit: str | None
    archive: str | None
    notices: tuple[str, ...]
    redacted: dict[str, int]


class Drained(Value):
    """What a drain did: commits by event name, archives made, and notices for the user.

    `refused` are the events that no commit can hold, which were kept aside, and those that wait in the spool until a
    person mends what is in the way; each with the reason. `redacted` counts by event name what was left out, by kind.
    """

    commits: dict[str, str]
    archives: tuple[str, ...]
    notices: tuple[str, ...]
    waiting: int
    refused: dict[str, RefusedError]
    redacted: dict[str, dict[str, int]]


def save(store: Store, what: Save, *, scan: bool = False) -> Saved:
    """Save one thing; returns when the commit that holds it is synced.

    Raises:
        GitmemError: it is not committed; the message says so, and that the spool has it, or that it was kept aside.
        OSError: not even the spool could take it.

    """
    spool = store.spool
    name = spool.deliver(what.to_event())
    try:
        drained = drain(store, scan=scan)
        if name in drained.refused:
            raise drained.refused[name]
    except GitmemError as error:
        if name in spool.names():
            error.message = f"Not committed yet: {error.message}"
            error.remedy = (
                f"{error.remedy} What you saved waits in the spool; the next gitmem command commits it.".strip()
            )
        raise
    archive = drained.archives[-1] if drained.archives else None
    redacted = drained.redacted.get(name)
    if redacted is None:  # another process committed it
        from gitmem.redact.redact import kinds_of, redact

        redacted = kinds_of(redact(what.text, allow=store.config.redaction.allow).findings)
    notices = (*drained.notices, _told(redacted)) if redacted else drained.notices
    return Saved(what.id, drained.commits.get(name), archive, notices, redacted)


def _told(kinds: dict[str, int]) -> str:
    secrets = [f"{number} {kind}" for kind, number in sorted(kinds.items()) if kind != "private"]
    private = kinds.get("private", 0)
    said = [f"what looked like a secret ({', '.join(secrets)})"] if secrets else []
    said += [f"{private} private {'passage' if private == 1 else 'passages'}"] if private else []
    return f"Left out of what was saved: {' and '.join(said)}."


def drain(store: Store, *, scan: bool = False) -> Drained:
    """Commit all that waits in the spool, in order, and remove it from there."""
    commits: dict[str, str] = {}
    archives: list[str] = []
    notices: list[str] = []
    refused: dict[str, RefusedError] = {}
    redacted: dict[str, dict[str, int]] = {}
    while True:
        seen = _Batch(store)
        outcome = transact(store, seen.plan, purpose="save", scan=scan, meanwhile=_import_entries)
        ours = outcome.commits[len(outcome.commits) - seen.drafts :]
        commits.update({name: ours[index] for name, index in seen.placed.items()})
        archives += seen.archives
        notices += outcome.notices
        store.spool.remove(seen.done)
        for name in seen.unreadable:
            store.spool.put_aside(name)
            notices.append(f"An event that could not be understood was kept aside: {name}.")
        for name, error in seen.refused.items():
            if isinstance(error, DoesNotFitError):
                store.spool.put_aside(name)
                error.remedy = f"{error.remedy} What was to be saved was kept aside: {name}.".strip()
            notices.append(f"{error.message} {error.remedy}".strip())
        refused.update(seen.refused)
        redacted.update(seen.redacted)
        if not seen.full:
            return Drained(commits, tuple(archives), tuple(notices), len(store.spool.names()), refused, redacted)
        scan = False


def _import_entries() -> None:
    import gitmem.memory.entries  # noqa: F401


class _Batch:
    """One pass over the spool; the plan may run again, so it begins afresh each time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reset()

    def _reset(self) -> None:
        self.placed: dict[str, int] = {}
        self.done: list[str] = []
        self.unreadable: list[str] = []
        self.refused: dict[str, RefusedError] = {}
        self.redacted: dict[str, dict[str, int]] = {}
        self.archives: list[str] = []
        self.drafts = 0
        self.full = False

    def plan(self, transaction: Transaction) -> None:
        """Turn the events into commits."""
        from gitmem.memory.entries import add_save

        self._reset()
        for event in self._store.spool.events():
            if len(self.done) >= BATCH:
                self.full = True
                break
            try:
                what = parse_event(event.content)
            except UnknownEventError:
                continue
            except (ValueError, TypeError, KeyError):
                self.unreadable.append(event.name)
                continue
            try:
                if archive := rotate_if_full(transaction, self._store.config.rotation):
                    self.archives.append(archive)
                left_out = add_save(transaction, self._store, what)
                if left_out is not None:
                    self.placed[event.name] = len(transaction.drafts) - 1
                    self.redacted[event.name] = left_out
            except RefusedError as error:  # for this one; another day's may well be saved
                self.refused[event.name] = error
                continue
            self.done.append(event.name)
        self.drafts = len(transaction.drafts)


def rotate_if_full(transaction: Transaction, config: RotationConfig) -> str | None:
    """Rotate first, so that the save lands in the new `memory.md` (spec R4); returns the archive made."""
    size = len(transaction.read(MEMORY) or b"")
    if not needs_rotation(size, Limits(config.threshold_tokens, config.carryover_tokens)):
        return None
    from gitmem.memory.tiers.rotate import rotate

    return rotate(transaction, config).archive
