"""`trivium mcp`: show the tools of a server, and serve tools, agents and tasks of your own as one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any, cast

from trivium.actions import BaseAction, Tool
from trivium.cli._objects_at import import_object
from trivium.cli._screen import show_json
from trivium.cli._serve import report_ready, serve_until_signal
from trivium.events import safe_line
from trivium.exceptions import ConfigurationError, ToolDefinitionError
from trivium.mcp import MCPServer, ToolServer, serve_mcp
from trivium.module import Module


def serve_references(
    references: Sequence[str],
    is_http: bool,
    host: str | None,
    port: int | None,
    token: str | None,
    public_url: str = "",
) -> None:
    """Serve the object of each `module:object` until the client leaves or a signal comes.

    Raises:
        ConfigurationError: one of them cannot be served, or an option is of HTTP, and the server is not.
    """
    options = {"--host": host, "--port": port, "--token": token, "--public-url": public_url or None}
    given = [name for name, value in options.items() if value is not None]
    if given and not is_http:
        raise ConfigurationError(f"{', '.join(given)}: add --http; without it the server has only stdin and stdout")
    kinds = (Module, BaseAction, Tool, FunctionType)
    what = [import_object(each, "tool, agent or task", "tools:add", kinds) for each in references]
    host = host or "127.0.0.1"
    try:
        if not is_http:
            serve_mcp(what, "stdio")
            return
        server = ToolServer(what, host, 8091 if port is None else port, token=token, public_url=public_url)
    except ToolDefinitionError as error:
        raise ConfigurationError(str(error)) from None
    path = server.endpoint.removeprefix(server.url)
    serve_until_signal(server, lambda: report_ready(server, ", ".join(references), host, path))


def show_tools(command: Sequence[str], env: Sequence[str], headers: Sequence[str], as_json: bool) -> None:
    """Show the tools of a server, and the digest that pins them."""
    given = {"env": dict(_pair(each, "=") for each in env), "headers": dict(_pair(each, ":") for each in headers)}
    is_url = len(command) == 1 and command[0].startswith(("http://", "https://"))
    wanted: dict[str, Any] = {name: pairs for name, pairs in given.items() if pairs}
    with MCPServer(command[0] if is_url or len(command) == 1 else command, **wanted) as server:
        digest, found = server.digest(), server.tools()
    start = len(server.name) + 1
    if as_json:
        tools = [
            {
                "name": tool.name[start:],
                "description": tool.spec.description,
                "parameters": tool.spec.parameters,
            }
            for tool in found
        ]
        show_json({"server": server.name, "pin": digest, "tools": tools})
        return
    for tool in found:
        properties: dict[str, Any] = tool.spec.parameters.get("properties", {})
        names = ", ".join(properties)
        sys.stdout.write(f"{safe_line(f'{tool.name[start:]}({names})')}\n")
        texts = [f"{name}: {text}" for name, each in properties.items() if (text := _description(each))]
        defined = _description(tool.spec.parameters.get("$defs"))
        for text in filter(None, [tool.spec.description, *texts, defined]):  # the model reads all of them
            sys.stdout.write(f"    {safe_line(text)}\n")
    sys.stdout.write(f"pin: {digest}\n")


def _description(schema: object) -> str:
    """Return the descriptions within the schema of a parameter, one after the other."""
    if isinstance(schema, list):
        return " ".join(filter(None, map(_description, cast("list[object]", schema))))
    if not isinstance(schema, dict):
        return ""
    parts = cast("dict[str, object]", schema)
    own = parts.get("description")
    return " ".join(filter(None, [own if isinstance(own, str) else "", *map(_description, parts.values())]))


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise ConfigurationError(f"write it as NAME{sign}VALUE, not {safe_line(name)!r}")
    return name.strip(), value.strip()
