"""A small real web server, whose answers are bytes, or functions that talk on the connection as they like."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from trivium.actions.web import Fetcher

__all__ = [
    "CERTIFICATE", "CHUNKED", "LONG", "Asked", "Site", "http", "local", "names", "page", "redirect", "until_closed",
    "without_end", "zipped",
]  # fmt: skip

CERTIFICATE = Path(__file__).with_name("site.pem")
"""The key and the certificate of `site.example`, made for these tests, signed by itself."""

# Heads of answers whose end is elsewhere.
CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000000000\r\n\r\n"

Talk = Callable[[socket.socket], None]


class Asked(NamedTuple):
    """A request as the server saw it."""

    path: str
    headers: dict[str, str]


class Site:
    """Answers a path with its bytes, or lets its function talk; each connection has a thread.

    Args:
        tls: serve HTTPS, as `site.example`.
    """

    def __init__(self, tls: bool = False) -> None:
        self.answers: dict[str, bytes | Talk] = {}
        self.asked: list[Asked] = []
        self.connections = 0
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if self._tls is not None:
            self._tls.load_cert_chain(CERTIFICATE)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'http' if self._tls is None else 'https'}://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                thread = threading.Thread(target=self._talk, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _talk(self, plain: socket.socket) -> None:
        with plain, contextlib.suppress(OSError):
            if self._tls is None:
                self._answer(plain)
                return
            with self._tls.wrap_socket(plain, server_side=True) as connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        asked = _read_head(connection)
        if asked is None:
            return
        self.asked.append(asked)
        answer = self.answers.get(asked.path, http(b"", status="404 Not Found"))
        if isinstance(answer, bytes):
            connection.sendall(answer)
        else:
            answer(connection)


def _read_head(connection: socket.socket) -> Asked | None:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            return None
        head += piece
    first, *lines = head.decode().rstrip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Asked(first.split()[1], {name.lower(): value.strip() for name, _, value in pairs})


def http(body: bytes, kind: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; a header with an empty value is left out."""
    said = {"content-type": kind, "content-length": str(len(body))}
    said |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def page(text: str, title: str = "A page") -> bytes:
    """An answer with a page of one paragraph."""
    return http(f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>".encode())


def redirect(location: str, status: str = "302 Found") -> bytes:
    return http(b"", status=status, location=location)


def zipped(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = gzip.compress(data)
    return data


def without_end(piece: bytes, head: bytes = b"") -> Talk:
    """Sends a piece again and again, until the other side has enough."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)

    return talk


def until_closed(closed: threading.Event, head: bytes = b"", then: Callable[[], object] = lambda: None) -> Talk:
    """Sends only a beginning, calls `then`, and tells when the other side has closed the connection."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        then()
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
        closed.set()

    return talk


def local(site: Site, **options: Any) -> Fetcher:
    """A fetcher that may ask a site."""
    return Fetcher(allowed_hosts=[site.place], **options)


def names(table: dict[str, Sequence[str]]) -> Callable[[str, int], Sequence[str]]:
    """A resolver that knows these hosts only."""

    def resolve(host: str, port: int) -> Sequence[str]:
        return table.get(host, ())

    return resolve
