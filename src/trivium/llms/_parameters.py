"""Sampling parameters: one vocabulary, whatever name a caller used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["common_names"]

_COMMON = {"max_new_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "stop_words": "stop"}


def common_names(*parameters: Mapping[str, object]) -> dict[str, Any]:
    """Sampling parameters by their common names; later ones go before, and None takes one away.

    Example:
        >>> common_names({"max_new_tokens": 9, "stop_words": ["a"]}, {"stop": None, "temperature": 0})
        {'max_tokens': 9, 'temperature': 0}
    """
    chosen = {_COMMON.get(name, name): value for each in parameters for name, value in each.items()}
    return {name: value for name, value in chosen.items() if value is not None and value != []}
