"""The description of the server's own routes as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from trivium.events import JSONObject
from trivium.serving._http import PAGE
from trivium.serving._wire import MAX_FILES

_ID: Final[JSONObject] = {"name": "run_id", "in": "path", "required": True, "schema": {"type": "string"}}
_SESSION: Final[JSONObject] = {
    "anyOf": [{"type": "integer"}, {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000]*$"}],
    "description": "a conversation: a whole number, or a text; 7 and \"7\" are one, and run_ begins those of one run",
}  # fmt: skip
_TEXT: Final[JSONObject] = {"type": ["string", "null"]}
_BASE64: Final = "^(?:[0-9A-Za-z+/]{4})*(?:[0-9A-Za-z+/]{2}==|[0-9A-Za-z+/]{3}=|[0-9A-Za-z+/]{4})$"
_MESSAGE: Final[JSONObject] = {
    "description": "a text of a user, an object with a content, or a list of these",
    "anyOf": [
        {"type": "string"},
        {"$ref": "#/components/schemas/Said"},
        {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/Said"}]},
        },
    ],
}
_RUN_STATES: Final = ("queued", "running", "paused", "done", "failed", "cancelled")
_SCHEMAS: Final[JSONObject] = {
    "Said": {
        "type": "object",
        "required": ["content"],
        "additionalProperties": False,
        "properties": {
            "content": {"type": "string"},
            "sender": {},
            "type": {},
            "extra_info": {},
            "files": {
                "type": ["array", "null"],
                "maxItems": MAX_FILES,
                "items": {"$ref": "#/components/schemas/File"},
            },
        },
    },
    "File": {
        "description": "an image or another file by its bytes, or an image by its address",
        "anyOf": [
            {
                "type": "object",
                "required": ["content"],
                "additionalProperties": False,
                "properties": {
                    "content": {"type": "string", "contentEncoding": "base64", "pattern": _BASE64},
                    "mime_type": {**_TEXT, "description": "default application/octet-stream"},
                    "filename": _TEXT,
                    "detail": _TEXT,
                },
            },
            {
                "type": "object",
                "required": ["url", "mime_type"],
                "additionalProperties": False,
                "properties": {
                    "url": {"type": "string", "pattern": "^https://"},
                    "mime_type": {"type": "string", "pattern": "^image/"},
                    "filename": _TEXT,
                    "detail": _TEXT,
                },
            },
        ],
    },
    "Run": {
        "type": "object",
        "required": ["id", "model", "session_id", "state", "created", "ended", "usage"],
        "properties": {
            "id": {"type": "string"},
            "model": {"type": "string"},
            "session_id": {"type": "string"},
            "state": {"enum": [*_RUN_STATES]},
            "created": {"type": "number", "description": "seconds since the epoch"},
            "ended": {"type": ["number", "null"]},
            "usage": {
                "type": "object",
                "required": ["tokens", "usd"],
                "properties": {"tokens": {"type": "integer"}, "usd": {"type": "number"}},
            },
            "approvals": {"type": "array", "items": {"$ref": "#/components/schemas/Approval"}},
            "message": {"type": "object", "description": "the answer of a run that is done"},
            "error": {"type": "object", "description": "why a run has failed"},
            "why": {"type": "string", "description": "why a run was cancelled"},
        },
    },
    "Approval": {
        "type": "object",
        "required": ["digest", "name", "arguments"],
        "properties": {
            "digest": {"type": "string", "description": "stands for the call in a decision"},
            "name": {"type": "string"},
            "arguments": {"type": "object"},
            "why": {"type": "string", "description": "the reason of the policy that asks"},
        },
    },
    "Waiting": {
        "allOf": [{"$ref": "#/components/schemas/Approval"}],
        "type": "object",
        "required": ["run", "user", "model", "session_id", "message", "asked"],
        "properties": {
            "run": {"type": "string", "description": "the run whose call it is: POST /runs/{run_id}/approvals decides"},
            "user": {"type": "string", "description": "whose run it is; empty where there is one token for all"},
            "model": {"type": "string"},
            "session_id": {"type": "string"},
            "message": {"type": "string", "description": "what the user has said last, or the beginning of it"},
            "asked": {"type": "number", "description": "seconds since the epoch"},
        },
    },
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["type", "message"],
                "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            }
        },
    },
}


_MODEL: Final[JSONObject] = {
    "type": ["string", "null"],
    "description": "what runs, by its name; default the first",
}
_START: Final[JSONObject] = {
    "type": "object",
    "required": ["message"],
    "additionalProperties": False,
    "properties": {
        "message": _MESSAGE,
        "model": _MODEL,
        "session_id": _SESSION,
        "previous_run_id": {"type": ["string", "null"], "description": "the run from whose end it goes on"},
        "request_id": {
            "type": ["string", "null"], "maxLength": 256,
            "description": "an id of the client: the same request with the same id is the same run",
        },
        "stream": {"type": "boolean", "description": "answer with the events of the run"},
    },
}  # fmt: skip
_DECISION: Final[JSONObject] = {
    "type": "object",
    "required": ["digest", "approved"],
    "additionalProperties": False,
    "properties": {
        "digest": {"type": "string", "minLength": 1},
        "approved": {"type": "boolean"},
        "reason": {"type": ["string", "null"], "maxLength": 10000},
    },
}


_MEMORY: Final[JSONObject] = {
    "name": "session_id", "in": "path", "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000]*$"},
}  # fmt: skip
_ASK: Final[JSONObject] = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "message": _MESSAGE,
        "session_id": _SESSION,
        "stream": {"type": "boolean", "description": "answer with events"},
    },
}
_EVENT: Final[JSONObject] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string", "description": "the number of the event, for Last-Event-ID"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}


def _retention(days: float | None, seconds: float | None) -> str:
    kept = "until they are deleted" if days is None else f"for {days:g} days after their end"
    waits = "" if seconds is None else f" One that waits for an approval is cancelled after {seconds:g} s."
    return f"They are kept {kept}.{waits}"


def openapi(keep_days: float | None, approval_seconds: float | None, keywords: Collection[str] = ()) -> JSONObject:
    """Return the description of the routes of a server.

    Args:
        keep_days: how long it keeps runs after their end; None: until they are deleted.
        approval_seconds: how long a call waits for an approval; None: no limit.
        keywords: names that a client may send beside its message.
    """
    run = _reference("Run")
    limit = _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000})
    page = _query("page", {"type": "string", "pattern": PAGE})
    after = _query("after", {"type": "integer", "minimum": 0, "maximum": 999_999_999_999})
    following = {"type": "string", "description": "the page of the next request, where there are more"}
    listed = _listed("runs", run, next_page=following)
    waiting = _listed("approvals", _reference("Waiting"))
    status = {"type": "object", "required": ["status"], "properties": {"status": {"const": "success"}}}
    deleted = {"type": "object", "properties": {"id": {"type": "string"}, "deleted": {"const": True}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "trivium",
            "version": "1",
            "description": f"Runs of agents, tasks and other modules. {_retention(keep_days, approval_seconds)}",
        },
        "components": {"schemas": _SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": {
            "/runs": {
                "get": _route("the owner's runs, the latest first", {"200": _json(listed)}, [limit, page]),
                "post": _route("start a run", {"202": _json(run), "200": _events()}, body=_START),
            },
            "/runs/{run_id}": {
                "get": _route("how far a run is", {"200": _json(run)}, [_ID]),
                "delete": _route("delete a run that has ended", {"200": _json(deleted)}, [_ID]),
            },
            "/runs/{run_id}/events": {
                "get": _route(
                    "the events of a run after one of a number, until it ends", {"200": _events()}, [_ID, after]
                )
            },
            "/runs/{run_id}/cancel": {"post": _route("cancel a run", {"200": _json(run)}, [_ID])},
            "/runs/{run_id}/approvals": {
                "post": _route("approve or refuse a call that waits", {"200": _json(run)}, [_ID], _DECISION)
            },
            "/approvals": {
                "get": _route("the calls on which the user decides, the oldest first", {"200": _json(waiting)})
            },
            **_lagents(keywords),
            "/metrics": {"get": _route("numbers for Prometheus", {"200": _as("text/plain", {"type": "string"})})},
            "/health_check": {"get": {**_route("whether it is there", {"200": _json(status)}), "security": []}},
        },
    }


def _lagents(keywords: Collection[str]) -> JSONObject:
    """Return the routes of Lagent."""
    allowed: JSONObject = {"model": _MODEL, **{each: {} for each in keywords}}
    asked: JSONObject = {**_ASK, "properties": {**_ASK["properties"], **allowed}, "additionalProperties": False}
    answer = {**_json({"type": "object"})["content"], **_events()["content"]}
    status = {"type": "object", "required": ["status"], "properties": {"status": {"const": "success"}}}
    return {
        "/chat_completion": {
            "post": _route(
                "ask, in a run that ends with its client",
                {"200": {"description": "as asked", "content": answer}},
                body=asked,
            )
        },
        "/memory/{session_id}": {
            "get": _route("what a conversation has left in memory", {"200": _json({"type": "object"})}, [_MEMORY]),
            "delete": _route("forget a conversation", {"200": _json(status)}, [_MEMORY]),
        },
    }


def _reference(name: str) -> JSONObject:
    return {"$ref": f"#/components/schemas/{name}"}


def _listed(name: str, item: JSONObject, **more: JSONObject) -> JSONObject:
    return {"type": "object", "required": [name], "properties": {name: {"type": "array", "items": item}, **more}}


def _query(name: str, schema: JSONObject) -> JSONObject:
    return {"name": name, "in": "query", "schema": schema}


def _json(schema: JSONObject) -> JSONObject:
    return _as("application/json", schema)


def _events() -> JSONObject:
    return _as("text/event-stream", _EVENT)


def _as(kind: str, schema: JSONObject) -> JSONObject:
    return {"description": "as asked", "content": {kind: {"schema": schema}}}


def _route(
    summary: str, responses: JSONObject, parameters: list[JSONObject] | None = None, body: JSONObject | None = None
) -> JSONObject:
    failed = {
        "description": "what is wrong, and what to do",
        "content": {"application/json": {"schema": _reference("Error")}},
    }
    found: dict[str, Any] = {"summary": summary, "responses": {**responses, "default": failed}}
    if parameters:
        found["parameters"] = parameters
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found
