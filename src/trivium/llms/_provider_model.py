"""What the models behind a provider's own interface have in common: where they are asked, and with which key."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any

from trivium._arguments import checked
from trivium.llms._chat_model import ChatModel
from trivium.llms._parameters import common_names
from trivium.llms._prices import Pricing, PublishedPrice
from trivium.llms._protocol import Delta, Request
from trivium.llms.http._policy import RetryPolicy
from trivium.llms.http._transport import Keys, Transport, bearer, with_path
from trivium.llms.providers import Profile

__all__ = ["ProviderModel", "key_headers", "keys_for"]


class ProviderModel(ChatModel):
    """A model behind a provider's interface; a subclass says whose and at which path, and writes `_answer`."""

    profile: Profile

    @checked
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | Sequence[str] | None = None,
        timeout: float = 120.0,
        parameters: Mapping[str, Any] | None = None,
        retry: RetryPolicy | None = None,
        price: Pricing | None = None,
    ) -> None:
        self.name, self.price = model, price
        self.gen_params = dict(parameters or {})
        base = self.profile.address(base_url, model)
        keys = keys_for(self.profile, base, api_key)
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

    def _headers(self, key: str) -> Mapping[str, str]:
        """The headers of a request, from its key."""
        return key_headers(self.profile, key)

    def _answer(self, request: Request, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        """Ask the server, with all sampling parameters by their common names."""
        raise NotImplementedError

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Ask the server and yield its answer piece by piece; closing the generator ends the request.

        Raises:
            ConfigurationError: the provider needs a key, and there is none.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: what it sent is not an answer.
        """
        return self._answer(request, common_names(self.gen_params, request.parameters))


def keys_for(profile: Profile, base: str, given: str | Sequence[str] | None) -> Keys:
    """The keys for an address of a provider: those that were given, or the one that the environment has."""
    if given is None or isinstance(given, str):
        return Keys((), partial(profile.key_for, base, given))
    return Keys(given)


def key_headers(profile: Profile, key: str) -> Mapping[str, str]:
    """The headers that a key goes in to a provider."""
    return {profile.key_header: key} if key and profile.key_header else bearer(key)
