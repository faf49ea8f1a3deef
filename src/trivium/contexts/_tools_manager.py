"""The tools manager: tools by name, described to a model through a tool model."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Collection, Iterable
from typing import Any, Literal, get_args

from trivium.actions import Tool
from trivium.actions.kits import AnyTool, ToolKit, ToolMetadata
from trivium.contexts._tool_models import CustomToolModel, OpenaiToolModel, Roles
from trivium.exceptions import ConfigurationError, UnknownToolError
from trivium.schema.lowlevel import checked

ToolType = Literal["PERMANENT", "TEMPORARY"]
"""The lifetime of a tool in a manager, by intention."""
_TOOL_TYPES: Collection[ToolType] = get_args(ToolType)


class ToolsManager:
    """Tools by name, in three tables: permanent, temporary, and registered tools, which are sent only when named.

    It describes tools to a model and finds the function of a call; it runs none. A name in several tables means the
    registered tool, else the temporary, else the permanent tool.

    Args:
        tool_model: describes tools to a model and reads its calls.

    Example:
        >>> def double(number: int) -> int:
        ...     return 2 * number
        >>> manager = ToolsManager(OpenaiToolModel())
        >>> manager.add_tool(double)
        >>> manager.get_tools_manual()[0]["function"]["name"], manager.get_linked_tool("double")(3)
        ('double', 6)
    """

    @checked
    def __init__(self, tool_model: OpenaiToolModel | CustomToolModel) -> None:
        self.tool_model = tool_model
        self._shelves: dict[str, dict[str, ToolMetadata]] = {"REGISTERED": {}, "TEMPORARY": {}, "PERMANENT": {}}

    @property
    def tool_model_name(self) -> str:
        """The name of the tool model."""
        return self.tool_model.tool_model_name

    @property
    def tool_model_type(self) -> Literal["CUSTOM", "PROVIDED"]:
        """PROVIDED if the model has an interface for tools; CUSTOM if they are described in a message."""
        return "CUSTOM" if isinstance(self.tool_model, CustomToolModel) else "PROVIDED"

    # ---- tables
    def add_tool(self, tool: AnyTool, tool_type: ToolType = "TEMPORARY") -> None:
        """Add a tool, a function or a kit."""
        self.add_tools([tool], tool_type)

    def add_tools(self, tools: Iterable[AnyTool], tool_type: ToolType = "TEMPORARY") -> None:
        """Add tools, functions and kits.

        Raises:
            ToolDefinitionError: one of them cannot be a tool.
        """
        self._table(tool_type).update({each.name: each for each in _each(tools)})

    def remove_tool(self, tool: AnyTool | str, tool_type: ToolType = "TEMPORARY") -> None:
        """Remove a tool, also by name; unknown tools are ignored."""
        self.remove_tools([tool], tool_type)

    def remove_tools(self, tools: Iterable[AnyTool | str], tool_type: ToolType = "TEMPORARY") -> None:
        """Remove tools, also by name; unknown tools are ignored."""
        for name in _names(tools):
            self._table(tool_type).pop(name, None)

    def clear_tools(self, tool_type: ToolType = "TEMPORARY") -> None:
        """Remove all tools of a type."""
        self._table(tool_type).clear()

    def register_tool(self, tool: AnyTool) -> None:
        """Register a tool, a function or a kit."""
        self.register_tools([tool])

    def register_tools(self, tools: Iterable[AnyTool]) -> None:
        """Register tools, functions and kits."""
        self._shelves["REGISTERED"].update({each.name: each for each in _each(tools)})

    def unregister_tools(self, tools: Iterable[AnyTool | str]) -> None:
        """Remove registered tools, also by name."""
        for name in _names(tools):
            self._shelves["REGISTERED"].pop(name, None)

    def clear_registered_tools(self) -> None:
        """Remove all registered tools."""
        self._shelves["REGISTERED"].clear()

    @property
    def registered_tool_names(self) -> list[str]:
        """The names of the registered tools."""
        return list(self._shelves["REGISTERED"])

    @property
    def all_tools_names(self) -> list[str]:
        """The names of all tools, without repetition."""
        return list(dict.fromkeys(name for shelf in self._shelves.values() for name in shelf))

    def _table(self, tool_type: str) -> dict[str, ToolMetadata]:
        if tool_type not in _TOOL_TYPES:
            raise ConfigurationError(f"a tool is {' or '.join(_TOOL_TYPES)}, not {tool_type!r}")
        return self._shelves[tool_type]

    # ---- metadata
    def create_tool_metadata(self, tool: Tool | Callable[..., object]) -> ToolMetadata:
        """Return the metadata of a tool or a function."""
        return ToolMetadata.of(tool)

    def get_tools_metadata(
        self,
        by_types: Collection[ToolType] | Literal["ALL"] = "ALL",
        by_names: Iterable[str | ToolKit] | None = None,
    ) -> list[ToolMetadata]:
        """Find the tools of some types, and tools by name or kit, without repetition; unknown names are ignored."""
        types = ("PERMANENT", "TEMPORARY") if by_types == "ALL" else by_types
        names = [
            name for tool_type in ("PERMANENT", "TEMPORARY") if tool_type in types for name in self._shelves[tool_type]
        ]
        return self.get_tools_metadata_by_names([*names, *(by_names or ())])

    def get_tools_metadata_by_names(self, names: Iterable[str | ToolKit]) -> list[ToolMetadata]:
        """Find tools by name or kit, without repetition; unknown names are ignored."""
        found = [self._find(name) for name in dict.fromkeys(_names(names))]
        return [each for each in found if each is not None]

    def _find(self, name: str) -> ToolMetadata | None:
        return next((shelf[name] for shelf in self._shelves.values() if name in shelf), None)

    def get_linked_tool(self, tool_name: str) -> Callable[..., Any]:
        """Return the function of a tool.

        Raises:
            UnknownToolError: there is no tool with this name.
        """
        found = self._find(tool_name)
        if found is None:
            there = ", ".join(self.all_tools_names) or "none"
            raise UnknownToolError(f"there is no tool '{tool_name}'; there are {there}", tool_name)
        return found.linked_tool

    # ---- descriptions and answers
    def get_tools_manual(
        self,
        by_types: Collection[ToolType] | Literal["ALL"] = "ALL",
        by_names: Iterable[str | ToolKit] | None = None,
    ) -> Any:
        """Describe tools to the model: for OpenAI's interface as the value of `tools`, else as text."""
        return self.tool_model.get_tools_manual(self.get_tools_metadata(by_types, by_names))

    def wrap_tools_to_bead(self, tools: Iterable[AnyTool]) -> list[Any]:
        """The pieces for a context that describe tools to a model that knows none.

        Raises:
            ConfigurationError: the model knows tools: give it the manual.
        """
        if not isinstance(self.tool_model, CustomToolModel):
            raise ConfigurationError(f"{self.tool_model_name} takes tools beside the messages: use get_tools_manual")
        return [self.tool_model.tool_manual_bead_maker(self.tool_model.get_tools_manual(_each(tools)))]

    def tools_manual_token_num(
        self,
        by_types: Collection[ToolType] | Literal["ALL"] = "ALL",
        by_names: Iterable[str | ToolKit] | None = None,
    ) -> int:
        """The tokens of the manual, for a model that takes it beside the messages.

        Raises:
            ConfigurationError: the model reads it in a message, and it is counted there.
        """
        if isinstance(self.tool_model, CustomToolModel):
            raise ConfigurationError("a custom tool model's manual is a piece of the context, and counted there")
        return self.tool_model.tool_manual_token_counter(self.get_tools_metadata(by_types, by_names))

    async def parse_response(self, response: AsyncIterable[object]) -> Roles:
        """Part a model's streamed answer into what is for the user and the tool calls; see the tool model."""
        return await self.tool_model.parse_response(response)


def _each(tools: Iterable[AnyTool]) -> list[ToolMetadata]:
    found = [each for tool in tools for each in (tool if isinstance(tool, ToolKit) else [tool])]
    return [ToolMetadata.of(each) for each in found]


def _names(tools: Iterable[AnyTool | str]) -> list[str]:
    found: list[str] = []
    for one in tools:
        found += [one] if isinstance(one, str) else [each.name for each in _each([one])]
    return found
