"""Servers at a URL: sessions that end, servers that come back, redirects, and what an address may be told."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from _bombs import packed_zeros
from trivium.commander import run_sync
from trivium.exceptions import LimitError, MCPConnectionError, MCPError
from trivium.mcp import MCPServer

from ._helpers import PEERS, SDK_SERVER, listening


def test_a_server_that_comes_back_is_used_again():
    with listening(SDK_SERVER) as (port, process), MCPServer(f"http://127.0.0.1:{port}/mcp") as server:
        assert server({"text": "é"}, "echo").format_result() == "é"
        first = server({}, "pid").format_result()
        tool = next(each for each in server.tools() if each.name.endswith(".pid"))
        process.kill()
        process.wait()
        with pytest.raises(MCPConnectionError):
            run_sync(tool.call)
        with listening(SDK_SERVER, port):
            assert server({}, "pid").format_result() != first


def test_a_session_that_the_server_forgot_is_begun_again():
    python = PEERS / "python"
    if not python.exists():
        pytest.fail("the older SDK is not here: make .peers/mcp-servers/.ready")
    command = [str(python), str(Path(__file__).with_name("_old_server.py"))]
    with listening(command) as (port, _), MCPServer(f"http://127.0.0.1:{port}/mcp") as server:
        assert server({"text": "before"}, "echo").format_result() == "before"
        server({}, "forget")
        assert server({"text": "after"}, "echo").format_result() == "after"


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Type: application/json\r\n\r\n" + b" " * (17 << 20),
        b"Content-Type: text/event-stream\r\n\r\ndata: " + b"x" * (17 << 20),
        b"Content-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n" + packed_zeros(100 << 20, b" "),
    ],
    ids=["JSON", "an event", "packed"],
)
def test_a_body_without_end_is_an_error(body: bytes):
    with web(b"HTTP/1.0 200 OK\r\n" + body, []) as url:
        error = refused(url)
    assert isinstance(error, LimitError if b"event" not in body else MCPError), repr(error)


@contextmanager
def web(answer: bytes, seen: list[dict[str, str]]) -> Generator[str]:
    """A server that answers every request with the same, and keeps the headers of each."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.wfile.write(answer)

        do_GET = do_DELETE = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


def refused(url: str) -> MCPError:
    with pytest.raises(MCPError) as wrong:
        MCPServer(url, headers={"Authorization": "Bearer s3cret"}, start_seconds=10).open()
    shown = str(wrong.value) + repr(wrong.value) + repr(vars(wrong.value))
    assert "s3cret" not in shown
    return wrong.value


def test_headers_do_not_follow_a_redirect_to_another_place():
    there: list[dict[str, str]] = []
    here: list[dict[str, str]] = []
    with web(b"HTTP/1.0 500 No\r\n\r\n", there) as other:
        answer = f"HTTP/1.0 307 Moved\r\nLocation: {other}\r\nContent-Length: 0\r\n\r\n".encode()
        with web(answer, here) as url:
            assert "307" in str(refused(url))
    assert here[0]["authorization"] == "Bearer s3cret"
    assert there == []


def test_an_address_of_the_older_transport_is_told_from_one_where_nothing_runs():
    with web(b"HTTP/1.0 405 No\r\nAllow: GET\r\nContent-Length: 0\r\n\r\n", []) as url:
        assert "older SSE transport, which trivium does not have, try that of Streamable HTTP" in str(refused(url))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 401 No\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 502 No\r\nContent-Type: text/html\r\n\r\n<html>",
        b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{",
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps({"jsonrpc": "2.0"}).encode(),
        b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n",
        b"HTTP/1.0 202 OK\r\nContent-Length: 0\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"",
    ],
)
def test_what_is_no_server_is_an_error(answer: bytes):
    seen: list[dict[str, str]] = []
    with web(answer, seen) as url:
        assert isinstance(refused(url), MCPConnectionError)
