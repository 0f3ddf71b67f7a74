"""The result of a transaction."""

from __future__ import annotations

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from typing import Generic, TypeVar

if TYPE_CHECKING:
    T = TypeVar("T")

    class _Carrier(Value, Generic[T]):
        value: T
else:  # at run time, without importing `typing`

    class _Carrier(Value):
        value: object

        def __class_getitem__(cls, _: object) -> type:
            return cls


class Outcome(_Carrier["T"]):
    """The result of a transaction.

    `value` is the return value of the plan, `commits` the ids of all commits, oldest first, including edits by hand,
    `notices` are sentences for the user.
    """

    commits: tuple[str, ...]
    notices: tuple[str, ...]
