"""Says which names do not exist: `[names, modules]` as JSON on stdin, in the environment of any package.

A name is spelt `Class`, `Class.method`, `function(parameter)` or `Class.method(parameter)`, with its whole path, or
without one where one of the modules has it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["exists"]


def exists(name: str, modules: Sequence[str]) -> bool:
    """Return True if the name is there, as it is spelt or in one of the modules."""
    path, _, parameter = name.removesuffix(")").partition("(")
    found = [value for prefix in ("", *(f"{each}." for each in modules)) for value in _at(f"{prefix}{path}")]
    return any(not parameter or _takes(value, parameter) for value in found)


def _at(path: str) -> list[Any]:
    """What stands at a path: a value, an annotation, nothing."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for at, part in enumerate(parts[cut:], cut + 1):
            if hasattr(value, part):
                value = getattr(value, part)
            else:
                return [part] if at == len(parts) and _declares(value, part) else []
        return [value]
    return []


def _declares(kind: Any, name: str) -> bool:
    """Whether a class has the attribute only in its objects."""
    if not inspect.isclass(kind):
        return False
    fields = getattr(kind, "model_fields", {}), getattr(kind, "__dataclass_fields__", {})
    annotated = any(name in vars(each).get("__annotations__", {}) for each in kind.__mro__)
    return annotated or any(name in each for each in fields) or _takes(kind, name)


def _takes(value: Any, parameter: str) -> bool:
    try:
        return parameter in inspect.signature(value).parameters
    except (TypeError, ValueError):
        return False


if __name__ == "__main__":
    names, modules = json.load(sys.stdin)
    sys.stdout.write(json.dumps([each for each in names if not exists(each, modules)]))
