"""The client of remote services: a request, a reader of the answer, and typed errors with advice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from trivium.actions._strict import is_json_array, is_json_object
from trivium.actions._texts import sendable
from trivium.commander import driver_neutral, invoke, step, wait
from trivium.commander.lowlevel import change_scope, time_left
from trivium.exceptions import ConfigurationError, DeadlineExceededError, RemoteServiceError, ToolArgumentsError
from trivium.http import BodyError, HTTPClient, HTTPError, HTTPRequest, HTTPResponse, exchange
from trivium.journal.lowlevel import digest_of, recorded_read
from trivium.llms.http import back_off, redact, seconds_to_wait, secrets_of

if TYPE_CHECKING:
    from trivium.commander import TaskNode

T = TypeVar("T")

MAX_BYTES = 8 << 20
MAX_TRIES, FIRST_DELAY = 3, 0.5

# The source of the key in each variable.
KEYS = {
    "BING_API_KEY": ("Bing Web Search", "your Azure resource (Microsoft issues no new ones)"),
    "BING_MAP_KEY": ("Bing Maps", "https://www.bingmapsportal.com (Microsoft issues no new ones)"),
    "BRAVE_API_KEY": ("Brave Search", "https://api-dashboard.search.brave.com"),
    "SERPAPI_API_KEY": ("SerpApi", "https://serpapi.com/manage-api-key"),
    "SERPER_API_KEY": ("Serper", "https://serper.dev"),
    "TENCENT_SECRET_ID": ("Tencent Cloud", "https://console.cloud.tencent.com/cam/capi"),
    "TENCENT_SECRET_KEY": ("Tencent Cloud", "https://console.cloud.tencent.com/cam/capi"),
}
HINTS = {
    400: "; change the query or its options",
    422: "; change the query or its options",
    429: "; the quota is used up, or requests come too quickly: wait",
}
KEY_HINTS = {
    401: "; check the key",
    402: "; the account has no credit left",
    403: "; check the key and what it may use",
}
_MESSAGE_KEYS = ("message", "Message", "detail", "error", "Error", "errors", "errorDetails", "HTTPResponse")


def find_key(variable: str, given: str | None, parameter: str = "api_key") -> str:
    """Return the given key, else the key in the environment.

    Raises:
        ConfigurationError: there is no key, or it has characters that a header cannot have.
    """
    key = (given or os.environ.get(variable) or "").strip()
    service, where = KEYS[variable]
    if not key:
        raise ConfigurationError(f"{service} needs a key: set {variable}, or give {parameter}=; it comes from {where}")
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError(f"the key of {service} has invalid characters: copy it again")
    return key


class UnreadableError(Exception):
    """An answer cannot be read; the message continues a sentence that begins with the service's name."""


class Remote:
    """The client of one service.

    A request is retried if the connection broke, or the service was busy (429) or failed (5xx). Settings of the
    environment, such as proxies, are ignored and no redirect is followed, so that a key is sent to no other host.

    Args:
        service: its name, for errors.
        base_url: its address.
        timeout: the limit of a request with all retries, in seconds.
        headers: the headers of every request.
        hidden: secret parameters of every query, which no error and no log contains.
        secrets: other texts that no error may contain.
        hints: special advice by error status.

    Raises:
        ConfigurationError: `base_url` is not an HTTP address, or `timeout` is not positive.
    """

    def __init__(
        self,
        service: str,
        base_url: str,
        *,
        timeout: float,
        headers: Mapping[str, str] | None = None,
        hidden: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
        hints: Mapping[int, str] | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ConfigurationError("base_url begins with http:// or https:// and a host, and has no query")
        if not timeout > 0:
            raise ConfigurationError("timeout is a number of seconds above 0")
        self.service, self.base_url, self.host = service, base_url.rstrip("/"), parts.netloc.rpartition("@")[2]
        self._public_url = urlunsplit(parts._replace(netloc=self.host))
        self._hidden = dict(hidden or {})
        self._timeout, self._secrets = timeout, (*secrets, *self._hidden.values(), *secrets_of(base_url))
        self._headers = {"user-agent": "Mozilla/5.0 (compatible; trivium)", **(headers or {})}
        self._hints = {**HINTS, **(KEY_HINTS if self._secrets else {}), **(hints or {})}
        self._client = HTTPClient(proxies={})

    def __repr__(self) -> str:
        return f"Remote({self.service!r}, {self._public_url!r})"

    @driver_neutral
    async def request(
        self,
        read: Callable[[str], T],
        path: str = "",
        *,
        params: Mapping[str, object] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Send a request and read the answer.

        Args:
            read: a function that reads the answer's text; it raises `UnreadableError`.
            path: the path below the base URL.
            params: the query's parameters; parameters that are None are left out.
            content: a JSON body, which makes the request a POST.
            headers: more headers of this request.

        Raises:
            RemoteServiceError: there is no answer, it is an error, or it cannot be read.
        """
        given = {
            name: str(value).lower() if isinstance(value, bool) else sendable(str(value))
            for name, value in (params or {}).items()
            if value is not None
        }
        sent = {**self._headers, **(headers or {})}
        if content is not None:
            sent.setdefault("content-type", "application/json")
        method, url = "GET" if content is None else "POST", _with_query(self.base_url + path, given)
        request = HTTPRequest(method, url, sent, content or b"", self._timeout)
        text = await self._answer(request)
        try:
            return read(text)
        except UnreadableError as error:
            problem = self._error(str(error), 200)
        raise problem  # raised here, so that its context does not keep the answer

    @driver_neutral
    async def _answer(self, request: HTTPRequest) -> str:
        try:
            with step(f"remote:{self.service}") as node:
                change_scope(node, timeout=self._timeout)
                asked = digest_of([request.method, request.url, str(request.content)])  # has secrets
                return await recorded_read(node, asked, partial(self._tries, request, node))
        except DeadlineExceededError:
            raise self._error(f"gave no complete answer in {self._timeout:g} s: try again, or raise timeout") from None

    @driver_neutral
    async def _tries(self, request: HTTPRequest, node: TaskNode) -> str:
        for attempt in range(1, MAX_TRIES):
            try:
                return await invoke(self._once, request)
            except RemoteServiceError as error:
                may_help = error.status in (0, 429) or error.status >= 500
                delay = max(error.retry_after, back_off(FIRST_DELAY, attempt))
                if not may_help or delay >= (time_left(node) or 0):
                    raise
            await wait(delay)
        return await invoke(self._once, request)

    async def _once(self, request: HTTPRequest) -> str:
        try:
            async with exchange(request, self._send, self._secrets) as response:
                body = await self._body(response)
                if response.status != 200:
                    raise self._refusal(response, body)
                return body
        except BodyError:
            raise self._error("sent an answer that cannot be decompressed: check proxies in between", 200) from None
        except HTTPError as error:
            said = str(error) or type(error).__name__
            raise self._error(
                f"could not be reached at {self._public_url} ({said}): check the network and base_url"
            ) from None

    async def _send(self, request: HTTPRequest) -> HTTPResponse:
        """Send a request with its secret parameters, which no layer and no log sees."""
        return await self._client.send(replace(request, url=_with_query(request.url, self._hidden)))

    async def _body(self, response: HTTPResponse) -> str:
        body = await response.read(MAX_BYTES)
        if len(body) > MAX_BYTES:
            text = f"sent more than {MAX_BYTES >> 20} MB, which cannot be an answer: check base_url"
            raise self._error(text, response.status)
        return body.decode("utf-8-sig", "replace")

    def _refusal(self, response: HTTPResponse, body: str) -> RemoteServiceError:
        status = response.status
        try:
            said = _message(json.loads(body))
        except (ValueError, RecursionError):
            said = "" if body.lstrip().startswith("<") else body
        usual = "; try again later" if status >= 500 else "; check base_url"
        said = self._without_secrets(on_one_line(said))[:300] or response.reason
        seconds = seconds_to_wait(response.headers)
        text = f"answered {status}: {said}".rstrip(" .:") + self._hints.get(status, usual)
        return self._error(text + (f" ({seconds:.0f} s)" if seconds else ""), status, seconds)

    def _error(self, text: str, status: int = 0, retry_after: float = 0.0) -> RemoteServiceError:
        text = self._without_secrets(text)
        return RemoteServiceError(f"{self.service} {text}", self.service, status, retry_after)

    def _without_secrets(self, text: str) -> str:
        return redact(text, (form for each in self._secrets for form in (each, quote(each, safe=""))))


def _with_query(url: str, parameters: Mapping[str, str]) -> str:
    if not parameters:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, urlencode(parameters))))))


def _message(answer: object, depth: int = 4) -> str:
    """Find the message in the error object of a service; "" if it has none."""
    if isinstance(answer, str):
        return answer
    if is_json_array(answer):
        answer = dict(zip(_MESSAGE_KEYS, answer[:1], strict=False))
    if not is_json_object(answer) or not depth:
        return ""
    messages = (_message(answer.get(key), depth - 1) for key in _MESSAGE_KEYS)
    return next(filter(None, messages), "")


def checked_query(query: str, tool: str) -> str:
    """Return a query without surrounding whitespace, ready to be sent.

    Raises:
        ToolArgumentsError: the query is empty.
    """
    query = sendable(query.strip())
    if not query:
        raise ToolArgumentsError("the query is empty: give what to look for", tool)
    return query


def on_one_line(text: str) -> str:
    """Join the lines of a text, and replace characters that UTF-8 cannot encode."""
    return " ".join(sendable(text).split())


def parse_object(text: str) -> dict[str, Any]:
    """Parse an answer that is a JSON object.

    Raises:
        UnreadableError: it is not a JSON object.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableError("sent something that is not JSON: check base_url, or try again later") from None
    if not is_json_object(value):
        raise UnreadableError(_other_form((), dict))
    return value


_KINDS = {dict: "an object", list: "an array", str: "text", float: "a number"}


def find_object(value: object, *path: str | int) -> dict[str, Any]:
    """Find the object at a path in an answer; an empty one if it is missing or null.

    Raises:
        UnreadableError: the value at the path, or one above it, has another type.

    >>> find_object({"web": {"results": [{"title": "tea"}]}}, "web", "results", 0)
    {'title': 'tea'}
    """
    return _at(value, path, dict) or {}


def find_array(value: object, *path: str | int) -> list[Any]:
    """Find the array at a path in an answer; see `find_object`."""
    return _at(value, path, list) or []


def find_text(value: object, *path: str | int) -> str:
    """Find the text at a path in an answer, on one line; see `find_object`. A number counts as text."""
    found = _at(value, path, str, float)
    return on_one_line(str(found)) if found is not None else ""


def find_number(value: object, *path: str | int) -> float:
    """Find the number at a path in an answer; see `find_object`."""
    return _at(value, path, float) or 0.0


def _at(value: object, path: tuple[str | int, ...], *kinds: type) -> Any:
    for place, key in enumerate(path):
        if value is None:
            return None
        if isinstance(key, int) and is_json_array(value):
            value = value[key] if key < len(value) else None
        elif isinstance(key, str) and is_json_object(value):
            value = value.get(key)
        else:
            raise UnreadableError(_other_form(path[:place], list if isinstance(key, int) else dict))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and float in kinds) or isinstance(value, kinds):
        return value
    raise UnreadableError(_other_form(path, kinds[0]))


def _other_form(path: tuple[str | int, ...], kind: type) -> str:
    place = ".".join(map(str, path)) or "the answer"
    return f"answered in an undocumented form ({place} is not {_KINDS[kind]}): check base_url, or report it"
