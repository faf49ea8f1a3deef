"""A server that speaks the part of Qdrant's REST interface that the store uses.

Each request is checked against the models of Qdrant's own client, which forbid what they do not know, and answered by
its local mode.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

Answer = tuple[int, Any]


class FakeQdrant(ThreadingHTTPServer):
    """The server; what a test sets in it holds from the next request on."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        from qdrant_client import QdrantClient  # it takes a second, and most workers of the tests need it not

        super().__init__(("127.0.0.1", 0), _Handler)
        self.engine, self.turn = QdrantClient(":memory:"), threading.Lock()
        self.seen: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.fault: Callable[[str, str], Answer | None] = lambda method, path: None
        self.wrong: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, method: str, target: str, body: Any) -> Answer:
        url = urlsplit(target)
        parts = [unquote(each) for each in url.path.strip("/").split("/")]
        query = parse_qs(url.query)
        if parts[0] != "collections":
            return 404, None
        route = (method, *(each if at != 1 else "*" for at, each in enumerate(parts)))
        writes = (
            route[2:] in (("points",), ("points", "delete"), ("points", "payload"))
            and method in ("PUT", "POST")
            and route[0] != "GET"
        )
        if writes and route != ("POST", "collections", "*", "points") and query.get("wait") != ["true"]:
            self.wrong.append(f"{method} {target} does not wait")
        name = parts[1] if len(parts) > 1 else ""
        if name and route != ("PUT", "collections", "*") and not self.engine.collection_exists(name):
            return 404, f"Not found: Collection `{name}` doesn't exist!"
        if route == ("PUT", "collections", "*") and self.engine.collection_exists(name):
            return 409, f"Wrong input: Collection `{name}` already exists!"
        return 200, self._done(route, name, body)

    def _done(self, route: tuple[str, ...], name: str, body: Any) -> Any:
        from qdrant_client import models

        engine = self.engine
        match route:
            case ("GET", "collections"):
                return engine.get_collections()
            case ("GET", "collections", "*"):
                return engine.get_collection(name)
            case ("PUT", "collections", "*"):
                made = models.CreateCollection.model_validate(body)
                return engine.create_collection(name, vectors_config=made.vectors or {})
            case ("DELETE", "collections", "*"):
                return engine.delete_collection(name)
            case ("PUT", "collections", "*", "index"):
                index = models.CreateFieldIndex.model_validate(body)
                assert (index.field_name, index.field_schema) == ("terms", models.PayloadSchemaType.KEYWORD)
                return models.UpdateResult(status=models.UpdateStatus.COMPLETED)
            case ("PUT", "collections", "*", "points"):
                points = models.PointsList.model_validate(body)
                return engine.upsert(name, points.points, update_filter=points.update_filter)
            case ("POST", "collections", "*", "points"):
                wanted = models.PointRequest.model_validate(body)
                return engine.retrieve(name, wanted.ids, with_payload=True)
            case ("POST", "collections", "*", "points", "scroll"):
                scroll = models.ScrollRequest.model_validate(body)
                points, following = engine.scroll(name, scroll.filter, limit=scroll.limit or 10, offset=scroll.offset)
                return models.ScrollResult(points=points, next_page_offset=cast("Any", following))
            case ("POST", "collections", "*", "points", "count"):
                count = models.CountRequest.model_validate(body)
                return engine.count(name, count.filter, exact=bool(count.exact))
            case ("POST", "collections", "*", "points", "delete"):
                return engine.delete(name, TypeAdapter(models.PointsSelector).validate_python(body))
            case ("POST", "collections", "*", "points", "payload"):
                change = models.SetPayload.model_validate(body)
                assert change.filter is not None
                return engine.set_payload(name, change.payload, points=change.filter)
            case ("POST", "collections", "*", "points", "query"):
                query = models.QueryRequest.model_validate(body)
                limit = query.limit or 10
                return engine.query_points(name, query=query.query, query_filter=query.filter, limit=limit)  # type: ignore[arg-type]
            case _:
                raise ValueError(f"no such request: {route}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeQdrant  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"null")
        server = self.server
        with server.turn:
            server.seen.append((self.command, self.path))
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = server.fault(self.command, self.path)
            try:
                status, result = fault or server.answer(self.command, self.path, body)
            except (ValidationError, ValueError, AssertionError) as error:
                server.wrong.append(f"{self.command} {self.path}: {error}")
                status, result = 400, str(error)
        if status == 0:  # hang up
            self.close_connection = True
            return
        self._send(status, result)

    def _send(self, status: int, result: Any) -> None:
        made: Any = to_jsonable_python(result)
        said: dict[str, Any] = (
            {"status": "ok", "result": made} if status == 200 else {"status": {"error": made}, "result": None}
        )
        data = json.dumps({**said, "time": 0.0}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = _serve


@contextmanager
def fake_qdrant() -> Generator[FakeQdrant]:
    """A server, as long as the block runs; a request that Qdrant would not take fails the test."""
    with FakeQdrant() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.engine.close()
    assert not server.wrong, server.wrong
