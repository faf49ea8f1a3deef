"""The executor: the one place where a tool runs."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from trivium.actions._tool import Tool
from trivium.commander import Event, invoke, portable, step
from trivium.commander._node import make_scope
from trivium.exceptions import LimitExceededError, ToolArgumentsError, UnknownToolError
from trivium.hooks import Hook
from trivium.module import AsyncModule, Module
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode, FunctionCall, Message, ToolCall

__all__ = ["ActionExecutor", "AsyncActionExecutor", "ToolCallEvent", "ToolResultEvent", "as_text", "run_tool"]


class ToolCallEvent(Event[tuple[str, str | Mapping[str, Any]]]):
    """A tool is called: its name and the arguments as they came."""

    __slots__ = ()
    kind = "tool_call"


class ToolResultEvent(Event[Any]):
    """What the tool returned."""

    __slots__ = ()
    kind = "tool_result"


@portable
async def run_tool(tool: Tool, arguments: str | Mapping[str, Any]) -> Any:
    """Run a tool as a node of the tree and return what it returned.

    Raises:
        ToolArgumentsError: the arguments do not fit; the tool did not run.
        LimitExceededError: the run has no tool call left; the tool did not run.
        Exception: whatever the tool raised.
    """
    with step(f"tool:{tool.name}") as node:
        node._emit(ToolCallEvent, (tool.name, arguments))
        if node._scope.budget is not None:
            node._scope.budget.take_tool_call()
        values = tool.validate(arguments)
        if tool.timeout is not None:
            node._scope = make_scope(node, timeout=tool.timeout, limits=None)
        result = await invoke(tool.call, **values)
        node._check()  # sync code cannot be interrupted: what came too late fails here
        node._emit(ToolResultEvent, result)
        return result


def as_text(value: Any) -> str:
    """A tool's result as a model reads it: text as it is, anything else as JSON where it can be."""
    if isinstance(value, str):
        return value
    if isinstance(value, Message):
        return as_text(value.content)
    if hasattr(value, "model_dump_json"):
        return value.model_dump_json()
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


class ActionExecutor(Module):
    """Runs tools: called with a message whose content names a tool and its parameters, it answers with its return.

    A failing tool, unknown names and bad arguments are answers too: a model reads them and tries again. A
    stopped run and a reached limit are not; they end the run.

    Args:
        actions: tools or functions, one or several.
        hooks: change messages before and after (`before_action`, `after_action`).

    Example:
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> executor = ActionExecutor(add)
        >>> executor(Message(content={"name": "add", "parameters": {"a": 1, "b": 2}})).content.format_result()
        '3'
    """

    def __init__(self, actions: Any = (), hooks: Hook | Iterable[Hook] | None = None, name: str | None = None) -> None:
        super().__init__(name=name, hooks=hooks)
        many = cast("Iterable[Any]", actions) if isinstance(actions, list | tuple | set) else [actions]
        self.actions: dict[str, Tool] = {}
        for action in many:
            self.add(action)

    def add(self, action: Any) -> Tool:
        """Add a tool or a function, under its name."""
        tool = Tool.of(action)
        self.actions[tool.name] = tool
        return tool

    def __contains__(self, name: str) -> bool:
        return name in self.actions

    def keys(self) -> list[str]:
        """The names of the tools."""
        return list(self.actions)

    @portable
    async def forward(self, message: Message) -> Message:
        """Run the tool that the content names; the answer's content is an `ActionReturn`."""
        name, parameters = _function_call(message.content)
        return Message(sender=self.name, content=await self.run(name, parameters))

    @portable
    async def run(self, name: str, parameters: str | Mapping[str, Any]) -> ActionReturn:
        """Run a tool by name; the outcome, good or bad, as an `ActionReturn`."""
        returned = ActionReturn(type=name, args=None if isinstance(parameters, str) else dict(parameters))
        try:
            tool = self.actions.get(name)
            if tool is None:
                raise UnknownToolError(
                    f"there is no tool '{name}'; there are {', '.join(self.actions) or 'none'}", name
                )
            result = await run_tool(tool, parameters)
        except LimitExceededError:
            raise  # the run's, not the tool's
        except UnknownToolError as error:
            return _failed(returned, ActionStatusCode.API_ERROR, error, ActionValidCode.INVALID)
        except ToolArgumentsError as error:
            return _failed(returned, ActionStatusCode.ARGS_ERROR, error)
        except Exception as error:
            return _failed(returned, ActionStatusCode.API_ERROR, error)
        if isinstance(result, ActionReturn):
            return result
        return replace(returned, result=[{"type": "text", "content": as_text(result)}])

    @portable
    async def answer(self, call: ToolCall) -> Message:
        """Run a model's call; the message that goes back to the model."""
        returned = await self.run(call.name, call.arguments)
        content = returned.format_result() if returned.errmsg is None else f"error: {returned.errmsg}"
        return Message(content=content, sender=call.name, formatted=returned, tool_call_id=call.id)

    async def _before(self, hook: Hook, messages: list[Message], session_id: Hashable) -> list[Message]:
        changed = await invoke(hook.before_action, self, messages[0], session_id, quick=True)
        return [changed, *messages[1:]] if changed else messages

    async def _after(self, hook: Hook, message: Message, session_id: Hashable) -> Message:
        return await invoke(hook.after_action, self, message, session_id, quick=True) or message


class AsyncActionExecutor(AsyncModule, ActionExecutor):
    """An `ActionExecutor` whose call gives a coroutine."""


def _function_call(content: Any) -> tuple[str, str | Mapping[str, Any]]:
    if isinstance(content, FunctionCall):
        return content.name, content.parameters
    if isinstance(content, Mapping):
        given = cast("Mapping[str, Any]", content)
        if "name" in given and "parameters" in given:
            return given["name"], given["parameters"]
    raise AssertionError("an executor is called with {'name': …, 'parameters': {…}} as content, or a FunctionCall")


def _failed(
    returned: ActionReturn, state: ActionStatusCode, error: Exception, valid: ActionValidCode = ActionValidCode.OPEN
) -> ActionReturn:
    return replace(returned, state=state, valid=valid, errmsg=str(error) or type(error).__name__)
