"""Immutable values for code that runs at every save: `typing.NamedTuple` at a twentieth of its cost to define.

A save is a process that lives for a few dozen milliseconds, so what it costs to *define* its forty value types counts:
measured in instructions, a frozen dataclass with four fields takes 5 million and brings `inspect`, a `NamedTuple` 2
million and brings `typing`, a `Value` 0.1 million. (Bare Python starts in 39 million.) So all values are of this base.
Dataclasses are for what a tuple cannot be: one that changes (`purge.rewrite.Applied`), one that keeps what it computed
(`web.view.View`).
"""

from __future__ import annotations

__all__ = ["IO", "TYPE_CHECKING", "Any", "BinaryIO", "Generic", "NoReturn", "Self", "TextIO", "TypeVar", "Value"]

TYPE_CHECKING = False  # for all modules that a save loads: `typing` has it too, but costs 16 million instructions
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO, Any, BinaryIO, ClassVar, Generic, NoReturn, Self, TextIO, TypeVar, dataclass_transform

    @dataclass_transform(frozen_default=True)
    class Value:
        """A value whose fields are the class's annotations, in order, with the defaults given there."""

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Self: ...
        def _replace(self, **changes: Any) -> Self: ...
        def _asdict(self) -> dict[str, Any]: ...

        _fields: ClassVar[tuple[str, ...]]

else:
    from operator import itemgetter

    IO = Any = BinaryIO = NoReturn = Self = TextIO = None  # names for annotations, which nothing evaluates

    def TypeVar(*_args, **_bounds):  # noqa: N802
        """Stand for a type that only a type checker needs."""

    class Generic:
        """Stand for the base of a generic class."""

        __slots__ = ()

        def __class_getitem__(cls, _type):
            return cls

    class Value(tuple):
        """A value whose fields are the class's annotations, in order, with the defaults given there."""

        __slots__ = ()
        _fields = ()
        _defaults = {}

        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__(**kwargs)
            cls._fields = cls._fields + tuple(cls.__annotations__)
            cls._defaults = {**cls._defaults, **{name: vars(cls)[name] for name in cls._fields if name in vars(cls)}}
            for index, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(index)))

        def __new__(cls, *args, **named):
            fields = cls._fields
            if named or len(args) != len(fields):
                given = dict(zip(fields, args, strict=False), **named)
                if len(args) > len(fields) or len(given) != len(args) + len(named) or not given.keys() <= set(fields):
                    raise TypeError(
                        f"{cls.__name__} takes {', '.join(fields)}; given {len(args)} values and {', '.join(named)}"
                    )
                values = {**cls._defaults, **given}
                missing = [name for name in fields if name not in values]
                if missing:
                    raise TypeError(f"{cls.__name__} needs {', '.join(missing)}")
                args = [values[name] for name in fields]
            return tuple.__new__(cls, args)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __eq__(self, other):
            return type(self) is type(other) and tuple.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

        __hash__ = tuple.__hash__

        # All fields in order, unchecked: for values that are made by the thousand, in a fifth of the time.
        _make = classmethod(tuple.__new__)

        def __reduce__(self):
            return type(self), tuple(self)

        def _replace(self, **changes):
            fields, values = self._fields, list(self)
            for name, value in changes.items():
                if name not in fields:
                    return type(self)(**{**self._asdict(), **changes})  # which names the unknown field
                values[fields.index(name)] = value
            return self._make(values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))
