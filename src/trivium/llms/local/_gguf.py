"""The control tokens of a GGUF file."""

from __future__ import annotations

import struct
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from trivium.exceptions import EngineError
from trivium.llms._control_tokens import ControlTokens

_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""The bytes of a value of each type; see gguf.md of ggml."""
_STRING, _ARRAY = 8, 9
_TOKENS, _KINDS = b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"
_CONTROL: Final = 3


def control_tokens(path: Path) -> ControlTokens:
    """Read the control tokens of a GGUF file.

    Raises:
        EngineError: the file is damaged.
    """
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        try:
            return ControlTokens(_texts(data))
        except (struct.error, KeyError, UnicodeDecodeError) as error:
            text = f"the names of the tokens in {path} cannot be read: {error!r}. Is the file complete?"
            raise EngineError(text) from error


def _texts(data: mmap) -> list[str]:
    (_, _, _, pairs), at = struct.unpack_from("<4sIQQ", data), 24
    tokens, kinds = list[bytes](), tuple[int, ...]()
    for _ in range(pairs):
        key, at = _string(data, at)
        (kind,), at = struct.unpack_from("<I", data, at), at + 4
        if key == _TOKENS:
            tokens, at = _strings(data, at)
        elif key == _KINDS:
            (_, many), at = struct.unpack_from("<IQ", data, at), at + 12
            kinds, at = struct.unpack_from(f"<{many}i", data, at), at + 4 * many
        else:
            at = _end_of(data, kind, at)
        if tokens and kinds:  # what follows is long
            break
    control = (text for text, kind in zip(tokens, kinds, strict=False) if kind == _CONTROL)
    return [text.decode() for text in control if len(text) > 1]


def _strings(data: mmap, at: int) -> tuple[list[bytes], int]:
    """Return the texts of an array, and where it ends."""
    (_, many), at = struct.unpack_from("<IQ", data, at), at + 12
    found = list[bytes]()
    for _ in range(many):
        text, at = _string(data, at)
        found.append(text)
    return found, at


def _string(data: mmap, at: int) -> tuple[bytes, int]:
    (length,), at = struct.unpack_from("<Q", data, at), at + 8
    return data[at : at + length], at + length


def _end_of(data: mmap, kind: int, at: int) -> int:
    """Return where a value ends."""
    if kind == _STRING:
        return _string(data, at)[1]
    if kind != _ARRAY:
        return at + _SIZES[kind]
    (of, many), at = struct.unpack_from("<IQ", data, at), at + 12
    if of in _SIZES:
        return at + _SIZES[of] * many
    for _ in range(many):
        at = _end_of(data, of, at)
    return at
