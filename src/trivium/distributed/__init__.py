"""Agents in other processes, over HTTP or as actors of Ray. To its caller, each is a module like any other."""

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
