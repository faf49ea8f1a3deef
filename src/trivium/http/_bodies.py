"""The body of a response: read from its connection, and decompressed."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator
from typing import Final

from trivium.http._exchange import Exchange
from trivium.http._messages import BodyError

ACCEPTED: Final = "gzip, deflate"
GZIP: Final = b"\x1f\x8b"
BEGINNING: Final = 2_000
"""Bytes of a body that are kept for the error of one that cannot be decompressed."""
MAX_PIECE: Final = 256 << 10
"""Bytes of a decompressed piece, however small it was."""


async def pieces_of_body(connection: Exchange, is_raw: bool) -> AsyncGenerator[bytes]:
    """Yield the body of a response in pieces, as they arrive; one that is compressed in pieces of a bounded size."""
    encoding = "" if is_raw else connection.headers.get("content-encoding", "")
    kinds = [kind for each in encoding.split(",") if (kind := each.strip().lower()) not in ("", "identity")]
    if not kinds:
        while piece := await connection.next_piece():
            yield piece
        return
    beginning = bytearray()
    if len(kinds) > 1 or kinds[0] not in ("gzip", "x-gzip", "deflate"):
        raise BodyError(f"the body is encoded as {encoding!r}, which was not offered")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)  # of either kind, by its header
    while piece := await connection.next_piece():
        if not beginning and kinds[0] == "deflate" and piece[0] & 0x0F != 8:  # some servers send it without a header
            unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        beginning += piece[: BEGINNING - len(beginning)]
        while piece:
            try:
                plain = unpack.decompress(piece, MAX_PIECE)
            except zlib.error as error:
                raise BodyError(f"the body cannot be unpacked ({error})", bytes(beginning)) from None
            if plain:
                yield plain
            piece = unpack.unconsumed_tail
            if unpack.eof and unpack.unused_data.startswith(GZIP):  # another member
                piece, unpack = unpack.unused_data, zlib.decompressobj(zlib.MAX_WBITS | 32)
    if not unpack.eof and beginning:
        raise BodyError("the body ends within what is packed", bytes(beginning))
