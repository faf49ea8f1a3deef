"""Models behind the OpenAI chat interface: the public API, and every server that speaks the same."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from trivium.commander import wait
from trivium.commander._workers import get_running_loop
from trivium.exceptions import (
    ConfigurationError,
    MalformedAnswerError,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms._answers import AnswerReader, error_text
from trivium.llms._chat_model import ChatModel
from trivium.llms._parameters import common_names
from trivium.llms._protocol import Delta, Request
from trivium.schema import ToolSpec

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from ssl import SSLContext

    from httpx2 import AsyncClient, Response

__all__ = ["OpenAIModel"]

PUBLIC_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
MAX_TRIES, FIRST_DELAY, LONGEST_DELAY = 3, 0.5, 30.0
RETRIED = {408, 409, 429}
MAX_ERROR_BYTES = 64 << 10
HINTS = {
    401: "; check the API key",
    403: "; check the API key and what it may use",
    404: "; check base_url and the name of the model",
    413: "; send less: a shorter document, or fewer fields",
    429: "; wait, or send fewer requests at once",
}


class OpenAIModel(ChatModel):
    """A model behind a server that speaks the OpenAI chat interface.

    A failed request is tried again a few times, but never after the first piece of an answer was given out.
    Connections are kept for each event loop and closed with it.

    Args:
        model: its name at the server.
        base_url: where the server is, with its version part; default the public OpenAI API.
        api_key: default `$TRIVIUM_API_KEY`; for the public API also `$OPENAI_API_KEY`. Other servers may
            need none.
        timeout: seconds without a byte from the server after which it is given up; default 120.
        parameters: sampling parameters for every request; those of a request go before.

    Raises:
        ConfigurationError: the URL is not one of HTTP.

    Example::

        agent = Agent(OpenAIModel("qwen3", base_url="http://localhost:8000/v1"))
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        parts = urlsplit(base_url or PUBLIC_URL)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("base_url begins with http:// or https:// and a host")
        self.name = model
        self._url = urlunsplit(parts).rstrip("/")
        self._shown_url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        self._api_key, self._timeout = api_key, timeout
        self.gen_params = dict(parameters or {})
        self._ssl: SSLContext | None = None
        self._clients: WeakKeyDictionary[AbstractEventLoop, _Client] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self._shown_url!r})"

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Ask the server and yield its answer piece by piece; closing the generator ends the request.

        Raises:
            ConfigurationError: the public API needs a key, and there is none.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: what it sent is not an answer.
        """
        key = self._key()
        body = json.dumps(_body(self.name, request, self.gen_params)).encode()
        client = await self._client()
        for attempt in range(1, MAX_TRIES + 1):
            begun = False
            try:
                async with contextlib.aclosing(self._ask(client, body, key)) as deltas:
                    async for delta in deltas:
                        begun = True
                        yield delta
                return
            except ProviderError as error:
                delay = None if begun or attempt == MAX_TRIES else retry_delay(error, attempt)
                if delay is None:
                    raise self._without_key(error, key) from None
            await wait(delay)

    async def _ask(self, client: AsyncClient, body: bytes, key: str) -> AsyncGenerator[Delta]:
        """One request, with every error of the transport turned into one of ours."""
        import httpx2

        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        url, reader = f"{self._url}/chat/completions", AnswerReader()
        try:
            async with client.stream("POST", url, content=body, headers=headers) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                async for piece in response.aiter_bytes():
                    for delta in reader.feed(piece):
                        yield delta
        except httpx2.DecodingError as error:
            raise MalformedAnswerError(
                f"{self._shown_url} sent an answer that cannot be unpacked; check what stands between, as a proxy"
            ) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ProviderConnectionError(
                f"no answer from {self._shown_url} ({str(error) or type(error).__name__}): check that the "
                "server runs, that base_url is right and that the network lets it through"
            ) from error
        for delta in reader.end():
            yield delta

    async def _refusal(self, response: Response) -> _RefusedError:
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_ERROR_BYTES:
                break
        raw = body.decode("utf-8", "replace")
        try:
            message = error_text(json.loads(raw))
        except (ValueError, RecursionError):
            message = "" if raw.lstrip().startswith("<") else raw.strip()[:200]
        status = response.status_code
        text = f"{self._shown_url} answered {status}: {message or response.reason_phrase}{_hint(status)}"
        return _RefusedError(text, raw, status, _retry_after(response.headers))

    def _without_key(self, error: ProviderError, key: str) -> ProviderError:
        """`error` with the API key blotted out, which some servers send back."""
        if key:
            error.args = tuple(str(part).replace(key, "***") for part in error.args)
            error.raw = error.raw.replace(key, "***")
        return error

    def _key(self) -> str:
        key = self._api_key or os.environ.get("TRIVIUM_API_KEY") or ""
        if not key and self._url == PUBLIC_URL:  # never sent elsewhere: it is the key of that one provider
            key = os.environ.get("OPENAI_API_KEY") or ""
            if not key:
                raise ConfigurationError(
                    f"{self._shown_url} needs an API key: set TRIVIUM_API_KEY or OPENAI_API_KEY, or api_key="
                )
        if not key.strip().isascii() or not key.strip().isprintable():
            raise ConfigurationError("the API key has characters that no API key has: copy it again")
        return key.strip()

    async def _client(self) -> AsyncClient:
        loop = get_running_loop()
        assert loop is not None, "a coroutine of asyncio runs this"
        held = self._clients.get(loop)
        if held is None:
            # The loop closes its asynchronous generators when it ends, and so the client that one holds.
            held = self._clients[loop] = _Client(self._new_client())
            await anext(held.keeper)
        return held.client

    def _new_client(self) -> AsyncClient:
        import httpx2

        if self._ssl is None and self._url.startswith("https"):
            self._ssl = httpx2.create_ssl_context()
        limits = httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS))
        return httpx2.AsyncClient(timeout=limits, verify=self._ssl or True)


class _Client:
    """A client and the generator that closes it."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self.keeper = self._keep(client)

    @staticmethod
    async def _keep(client: AsyncClient) -> AsyncGenerator[None]:
        async with client:
            yield


class _RefusedError(ProviderStatusError):
    """An error status, with the seconds that the server wants to be left alone."""

    def __init__(self, message: str, raw: str, status: int, retry_after: float) -> None:
        super().__init__(message, raw, status)
        self.retry_after = retry_after


def retry_delay(error: ProviderError, attempt: int) -> float | None:
    """Seconds to wait before a request is tried again, or None if it must not be.

    Args:
        error: why it failed; nothing of an answer was given out yet.
        attempt: how often it was tried, from 1.
    """
    asked = 0.0
    if isinstance(error, _RefusedError):
        asked = error.retry_after
        if (error.status not in RETRIED and error.status < 500) or asked > LONGEST_DELAY:
            return None
    elif not isinstance(error, ProviderConnectionError):
        return None
    # Not for secrets: the jitter keeps many callers from coming back at the same moment.
    return max(asked, FIRST_DELAY * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311 - a delay, no secret


def _hint(status: int) -> str:
    """What to do about an error status."""
    if status >= 500:
        return "; try again later, or look into the server's log"
    if status < 400:
        return "; check base_url"
    return HINTS.get(status, "; change what it says is wrong, or try another model")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds from `retry-after-ms`, or from `retry-after` as seconds or as a date; else 0."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    return 0.0


def _body(model: str, request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
    body = common_names(parameters, request.parameters)
    body |= {"model": model, "messages": [dict(message) for message in request.messages]}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        choice = request.tool_choice
        named = choice not in ("auto", "none", "required")
        body["tool_choice"] = {"type": "function", "function": {"name": choice}} if named else choice
    if request.output_schema is not None:
        schema = dict(request.output_schema)
        answer = {"name": "answer", "strict": _is_strict(schema), "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": answer}
    return body


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}


def _is_strict(schema: Any) -> bool:
    """Whether every object of a schema is closed and wants all its keys, which strict decoding asks for."""
    if isinstance(schema, list):
        return all(_is_strict(item) for item in cast("list[Any]", schema))
    if not isinstance(schema, dict):
        return True
    node = cast("dict[str, Any]", schema)
    if node.get("type") == "object" or "properties" in node:
        keys = set(cast("dict[str, Any]", node.get("properties") or {}))
        if node.get("additionalProperties") is not False or keys - set(node.get("required", ())):
            return False
    return all(_is_strict(value) for value in node.values())
