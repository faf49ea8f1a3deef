"""Agents in other processes: served over HTTP, or as actors of Ray; to the caller each is a module."""

from trivium.distributed.http_serve import (
    AgentServer,
    AsyncHTTPAgentClient,
    AsyncHTTPAgentServer,
    ConnectionLimits,
    HTTPAgentClient,
    HTTPAgentServer,
    ServeOptions,
    agent_app,
)
from trivium.distributed.ray_serve import AgentRayActor, AsyncAgentRayActor

__all__ = [
    "AgentRayActor",
    "AgentServer",
    "AsyncAgentRayActor",
    "AsyncHTTPAgentClient",
    "AsyncHTTPAgentServer",
    "ConnectionLimits",
    "HTTPAgentClient",
    "HTTPAgentServer",
    "ServeOptions",
    "agent_app",
]
