"""Check replies of providers: JSON against a schema, vectors, numbers of tokens."""

from __future__ import annotations

import json
import math
import re

from gitmem.text.tokens import estimate_tokens

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitmem.llm.protocol import Vector

MOST = 400_000  # characters of a reply; a usual one has some ten thousand
_SHOWN = 3  # complaints in a message
_BLOCK = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n```\s*", re.DOTALL)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


class ReplyError(ValueError):
    """The reply does not fit the schema; the message is the end of a sentence that begins with "the reply"."""


def parse_reply(text: str, schema: Mapping[str, object]) -> dict[str, object]:
    """Parse a reply that is one JSON object, alone or in one code block.

    An object among other text is not accepted: it may be quoted from the material, placed there to be accepted.

    Raises:
        ReplyError: it is not JSON, or does not fit the schema.

    """
    if len(text) > MOST:
        raise ReplyError(f"has {len(text):,} characters")
    block = _BLOCK.fullmatch(text)
    try:
        value = json.loads(block[1] if block else text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ReplyError("is not JSON" if text.strip() else "is empty") from None
    complaints = list(_complaints(value, schema, ""))
    if complaints or not isinstance(value, dict):
        raise ReplyError("; ".join(complaints[:_SHOWN]) or "is not a JSON object")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(name)  # NaN and Infinity are not JSON (RFC 8259, 6)


def _complaints(value: object, schema: Mapping[str, object], place: str) -> Iterator[str]:
    """Yield the violations of a schema in a value; extra properties are accepted.

    Only the keywords of `gitmem.llm.protocol.Question.schema` are checked: a library for all of JSON Schema would be a
    dependency of every installation.
    """
    kind = schema.get("type")
    types = _TYPES.get(str(kind), (object,))
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "boolean"):
        yield f"has no {kind} in {place or 'it'}"
        return
    choices = schema.get("enum")
    if isinstance(choices, list | tuple) and value not in choices:
        yield f"has none of {', '.join(map(str, choices))} in {place}"
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        for name, below in properties.items():
            where = f"{place}.{name}" if place else name
            if name in value:
                yield from _complaints(value[name], below, where)
            else:
                yield f"lacks {where}"
    if isinstance(value, list) and isinstance(items, dict):
        for index, item in enumerate(value):
            yield from _complaints(item, items, f"{place}[{index}]")


def unit_vectors(name: str, given: object, count: int) -> list[Vector]:
    """Return the vectors of a provider, scaled to length 1.

    Raises:
        AnswerError: there are not `count` vectors of finite numbers and one dimension, none of them zero.

    """
    from array import array

    from gitmem.llm.errors import AnswerError

    if not isinstance(given, list) or len(given) != count:
        got = len(given) if isinstance(given, list) else type(given).__name__
        raise AnswerError(f"{name} gave {got} vectors for {count} texts.")
    vectors: list[Vector] = []
    for numbers in given:
        try:
            vector = array("f", numbers)
            length = math.sqrt(math.fsum(number * number for number in vector))
        except (TypeError, ValueError, OverflowError):
            raise AnswerError(f"{name} gave a vector with something other than numbers.") from None
        if not math.isfinite(length) or length == 0 or len(vector) != len(vectors[0] if vectors else vector):
            raise AnswerError(f"{name} gave an invalid vector: of another dimension, zero or not finite.")
        vectors.append(array("f", [number / length for number in vector]))
    return vectors


def field(value: object, name: str) -> object:
    """Return a field of a JSON object, or None."""
    return value.get(name) if isinstance(value, dict) else None


def counted(reported: object, text: str) -> int:
    """Return the number of tokens that a provider reports, else an estimate for the text."""
    if isinstance(reported, int) and not isinstance(reported, bool) and reported >= 0:
        return reported
    return estimate_tokens(text)
