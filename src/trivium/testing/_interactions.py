"""The records of a cassette: requests and answers as readable JSON, without secrets."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote

from trivium.events import is_deeper
from trivium.exceptions import ConfigurationError
from trivium.http import HTTPRequest
from trivium.llms.http import HIDDEN, redact_url, secrets_of

MIN_SECRET: Final = 8
"""Shorter texts are placeholders such as "EMPTY", not secrets; hiding them everywhere would damage the recording."""
MAX_DEPTH: Final = 100
_KEPT_HEADERS: Final = frozenset(
    {"content-type", "location", "mcp-session-id", "retry-after", "retry-after-ms", "x-should-retry"}
)
_SPACE: Final = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_EVENT: Final = re.compile(r"(?:event: (?P<event>[^\r\n]*)\n)?data: (?P<data>[^\r\n]*)\n\n")
_EVENT_ENDS: Final = re.compile(r"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


class RecordedRequest(NamedTuple):
    """A request as stored in a cassette, without headers, with `***` in place of secrets.

    Args:
        method: the method, such as "POST".
        url: the address, without user and password.
        body: the value of a JSON body, else the text, else the bytes; None if there is no body.
    """

    method: str
    url: str
    body: Any


class Scrubber:
    """Replaces secrets: the keys of the requests so far, and texts by the user's function.

    Args:
        own: the user's function from each text to the text that may be stored.
    """

    def __init__(self, own: Callable[[str], str] | None = None) -> None:
        self._own = own
        self._secrets: tuple[str, ...] = ()

    def learn(self, request: HTTPRequest, secrets: Collection[str]) -> None:
        """Add the secrets of a request: its keys, and those in its headers and its address."""
        found = [part.strip() for each in secrets for part in (each, *each.split(","))]
        found += secrets_of(request.url, request.headers)
        known = {form for each in found if len(each) >= MIN_SECRET for form in _forms(each)}
        self._secrets = tuple(sorted({*self._secrets, *known}, key=len, reverse=True))

    def request(self, request: HTTPRequest) -> RecordedRequest:
        """The recorded form of a request whose body has been read."""
        body = body_of(request.content) if request.content else None
        return RecordedRequest(request.method, self.value(redact_url(request.url)), self.value(body))

    def _scrubbed(self, text: str) -> str:
        kept: Any = self._own(text) if self._own is not None else text
        if not isinstance(kept, str):
            raise ConfigurationError(f"scrub returns the text that may be kept, not {type(kept).__name__}")
        return kept

    def value(self, value: Any) -> Any:
        """Scrub every text in a value, keys included."""
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, HIDDEN)
            return self._scrubbed(value)
        if isinstance(value, bytes):
            for secret in self._secrets:
                value = value.replace(secret.encode(), HIDDEN.encode())
            return value
        if isinstance(value, dict):
            return {self.value(name): self.value(each) for name, each in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list):
            return [self.value(each) for each in cast("list[Any]", value)]
        return value


def _forms(secret: str) -> Collection[str]:
    """The encodings of a text in an address and in JSON."""
    return {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}


@dataclass
class Recording:
    """A request and its answer.

    Args:
        request: the request.
        status: the status of the answer; 0 if there was none.
        headers: the stored headers of the answer.
        body: the body of the answer, as stored.
        pieces: the body while it is recorded.
        error: the class and the text of the transport's error with which it ended.
        is_cut: True if the reader stopped before the end.
        is_open: True while it is recorded.
    """

    request: RecordedRequest
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pieces: list[bytes] = field(default_factory=list[bytes])
    error: tuple[str, str] | None = None
    is_cut: bool = False
    is_open: bool = False

    def keep_headers(self, headers: Mapping[str, str]) -> None:
        """Store the headers of an answer that clients use; the others change with each answer."""
        low = {name.lower(): value for name, value in headers.items()}
        self.headers = {name: low[name] for name in sorted(low) if name in _KEPT_HEADERS or "ratelimit" in name}

    def stored(self, scrubber: Scrubber) -> dict[str, Any]:
        """Return the record in the file: what was asked, and the answer."""
        request = {"method": self.request.method, "url": self.request.url, **_body_form(self.request.body)}
        body = self.body
        if self.pieces:
            body = stored_body(scrubber.value(b"".join(self.pieces)), self.headers.get("content-type", ""))
        answer: dict[str, Any] = {"status": self.status, "headers": dict(self.headers)} if self.status else {}
        answer.update(body)
        if self.error is not None:
            answer["error"] = list(self.error)
        if self.is_cut:
            answer["is_cut"] = True
        kind = "outcome" if self.error is None else "error"
        return {"name": "http", "kind": kind, **scrubber.value({"asked": request, "body": answer})}

    @classmethod
    def loaded(cls, stored: Mapping[str, Any]) -> Recording:
        """Read a record of the file.

        Raises:
            ValueError, LookupError, TypeError: it is malformed.
        """
        request, answer = stored["asked"], stored["body"]
        data = b"".join(pieces_of(request))
        asked = RecordedRequest(str(request["method"]), str(request["url"]), body_of(data) if data else None)
        kind, text = answer.get("error") or ("", "")
        pieces_of(answer)
        status = int(answer.get("status", 0))
        if status and not 100 <= status <= 599:
            raise ValueError(f"there is no status {status}")
        return cls(
            asked,
            status,
            {str(name): str(value) for name, value in dict(answer.get("headers", {})).items()},
            {name: answer[name] for name in ("json", "events", "text", "base64") if name in answer},
            error=(str(kind), str(text)) if kind else None,
            is_cut=bool(answer.get("is_cut")),
        )


# ---- bodies
def body_of(data: bytes) -> Any:
    """Return the value of a JSON body, else its text, else the bytes."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if is_deeper(value, MAX_DEPTH) else value


def _body_form(body: object) -> dict[str, Any]:
    if body is None or body == "":
        return {}
    if isinstance(body, bytes):
        return {"base64": base64.b64encode(body).decode()}
    return {"text": body.splitlines(keepends=True)} if isinstance(body, str) else {"json": body}


def stored_body(data: bytes, content_type: str) -> dict[str, Any]:
    """Render a body in the most readable form that loses nothing but whitespace between the parts of JSON."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _body_form(data)
    if content_type.startswith("text/event-stream"):
        return {"events": [_stored_event(each) for each in _EVENT_ENDS.split(text) if each]}
    known, value = _lossless(text)
    return {"json": value} if known else _body_form(text)


def pieces_of(stored: Mapping[str, Any]) -> list[bytes]:
    """Return the pieces of a body: the events of a stream, else one piece.

    Raises:
        ValueError, LookupError, TypeError: it is not a stored body.
    """
    if "events" in stored:
        return [_event_text(each).encode() for each in stored["events"]]
    if "json" in stored:
        return [json.dumps(stored["json"], separators=(",", ":")).encode()]
    if "base64" in stored:
        return [base64.b64decode(stored["base64"], validate=True)]
    return ["".join(stored["text"]).encode()] if stored.get("text") else []


def _stored_event(text: str) -> Any:
    found = _EVENT.fullmatch(text)
    known, value = _lossless(found["data"]) if found else (False, None)
    if found is None or not known:
        return text
    return {"data": value} if found["event"] is None else {"event": found["event"], "data": value}


def _event_text(event: Any) -> str:
    if isinstance(event, str):
        return event
    name = f"event: {event['event']}\n" if "event" in event else ""
    return f"{name}data: {json.dumps(event['data'], separators=(',', ':'))}\n\n"


def _lossless(text: str) -> tuple[bool, Any]:
    """Return True and the value if a text is JSON that can be written again without loss."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False, None
    packed = _SPACE.sub(r"\1", text)
    forms = (json.dumps(value, separators=(",", ":"), ensure_ascii=ascii) for ascii in (True, False))
    return not is_deeper(value, MAX_DEPTH) and packed in forms, value
