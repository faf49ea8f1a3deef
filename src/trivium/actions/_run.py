"""Running a tool: the one place where that happens, and how every outcome becomes a return."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import to_jsonable_python

from trivium.actions._tool import Tool
from trivium.commander import Event, invoke, portable, step
from trivium.commander._node import make_scope
from trivium.exceptions import FetchError, LimitExceededError, RemoteServiceError, ToolArgumentsError
from trivium.schema import ActionReturn, ActionStatusCode, Message

__all__ = ["ToolCallEvent", "ToolResultEvent", "as_text", "outcome_of", "run_tool", "sendable"]


class ToolCallEvent(Event[tuple[str, str | Mapping[str, Any]]]):
    """A tool is called: its name and the arguments as they came."""

    __slots__ = ()
    kind = "tool_call"


class ToolResultEvent(Event[Any]):
    """What the tool returned."""

    __slots__ = ()
    kind = "tool_result"


@portable
async def run_tool(tool: Tool, arguments: str | Mapping[str, Any], returned: ActionReturn | None = None) -> Any:
    """Run a tool as a node of the tree and return what it returned; `returned` is told the arguments as understood.

    Raises:
        ToolArgumentsError: the arguments do not fit; the tool did not run.
        LimitExceededError: the run has no tool call left; the tool did not run.
        Exception: whatever the tool raised.
    """
    name = tool.spec.name
    with step(f"tool:{name}") as node:
        node._emit(ToolCallEvent, (name, arguments))
        if node._scope.budget is not None:
            node._scope.budget.take_tool_call()
        values = tool.validate(arguments)
        if returned is not None:
            returned.args = values
        if tool.timeout is not None:
            node._scope = make_scope(node, timeout=tool.timeout, limits=None)
        result = await invoke(tool.call, **values)
        node._check()  # sync code cannot be interrupted: what came too late fails here
        node._emit(ToolResultEvent, result)
        return result


@portable
async def outcome_of(tool: Tool, arguments: str | Mapping[str, Any]) -> ActionReturn:
    """Run a tool; the outcome, good or bad, as an `ActionReturn` with the arguments as they were understood.

    Raises:
        LimitExceededError: the run's, not the tool's.
    """
    name = tool.spec.name
    returned = ActionReturn(as_arguments(name, arguments), None, name)
    try:
        result = await run_tool(tool, arguments, returned)
    except LimitExceededError:
        raise
    except ToolArgumentsError as error:
        return returned.but(state=ActionStatusCode.ARGS_ERROR, errmsg=str(error))
    except (FetchError, RemoteServiceError) as error:
        return returned.but(state=ActionStatusCode.HTTP_ERROR, errmsg=str(error))
    except Exception as error:
        return returned.but(state=ActionStatusCode.API_ERROR, errmsg=str(error) or type(error).__name__)
    if isinstance(result, ActionReturn):  # what it leaves open is filled in
        return result.but(args=result.args or returned.args, type=result.type or returned.type)
    returned.result = [{"type": "text", "content": as_text(result)}]
    return returned


def as_arguments(name: str, arguments: Any) -> dict[str, Any]:
    """The arguments of a call as they came, where they could not be understood."""
    is_dict = isinstance(arguments, Mapping)
    return dict(cast("Mapping[str, Any]", arguments)) if is_dict else {"inputs": arguments, "name": name}


def sendable(text: str) -> str:
    """The text as UTF-8 can have it: half of a character that was cut in two becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def as_text(value: Any) -> str:
    """A tool's result as a model reads it: text as it is, anything else as JSON where it can be."""
    if isinstance(value, str):
        return value
    if isinstance(value, Message):
        return as_text(value.content)
    if hasattr(value, "model_dump_json") and not isinstance(value, type):
        return value.model_dump_json()
    try:
        return json.dumps(value, ensure_ascii=False, default=_jsonable)
    except (TypeError, ValueError):
        return str(value)


def _jsonable(value: Any) -> Any:
    """The value by parts that JSON has; an iterator is not used up for it: it may be endless, and it travels too."""
    return repr(value) if hasattr(value, "__next__") else to_jsonable_python(value)
