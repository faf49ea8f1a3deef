"""The base of models behind a provider's own interface: address, keys and headers."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from trivium.exceptions import ConfigurationError
from trivium.http import Sender
from trivium.llms._chat_model import ChatModel
from trivium.llms._parameters import common_names
from trivium.llms._prices import Pricing, PublishedPrice
from trivium.llms._protocol import Delta, Parameters, Request
from trivium.llms.http._policy import RetryPolicy
from trivium.llms.http._secrets import is_secret
from trivium.llms.http._transport import Keys, Transport, bearer, with_path
from trivium.llms.providers import Profile
from trivium.schema.lowlevel import checked

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[^\r\n\0\u0100-\U0010ffff]*")


class ProviderModel(ChatModel):
    """A model behind a provider's interface; a subclass names profile and path, and writes `_answer`."""

    profile: Profile

    @checked
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | Sequence[str] | Callable[[], str] | None = None,
        timeout: float = 120.0,
        parameters: Parameters | None = None,
        retry: RetryPolicy | None = None,
        price: Pricing | None = None,
        client: Sender | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.price = model, price
        self._own_headers = _checked_headers(headers or {})
        self._key_headers = partial(key_headers, self.profile, is_token=callable(api_key))
        self.gen_params = dict(parameters or {})
        base = self.profile.address(base_url, model)
        keys = keys_for(self.profile, base, api_key)
        self._transport = Transport(
            self._address(base), keys, self._all_headers, timeout=timeout, retry=retry, client=client
        )

    def _identity(self) -> dict[str, object]:
        told = {name: value for name, value in self._own_headers.items() if not is_secret(name)}
        identity = {**super()._identity(), "url": self._transport.known_url}
        return {**identity, "headers": told} if told else identity

    def __repr__(self) -> str:
        base = self._transport.shown_url.removesuffix(self._path())
        return f"{type(self).__name__}({self.name!r}, base_url={base!r})"

    def published_price(self) -> Pricing | None:
        """Return the published price at this server."""
        return PublishedPrice(self.name, url=self._transport.shown_url)

    def _path(self) -> str:
        """Return the path of the interface, which follows the base address."""
        raise NotImplementedError

    def _address(self, base: str) -> str:
        return with_path(base, self._path())

    def _headers(self, key: str) -> Mapping[str, str]:
        """Return the headers of a request with a key."""
        return self._key_headers(key)

    def _all_headers(self, key: str) -> Mapping[str, str]:
        return {**self._headers(key), **self._own_headers}

    def _answer(self, request: Request, parameters: Parameters) -> AsyncGenerator[Delta]:
        """Send the request, with all sampling parameters by their common names."""
        raise NotImplementedError

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Send the request and yield the deltas of the answer; closing the generator ends the request.

        Raises:
            ConfigurationError: the provider needs a key, and there is none.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: the server sent no valid answer.
        """
        return self._answer(request, common_names(self.gen_params, request.parameters))


def keys_for(
    profile: Profile, url: str, given: str | Sequence[str] | Callable[[], str] | None, argument: str = "api_key"
) -> Keys:
    """Return the keys for requests to an address: several given ones are used in turn; a function is asked at each
    request, and otherwise `Profile.key_for` chooses one then."""
    if callable(given):
        return Keys((), given)
    if given is None or isinstance(given, str):
        return Keys((), partial(profile.key_for, url, given, argument))
    return Keys(given)


def _checked_headers(headers: Mapping[Any, object]) -> dict[str, str]:
    """Return headers that can be sent, with their names in small letters.

    Raises:
        ConfigurationError: a name or a value cannot be sent.
    """
    found = dict[str, str]()
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise ConfigurationError(f"headers= has the name {name!r}: one is of ASCII letters, digits and hyphens")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ConfigurationError(
                f"headers= has a value for {name!r} that cannot be sent: it is one line of text with Latin letters"
            )
        found[name.lower()] = value
    return found


def key_headers(profile: Profile, key: str, *, is_token: bool = False) -> Mapping[str, str]:
    """Return the headers that carry a key to a provider; Azure takes a token, as functions return it, as a bearer."""
    is_plain = profile.key_header and not (is_token and profile.name == "azure")
    return {profile.key_header: key} if key and is_plain else bearer(key)
