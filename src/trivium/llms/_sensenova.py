"""SenseTime's models, over the OpenAI-like interface of SenseNova."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from trivium.exceptions import ConfigurationError
from trivium.llms._base import AsyncBaseAPILLM
from trivium.llms._gpt import GPTAPI, META
from trivium.llms._meta_template import MetaTemplate
from trivium.llms._openai import OPENAI_PATH
from trivium.llms.http._transport import bearer, with_path
from trivium.llms.providers import Profile
from trivium.schema.lowlevel import checked

PUBLIC_URL = "https://api.sensenova.cn/compatible-mode/v2"
OLD_PATH = "/chat-completions"
LIFETIME = 1800


class SensenovaAPI(GPTAPI):
    """A model of SenseTime, over the OpenAI-like interface of SenseNova.

    Args:
        model_type: name of the model at the server.
        retry: the most attempts for a request; the delays between them grow.
        json_mode: request a JSON object in each answer.
        key: an API key, or several that are used in turn; "ENV" is `$SENSENOVA_API_KEY`. An access key and its secret
            key are given as "access,secret"; each request then has a token made of them, valid for half an hour.
        meta_template: the `api_role` of each role; default: `environment` is sent as system.
        sensenova_api_base: address of the server; the older address `…/v1/llm/chat-completions` also works.
        proxies: the proxy for "http" and "https"; those of the environment are not used.
        secret_key: the secret key, if `key` is the access key alone.
        **gen_params: sampling parameters; see `BaseAPILLM`.

    Raises:
        ConfigurationError: the URL is not an HTTP URL, or `secret_key` is given without one access key.
        UnsupportedParameterError: `max_tokens` was given, which is `max_new_tokens` here.

    Example::

        SensenovaAPI("SenseChat-5", key="access,secret").chat([{"role": "user", "content": "hi"}])
    """

    setting = "sensenova_api_base"
    profile = Profile("sensenova", PUBLIC_URL, "SENSENOVA_API_KEY")

    @checked
    def __init__(
        self,
        model_type: str = "SenseChat-5-Cantonese",
        retry: int = 2,
        json_mode: bool = False,
        key: str | Sequence[str] | None = "ENV",
        meta_template: MetaTemplate | None = META,
        sensenova_api_base: str = PUBLIC_URL,
        proxies: Mapping[str, str] | None = None,
        *,
        secret_key: str | None = None,
        **gen_params: Any,
    ) -> None:
        if secret_key is not None:
            if not isinstance(key, str) or key == "ENV":
                raise ConfigurationError("secret_key belongs to one access key: give it as key=")
            key = f"{key},{secret_key}"
        super().__init__(
            model_type, retry, json_mode, key, None, meta_template, sensenova_api_base, proxies, **gen_params
        )

    @classmethod
    def _address(cls, url: str) -> str:
        return with_path(url, OLD_PATH if url.rstrip("/").endswith(OLD_PATH) else OPENAI_PATH, cls.setting)

    @staticmethod
    def _key_headers(key: str) -> Mapping[str, str]:
        access, comma, secret = key.partition(",")
        return bearer(signed_token(access.strip(), secret.strip(), int(time.time())) if comma else key)


class AsyncSensenovaAPI(AsyncBaseAPILLM, SensenovaAPI):
    """A `SensenovaAPI` whose methods are awaited."""


def signed_token(access: str, secret: str, now: int) -> str:
    """Return a JSON Web Token (HS256) for an access key, valid from 5 seconds before `now` to half an hour after.

    Args:
        access: the access key.
        secret: the secret key, which signs the token.
        now: seconds since 1970.
    """
    claims = {"iss": access, "exp": now + LIFETIME, "nbf": now - 5}
    parts = (json.dumps(part, separators=(",", ":")).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    signed = b".".join(map(_encoded, parts))
    return b".".join((signed, _encoded(hmac.new(secret.encode(), signed, hashlib.sha256).digest()))).decode()


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
