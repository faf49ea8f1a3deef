"""Configs of agents on their way to another process: only dotted paths and JSON values travel."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from trivium._objects import factory_of, load_class_from_string
from trivium.exceptions import ConfigurationError
from trivium.module import Module

__all__ = ["Config", "config_text", "import_path", "made_from", "maker_text"]

Config = Mapping[str, Any]


def config_text(config: Config) -> str:
    """A config as JSON; classes and functions in it become their dotted paths.

    Raises:
        ConfigurationError: it holds what has neither a JSON form nor a place in a module.
    """
    if "type" not in config:
        raise ConfigurationError("the config of an agent says what it is: {'type': 'package.module.Name', …}")
    kept = {name: value for name, value in config.items() if name != "python_path"}
    try:
        return json.dumps(kept, default=_dotted, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"the config cannot be sent to another process: {error}") from None


def maker_text(config: Config | Callable[[], Module]) -> str | Callable[[], Module]:
    """The same for a function too, where it stands in a module; one that does not is given back as it is."""
    if not callable(config):
        return config_text(config)
    try:
        return config_text({"type": config})
    except ConfigurationError:
        return config


def _dotted(value: Any) -> str:
    path = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    try:
        if not path.startswith("__main__.") and load_class_from_string(path) is value:
            return path
    except ConfigurationError:
        pass
    raise ConfigurationError(
        f"{value!r} cannot be sent to another process: give its dotted path, and let it stand in a module"
    )


def import_path(config: Config) -> list[str]:
    """Where the other process looks for modules: where this one does, after the config's `python_path`."""
    first = config.get("python_path")
    return [*([str(first)] if first else []), *sys.path]


def made_from(config: Config | Callable[[], Module]) -> Module:
    """The module that a config describes: what its type, a class or a function, makes; or what a function makes.

    Raises:
        ConfigurationError: it makes no module.
    """
    made: Any = config() if callable(config) else factory_of(config)()
    if not isinstance(made, Module):
        raise ConfigurationError(f"the config makes a {type(made).__name__}, which is no module")
    return made
