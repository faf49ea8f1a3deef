"""MCP: use the tools, resources and prompts of servers, and serve tools, agents and tasks to clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names
from trivium.mcp._client import MCPServer
from trivium.mcp._results import MCPContent, MCPPrompt, MCPResource

if TYPE_CHECKING:
    from trivium.mcp._asking import ask_client, client_can
    from trivium.mcp._endpoint import MCPEndpoint
    from trivium.mcp._serving import ToolServer, serve_mcp

__all__ = [
    "MCPContent",
    "MCPEndpoint",
    "MCPPrompt",
    "MCPResource",
    "MCPServer",
    "ToolServer",
    "ask_client",
    "client_can",
    "serve_mcp",
]

_HOMES = {
    "MCPEndpoint": "_endpoint",
    "ToolServer": "_serving",
    "ask_client": "_asking",
    "client_can": "_asking",
    "serve_mcp": "_serving",
}
lazy_names(__name__, _HOMES, __all__)
