"""The two transports to a server, a child process or a URL. The SDK speaks the protocol over them."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from trivium.actions.lowlevel import is_json_array, is_json_object
from trivium.exceptions import ConfigurationError, MCPTooLargeError
from trivium.llms.http import is_secret, redact, redact_url, secrets_of

if TYPE_CHECKING:
    from httpx2 import URL, Request, Response

_log = getLogger(__name__)
_KEPT = 8192
_SHORTEST_SECRET: Final = 8
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]")
_CONNECT_SECONDS = 30.0


class _Hiding:
    """The base of the transports: it hides the secrets that a server was given in its texts.

    Args:
        secrets: the secrets; those that are shorter than a key are not hidden.
        most: the most bytes of one message of the server.
    """

    status: int = 0
    """The HTTP status of the last refusal; 0 without one."""
    is_too_large: bool = False
    """The server has sent a message with more bytes."""

    def __init__(self, secrets: Iterable[str], most: int) -> None:
        self._secrets = frozenset(each for each in secrets if len(each) >= _SHORTEST_SECRET)
        self.most = most

    def note_too_large(self) -> Exception:
        """Note a message that is too large, and return the error that ends the connection."""
        self.is_too_large = True
        return MCPTooLargeError(f"a message of more than {self.most:,} bytes", limit="max_bytes", value=self.most)

    def hidden(self, text: str) -> str:
        """Replace each secret in a text of the server by `***`."""
        return redact(text, self._secrets)


class Child(_Hiding):
    """A server that runs as a child process, with a process group of its own.

    Args:
        command: the program with its arguments.
        env: its environment beside the usual few variables (HOME, PATH, …).
        cwd: its working directory; None: that of this process.
        most: the most bytes of one message of the server.
    """

    advice = "run its command in a terminal to see more"

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path | None, most: int) -> None:
        super().__init__((value for name, value in env.items() if is_secret(name)), most)
        self.command, self.env, self.cwd = list(command), dict(env), cwd
        self.kept = bytearray()

    @property
    def name(self) -> str:
        """The program's name."""
        plain = [Path(each).name for each in self.command if not each.startswith("-")]
        runs_others = plain[0] in ("uvx", "npx", "pipx", "python", "python3") and len(plain) > 1
        return _NOT_PLAIN.sub("_", Path(plain[1 if runs_others else 0]).stem)

    @property
    def log(self) -> str:
        """The end of what it wrote to stderr."""
        return self.hidden(self.kept.decode("utf-8", "replace").strip())

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Any]:
        """Start the process, and give its two streams; it ends with its group at the end of the block."""
        from trivium.mcp._stdio import child_streams

        self.kept.clear()
        async with child_streams(self.command, self.env, self.cwd, self._keep, self.most, self.note_too_large) as way:
            yield way

    def _keep(self, piece: bytes) -> None:
        self.kept += piece
        del self.kept[:-_KEPT]


class Address(_Hiding):
    """A server at a URL.

    Args:
        url: its endpoint.
        headers: sent with each request; never to another origin.
        most: the most bytes of one message of the server.
    """

    log = ""

    def __init__(self, url: str, headers: Mapping[str, str], most: int) -> None:
        super().__init__(secrets_of(url, headers), most)
        self.url, self.headers = url, dict(headers)
        self.status = 0
        self.is_expired = False

    @property
    def advice(self) -> str:
        """The next step of somebody whose server cannot be reached."""
        return f"check that it runs at {redact_url(self.url)}"

    @property
    def name(self) -> str:
        """The host's name."""
        return _NOT_PLAIN.sub("_", urlsplit(self.url).hostname or "server")

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Any]:
        """Give the two streams of a session with the server."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        self.status, self.is_expired = 0, False
        # No time for reading: a stream may be silent for long, and each call has its own.
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
        # The SDK and the client log addresses: they get one that may be seen, and the true one goes out.
        url = redact_url(self.url) if any(secrets_of(self.url)) else self.url
        true, seen = httpx2.URL(self.url), httpx2.URL(url)

        async def unveil(request: Request) -> None:
            if request.url == seen:
                request.url = _loggable(true)

        login = (true.username, true.password) if true.userinfo else None
        hooks: Any = {"request": [unveil], "response": [self.note_status]}
        async with AsyncExitStack() as stack:
            own = {"accept-encoding": "identity", **self.headers}
            client = httpx2.AsyncClient(headers=own, timeout=timeout, event_hooks=hooks, auth=login)
            await stack.enter_async_context(client)
            way = streamable_http_client(url, http_client=client, max_sse_event_size=self.most)
            yield await stack.enter_async_context(way)

    async def note_status(self, response: Response) -> None:
        """Note the status of a refusal, and a session that the server has forgotten."""
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            from trivium.mcp._bodies import bounded_body

            response.stream = bounded_body(response, self.most, self.note_too_large)
        if response.status_code >= 300:
            self.status = response.status_code
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            self.is_expired = True


Way = Child | Address


def way_to(
    server: str | Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | None,
    headers: Mapping[str, str] | None,
    most: int,
) -> Way:
    """Make the transport to a server given as a URL, or as a command in a text or a list; `most` bytes a message.

    Raises:
        ConfigurationError: it is neither, or an option does not go with it.
    """
    if isinstance(server, str) and server.startswith(("http://", "https://")):
        if env or cwd:
            raise ConfigurationError("a server at a URL has no env and no cwd: they are for a command")
        given = dict(headers or {})
        texts = cast("list[Any]", [*given, *given.values()])
        if not all(isinstance(each, str) and each.isascii() and each.isprintable() for each in texts):
            raise ConfigurationError("headers are texts of plain letters, without line ends")
        try:
            if not urlsplit(server).hostname:
                raise ValueError("it names no host")
        except ValueError as error:
            raise ConfigurationError(f"the URL of an MCP server cannot be used: {error}") from None
        return Address(server, given, most)
    if headers:
        raise ConfigurationError("headers are for a server at a URL; a command gets what it needs by env")
    try:
        command = shlex.split(server) if isinstance(server, str) else list(server)
    except ValueError as error:
        raise ConfigurationError(f"the command cannot be read ({error}); give it as a list of texts") from None
    if not command or not all(isinstance(each, str) for each in command):  # type: ignore[unnecessary] - users pass anything
        raise ConfigurationError("an MCP server is a URL, or a command as text or as a list of texts")
    given = dict(env or {})
    if not all(isinstance(each, str) for each in cast("list[Any]", [*given, *given.values()])):  # type: ignore[unnecessary]
        raise ConfigurationError("env is a dict of texts")
    return Child(command, given, cwd, most)


class Watched:
    """The stream of a server's messages, without those that trivium has no use for, or that would spoil others.

    Args:
        stream: the stream.
        name: the server's name, for the log.
        ended: is called when the stream ends.
    """

    def __init__(self, stream: Any, name: str, ended: Callable[[], object]) -> None:
        self._stream, self._name, self._ended = stream, name, ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._stream.__aexit__(*exc)

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            found = await self._stream.__anext__()
            while getattr(message := getattr(found, "message", None), "method", "") == "notifications/message":
                found = await self._stream.__anext__()  # the SDK starts a task for each, which nobody needs
        except BaseException:
            self._ended()
            raise
        result: object = getattr(message, "result", None)
        # only the result of a call has a content
        if is_json_object(result) and "content" not in result and is_json_array(tools := result.get("tools")):
            result["tools"] = [each for each in tools if not self._is_unusable(each)]
        return found

    def _is_unusable(self, tool: object) -> bool:
        """True for a tool whose schema makes the whole list invalid for the SDK; the log says so."""
        if not is_json_object(tool) or not is_json_object(schema := tool.get("inputSchema")):
            return False  # the SDK says what is wrong
        if is_unusable := schema.get("type") != "object":
            text = "%s: the tool %r is left out: its inputSchema is not of the type object"
            _log.warning(text, self._name, tool.get("name"))
        return is_unusable


def _loggable(url: URL) -> URL:
    """Return the same address, which logs print redacted."""
    import httpx2

    if not url.userinfo and not url.query:
        return url
    seen = redact_url(str(url))

    class Quiet(httpx2.URL):
        def __str__(self) -> str:
            return seen

        def __repr__(self) -> str:
            return f"URL({seen!r})"

    return Quiet(url)
