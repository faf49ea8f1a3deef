"""Resources and prompts of a program for MCP clients: values and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trivium.actions import Tool, as_text
from trivium.exceptions import ConfigurationError
from trivium.mcp._blocks import as_list, contents_block, resource_contents
from trivium.mcp._results import MCPContent
from trivium.schema import Message

if TYPE_CHECKING:
    from mcp import types
    from mcp.shared.uri_template import UriTemplate

ResourceValue: TypeAlias = str | bytes | MCPContent | Callable[..., Any] | Tool
_MOST_COMPLETIONS: Final = 100


class Resources:
    """The resources of a server.

    Args:
        given: text, bytes, a content or a function that returns one, by address; the parameters of the function are
            the names in braces of the address.

    Raises:
        ConfigurationError: an address is no template, or its names are not the parameters of its function.
        ToolDefinitionError: a function cannot be called by names.
    """

    def __init__(self, given: Mapping[str, ResourceValue]) -> None:
        self._fixed: dict[str, Any] = {}
        self._templates: dict[str, tuple[UriTemplate, Tool]] = {}
        for uri, value in given.items():
            made = Tool.of(value) if callable(value) or isinstance(value, Tool) else value
            if "{" in uri:
                self._templates[uri] = _template(uri, made)
            elif isinstance(made, Tool) and made.spec.parameters.get("required"):
                raise ConfigurationError(f"{uri}: {made.name} has parameters, for which the address has no {{names}}")
            else:
                self._fixed[uri] = made

    def __bool__(self) -> bool:
        return bool(self._fixed or self._templates)

    def listed(self) -> list[types.Resource]:
        """Return the resources at one address each."""
        from mcp.types import Resource

        return [Resource(uri=uri, **_described(uri, each)) for uri, each in self._fixed.items()]

    def templates(self) -> list[types.ResourceTemplate]:
        """Return the resources whose address has names."""
        from mcp.types import ResourceTemplate

        return [
            ResourceTemplate(uri_template=uri, **_described(uri, tool)) for uri, (_, tool) in self._templates.items()
        ]

    def find(self, uri: str) -> tuple[Any, dict[str, Any]] | None:
        """Return the value or function at an address, and the function's arguments; None: there is none."""
        if uri in self._fixed:
            return self._fixed[uri], {}
        for template, tool in self._templates.values():
            if (found := template.match(uri)) is not None:
                return tool, dict(found)
        return None

    def parameters(self, uri: str) -> dict[str, Any]:
        """Return the schemas of the names of a template."""
        known = self._templates.get(uri)
        return known[1].spec.parameters.get("properties", {}) if known else {}


def _template(uri: str, value: Any) -> tuple[UriTemplate, Tool]:
    from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

    if not isinstance(value, Tool):
        raise ConfigurationError(f"{uri}: an address with {{names}} needs a function of these names")
    try:
        template = UriTemplate.parse(uri)
    except InvalidUriTemplate as error:
        raise ConfigurationError(f"{uri} is no template of addresses: {error}") from None
    names, known = set(template.variable_names), value.spec.parameters.get("properties", {})
    if names - set(known) or set(value.spec.parameters.get("required", ())) - names:
        raise ConfigurationError(f"{uri}: the names in braces and the parameters of {value.name} are not the same")
    return template, value


def _described(uri: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Tool):
        return {"name": value.name, "description": value.spec.description or None}
    return {"name": uri.rpartition("/")[2] or uri, "mime_type": resource_contents(uri, value).mime_type}


class Prompts:
    """The prompts of a server.

    Args:
        given: functions of texts that return a text, a message, a content, or a list of these.

    Raises:
        ConfigurationError: two of them have one name.
        ToolDefinitionError: a function cannot be called by names.
    """

    def __init__(self, given: Iterable[Callable[..., Any] | Tool]) -> None:
        self._found: dict[str, Tool] = {}
        for each in given:
            tool = Tool.of(each)
            if tool.name in self._found:
                raise ConfigurationError(f"two prompts are called {tool.name}: give one another name")
            self._found[tool.name] = tool

    def __bool__(self) -> bool:
        return bool(self._found)

    def listed(self) -> list[types.Prompt]:
        """Return the prompts."""
        from mcp.types import Prompt, PromptArgument

        return [
            Prompt(
                name=name,
                description=tool.spec.description or None,
                arguments=[
                    PromptArgument(
                        name=each,
                        description=schema.get("description"),
                        required=each in tool.spec.parameters.get("required", ()),
                    )
                    for each, schema in self.parameters(name).items()
                ],
            )
            for name, tool in self._found.items()
        ]

    def find(self, name: str) -> Tool | None:
        """Return the function of a prompt; None: there is none of this name."""
        return self._found.get(name)

    def parameters(self, name: str) -> dict[str, Any]:
        """Return the schemas of the arguments of a prompt."""
        tool = self._found.get(name)
        return tool.spec.parameters.get("properties", {}) if tool else {}


def prompt_messages(value: Any) -> list[types.PromptMessage]:
    """Convert what a prompt's function returned; the origin of a text is the user."""
    from mcp.types import PromptMessage

    found: list[types.PromptMessage] = []
    for each in as_list(value):
        is_answer = isinstance(each, Message) and each.sender == "assistant"
        content = contents_block(as_text(each.content) if isinstance(each, Message) else each)
        found.append(PromptMessage(role="assistant" if is_answer else "user", content=content))
    return found


def completions(schema: Mapping[str, Any], begun: str) -> types.CompleteResult:
    """Return the values of an argument that go on with what a user has typed: those that its type names."""
    from mcp.types import CompleteResult, Completion

    named = schema.get("enum", [schema["const"]] if "const" in schema else [])
    found = [str(each) for each in named if str(each).startswith(begun)]
    first = found[:_MOST_COMPLETIONS]
    return CompleteResult(completion=Completion(values=first, total=len(found), has_more=len(found) > len(first)))
