"""The tool by which a model goes back in the conversation and replaces one of its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from trivium.actions._tool_message import ToolMessage
from trivium.policies import Source, SourceKind
from trivium.schema import Entity, Message, ObjectRegistry
from trivium.schema.lowlevel import links_of


class RewindTool(ToolMessage):
    """The tool of a model that replaces one of its messages; everything that followed that message is forgotten.

    Args:
        n: the number of the message among the model's own, from 1 on.
        content: the new text.
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "rewind_tool"
    purpose: str = "To go back in the conversation, and to replace your <n>th message by <content>."
    n: int
    content: str

    @classmethod
    def examples(cls) -> Sequence[ToolMessage | tuple[str, ToolMessage]]:
        """A message alone, and one with the thought that leads to it."""
        better = cls(n=2, content="Which rent does the lease state?")
        return [cls(n=1, content="Who signed the lease?"), ("My second question was not clear to Bob.", better)]

    def response(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """Make the new message of the model; or explain the model's mistake."""
        memory = agent.current_memory()
        messages: list[Message] = memory.get_memory(len(memory)) if memory else []
        own = [
            at for at, each in enumerate(messages) if each.entity in (Entity.LLM, None) and each.sender == agent.name
        ]
        if not 1 <= self.n <= len(own):
            text = f"There is no message {self.n} to go back to: you have written {len(own)}, and n begins at 1."
            return Message(content=text, sender=agent.name, entity=Entity.AGENT, receiver=Entity.LLM)
        at = own[self.n - 1]
        sources = memory.sources if memory else frozenset[Source]()
        new = Message(content=self.content, sender=agent.name, entity=Entity.LLM, sources=sources)
        prune_messages(agent, at + 1)
        memory.add(new)
        return new


def prune_messages(agent: Any, idx: int) -> Message | None:
    """Forget the messages of an agent from one on, and what other agents heard and said because of them.

    Args:
        agent: the agent.
        idx: the index of the first in `agent.message_history`, where 0 is the system message, which stays.

    Returns:
        The message that the first answered; None if there is none any more.

    Raises:
        AssertionError: `idx` is below 1.
        IndexError: there are not so many messages.

    Example:
        >>> from trivium import ChatAgent, ChatAgentConfig
        >>> agent = ChatAgent(ChatAgentConfig())
        >>> agent.update_history("Who signed?", "Ada.")
        >>> prune_messages(agent, 2)
        >>> [each.content for each in agent.message_history[1:]]
        ['Who signed?']
    """
    memory = agent.current_memory()
    messages: list[Message] = memory.get_memory(len(memory)) if memory else []
    if idx < 1:
        raise AssertionError(f"message {idx} of a history cannot be forgotten: the first that can has the index 1")
    if idx > len(messages):
        raise IndexError(f"there is no message {idx} in the history of {agent.name}: the last is {len(messages)}")
    gone = messages[idx - 1 :]
    parent = gone[0].parent
    forget_answers(gone[0])
    forget_runs(gone, agent)
    memory.delete(range(idx - 1, len(messages)))
    return parent


def forget_answers(message: Message) -> None:
    """Delete the answers to a message, and their answers, from the memories of the other agents."""
    for after in list(_answers(message)):
        agent, at = ObjectRegistry.get(after.metadata.agent_id), after.metadata.msg_idx
        if agent is not None and at >= 0:
            agent.clear_history(at)
    Message.delete_id(message.id())


def forget_runs(messages: Sequence[Message], agent: Any) -> None:
    """Delete what other agents heard and said in the runs of their tasks whose results are among these messages."""
    for message in messages:
        links = links_of(message)
        other, began = ObjectRegistry.get(links.get("agent_id", "")), links.get("began")
        memory = None if other is None or other is agent or began is None else other.current_memory()
        if memory and began is not None and began < len(memory):
            forget_runs(memory.messages[began:], other)
            memory.delete(range(began, len(memory)))


def _answers(message: Message) -> Iterator[Message]:
    after = message.child
    while after is not None:
        yield after
        after = after.child
