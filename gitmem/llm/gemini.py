"""Embeddings by Google's Gemini (https://ai.google.dev/api/embeddings)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.llm.http import ONCE, Patience, post_json
from gitmem.llm.protocol import AnswerError, field, unit_vectors
from gitmem.text.stems import estimate_tokens

if TYPE_CHECKING:
    from gitmem.llm.protocol import Vector

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
MODEL = "gemini-embedding-001"
DIMENSIONS = 768  # of 3,072: a prefix of its vectors is a vector, too
PRICES = {MODEL: 0.15}  # US dollars a million tokens, as of 2026-11


class GeminiEmbedder:
    """See `gitmem.llm.protocol.Embedder`."""

    name = "gemini"
    remote = True
    price: float | None
    calibration: tuple[float, float] | None = None
    batch = 64  # of the 100 that a request may have
    batch_bytes = 200_000

    def __init__(
        self, key: str, model: str, base_url: str, environ: Mapping[str, str], patience: Patience | None = None
    ) -> None:
        self.model = model or MODEL
        self.price = PRICES.get(self.model)
        self.tokens = 0
        self._url = f"{(base_url or BASE_URL).rstrip('/')}/models/{self.model}:batchEmbedContents"
        self._headers = {"x-goog-api-key": key}
        self._environ = environ
        self._patience = patience or Patience()

    def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
        """See `Embedder.embed_documents`."""
        return self._embed(texts, "RETRIEVAL_DOCUMENT", deadline, self._patience)

    def embed_query(self, text: str, deadline: float) -> Vector:
        """See `Embedder.embed_query`."""
        return self._embed([text], "RETRIEVAL_QUERY", deadline, ONCE)[0]

    def _embed(self, texts: Sequence[str], task: str, deadline: float, patience: Patience) -> list[Vector]:
        requests = [
            {
                "model": f"models/{self.model}",
                "content": {"parts": [{"text": text}]},
                "taskType": task,
                "outputDimensionality": DIMENSIONS,
            }
            for text in texts
        ]
        answer = post_json(
            *(self._url, {"requests": requests}),
            headers=self._headers,
            deadline=deadline,
            patience=patience,
            environ=self._environ,
        )
        found = field(answer, "embeddings")
        if not isinstance(found, list):
            raise AnswerError(f"{self.name} gave no vectors.")
        vectors = unit_vectors(self.name, [field(item, "values") for item in found], len(texts))
        self.tokens += sum(map(estimate_tokens, texts))
        return vectors
