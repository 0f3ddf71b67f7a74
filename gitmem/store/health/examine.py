"""Run checks of a store (spec R12, P9); one that fails does not stop the others.

Tested through `tests/store/health/test_doctor.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.store.upkeep.findings import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitmem.store.store import Store

    Check = Callable[[Store], Iterator[Finding]]


def examine(store: Store, checks: Sequence[Check], progress: Callable[[str], None] = lambda _: None) -> list[Finding]:
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
