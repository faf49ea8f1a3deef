"""Providers by name: where they are, whose key they want, and how they differ from each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from trivium.exceptions import ConfigurationError
from trivium.llms.wire._openai_chat import OPENAI, Dialect

__all__ = ["COMPATIBLE", "PROFILES", "Profile", "profile_at"]


class Profile(NamedTuple):
    """A provider.

    Args:
        name: what stands before the ":" of a model's name.
        url: where it is, with its version part; "" where each customer has an address of their own.
        key: the environment variable of its API key; "" where none is needed.
        form: the wire format: OpenAI's chat, Anthropic's Messages or Gemini's.
        dialect: what it makes of OpenAI's chat format.
        key_header: the header that the key goes in as it is; "" is `Authorization: Bearer`.
        other_key: another variable in which its key may stand.
        default: the model that is taken where only the key is set; "" for none.
        responses: whether models that think are asked by OpenAI's Responses interface, where their thoughts are kept.
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

    def environment_key(self) -> str:
        """The key that the environment has for it, or ""."""
        found = (os.environ.get(name) for name in (self.key, self.other_key) if name)
        return next(filter(None, found), "")

    def key_for(self, url: str, given: str | None) -> str:
        """The key that is sent to an address: its own is sent to the provider alone.

        Args:
            url: where it is sent.
            given: the key that the user gave; it goes before all others.

        Raises:
            ConfigurationError: the provider needs a key, and there is none.
        """
        key = given or os.environ.get("TRIVIUM_API_KEY") or ""
        if key or not self.key or not self.is_home(url):
            return key
        if key := self.environment_key():
            return key
        names = " or ".join(filter(None, ("TRIVIUM_API_KEY", self.key, self.other_key)))
        raise ConfigurationError(f"{self.url or self.name} needs an API key: set {names}, or give api_key=")

    def is_home(self, url: str) -> bool:
        """Whether an address is one that the provider's key may be sent to."""
        return not self.url or _origin(url) == _origin(self.url)

    def address(self, base_url: str | None, model: str) -> str:
        """Where a model is asked, without the path of an interface.

        Args:
            base_url: what was given; None is the provider's own address.
            model: the model, whose name stands in Azure's older addresses.

        Raises:
            ConfigurationError: each customer has an address of their own, and there is none.
        """
        if self.url:
            return self.url if base_url is None else base_url
        base_url = base_url or os.environ.get("AZURE_OPENAI_ENDPOINT") or ""
        if not base_url:
            raise ConfigurationError(
                f"a model of {self.name} needs its address: set AZURE_OPENAI_ENDPOINT, or base_url="
            )
        parts = urlsplit(base_url)
        if parts.path.strip("/"):
            return base_url
        is_dated = "api-version=" in parts.query  # an interface before the one that Azure calls v1
        path = f"/openai/deployments/{quote(model, safe='')}" if is_dated else "/openai/v1"
        return urlunsplit(parts._replace(path=path))


_CONTENT: Final = Dialect(reasoning="reasoning_content")
_REASONING: Final = Dialect(reasoning="reasoning")

COMPATIBLE: Final = Profile("compatible", "http://localhost")
"""A server of OpenAI's chat format of which nothing else is known."""

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        each.name: each
        for each in (
            Profile("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", default="gpt-5-mini", responses=True),
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
            Profile("azure", "", "AZURE_OPENAI_API_KEY", key_header="api-key"),
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
                dialect=Dialect(usage=False, max_tokens="max_tokens"),
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
"""All providers that are known, in the order in which a key makes one the default."""


def profile_at(base_url: str | None) -> Profile:
    """The provider whose address it is; none is OpenAI, and any other a compatible server."""
    if base_url is None:
        return PROFILES["openai"]
    origin = _origin(base_url)
    remote = (each for each in PROFILES.values() if each.key and each.url and each.form == "openai")
    return next((each for each in remote if origin and origin == _origin(each.url)), COMPATIBLE)


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port: a key is not sent where one of them differs, as to plain HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:  # whoever asks there says what is wrong with it
        return None
