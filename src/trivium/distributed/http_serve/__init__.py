"""Agents over HTTP: the server, its clients, and a server in a child process."""

from trivium.distributed.http_serve._app import ServeOptions, agent_app
from trivium.distributed.http_serve._client import AsyncHTTPAgentClient, HTTPAgentClient
from trivium.distributed.http_serve._connections import ConnectionLimits
from trivium.distributed.http_serve._process import AsyncHTTPAgentServer, HTTPAgentServer
from trivium.distributed.http_serve._server import AgentServer

__all__ = [
    "AgentServer",
    "AsyncHTTPAgentClient",
    "AsyncHTTPAgentServer",
    "ConnectionLimits",
    "HTTPAgentClient",
    "HTTPAgentServer",
    "ServeOptions",
    "agent_app",
]
