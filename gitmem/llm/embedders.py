"""Embeddings by OpenAI, any server with its API, or Google's Gemini.

https://platform.openai.com/docs/api-reference/embeddings, https://ai.google.dev/api/embeddings
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.llm.http import ONCE, Patience, post_json
from gitmem.llm.protocol import AnswerError, field, unit_vectors
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
