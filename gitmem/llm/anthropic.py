"""Anthropic's Messages API, with structured outputs by `output_config.format`.

https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gitmem.config import SummaryConfig
from gitmem.llm.http import is_private, post_json
from gitmem.llm.protocol import ANTHROPIC, MOST_BYTES, Answer, AnswerError, Request, Size, counted, field

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
MODELS = {Size.SMALL: "claude-haiku-5-5", Size.LARGE: "claude-sonnet-5-5"}
# US dollars a million tokens, as of 2026-11.
PRICES = {
    "claude-haiku-5-5": (0.10, 0.50),
    "claude-haiku-4-5": (1.0, 5.0),
    "claude-sonnet-5-5": (2.0, 10.0),
    "claude-sonnet-5": (2.0, 10.0),
    "claude-sonnet-4-6": (3.0, 15.0),
    "claude-opus-5-5": (4.0, 20.0),
}
_LONG = 100_000  # tokens of a prompt above which a request costs more
_LONG_PRICES = {"claude-haiku-5-5": (0.50, 2.50)}


class AnthropicModel:
    """See `gitmem.llm.protocol.Model`."""

    provider = ANTHROPIC

    def __init__(self, config: SummaryConfig, key: str, environ: Mapping[str, str]) -> None:
        self._names = {
            Size.SMALL: config.model or MODELS[Size.SMALL],
            Size.LARGE: config.large_model or MODELS[Size.LARGE],
        }
        base = config.base_url or BASE_URL
        self.remote = not is_private(base)
        self._url = f"{base.rstrip('/').removesuffix('/v1')}/v1/messages"
        self._headers = {"x-api-key": key, "anthropic-version": VERSION}
        self._environ = environ

    def name(self, size: Size) -> str:
        """See `Model.name`."""
        return self._names[size]

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:
        """See `Model.price`."""
        name = self.name(size)
        return _LONG_PRICES.get(name, PRICES.get(name)) if tokens > _LONG else PRICES.get(name)

    def ask(self, request: Request, deadline: float) -> Answer:
        """See `Model.ask`."""
        body = {
            "model": self.name(request.size),
            "max_tokens": request.most_tokens,
            "system": request.system,
            "messages": [{"role": "user", "content": request.text}],
            "output_config": {"format": {"type": "json_schema", "schema": request.schema}},
        }
        reply = post_json(
            self._url, body, headers=self._headers, deadline=deadline, environ=self._environ, most=MOST_BYTES
        )
        content = field(reply, "content")
        blocks = content if isinstance(content, list) else []
        texts = [text for block in blocks if isinstance(text := field(block, "text"), str)]
        refused = field(reply, "stop_reason") == "refusal"
        if not texts and not refused:
            raise AnswerError(f"{self.name(request.size)} gave no answer.", raw=json.dumps(reply))
        usage, model = field(reply, "usage"), field(reply, "model")
        return Answer(
            text="".join(texts),
            model=model if isinstance(model, str) and model else self.name(request.size),
            input_tokens=counted(field(usage, "input_tokens"), request.system + request.text),
            output_tokens=counted(field(usage, "output_tokens"), "".join(texts)),
            refused=refused,
        )
