"""The connection to a server: opened at the first use, shared, and opened again after it broke.

Everything here runs on the link's own loop. A connection is one task there from its first word to its last, because
what the SDK opens in a task it closes in that task.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from contextvars import Context
from copy import copy
from functools import partial
from random import random
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

from trivium.actions.lowlevel import describe_errors
from trivium.commander import ThreadEvent, gather, wait
from trivium.commander.lowlevel import OwnerLoop, running_loop
from trivium.events import on_one_line
from trivium.exceptions import (
    MCPConnectionError,
    MCPError,
    MCPProtocolError,
    MCPTimeoutError,
    MCPTooLargeError,
    MCPToolsChangedError,
    MissingExtraError,
    TriviumError,
)
from trivium.mcp._pins import Definition, Pins, definitions_of, difference, effect_of
from trivium.mcp._transports import Address, Watched, Way

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import PaginatedResult

T = TypeVar("T")
Page = TypeVar("Page", bound="PaginatedResult")
_ATTEMPTS: Final = 4
_MOST_PAGES: Final = 100
_ENDED: Final = "MCPError: Connection closed"
_CLOSED, _TIMEOUT, _INVALID_REQUEST, _NO_METHOD = -32000, -32001, -32600, -32601
_HEADERS: Final = ": give headers= with what it wants"
_HINTS: Final = {
    401: _HEADERS,
    403: _HEADERS,
    405: ": at an address of the older SSE transport, which trivium does not have, try that of Streamable HTTP (…/mcp)",
}
"""What to do about an HTTP status at the start of a session."""


class Link:
    """The transport to one server, and the connection that is open now.

    Args:
        name: the server's name, for errors.
        way: the transport.
        pins: the definitions that its tools must have.
        start_seconds: seconds until the tools of a new connection must be known.
        timeout: seconds that one request may take; None: no limit.
    """

    def __init__(self, name: str, way: Way, pins: Pins, start_seconds: float, timeout: float | None) -> None:
        self.name, self.way, self.pins = name, way, pins
        self.start_seconds, self.timeout = start_seconds, timeout
        self.home = OwnerLoop(self._farewell)
        self._open: _Connection | None = None
        self._was_open = False
        self._pid = os.getpid()
        self._parents = list[_Connection]()  # kept after a fork: collected, each would take its sockets from it

    async def definitions(self) -> Mapping[str, Definition]:
        """The tools that the server offers now."""

        async def work(connection: _Connection) -> Mapping[str, Definition]:
            await connection.listed()
            return connection.definitions

        return await self.request(work, asked="the list of its tools")

    async def call(self, described: Definition, arguments: dict[str, Any], report: ProgressFnT) -> Any:
        """Call a tool as it was described to the model; if it has changed since, the call is refused.

        A call whose connection broke is made again only if the server declares that this does no harm.

        Args:
            described: the tool.
            arguments: its arguments.
            report: is awaited with what the server tells of its progress.
        """
        again = effect_of(described) in ("read", "idempotent")

        async def work(connection: _Connection) -> Any:
            await connection.listed()
            self._check(described, connection.definitions)
            return await connection.client.call_tool(described["name"], arguments, self.timeout, report)

        return await self.request(work, again, described["name"], f"the tool {described['name']}")

    def _check(self, described: Definition, now: Mapping[str, Definition]) -> None:
        name = described["name"]
        if now.get(name) != described:
            diff = difference({name: described}, {name: now[name]} if name in now else {})
            text = (
                f"the tool {name} of {self.name} has changed since the model got it, and is refused: go on without it"
            )
            text += f" (the program takes it as it is now by making its agent anew, or by tools())\n{diff}"
            raise MCPToolsChangedError(text, self.name, name, diff)

    async def request(
        self, work: Callable[[_Connection], Awaitable[T]], again: bool = True, tool: str = "", asked: str = ""
    ) -> T:
        """Do work with the connection and return its result.

        Args:
            work: what is done.
            again: it may be done twice.
            tool: the tool that it calls.
            asked: what it asks for, for errors.

        Raises:
            MCPError: the connection broke, or the server refused, or took too long.
            MissingExtraError: the extra `mcp` is not installed.
        """
        try:
            from mcp import MCPError as Refusal
        except ImportError:
            raise MissingExtraError("mcp", "mcp") from None

        for is_last in (False, True):
            connection = await self._connected()
            try:
                return await work(connection)
            except TriviumError:
                raise
            except Refusal as error:
                if large := self.too_large(tool):
                    raise large from None
                expired = connection.is_expired and error.code == _INVALID_REQUEST  # nothing was done there
                if not expired and not connection.is_lost(error):
                    self._refused(error, tool, asked, connection.unread)
                connection.leave()
                await connection.over()
                if is_last or not (again or expired or connection.was_refused):
                    raise self._lost(connection, tool, asked) from None
            except Exception as error:  # the SDK's own: an answer that does not fit
                if large := self.too_large(tool):
                    raise large from None
                why = self.way.hidden(_wrong_places(error) or _leaf(error))
                text = f"{self.name} gave no proper answer to the request for {asked}: {why}"
                raise MCPProtocolError(text, self.name, tool) from None
        raise AssertionError("the last attempt raises or returns")

    def too_large(self, tool: str = "") -> MCPTooLargeError | None:
        """Return the error of a message that was too large, once; None where there was none."""
        if not self.way.is_too_large:
            return None
        self.way.is_too_large = False
        text = f"{self.name} sent more than {self.way.most:,} bytes at once; ask for less, or raise max_bytes=…"
        return MCPTooLargeError(text, self.name, tool, "max_bytes", self.way.most)

    def _refused(self, error: Any, tool: str, asked: str, unread: str) -> NoReturn:
        if error.code == _TIMEOUT:
            text = f"{self.name} took longer than {self.timeout:g} seconds for {asked}; give it more with timeout="
            text += f". It has sent what is no message: {self.way.hidden(unread)}" if unread else ""
            raise MCPTimeoutError(text, self.name, tool, self.timeout or 0) from None
        status = self.way.status
        hint = f" (HTTP status {status})" if status else ""
        advice = ". It does not offer that: tools(), resources() and prompts() list what it offers"
        text = f"{self.name} refused {asked}: {error}{hint}{advice if error.code == _NO_METHOD else ''}"
        raise MCPProtocolError(self.way.hidden(text), self.name, tool, error.code) from None

    def _lost(self, connection: _Connection, tool: str, asked: str) -> MCPConnectionError:
        what = f"whether {tool} ran there is not known, so find out before you call it again"
        what = what if tool else f"{asked} did not come, so ask once more"
        why = f" ({connection.why})" if connection.why else ""
        return MCPConnectionError(
            f"the connection to {self.name} broke{why}: {what}{_last_words(self.way.log)}",
            self.name,
            tool,
            self.way.log,
        )

    # ---- opening and closing
    async def _connected(self) -> _Connection:
        if self._pid != os.getpid():  # after a fork
            self._parents += filter(None, [self._open])
            self._pid, self._open = os.getpid(), None
        for attempt in range(_ATTEMPTS):
            connection = self._open
            if connection is None or connection.is_left:
                connection = self._open = _Connection(self)
            failed = await connection.opened()
            if failed is None:
                self._was_open = True
                return connection
            if not self._was_open or not isinstance(failed, MCPConnectionError) or attempt == _ATTEMPTS - 1:
                # Each who waited gets an error of his own: one that many raise would collect the traces of all.
                raise copy(failed) if isinstance(failed, MCPError) else failed
            await wait(0.1 * 3**attempt * (0.5 + random()))  # noqa: S311 - so that many do not come at once
        raise AssertionError("the last attempt raises or returns")

    async def _farewell(self) -> None:
        connection, self._open = self._open, None
        if connection is not None:
            connection.leave()
            await connection.over()


class _Connection:
    """One life of the connection: a task on the loop, from the start of the server to its end."""

    client: Client

    def __init__(self, link: Link) -> None:
        self.link = link
        self.definitions: Mapping[str, Definition] = {}
        self.failed: TriviumError | None = None
        self.why, self.was_refused = "", False
        """Why it broke, and whether nothing was sent."""
        self.unread = ""
        """Why the last message that could not be read is none: it may be the answer for which one waits."""
        self._ready, self._leaving, self._over = ThreadEvent(), ThreadEvent(), ThreadEvent()
        self._is_stale = False
        loop: Any = running_loop()
        self._task = loop.create_task(self._run(), context=Context())  # it outlives the call that began it

    @property
    def is_left(self) -> bool:
        """True if it serves no new call."""
        return self._leaving.is_set()

    @property
    def is_expired(self) -> bool:
        """True if the server has forgotten the session."""
        return isinstance(self.link.way, Address) and self.link.way.is_expired

    def is_lost(self, error: Any) -> bool:
        """True if an error means that the connection broke, or the stream of the answer."""
        return error.code == _CLOSED and (self.is_left or str(error).startswith(("Connection closed", "SSE stream")))

    async def opened(self) -> TriviumError | None:
        """Wait until it can be used; return the error if it cannot."""
        await wait(event=self._ready)
        return self.failed

    def leave(self) -> None:
        """Serve no new call, and end."""
        self._leaving.set()

    async def over(self) -> None:
        """Wait for its end."""
        await wait(event=self._over)

    async def listed(self) -> None:
        """List the tools again if the server has said that they changed.

        Raises:
            MCPToolsChangedError: they are not the pinned ones; nothing is called until they are again.
        """
        if self._is_stale:
            self._is_stale = False
            try:
                await self._list(self.client)
            except BaseException:
                self._is_stale = True
                raise

    async def _list(self, client: Client) -> None:
        listed = await pages(client.list_tools, lambda page: page.tools, self.link.way.most, "tools")
        self.definitions = definitions_of(self.link.name, listed)
        self.link.pins.check(self.definitions)

    async def _run(self) -> None:
        loop: Any = running_loop()
        timer = loop.call_later(self.link.start_seconds, self.abandon_start)
        try:
            await self._live(timer)
        except Exception as error:
            if isinstance(found := _innermost(error), TriviumError):
                self.failed = found
            self.why, self.was_refused = self.link.way.hidden(_leaf(error)), is_refused(error)
        except BaseException:
            self.why = self.why or "it was closed"
        finally:
            timer.cancel()
            self._leaving.set()
            if not self._ready.is_set():
                self.failed = self.link.too_large() or self.failed
            self._settle()
            self._over.set()

    def abandon_start(self) -> None:
        """End a connection that is not ready in time."""
        self.why = f"not ready within {self.link.start_seconds:g} seconds (start_seconds)"
        self._task.cancel()

    def _settle(self) -> None:
        if not self._ready.is_set() and self.failed is None:
            link = self.link
            status = link.way.status
            hint = f"; HTTP status {status}{_HINTS.get(status, '')}"
            why = "it ended before it was ready" if self.why in ("", _ENDED) else self.why
            why = why.replace("MCPError: ", "it answered the start of the session with the error ", 1)
            text = f"{link.name} cannot be used: {why}{hint if status else ''}; {link.way.advice}"
            self.failed = MCPConnectionError(text + _last_words(link.way.log), link.name, log=link.way.log)
        self._ready.set()

    async def _live(self, timer: Any) -> None:
        from mcp import Client, Implementation

        from trivium import __version__

        trivium = Implementation(name="trivium", version=__version__)
        async with AsyncExitStack() as stack:
            transport = _Opened(self.link, self.leave)
            client = Client(transport, cache=None, message_handler=self.note_change, client_info=trivium)
            self.client = await stack.enter_async_context(client)
            if self.client.server_capabilities.tools is not None:
                await self._list(self.client)
            timer.cancel()
            self._ready.set()
            with suppress(_LeftError):
                await gather(self.end_listening, partial(self._listen, self.client))

    async def end_listening(self) -> None:
        """Wait until the connection is to end, and stop the listening beside it."""
        await wait(event=self._leaving)
        raise _LeftError

    async def note_change(self, message: object) -> None:
        """Note a server's message that its tools have changed, or a message that cannot be read."""
        if isinstance(message, Exception):
            self.unread = on_one_line(_leaf(message))
        elif getattr(message, "method", "") == "notifications/tools/list_changed":
            self._is_stale = True

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes of the tools, as servers of the newer protocol want it."""
        from mcp import MCPError as Refusal
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        tools = client.server_capabilities.tools
        while tools is not None and tools.list_changed and not self.is_left:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._is_stale = True
            except SubscriptionLost:
                self._is_stale = True
            except (ListenNotSupportedError, Refusal, TimeoutError):
                return
            await wait(1.0, event=self._leaving)


class _LeftError(Exception):
    """The connection is to end."""


class _Opened:
    """A transport in the form of the SDK's own: it is entered once."""

    def __init__(self, link: Link, ended: Callable[[], object]) -> None:
        self._name, self._ended, self._context = link.name, ended, link.way.open()

    async def __aenter__(self) -> Any:
        reader, writer = await self._context.__aenter__()
        return Watched(reader, self._name, self._ended), writer

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._context.__aexit__(*exc)


async def pages(
    request: Callable[..., Awaitable[Page]], items: Callable[[Page], Sequence[T]], most: int, what: str = "items"
) -> list[T]:
    """Request all pages of a server's list; a server without such a list has no items.

    Args:
        request: requests a page from its cursor.
        items: the items of a page.
        most: the most bytes of all pages.
        what: the items' name, for errors.

    Raises:
        MCPProtocolError: the list has no end, or holds what the protocol does not have.
        MCPTooLargeError: it has more bytes.
    """
    from mcp import MCPError as Refusal
    from pydantic import ValidationError

    found, cursor, size = list[T](), None, 0
    for _ in range(_MOST_PAGES):
        try:
            page = await request(cursor=cursor)
        except Refusal as error:
            if error.code == _NO_METHOD and not found:
                return []
            raise
        except ValidationError as error:
            text = describe_errors(f"the server's list of {what} is not what the protocol says", error)
            raise MCPProtocolError(text) from None
        found += items(page)
        size += len(page.model_dump_json())
        if size > most:
            text = f"the list of {what} has more than {most:,} bytes: raise max_bytes=…"
            raise MCPTooLargeError(text, limit="max_bytes", value=most)
        cursor = page.next_cursor
        if not cursor:
            return found
    raise MCPProtocolError(f"the list of {what} has no end: more than {_MOST_PAGES} pages")


def _innermost(error: BaseException) -> BaseException:
    """The innermost error of those that task groups have wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _leaf(error: BaseException) -> str:
    found = _innermost(error)
    return f"{type(found).__name__}: {found}" if str(found) else type(found).__name__


def _wrong_places(error: BaseException) -> str:
    """Say where an answer is not as the protocol has it, in a line; "" for another error."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return ""
    found = dict[str, list[str]]()
    for each in error.errors(include_url=False, include_input=False):
        found.setdefault(".".join(map(str, each["loc"][:2])), []).append(each["msg"])
    kinds = "it is of no kind that the protocol has"  # pydantic says of each kind why it is not that
    return "; ".join(f"{place}: {texts[0] if len(texts) == 1 else kinds}" for place, texts in found.items())


def is_refused(error: BaseException) -> bool:
    """True if the server accepted no connection, so that nothing was sent."""
    import httpx2

    return isinstance(_innermost(error), httpx2.ConnectError | httpx2.ConnectTimeout)


def _last_words(log: str) -> str:
    return f"\nIts last words:\n{log}" if log else ""
