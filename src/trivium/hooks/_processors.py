"""Hooks that turn the output of a parser into a tool call, and the result of the call into text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from trivium.hooks._hook import Hook
from trivium.schema import ActionReturn, ActionStatusCode, FunctionCall, Message, ToolStatusCode
from trivium.schema.lowlevel import is_mapping


class ActionPreprocessor(Hook):
    """Turns a message whose `formatted` names an action into a call for an executor, and its result into text.

    `formatted` is a `FunctionCall`, a dict with `name` and `parameters`, or a dict that has one of these as
    `action`. An action that names no tool is answered with the executor's `no_action`, for a model to read.
    """

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Message:
        """Replace the content by the call.

        Raises:
            AssertionError: `formatted` has not that form: the message went through no parser.
        """
        formatted, parts = message.formatted, _parts(message.formatted)
        is_call = isinstance(formatted, FunctionCall) or parts.keys() >= {"name", "parameters"}
        assert is_call or "action" in parts, _no_form(self, message)
        return message.replace(content=_call(executor, formatted if is_call else parts["action"]))

    def after_action(self, executor: Any, message: Message, session_id: Hashable) -> Message | None:
        """Replace the `ActionReturn` by its text, or by its error message."""
        returned = message.content
        if not isinstance(returned, ActionReturn):
            return None
        is_good = returned.state == ActionStatusCode.SUCCESS
        return message.replace(content=returned.format_result() if is_good else returned.errmsg)


class InternLMActionProcessor(ActionPreprocessor):
    """Does the same with the output of a `ToolParser`: a dict is a call, and text is code for the first action.

    An action that the parser could not read is answered with the executor's `no_action`; it never runs as code.

    Args:
        code_parameter: the parameter of the first action that takes code.

    Example:
        >>> from trivium.actions import ActionExecutor
        >>> def count(command: str) -> int:
        ...     return len(command)
        >>> found = {"tool_type": "code", "thought": "Hm.", "action": "1 + 1", "status": 1}
        >>> executor = ActionExecutor(count, hooks=InternLMActionProcessor())
        >>> executor(Message(content="…", sender="Agent", formatted=found)).content
        '5'
    """

    def __init__(self, code_parameter: str = "command") -> None:
        self.code_parameter = code_parameter

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Message:
        """Replace the content by the call.

        Raises:
            AssertionError: `formatted` lacks a part: the message went through no `ToolParser`.
        """
        parts = _parts(message.formatted)
        assert parts.keys() >= {"tool_type", "thought", "action", "status"}, _no_form(self, message)
        action = parts["action"]
        if isinstance(action, str) and parts["status"] != ToolStatusCode.PARSING_ERROR:
            first = next(iter(executor.actions), executor.no_action.name)
            action = {"name": first, "parameters": {self.code_parameter: action}}
        return message.replace(content=_call(executor, action))


def _call(executor: Any, action: Any) -> dict[str, Any]:
    if isinstance(action, FunctionCall):
        return {"name": action.name, "parameters": action.parameters}
    parts = _parts(action)
    if parts.keys() >= {"name", "parameters"}:
        return {"name": parts["name"], "parameters": parts["parameters"]}
    return {"name": executor.no_action.name, "parameters": {}}


def _parts(value: Any) -> Mapping[str, Any]:
    return value if is_mapping(value) else {}


def _no_form(hook: Hook, message: Message) -> str:
    return (
        f"{type(hook).__name__} cannot read a call from formatted={message.formatted!r}: give the agent that answers "
        "an output_format such as ToolParser"
    )
