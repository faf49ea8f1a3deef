"""The tools by which messages are passed on, forwarded and sent.

What is passed on keeps its origin: a person's words stay a person's, whoever forwards them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, SerializeAsAny

from trivium.actions._done_tools import AgentDoneTool
from trivium.actions._tool_message import ToolMessage
from trivium.exceptions import ToolArgumentsError, ToolError
from trivium.schema import Entity, Message, Origin

__all__ = ["AgentSendTool", "DonePassTool", "ForwardTool", "PassTool", "SendTool", "message_of_tool"]


class PassTool(ToolMessage):
    """By which an agent or its model passes the message that came in on, so that another handles it."""

    request: str = "pass_tool"
    purpose: str = "To pass the message that you have got on, so that another agent handles it."

    def response(self, agent: Any, chat_doc: Message) -> Message:
        """A copy of the message that `chat_doc` answers; of `chat_doc` itself, where that holds no such call.

        Raises:
            ToolError: what holds the call answers nothing, so there is nothing to pass on.
        """
        found: Message | None = chat_doc
        while found is not None and self._stands_in(found):
            found = found.parent
        if found is None:
            raise ToolError(f"{self.request}: there is no message to pass on; answer it yourself", self.request)
        passed = Message.deepcopy(found)
        return passed.replace(entity=Entity.AGENT, receiver=None, status=None, tool_call_id=None)

    def _stands_in(self, message: Message) -> bool:
        return any(call.name == self.request for call in message.tool_calls) or any(
            isinstance(each, type(self)) for each in message.attachments
        )

    @classmethod
    def instructions(cls) -> str:
        """What a model is told about when to use the tool."""
        return f"To leave the message that you have got to another agent, call `{cls.name()}`."


class DonePassTool(PassTool):
    """By which an agent or its model ends the task, with the message that came in as the result."""

    request: str = "done_pass_tool"
    purpose: str = "To end the task, with the message that you have got as its result."

    def response(self, agent: Any, chat_doc: Message) -> Message:
        """The message that came in, with the tool that ends the task."""
        passed = super().response(agent, chat_doc)
        return passed.replace(attachments=(*passed.attachments, AgentDoneTool(content=passed.content)))

    @classmethod
    def instructions(cls) -> str:
        """What a model is told about when to use the tool."""
        return f"When your task is done, and the message that you have got is its result, call `{cls.name()}`."


class ForwardTool(PassTool):
    """By which an agent or its model passes the message that came in on to somebody.

    Args:
        agent: the name of a task, or "User", "LLM", "Agent".
    """

    request: str = "forward_tool"
    purpose: str = 'To pass the message that you have got on to <agent>: the name of an agent, or "user" or "llm".'
    agent: str

    def response(self, agent: Any, chat_doc: Message) -> Message:
        """The message that came in, addressed."""
        return super().response(agent, chat_doc).replace(receiver=self.agent)

    @classmethod
    def instructions(cls) -> str:
        """What a model is told about when to use the tool."""
        return f"To leave the message that you have got to one agent, call `{cls.name()}`, with its name as `agent`."


class SendTool(ToolMessage):
    """By which an agent or its model sends a text to somebody.

    Args:
        to: the name of a task, or "User", "LLM", "Agent".
        content: the text.
    """

    request: str = "send_tool"
    purpose: str = "To send <content> to the agent that is called <to>."
    to: str
    content: str = ""

    def response(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """The text, addressed."""
        return message_of_tool(self, agent, chat_doc, Entity.AGENT).replace(receiver=self.to)

    @classmethod
    def instructions(cls) -> str:
        """What a model is told about when to use the tool."""
        return f"To send a message to an agent, call `{cls.name()}`, with its name as `to` and the text as `content`."

    @classmethod
    def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
        """A message alone, and one behind the thought that leads to it."""
        asked = cls(to="Librarian", content="Which books about bees do we have?")
        return [cls(to="Ada", content="The lease is signed."), ("The Librarian will know our books about bees.", asked)]


class AgentSendTool(ToolMessage):
    """What an agent's handler returns to send a text or tool messages to somebody. No model is offered it.

    Args:
        to: the name of a task, or "User", "LLM", "Agent".
        content: the text.
        tools: tool messages for the receiver.
    """

    request: str = "agent_send_tool"
    purpose: str = "To send <content> and <tools> to the agent that is called <to>."
    to: str
    content: str = ""
    tools: list[SerializeAsAny[ToolMessage]] = Field(default=[])

    _allow_llm_use = False

    def response(self, agent: Any) -> Message:
        """The text and the tool messages, addressed."""
        said = Message(content=self.content, sender=agent.name, entity=Entity.AGENT, receiver=self.to)
        return said.replace(attachments=tuple(self.tools) or None)


def message_of_tool(tool: Any, agent: Any, chat_doc: Message | None, entity: Entity) -> Message:
    """A message of a tool's own `content`. It is a model's only where the model wrote this tool in `chat_doc`."""
    said = Message(content=tool.content, sender=agent.name, entity=entity)
    return said.replace(origin=Origin.MODEL) if _is_written_in(tool, chat_doc) else said


def _is_written_in(tool: ToolMessage, chat_doc: Message | None) -> bool:
    if chat_doc is None or chat_doc.origin is not Origin.MODEL:
        return False
    for call in chat_doc.tool_calls:
        try:
            if call.name == tool.request and type(tool).parse(call.arguments).arguments() == tool.arguments():
                return True
        except ToolArgumentsError:
            continue
    return False
