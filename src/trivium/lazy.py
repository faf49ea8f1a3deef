"""Names of a package that are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str], names: Sequence[str], below: str | None = None, rest: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package, in the sense of PEP 562.

    Args:
        package: its name.
        homes: for each lazy name the module below the package in which it lives; for such a module, its own name.
        names: all public names.
        below: the package below which `homes` are; default: `package`.
        rest: the module below it of all those `names` that the package neither has nor lists in `homes`.
    """

    def getattr_(name: str) -> Any:
        home = homes.get(name, rest if name in names else None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{below or package}.{home}")
        value = module if home == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def dir_() -> list[str]:
        return sorted(names)

    return getattr_, dir_
