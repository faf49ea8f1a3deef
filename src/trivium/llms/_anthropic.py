"""Models behind Anthropic's Messages interface: the public API, and every server that speaks the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from trivium.llms._parameters import common_names
from trivium.llms._protocol import Delta, Request
from trivium.llms._provider_model import ProviderModel
from trivium.llms.http._transport import Transport, with_path
from trivium.llms.providers import PROFILES
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._claude import ClaudeMessageReader
from trivium.llms.wire._claude_request import claude_body, claude_names

__all__ = ["PATH", "PUBLIC_URL", "ClaudeModel", "anthropic_address", "anthropic_headers", "request_anthropic"]

PUBLIC_URL = PROFILES["anthropic"].url
PATH = "/v1/messages"
VERSION = "2023-06-01"  # the last in which older models take sampling parameters; newer ones take it too


class ClaudeModel(ProviderModel):
    """A Claude model, or another one behind a server that speaks Anthropic's Messages interface.

    System messages are sent before all others, and messages of one role that follow each other as one. Thoughts that
    the model signed go back to it with the history. A schema for the answer is kept by the interface from Claude 4.5
    on, where its decoder takes the schema, else by a tool that takes the answer. What a model refuses is not sent:
    `temperature`, `top_p` and `top_k` from Claude 4.7 on, a tool that must be called from Claude 5.1 on, and the
    parameters for which the interface has nothing, as `seed`. Others are passed on, as `thinking` and `cache_control`.

    Args:
        model: its name at the server.
        base_url: where the server is; with `/v1` or `/v1/messages` if you like. Default the public interface.
        api_key: default `$TRIVIUM_API_KEY`; for the public interface also `$ANTHROPIC_API_KEY`. Other servers may
            need none. Several are used in turn.
        timeout: seconds without a byte from the server after which it is given up; default 120.
        parameters: sampling parameters for every request; those of a request go before. Without `max_tokens`, an
            answer has up to 32,000 tokens from Claude 4.5 on, else 8,192 (of Claude 3, 4,096), beside the budget for
            its thoughts.
        retry: when a failed request is made again; default `RetryPolicy()`.
        price: what its tokens cost; default: what genai-prices knows of the server, if it is installed.

    Raises:
        ConfigurationError: the URL is not one of HTTP.

    Example::

        model = ClaudeModel("claude-sonnet-4-6", parameters={"thinking": {"type": "adaptive"}})
        agent = Agent(model, tools=[search])
    """

    profile = PROFILES["anthropic"]

    def _path(self) -> str:
        return PATH

    def _address(self, base: str) -> str:
        return anthropic_address(base)

    def _headers(self, key: str) -> Mapping[str, str]:
        return anthropic_headers(key)

    def _answer(self, request: Request, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        return request_anthropic(self._transport, self.name, request, parameters)


def anthropic_address(base: str) -> str:
    """The address of the interface, whether or not the base has its version or its whole path."""
    return with_path(base, PATH).replace("/v1" + PATH, PATH)


def anthropic_headers(key: str) -> Mapping[str, str]:
    """The headers of a request."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def request_anthropic(
    transport: Transport, model: str, request: Request, parameters: Mapping[str, Any], tries: int | None = None
) -> AsyncGenerator[Delta]:
    """Ask a server that speaks Anthropic's Messages interface.

    Args:
        transport: how it is asked.
        model: its name at the server.
        request: the question.
        parameters: all sampling parameters, by their common names; those of the request do not count.
        tries: how often the server is asked at most.
    """
    names = claude_names(model, request)
    body = claude_body(model, request, common_names(parameters), names)
    return transport.stream(body, lambda: AnswerReader(ClaudeMessageReader(names, model)), tries)
