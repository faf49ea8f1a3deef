"""Models behind Gemini's REST interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from urllib.parse import quote

from trivium.llms._protocol import Delta, Parameters, Request
from trivium.llms._provider_model import ProviderModel
from trivium.llms.providers import PROFILES
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._gemini import GeminiMessageReader
from trivium.llms.wire._gemini_request import gemini_beginning, gemini_body, gemini_names


class GoogleModel(ProviderModel):
    """A Gemini model, over Google's REST interface `generateContent`.

    Signatures of reasoning go back to the model with the history, on the parts that they came with. A schema for the
    answer is enforced by the interface; before Gemini 3, an answer with a schema beside tools is the arguments of a
    tool. Parameters have their common names; others are passed on by the interface's names, such as `thinkingConfig`
    and `safetySettings`.

    Args:
        model: name of the model, such as "gemini-3-flash"; "tunedModels/NAME" for one of your own.
        base_url: address of the server with its version part. Default the public interface.
        api_key: default `$TRIVIUM_API_KEY`; for the public interface also `$GEMINI_API_KEY` or `$GOOGLE_API_KEY`.
            Other servers may need none. Several are used in turn; a function returns one for each request.
        timeout: seconds without a byte from the server after which the request fails; default 120.
        parameters: sampling parameters for every request; those of a request override them.
        retry: the policy for failed requests; default `RetryPolicy()`.
        price: the price of its tokens; default: the published price, if genai-prices is installed.
        client: what sends the requests, such as `HTTPClient(proxies=…, certificates=…)`; default: one of its own, with
            the proxies of the environment.
        headers: further headers of each request, such as those of a gateway; they override its own.

    Raises:
        ConfigurationError: the URL is not an HTTP URL, or a header cannot be sent.

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

    def _answer(self, request: Request, parameters: Parameters) -> AsyncGenerator[Delta]:
        before = gemini_beginning(self.name, request)
        names = gemini_names(self.name, request, before)
        body = gemini_body(self.name, request, parameters, names, before)
        return self._transport.stream(body, lambda: AnswerReader(GeminiMessageReader(names, self.name)))
