"""Handlers of tool messages: the search for one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from types import CodeType
from typing import Any, TypeAlias

from trivium.actions._run import call_function
from trivium.actions._tool_message import ToolMessage
from trivium.commander import driver_neutral
from trivium.commander.lowlevel import is_blocking
from trivium.exceptions import ToolDefinitionError
from trivium.module import Module
from trivium.schema import Message

_MESSAGES = frozenset({"Message", "AgentMessage", "ChatDocument", "ChatDoc"})
Handler: TypeAlias = Callable[[Message], Coroutine[Any, Any, Any]]
"""A coroutine function of the message that carried the call."""


def find_handler(agent: object, message: ToolMessage) -> Handler | None:
    """Find the handler of a tool message at an agent.

    The agent's method comes first, named like the tool's `_handler`, else like its `request`; then the tool's own
    `handle`, then its `response`. Each may have the suffix `_async`; of both forms, the one that suits the running
    driver is taken, and either is enough. The methods of every module (`reset`, `stream`, …) handle nothing.

    A method of the agent gets the tool message first. Its other parameters, and those of `handle` in any order, are
    the agent and the message that carried the call, matched by annotation, else by name (`agent`, `chat_doc`); a
    single parameter that matches neither is the message. `response` gets the agent, then the message.

    Returns:
        A coroutine function of the message that carried the call, or None.

    Raises:
        ToolDefinitionError: several parameters of the handler match neither the agent nor the message.
    """
    kind = type(message)
    name = message.handler_name()
    if not hasattr(Module, name) and not isinstance(getattr(agent, name, None), Module):
        method = _find_form(agent, agent, name)
        if method is not None:
            return _bind(method, agent, _assign_parameters(method, agent, ["tool"]), message)
    handle = _find_form(kind, message, "handle")
    if handle is not None:
        return _bind(handle, agent, _assign_parameters(handle, agent, []))
    response = _find_form(kind, message, "response")
    if response is None:
        return None
    return _bind(response, agent, ["agent", "message"][: len(inspect.signature(response).parameters)])


def _find_form(owner: object, of: object, name: str) -> Callable[..., Any] | None:
    """Find a method in the form, sync or async, that suits the running driver, else in the other form."""
    names = (name, f"{name}_async") if is_blocking() else (f"{name}_async", name)
    for each in names:
        if callable(found := getattr(owner, each, None)):
            return found if of is owner else getattr(of, each)
    return None


def _bind(method: Callable[..., Any], agent: object, roles: list[str], tool: ToolMessage | None = None) -> Handler:
    @driver_neutral
    async def call(chat_message: Message) -> Any:
        given = {"tool": tool, "agent": agent, "message": chat_message}
        return await call_function(method, *[given[role] for role in roles])

    call.__wrapped__ = method  # type: ignore[attr-defined] - as functools.wraps does
    return call


def _assign_parameters(method: Callable[..., object], agent: object, first: list[str]) -> list[str]:
    """Assign to each parameter of a handler the tool, the agent or the message; `first` are assigned already."""
    code: CodeType | None = getattr(method, "__code__", None)
    is_plain = code is not None and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if code is not None and is_plain and code.co_argcount - inspect.ismethod(method) == len(first):
        return first  # most handlers take no more, and to read a signature costs as much as all the rest
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.kind in kinds][len(first) :]
    roles = [role_of(each, agent) for each in parameters]
    while roles and roles[-1] is None and parameters[len(roles) - 1].default is not inspect.Parameter.empty:
        roles.pop()  # the handler's own affair
    if roles.count(None) > 1:
        name = getattr(method, "__qualname__", repr(method))
        raise ToolDefinitionError(
            f"{name} has parameters of unknown meaning: annotate them, or call them `agent` and `chat_doc`"
        )
    return first + [role or "message" for role in roles]


def role_of(parameter: inspect.Parameter, agent: object) -> str | None:
    """The role of a handler's parameter, "agent" or "message"; None if neither its annotation nor its name tells."""
    annotation = parameter.annotation
    if annotation is not parameter.empty:
        text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        words = re.findall(r"\w+", text)
        kinds = {each.__name__ for each in type(agent).__mro__[:-1]}
        if any(word.endswith("Agent") or word in kinds for word in words):
            return "agent"
        if _MESSAGES.intersection(words):
            return "message"
    return {"agent": "agent", "chat_doc": "message", "message": "message", "msg": "message"}.get(parameter.name)
