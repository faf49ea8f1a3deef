"""From what a user names to a model."""

from __future__ import annotations

import os

from trivium.exceptions import ConfigurationError, NoModelError
from trivium.llms._anthropic import AnthropicModel
from trivium.llms._openai import OpenAIModel
from trivium.llms._protocol import LanguageModel
from trivium.llms.local._local import LocalModel
from trivium.llms.local._store import ModelStore

__all__ = ["resolve"]

OPENAI_DEFAULT = "gpt-5-mini"
FORMS = "a path to a .gguf file, 'local:NAME', a name of `trivium models list`, 'openai:NAME' or 'anthropic:NAME'"


def resolve(model: LanguageModel | str | None = None, base_url: str | None = None) -> LanguageModel:
    """The model that `model` names.

    Args:
        model: a model object, which is returned as it is; or a path to a GGUF file, a name of the model
            store (also "local:NAME"), "openai:NAME" or "anthropic:NAME". None takes `$TRIVIUM_MODEL`, else a
            provider whose key is set, else the embedded default if its file is present.
        base_url: where an OpenAI-compatible server is; with it, any name is one of that server. For
            "anthropic:NAME", where a server of Anthropic's interface is.

    Returns:
        A model, which is not loaded or asked yet.

    Raises:
        ConfigurationError: the text is none of the known forms.
        ModelNotFoundError: "local:NAME" with a name that the store does not know.
        NoModelError: `model` is None and nothing is configured.

    Example::

        model = resolve("openai:gpt-5-mini")
    """
    if model is None:
        return _configured(base_url)
    if not isinstance(model, str):
        return model
    provider, _, name = model.partition(":")
    if model.endswith(".gguf"):
        return LocalModel(model)
    if provider == "local" and name:
        return LocalModel(name)
    if provider == "openai" and name:
        return OpenAIModel(name, base_url=base_url)
    if provider == "anthropic" and name:
        return AnthropicModel(name, base_url=base_url)
    if base_url is not None and model:
        return OpenAIModel(model, base_url=base_url)
    if model in ModelStore():
        return LocalModel(model)
    raise ConfigurationError(f"{model!r} names no model: give {FORMS}")


def _configured(base_url: str | None) -> LanguageModel:
    if chosen := os.environ.get("TRIVIUM_MODEL"):
        return resolve(chosen, base_url)
    if os.environ.get("OPENAI_API_KEY"):
        return OpenAIModel(OPENAI_DEFAULT, base_url=base_url)
    store = ModelStore()
    default = store.name_of("default")
    if any(file.present for file in store.list() if file.name == default):
        return LocalModel(default)
    raise NoModelError(
        "no model is configured: set TRIVIUM_MODEL (a path to a .gguf file or 'openai:NAME'), or set "
        "OPENAI_API_KEY, or run `trivium models fetch` for the embedded one"
    )
