"""Names of a package that are imported when they are used."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    names: Sequence[str],
    below: str | None = None,
    rest: str | None = None,
    renamed: Mapping[str, str] | None = None,
) -> None:
    """Give a package the `__getattr__` and `__dir__` of PEP 562, by which its lazy names are imported when used.

    Type checkers do not see them, and so report a name that does not exist: a package imports its lazy names
    under `TYPE_CHECKING`.

    Args:
        package: its name.
        homes: for each lazy name the module below the package in which it lives; for such a module, its own name.
        names: all public names.
        below: the package below which `homes` are; default: `package`.
        rest: the module below it of all those `names` that the package neither has nor lists in `homes`.
        renamed: older names, which are deprecated, with the name of today.
    """

    def getattr_(name: str) -> Any:
        if renamed is not None and (now := renamed.get(name)) is not None:
            text = f"{package}.{name} is now called {now}: import it by this name"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return getattr(module, now)
        home = homes.get(name, rest if name in names else None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = import_module(f"{below or package}.{home}")
        value = found if home.rpartition(".")[2] == name else getattr(found, name)
        setattr(module, name, value)
        return value

    def dir_() -> list[str]:
        return sorted(names)

    module = sys.modules[package]
    module.__dict__.update(__getattr__=getattr_, __dir__=dir_)
