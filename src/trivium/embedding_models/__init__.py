"""Embedding models at the module paths of the documents; they live in `trivium.knowledge.embeddings`."""

from trivium.lazy import lazy_names

__all__ = ()

_HOMES = {name: name for name in ("base", "models")}
lazy_names(__name__, _HOMES, __all__)
