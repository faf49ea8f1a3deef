"""What unpacks to much, packed in no time."""

from __future__ import annotations

import zlib

__all__ = ["packed_zeros"]

_PIECE = 1 << 20


def packed_zeros(size: int, byte: bytes = b"\0") -> bytes:
    """As `gzip.compress` packs that many zeros, or others: one piece of them is packed, and stands there again and
    again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    count, rest = divmod(size, _PIECE)
    packed = [packer.compress(byte * _PIECE) + packer.flush(zlib.Z_FULL_FLUSH)] * count
    packed += [packer.compress(byte * rest), packer.flush()]
    crc = 0
    for _ in range(count):
        crc = zlib.crc32(byte * _PIECE, crc)
    ends = zlib.crc32(byte * rest, crc), size & 0xFFFFFFFF
    head = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    return head + b"".join(packed) + b"".join(each.to_bytes(4, "little") for each in ends)
