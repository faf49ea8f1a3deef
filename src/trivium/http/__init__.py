"""The HTTP client of models, tools and services: requests and responses are plain values, one adapter does the I/O."""

from typing import TYPE_CHECKING

from trivium.http._client import HTTPClient
from trivium.http._layers import Layer, Send, Sender, add_layer, exchange, replaces_network
from trivium.http._messages import (
    BodyError,
    ConnectFailedError,
    ConnectionLostError,
    HTTPError,
    HTTPRequest,
    HTTPResponse,
    InvalidRequestError,
    ServerSilentError,
)
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.http._http2_client import HTTP2Client

__all__ = [
    "BodyError",
    "ConnectFailedError",
    "ConnectionLostError",
    "HTTP2Client",
    "HTTPClient",
    "HTTPError",
    "HTTPRequest",
    "HTTPResponse",
    "InvalidRequestError",
    "Layer",
    "Send",
    "Sender",
    "ServerSilentError",
    "add_layer",
    "exchange",
    "replaces_network",
]

lazy_names(__name__, {"HTTP2Client": "_http2_client"}, __all__)  # few programs use it
