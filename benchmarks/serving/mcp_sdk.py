"""The MCP SDK's own server of the benchmark: a tool that reports progress, and waits where it is told to hold."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from listening import serve
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("bench")


@server.tool()
async def ask(message: str, ctx: Context) -> str:
    """Ask."""
    await ctx.report_progress(1, None, "begun")
    if message == "hold":
        await asyncio.sleep(3600)
    return "end"


if __name__ == "__main__":
    logging.disable(logging.INFO)
    serve(server.streamable_http_app())
