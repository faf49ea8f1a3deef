"""The base of providers' models with Lagent's arguments: keys in turn, retries, and tools beside text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from trivium.exceptions import UnsupportedParameterError
from trivium.llms._base import BaseAPILLM
from trivium.llms._chat_model import Messages, as_messages
from trivium.llms._meta_template import MetaTemplate
from trivium.llms._prices import Pricing, PublishedPrice
from trivium.llms._protocol import Delta, Parameters, Request
from trivium.llms._provider_model import keys_for
from trivium.llms.http._transport import Keys, Transport
from trivium.llms.providers import Profile
from trivium.schema.lowlevel import checked

OURS: Final = frozenset({"skip_special_tokens", "session_id"})
"""Parameters of text models that the interfaces of providers do not have."""


def roles(environment: str) -> MetaTemplate:
    """Return a meta template of the usual roles, with a role for `environment`."""
    return tuple(
        {"role": role, "api_role": environment if role == "environment" else role}
        for role in ("system", "user", "assistant", "environment")
    )


class HTTPModel(BaseAPILLM):
    """A provider's model; a subclass names the profile, makes the transport, and writes `_answer`."""

    setting: ClassVar[str] = "api_base"
    profile: ClassVar[Profile]
    _transport: Transport

    @checked
    def __init__(self, model_type: str, retry: int, meta_template: MetaTemplate | None, **gen_params: Any) -> None:
        self._check_parameters(gen_params)
        super().__init__(model_type, retry, meta_template=meta_template, **gen_params)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_type!r}, {self.setting}={self.url!r})"

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._transport.shown_url

    def published_price(self) -> Pricing | None:
        """Return the published price at this server."""
        return PublishedPrice(self.model_type, url=self.url)

    def _identity(self) -> dict[str, object]:
        return {**super()._identity(), "url": self._transport.known_url}

    @classmethod
    def _transport_to(
        cls,
        url: str,
        key: str | Sequence[str] | None,
        headers: Callable[[str], Mapping[str, str]],
        proxies: Mapping[str, str] | None,
    ) -> Transport:
        """Make the transport. No part of it refers to the model, so it is closed as soon as the model is gone."""
        keys = keys_for(cls.profile, url, key, "key")
        if key is None or key == "ENV":  # the user named the provider's variable: its key goes to any address
            keys = Keys((), partial(_key_of_environment, cls.profile, url))
        return Transport(url, keys, headers, setting=cls.setting, proxies=proxies or {})

    def _answer(self, request: Request) -> AsyncGenerator[Delta]:
        """Send the request, which has all parameters and messages in the interface's roles."""
        raise NotImplementedError

    def complete(self, prompt: object, parameters: Parameters) -> AsyncGenerator[Delta]:
        """Yield the deltas of the answer; see `BaseAPILLM.complete`."""
        return self._answer(Request(as_messages(prompt), parameters=parameters))

    def stream(self, request: Request) -> Any:
        """Send the request, with its tools and schema, and yield the deltas of the answer.

        Raises:
            ConfigurationError: the provider needs a key, and there is none.
            ProviderError: the server cannot be reached, refused, or sent no valid answer.
        """
        if not request.tools and request.output_schema is None:
            return super().stream(request)
        messages, parameters = self.template_parser(request.messages), self.update_gen_params(**request.parameters)
        return self._answer(request._replace(messages=messages, parameters=parameters))

    def _request_for(self, messages: Messages, gen_params: Parameters) -> Request:
        parameters = dict(gen_params)
        self._check_parameters(parameters)
        return super()._request_for(messages, parameters)

    def _check_parameters(self, gen_params: dict[str, object]) -> None:
        if "max_tokens" in gen_params:
            raise UnsupportedParameterError(
                f"{type(self).__name__} takes max_new_tokens instead of max_tokens", "max_tokens"
            )


def _key_of_environment(profile: Profile, url: str) -> str:
    return profile.key_for(url, profile.environment_key(), "key")
