"""An HTTP server on the loopback interface, in threads of its own: the base of those that tests write."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["LoopbackServer", "PageServer"]


class LoopbackServer:
    """It runs within `with`; a subclass writes `respond`, which is called with each request in a thread of its own."""

    def __init__(self) -> None:
        respond = self.respond

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Silence: tests look at what the server received."""

            def do_GET(self) -> None:
                respond(self)

            do_POST = do_DELETE = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        """Read the rest of a request, and answer it."""
        raise NotImplementedError

    @property
    def host(self) -> str:
        """The name and the port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://{self.host}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class PageServer(LoopbackServer):
    """It answers each request with the same page; a test sets the status."""

    status = 200

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(self.status)
        handler.send_header("content-length", "7")
        handler.end_headers()
        handler.wfile.write(b"A page.")
