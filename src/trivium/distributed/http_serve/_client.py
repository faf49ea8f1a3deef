"""Clients: served agents as modules of this program."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Coroutine, Hashable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, cast
from urllib.parse import quote

from trivium.agents.lowlevel import CallMethod, T_co, answer_format, type_argument, typed_class
from trivium.commander import AsyncStream, Stream, current, driver_neutral, invoke, iterate, run_sync
from trivium.commander.lowlevel import note_sources
from trivium.events import JSONObject, to_json_value
from trivium.exceptions import ConfigurationError, ModelError, RemoteAgentError, RemoteConnectionError, RemoteLimitError
from trivium.http import HTTPClient, HTTPError, HTTPRequest, HTTPResponse, exchange
from trivium.llms.http import redact
from trivium.llms.wire import EventDecoder, error_text
from trivium.module import AsyncModule, Module
from trivium.policies import Source
from trivium.schema import Answer, JSONValue, Message
from trivium.schema.lowlevel import checked, positive
from trivium.serving.lowlevel import READ, forward_event, parse_answer

SILENT_SECONDS, ALIVE_SECONDS = 60.0, 5.0
MAX_ANSWER = 64 << 20


class HTTPAgentClient(Module, Generic[T_co]):
    """An agent on a server, called like any other module: alone, in a sequence, as the agent of a tree.

    `HTTPAgentClient[A](…)` answers with a value of type A, as `answer.output`; one that does not fit is an
    `AnswerFormatError`.

    Its call is a node. The events of the server's run (deltas, tool calls, tool results) are events of this node. A
    kill or a deadline closes the connection, and the server then kills its run. The answer is a user's message
    (`origin`) without anything that acts: no tool calls, no `formatted`, no status. The memory stays at the server, by
    session. Keywords of a call are sent along; the server accepts those that its owner allows.

    Args:
        host: a name or an address; or the beginning of a URL with its scheme, as `"https://agents.example"`.
        port: the port there; ignored if `host` is a URL.
        timeout: seconds without a sign of life after which the call fails; default 60. A server sends one every 15
            seconds while an agent works.
        token: the server's token.
        name: default: the name of the class.

    Example::

        writer = HTTPAgentClient("127.0.0.1", 8090, token=token)
        print(writer("a line about rain", session_id="ada").content)
    """

    answer_type: Any = None
    """The type of the answers, set by `HTTPAgentClient[A]` before `__init__`; None: messages."""
    if TYPE_CHECKING:
        __call__: CallMethod[Answer[T_co]]  # type: ignore[override]
        acall: CallMethod[Coroutine[Any, Any, Answer[T_co]]]  # type: ignore[override]
        stream: CallMethod[Stream[Answer[T_co]]]  # type: ignore[override]
        open: CallMethod[AsyncStream[Answer[T_co]]]  # type: ignore[override]
    else:

        def __class_getitem__(cls, argument):
            return typed_class(cls, argument) or super().__class_getitem__(argument)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.answer_type = type_argument(cls, cls.answer_type)

    @checked
    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 8090,
        timeout: float | None = None,
        *,
        token: str = "",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if not token.isascii() or not (token or "-").isprintable():
            raise ConfigurationError("the token has characters that no token has: copy it again")
        positive(timeout=1 if timeout is None else timeout)
        if not host or not host.isprintable() or not 0 <= port < 65536:
            raise ConfigurationError(
                f"there is nothing to reach at {host[:100]!r}, port {port}: give a host and a port"
            )
        self.host, self.port, self.timeout = host, port, timeout
        self._token, self._format = token, None if self.answer_type is None else answer_format(self.answer_type)
        self._http = HTTPClient(proxies={} if self.url.startswith("http://") else None)  # no proxy may read the token

    @property
    def url(self) -> str:
        """The address of the server."""
        if self.host.startswith(("http://", "https://")):
            return self.host.rstrip("/")
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def extra_repr(self) -> str:
        """Return the name and the address, never the token."""
        return f"name={self.name!r}, url={self.url!r}"

    # ---- the call
    @driver_neutral
    async def forward(self, *message: Message, session_id: Hashable, **kwargs: object) -> Message:
        """Send the messages, pass on the server's events, and return its answer."""
        node = current.get()
        assert node is not None, "a call runs in its node"
        said = [{name: value for name, value in to_json_value(each).items() if name in READ} for each in message]
        body = {"message": said, "session_id": _named(session_id)}
        answer: Message | None = None
        async with aclosing(iterate(self._events, {**kwargs, **body, "stream": True})) as events:
            async for event in events:
                content: object = event.get("message")
                if event.get("type") == "message" and isinstance(content, dict):
                    answer = self._typed(cast("JSONObject", content))
                else:
                    forward_event(node, event)
        if answer is None:
            raise RemoteConnectionError(f"{self.url} broke off its answer; call it again, or look into its log")
        note_sources(node, answer.sources | {Source("server", self.name)})
        return answer

    def _typed(self, told: JSONObject) -> Message:
        """Return the answer that a server tells, with the value of the type in it if one is asked for."""
        answer = parse_answer(told)
        if self._format is None:
            return answer
        value = json.dumps(told["output"]) if "output" in told else str(answer.content)
        return self._format.with_value(answer, value)

    async def _events(self, body: JSONObject) -> AsyncGenerator[JSONObject]:
        decoder = EventDecoder()
        async with self._exchange("POST", "/chat_completion", body) as response:
            await self._checked(response)
            async for piece in response.pieces:
                for data in decoder.feed(piece):
                    if data != b"[DONE]":
                        yield self._object(data)

    @asynccontextmanager
    async def _exchange(
        self, method: str, path: str, body: object = None, silent: float | None = None
    ) -> AsyncGenerator[HTTPResponse]:
        """Send a request and give its response; errors of the client become errors of trivium."""
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        content = b""
        if body is not None:
            headers["content-type"], content = "application/json", json.dumps(body).encode()
        timeout = silent or self.timeout or SILENT_SECONDS
        request = HTTPRequest(method, self.url + path, headers, content, timeout)
        try:
            async with exchange(request, self._http.send, (self._token,)) as response:
                yield response
        except HTTPError as error:
            raise RemoteConnectionError(
                f"no answer from {self.url} ({str(error) or type(error).__name__}): check that the server runs, "
                "and its host and port"
            ) from error
        except ModelError as error:  # of the decoder: the server does not serve agents
            raise RemoteConnectionError(f"{self.url} sent what is no answer; check host and port") from error

    async def _checked(self, response: HTTPResponse) -> bytes:
        """Return the body of an answer that is not a stream; b"" for a stream.

        Raises:
            RemoteAgentError: the server refused.
        """
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if response.status == 200 and is_stream:
            return b""
        body = await response.read(MAX_ANSWER)
        if len(body) > MAX_ANSWER:
            raise RemoteConnectionError(f"{self.url} sent more than {MAX_ANSWER >> 20} MB; check host and port")
        if response.status == 200:
            return body
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            told = None
        raise self._refusal(response.status, told)

    def _refusal(self, status: int, told: JSONValue) -> RemoteAgentError:
        error = told.get("error") if isinstance(told, dict) else None
        kind = str(error.get("type", "")) if isinstance(error, dict) else ""
        hint = {401: "; give the server's token as token=", 429: "; wait, or call it less at once"}.get(status, "")
        text = redact(error_text(told), [self._token])[:500] or "no reason given"
        said = f"{self.url} answered {status}: {text}{hint}"
        if isinstance(error, dict) and isinstance(limit := error.get("limit"), str):
            value = error.get("value")
            return RemoteLimitError(said, status, kind, limit[:100], value if isinstance(value, int | float) else 0)
        return RemoteAgentError(said, status, kind)

    def _object(self, data: str | bytes) -> dict[str, Any]:
        """Parse the server's response.

        Raises:
            RemoteAgentError: it is an error of the run.
            RemoteConnectionError: it is not an object.
        """
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise RemoteConnectionError(f"{self.url} sent what is no answer; check host and port")
        found = cast("JSONObject", told)
        if found.get("type") == "error":
            status = found.get("status")
            raise self._refusal(status if isinstance(status, int) else 500, found)
        return found

    # ---- other requests
    async def _ask(self, method: str, path: str, silent: float | None = None) -> Any:
        async with self._exchange(method, path, silent=silent) as response:
            return self._object(await self._checked(response))

    async def is_alive_async(self) -> bool:
        """Return True if the server answers."""
        try:
            await self._ask("GET", "/health_check", min(self.timeout or ALIVE_SECONDS, ALIVE_SECONDS))
        except RemoteAgentError:
            return False
        return True

    @property
    def is_alive(self) -> bool:
        """Return True if the server answers."""
        return run_sync(invoke, self.is_alive_async)

    async def state_dict_async(self, session_id: Hashable = 0) -> dict[str, list[JSONObject]]:
        """Return the memory of a session of the agent at the server.

        Raises:
            RemoteAgentError: the session is unknown (`status` is 404), or the server refused.
        """
        return await self._ask("GET", f"/memory/{_quoted(session_id)}")

    async def reset_async(self, session_id: Hashable = 0) -> None:
        """Make the server forget a session: the agent and all below it."""
        try:
            await self._ask("DELETE", f"/memory/{_quoted(session_id)}")
        except RemoteAgentError as error:
            if error.status != 404:
                raise

    def state_dict(self, session_id: Hashable = 0) -> dict[str, list[JSONObject]]:
        """Return the memory of a session of the agent at the server; see `state_dict_async`."""
        return run_sync(invoke, self.state_dict_async, session_id)

    def reset(self, session_id: Hashable = 0, keypath: str | None = None, recursive: bool = True) -> None:
        """Make the server forget a session: the agent and all below it, whatever else is given."""
        run_sync(invoke, self.reset_async, session_id)


class AsyncHTTPAgentClient(AsyncModule, HTTPAgentClient[T_co]):
    """An `HTTPAgentClient` whose call returns a coroutine."""

    if TYPE_CHECKING:
        __call__: CallMethod[Coroutine[Any, Any, Answer[T_co]]]  # type: ignore[override]


def _named(session_id: Hashable) -> int | str:
    if isinstance(session_id, int | str) and not isinstance(session_id, bool):
        return session_id
    raise ConfigurationError(f"a server knows sessions by a number or a text, not by {session_id!r}")


def _quoted(session_id: Hashable) -> str:
    return quote(str(_named(session_id)), safe="")
