"""The tools that end tasks, and what a message with one of them means to a task."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from pydantic import Field, SerializeAsAny, field_validator

from trivium.actions._texts import as_text
from trivium.actions._tool_message import ToolMessage
from trivium.policies import SourceKind
from trivium.schema import Entity, Message


class AgentDoneTool(ToolMessage):
    """The return value of an agent's handler that ends its task with a result. It is never offered to a model.

    Args:
        content: the result; text becomes the content of the result message, anything else also its attachment.
        tools: tool messages that go with the result.

    Example:
        >>> from trivium import ChatAgent
        >>> from trivium.testing import ScriptedModel
        >>> AgentDoneTool(content={"rent": 900}).response(ChatAgent(ScriptedModel(["hi"]))).content
        '{"rent": 900}'
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "agent_done_tool"
    purpose: str = "To end the task with <content> as its result, and <tools> that go with it."
    content: Any = None
    tools: list[SerializeAsAny[ToolMessage]] = Field(default=[])

    _allow_llm_use = False

    def response(self, agent: Any) -> Message:
        """The message by which the task ends: the result as text, the tool and its values as attachments."""
        value = () if self.content is None or isinstance(self.content, str) else (self.content,)
        said = Message(content=text_of_result(self.content), sender=agent.name, entity=Entity.AGENT)
        return said.replace(attachments=(self, *value, *self.tools))


class DoneTool(ToolMessage):
    """By which a model, or an agent's handler, ends its task, with a text as the result.

    Args:
        content: the result; anything but text is written as text.
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "done_tool"
    purpose: str = "To end the task, with <content> as its result."
    content: str = ""

    @field_validator("content", mode="before")
    @classmethod
    def _as_text(cls, given: object) -> str:
        return text_of_result(given)

    def response(self, agent: Any) -> Message:
        """The message by which the task ends."""
        return Message(content=self.content, sender=agent.name, entity=Entity.AGENT, attachments=(self,))

    @classmethod
    def instructions(cls) -> str:
        """Tell a model when to use the tool."""
        return f"When your task is done, call `{cls.name()}`, with your answer as its `content`."


class ResultTool(ToolMessage):
    """The return value of an agent's handler that ends its task with values of any kind as the result.

    Give it fields as you like, or subclass it; it is among the `tool_messages` of the result.

    Example:
        >>> ResultTool(rent=900).handle().tools[0].rent
        900
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "result_tool"
    purpose: str = "To end the task with the fields of this message as its result."

    def handle(self) -> AgentDoneTool:
        """The message that ends the task and holds this one."""
        return AgentDoneTool(tools=[self])


class FinalResultTool(AgentDoneTool):
    """The return value of an agent's handler that ends its task and every task above it, with one result.

    Give it `content`, or fields as you like, or subclass it; a subclass with `_allow_llm_use = True` may be offered
    to a model. It is among the `tool_messages` of the result.
    """

    _effect = "composite"
    request: str = "final_result_tool"
    purpose: str = "To end all tasks with <content> as the result."


def text_of_result(value: object) -> str:
    """A result as text; None is none."""
    return "" if value is None else as_text(value)


def is_done_tool(message: Message) -> bool:
    """True if a tool in a message ends its task."""
    held = message.attachments
    return bool(held) and any(isinstance(each, AgentDoneTool | DoneTool) for each in held)


def is_done_tool_alone(tool: object) -> bool:
    """True if a tool ends its own task and none of those above it."""
    return isinstance(tool, AgentDoneTool | DoneTool) and not isinstance(tool, FinalResultTool)


class Result(NamedTuple):
    """The result of a task that was ended by a tool.

    Args:
        content: the result; as it was given where it is no text.
        attachments: what goes with it.
    """

    content: Any
    attachments: tuple[Any, ...]


def result_of(message: Message) -> Result:
    """Return the result in a message that ends its task, without the tools that only end it.

    `ResultTool` and `FinalResultTool` stay; the tools within an `AgentDoneTool` come out of it.

    Example:
        >>> result_of(Message(content="", attachments=(AgentDoneTool(content=3, tools=[ResultTool(a=1)]),))).content
        3
    """
    content, kept = message.content, list[Any]()
    for each in message.attachments:
        if isinstance(each, AgentDoneTool | DoneTool) and (each.content is not None or not message.content):
            content = "" if each.content is None else each.content
        if isinstance(each, AgentDoneTool):
            more = (*(() if content is None or isinstance(content, str) else (content,)), *each.tools)
            kept += [value for value in more if not any(value is other for other in message.attachments)]
        if not is_done_tool_alone(each):
            kept.append(each)
    return Result(content, tuple(kept))
