"""Aggregators turn what an agent remembers into the chat messages that a model reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from trivium.actions import as_text
from trivium.exceptions import UnknownRoleError
from trivium.memory import Memory
from trivium.schema import Entity, Message, ToolCall, ToolStatusCode

__all__ = ["DefaultAggregator", "Instruction", "InternLMToolAggregator"]

_UNREADABLE = ToolStatusCode.PARSING_ERROR  # a member is slow to look up
Instruction = str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
"""A system instruction: text, one chat message, or several."""


class DefaultAggregator:
    """The system instruction, then each message: the agent's own as assistant, tool results as tool, others as user."""

    def aggregate(
        self,
        messages: Memory | None,
        name: str,
        parser: Any = None,
        system_instruction: Instruction = None,
    ) -> list[dict[str, Any]]:
        """The chat messages for a model.

        Args:
            messages: what the agent remembers of the session; None is nothing.
            name: the agent's name: what it said becomes the assistant's.
            parser: the agent's output parser, for subclasses that render with it.
            system_instruction: what the agent was told to be.
        """
        found = self.aggregate_system_instruction(system_instruction)
        for message in messages.get_memory() if messages is not None else ():
            self.append(found, message, name)
        if found and found[-1]["role"] != "user":
            _close_calls(found)
        return found

    def append(self, found: list[dict[str, Any]], message: Message, name: str) -> None:
        """Add one message; what users say one after the other is joined into one.

        Where the model's tool calls were answered by a plain message, that message is their result, and calls
        that nobody answered get an error: a history with open calls is refused by providers.
        """
        entry = _as_chat(message, name)
        last, role = (found[-1] if found else {}), entry["role"]
        if role == "user" and last.get("role") == "user":
            found[-1] = {**last, "content": last["content"] + entry["content"]}  # the last may be a caller's own dict
        elif role == "user" and last.get("tool_calls"):
            _close_calls(found, entry["content"])
        else:
            if role != "tool" and last.get("role") in ("assistant", "tool"):
                _close_calls(found)
            found.append(entry)

    def aggregate_system_instruction(self, system_instruction: Instruction) -> list[dict[str, Any]]:
        """The system instruction as chat messages.

        Raises:
            TypeError: it is neither text, a chat message nor a list of these.
            KeyError: a chat message lacks its role or content.
        """
        if not system_instruction:
            return []
        if isinstance(system_instruction, str):
            return [{"role": "system", "content": system_instruction}]
        many = [system_instruction] if isinstance(system_instruction, Mapping) else system_instruction
        return [_checked(each) for each in cast("Sequence[Any]", many)]

    aggregate_system_intruction = aggregate_system_instruction
    """The documented spelling."""


class InternLMToolAggregator(DefaultAggregator):
    """For agents whose calls are written in the text: shows the model its answers as its parser writes them.

    What the parser has to say follows the system instruction, then the examples. An answer of the agent that was
    parsed is written anew from its parts; one that could not be parsed is left out. What neither the agent nor a
    user said is a result, named after the last tool.

    Args:
        environment_role: the role of results.
        environment_begin: what stands before each.
        environment_end: what stands behind it.
        user_names: the senders that are users.
        few_shot: examples: chat messages, or lists of them. Beside the roles of a chat, `thought` (or `language`)
            and `tool` make one answer of the model, and `environment` is a result. They stay as they are.

    Example:
        >>> from trivium.prompts.parsers import ToolParser
        >>> memory = Memory.of([Message(content="2?", sender="user"), Message(content="2", sender="executor")])
        >>> InternLMToolAggregator(environment_begin="> ").aggregate(memory, "me", ToolParser("code", "Write code."))
        [{'role': 'system', 'content': 'Write code.', 'name': 'code'}, {'role': 'user', 'content': '2?'}, \
{'role': 'environment', 'content': '> 2'}]
    """

    def __init__(
        self,
        environment_role: str = "environment",
        environment_begin: str = "",
        environment_end: str = "",
        user_names: Iterable[str] | None = None,
        few_shot: Iterable[Any] | None = None,
    ) -> None:
        self.environment_role = environment_role
        self.environment_begin, self.environment_end = environment_begin, environment_end
        self.user_names = ["user"] if user_names is None else list(user_names)
        shots = list(few_shot or ())
        self.few_shot: list[Any] = [shots] if shots and isinstance(shots[0], Mapping) else shots

    def aggregate(
        self,
        messages: Memory | None,
        name: str,
        parser: Any = None,
        system_instruction: Instruction = None,
    ) -> list[dict[str, Any]]:
        """The chat messages for a model; see `DefaultAggregator.aggregate`.

        Raises:
            UnknownRoleError: an example has a role that is not known.
        """
        found = [*self.aggregate_system_instruction(system_instruction), *_told(parser)]
        for shot in self.few_shot:
            found += self._shown(shot, parser)
        tool: str | None = None
        speakers = {name, *self.user_names}
        for message in messages.get_memory() if messages is not None else ():
            sender, extra = message.sender, message.__pydantic_extra__  # each turn reads all: one look at most of them
            parsed = message.formatted if sender == name else None
            if extra and (extra.get("tool_call_id") is not None or extra.get("entity") is not None):
                self.append(found, message, name)
            elif parser and isinstance(parsed, dict):
                parts = cast("dict[str, Any]", parsed)
                if parts.get("status") != _UNREADABLE:
                    found.append({"role": "assistant", "content": parser.format_response(parts)})
                tool = parts.get("tool_type") or tool
            elif sender in speakers:
                self.append(found, message, name)
            else:
                found.append(self._result(_text_of(message), tool))
        return found

    def _result(self, content: Any, tool: str | None) -> dict[str, Any]:
        text = f"{self.environment_begin}{content}{self.environment_end}"
        chat = {"role": self.environment_role, "content": text}
        if tool:
            chat["name"] = tool
        return chat

    def _shown(self, shot: Iterable[Mapping[str, Any]], parser: Any) -> Iterator[dict[str, Any]]:
        thought: str | None = None
        tool: str | None = None
        for entry in shot:
            role, content = entry["role"], entry["content"]
            if thought is not None and role != "tool":
                yield {"role": "assistant", "content": thought}
                thought = None
            if role in ("thought", "language"):
                thought = str(content)
            elif role == "tool":
                tool = entry.get("name") or getattr(parser, "tool_type", None)
                yield {"role": "assistant", "content": _written(parser, tool, thought or "", content)}
                thought = None
            elif role == "environment":
                yield self._result(content, entry.get("name") or tool)
            elif role in ("system", "user", "assistant"):
                yield dict(entry)
            else:
                raise UnknownRoleError(
                    f"an example has the role {role!r}: take system, user, assistant, thought, language, tool or "
                    "environment",
                    str(role),
                )
        if thought is not None:
            yield {"role": "assistant", "content": thought}


def _written(parser: Any, tool: str | None, thought: str, action: Any) -> str:
    if parser is None:
        return f"{thought}{action}"
    status = ToolStatusCode.VALID_TOOL
    return parser.format_response({"tool_type": tool, "thought": thought, "action": action, "status": status})


def _told(parser: Any) -> list[dict[str, Any]]:
    """A parser's instruction as system messages."""
    told = parser.format_instruction() if hasattr(parser, "format_instruction") else None
    if not told or not isinstance(told, str):
        return list(told or ())
    tool: str | None = getattr(parser, "tool_type", None)
    return [{"role": "system", "content": told, **({"name": tool} if tool else {})}]


def _checked(message: Any) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise TypeError(f"a system instruction is text or chat messages, not {type(message).__name__}")
    found = dict(cast("Mapping[str, Any]", message))
    for key in ("role", "content"):
        if key not in found:
            raise KeyError(f"a chat message of the system instruction lacks '{key}'")
    return found


def _close_calls(found: list[dict[str, Any]], answer: str = "") -> None:
    asked = len(found) - 1
    while asked > 0 and found[asked]["role"] == "tool":
        asked -= 1
    answered = {result["tool_call_id"] for result in found[asked + 1 :]}
    for call in found[asked].get("tool_calls", ()):
        if call["id"] not in answered:
            found.append({"role": "tool", "tool_call_id": call["id"], "content": answer or "error: nothing does this"})
            answer = answer and "see above"


def _text_of(message: Message) -> str:
    content = message.content
    return "" if content is None else as_text(content)


def _as_chat(message: Message, name: str) -> dict[str, Any]:
    text = _text_of(message)
    if message.tool_call_id is not None:
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    entity = message.entity
    if entity is Entity.SYSTEM:
        return {"role": "system", "content": text}
    if entity is Entity.LLM or (entity is None and message.sender == name):
        chat: dict[str, Any] = {"role": "assistant", "content": text}
        return {**chat, "tool_calls": [_call(call) for call in message.tool_calls]} if message.tool_calls else chat
    return {"role": "user", "content": text}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
