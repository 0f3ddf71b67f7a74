"""Run the checks of a store (spec R12, P9); one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.store.health import files, repository
from gitmem.store.health.attributes import check_attributes
from gitmem.store.review.purges import check_purges
from gitmem.store.upkeep.findings import Finding, Level

if TYPE_CHECKING:
    from gitmem.store.store import Store

Check = Callable[["Store"], Iterator[Finding]]

# Checks that are cheap enough for every `gitmem status`, and write nothing.
QUICK: tuple[Check, ...] = (
    repository.check_branch,
    files.check_config,
    files.check_spool,
    files.check_log,
    repository.check_maintenance,
    check_attributes,
    check_purges,
)
FULL: tuple[Check, ...] = (
    repository.check_tools,
    repository.check_format,
    repository.check_branch,
    repository.check_objects,
    repository.check_work_tree,
    repository.check_locks,
    repository.check_private_folder,
    repository.check_identity,
    repository.check_maintenance,
    files.check_config,
    files.check_headers,
    files.check_conflicts,
    files.check_secrets,
    files.check_names,
    check_attributes,
    files.check_spool,
    files.check_log,
    check_purges,
)
DEEP: tuple[Check, ...] = tuple(
    repository.check_objects_deeply if check is repository.check_objects else check for check in FULL
)


def examine(
    store: Store, checks: tuple[Check, ...] = FULL, progress: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Run checks in order and return their findings; call `progress` with the name of each check.

    The error of a check that fails is a finding, too.
    """
    found: list[Finding] = []
    for check in checks:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        progress(f"checking {name}")
        try:
            found += check(store)
        except GitmemError as error:
            if error.message not in {finding.message for finding in found}:
                found.append(Finding(name, Level.PROBLEM, error.message, error.remedy))
        except Exception as error:  # noqa: BLE001  # the other checks must run
            words = " ".join(f"{type(error).__name__}: {error}".split())
            found.append(Finding(name, Level.PROBLEM, f"The check failed. {words}"))
    return found
