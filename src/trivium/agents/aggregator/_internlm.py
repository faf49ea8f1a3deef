"""The aggregator for agents whose calls are written in the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trivium.agents.aggregator._default import DefaultAggregator, text_of
from trivium.exceptions import ConfigurationError, UnknownRoleError, UnknownToolError
from trivium.memory import Memory
from trivium.schema import ToolStatusCode
from trivium.schema.lowlevel import checked

_UNREADABLE = ToolStatusCode.PARSING_ERROR  # a member is slow to look up


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
        >>> from trivium.schema import Message
        >>> memory = Memory.of([Message(content="2?", sender="user"), Message(content="2", sender="executor")])
        >>> InternLMToolAggregator(environment_begin="> ").aggregate(memory, "me", ToolParser("code", "Write code."))
        [{'role': 'system', 'content': 'Write code.', 'name': 'code'}, {'role': 'user', 'content': '2?'}, \
{'role': 'environment', 'content': '> 2'}]
    """

    @checked
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
        if not all(isinstance(shot, list | tuple) for shot in self.few_shot):
            raise ConfigurationError("few_shot is a list of chat messages, or of lists of them")

    def aggregate(
        self, messages: Any, name: str, parser: Any = None, system_instruction: Any = None
    ) -> list[dict[str, Any]]:
        """Return the chat messages for a model; see `DefaultAggregator.aggregate`.

        Raises:
            UnknownRoleError: an example has a role that is not known.
            UnknownToolError: an example has a call that the parser does not write.
        """
        found = [*self.aggregate_system_intruction(system_instruction), *instruction_of(parser)]
        for shot in self.few_shot:
            found += self._render_example(shot, parser)
        tool: str | None = None
        speakers = {name, *self.user_names}
        memory: Memory | None = messages
        for message in () if memory is None else memory.get_memory():
            sender, extra = message.sender, message.__pydantic_extra__  # each turn reads all: one look at most of them
            parts: dict[str, Any] | str | None = message.formatted if sender == name else None
            if extra and (extra.get("tool_call_id") is not None or extra.get("entity") is not None):
                self.append(found, message, name)
            elif parser and isinstance(parts, dict):
                if parts.get("status") != _UNREADABLE:
                    found.append({"role": "assistant", "content": parser.format_response(parts)})
                    tool = parts.get("tool_type")  # None after an answer without one: what follows is no tool's
            elif sender in speakers:
                self.append(found, message, name)
            else:
                found.append(self._result(text_of(message), tool))
        return found

    def _result(self, content: Any, tool: str | None) -> dict[str, Any]:
        text = f"{self.environment_begin}{content}{self.environment_end}"
        return {"role": self.environment_role, "content": text, **({"name": tool} if tool else {})}

    def _render_example(self, shot: Iterable[Mapping[str, Any]], parser: Any) -> Iterator[dict[str, Any]]:
        thought: str | None = None
        tool: str | None = None
        for entry in shot:
            if not isinstance(entry, Mapping) or not {"role", "content"} <= entry.keys():  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"an example is a list of dicts with role and content: {entry!r:.200} is none")
            role, content = entry["role"], entry["content"]
            if thought is not None and role != "tool":
                yield {"role": "assistant", "content": thought}
                thought = None
            if role in ("thought", "language"):
                thought = str(content)
            elif role == "tool":
                tool = entry.get("name") or tool_type_of(parser)
                yield {"role": "assistant", "content": _render_call(parser, tool, thought or "", content)}
                thought = None
            elif role in ("environment", self.environment_role):
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


def _render_call(parser: Any, tool: str | None, thought: str, action: Any) -> str:
    if parser is None:
        return f"{thought}{action}"
    if (known := tool_type_of(parser)) not in (None, tool):
        raise UnknownToolError(f"an example has a call of {tool!r}: this parser writes those of {known!r}", str(tool))
    status = ToolStatusCode.VALID_TOOL
    return parser.format_response({"tool_type": tool, "thought": thought, "action": action, "status": status})


def instruction_of(parser: Any) -> list[dict[str, Any]]:
    """Return a parser's instruction as system messages."""
    told = parser.format_instruction() if hasattr(parser, "format_instruction") else None
    if not told or not isinstance(told, str):
        return list(told or ())
    tool = tool_type_of(parser)
    return [{"role": "system", "content": told, **({"name": tool} if tool else {})}]


def tool_type_of(parser: Any) -> str | None:
    """Return the type of the calls that a parser finds; None for a parser of several."""
    return parser.tool_type if hasattr(parser, "tool_type") else None
