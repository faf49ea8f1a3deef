"""The tools that pass on, forward and send messages.

A message that is passed on keeps its origin: a user's message stays a user's message. A text that a model writes into
one of these tools is text for whoever gets it, and calls nothing there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field, SerializeAsAny

from trivium.actions._done_tools import AgentDoneTool
from trivium.actions._tool_message import ToolMessage
from trivium.exceptions import ToolError
from trivium.module import Module
from trivium.policies import SourceKind
from trivium.schema import Entity, Message


class PassTool(ToolMessage):
    """The tool of an agent or its model that passes on the incoming message, so that another agent handles it."""

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "pass_tool"
    purpose: str = "To pass the message that you have got on, so that another agent handles it."

    def response(self, agent: object, chat_doc: Message) -> Message:
        """Copy the message that `chat_doc` answers, or `chat_doc` itself if it holds no such call.

        Raises:
            ToolError: the message with the call answers none, so there is nothing to pass on.
        """
        found: Message | None = chat_doc
        while found is not None and (
            any(call.name == self.request for call in found.tool_calls)
            or any(isinstance(each, type(self)) for each in found.attachments)
        ):
            found = found.parent
        if found is None:
            raise ToolError(f"{self.request}: there is no message to pass on; answer it yourself", self.request)
        passed = Message.deepcopy(found)
        return passed.replace(entity=Entity.AGENT, receiver=None, status=None, tool_call_id=None)

    @classmethod
    def instructions(cls) -> str:
        """Instruct a model when to use the tool."""
        return f"To leave the message that you have got to another agent, call `{cls.name()}`."


class DonePassTool(PassTool):
    """The tool of an agent or its model that ends the task, with the incoming message as its result."""

    _effect = "composite"
    request: str = "done_pass_tool"
    purpose: str = "To end the task, with the message that you have got as its result."

    def response(self, agent: object, chat_doc: Message) -> Message:
        """Copy the incoming message, with the tool that ends the task."""
        passed = super().response(agent, chat_doc)
        return passed.replace(attachments=(*passed.attachments, AgentDoneTool(content=passed.content)))

    @classmethod
    def instructions(cls) -> str:
        """Instruct a model when to use the tool."""
        return f"When your task is done, and the message that you have got is its result, call `{cls.name()}`."


class ForwardTool(PassTool):
    """The tool of an agent or its model that forwards the incoming message.

    Args:
        agent: the name of a task, or "User", "LLM", "Agent".
    """

    _effect = "composite"
    request: str = "forward_tool"
    purpose: str = 'To pass the message that you have got on to <agent>: the name of an agent, or "user" or "llm".'
    agent: str

    def response(self, agent: object, chat_doc: Message) -> Message:
        """Copy the incoming message, with the receiver."""
        return super().response(agent, chat_doc).replace(receiver=self.agent)

    @classmethod
    def instructions(cls) -> str:
        """Instruct a model when to use the tool."""
        return f"To leave the message that you have got to one agent, call `{cls.name()}`, with its name as `agent`."


class SendTool(ToolMessage):
    """The tool of an agent or its model that sends a text.

    Args:
        to: the name of a task, or "User", "LLM", "Agent".
        content: the text.
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "send_tool"
    purpose: str = "To send <content> to the agent that is called <to>."
    to: str
    content: str = ""

    def response(self, agent: Module, chat_doc: Message | None = None) -> Message:
        """Make a message of the text, with the receiver."""
        return Message(content=self.content, sender=agent.name, entity=Entity.AGENT, receiver=self.to)

    @classmethod
    def instructions(cls) -> str:
        """Instruct a model when to use the tool."""
        return f"To send a message to an agent, call `{cls.name()}`, with its name as `to` and the text as `content`."

    @classmethod
    def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
        """A message alone, and one with the thought that leads to it."""
        question = cls(to="Librarian", content="Which books about bees do we have?")
        return [
            cls(to="Ada", content="The lease is signed."),
            ("The Librarian will know our books about bees.", question),
        ]


class AgentSendTool(ToolMessage):
    """The return value of an agent's handler that sends a text or tool messages. It is never offered to a model.

    Args:
        to: the name of a task, or "User", "LLM", "Agent".
        content: the text.
        tools: tool messages for the receiver.
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "agent_send_tool"
    purpose: str = "To send <content> and <tools> to the agent that is called <to>."
    to: str
    content: str = ""
    tools: list[SerializeAsAny[ToolMessage]] = Field(default=[])

    _allow_llm_use = False

    def response(self, agent: Any) -> Message:
        """Make a message of the text and the tool messages, with the receiver."""
        said = Message(content=self.content, sender=agent.name, entity=Entity.AGENT, receiver=self.to)
        return said.replace(attachments=tuple(self.tools) or None)
