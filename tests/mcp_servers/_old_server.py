"""A server for the environment of the index's servers, whose SDK speaks the older protocol: HTTP with sessions."""

from __future__ import annotations

import socket
import sys
from importlib import import_module
from typing import Any

import uvicorn

server: Any = import_module("mcp.server.fastmcp").FastMCP("old")  # not in the SDK of this project
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
sys.stdout.write(f"{listener.getsockname()[1]}\n")
sys.stdout.flush()


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
async def forget() -> str:
    """End all sessions."""
    for transport in server.session_manager._server_instances.values():
        await transport.terminate()
    server.session_manager._server_instances.clear()
    return "forgotten"


uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])
