"""Choose the best scanner of this machine.

Tested through `tests/search/scan/test_base.py`.
"""

from __future__ import annotations

from gitmem.search.scan.base import PythonScanner

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.search.scan.base import Scanner
    from gitmem.search.scan.rg import RgScanner
    from gitmem.store.store import Store


def make_scanner(store: Store, *, large: bool = False) -> Scanner:
    """Return the best scanner of this machine.

    The bindings need no process and use one core; `rg` uses all cores and takes half as long in a `large` store.
    """
    from gitmem.search.scan.bindings import BindingsMissingError, BindingsScanner

    rg = make_rg(store) if large else None
    if rg is not None:
        return rg
    try:
        return BindingsScanner(store.private, store.context.home)
    except BindingsMissingError:
        return make_rg(store) or PythonScanner()


def make_rg(store: Store) -> RgScanner | None:
    """Return the scanner on the `rg` binary, None without it."""
    from gitmem.machine.programs import find_program
    from gitmem.search.scan.rg import RgScanner

    rg = find_program("rg", store.context.environ)
    return RgScanner(rg, store.context.environ) if rg else None
