"""Configs of agents for another process: only dotted paths and JSON values travel."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

from trivium.exceptions import ConfigurationError
from trivium.module import Module
from trivium.schema.lowlevel import factory_of, load_class_from_string

Config = Mapping[str, Any]


def config_text(config: Config) -> str:
    """Return a config as JSON; classes and functions in it become their dotted paths.

    Raises:
        ConfigurationError: a value in it is neither a JSON value nor importable.
    """
    if "type" not in config:
        raise ConfigurationError("the config of an agent names its type: {'type': 'package.module.Name', …}")
    kept = {name: value for name, value in config.items() if name != "python_path"}
    try:
        return json.dumps(kept, default=dotted_path, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"the config cannot be sent to another process: {error}") from None


def maker_text(config: Config | Callable[[], Module]) -> str | Callable[[], Module]:
    """Return a config, or a function that can be imported, as JSON; any other function as it is."""
    if not callable(config):
        return config_text(config)
    try:
        return config_text({"type": config})
    except ConfigurationError:
        return config


def dotted_path(value: object) -> str:
    """Return the dotted path by which a class or a function can be imported.

    Raises:
        ConfigurationError: there is none.
    """
    is_named = isinstance(value, type | FunctionType | BuiltinFunctionType)
    path = f"{value.__module__}.{value.__qualname__}" if is_named else ""
    try:
        if path and not path.startswith("__main__.") and load_class_from_string(path) is value:
            return path
    except ConfigurationError:
        pass
    raise ConfigurationError(
        f"{value!r} cannot be sent to another process: give its dotted path, and let it stand in a module"
    )


def import_path(config: Config) -> list[str]:
    """Return the import path of the other process: the config's `python_path`, then the path of this process."""
    first = config.get("python_path")
    return [*([str(first)] if first else []), *sys.path]


def make_module(config: Config | Callable[[], Module]) -> Module:
    """Make the module that a config describes: its type, a class or a function, is called; or a function itself.

    Raises:
        ConfigurationError: it makes no module.
    """
    made: object = config() if callable(config) else factory_of(config)()
    if not isinstance(made, Module):
        raise ConfigurationError(f"the config makes a {type(made).__name__}, which is no module")
    return made
