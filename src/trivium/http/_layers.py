"""Layers between the clients and the network, which record, replay or disturb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

from trivium.http._messages import HTTPRequest, HTTPResponse

Send = Callable[[HTTPRequest], Awaitable[HTTPResponse]]


@runtime_checkable
class Sender(Protocol):
    """Sends requests over the network: an `HTTPClient`, or an adapter of another library.

    It follows no redirect, repeats nothing, and stores no cookie. If its `send` is cancelled, or the response is closed
    before its end, the server notices at once.
    """

    async def send(self, request: HTTPRequest) -> HTTPResponse:
        """Send a request and return the response, once its head has arrived.

        Raises:
            HTTPError: there is none; the class tells the cause.
        """
        ...


class Layer:
    """A layer between the clients and the network.

    Attributes:
        replays: True if it may respond by itself, so that no key is needed.
    """

    replays: ClassVar[bool] | bool = False

    async def respond(self, request: HTTPRequest, send: Send, secrets: Collection[str]) -> HTTPResponse:
        """Respond to a request.

        Args:
            request: the request.
            send: sends it to the next layer below, and finally to the network.
            secrets: secret texts of the request, which must not be stored.
        """
        raise NotImplementedError(f"{type(self).__name__} has no respond")


_layers: ContextVar[tuple[Layer, ...]] = ContextVar("trivium_layers", default=())


def add_layer(layer: Layer) -> Callable[[], None]:
    """Put a layer on top of all others, in this context and in the tasks that start from it.

    Returns:
        A function that removes it.
    """
    _layers.set((*_layers.get(), layer))

    def remove() -> None:
        _layers.set(tuple(each for each in _layers.get() if each is not layer))

    return remove


def replaces_network() -> bool:
    """Return whether a layer may respond in place of the network."""
    return any(layer.replays for layer in _layers.get())


def exchange(
    request: HTTPRequest, send: Send, secrets: Iterable[str] = ()
) -> AbstractAsyncContextManager[HTTPResponse]:
    """Send a request and give its unread response, which is closed at the end of the block.

    Args:
        request: the request.
        send: sends it to the network.
        secrets: secret texts of the request, which must not be stored; read only where there is a layer.
    """
    layers = _layers.get()
    hidden = tuple(secrets) if layers else ()
    for layer in layers:
        send = partial(layer.respond, send=send, secrets=hidden)
    return _Exchange(request, send)


class _Exchange(AbstractAsyncContextManager[HTTPResponse]):
    """A request and its response; a class, since `asynccontextmanager` costs more."""

    __slots__ = ("_request", "_response", "_send")

    def __init__(self, request: HTTPRequest, send: Send) -> None:
        self._request, self._send = request, send

    async def __aenter__(self) -> HTTPResponse:
        self._response = await self._send(self._request)
        return self._response

    async def __aexit__(self, *raised: object) -> None:
        await self._response.aclose()
