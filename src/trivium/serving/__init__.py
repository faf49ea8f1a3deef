"""Serving: agents, tasks and other modules over HTTP."""

from trivium.serving._app import ServeOptions, agent_app
from trivium.serving._connections import ConnectionLimits
from trivium.serving._jobs import JobModule
from trivium.serving._limits import OwnerLimits
from trivium.serving._server import AgentServer

__all__ = ["AgentServer", "ConnectionLimits", "JobModule", "OwnerLimits", "ServeOptions", "agent_app"]
