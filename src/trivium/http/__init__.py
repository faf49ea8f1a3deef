"""The HTTP client below everything that asks a server: values in, values out, one small adapter for the network."""

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

__all__ = [
    "BodyError",
    "ConnectFailedError",
    "ConnectionLostError",
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
