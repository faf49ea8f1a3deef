"""The memory of an agent as the chat messages that a model reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from trivium.actions import as_text
from trivium.agents.aggregator._rendered import SHORT, rendered
from trivium.exceptions import ArgumentTypeError, MissingEntryError
from trivium.memory import Memory
from trivium.schema import Entity, Message, ToolCall

_LLM, _SYSTEM = Entity.LLM, Entity.SYSTEM  # a member is slow to look up
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_THOUGHTS: Final = ("reasoning", "reasoning_state")
_TOLD: Final = frozenset({"entity", "files", "tool_call_id", "tool_calls", *_THOUGHTS})
"""The parts of a message, beside its text and sender, that a model reads."""

NOT_RUN: Final = "error: not run; call it alone, or another tool"
"""The result of a call that nobody has answered: of no tool, or of one that a sub-task handles, beside others."""

Instruction = str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
"""A system instruction: text, one chat message, or several."""


class DefaultAggregator:
    """The system instruction, then each message: the agent's own as assistant, tool results as tool, others as user.

    Attributes:
        separator: the text between messages of users that follow each other, and are joined: many models' chat
            templates want the roles to alternate.
    """

    separator: str = "\n\n"

    def aggregate(
        self, messages: Any, name: str, parser: Any = None, system_instruction: Any = None
    ) -> list[dict[str, Any]]:
        """Return the chat messages for a model.

        Args:
            messages: the memory of the session; None: there is none.
            name: the agent's name: its messages become the assistant's.
            parser: the agent's output parser, for subclasses that render with it.
            system_instruction: the instruction of the agent.
        """
        found = self.aggregate_system_intruction(system_instruction)
        memory: Memory | None = messages
        told: Sequence[Message] = ()
        if type(memory) is not Memory or memory.recent_n is not None:
            told = () if memory is None else memory.get_memory()
        elif len(memory.messages) < SHORT or type(self).append is not DefaultAggregator.append:
            told = memory.messages
        else:
            found = rendered(found, memory, name, self.append, self.separator)
        for message in told:
            self.append(found, message, name)
        if found and found[-1]["role"] != "user":
            _close_calls(found, _open_calls(found))
        return found

    def append(self, found: list[dict[str, Any]], message: Message, name: str) -> None:
        """Add one message; what users say one after the other is joined into one.

        Where the model's tool calls were answered by a plain message, that message is their result, and calls
        that nobody answered get an error: a history with open calls is refused by providers. They refuse results
        without an open call too: one whose call has its result already, or is not there, is a user's text.
        """
        if message.content.__class__ is str and _TOLD.isdisjoint(message.__pydantic_extra__):  # as most messages
            entry = {"role": "assistant" if message.sender == name else "user", "content": message.content}
        else:
            entry = chat_message(message, name)
        last = found[-1] if found else _NOTHING
        before = last.get("role")
        waiting = _open_calls(found) if before == "tool" or "tool_calls" in last else ()
        if entry["role"] == "tool" and entry["tool_call_id"] not in waiting:
            entry = {"role": "user", "content": entry["content"]}
        role, is_text = entry["role"], isinstance(entry["content"], str)
        if role == before == "user" and is_text and isinstance(last["content"], str):
            text = last["content"] + self.separator + entry["content"]
            found[-1] = {**last, "content": text}  # the last may be a caller's own dict
            return
        if waiting and role != "tool":
            is_result = role == "user" and before != "tool" and is_text
            _close_calls(found, waiting, entry["content"] if is_result else "")
            if is_result:
                return
        found.append(entry)

    def aggregate_system_intruction(self, system_instruction: Instruction) -> list[dict[str, Any]]:
        """Return the system instruction as chat messages.

        Raises:
            TypeError: it is neither text, a chat message nor a list of these.
            MissingEntryError: a chat message lacks its role or content; it is a KeyError too.
        """
        if not system_instruction:
            return []
        if isinstance(system_instruction, str):
            return [{"role": "system", "content": system_instruction}]
        many = system_instruction if isinstance(system_instruction, Sequence) else [system_instruction]
        return [_check_chat_message(each) for each in cast("Sequence[Any]", many)]

    def aggregate_system_instruction(self, system_instruction: Instruction) -> list[dict[str, Any]]:
        """The same by its name in correct spelling; subclasses override the documented one."""
        return self.aggregate_system_intruction(system_instruction)


def _check_chat_message(message: Any) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        kind = "a list of texts" if isinstance(message, str) else type(message).__name__
        first = "; the model is an agent's first argument" if hasattr(message, "stream") else ""
        raise ArgumentTypeError(f"a system instruction is text or chat messages, not {kind}{first}", "template")
    found = dict(cast("Mapping[str, Any]", message))
    if missing := [each for each in ("role", "content") if each not in found]:
        raise MissingEntryError(f"a chat message of the system instruction lacks '{missing[0]}'", (missing[0],))
    return found


def _open_calls(found: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the calls at the end of chat messages that have no result yet."""
    asked = len(found) - 1
    answered = set[str]()
    while asked > 0 and (result := found[asked])["role"] == "tool":
        answered.add(result["tool_call_id"])
        asked -= 1
    calls = found[asked].get("tool_calls") or () if found else ()
    return [call["id"] for call in calls if call["id"] not in answered]


def _close_calls(found: list[dict[str, Any]], waiting: Iterable[str], answer: str = "") -> None:
    for call_id in waiting:
        found.append({"role": "tool", "tool_call_id": call_id, "content": answer or NOT_RUN})
        answer = answer and "see above"


def text_of(message: Message) -> str:
    """Return the content of a message as a model reads it."""
    return "" if message.content is None else as_text(message.content)


def chat_message(message: Message, name: str) -> dict[str, Any]:
    content = message.content
    text = content if content.__class__ is str else text_of(message)
    extra = message.__pydantic_extra__
    if (call_id := extra.get("tool_call_id")) is not None:
        return {"role": "tool", "tool_call_id": call_id, "content": text}
    entity = extra.get("entity")
    if entity is _SYSTEM:
        return {"role": "system", "content": text}
    if entity is _LLM or (entity is None and message.sender == name):
        chat: dict[str, Any] = {"role": "assistant", "content": text}
        if "tool_calls" in extra and (calls := [_call(call) for call in message.tool_calls if call.id]):
            chat["tool_calls"] = calls  # one without an id stands in the text
        for key in _THOUGHTS:  # a provider sends back what it wants of them
            if key in extra:
                chat[key] = extra[key]
        return chat
    if not extra.get("files"):
        return {"role": "user", "content": text}
    return {"role": "user", "content": [{"type": "text", "text": text}, *(each.to_dict("") for each in message.files)]}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
