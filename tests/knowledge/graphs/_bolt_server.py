"""A small server that speaks Bolt 5.4, Neo4j's protocol, and answers what a test tells it to."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, NamedTuple

from neo4j._codec.packstream.v1 import Packer, Unpacker

HELLO, GOODBYE, RESET, RUN, BEGIN, COMMIT, ROLLBACK = 0x01, 0x02, 0x0F, 0x10, 0x11, 0x12, 0x13
PULL, LOGON = 0x3F, 0x6A
SUCCESS, RECORD, IGNORED, FAILURE = b"\x70", b"\x71", b"\x7e", b"\x7f"


class Answer(NamedTuple):
    """What a statement gives: rows, or an error's code and text."""

    fields: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    kind: str = "r"
    error: tuple[str, str] | None = None


class BoltServer:
    """Listens on the loopback; `heard` is each message that came, by number and fields."""

    def __init__(self, answer: Callable[[str, dict[str, Any]], Answer], password: str = "secret") -> None:
        self._answer, self._password = answer, password
        self.heard: list[tuple[int, list[Any]]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Stop, as a server that is killed."""
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with suppress(OSError):  # it is closed already
                each.shutdown(socket.SHUT_RDWR)
        for each in self._threads:
            each.join()

    def received(self, number: int) -> list[list[Any]]:
        """The fields of each message of a number."""
        return [fields for each, fields in self.heard if each == number]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._threads.append(Thread(target=self._serve, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as incoming:
            try:
                incoming.read(20)
                connection.sendall(b"\x00\x00\x04\x05")
                failed, result = False, Answer()
                while message := _read(incoming):
                    number, fields = message
                    self.heard.append(message)
                    if number == GOODBYE:
                        return
                    failed = failed and number != RESET
                    if failed:
                        _send(connection, IGNORED)
                        continue
                    result, failed = self._reply(connection, number, fields, result)
            except OSError:
                return

    def _reply(self, connection: socket.socket, number: int, fields: list[Any], last: Answer) -> tuple[Answer, bool]:
        result = last
        if number == LOGON and fields[0].get("credentials") != self._password:
            result = Answer(error=("Neo.ClientError.Security.Unauthorized", "wrong password"))
        elif number == RUN:
            result = self._answer(fields[0], fields[1])
        if result.error is not None and number in {LOGON, RUN}:
            _send(connection, FAILURE, {"code": result.error[0], "message": result.error[1]})
            return Answer(), True
        if number == PULL:
            for row in result.rows:
                _send(connection, RECORD, list(row))
            _send(connection, SUCCESS, {"type": result.kind, "db": "neo4j"})
        elif number == HELLO:
            _send(connection, SUCCESS, {"server": "Neo4j/5.4.0", "connection_id": "1", "hints": {}})
        else:
            _send(connection, SUCCESS, {"fields": list(result.fields)} if number == RUN else {})
        return result, False


def _read(incoming: Any) -> tuple[int, list[Any]] | None:
    data = b""
    while len(head := incoming.read(2)) == 2:
        size = struct.unpack(">H", head)[0]
        if size:
            data += incoming.read(size)
        elif data:
            break
    if not data:
        return None
    buffer = Unpacker.new_unpackable_buffer()
    unpacker: Any = Unpacker(buffer)
    buffer.reset()
    buffer.data[:] = data
    buffer.used = len(data)
    count, tag = unpacker.unpack_structure_header()
    return tag[0], [unpacker.unpack() for _ in range(count)]


def _send(connection: socket.socket, tag: bytes, *fields: Any) -> None:
    buffer = Packer.new_packable_buffer()
    packer: Any = Packer(buffer)
    packer.pack_struct(tag, fields)
    data = bytes(buffer.data)
    connection.sendall(struct.pack(">H", len(data)) + data + b"\x00\x00")
