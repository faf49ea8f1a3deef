"""Errors of HTTP as the clients of each protocol know them, for all that refuses: routes, guard and connections."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import ceil, inf
from typing import Any, Final, NamedTuple

from trivium.events import JSONObject
from trivium.serving._wire import Failure

_OPENAI: Final = "/v1/"
_JSON_RPC = re.compile(r"/mcp|/a2a(/(?!.*\.json$).*)?")
_OPENAI_TYPES: Final = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"
}  # fmt: skip


class ErrorResponse(NamedTuple):
    """The answer to a request that is refused.

    Args:
        status: the status of HTTP.
        headers: its headers.
        body: its body, JSON.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path that a request asks for within the application, which may be mounted below another path.

    >>> path_of({"path": "/agent/runs", "root_path": "/agent"})
    '/runs'
    """
    return scope["path"].removeprefix(scope.get("root_path", ""))


def error_response(path: str, failure: Failure) -> ErrorResponse:
    """Return the answer to a request of a path: OpenAI's error, one of JSON-RPC, or our own.

    >>> error_response("/runs", Failure(404, "UnknownRun", "you have no run")).body
    b'{"error": {"type": "UnknownRun", "message": "you have no run"}}'
    >>> error_response("/v1/models", Failure(422, "InvalidRequest", "n is 1")).status
    400
    """
    status, told = failure.status, failure.body()
    error: JSONObject = told["error"]
    if path.startswith(_OPENAI):
        status = 400 if status == 422 else status
        kind = _OPENAI_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
        told = {"error": {**error, "type": kind, "code": failure.kind, "param": None}}
    elif _JSON_RPC.fullmatch(path):
        code = -32600 if status < 500 else -32603  # an invalid request, or an internal error
        told = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": failure.message, "data": error}}
    headers = {
        "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff",
        **({"www-authenticate": "Bearer"} if status == 401 else {}), **_retry_headers(failure.retry_after),
    }  # fmt: skip
    return ErrorResponse(status, headers, json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))


def _retry_headers(seconds: float) -> Mapping[str, str]:
    """Return when to send a request again, also as OpenAI's clients read it, which do so by themselves."""
    if seconds == inf:
        return {"x-should-retry": "false"}
    return {"retry-after": str(ceil(seconds))} if seconds else {}
