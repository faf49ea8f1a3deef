"""Providers that other packages bring."""

from __future__ import annotations

from typing import Any

from trivium.exceptions import ConfigurationError, TriviumError
from trivium.llms._protocol import ModelProtocol

GROUP = "trivium.providers"


def third_party_model(provider: str, name: str, base_url: str | None) -> ModelProtocol | None:
    """The model that an installed package makes for a provider's name; None where none knows it.

    A package says so by an entry point of the group `trivium.providers`: the provider's name, and a callable that takes
    the model's name and the base URL (or None) and returns the model.

    Args:
        provider: what stands before the ":".
        name: what stands behind it.
        base_url: where the server is, if it was given.

    Raises:
        ConfigurationError: the package cannot be loaded, or what it makes is no model.
    """
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group=GROUP, name=provider)), None)
    if found is None:
        return None
    package = found.dist.name if found.dist is not None else found.module
    try:
        made: Any = found.load()
    except Exception as error:  # anything may go wrong in another's package
        raise ConfigurationError(
            f"the provider {provider!r} of the package {package} cannot be loaded ({error}): install it anew"
        ) from error
    try:
        model = made(name, base_url)
    except TriviumError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"the provider {provider!r} of the package {package} made no model of {name!r} ({error!r})"
        ) from error
    if not isinstance(model, ModelProtocol):
        raise ConfigurationError(
            f"the provider {provider!r} of the package {package} made {type(model).__name__}, which is no model: it "
            "needs a name and a stream"
        )
    return model
