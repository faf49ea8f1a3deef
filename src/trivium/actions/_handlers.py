"""Who handles a tool message, and with what; which tool a model meant that did not say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from trivium.actions._run import call_function
from trivium.actions._tool_message import ToolMessage
from trivium.commander import driver_neutral
from trivium.commander.lowlevel import is_blocking
from trivium.exceptions import ToolDefinitionError
from trivium.module import Module
from trivium.schema import Message

__all__ = ["find_handler", "infer_request"]

_MESSAGES = frozenset({"Message", "AgentMessage", "ChatDocument", "ChatDoc"})
Handler = Callable[[Message], Coroutine[Any, Any, Any]]


def find_handler(agent: Any, message: ToolMessage) -> Handler | None:
    """What handles a tool message at an agent.

    The agent's method comes first, called like the tool's `_handler`, else like its `request`; then the tool's
    own `handle`, then its `response`. Each may be written with `_async` behind its name; where both are, the one
    that suits how this code runs is taken, and either is enough. What every module has (`reset`, `stream`, …)
    handles nothing.

    A method of the agent gets the tool message first. What else it has as parameters, and those of `handle` in
    any order, are the agent and the message that carried the call, by annotation, else by name (`agent`,
    `chat_doc`); a single one of neither is the message. `response` gets the agent, then the message.

    Returns:
        A coroutine function of the message that carried the call, or None.

    Raises:
        ToolDefinitionError: the handler has parameters of which nobody can tell what they are.
    """
    kind = type(message)
    name = kind._handler or message.request
    if not hasattr(Module, name) and not isinstance(getattr(agent, name, None), Module):
        method = _form(agent, agent, name)
        if method is not None:
            return _bound(method, agent, _roles(method, agent, ["tool"]), message)
    handle = _form(kind, message, "handle")
    if handle is not None:
        return _bound(handle, agent, _roles(handle, agent, []))
    response = _form(kind, message, "response")
    if response is None:
        return None
    return _bound(response, agent, ["agent", "message"][: len(inspect.signature(response).parameters)])


def _form(owner: Any, of: Any, name: str) -> Callable[..., Any] | None:
    """A method in the form, sync or async, that suits how this code runs, else in the other."""
    names = (name, f"{name}_async") if is_blocking() else (f"{name}_async", name)
    return next((getattr(of, each) for each in names if callable(getattr(owner, each, None))), None)


def _bound(method: Callable[..., Any], agent: Any, roles: list[str], tool: ToolMessage | None = None) -> Handler:
    @driver_neutral
    async def call(chat_message: Message) -> Any:
        given = {"tool": tool, "agent": agent, "message": chat_message}
        return await call_function(method, *[given[role] for role in roles])

    call.__wrapped__ = method  # type: ignore[attr-defined] - as functools.wraps does
    return call


def _roles(method: Callable[..., Any], agent: Any, first: list[str]) -> list[str]:
    """What each parameter gets, behind those that are known."""
    code = getattr(method, "__code__", None)
    is_plain = code is not None and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if code is not None and is_plain and code.co_argcount - inspect.ismethod(method) == len(first):
        return first  # most handlers take no more, and to read a signature costs as much as all the rest
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.kind in kinds][len(first) :]
    roles = [_role(each, agent) for each in parameters]
    while roles and roles[-1] is None and parameters[len(roles) - 1].default is not inspect.Parameter.empty:
        roles.pop()  # the handler's own affair
    if roles.count(None) > 1:
        name = getattr(method, "__qualname__", repr(method))
        raise ToolDefinitionError(
            f"{name} has parameters of which nobody can tell what they are: annotate them, or call them "
            "`agent` and `chat_doc`"
        )
    return first + [role or "message" for role in roles]


def _role(parameter: inspect.Parameter, agent: Any) -> str | None:
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


def infer_request(values: Mapping[str, Any], classes: Iterable[type[ToolMessage]]) -> type[ToolMessage] | None:
    """The tool that a model meant which wrote an object without `request`: the only one that it fits.

    It fits a tool if each of its keys is one of the tool's fields, at least one of them the tool's own, and the
    values are valid.

    Args:
        values: the object.
        classes: the tools that may be meant: those that are handled where it arrived.

    Example:
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        >>> infer_request({"number": 3}, [Square]), infer_request({"name": "Ada"}, [Square])
        (<class 'trivium.actions._handlers.Square'>, None)
    """
    fitting = [each for each in dict.fromkeys(classes) if _fits(values, each)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(values: Mapping[str, Any], kind: type[ToolMessage]) -> bool:
    fields, common = kind.model_fields.keys(), ToolMessage.model_fields.keys()
    if not values.keys() <= fields or not values.keys() - common:
        return False
    try:
        kind.model_validate(dict(values))
    except ValidationError:
        return False
    return True
