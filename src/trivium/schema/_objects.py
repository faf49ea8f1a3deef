"""Objects made from configs: dicts that stand where a program could have put the object itself.

A config is code by another name: what it names is imported and called. So only constructors read configs, from
their own arguments, which the program wrote. What a model says and what a saved state holds never come here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from trivium.exceptions import ConfigurationError, ObjectNotFoundError
from trivium.schema._arguments import checked


def create_object(config: Any) -> Any:
    """Return the object that a config describes; anything but a dict is returned as it is.

    Give it only configs of your program: what `type` names is imported and called. Never one that a model, a
    user or a loaded state supplied.

    Args:
        config: a dict with `type`, a class, a dotted path, or a callable; the other entries are its keywords.

    Returns:
        An instance of the class. For a callable that is no class, the callable with the keywords bound to it.

    Raises:
        ConfigurationError: the dict has no `type`, or it can be neither called nor imported.
        ObjectNotFoundError: there is nothing at the dotted path.

    Example:
        >>> create_object({"type": "fractions.Fraction", "numerator": 1, "denominator": 3})
        Fraction(1, 3)
        >>> create_object({"type": max, "default": 0})([])
        0
        >>> create_object(None)
    """
    if not isinstance(config, dict):
        return config
    make = factory_of(cast("dict[str, Any]", config))
    return make() if inspect.isclass(make.func) else make


def factory_of(config: Mapping[str, Any]) -> partial[Any]:
    """Return a function that makes the object of a config, anew at each call; its type is looked up now.

    Raises:
        ConfigurationError: as for `create_object`.
        ObjectNotFoundError: there is nothing at the dotted path.
    """
    keywords = dict(config)
    kind = keywords.pop("type", None)
    if isinstance(kind, str):
        kind = load_class_from_string(kind)
    if not callable(kind):
        raise ConfigurationError(
            f"the config {config!r} has no 'type' that could be called: give a class, a dotted path such as "
            "'trivium.memory.Memory', or a function"
        )
    return partial(kind, **keywords)


@checked
def load_class_from_string(class_path: str) -> Any:
    """Return the class or function at a dotted path; its module is imported, so give it only paths of your program.

    Raises:
        ConfigurationError: it is no dotted path.
        ObjectNotFoundError: the module or the name in it is not there.

    Example:
        >>> load_class_from_string("trivium.memory.Memory").__name__
        'Memory'
    """
    from pkgutil import resolve_name  # most configs hold classes

    module, _, name = class_path.rpartition(".")
    if not module or not all(part.isidentifier() for part in class_path.split(".")):
        raise ConfigurationError(f"{class_path!r} is no dotted path: write it as 'package.module.Name'")
    try:
        return resolve_name(f"{module}:{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it needs is not
        raise ObjectNotFoundError(f"there is no module {error.name!r} for {class_path!r}: is it installed?") from None
    except AttributeError:
        raise ObjectNotFoundError(f"the module {module!r} has no {name!r}") from None
