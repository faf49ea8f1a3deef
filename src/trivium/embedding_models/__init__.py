"""Embedding models at Langroid's import paths; their home is `trivium.knowledge.embeddings`."""

from trivium.lazy import lazy_names

__all__ = ()

_HOMES = {name: name for name in ("base", "models")}
lazy_names(__name__, _HOMES, __all__)
