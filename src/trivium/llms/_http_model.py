"""What the models of providers have in common: keys in turn, tries, and tools beside text."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Literal

from trivium._arguments import checked
from trivium.exceptions import ConfigurationError, UnsupportedParameterError
from trivium.llms._base import BaseAPILLM
from trivium.llms._chat_model import Messages, as_messages
from trivium.llms._meta_template import MetaTemplate
from trivium.llms._prices import Pricing, PublishedPrice
from trivium.llms._protocol import Delta, Parameters, Request
from trivium.llms.http._transport import Keys, Transport

__all__ = ["OURS", "HTTPModel", "roles"]

Variable = Literal["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SENSENOVA_API_KEY"]
OURS: Final = frozenset({"skip_special_tokens", "session_id"})
"""Parameters that models of text have, and the interfaces of providers do not."""


def roles(environment: str) -> MetaTemplate:
    """A meta template of the usual roles, with what stands for `environment`."""
    return tuple(
        {"role": role, "api_role": environment if role == "environment" else role}
        for role in ("system", "user", "assistant", "environment")
    )


class HTTPModel(BaseAPILLM):
    """A provider's model; a subclass writes `_answer`, and says where it is asked with which keys and headers."""

    setting: ClassVar[str] = "api_base"
    public_url: ClassVar[str]
    variable: ClassVar[Variable]
    _transport: Transport

    @checked
    def __init__(self, model_type: str, retry: int, meta_template: MetaTemplate | None, **gen_params: Any) -> None:
        self._check_parameters(gen_params)
        super().__init__(model_type, retry, meta_template=meta_template, **gen_params)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_type!r}, {self.setting}={self.url!r})"

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._transport.shown_url

    def _published_price(self) -> Pricing | None:
        return PublishedPrice(self.model_type, url=self.url)

    @classmethod
    def _transport_to(
        cls,
        url: str,
        key: str | Sequence[str] | None,
        headers: Callable[[str], Mapping[str, str]],
        proxies: Mapping[str, str] | None,
    ) -> Transport:
        """How the server is asked. No part of it holds the model, so it is closed as soon as the model is gone."""
        if key is None or key == "ENV":
            keys = Keys((), partial(_environment_key, cls.variable, cls.public_url if url == cls.public_url else ""))
        else:
            keys = Keys([key] if isinstance(key, str) else key, _no_key)
        return Transport(url, keys, headers, setting=cls.setting, proxies=proxies or {})

    def _answer(self, request: Request) -> AsyncGenerator[Delta]:
        """Ask the server; the request has all parameters, and messages of the interface."""
        raise NotImplementedError

    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> AsyncGenerator[Delta]:
        """Yield what the model answers; see `BaseAPILLM.complete`."""
        return self._answer(Request(as_messages(prompt), parameters=parameters))

    def stream(self, request: Request) -> Any:
        """Ask the server and yield its answer piece by piece; tools and a schema are its own to keep.

        Raises:
            ConfigurationError: there is no key.
            ProviderError: the server cannot be reached, refused, or sent what is no answer.
        """
        if not request.tools and request.output_schema is None:
            return super().stream(request)
        messages, parameters = self.template_parser(request.messages), self.update_gen_params(**request.parameters)
        return self._answer(request._replace(messages=messages, parameters=parameters))

    def _request_for(self, messages: Messages, gen_params: Parameters) -> Request:
        parameters = dict(gen_params)
        self._check_parameters(parameters)
        return super()._request_for(messages, parameters)

    def _check_parameters(self, gen_params: dict[str, Any]) -> None:
        if "max_tokens" in gen_params:
            raise UnsupportedParameterError(
                f"{type(self).__name__} takes max_new_tokens instead of max_tokens", "max_tokens"
            )


def _environment_key(variable: Variable, needed_by: str) -> str:
    key = os.environ.get(variable) or ""
    if not key and needed_by:
        raise ConfigurationError(f"{needed_by} needs an API key: set {variable}, or give key=")
    return key


def _no_key() -> str:
    raise ConfigurationError("an empty API key was given: give one, or key='ENV'")
