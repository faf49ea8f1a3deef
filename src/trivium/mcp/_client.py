"""An MCP server as a toolkit: its tools, resources and prompts."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import finalize

from trivium.actions import BaseAction, Tool, attempt_tool, report_progress
from trivium.actions.lowlevel import describe_tool, invalid_api
from trivium.commander import current, driver_neutral, invoke, sync_method
from trivium.commander.lowlevel import note_sources
from trivium.exceptions import ConfigurationError, ToolArgumentsError
from trivium.mcp._link import Link, pages
from trivium.mcp._pins import Definition, Pins, digest_of, effect_of
from trivium.mcp._results import MCPContent, MCPPrompt, MCPResource, as_action_return, contents_of, messages_of
from trivium.mcp._transports import way_to
from trivium.policies import Source, Sources
from trivium.schema import ActionReturn, Message, ToolSpec
from trivium.schema.lowlevel import checked, is_mapping, positive, unfence

if TYPE_CHECKING:
    from mcp import Client, types

T = TypeVar("T")


class MCPServer(BaseAction):
    """An MCP server, in a process of its own or at a URL, as a toolkit for agents and executors.

    The connection opens at the first use, or at the beginning of a `with` or `async with` block. It is shared by all
    threads and loops, and opened again if it broke or the server forgot the session. It is closed at the end of the
    block, by `close`, with the last reference to this object, and at the end of the program; a process that was started
    ends with it. A kill or a deadline of the run cancels the call at the server.

    A server is not trusted: its descriptions are sent to the model, and none of its code runs here. A tool whose
    definition has changed since it was described to the model is refused. `pin` and `pins` refuse all definitions but
    the reviewed ones.

    Args:
        server: a URL, or a command as text or as a list, such as `"uvx mcp-server-time"`.
        env: the environment of the process beside HOME, LOGNAME, PATH, SHELL, TERM and USER.
        cwd: the working directory of the process.
        headers: sent with each request to a URL, and to no other origin.
        name: the prefix of its tools, as in `name.tool`; default: the name of the program or host.
        only: the names of the tools to offer; default: all.
        pin: the digest that its tools must have; `trivium mcp tools` shows it.
        pins: a JSON file that stores the definitions at the first use; later ones must be the same.
        resources: offer tools that list and read its resources, too.
        prompts: offer tools that list and get its prompts, too.
        timeout: seconds that one request may take; None: no limit.
        start_seconds: seconds until a new connection must be ready.
        max_bytes: the largest message of the server in bytes, so also the largest result or resource.

    Raises:
        ConfigurationError: the server or an option cannot be used.

    Example::

        with MCPServer("uvx mcp-server-time") as clock:
            agent = Agent("default", tools=[clock])
            print(agent("What time is it in Lisbon?").content)
    """

    @checked
    def __init__(
        self,
        server: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
        only: Collection[str] | None = None,
        pin: str | None = None,
        pins: str | Path | None = None,
        resources: bool = False,
        prompts: bool = False,
        timeout: float | None = 60.0,
        start_seconds: float = 60.0,
        max_bytes: int = 16 << 20,
    ) -> None:
        super().__init__()
        positive(timeout=1.0 if timeout is None else timeout, start_seconds=start_seconds, max_bytes=max_bytes)
        way = way_to(server, env, None if cwd is None else Path(cwd), headers, max_bytes)
        self._name = way.name if name is None else name
        if not self._name or "." in self._name:
            raise ConfigurationError("the name of an MCP server is a text without dots: its tools are `name.tool`")
        self._only = None if only is None else frozenset(only)
        self._with_resources, self._with_prompts = resources, prompts
        rule = Pins(self._name, pin, None if pins is None else Path(pins))
        self._link = Link(self._name, way, rule, start_seconds, timeout)
        self._end = finalize(self, self._link.home.abandon)

    @property
    def name(self) -> str:
        """The prefix of its tools."""
        return self._name

    @property
    def is_toolkit(self) -> bool:
        """True: a server has any number of tools."""
        return True

    @property
    def description(self) -> dict[str, Any]:
        """The description for a model that reads about its tools in the prompt; the server lists the tools."""
        start = len(self.name) + 1
        apis = [describe_tool(tool.replace(name=tool.name[start:])) for tool in self.tools()]
        return {"name": self.name, "description": f"The tools of {self.name}.", "api_list": apis}

    def __repr__(self) -> str:
        return f"MCPServer(name={self.name!r})"

    def __deepcopy__(self, memo: dict[int, object]) -> MCPServer:
        return self  # copies of an agent share the connection

    # ---- its tools
    @driver_neutral
    async def tools_async(self) -> list[Tool]:
        """Return its tools, with the names `name.tool`, as the server lists them now.

        Raises:
            MCPToolsChangedError: they are not the pinned ones.
            MCPConnectionError: it does not start, or cannot be reached.
            ConfigurationError: `only` names a tool that it does not have.
        """
        definitions = await self._on(self._link.definitions)
        if self._only is not None and (missing := sorted(self._only - definitions.keys())):
            known = ", ".join(definitions) or "none"
            raise ConfigurationError(f"{self.name} has no tool {', '.join(missing)}; there are {known}")
        wanted = [each for name, each in definitions.items() if self._only is None or name in self._only]
        return [*map(self.make_tool, wanted), *self.resource_tools()]

    if TYPE_CHECKING:  # `sync_method` does not say that this is the method of the base class

        def tools(self) -> list[Tool]: ...
    else:
        tools = sync_method(tools_async)

    @driver_neutral
    async def acall(self, inputs: str | Mapping[str, object] = "", name: str = "") -> ActionReturn:
        """Run a tool by its name without the prefix; the same as calling the object, for async code.

        A call that fails does not raise: its error is in `errmsg`, and is the text of the result.

        Args:
            inputs: the arguments, as JSON text or by name.
            name: the tool.

        Raises:
            MCPConnectionError: the server does not start, or cannot be reached: no tool of it is known.
            MCPToolsChangedError: its tools are not the pinned ones.
        """
        found = {tool.name: tool for tool in await self.tools_async()}.get(f"{self.name}.{name}")
        returned = invalid_api(self.name, name, inputs) if found is None else await attempt_tool(found, inputs)
        if returned.errmsg is None or returned.result:
            return returned
        return returned.replace(result=[{"type": "text", "content": returned.errmsg}])

    __call__ = sync_method(acall)

    def make_tool(self, definition: Definition) -> Tool:
        """Make the tool of a definition."""
        name = f"{self.name}.{definition['name']}"

        @driver_neutral
        async def call(**values: object) -> ActionReturn:
            run, hidden, done = copy_context(), self._link.way.hidden, 0.0

            async def report(progress: float, total: float | None, message: str | None) -> None:
                nonlocal done
                if done <= progress < math.inf:  # a server may send any number, or NaN
                    done = progress
                    known = total if total is not None and 0 < total < math.inf else None
                    run.run(report_progress, done, known, hidden(message or ""))

            return as_action_return(await self._on(partial(self._link.call, definition, values, report)), hidden)

        spec = ToolSpec(name, definition.get("description", ""), definition["inputSchema"])
        return Tool(spec, call, partial(_as_object, name), effect=effect_of(definition), source="server")

    def resource_tools(self) -> list[Tool]:
        """The tools that list and read resources and prompts, as the options want them."""

        async def list_resources() -> list[MCPResource]:
            """List what can be read: documents, records, files."""
            return await self.resources_async()

        async def read_resource(uri: str) -> str:
            """Read a resource.

            Args:
                uri: as the list of resources says it.
            """
            return "\n".join(map(str, await self.read_resource_async(uri)))

        async def list_prompts() -> list[MCPPrompt]:
            """List the prompts that there are, with their arguments."""
            return await self.prompts_async()

        async def get_prompt(name: str, arguments: dict[str, str] | None = None) -> str:
            """Get a prompt with its arguments filled in.

            Args:
                name: as the list of prompts says it.
                arguments: texts by name.
            """
            messages = await self.get_prompt_async(name, **(arguments or {}))
            return "\n".join(f"{each.sender}: {each.content}" for each in messages)

        wanted: list[Callable[..., Any]] = [list_resources, read_resource] if self._with_resources else []
        wanted += [list_prompts, get_prompt] if self._with_prompts else []
        for function in wanted:
            driver_neutral(function)
        return [(tool := Tool.of(each)).replace(name=f"{self.name}.{tool.name}", source="server") for each in wanted]

    @driver_neutral
    async def instructions_async(self) -> str:
        """What the server says of its use, or "": its text, which no model gets if you do not pass it on."""
        self._note_source("instructions")

        async def work(client: Client) -> str:
            return self._link.way.hidden(client.instructions or "")

        return await self._request(work, "its instructions")

    instructions = sync_method(instructions_async)

    # ---- pins
    @driver_neutral
    async def digest_async(self) -> str:
        """The digest over the names, descriptions and schemas of all its tools, as `pin` takes it."""
        return digest_of(await self._on(self._link.definitions))

    digest = sync_method(digest_async)

    # ---- resources and prompts
    @driver_neutral
    async def resources_async(self) -> list[MCPResource]:
        """Return its resources, templates of addresses last.

        Raises:
            MCPError: the request failed.
        """

        async def work(client: Client) -> list[MCPResource]:
            if client.server_capabilities.resources is None:
                return []
            most, templated = self._link.way.most, client.list_resource_templates
            plain = await pages(client.list_resources, lambda page: page.resources, most)
            templates = await pages(templated, lambda page: page.resource_templates, most)
            return [
                *(_resource(each, each.uri, False) for each in plain),
                *(_resource(each, each.uri_template, True) for each in templates),
            ]

        return await self._request(work, "the list of its resources")

    resources = sync_method(resources_async)

    @driver_neutral
    async def read_resource_async(self, uri: str) -> list[MCPContent]:
        """Read a resource; mostly its content is one piece.

        Raises:
            MCPProtocolError: there is no resource at that address.
        """
        check_sendable("the address of a resource", uri)
        sources = self._note_source(uri)
        read = await self._request(lambda client: client.read_resource(uri), f"the resource {uri}")
        return contents_of(read, sources)

    read_resource = sync_method(read_resource_async)

    @driver_neutral
    async def prompts_async(self) -> list[MCPPrompt]:
        """Return its prompts."""

        async def work(client: Client) -> list[MCPPrompt]:
            if client.server_capabilities.prompts is None:
                return []
            found: list[MCPPrompt] = []
            for each in await pages(client.list_prompts, lambda page: page.prompts, self._link.way.most):
                arguments = each.arguments or ()
                required = tuple(one.name for one in arguments if one.required)
                names = tuple(one.name for one in arguments)
                found.append(MCPPrompt(each.name, each.description or "", names, required))
            return found

        return await self._request(work, "the list of its prompts")

    prompts = sync_method(prompts_async)

    @driver_neutral
    async def get_prompt_async(self, prompt: str, /, **arguments: str) -> list[Message]:
        """Return the messages of a prompt with its arguments filled in; the sender is `user` or `assistant`.

        Args:
            prompt: its name.
            **arguments: texts.

        Raises:
            MCPProtocolError: there is no such prompt, or an argument is missing.
        """
        check_sendable("the arguments of a prompt", [prompt, arguments])
        work = self._request(lambda client: client.get_prompt(prompt, arguments), f"the prompt {prompt}")
        found = messages_of(await work)
        sources = self._note_source(prompt)
        return [message.replace(sources=sources) for message in found]

    get_prompt = sync_method(get_prompt_async)

    def _note_source(self, name: str) -> Sources:
        """Note in the run that something of the server is read; what it says is nobody's word."""
        sources = frozenset({Source("server", f"{self.name}.{name}")})
        if (node := current.get()) is not None:
            note_sources(node, sources)
        return sources

    async def _request(self, work: Callable[[Client], Awaitable[T]], asked: str) -> T:
        return await self._on(partial(self._link.request, lambda connection: work(connection.client), asked=asked))

    async def _on(self, work: Callable[[], Awaitable[T]]) -> T:
        return await invoke(self._link.home.call, work)

    # ---- its life
    @driver_neutral
    async def open_async(self) -> Self:
        """Open the connection now, so that errors are raised here.

        Raises:
            MCPError: it does not start, cannot be reached, or its tools are not the pinned ones.
        """
        await self._on(self._link.definitions)
        return self

    open = sync_method(open_async)

    @driver_neutral
    async def close_async(self) -> None:
        """Close the connection, and end the process if there is one. A later use opens it again."""
        await invoke(self._link.home.close)

    close = sync_method(close_async)

    @property
    def log(self) -> str:
        """The end of its process's stderr, at most 8 KiB."""
        return self._link.way.log

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await self.open_async()

    async def __aexit__(self, *exc: object) -> None:
        await self.close_async()


def _as_object(name: str, arguments: str | Mapping[str, object]) -> dict[str, Any]:
    """The arguments as the object that the protocol wants; the server validates them."""
    try:
        found: object = (
            json.loads(unfence(arguments) or "{}", strict=False) if isinstance(arguments, str) else arguments
        )
    except (ValueError, RecursionError) as error:
        raise ToolArgumentsError(f"the arguments of {name} are no JSON: {error}", name) from None
    if not is_mapping(found):
        raise ToolArgumentsError(f"the arguments of {name} are no object", name)
    given = dict(found)
    check_sendable(f"the arguments of {name}", given, name)
    return given


def check_sendable(what: str, value: object, name: str = "") -> None:
    """Refuse values that JSON in UTF-8 cannot encode: over stdio they would break the connection for all calls.

    Raises:
        ToolArgumentsError: the value cannot be encoded.
    """
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolArgumentsError(f"{what} cannot be sent: {error}", name) from None


def _resource(each: types.Resource | types.ResourceTemplate, uri: str, is_template: bool) -> MCPResource:
    return MCPResource(uri, each.name, each.description or "", each.mime_type or "", is_template)
