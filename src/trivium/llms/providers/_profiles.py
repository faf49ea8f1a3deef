"""Providers by name: their addresses, the variables of their keys, and their differences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from trivium.exceptions import ConfigurationError
from trivium.llms._parameters import COMMON_PARAMETERS
from trivium.llms.wire._openai_chat import OPENAI, Dialect


class Profile(NamedTuple):
    """A provider.

    Args:
        name: the prefix of a model's name, before the ":".
        url: its address, with the version part; "" if each customer has an address of their own.
        key: environment variable of its API key; "" if it needs no key.
        form: the wire format: OpenAI's chat, Anthropic's Messages or Gemini's.
        dialect: its variant of OpenAI's chat format.
        key_header: the header that holds the plain key; "" is `Authorization: Bearer`.
        other_key: a second environment variable of its key.
        default: the model to use if only the key is set; "" for none.
        responses: True if reasoning models are called by OpenAI's Responses interface, which preserves their reasoning.
        address_key: environment variable of an address that goes before the provider's own; "" for none.
    """

    name: str
    url: str
    key: str = ""
    form: Literal["openai", "anthropic", "gemini"] = "openai"
    dialect: Dialect = OPENAI
    key_header: str = ""
    default: str = ""
    responses: bool = False
    other_key: str = ""
    address_key: str = ""

    def environment_key(self) -> str:
        """Return the provider's key from its environment variables, or ""."""
        found = (os.environ.get(name, "").strip() for name in (self.key, self.other_key) if name)
        return next(filter(None, found), "")

    def key_for(self, url: str, given: str | None = None, argument: str = "api_key") -> str:
        """Choose the key for requests to an address: the one rule of all clients.

        The given key comes first, then `$TRIVIUM_API_KEY`, then the provider's own variables, which are sent to the
        provider's own address only, and to that of `address_key`. "" is no key, for servers that need none.

        Args:
            url: the address.
            given: the key that the user gave; None or "" for none.
            argument: name of the argument for the key, for the error's text.

        Raises:
            ConfigurationError: the provider needs a key, and there is none.
        """
        key = given or os.environ.get("TRIVIUM_API_KEY", "").strip()
        if key or not self.key:
            return key
        is_home, named = self.is_home(url), self.environment_address()
        if (is_home or (named and _origin(url) == _origin(named))) and (key := self.environment_key()):
            return key
        if not is_home:
            return ""
        names = " or ".join(filter(None, ("TRIVIUM_API_KEY", self.key, self.other_key)))
        raise ConfigurationError(f"{self.url or self.name} needs an API key: set {names}, or give {argument}=")

    def environment_address(self) -> str:
        """Return the address that the environment names, or ""."""
        return os.environ.get(self.address_key, "").strip() if self.address_key else ""

    def is_home(self, url: str) -> bool:
        """Tell whether an address is the provider's own, to which its key may be sent."""
        return not self.url or _origin(url) == _origin(self.url)

    def address(self, base_url: str | None, model: str) -> str:
        """Return the base address for a model, without the path of an interface.

        Args:
            base_url: the address that the user gave; None: that of the environment, else the provider's own.
            model: name of the model, which is part of Azure's older addresses.

        Raises:
            ConfigurationError: each customer has an address of their own, and none was given; or the environment
                names something that is not an HTTP URL.
        """
        if self.url:
            return self._named_address() or self.url if base_url is None else base_url
        base_url = base_url or self._named_address()
        if not base_url:
            variable = f"set {self.address_key}, or " if self.address_key else "give "
            raise ConfigurationError(f"a model of {self.name} needs its address: {variable}base_url=")
        parts = urlsplit(base_url)
        if parts.path.strip("/"):
            return base_url
        is_dated = "api-version=" in parts.query  # an interface before the one that Azure calls v1
        path = f"/openai/deployments/{quote(model, safe='')}" if is_dated else "/openai/v1"
        return urlunsplit(parts._replace(path=path))

    def _named_address(self) -> str:
        """Return the address that the environment names, or "".

        Raises:
            ConfigurationError: it is not an HTTP URL.
        """
        named = self.environment_address()
        if named and not named.startswith(("http://", "https://")):
            raise ConfigurationError(f"{self.address_key} begins with http:// or https:// and a host")
        return named


_CONTENT: Final = Dialect(reasoning="reasoning_content")
_REASONING: Final = Dialect(reasoning="reasoning")
_STRICT: Final = Dialect(strict=True)
_MISTRAL: Final = Dialect(
    usage=False,
    max_tokens="max_tokens",
    seed="random_seed",
    refused=COMMON_PARAMETERS - {
        "frequency_penalty", "logprobs", "max_tokens", "metadata", "min_tokens", "n", "parallel_tool_calls",
        "presence_penalty", "random_seed", "reasoning_effort", "repetition_penalty", "response_format", "stop",
        "temperature", "tool_choice", "top_k", "top_logprobs", "top_p",
    },
    short_ids=True,
)  # fmt: skip
"""The request of mistralai 3.7, and the ids of calls of mistral-common 1.13."""

COMPATIBLE: Final = Profile("compatible", "http://localhost")
"""An unknown server that speaks OpenAI's chat format."""

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        each.name: each
        for each in (
            Profile(
                "openai",
                "https://api.openai.com/v1",
                "OPENAI_API_KEY",
                dialect=_STRICT,
                default="gpt-5-mini",
                responses=True,
                address_key="OPENAI_BASE_URL",
            ),
            Profile(
                "anthropic",
                "https://api.anthropic.com",
                "ANTHROPIC_API_KEY",
                "anthropic",
                default="claude-sonnet-4-6",
            ),
            Profile(
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta",
                "GEMINI_API_KEY",
                "gemini",
                key_header="x-goog-api-key",
                default="gemini-3.8-flash",
                other_key="GOOGLE_API_KEY",
            ),
            Profile(
                "azure",
                "",
                "AZURE_OPENAI_API_KEY",
                dialect=_STRICT,
                key_header="api-key",
                address_key="AZURE_OPENAI_ENDPOINT",
            ),
            Profile(
                "openrouter",
                "https://openrouter.ai/api/v1",
                "OPENROUTER_API_KEY",
                dialect=Dialect(reasoning="reasoning_details"),
                default="openrouter/auto",
            ),
            Profile(
                "deepseek",
                "https://api.deepseek.com/v1",
                "DEEPSEEK_API_KEY",
                dialect=Dialect(reasoning="reasoning_content", schema=False),
                default="deepseek-flash",
            ),
            Profile(
                "groq",
                "https://api.groq.com/openai/v1",
                "GROQ_API_KEY",
                dialect=_REASONING,
                default="openai/gpt-oss-120b",
            ),
            Profile(
                "mistral",
                "https://api.mistral.ai/v1",
                "MISTRAL_API_KEY",
                dialect=_MISTRAL,
                default="mistral-medium-latest",
            ),
            Profile("xai", "https://api.x.ai/v1", "XAI_API_KEY", default="grok-4.7", responses=True),
            Profile("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
            Profile("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", dialect=_CONTENT),
            Profile("ollama", "http://localhost:11434/v1", dialect=_REASONING),
            Profile("vllm", "http://localhost:8000/v1", dialect=_REASONING),
            Profile("lmdeploy", "http://localhost:23333/v1", dialect=_CONTENT),
            Profile("llamacpp", "http://localhost:8080/v1", dialect=_CONTENT),
        )
    }
)
"""All known providers, in the order in which a key makes one the default."""


def profile_at(base_url: str | None) -> Profile:
    """Return the provider at an address; None is OpenAI, and an unknown address a compatible server."""
    if base_url is None:
        return PROFILES["openai"]
    origin = _origin(base_url)
    remote = (each for each in PROFILES.values() if each.key and each.url and each.form == "openai")
    return next((each for each in remote if origin and origin == _origin(each.url)), COMPATIBLE)


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Return scheme, host and port: a key is not sent to another origin, nor over plain HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:  # the transport says what is wrong with it
        return None
