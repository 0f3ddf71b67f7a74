"""The vectors of the last queries, by content hash, provider and model, in the process and in a file (J13).

The file, in the folder of the vectors, has a line of JSON for a query; the text of a query is not kept. Tested through
`tests/search/vectors/test_near.py`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
from array import array

from gitmem.search.vectors.cache import FOLDER

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.llm.protocol import Embedder, Vector

MOST = 200  # queries that are kept
_NAME = "queries.jsonl"
_known: dict[str, Vector] = {}


def key_of(text: str, embedder: Embedder) -> str:
    """Return the key of a query."""
    import hashlib

    content = f"{embedder.name}\0{embedder.model}\0{text}".encode("utf-8", "replace")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def recall_query(private: str, key: str) -> Vector | None:
    """Return the vector of a query, or None if it is not kept."""
    if key not in _known:
        for line in _lines(private):
            with contextlib.suppress(ValueError, TypeError, KeyError, binascii.Error):  # torn, or not ours
                value = json.loads(line)
                if value["key"] == key:
                    _known[key] = array("f", base64.b64decode(value["vector"], validate=True))
    return _known.get(key)


def keep_query(private: str, key: str, vector: Vector) -> None:
    """Keep the vector of a query, and of those before it the last; a failure is ignored, as it only costs time."""
    while len(_known) >= MOST:
        _known.pop(next(iter(_known)), None)
    _known[key] = vector
    line = json.dumps({"key": key, "vector": base64.b64encode(array("f", vector).tobytes()).decode()})
    path = os.path.join(private, FOLDER, _NAME)
    temporary = f"{path}.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("\n".join([*_lines(private)[1 - MOST :], line, ""]))
        os.replace(temporary, path)


def forget_queries(private: str) -> None:
    """Forget all queries, as where a provider gives vectors of another dimension."""
    _known.clear()
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(private, FOLDER, _NAME))


def _lines(private: str) -> list[str]:
    try:
        with open(os.path.join(private, FOLDER, _NAME), encoding="utf-8") as file:
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
