"""Tool models: the description of tools for a model, and its calls, through OpenAI's interface or in plain text."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, get_args

from trivium.actions import Tool
from trivium.contexts._context_models import approximate_tokens
from trivium.exceptions import ArgumentTypeError, ToolDefinitionError
from trivium.llms import Delta
from trivium.llms.wire import chat_tool
from trivium.prompts import PromptTemplate
from trivium.schema import ToolCall
from trivium.schema.lowlevel import ToolCallReader
from trivium.streams import Piece, async_dispatcher_tools_call_for_openai, split_among_readers

Roles = Callable[[str], AsyncGenerator[str]]
"""A function from "to_user" or "tool_call" to that part of the answer: text for the user, or tool calls as JSON."""

CUSTOM_TOOL_MANUAL_TEMPLATE = """\
You can call tools. To call one, write one JSON object with the tool's name as "request" and its arguments beside it, \
as in {"request": "weather", "city": "Paris"}. Write nothing else in that form. What you write outside of such \
objects is shown to the user. Call only these tools, and only with arguments that fit their schemas:
{{ tools }}
"""


class OpenaiToolModel:
    """Tools for a model behind OpenAI's chat interface.

    Args:
        tool_token_counter: the tokens of the manual's JSON text; default `approximate_tokens`.
        to_user_flag: the name of an argument, added to each tool, for the model's text to the user; None adds
            none.

    Example:
        >>> def double(number: int) -> int:
        ...     return 2 * number
        >>> (manual,) = OpenaiToolModel().get_tools_manual([Tool.of(double)])
        >>> list(manual["function"]["parameters"]["properties"])
        ['to_user', 'number']
    """

    tool_model_name = "OPENAI"

    def __init__(
        self, tool_token_counter: Callable[[str], int] | None = None, to_user_flag: str | None = "to_user"
    ) -> None:
        self.tool_token_counter, self.to_user_flag = tool_token_counter or approximate_tokens, to_user_flag

    def get_tools_manual(self, tools: Iterable[Tool]) -> list[dict[str, Any]]:
        """The value of `tools` in a request.

        Raises:
            ToolDefinitionError: a tool has a parameter named like the flag.
        """
        return [chat_tool(self._flagged(tool).spec) for tool in tools]

    def _flagged(self, tool: Tool) -> Tool:
        flag, schema = self.to_user_flag, tool.spec.parameters
        if not flag:
            return tool
        _check_free(tool, flag)
        text = "What to tell the user about this call before it is made, in the user's language."
        properties = {flag: {"type": "string", "description": text}, **schema.get("properties", {})}
        return tool.replace(spec=replace(tool.spec, parameters={**schema, "properties": properties}, strict=False))

    def tool_manual_token_counter(self, tools: Iterable[Tool]) -> int:
        """The tokens of the manual."""
        return self.tool_token_counter(json.dumps(self.get_tools_manual(tools), ensure_ascii=False))

    async def parse_response(self, source: AsyncIterable[object]) -> Roles:
        """Split a streamed answer into text for the user and tool calls without the flag's argument.

        Args:
            source: the chunks of OpenAI's client.
        """
        flag = self.to_user_flag or "\0"  # no argument has this name
        return await async_dispatcher_tools_call_for_openai(source=source, to_user_flag=flag)


class CustomToolModel:
    """Tools for a model without an interface for tools: described in a message, called in the text of the answer.

    A call is a JSON object with a `request`, like all tool messages of trivium.

    Args:
        tool_bead_maker: makes a piece of a context from the manual's text; default: a system message.
        custom_tool_manual_template: the manual, with the variable `{{ tools }}`.

    Example:
        >>> def double(number: int) -> int:
        ...     return 2 * number
        >>> print(CustomToolModel(custom_tool_manual_template="Tools: {{ tools }}").get_tools_manual([Tool.of(double)]))
        Tools: [{"name": "double", "description": "", "parameters": {"additionalProperties": false, "properties": \
{"number": {"type": "integer"}}, "required": ["number"], "type": "object"}}]
    """

    tool_model_name = "CUSTOM"

    def __init__(
        self,
        tool_bead_maker: Callable[[str], Any] | None = None,
        custom_tool_manual_template: str | None = None,
    ) -> None:
        self.tool_bead_maker = tool_bead_maker or _system_message
        self.custom_tool_manual_template = custom_tool_manual_template or CUSTOM_TOOL_MANUAL_TEMPLATE

    def tool_manual_bead_maker(self, manual: str) -> Any:
        """Make the piece of a context with the manual."""
        return self.tool_bead_maker(manual)

    def get_tools_manual(self, tools: Iterable[Tool]) -> str:
        """Render the text that describes tools and how to call them.

        Raises:
            ToolDefinitionError: a tool has a parameter named `request`.
        """
        told: list[Any] = []
        for tool in tools:
            _check_free(tool, "request")
            told.append(chat_tool(tool.spec)["function"])
        template = PromptTemplate(self.custom_tool_manual_template)
        return template.render(tools=json.dumps(told, ensure_ascii=False)).prompt

    async def parse_response(self, source: AsyncIterable[object]) -> Roles:
        """Split a streamed answer into text for the user and tool calls, whatever the boundaries of its chunks.

        The two parts may be read at once or one after the other. If the source fails, each reader gets the pieces
        before, and then the error.

        Args:
            source: the text in pieces; the other items of a model's stream, such as its usage or None, are ignored.

        Returns:
            A function from "to_user" or "tool_call" to an async generator; tool calls are JSON texts with
            `tool_call_index`, `tool_call_id`, `name` and `arguments`. They raise `ArgumentTypeError` at anything else.
        """
        return await split_among_readers(source, _TextSplitter())


def _system_message(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _check_free(tool: Tool, name: str) -> None:
    if name in tool.spec.parameters.get("properties", {}):
        raise ToolDefinitionError(
            f"the tool {tool.name} has the parameter '{name}', which means something else in a call: rename it",
            tool.name,
        )


class _TextSplitter:
    """Splits a text into text for the user and tool calls."""

    def __init__(self) -> None:
        self.ended = False
        self._reader = ToolCallReader()
        self._calls = 0

    def feed(self, item: object) -> Iterator[Piece]:
        """Return the pieces that an item adds."""
        if isinstance(item, str):
            yield from self._sorted(self._reader.feed(item))
        elif item is not None and not isinstance(item, get_args(Delta)):  # None as in OpenAI's `delta.content`
            problem = f"the source is the text of an answer in pieces, and {type(item).__name__} is no text"
            raise ArgumentTypeError(f"{problem}: of OpenAI's chunks, give `chunk.choices[0].delta.content`", "source")

    def end(self) -> Iterator[Piece]:
        """Return the pieces that are left at the end."""
        self.ended = True
        yield from self._sorted(self._reader.feed("", is_end=True))

    def _sorted(self, parts: Iterable[str | ToolCall]) -> Iterator[Piece]:
        for part in parts:
            if isinstance(part, str):
                yield "to_user", part
                continue
            shown = {"tool_call_index": self._calls, "tool_call_id": f"call_{self._calls}", "name": part.name}
            self._calls += 1
            yield "function_call", json.dumps({**shown, "arguments": json.loads(part.arguments)}, ensure_ascii=False)
