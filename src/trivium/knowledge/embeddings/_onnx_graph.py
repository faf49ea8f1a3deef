"""Models in ONNX's form, written as bytes: the few messages of its protocol buffers that a model of ours has.

The numbers of the fields are those of onnx.proto (https://github.com/onnx/onnx, onnx/onnx.proto).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

MICROSOFT: Final = "com.microsoft"
"""The domain of onnxruntime's own operators."""
_VERSIONS: Final = (("", 17), (MICROSOFT, 1))
"""The sets of operators, and their versions."""
_FLOAT: Final = 1
_KINDS: Final = {"float32": _FLOAT, "uint8": 2}


class OnnxGraph:
    """A model that is put together: operators, the constants that they read, an input and an output."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def add(self, kind: str, given: Sequence[str], made: Sequence[str], domain: str = "", **options: float) -> None:
        """Add an operator, with the names of what it reads and makes, and its options, whole numbers or not."""
        parts = [*(_part(1, name) for name in given), *(_part(2, name) for name in made), _part(4, kind)]
        for name, value in options.items():
            is_whole = isinstance(value, int)
            number = _number(3, value) if is_whole else b"\x15" + struct.pack("<f", value)  # field 2, of four bytes
            parts.append(_part(5, _part(1, name) + number + _number(20, 2 if is_whole else 1)))
        self._nodes.append(b"".join([*parts, _part(7, domain)]))

    def constant(self, name: str, values: Any) -> str:
        """Add a constant, an array of numpy; return its name."""
        shape = b"".join(_number(1, length) for length in values.shape)
        kind = _number(2, _KINDS[values.dtype.name])
        self._constants.append(shape + kind + _part(8, name) + _part(9, values.tobytes()))
        return name

    def model(self, given: str, made: str, *shape: int | str) -> bytes:
        """Return the model.

        Args:
            given: the name of its input, an array of numbers of 32 bits.
            made: the name of its output, of the same shape.
            shape: the lengths; one that differs from call to call has a name.
        """
        lengths = (_number(1, each) if isinstance(each, int) else _part(2, each) for each in shape)
        kind = _part(1, _number(1, _FLOAT) + _part(2, b"".join(_part(1, each) for each in lengths)))
        ends = [_part(field, _part(1, name) + _part(2, kind)) for field, name in ((11, given), (12, made))]
        parts = [*(_part(1, each) for each in self._nodes), _part(2, "model")]
        graph = b"".join([*parts, *(_part(5, each) for each in self._constants), *ends])
        versions = (_part(8, _part(1, domain) + _number(2, number)) for domain, number in _VERSIONS)
        return _number(1, 8) + _part(7, graph) + b"".join(versions)


def _part(field: int, value: str | bytes) -> bytes:
    """Return a field of a text or a message."""
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _number(field: int, value: float) -> bytes:
    """Return a field of a whole number."""
    return _varint(field << 3) + _varint(int(value))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
