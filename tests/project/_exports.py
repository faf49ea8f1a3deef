"""The public face of a package: what `__all__` promises."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Sequence
from types import ModuleType

from ._source import Source


def face_problems(module: ModuleType) -> list[str]:
    """What is wrong with a module's public names: order, a name that is not there, a missing docstring."""
    names: Sequence[str] | None = getattr(module, "__all__", None)
    if names is None:
        return [f"{module.__name__} has no __all__"]
    where = f"{module.__name__}.__all__"
    found = [f"{where} names {name} twice" for name in sorted(set(names)) if list(names).count(name) > 1]
    if list(names) != sorted(names, key=order):
        found.append(f"{where} is not sorted")
    for name in names:
        if not hasattr(module, name):
            found.append(f"{where} names {name}, which is not there")
        elif not is_documented(getattr(module, name)):
            found.append(f"{module.__name__}.{name} has no docstring")
    return found


def private_lists(sources: Iterable[Source]) -> list[str]:
    """The private files that list names: what others use of them has no underscore, and so is said once."""
    return [
        source.path
        for source in sources
        if source.module.rpartition(".")[2].startswith("_") and not source.is_package
        for node in source.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]


def order(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Constants, then classes, then the rest; numbers inside a name by value. Ruff keeps the same order."""
    group = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return group, [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def is_documented(value: object) -> bool:
    """Whether one of our classes or functions says what it is; other values need not.

    What `dataclass` and `NamedTuple` write in place of a missing docstring does not count.
    """
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return True
    if not str(getattr(value, "__module__", None)).startswith("trivium"):
        return True
    text = value.__doc__ or ""
    return bool(text.strip()) and not text.startswith(f"{value.__name__}(")
