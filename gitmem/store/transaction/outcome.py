"""What a transaction came to."""

from __future__ import annotations

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from typing import Generic, TypeVar

if TYPE_CHECKING:
    T = TypeVar("T")

    class _Carrier(Value, Generic[T]):
        value: T
else:  # what carries a value of any type, without `typing`

    class _Carrier(Value):
        value: object

        def __class_getitem__(cls, _: object) -> type:
            return cls


class Outcome(_Carrier["T"]):
    """What a transaction came to.

    `value` is what the plan returned, `commits` the ids of all commits made, oldest first (edits by hand among them),
    `notices` what the user should be told, a sentence each.
    """

    commits: tuple[str, ...]
    notices: tuple[str, ...]
