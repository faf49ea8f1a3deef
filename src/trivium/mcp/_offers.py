"""Tools, toolkits, agents and tasks of a program as MCP tools; an agent or a task is one tool."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from uuid import uuid4

from trivium.actions import BaseAction, Tool, as_text, attempt_tool
from trivium.exceptions import ConfigurationError, MissingExtraError, ToolArgumentsError
from trivium.module import Module
from trivium.schema import ActionReturn
from trivium.serving.lowlevel import to_failure

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

__all__ = ["Offers"]

RequestContext: TypeAlias = "ServerRequestContext[Any, Any]"

_MOST_SESSIONS: Final = 1000
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_log = logging.getLogger("trivium.mcp")


class Offers:
    """The tools of a server, and the conversations of its clients with its agents.

    Args:
        what: a tool, a function, an action or toolkit, an agent, a task or any other module; or several of them.
        timeout: seconds that an agent's run may take; None: no limit.

    Raises:
        ConfigurationError: two of them have one name, or there is none.
        ToolDefinitionError: one of them cannot be a tool.
    """

    def __init__(self, what: Any, timeout: float | None = None) -> None:
        many = cast("Iterable[Any]", what) if isinstance(what, list | tuple) else [what]
        self.timeout = timeout
        self.found: dict[str, Tool | Module] = {}
        self._sessions = OrderedDict[tuple[str, str], tuple[Module, str]]()
        for each in many:
            self._add(each)
        if not self.found:
            raise ConfigurationError("there is nothing to serve: give a tool, an agent or a task")

    def _add(self, what: Any) -> None:
        if isinstance(what, Module):
            offered: list[tuple[str, Tool | Module]] = [(what.name, what)]
        else:
            tools = what.tools() if isinstance(what, BaseAction) else [Tool.of(what)]
            offered = [(tool.name, tool) for tool in tools]
        for name, each in offered:
            legal = _ILLEGAL.sub("_", name)[:128] or "_"
            if legal in self.found:
                raise ConfigurationError(f"two of what is served are called {legal}: give one another name")
            self.found[legal] = each

    def server(self, name: str) -> Server[Any]:
        """Make the SDK's server that offers them, to be run on a transport."""
        try:
            from mcp.server.lowlevel import Server
        except ImportError:
            raise MissingExtraError("mcp", "mcp") from None
        return Server(name, on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, ctx: RequestContext, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=[describe_offer(name, each) for name, each in self.found.items()])

    async def _call(self, ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        offered = self.found.get(params.name)
        if offered is None:
            known = ", ".join(self.found)
            return _failure(f"there is no tool {params.name!r}; there are {known}")
        arguments = params.arguments or {}
        try:
            if isinstance(offered, Tool):
                return _as_result(await attempt_tool(offered, arguments))
            return await self._ask(offered, arguments, ctx)
        except ToolArgumentsError as error:
            return _failure(str(error))
        except Exception as error:
            failure = to_failure(error)
            if failure.status in (500, 502):
                _log.error("a run failed", exc_info=error)
            return _failure(f"{failure.kind}: {failure.message}")

    async def _ask(self, module: Module, arguments: dict[str, object], ctx: RequestContext) -> types.CallToolResult:
        message, name = arguments.get("message"), arguments.get("session", "")
        if not isinstance(message, str) or not isinstance(name, str) or arguments.keys() - {"message", "session"}:
            raise ToolArgumentsError("the arguments are `message` and, if wanted, `session`: both texts", module.name)
        session, is_kept = _session(ctx, name)
        if is_kept:
            self._keep(session, module)
        try:
            async with module.open(message, session_id=session, timeout=self.timeout) as call:
                await report_progress(call, ctx)
            answer = call.result
        finally:
            if not is_kept:
                module.reset(session, recursive=True)
        return _as_result(ActionReturn(result=[{"type": "text", "content": as_text(answer.content)}]))

    def _keep(self, session: str, module: Module) -> None:
        """Note the use of a conversation; beyond the maximum, the least recently used one is forgotten."""
        key = (module.name, session)
        self._sessions[key] = (module, session)
        self._sessions.move_to_end(key)
        if len(self._sessions) > _MOST_SESSIONS:
            forgotten, oldest = self._sessions.pop(next(iter(self._sessions)))
            forgotten.reset(oldest, recursive=True)


async def report_progress(call: Any, ctx: RequestContext) -> None:
    """Read the call to its end, and report the models' texts and tool calls to a client that wants progress."""
    done = 0
    wants = "progress_token" in (ctx.meta or {})
    async for event in call:
        if wants and event.is_for_clients() and (text := event.fields(content=True).get("text") or event.detail()):
            done += 1
            await ctx.session.report_progress(done, None, text)


def _session(ctx: RequestContext, name: str) -> tuple[str, bool]:
    """The session of the caller, and True if it is kept: a process has one client, and a newer HTTP client has none."""
    connection = "" if ctx.request is None else ctx.request.headers.get("mcp-session-id")
    if connection is None and not name:
        return f"mcp:{uuid4().hex}", False
    return f"mcp:{connection or ''}:{name}", True


def describe_offer(name: str, offered: Tool | Module) -> types.Tool:
    """Describe a tool, an agent or a task to clients."""
    from mcp.types import Tool as MCPTool

    if isinstance(offered, Tool):
        return MCPTool(name=name, description=offered.spec.description, input_schema=_object(offered.spec.parameters))
    said = offered.description or f"Ask {offered.name}."
    text = {"type": "string", "description": "What is said to it."}
    session = {"type": "string", "description": "A name for the conversation, to go on with it later."}
    schema = {"type": "object", "properties": {"message": text, "session": session}, "required": ["message"]}
    return MCPTool(name=name, description=said, input_schema=schema)


def _object(schema: dict[str, object]) -> dict[str, Any]:
    return schema if schema.get("type") == "object" else {"type": "object", **schema}


def _as_result(returned: ActionReturn) -> types.CallToolResult:
    from mcp.types import CallToolResult

    if returned.errmsg is not None:
        return _failure(returned.errmsg)
    items = returned.result or []
    structured = items[0].get("structured") if items else None
    return CallToolResult(
        content=[content_block(each) for each in items],
        structured_content=structured if isinstance(structured, dict) else None,
    )


def content_block(item: dict[str, Any]) -> types.ContentBlock:
    """Convert an item of a result."""
    from mcp.types import AudioContent, ImageContent, TextContent

    kinds = {"image": ImageContent, "audio": AudioContent}
    if item["type"] in kinds and "data" in item:
        return kinds[item["type"]](data=item["data"], mime_type=item.get("mime_type", ""))
    return TextContent(text=ActionReturn(result=[item]).format_result())


def _failure(text: str) -> types.CallToolResult:
    from mcp.types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(text=text)], is_error=True)
