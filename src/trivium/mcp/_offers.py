"""Tools, toolkits, agents and tasks of a program as MCP tools, with its resources and prompts."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from trivium.actions import BaseAction, Tool, ToolProgress, run_tool
from trivium.actions.lowlevel import reason_of
from trivium.agents import Agent
from trivium.exceptions import (
    CommanderError,
    ConfigurationError,
    MissingExtraError,
    RunPausedError,
    ToolArgumentsError,
    ToolFailedError,
    TriviumError,
)
from trivium.mcp._agent_calls import AgentCalls, own_runs
from trivium.mcp._asking import STATE_SECONDS, Asking, RequestContext, UsedStates, answer_or_ask, user_of
from trivium.mcp._blocks import (
    DeclaredOutput,
    as_list,
    failure,
    output_of,
    resource_contents,
    to_tool_result,
    tool_output,
)
from trivium.mcp._materials import Prompts, Resources, ResourceValue, completions, prompt_messages
from trivium.mcp._results import MCPContent
from trivium.module import Module
from trivium.schema import Message
from trivium.serving.lowlevel import Runs, to_failure
from trivium.tasks import Task

if TYPE_CHECKING:
    from mcp import MCPError, types
    from mcp.server.lowlevel import Server

_CACHED_MS: Final = 60_000
"""How long a client may take the lists as they are: they do not change while the server runs."""
_HINTS: Final[dict[str | None, dict[str, bool]]] = {
    "read": {"read_only_hint": True},
    "idempotent": {"idempotent_hint": True},
    "once": {"idempotent_hint": False},
}
"""What clients are told of a tool's effect."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_log = logging.getLogger("trivium.mcp")


class Offers:
    """The tools, resources and prompts of a server, and the conversations of its clients with its agents.

    Args:
        what: a tool, a function, an action or toolkit, an agent, a task or any other module; or several of them, a
            mapping with names of their own.
        timeout: seconds that a call may take; None: no limit.
        resources: see `Resources`.
        prompts: see `Prompts`.
        runs: those of a server with further protocols, to which the modules belong; None: they are made here.
        **options: of the runs that are made here; see `own_runs`.

    Raises:
        ConfigurationError: two of them have one name, or there is none.
        ToolDefinitionError: one of them cannot be a tool.
    """

    def __init__(
        self,
        what: Any,
        timeout: float | None = None,
        resources: Mapping[str, ResourceValue] | None = None,
        prompts: Iterable[Callable[..., Any] | Tool] = (),
        runs: Runs | None = None,
        **options: Any,
    ) -> None:
        self.timeout = timeout
        self.found: dict[str, Tool | Module] = {}
        self._outputs: dict[str, DeclaredOutput | None] = {}
        self._resources, self._prompts = Resources(resources or {}), Prompts(prompts)
        self._used, self._is_sealed = UsedStates(), runs is None
        names: dict[str, str] = {}
        for name, each in _named(what):
            legal = _ILLEGAL.sub("_", name)[:128] or "_"
            if legal in self.found:
                raise ConfigurationError(f"two of what is served are called {legal}: give one another name")
            self.found[legal], names[legal] = each, name
            self._outputs[legal] = tool_output(each) if isinstance(each, Tool) else module_output(each)
        if not self.found and not self._resources and not self._prompts:
            raise ConfigurationError("there is nothing to serve: give a tool, an agent or a task")
        served = {names[legal]: each for legal, each in self.found.items() if isinstance(each, Module)}
        make = own_runs(served, timeout, **options) if runs is None and served else lambda: cast("Runs", runs)
        self._agents = AgentCalls(make, names, self._outputs, forgets=runs is None) if served else None

    async def begin(self) -> None:
        """Begin with the runs of this time."""
        if self._agents is not None:
            await self._agents.begin()

    async def end(self, grace: float, last: float | None) -> None:
        """End the runs that have not ended after some seconds; see `Runs.drain`."""
        if self._agents is not None:
            await self._agents.end(grace, last)

    def left(self) -> list[str]:
        """Return the runs at work, for a log."""
        return [] if self._agents is None else self._agents.left()

    def close(self) -> None:
        """Close what the runs have open."""
        if self._agents is not None:
            self._agents.close()

    def server(self, name: str) -> Server[Any]:
        """Make the SDK's server that offers them, to be run on a transport."""
        try:
            from mcp.server.caching import CacheHint
            from mcp.server.lowlevel import Server
            from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
        except ImportError:
            raise MissingExtraError("mcp", "mcp") from None
        from trivium import __version__

        lists: Any = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
        handlers: dict[str, Any] = {"on_list_tools": self._list, "on_call_tool": self._call}
        if self._resources:
            handlers |= {
                "on_list_resources": self._list_resources,
                "on_list_resource_templates": self._list_templates,
                "on_read_resource": self._read,
            }
        if self._prompts:
            handlers |= {"on_list_prompts": self._list_prompts, "on_get_prompt": self._get_prompt}
        if self._prompts or self._resources:
            handlers["on_completion"] = self._complete
        hints = dict.fromkeys(lists, CacheHint(_CACHED_MS))
        made: Server[Any] = Server(name, version=__version__, cache_hints=hints, **handlers)
        if self._is_sealed:  # states of modules alone name runs that their owner may decide on anyway
            security = RequestStateSecurity.ephemeral(ttl=STATE_SECONDS)
            security.bind_principal = user_of
            made.middleware.append(RequestStateBoundary(security, default_audience=name))
        return made

    # ---- lists
    async def _list(self, ctx: RequestContext, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        from mcp.types import ListToolsResult

        tools = [describe_offer(name, each, self._outputs[name]) for name, each in self.found.items()]
        return ListToolsResult(tools=tools)

    async def _list_resources(self, ctx: RequestContext, params: object) -> types.ListResourcesResult:
        from mcp.types import ListResourcesResult

        return ListResourcesResult(resources=self._resources.listed())

    async def _list_templates(self, ctx: RequestContext, params: object) -> types.ListResourceTemplatesResult:
        from mcp.types import ListResourceTemplatesResult

        return ListResourceTemplatesResult(resource_templates=self._resources.templates())

    async def _list_prompts(self, ctx: RequestContext, params: object) -> types.ListPromptsResult:
        from mcp.types import ListPromptsResult

        return ListPromptsResult(prompts=self._prompts.listed())

    async def _complete(self, ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        ref = params.ref
        known = self._prompts.parameters(ref.name) if ref.type == "ref/prompt" else self._resources.parameters(ref.uri)
        return completions(known.get(params.argument.name, {}), params.argument.value)

    # ---- calls
    async def _call(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Any:
        from mcp import MCPError

        offered, arguments = self.found.get(params.name), params.arguments or {}
        if offered is None:
            known = ", ".join(self.found)
            return failure(f"there is no tool {params.name!r}; there are {known}")
        try:
            if isinstance(offered, Module):
                assert self._agents is not None
                return await self._agents.call(params.name, arguments, ctx, params)
            output = self._outputs[params.name]
            return await answer_or_ask(ctx, params, self._used, partial(self._use, offered, arguments, output, ctx))
        except MCPError:
            raise
        except ToolArgumentsError as error:
            return failure(str(error))
        except Exception as error:
            return failure(_reason(error, isinstance(offered, Tool)))

    async def _use(
        self, tool: Tool, arguments: dict[str, Any], output: DeclaredOutput | None, ctx: RequestContext, asking: Asking
    ) -> types.CallToolResult:
        return to_tool_result(await self._run(tool, arguments, ctx, asking), output, tool.name)

    async def _run(self, tool: Tool, arguments: Mapping[str, Any], ctx: RequestContext, asking: Asking) -> Any:
        """Run a tool, and report how far it is; its approval is asked of the client's user."""
        run = _ToolRun(tool, arguments)
        async with run.open(timeout=self.timeout, approve=partial(asking.approve, tool)) as call:
            await relay_progress(call, ctx)
        return run.returned

    async def _read(self, ctx: RequestContext, params: types.ReadResourceRequestParams) -> Any:
        found = self._resources.find(params.uri)
        if found is None:
            raise _unknown(f"there is no resource {params.uri}: resources/list shows those that there are", params.uri)
        value, arguments = found
        if not isinstance(value, Tool):
            return _read_result(params.uri, value)

        async def read(asking: Asking) -> types.ReadResourceResult:
            return _read_result(params.uri, await self._run(value, arguments, ctx, asking))

        return await self._or_error(answer_or_ask(ctx, params, self._used, read))

    async def _get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> Any:
        from mcp.types import GetPromptResult

        tool = self._prompts.find(params.name)
        if tool is None:
            raise _unknown(f"there is no prompt {params.name!r}: prompts/list shows those that there are")

        async def fill(asking: Asking) -> types.GetPromptResult:
            value = await self._run(tool, params.arguments or {}, ctx, asking)
            return GetPromptResult(description=tool.spec.description or None, messages=prompt_messages(value))

        return await self._or_error(answer_or_ask(ctx, params, self._used, fill))

    async def _or_error(self, answer: Coroutine[Any, Any, Any]) -> Any:
        """Wait for a result that has no form for failures: those are errors of the protocol."""
        from mcp import MCPError
        from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

        try:
            return await answer
        except MCPError:
            raise
        except ToolArgumentsError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        except Exception as error:
            raise MCPError(INTERNAL_ERROR, _reason(error, True)) from error


def _named(what: Any) -> list[tuple[str, Tool | Module]]:
    """Return what is served by its names."""
    if isinstance(what, Mapping):
        return list(cast("Mapping[str, Module]", what).items())
    if isinstance(what, list | tuple):
        return [named for each in cast("Iterable[Any]", what) for named in _named(each)]
    if isinstance(what, Module):
        return [(what.name, what)]
    tools = what.tools() if isinstance(what, BaseAction) else [Tool.of(what)]
    return [(tool.name, tool) for tool in tools]


class _ToolRun(Module):
    """One call of a tool by a client, with its events.

    Attributes:
        returned: what the tool returned.
    """

    def __init__(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        super().__init__(name=tool.name)
        self._tool, self._arguments, self.returned = tool, arguments, None

    async def forward(self, *message: Message) -> str:
        """Run the tool."""
        self.returned = await run_tool(self._tool, self._arguments, on_error="raise")
        return ""


async def relay_progress(call: Any, ctx: RequestContext) -> None:
    """Read the call of a tool to its end, and tell a client that wants progress what it reports."""
    wants, done = "progress_token" in (ctx.meta or {}), 0.0
    async for event in call:
        if not wants or not event.is_for_clients() or event.kind in ("tool_call", "tool_result"):
            continue
        if event.kind == "tool_progress":
            progress: ToolProgress = event.data
            done = max(done, progress.done)  # it may never shrink
            await ctx.session.report_progress(done, progress.total, progress.text or None)
        elif text := event.fields(content=True).get("text") or event.detail():
            done += 1
            await ctx.session.report_progress(done, None, text)


def _reason(error: Exception, is_tool: bool = False) -> str:
    """Return what a client is told of an error, and log what it is not told.

    Of a tool it is told what a tool tells models: the errors of trivium's own kinds that are expected.
    """
    if isinstance(error, ToolFailedError):  # it is logged
        return f"the tool {error.tool} failed; the server's log says why"
    is_for_models = is_tool and isinstance(error, TriviumError) and not isinstance(error, CommanderError)
    if isinstance(error, RunPausedError) or is_for_models:
        return reason_of(error)
    told = to_failure(error)
    if told.status in (500, 502):
        _log.error("a run failed", exc_info=error)
    if is_tool and told.status == 500:
        return "the tool failed; the server's log says why"
    return f"{told.kind}: {told.message}"


def _unknown(text: str, uri: str = "") -> MCPError:
    from mcp import MCPError
    from mcp.types import INVALID_PARAMS

    return MCPError(INVALID_PARAMS, text, {"uri": uri} if uri else None)


def _read_result(uri: str, value: object) -> types.ReadResourceResult:
    from mcp.types import ReadResourceResult

    values = as_list(value)
    if not all(isinstance(each, MCPContent) for each in values):
        values = [value]
    return ReadResourceResult(contents=[resource_contents(uri, each) for each in values])


def module_output(module: Module) -> DeclaredOutput | None:
    """Return what an agent or task declares of its answers."""
    if isinstance(module, Agent) and module.answer_format is not None:
        return output_of(module.answer_format.kind)
    return output_of(module.default_return_type) if isinstance(module, Task) else None


def describe_offer(name: str, offered: Tool | Module, output: DeclaredOutput | None) -> types.Tool:
    """Describe a tool, an agent or a task to clients."""
    from mcp.types import Tool as MCPTool
    from mcp.types import ToolAnnotations

    schema = None if output is None else output.schema
    if isinstance(offered, Tool):
        parameters = _object(offered.spec.parameters)
        hints = _HINTS.get(offered.effect)
        return MCPTool(
            name=name, description=offered.spec.description, input_schema=parameters, output_schema=schema,
            annotations=None if hints is None else ToolAnnotations.model_validate(hints),
        )  # fmt: skip
    said = offered.description or f"Ask {offered.name}."
    text = {"type": "string", "description": "What is said to it."}
    session = {"type": "string", "description": "A name for the conversation, to go on with it later."}
    taken = {"type": "object", "properties": {"message": text, "session": session}, "required": ["message"]}
    return MCPTool(name=name, description=said, input_schema=taken, output_schema=schema)


def _object(schema: dict[str, object]) -> dict[str, Any]:
    return schema if schema.get("type") == "object" else {"type": "object", **schema}
