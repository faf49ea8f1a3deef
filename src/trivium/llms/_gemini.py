"""Models behind Gemini's REST interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import quote

from trivium.llms._protocol import Delta, Request
from trivium.llms._provider_model import ProviderModel
from trivium.llms.providers import PROFILES
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._gemini import GeminiMessageReader
from trivium.llms.wire._gemini_request import gemini_body, gemini_names

__all__ = ["GoogleModel"]


class GoogleModel(ProviderModel):
    """A Gemini model, over Google's REST interface `generateContent`.

    Signatures of thoughts go back to the model with the history, on the parts on which they came. A schema for the
    answer is kept by the interface; beside tools, which it takes from Gemini 3 on, by a tool that takes the answer.
    Parameters go by their common names; others are passed on by the interface's, as `thinkingConfig` and
    `safetySettings`.

    Args:
        model: its name, as "gemini-3-flash"; "tunedModels/NAME" for one of your own.
        base_url: where the server is, with its version part. Default the public interface.
        api_key: default `$TRIVIUM_API_KEY`; for the public interface also `$GEMINI_API_KEY` or `$GOOGLE_API_KEY`.
            Other servers may need none. Several are used in turn.
        timeout: seconds without a byte from the server after which it is given up; default 120.
        parameters: sampling parameters for every request; those of a request go before.
        retry: when a failed request is made again; default `RetryPolicy()`.
        price: what its tokens cost; default: what genai-prices knows of the server, if it is installed.

    Raises:
        ConfigurationError: the URL is not one of HTTP.

    Example::

        model = GoogleModel("gemini-3-flash", parameters={"thinkingConfig": {"includeThoughts": True}})
        agent = Agent(model, tools=[search])
    """

    profile = PROFILES["gemini"]

    def _path(self) -> str:
        name = self.name if "/" in self.name else f"models/{self.name}"
        return f"/{quote(name)}:streamGenerateContent"

    def _address(self, base: str) -> str:
        address, _, query = super()._address(base).partition("?")
        return f"{address}?{query}{'&' if query else ''}alt=sse"

    def _answer(self, request: Request, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        names = gemini_names(self.name, request)
        body = gemini_body(self.name, request, parameters, names)
        return self._transport.stream(body, lambda: AnswerReader(GeminiMessageReader(names, self.name)))
