"""Server-sent events: bytes in, the data of each event out. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from trivium.exceptions import MalformedAnswerError

MAX_BYTES = 64 << 20
BOM = b"\xef\xbb\xbf"


class EventDecoder:
    """Decodes server-sent events from pieces of any size: the data of each event, in order.

    The time is proportional to the bytes, also for a long line in many pieces.
    """

    __slots__ = ("_after_return", "_data", "_rest", "_size")

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line whose end has not come
        self._data: list[bytes] = []  # of an event whose end has not come
        self._size = 0
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of the events that `piece` completes.

        Raises:
            MalformedAnswerError: one event has more than 64 MB.
        """
        if self._after_return and piece:  # the end of a line, which was taken with the carriage return
            piece, self._after_return = piece.removeprefix(b"\n"), False
        if b"\r" in piece:  # a carriage return alone ends a line too
            self._after_return = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._size += len(piece)
        *lines, rest = piece.split(b"\n")
        if lines and self._rest:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
        if rest:
            self._rest.append(rest)
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line:
                self._size = 0
                if self._data:
                    data, self._data = self._data, []
                    yield data[0] if len(data) == 1 else b"\n".join(data)
            elif line.startswith((BOM, b"data")):
                name, _, value = line.removeprefix(BOM).partition(b":")  # after a byte order mark, or without a value
                if name == b"data":
                    self._data.append(value.removeprefix(b" "))
        check_size(self._size, piece)

    def end(self) -> Iterator[bytes]:
        """Yield the last event if no empty line followed it."""
        yield from self.feed(b"\n\n")


def check_size(size: int, latest: bytes) -> None:
    """Refuse a response that may never end; `latest` arrived last.

    Raises:
        MalformedAnswerError: the size is above 64 MB.
    """
    if size > MAX_BYTES:
        raise MalformedAnswerError(
            f"the server sent more than {MAX_BYTES >> 20} MB in one piece: check that base_url is right",
            latest[:2000].decode("utf-8", "replace"),
        )
