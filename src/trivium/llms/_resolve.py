"""Models by name: `resolve`."""

from __future__ import annotations

import difflib
import os

from trivium.exceptions import ConfigurationError, NoModelError
from trivium.llms._anthropic import ClaudeModel
from trivium.llms._gemini import GoogleModel
from trivium.llms._openai import OpenAIModel
from trivium.llms._protocol import ModelProtocol
from trivium.llms.local._local import LocalModel
from trivium.llms.local._store import ModelStore
from trivium.llms.providers import PROFILES, Profile
from trivium.llms.providers._third_parties import third_party_model

FORMS = (
    "a path to a .gguf file, 'local:NAME', a name of `trivium models list`, or a provider's, as 'openai:NAME' or "
    f"'anthropic:NAME' (the providers: {', '.join(PROFILES)}, and those that installed packages bring)"
)
ALSO_MODELS = frozenset({"mistral"})
"""Providers whose names are also names of models: with a `base_url`, "mistral:7b" is a model of that server."""


def resolve(model: ModelProtocol | str | None = None, base_url: str | None = None) -> ModelProtocol:
    """Return the model with a name.

    Args:
        model: a model object, which is returned as it is; or a path to a GGUF file, a name of the model
            store (also "local:NAME"), or "PROVIDER:NAME", as "openai:gpt-5-mini". None takes `$TRIVIUM_MODEL`, else the
            first provider whose key is set, in the order of `PROFILES`, else the embedded default if its file is
            present.
        base_url: address of a server that speaks the provider's interface; with it, a name without a provider is a
            model of that OpenAI-compatible server.

    Returns:
        The model, which is not loaded or called yet.

    Raises:
        ConfigurationError: the text has none of the known forms.
        ModelNotFoundError: "local:NAME" with a name that the store does not know.
        NoModelError: `model` is None and nothing is configured.

    Example::

        model = resolve("openai:gpt-5-mini")
    """
    if model is None:
        return model_of_environment(base_url)
    if not isinstance(model, str):
        return model
    provider, _, name = model.partition(":")
    if model.endswith(".gguf"):
        return LocalModel(model)
    if provider == "local" and name:
        return LocalModel(name)
    if name and provider in PROFILES and not (base_url and provider in ALSO_MODELS):
        return _of_provider(PROFILES[provider], name, base_url)
    if name and (found := third_party_model(provider, name, base_url)) is not None:
        return found
    if base_url is not None and model:
        return OpenAIModel(model, base_url=base_url)
    if model in (store := ModelStore()):
        return LocalModel(model)
    hint = f"did you mean {near!r}? Else " if (near := _meant(model, store)) else ""
    raise ConfigurationError(f"{model!r} names no model: {hint}give {FORMS}")


def _meant(model: str, store: ModelStore) -> str:
    """Return the name that was probably meant: of a misspelt provider, or of the one that makes such models."""
    provider, _, name = model.partition(":" if ":" in model else "/")
    # Two letters that are swapped in six, as in opneai, make 0.83.
    if name and (near := difflib.get_close_matches(provider.lower(), PROFILES, n=1, cutoff=0.8)):
        return f"{near[0]}:{name}"
    makers = {profile.default.partition("-")[0]: profile.name for profile in PROFILES.values() if profile.default}
    maker = makers.get(model.partition("-")[0])
    return f"{maker}:{model}" if maker and not name else store.nearest(model)


def _of_provider(profile: Profile, name: str, base_url: str | None) -> ModelProtocol:
    if profile.form == "anthropic":
        return ClaudeModel(name, base_url=base_url)
    if profile.form == "gemini":
        return GoogleModel(name, base_url=base_url)
    if profile.name == "openai" and base_url:  # any server of that interface; its address says which it is
        return OpenAIModel(name, base_url=base_url)
    return OpenAIModel(name, base_url=base_url, provider=profile)


def model_of_environment(base_url: str | None) -> ModelProtocol:
    """Return the model that the environment names, or the embedded default if its file is present.

    Raises:
        NoModelError: nothing is configured.
    """
    if chosen := os.environ.get("TRIVIUM_MODEL"):
        return resolve(chosen, base_url)
    for profile in PROFILES.values():
        if profile.default and profile.environment_key():
            return _of_provider(profile, profile.default, base_url)
    store = ModelStore()
    here = [file.name for file in store.list() if file.present]
    if (default := store.name_of("default")) in here:
        return LocalModel(default)
    fetched = "".join(f"{name!r}, which is here, " for name in here)
    raise NoModelError(
        f"no model is configured: set TRIVIUM_MODEL ({fetched}a path to a .gguf file, or 'openai:NAME'), or set a "
        "provider's key, as OPENAI_API_KEY, or run `trivium models fetch` for the embedded one"
    )
