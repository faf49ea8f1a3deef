"""Agents over HTTP: the server, its clients, and a server in a child process."""

from trivium.distributed.http_serve._client import AsyncHTTPAgentClient, HTTPAgentClient
from trivium.distributed.http_serve._process import AsyncHTTPAgentServer, HTTPAgentServer
from trivium.serving import AgentServer, ConnectionLimits, ServeOptions, agent_app

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
