"""ClaudeAPI: models behind Anthropic's Messages interface, with the arguments of the Lagent documents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final

from trivium.llms._anthropic import PUBLIC_URL, anthropic_address, anthropic_headers, request_anthropic
from trivium.llms._base import AsyncBaseAPILLM
from trivium.llms._http_model import OURS, HTTPModel, roles
from trivium.llms._meta_template import MetaTemplate
from trivium.llms._protocol import Delta, Request
from trivium.llms.providers import PROFILES
from trivium.schema.lowlevel import checked

META: Final = roles("user")


class ClaudeAPI(HTTPModel):
    """A Claude model, with the arguments of the Lagent documents; `ClaudeModel` has the current ones.

    It takes tools and a schema beside text: `Agent(ClaudeAPI(…), tools=…)` works as with any other model. System
    messages are sent before all others, and messages of one role that follow each other as one.

    Args:
        model_type: name of the model at the server.
        retry: the most attempts for a request; the delays between them grow.
        key: an API key, or several that are used in turn; "ENV" is `$ANTHROPIC_API_KEY`, or `$TRIVIUM_API_KEY` if that
            is not set. A key that the server refuses, or that has no credit left, is not used again, unless it is the
            last.
        proxies: the proxy for "http" and "https"; those of the environment are not used.
        meta_template: the `api_role` of each role; default: `environment` is sent as the user's.
        temperature: 0 always takes the most likely token. This and the next two are sent only if they are given.
        max_new_tokens: the longest answer, in tokens.
        top_p: the share of probability to sample from.
        top_k: the number of tokens to sample from.
        repetition_penalty: not sent; the interface has no such parameter.
        stop_words: texts at which an answer ends; they are cut off.
        base_url: address of the server.

    Raises:
        ConfigurationError: the URL is not an HTTP URL.

    Example::

        ClaudeAPI("claude-sonnet-4-6").chat([{"role": "user", "content": "hi"}])
    """

    setting = "base_url"
    profile = PROFILES["anthropic"]

    @checked
    def __init__(
        self,
        model_type: str = "claude-sonnet-4-6",
        retry: int = 5,
        key: str | Sequence[str] | None = "ENV",
        proxies: Mapping[str, str] | None = None,
        meta_template: MetaTemplate | None = META,
        temperature: float | None = None,
        max_new_tokens: int = 512,
        top_p: float | None = None,
        top_k: int | None = None,
        repetition_penalty: float = 0.0,
        stop_words: str | Sequence[str] | None = None,
        *,
        base_url: str = PUBLIC_URL,
    ) -> None:
        super().__init__(
            model_type,
            retry,
            meta_template,
            temperature=temperature,
            max_new_tokens=max_new_tokens,
            top_p=top_p,
            top_k=top_k,
            repetition_penalty=repetition_penalty,
            stop_words=stop_words,
        )
        self._transport = self._transport_to(anthropic_address(base_url), key, anthropic_headers, proxies)

    def _answer(self, request: Request) -> AsyncGenerator[Delta]:
        parameters = {name: value for name, value in request.parameters.items() if name not in OURS}
        return request_anthropic(self._transport, self.model_type, request, parameters, max(1, self.retry))


class AsyncClaudeAPI(AsyncBaseAPILLM, ClaudeAPI):
    """A `ClaudeAPI` whose methods are awaited."""
