"""What the models behind a provider's own interface have in common: where they are asked, and with which key."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from trivium._arguments import checked
from trivium.exceptions import ConfigurationError
from trivium.llms._chat_model import ChatModel
from trivium.llms._parameters import common_names
from trivium.llms._prices import Pricing, PublishedPrice
from trivium.llms._protocol import Delta, Request
from trivium.llms.http._policy import RetryPolicy
from trivium.llms.http._transport import Keys, Transport, with_path

__all__ = ["ProviderModel"]

Variable = Literal["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"]


class ProviderModel(ChatModel):
    """A model behind a provider's interface; a subclass says where that is, and writes `_answer`."""

    public_url: ClassVar[str]
    variables: ClassVar[tuple[Variable, ...]]  # where the key of the public interface stands in the environment

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
        self.name, self.price = model, price
        self.gen_params = dict(parameters or {})
        base = base_url or self.public_url
        needs = self.variables if _is_below(base, self.public_url) else ()
        keys = Keys((), partial(_key, api_key, needs))
        self._transport = Transport(self._address(base), keys, self._headers, timeout=timeout, retry=retry)

    def __repr__(self) -> str:
        base = self._transport.shown_url.removesuffix(self._path())
        return f"{type(self).__name__}({self.name!r}, base_url={base!r})"

    def _published_price(self) -> Pricing | None:
        return PublishedPrice(self.name, url=self._transport.shown_url)

    def _path(self) -> str:
        """What follows the base in the address of every request."""
        raise NotImplementedError

    def _address(self, base: str) -> str:
        return with_path(base, self._path())

    @staticmethod
    def _headers(key: str) -> Mapping[str, str]:
        """The headers of a request, from its key."""
        raise NotImplementedError

    def _answer(self, request: Request, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        """Ask the server, with all sampling parameters by their common names."""
        raise NotImplementedError

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Ask the server and yield its answer piece by piece; closing the generator ends the request.

        Raises:
            ConfigurationError: the public interface needs a key, and there is none.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: what it sent is not an answer.
        """
        return self._answer(request, common_names(self.gen_params, request.parameters))


def _is_below(url: str, public: str) -> bool:
    return f"{url}/".startswith(f"{public}/")


def _key(given: str | None, variables: tuple[Variable, ...]) -> str:
    """The key of a request; a provider's own is never sent elsewhere, so it is looked for at that provider's only."""
    key = given or os.environ.get("TRIVIUM_API_KEY") or ""
    for name in variables:
        key = key or _in_environment(name)
    if variables and not key:
        names = " or ".join(("TRIVIUM_API_KEY", *variables))
        raise ConfigurationError(f"the provider needs an API key: set {names}, or give api_key=")
    return key


def _in_environment(name: Variable) -> str:
    return os.environ.get(name) or ""
