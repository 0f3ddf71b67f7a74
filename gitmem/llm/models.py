"""Models behind an API: Anthropic's Messages, and OpenAI's Chat Completions, which many servers have.

Ollama, llama.cpp, LM Studio, vLLM and proxies have the second. https://platform.claude.com/docs/en/api/messages,
https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gitmem.config import SummaryConfig
from gitmem.llm.http import is_private, post_json
from gitmem.llm.protocol import (
    ANTHROPIC,
    MOST_BYTES,
    OPENAI,
    AnswerError,
    ModelAnswer,
    ProviderError,
    Request,
    Size,
    StatusError,
    counted,
    field,
)
from gitmem.text.data import table

MODELS = {
    ANTHROPIC: {Size.SMALL: "claude-haiku-5-5", Size.LARGE: "claude-sonnet-5-5"},
    OPENAI: {Size.SMALL: "gpt-5-mini", Size.LARGE: "gpt-6.1-sol"},
}
_URLS = {ANTHROPIC: "https://api.anthropic.com", OPENAI: "https://api.openai.com/v1"}
_LONG = 100_000  # tokens of a prompt above which a request costs more


def _prices(kind: str) -> dict[str, tuple[float, float]]:
    """Return the prices of a million tokens of a prompt and of an answer, in US dollars, by the model."""
    return {name: (float(asked), float(said[0])) for row, name, asked, *said in table("prices.tsv") if row == kind}


PRICES, _LONG_PRICES = _prices("model"), _prices("long")
_BAD_REQUEST = (400, 422)
_VERSION = "2023-06-01"  # of Anthropic's API


class _ApiModel:
    """See `gitmem.llm.protocol.Model`."""

    provider: str

    def __init__(
        self, config: SummaryConfig, path: str, headers: Mapping[str, str], environ: Mapping[str, str]
    ) -> None:
        shipped = MODELS[self.provider]
        self._names = {
            Size.SMALL: config.model or shipped[Size.SMALL],
            Size.LARGE: config.large_model or shipped[Size.LARGE],
        }
        base = config.base_url or _URLS[self.provider]
        self.remote = not is_private(base)
        self._url = base.rstrip("/").removesuffix("/v1" if path.startswith("/v1/") else "") + path
        self._headers, self._environ = headers, environ

    def name(self, size: Size) -> str:
        """See `Model.name`."""
        return self._names[size]

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:
        """See `Model.price`."""
        price = PRICES.get(self.name(size))
        return _LONG_PRICES.get(self.name(size), price) if tokens > _LONG else price

    def _post(self, body: Mapping[str, object], deadline: float) -> object:
        return post_json(
            self._url, body, headers=self._headers, deadline=deadline, environ=self._environ, most=MOST_BYTES
        )

    def _answer(
        self, request: Request, reply: object, text: str | None, tokens: tuple[str, str], refused: bool
    ) -> ModelAnswer:
        if text is None and not refused:
            raise AnswerError(f"{self.name(request.size)} gave no answer.", raw=json.dumps(reply))
        usage, model = field(reply, "usage"), field(reply, "model")
        return ModelAnswer(
            text=text or "",
            model=model if isinstance(model, str) and model else self.name(request.size),
            input_tokens=counted(field(usage, tokens[0]), request.system + request.text),
            output_tokens=counted(field(usage, tokens[1]), text or ""),
            refused=refused,
        )


class AnthropicModel(_ApiModel):
    """Anthropic's Messages, with structured outputs by `output_config.format`."""

    provider = ANTHROPIC

    def __init__(self, config: SummaryConfig, key: str, environ: Mapping[str, str]) -> None:
        super().__init__(config, "/v1/messages", {"x-api-key": key, "anthropic-version": _VERSION}, environ)

    def ask(self, request: Request, deadline: float) -> ModelAnswer:
        """See `Model.ask`."""
        body = {
            "model": self.name(request.size),
            "max_tokens": request.most_tokens,
            "system": request.system,
            "messages": [{"role": "user", "content": request.text}],
            "output_config": {"format": {"type": "json_schema", "schema": request.schema}},
        }
        reply = self._post(body, deadline)
        content = field(reply, "content")
        blocks = content if isinstance(content, list) else []
        texts = [text for block in blocks if isinstance(text := field(block, "text"), str)]
        refused = field(reply, "stop_reason") == "refusal"
        return self._answer(
            request, reply, "".join(texts) if texts else None, ("input_tokens", "output_tokens"), refused
        )


class ChatModel(_ApiModel):
    """Chat Completions of OpenAI, or of a server of one's own."""

    provider = OPENAI

    def __init__(self, config: SummaryConfig, key: str, environ: Mapping[str, str]) -> None:
        self._own = not config.base_url  # the server is OpenAI's
        if not self._own and not config.model:
            raise ProviderError("summary.model names no model.", "Name one that the server has.")
        super().__init__(config, "/chat/completions", {"Authorization": f"Bearer {key}"} if key else {}, environ)
        if config.model and not config.large_model:
            self._names[Size.LARGE] = config.model

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:
        """See `Model.price`."""
        if self._own:
            return super().price(size, tokens)
        return None if self.remote else (0.0, 0.0)

    def ask(self, request: Request, deadline: float) -> ModelAnswer:
        """See `Model.ask`."""
        body: dict[str, object] = {
            "model": self.name(request.size),
            "messages": [
                {"role": "system", "content": f"{request.system}\n\nSchema: {json.dumps(request.schema)}"},
                {"role": "user", "content": request.text},
            ],
            "max_completion_tokens" if self._own else "max_tokens": request.most_tokens,
        }
        form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": request.schema}}
        try:
            reply = self._post({**body, "response_format": form}, deadline)
        except StatusError as error:
            if self._own or error.status not in _BAD_REQUEST:
                raise
            reply = self._post(body, deadline)  # the server takes no schemas; the system prompt has it, too
        choices = field(reply, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = field(choice, "message")
        refusal = field(message, "refusal")
        refused = bool(refusal) or field(choice, "finish_reason") == "content_filter"
        text = refusal or field(message, "content")
        tokens = ("prompt_tokens", "completion_tokens")
        return self._answer(request, reply, text if isinstance(text, str) else None, tokens, refused)
