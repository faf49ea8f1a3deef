"""MCP: servers whose tools, resources and prompts are ours to use, and our tools, agents and tasks served by it."""

from trivium.mcp._client import MCPServer
from trivium.mcp._results import MCPContent, MCPPrompt, MCPResource

__all__ = ["MCPContent", "MCPPrompt", "MCPResource", "MCPServer"]
