"""The tool by which a model goes back in the conversation and says something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trivium.actions._passing_tools import message_of_tool
from trivium.actions._tool_message import ToolMessage
from trivium.schema import Entity, Message, ObjectRegistry

__all__ = ["RewindTool"]


class RewindTool(ToolMessage):
    """By which a model goes back to one of its messages and replaces it; what came of that message is forgotten.

    Args:
        n: which of its messages, from 1 on.
        content: what it says instead.
    """

    request: str = "rewind_tool"
    purpose: str = "To go back in the conversation, and to replace your <n>th message by <content>."
    n: int
    content: str

    @classmethod
    def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
        """A message alone, and one behind the thought that leads to it."""
        better = cls(n=2, content="Which rent does the lease state?")
        return [cls(n=1, content="Who signed the lease?"), ("My second question was not clear to Bob.", better)]

    def response(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """The new message, as the model's; or what the model did wrong."""
        memory = agent.current_memory()
        said: list[Message] = memory.get_memory(len(memory)) if memory else []
        own = [at for at, each in enumerate(said) if each.entity in (Entity.LLM, None) and each.sender == agent.name]
        if not 1 <= self.n <= len(own):
            text = f"There is no message {self.n} to go back to: you have written {len(own)}, and n begins at 1."
            return Message(content=text, sender=agent.name, entity=Entity.AGENT, receiver=Entity.LLM)
        at = own[self.n - 1]
        _forget_what_came_of(said[at])
        new = message_of_tool(self, agent, chat_doc, Entity.LLM)
        memory.delete(range(at, len(said)))
        memory.add(new)
        return new


def _forget_what_came_of(message: Message) -> None:
    """Let the other agents forget what they heard and said because of a message."""
    for after in list(_answers(message)):
        agent, at = ObjectRegistry.get(after.metadata.agent_id), after.metadata.msg_idx
        if agent is not None and at >= 0:
            agent.clear_history(at)
    Message.delete_id(message.id())


def _answers(message: Message) -> Iterator[Message]:
    after = message.child
    while after is not None:
        yield after
        after = after.child
