"""Models behind the OpenAI chat interface: the public API, and every server that speaks the same."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from trivium._arguments import checked
from trivium.exceptions import ConfigurationError
from trivium.llms._chat_model import ChatModel
from trivium.llms._parameters import common_names
from trivium.llms._prices import Pricing, PublishedPrice
from trivium.llms._protocol import Delta, Request
from trivium.llms.http._policy import RetryPolicy
from trivium.llms.http._transport import Keys, Transport, with_path
from trivium.llms.wire._answers import AnswerReader, OpenAIMessageReader
from trivium.llms.wire._tool_names import legal, legal_names
from trivium.schema import ToolSpec

__all__ = ["OpenAIModel", "ask_openai"]

PUBLIC_URL = "https://api.openai.com/v1"
PATH = "/chat/completions"
ROLES: Final = {"system", "developer", "user", "assistant", "tool", "function"}
# The families that think first refuse `max_tokens`; other servers know nothing else.
THINKING: Final = re.compile(r"(.*/)?(o[1-9]|gpt-[5-9])")


class OpenAIModel(ChatModel):
    """A model behind a server that speaks the OpenAI chat interface.

    A failed request is tried again a few times, but never after the first piece of an answer was given out.
    Connections are kept for each event loop and closed with it.

    A message of a role that the interface does not know, as `environment`, is sent as a user's of that name. Names that
    it does not take, as `Maps.route`, are sent in letters that it takes; the answer has the tools' own names again.

    Args:
        model: its name at the server.
        base_url: where the server is, with its version part; with `/chat/completions` too if you like. Default the
            public OpenAI API.
        api_key: default `$TRIVIUM_API_KEY`; for the public API also `$OPENAI_API_KEY`. Other servers may
            need none.
        timeout: seconds without a byte from the server after which it is given up; default 120.
        parameters: sampling parameters for every request; those of a request go before.
        retry: when a failed request is made again; default `RetryPolicy()`.
        price: what its tokens cost; default: what genai-prices knows of the server, if it is installed.

    Raises:
        ConfigurationError: the URL is not one of HTTP.

    Example::

        agent = Agent(OpenAIModel("qwen3", base_url="http://localhost:8000/v1"))
    """

    @checked
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        parameters: Mapping[str, Any] | None = None,
        retry: RetryPolicy | None = None,
        price: Pricing | None = None,
    ) -> None:
        self.name = model
        self.gen_params = dict(parameters or {})
        url = with_path(base_url or PUBLIC_URL, PATH)
        keys = Keys((), partial(_key, api_key, url == PUBLIC_URL + PATH))
        self._transport = Transport(url, keys, timeout=timeout, retry=retry)
        self.price = price

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self._transport.shown_url.removesuffix(PATH)!r})"

    def _published_price(self) -> Pricing | None:
        return PublishedPrice(self.name, url=self._transport.shown_url)

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Ask the server and yield its answer piece by piece; closing the generator ends the request.

        Raises:
            ConfigurationError: the public API needs a key, and there is none.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: what it sent is not an answer.
        """
        parameters = common_names(self.gen_params, request.parameters)
        return ask_openai(self._transport, self.name, request, parameters)


def _key(given: str | None, is_public: bool) -> str:
    key = given or os.environ.get("TRIVIUM_API_KEY") or ""
    if not key and is_public:  # never sent elsewhere: it is the key of that one provider
        key = os.environ.get("OPENAI_API_KEY") or ""
        if not key:
            raise ConfigurationError(
                f"{PUBLIC_URL} needs an API key: set TRIVIUM_API_KEY or OPENAI_API_KEY, or api_key="
            )
    return key


def ask_openai(
    transport: Transport, model: str, request: Request, parameters: Mapping[str, Any], tries: int | None = None
) -> AsyncGenerator[Delta]:
    """Ask a server that speaks the OpenAI chat interface.

    Args:
        transport: how it is asked.
        model: its name at the server.
        request: the question.
        parameters: all sampling parameters, by the names of the interface; those of the request do not count.
        tries: how often the server is asked at most.
    """
    names = legal_names(_tool_names(request))
    own = {sent: name for name, sent in names.items()}
    body = _body(model, request, parameters, names)
    return transport.stream(body, lambda: AnswerReader(OpenAIMessageReader(own)), tries)


def _tool_names(request: Request) -> Iterator[str]:
    """The names of all tools in a request: of those that can be called, then of those that were."""
    yield from (tool.name for tool in request.tools)
    for message in request.messages:
        for call in message.get("tool_calls") or ():
            yield str(call.get("function", call).get("name"))


def _message(message: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A message with a role and names that the interface takes."""
    found = dict(message)
    role, name = found.get("role", "user"), found.pop("name", None)
    found.pop("reasoning", None)
    found.pop("reasoning_state", None)
    if role not in ROLES:
        role, name = "user", name or role
    found["role"] = role
    if name:
        found["name"] = names.get(name) or legal(str(name))
    if names and found.get("tool_calls"):
        found["tool_calls"] = [_renamed(call, names) for call in found["tool_calls"]]
    return found


def _renamed(call: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    function = call.get("function")
    name = str((function or call).get("name"))
    return {**call, "function": {**function, "name": names.get(name, name)}} if function else dict(call)


def _body(model: str, request: Request, parameters: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    body = dict(parameters)
    if "max_tokens" in body and THINKING.match(model):
        body["max_completion_tokens"] = body.pop("max_tokens")
    body |= {"model": model, "messages": [_message(message, names) for message in request.messages]}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.tools:
        body["tools"] = [_tool(tool, names) for tool in request.tools]
        choice = names.get(request.tool_choice, request.tool_choice)
        named = choice not in ("auto", "none", "required")
        body["tool_choice"] = {"type": "function", "function": {"name": choice}} if named else choice
    if request.output_schema is not None:
        schema = dict(request.output_schema)
        answer = {"name": "answer", "strict": _is_strict(schema), "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": answer}
    return body


def _tool(tool: ToolSpec, names: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": names.get(tool.name, tool.name),
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
