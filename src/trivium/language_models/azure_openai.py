"""OpenAI's models as Azure serves them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pydantic import model_validator

from trivium.exceptions import ConfigurationError
from trivium.language_models.openai_gpt import Endpoint, OpenAIGPT, OpenAIGPTConfig, config_keys
from trivium.llms import PROFILES
from trivium.llms.http import Transport
from trivium.llms.lowlevel import OPENAI_PATH, key_headers

__all__ = ["AzureConfig", "AzureGPT"]


class AzureConfig(OpenAIGPTConfig):
    """A model that Azure serves.

    Args:
        api_key: the key; default `$TRIVIUM_API_KEY` or `$AZURE_OPENAI_API_KEY`, read at each request.
        api_base: the resource, as "https://NAME.openai.azure.com"; it must be given.
        api_version: of Azure's interface.
        deployment_name: how the deployment is called; None is as the model.
        model_name: an older name of `chat_model`.

    Example::

        AzureConfig(api_base="https://rents.openai.azure.com", deployment_name="leases", chat_model="gpt-4o")
    """

    type: str | None = "azure"
    api_version: str = "2024-10-21"
    deployment_name: str | None = None
    model_name: str = ""

    @model_validator(mode="before")
    @classmethod
    def _older_name(cls, given: dict[str, object]) -> dict[str, Any]:
        return {"chat_model": given["model_name"], **given} if given.get("model_name") else given

    def create_model(self) -> AzureGPT:
        """Make the model that this describes."""
        return AzureGPT(self)


class AzureGPT(OpenAIGPT):
    """A model that Azure serves; see `AzureConfig`."""

    config: AzureConfig  # pyright: ignore[reportIncompatibleVariableOverride] - narrower

    def __init__(self, config: AzureConfig | None = None) -> None:
        super().__init__(config or AzureConfig())
        self._named = True

    def _endpoint(self) -> Endpoint:
        config = self.config
        name = config.deployment_name or config.chat_model
        if not config.api_base or name == "configured":
            raise ConfigurationError("a model of Azure needs api_base, and deployment_name or chat_model")
        url = f"{config.api_base.rstrip('/')}/openai/deployments/{quote(name, safe='')}"
        return Endpoint(url, config.chat_model, PROFILES["azure"])

    def _transport(self, endpoint: Endpoint) -> Transport:
        config = self.config
        url = f"{endpoint.url}{OPENAI_PATH}?api-version={quote(config.api_version, safe='')}"
        keys = config_keys(config, endpoint)
        return Transport(
            url,
            keys,
            lambda key: {**key_headers(endpoint.profile, key), **config.headers},
            setting="api_base",
            timeout=config.timeout,
        )
