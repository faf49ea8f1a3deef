"""The tool calls in a message, as an agent reads them: which there are, and which of them it handles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from trivium.actions import ToolMessage, calls_in_text
from trivium.commander.lowlevel import current
from trivium.schema import Message, Origin, ToolCall
from trivium.schema.lowlevel import linked, links_of

if TYPE_CHECKING:
    from trivium.agents._names import AgentNames
    from trivium.agents._toolbox import Toolbox, ToolClass

__all__ = [
    "as_message",
    "calls_in",
    "class_of",
    "handled_in",
    "handles_tool",
    "is_empty",
    "parse_call",
    "read_calls",
    "recipient_of",
]

_MODEL = Origin.MODEL  # a member is slow to look up


def read_calls(box: Toolbox, message: Message) -> tuple[ToolCall, ...]:
    """Return the calls in the text of a message that a model wrote. They are parsed once for each toolbox."""
    text = message.content
    if not isinstance(text, str) or ("{" not in text and "<" not in text):
        return ()
    kept = links_of(message).get("calls")
    if kept is not None and kept[0] is box and kept[1] is text:
        return kept[2]
    calls = calls_in_text(text, box.known, box.handled_classes)
    linked(message)["calls"] = (box, text, calls)
    return calls


def calls_in(agent: AgentNames, message: Message) -> tuple[ToolCall, ...]:
    """Return the calls of a message that a model wrote, known to the agent or not. Nobody else's words are calls."""
    if message.origin is not _MODEL:
        return ()
    if calls := message.tool_calls:
        return calls
    if agent.overridden.isdisjoint(("get_formatted_tool_messages", "get_json_tool_messages")):
        return read_calls(agent.toolbox, message)
    own = "get_json_tool_messages" if "get_json_tool_messages" in agent.overridden else "get_formatted_tool_messages"
    found = getattr(agent, own)(message.content) if isinstance(message.content, str) else ()
    return tuple(ToolCall(tool.id, tool.request, tool.to_json()) for tool in found)


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
    return agent.toolbox.class_of(name, orchestrates=agent.orchestrates)


def handled_in(agent: AgentNames, message: Message) -> tuple[ToolCall | ToolMessage, ...]:
    """Return what the agent handles of a message: calls that a model made, tool messages that a program put there.

    It is found out once, as long as neither the message nor what the agent knows is changed.
    """
    box, config = agent.toolbox, agent.config
    kept = links_of(message).get("handled")
    if kept is not None and kept[0] is box and kept[1] is config and kept[2] == agent.name:
        return kept[3]
    orchestrates, found = agent.orchestrates, list[ToolCall | ToolMessage]()
    for call in calls_in(agent, message):
        is_for_this = '"recipient"' not in call.arguments or recipient_of(call.arguments) in ("", agent.name)
        if is_for_this and box.handles(call.name, orchestrates=orchestrates):
            found.append(call)
    if "attachments" in message.__pydantic_extra__:
        found += [tool for tool in message.tool_messages if handles_tool(agent, tool)]
    linked(message)["handled"] = (box, config, agent.name, tuple(found))
    return tuple(found)


def handles_tool(agent: AgentNames, tool: ToolMessage) -> bool:
    """Return whether the agent handles a tool message: by its name, and by whom it is for."""
    if not agent.toolbox.handles(tool.request, orchestrates=agent.orchestrates):
        return False
    return (tool.model_extra or tool.__dict__).get("recipient", "") in ("", agent.name)


def as_message(message: Message | str, said_by_program: bool = False) -> Message:
    """Return a message as it is, and text as a user's message.

    Args:
        message: the message or text.
        said_by_program: text from outside any run is a program's own, so calls in it count. Within a run, text may
            be anybody's.
    """
    if isinstance(message, Message):
        return message
    if said_by_program and current.get() is None:
        return Message(content=message, origin=_MODEL)
    return Message(content=message)


def recipient_of(arguments: str) -> str:
    """Return whom a call is for by its `recipient`; "" where it names nobody."""
    try:
        found: object = json.loads(arguments, strict=False)
    except ValueError:
        return ""
    return str(cast("dict[str, object]", found).get("recipient") or "") if isinstance(found, dict) else ""


def is_empty(message: Message) -> bool:
    """Return whether a message says nothing to a model: no text, call, result or file, and no value beside tools."""
    content, extra = message.content, message.__pydantic_extra__
    if content is not None and not (isinstance(content, str) and not content.strip()):
        return False
    if any(extra.get(name) for name in ("tool_calls", "tool_results", "files")):
        return False
    return all(isinstance(each, ToolMessage) for each in extra.get("attachments", ()))
