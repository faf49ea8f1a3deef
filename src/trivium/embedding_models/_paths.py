"""Which name stands at which documented path, and where in trivium it lives: the one list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from trivium._lazy import lazy_names

__all__ = ["PATHS", "names_at"]

_BASE: Final = {"EmbeddingModel": "knowledge.embeddings", "EmbeddingModelsConfig": "knowledge.embeddings"}

PATHS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "trivium.embedding_models.base": _BASE,
        "trivium.embedding_models.models": {
            **_BASE,
            "OpenAIEmbeddingsConfig": "knowledge.embeddings",
            "embedding_model": "knowledge.embeddings",
        },
    }
)
"""For each path its names, and for each name the room of trivium that gives it."""


def names_at(path: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a documented path."""
    homes = PATHS[path]
    return lazy_names(path, homes, sorted(homes), below="trivium")
