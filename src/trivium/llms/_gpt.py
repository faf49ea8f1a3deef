"""GPTAPI: models behind the OpenAI chat interface, with the arguments of the Lagent documents."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final

from trivium.llms._base import AsyncBaseAPILLM
from trivium.llms._http_model import OURS, HTTPModel, roles
from trivium.llms._meta_template import MetaTemplate
from trivium.llms._openai import OPENAI_PATH, request_openai
from trivium.llms._parameters import common_names
from trivium.llms._protocol import Delta, Request
from trivium.llms.http._transport import bearer, with_path
from trivium.llms.providers import PROFILES, capabilities_of
from trivium.schema.lowlevel import checked

META: Final = roles("system")
_EXTRA: Final = OURS | {"top_k"}
"""Parameters of open models that few servers accept."""


class GPTAPI(HTTPModel):
    """A model behind the OpenAI chat interface, with the arguments of the Lagent documents.

    It takes tools and a schema, so `Agent(GPTAPI(…), tools=…)` works as with `OpenAIModel`. Answers are returned
    unchanged; nothing is stripped.

    Args:
        model_type: name of the model at the server.
        retry: the most attempts for a request; the delays between them grow.
        json_mode: request a JSON object in each answer.
        key: an API key, or several that are used in turn; "ENV" is `$OPENAI_API_KEY`, or `$TRIVIUM_API_KEY` if that is
            not set. A key that the server refuses, or that has no quota left, is not used again, unless it is the last.
        org: an organization, or several that are used in turn.
        meta_template: the `api_role` of each role; default: `environment` is sent as system.
        api_base: address of the server, with or without `/chat/completions`. The key is sent there. Default:
            `$OPENAI_BASE_URL`, else OpenAI's public API.
        proxies: the proxy for "http" and "https"; those of the environment are not used.
        **gen_params: sampling parameters; see `BaseAPILLM`. `repetition_penalty` is sent as `frequency_penalty`.
            OpenAI's reasoning models (o1 and later, gpt-5 and later) take only `max_new_tokens` of them.

    Raises:
        ConfigurationError: the URL is not an HTTP URL.
        UnsupportedParameterError: `max_tokens` was given, which is `max_new_tokens` here.

    Example::

        GPTAPI("gpt-4o-mini", key="ENV").chat([{"role": "user", "content": "hi"}])
    """

    profile = PROFILES["openai"]

    @checked
    def __init__(
        self,
        model_type: str = "gpt-3.5-turbo",
        retry: int = 2,
        json_mode: bool = False,
        key: str | Sequence[str] | None = "ENV",
        org: str | Sequence[str] | None = None,
        meta_template: MetaTemplate | None = META,
        api_base: str | None = None,
        proxies: Mapping[str, str] | None = None,
        **gen_params: Any,
    ) -> None:
        super().__init__(model_type, retry, meta_template, **gen_params)
        self.gen_params.pop("top_k", None)
        self.json_mode = json_mode
        headers = _Headers(self._key_headers, [org] if isinstance(org, str) else [*(org or ())] or [""])
        base = self.profile.address(api_base, model_type)
        self._transport = self._transport_to(self._address(base), key, headers, proxies)

    @classmethod
    def _address(cls, url: str) -> str:
        return with_path(url, OPENAI_PATH, cls.setting)

    @staticmethod
    def _key_headers(key: str) -> Mapping[str, str]:
        return bearer(key)

    def _check_parameters(self, gen_params: dict[str, object]) -> None:
        super()._check_parameters(gen_params)
        if gen_params.pop("top_k", None) is not None:
            warnings.warn(
                "OpenAI's interface has no top_k: it is not sent; leave it out", DeprecationWarning, stacklevel=4
            )

    def _answer(self, request: Request) -> AsyncGenerator[Delta]:
        parameters = common_names(request.parameters)
        if "repetition_penalty" in parameters:
            parameters.setdefault("frequency_penalty", parameters.pop("repetition_penalty"))
        left_out = _EXTRA - capabilities_of(self.model_type).extra
        parameters = {name: value for name, value in parameters.items() if name not in left_out}
        if self.json_mode:
            parameters.setdefault("response_format", {"type": "json_object"})
        return request_openai(self._transport, self.model_type, request, parameters, max(1, self.retry))


class _Headers:
    """The headers of a request: those of its key, and the organization whose turn it is."""

    def __init__(self, of_key: Callable[[str], Mapping[str, str]], organizations: Sequence[str]) -> None:
        self._of_key, self._organizations, self._requests = of_key, organizations, 0

    def __call__(self, key: str) -> Mapping[str, str]:
        organization = self._organizations[self._requests % len(self._organizations)]
        self._requests += 1
        return {**self._of_key(key), **({"openai-organization": organization} if organization else {})}


class AsyncGPTAPI(AsyncBaseAPILLM, GPTAPI):
    """A `GPTAPI` whose methods are awaited."""
