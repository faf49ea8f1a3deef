"""Bodies of requests, responses in JSON, and errors: what all routes share."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from trivium.events import JSONObject
from trivium.exceptions import JournalError
from trivium.serving._error_response import error_response, path_of
from trivium.serving._streams import HEADERS
from trivium.serving._wire import Failure, parse_body, to_failure, too_large

if TYPE_CHECKING:
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

_log = logging.getLogger("trivium.serve")
MOST: Final = 999_999_999_999
PAGE: Final = "^([0-9]{1,20}(?:\\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,3})?)_([0-9A-Za-z_-]{1,100})$"
"""The form of what stands for a page of a list."""


def owner_of(request: Request) -> str:
    """Return the user whose token the request has; "" where there is one token for all."""
    return request.scope["trivium.user"]


async def read_object(request: Request, most: int) -> JSONObject:
    """Return the body of a request, an object of JSON; one without a body gives an empty object.

    Raises:
        Failure: it is none, too large, or did not arrive.
    """
    found = await read_value(request, most)
    if not isinstance(found, dict):
        raise Failure(422, "InvalidRequest", "the body is no object of JSON")
    return cast("JSONObject", found)


async def read_value(request: Request, most: int) -> object:
    """Return the body of a request, a value of JSON; one without a body gives an empty object.

    Raises:
        Failure: it is none, too large, or did not arrive.
    """
    from starlette.requests import ClientDisconnect

    content = bytearray()
    try:
        async for piece in request.stream():
            content += piece
            if len(content) > most:
                raise too_large(most)
    except ClientDisconnect:  # or its time was over
        raise Failure(408, "Disconnected", "the body did not arrive") from None
    return parse_body(bytes(content)) if content else {}


def objects_in(value: object) -> list[JSONObject] | None:
    """Return a list of objects; None: it is none."""
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    return cast("list[JSONObject]", items) if all(isinstance(each, dict) for each in items) else None


def text_field(body: Mapping[str, Any], name: str, most: float = 10_000) -> str:
    """Return a text of a body; "" where it is not given.

    Args:
        body: the body.
        name: the name of the text there.
        most: the characters that it may have.

    Raises:
        Failure: it is no text, or too long.
    """
    value: object = body.get(name)
    if value is not None and not isinstance(value, str):
        raise Failure(422, "InvalidRequest", f"{name} is a text")
    if value and len(value) > most:
        raise Failure(422, "InvalidRequest", f"{name} is a text of at most {most:,} characters")
    return value or ""


def whole_number(text: str, name: str, least: int, most: int) -> int:
    """Return a whole number that a client writes.

    Raises:
        Failure: it is none, or out of its bounds; status 422.
    """
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 18 and least <= int(text) <= most:
        return int(text)
    raise Failure(422, "InvalidRequest", f"{name} is a whole number from {least} to {most}")


def page_after(at: float, run_id: str) -> str:
    """Return what stands for the page after the run of a time.

    >>> page_asked(page_after(1.5, "run_1"), "a page")
    (1.5, 'run_1')
    """
    return f"{at!r}_{run_id}"


def page_asked(text: str | None, wanted: str) -> tuple[float, str] | None:
    """Return the time and the id of the last run before a page; None: it is the first page, without a text.

    Raises:
        Failure: the text is none of `page_after`; status 422, with what is wanted.
    """
    if text is None:
        return None
    if found := re.fullmatch(PAGE, text):
        return float(found[1]), found[2]
    raise Failure(422, "InvalidRequest", wanted)


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response that is JSON."""
    from starlette.responses import Response

    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, {**HEADERS, **(headers or {})}, "application/json")


async def refuse(request: Request, error: Exception) -> Response:
    """Answer with an error, as the clients of the route know errors."""
    failure = to_failure(error)
    if isinstance(error, JournalError) and failure.status >= 500:
        _log.error("a request cannot be answered: %s", error)
    return _refused(request, failure)


async def refuse_route(request: Request, error: HTTPException) -> Response:
    """Answer a request that fits no route: its path, or its method."""
    from starlette.routing import Match

    routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
    if not routes:
        known = ", ".join(sorted({f"/{each.path.split('/')[1]}" for each in request.app.routes}))
        text = f"there is no such route; there are {known}: GET /openapi.json describes those of runs"
        return _refused(request, Failure(404, "InvalidRequest", text))
    methods = ", ".join(sorted({method for each in routes for method in each.methods}))
    failure = Failure(405, "InvalidRequest", f"this route does not take that method; it takes {methods}")
    return _refused(request, failure, {"allow": methods})


def _refused(request: Request, failure: Failure, more: Mapping[str, str] | None = None) -> Response:
    from starlette.responses import Response

    status, headers, body = error_response(path_of(request.scope), failure)
    return Response(body, status, {**headers, **(more or {})})
