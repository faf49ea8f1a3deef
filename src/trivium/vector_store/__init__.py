"""Vector stores at Langroid's import paths; their home is `trivium.knowledge`."""

from trivium.lazy import lazy_names

__all__ = ()

_HOMES = {name: name for name in ("base", "chromadb", "lancedb", "postgres", "qdrantdb")}
lazy_names(__name__, _HOMES, __all__)
