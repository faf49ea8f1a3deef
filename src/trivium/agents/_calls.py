"""The tool calls in a message, as an agent reads them: which there are, and which of them it handles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from types import MethodType
from typing import TYPE_CHECKING, Final, cast

import trivium.actions as actions
from trivium.actions import ToolMessage, calls_in_text
from trivium.actions.lowlevel import warn_of_text
from trivium.agents._toolbox import ORCHESTRATION
from trivium.commander.lowlevel import current
from trivium.exceptions import ToolArgumentsError
from trivium.schema import Message, Origin, ToolCall
from trivium.schema.lowlevel import check_content, linked

if TYPE_CHECKING:
    from trivium.agents._names import AgentNames
    from trivium.agents._toolbox import ToolClass

READERS: Final = ("get_json_tool_messages", "get_formatted_tool_messages")
"""The documented methods that read calls in a text, where a subclass has written them."""
_MODEL, _PROGRAM = Origin.MODEL, Origin.PROGRAM  # a member is slow to look up


def overrides(agent: AgentNames, *names: str) -> bool:
    """Return whether one of the agent's documented methods was written by a subclass, or set on the object.

    Where it was not, its callers do what it does by themselves: in async code, to `invoke` a plain `def`, which might
    block, costs a thread.
    """
    written, cls = agent.overridden, type(agent)  # not `vars(agent)`: then each of its attributes is slow to read
    for name in names:  # noqa: SIM110 - a generator takes twice as long
        if name in written or getattr(agent, name) != MethodType(getattr(cls, name), agent):
            return True
    return False


def read_calls(agent: AgentNames, text: object, *, everywhere: bool = True) -> tuple[ToolCall, ...]:
    """Return the calls in a text that the agent's own model, or a program in its name, has written.

    Args:
        agent: the agent.
        text: the text.
        everywhere: find calls within sentences too; else the text is calls, or it is text.
    """
    if not isinstance(text, str):
        return ()
    if overrides(agent, *READERS):
        name = next(each for each in READERS if overrides(agent, each))
        with suppress(ToolArgumentsError):  # where the calls are handled, the model is told what is wrong
            return tuple(ToolCall(tool.id, tool.request, tool.to_json()) for tool in getattr(agent, name)(text))
    return calls_in_text(text, agent.toolbox.known, everywhere=everywhere) if "request" in text else ()


def calls_in(agent: AgentNames, message: Message) -> tuple[ToolCall, ...]:
    """Return the calls of a message: those that a model made, or that stand in a text that a program gave for one."""
    extra = message.__pydantic_extra__
    origin = extra.get("origin")
    if origin is not _MODEL and origin is not _PROGRAM:
        return ()
    if calls := extra.get("tool_calls"):
        return calls
    return read_calls(agent, message.content) if origin is _PROGRAM else ()


def parse_call(agent: AgentNames, call: ToolCall) -> ToolMessage | None:
    """Return the tool message that a call fills in; None where the agent knows no such tool.

    Raises:
        ToolArgumentsError: the call does not fit its tool.
    """
    tool_class = class_of(agent, call.name)
    if tool_class is None:
        return None
    tool = tool_class.parse(call.arguments)
    tool.id = call.id
    return tool


def class_of(agent: AgentNames, name: str) -> ToolClass | None:
    """Return the ToolMessage class of this name that the agent knows; None where it knows none."""
    found = agent.toolbox.known.get(name)
    if found is not None or name not in ORCHESTRATION or not agent.orchestrates:
        return found
    return getattr(actions, ORCHESTRATION[name])


def handled_by(agent: AgentNames, message: Message | str) -> Sequence[ToolCall | ToolMessage]:
    """Return what the agent handles of a message: by its `get_tool_messages`, where a subclass has written that.

    Else it is found out once, as long as neither the message nor what the agent knows is changed.
    """
    message = message if isinstance(message, Message) else as_message(message)
    if overrides(agent, "get_tool_messages"):
        with suppress(ToolArgumentsError):  # where they are handled, the model is told what is wrong
            return agent.get_tool_messages(message)
    extra, box, config = message.__pydantic_extra__, agent.toolbox, agent.config
    if "origin" not in extra and "attachments" not in extra:
        return ()
    links = message.__pydantic_private__ or linked(message)
    kept = links.get("handled")
    if kept is None or kept[0] is not box or kept[1] is not config or kept[2] != agent.name:
        kept = links["handled"] = (box, config, agent.name, find_handled(agent, message))
    return kept[3]


def find_handled(agent: AgentNames, message: Message) -> tuple[ToolCall | ToolMessage, ...]:
    """Return the calls that a model made and the tool messages that a program put there, if the agent handles them."""
    found = [
        call
        for call in calls_in(agent, message)
        if ('"recipient"' not in call.arguments or recipient_of(agent, call.arguments) in ("", agent.name))
        and (handles(agent, call.name) or (call.name in agent.executor.tools and message.sender == agent.name))
    ]
    if "attachments" not in message.__pydantic_extra__:
        return tuple(found)
    return (*found, *[tool for tool in message.tool_messages if handles_tool(agent, tool)])


def find_all(agent: AgentNames, message: Message) -> Sequence[ToolCall | ToolMessage]:
    """Return the calls and tool messages in a message, whoever handles them."""
    return (*message.tool_messages, *calls_in(agent, message))


def handles(agent: AgentNames, name: str) -> bool:
    """Return whether the agent handles the tool of this name: one that is enabled, or that steers tasks."""
    box = agent.toolbox
    return name in box.handled or (name in ORCHESTRATION and name not in box.known and agent.orchestrates)


def handles_tool(agent: AgentNames, tool: ToolMessage) -> bool:
    """Return whether the agent handles a tool message: by its name, and by whom it is for."""
    return handles(agent, tool.request) and (tool.model_extra or tool.__dict__).get("recipient", "") in ("", agent.name)


def as_message(message: Message | str, said_by_program: bool = False) -> Message:
    """Return a message as it is, and text as a user's message.

    Args:
        message: the message or text.
        said_by_program: text from outside any run is a program's own, so calls in it count. Within a run, text may
            be anybody's.
    """
    if isinstance(message, Message):
        return message
    made = Message(content=check_content(message))
    return made.replace(origin=_PROGRAM) if said_by_program and current.get() is None else made


def warn_of_calls(agent: AgentNames, given: Message) -> None:
    """Warn of a text that calls nothing within a run, and outside of one would call what the agent handles."""
    if "origin" not in given.__pydantic_extra__:
        for call in calls_in(agent, given.replace(origin=_PROGRAM)):
            if handles(agent, call.name) and (kind := class_of(agent, call.name)):
                warn_of_text(call.name, kind.__name__, agent.name)


def recipient_of(agent: AgentNames, arguments: str) -> str:
    """Return whom a call is for by its `recipient`; "" where it names nobody, or the agent reads no addresses."""
    try:
        found: object = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return ""
    is_read = isinstance(found, dict) and agent.options.recognize_recipient_in_content
    return str(cast("dict[str, object]", found).get("recipient") or "") if is_read else ""


def is_empty(message: Message) -> bool:
    """Return whether a message says nothing to a model: no text, call, result or file, and no value beside tools."""
    content, extra = message.content, message.__pydantic_extra__
    if content is not None and not (isinstance(content, str) and not content.strip()):
        return False
    has_more = any(extra.get(name) for name in ("tool_calls", "tool_results", "files"))
    return not has_more and all(isinstance(each, ToolMessage) for each in extra.get("attachments", ()))
