"""A server that answers questions: asked through the provider's official SDK where that is installed, else by `http`.

The SDKs are extras, `gitmem-store[anthropic]` and `[openai]`: each has 30 MB and takes a second to import, which the
process that asks pays, mostly behind a hook, and no other; a search, whose query is embedded while somebody waits, does
without (`gitmem.llm.openai`). They bring what a provider's own client knows first and we would not write: the
newest version of its API, headers for gateways (`ANTHROPIC_CUSTOM_HEADERS`, `OPENAI_ORG_ID`), any kind of proxy. What
holds for all requests holds for theirs: a deadline, a limit on the answer, no redirect, no key told, one try at a time.
"""

from __future__ import annotations

import contextlib
import json
import time
from operator import attrgetter
from typing import Any

from gitmem.llm.asking import MOST_BYTES
from gitmem.llm.errors import AnswerError, DeadlineError, ProviderError, UnreachableError
from gitmem.llm.http import post_json, read_answer, refused, where_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Endpoint(Value):
    """One thing a provider may be asked: its path below the base URL, and how its SDK calls it.

    `package` is the SDK's, `client` the class in it, `resource` what of the client has the method `create`.
    """

    path: str
    package: str
    client: str
    resource: str


MESSAGES = Endpoint("/v1/messages", "anthropic", "Anthropic", "messages")
COMPLETIONS = Endpoint("/chat/completions", "openai", "OpenAI", "chat.completions")


class _UnfitError(Exception):
    """The SDK is one of another time: it has no such client, or does not know what is asked."""


class Server(Value):
    """Where an endpoint is, the key it wants ("" for none), and the headers that carry it where no SDK does."""

    endpoint: Endpoint
    base_url: str  # up to where the endpoint's path begins
    key: str
    headers: Mapping[str, str]
    environ: Mapping[str, str]

    def post(self, asked: Mapping[str, object], *, deadline: float) -> object:
        """Ask once, and return what is answered; `deadline` and errors are those of `post_json`."""
        sdk = _sdk(self.endpoint.package) if self.key else None  # an SDK insists on a key
        if sdk is not None:
            with contextlib.suppress(_UnfitError):
                return self._through(sdk, asked, deadline)
        url = f"{self.base_url}{self.endpoint.path}"
        return post_json(*(url, asked), headers=self.headers, deadline=deadline, environ=self.environ, most=MOST_BYTES)

    def _through(self, sdk: Any, asked: Mapping[str, object], deadline: float) -> object:
        where = where_of(self.base_url)
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError(f"There was no time left to ask {where}.")
        try:
            data = _in_time(lambda: self._create(sdk, asked, left), left)
        except ProviderError:
            raise
        except (AttributeError, TypeError):
            raise _UnfitError from None
        except sdk.APIStatusError as error:
            asked_to_wait = error.response.headers.get("retry-after", "")
            raise refused(where, error.status_code, error.response.content, asked_to_wait, [self.key]) from None
        except (TimeoutError, sdk.APITimeoutError):
            raise DeadlineError(f"{where} did not answer in time.") from None
        except Exception as error:  # noqa: BLE001  # of the SDK, of its HTTP client, of what they cannot send
            said = f"{error.__cause__ or error}".replace(self.key.strip(), "[key]") or type(error).__name__
            raise UnreachableError(f"{where} could not be asked: {said[:300]}.") from None
        return read_answer(where, data)

    def _create(self, sdk: Any, asked: Mapping[str, object], left: float) -> bytes:
        """Return the body of a good answer as it came: what it means is read in one place, with and without SDKs."""
        sent = json.loads(json.dumps(asked, ensure_ascii=False).encode("utf-8", "replace"))  # no lone surrogates
        client = getattr(sdk, self.endpoint.client)(
            api_key=self.key,
            base_url=self.base_url,
            max_retries=0,
            timeout=left,
            http_client=sdk.DefaultHttpxClient(follow_redirects=False),
        )
        resource = attrgetter(self.endpoint.resource)(client)
        body = b""
        with client, resource.with_streaming_response.create(**sent) as response:
            for block in response.iter_bytes():
                body += block
                if len(body) > MOST_BYTES:
                    raise AnswerError(f"The answer of {where_of(self.base_url)} has more than {MOST_BYTES:,} bytes.")
        return body


def _sdk(package: str) -> Any:
    """Return an SDK, None where it is not installed, or not whole."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        return None


def _in_time(ask: Callable[[], bytes], seconds: float) -> bytes:
    """Return what asking gives; TimeoutError after so many seconds, whatever keeps it.

    An SDK's timeout begins anew with each byte that drips in. What is late is left to a thread that nothing waits for.
    """
    from queue import Empty, SimpleQueue
    from threading import Thread

    done: SimpleQueue[bytes | Exception] = SimpleQueue()

    def run() -> None:
        try:
            done.put(ask())
        except Exception as error:  # noqa: BLE001  # raised where it is waited for
            done.put(error)

    Thread(target=run, daemon=True).start()
    try:
        found = done.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise found
    return found
