"""The formats of files: recognition, and reading of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.parsing.formats._media_types import is_code
    from trivium.parsing.formats._reading import read
    from trivium.parsing.formats._streaming import read_parts

__all__ = ["is_code", "read", "read_parts"]

_HOMES = {"is_code": "_media_types", "read": "_reading", "read_parts": "_streaming"}
lazy_names(__name__, _HOMES, __all__)
