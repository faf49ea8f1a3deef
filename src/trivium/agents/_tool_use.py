"""Which tool messages an agent knows: those its model may use, those it handles, and those that a message holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, Final, cast

from pydantic import ValidationError

import trivium.actions as actions
from trivium.actions import ToolMessage, calls_in_text
from trivium.actions.lowlevel import describe_errors
from trivium.commander import current
from trivium.exceptions import ConfigurationError, ToolArgumentsError, ToolDefinitionError
from trivium.module import Module
from trivium.schema import Message, Origin, ToolCall, ToolSpec

__all__ = ["NameSet", "ToolUse", "as_message", "recipient_of"]

ORCHESTRATION: Final = {
    "agent_done_tool": "AgentDoneTool",
    "agent_send_tool": "AgentSendTool",
    "done_pass_tool": "DonePassTool",
    "done_tool": "DoneTool",
    "final_result_tool": "FinalResultTool",
    "forward_tool": "ForwardTool",
    "pass_tool": "PassTool",
    "result_tool": "ResultTool",
    "send_tool": "SendTool",
}
"""The tools that every agent handles unless its config says otherwise: those by which tasks are steered."""

ToolClasses = type[ToolMessage] | Iterable[type[ToolMessage]] | None


class NameSet(MutableSet[str]):
    """A set of names in the order in which they came, so that every run lists tools alike."""

    __slots__ = ("_names",)

    def __init__(self, names: dict[str, None]) -> None:
        self._names = names

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def add(self, value: str) -> None:
        """Add a name, as the last."""
        self._names[value] = None

    def discard(self, value: str) -> None:
        """Take a name out, if it is there."""
        self._names.pop(value, None)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._names))}}}"


class ToolUse(Module):
    """What of an agent has to do with tool messages.

    Attributes:
        tool_error: whether the last message that was searched for tools held one that was wrong.
    """

    config: Any = None
    tool_error: bool = False
    _known: dict[str, type[ToolMessage]]
    _usable: dict[str, None]
    _handled: dict[str, None]
    _without_defaults: frozenset[str] = frozenset()
    _forced: str | None = None

    # ---- the tables, as the documents name them
    @property
    def llm_tools_map(self) -> dict[str, type[ToolMessage]]:
        """The tool messages that the agent knows, by name."""
        return self._tables()["_known"]

    @property
    def llm_tools_known(self) -> NameSet:
        """The names of all tools that the agent knows, those that it only handles too."""
        return NameSet(dict.fromkeys([*self._tables()["_known"], *(ORCHESTRATION if self._orchestrates() else ())]))

    @property
    def llm_tools_usable(self) -> NameSet:
        """The names of the tools that the agent's model may use."""
        return NameSet(self._tables()["_usable"])

    @property
    def llm_tools_handled(self) -> NameSet:
        """The names of the tools that the agent handles."""
        return NameSet(self._tables()["_handled"])

    @property
    def llm_functions_map(self) -> dict[str, Any]:
        """What a model is told of each tool that the agent knows, by name."""
        short = self._without_defaults
        known = self._tables()["_known"].items()
        return {name: each.llm_function_schema(defaults=name not in short) for name, each in known}

    @property
    def llm_functions_usable(self) -> NameSet:
        """The same as `llm_tools_usable`: how a call is written makes no difference to who may use it."""
        return self.llm_tools_usable

    @property
    def llm_functions_handled(self) -> NameSet:
        """The same as `llm_tools_handled`."""
        return self.llm_tools_handled

    @property
    def llm_function_force(self) -> dict[str, str] | None:
        """The tool that the model must answer with, as `{"name": …}`."""
        return None if self._forced is None else {"name": self._forced}

    def _tables(self) -> dict[str, dict[str, Any]]:
        return {name: self.__dict__.setdefault(name, {}) for name in ("_known", "_usable", "_handled")}

    def _orchestrates(self) -> bool:
        return getattr(self.config, "enable_orchestration_tool_handling", True)

    # ---- enabling
    def enable_message(
        self,
        message_class: ToolClasses,
        use: bool = True,
        handle: bool = True,
        force: bool = False,
        require_recipient: bool = False,
        include_defaults: bool = True,
    ) -> None:
        """Let the agent's model use a tool message, and the agent handle it.

        Args:
            message_class: one class or several; None is all that the agent knows.
            use: offer it to the model.
            handle: run it in `agent_response`.
            force: the model must answer with it; a later call without `force` lifts this.
            require_recipient: the model must say whom it is for.
            include_defaults: tell the model of fields that have defaults too.

        Raises:
            TypeError: several classes were given one by one; give a list.
            ToolDefinitionError: a class has no name.
        """
        if isinstance(use, type):  # pyright: ignore[reportUnnecessaryIsInstance] - users pass anything
            raise TypeError("enable_message takes several classes as a list: enable_message([A, B])")
        classes = self._classes(message_class)
        if require_recipient and message_class is not None:
            classes = [each.require_recipient() for each in classes]
        tables = self._tables()
        for each in classes:
            name = _checked_name(each)
            tables["_known"][name] = each
            self._set(name, _usable=use and each._allow_llm_use, _handled=handle)
        if message_class is not None:
            names = {each.name() for each in classes}
            self._without_defaults = (
                self._without_defaults - names if include_defaults else self._without_defaults | names
            )
            self._forced = classes[-1].name() if force and classes else None

    def enable_message_handling(self, message_class: ToolClasses = None) -> None:
        """Let the agent handle a tool message; None is all that it knows."""
        self._for_each(message_class, _handled=True)

    def disable_message_handling(self, message_class: ToolClasses = None) -> None:
        """Let the agent no longer handle a tool message; None is all."""
        self._for_each(message_class, _handled=False)

    def disable_message_use(self, message_class: ToolClasses = None) -> None:
        """Let the model no longer use a tool message; None is all."""
        self._for_each(message_class, _usable=False)

    def disable_message_use_except(self, message_class: type[ToolMessage]) -> None:
        """Let the model use no tool message but this one."""
        kept = message_class.name()
        for name in [each for each in self._tables()["_usable"] if each != kept]:
            self._set(name, _usable=False)

    def _for_each(self, message_class: ToolClasses, **wanted: bool) -> None:
        for each in self._classes(message_class):
            name = _checked_name(each)
            self._tables()["_known"].setdefault(name, each)
            self._set(name, **wanted)

    def _set(self, name: str, **wanted: bool) -> None:
        tables = self._tables()
        for table, is_wanted in wanted.items():
            if is_wanted:
                tables[table][name] = None
            else:
                tables[table].pop(name, None)

    def _classes(self, message_class: ToolClasses) -> list[type[ToolMessage]]:
        if message_class is None:
            return list(self._tables()["_known"].values())
        many: list[Any] = [message_class] if isinstance(message_class, type) else list(message_class)
        if isinstance(message_class, set | frozenset):  # which has no order of its own
            many.sort(key=lambda each: getattr(each, "__name__", ""))
        for each in many:
            if not (isinstance(each, type) and issubclass(each, ToolMessage)):
                raise ConfigurationError(f"{each!r} is no ToolMessage class: define `class MyTool(ToolMessage)`")
        return many

    # ---- what the model is offered
    def _usable_classes(self) -> list[type[ToolMessage]]:
        return [self._known[name] for name in self.__dict__.get("_usable", ())]

    def _usable_specs(self) -> list[ToolSpec]:
        if not self._without_defaults:
            return [each.spec() for each in self._usable_classes()]
        return [self._spec_of(each) for each in self._usable_classes()]

    def _spec_of(self, tool_class: type[ToolMessage]) -> ToolSpec:
        if tool_class.name() not in self._without_defaults:
            return tool_class.spec()
        schema = tool_class.llm_function_schema(defaults=False)
        return ToolSpec(schema.name, schema.description, schema.parameters)

    def sample_multi_round_dialog(self) -> str:
        """An invented dialog that uses the first two tools, to show to a model."""
        return "\n\n".join(each.usage_examples(random=True) for each in list(self.llm_tools_map.values())[:2])

    # ---- what a message holds
    def _class_of(self, name: str) -> type[ToolMessage] | None:
        known = cast("dict[str, type[ToolMessage]]", self.__dict__.get("_known") or {})
        found = known.get(name)
        if found is not None or name not in ORCHESTRATION or not self._orchestrates():
            return found
        return getattr(actions, ORCHESTRATION[name])

    def _handles(self, name: str) -> bool:
        handled = self.__dict__.get("_handled")
        if handled is not None and name in handled:
            return True
        return name in ORCHESTRATION and name not in self.__dict__.get("_known", ()) and self._orchestrates()

    def _calls_in(self, message: Message) -> tuple[ToolCall, ...]:
        """The calls of a message that a model wrote, known to the agent or not. Nobody else's words are calls."""
        if message.origin is not Origin.MODEL:
            return ()
        calls, text = message.tool_calls, message.content
        if calls or not isinstance(text, str) or ("{" not in text and "<" not in text):
            return calls
        known = cast("dict[str, type[ToolMessage]]", self.__dict__.get("_known") or {})
        handled = {name: known[name] for name in self.__dict__.get("_handled", ()) if name in known}
        return calls_in_text(text, known, handled)

    def _handled_calls(self, message: Message) -> list[ToolCall]:
        """The calls that this agent runs: only those that a model made."""
        return [call for call in self._calls_in(message) if self._handles(call.name) and self._is_for_this(call)]

    def _is_for_this(self, call: ToolCall) -> bool:
        return '"recipient"' not in call.arguments or self._is_recipient(recipient_of(call.arguments))

    def _is_recipient(self, recipient: str) -> bool:
        return recipient in ("", self.name)

    def _handled_tools(self, message: Message) -> list[ToolMessage]:
        """The tool messages that a program put into the message, of those that this agent handles."""
        return [tool for tool in message.tool_messages if self._handles_tool(tool)]

    def _handles_tool(self, tool: ToolMessage) -> bool:
        return self._handles(tool.request) and self._is_recipient(getattr(tool, "recipient", ""))

    def get_tool_messages(self, msg: Message | str | None, all_tools: bool = False) -> list[ToolMessage]:
        """The tool messages in a message that a model wrote, or that a program put there.

        Args:
            msg: the message. Text that a program gives outside of a run is the program's word; within a run it is
                nobody's.
            all_tools: those that the agent knows but does not handle too.

        Raises:
            ToolArgumentsError: a call does not fit its tool.
        """
        if msg is None:
            return []
        message = as_message(msg, said_by_program=True)
        self.tool_error = False
        typed = [tool for tool in message.tool_messages if all_tools or self._handles_tool(tool)]
        known = [call for call in self._calls_in(message) if self._class_of(call.name) is not None]
        wanted = known if all_tools else [each for each in known if each in self._handled_calls(message)]
        try:
            return typed + [self._parsed(call) for call in wanted]
        except ToolArgumentsError:
            self.tool_error = True
            raise

    def _parsed(self, call: ToolCall) -> ToolMessage:
        tool_class = cast("type[ToolMessage]", self._class_of(call.name))
        tool = tool_class.parse(call.arguments)
        tool.id = call.id
        return tool

    def try_get_tool_messages(self, msg: Message | str | None, all_tools: bool = False) -> list[ToolMessage]:
        """The same; none where a call does not fit its tool."""
        try:
            return self.get_tool_messages(msg, all_tools)
        except ToolArgumentsError:
            return []

    def get_formatted_tool_messages(self, input_str: str, from_llm: bool = True) -> list[ToolMessage]:
        """The tool messages that stand in a text as JSON or XML.

        Args:
            input_str: the text.
            from_llm: whether a model wrote it; nobody else's text holds any.

        Raises:
            ToolArgumentsError: a call does not fit its tool.
        """
        return self.get_tool_messages(Message(content=input_str, origin=Origin.MODEL), True) if from_llm else []

    get_json_tool_messages = get_formatted_tool_messages

    def has_tool_message_attempt(self, msg: Message | str | None) -> bool:
        """Whether a model tries to call a tool that the agent handles, well or badly."""
        if msg is None:
            return False
        message = as_message(msg, said_by_program=True)
        return bool(self._handled_calls(message) or self._handled_tools(message))

    def has_only_unhandled_tools(self, msg: Message | str | None) -> bool:
        """Whether a message calls tools, and this agent handles none of them."""
        if msg is None:
            return False
        message = as_message(msg, said_by_program=True)
        calls = [call for call in self._calls_in(message) if call.id or self._class_of(call.name) is not None]
        if not calls and not message.tool_messages:  # what stands in the text, and is no tool that it knows, is text
            return False
        return not self._handled_calls(message) and not self._handled_tools(message)

    def can_respond(self, message: Message | str | None = None) -> bool:
        """Whether it is of use to ask this agent: not where all tools of the message are somebody else's."""
        if getattr(self.config, "respond_tools_only", False) and not self.try_get_tool_messages(message):
            return False
        return not self.has_only_unhandled_tools(message)

    def tool_validation_error(self, ve: Exception, tool_class: type[ToolMessage] | None = None) -> str:
        """What the model is told of a call that does not fit its tool; override it to say it otherwise."""
        if isinstance(ve, ValidationError):
            known = self._tables()["_known"].values()
            kind = tool_class or next((each for each in known if each.__name__ == ve.title), None)
            return describe_errors(ve.title if kind is None else kind.name(), ve)
        return str(ve)


def as_message(message: Message | str, said_by_program: bool = False) -> Message:
    """A message as it is; text as a user's message.

    Args:
        message: the message.
        said_by_program: text that comes from outside any run is a program's own: calls in it count. Within a run,
            text may be anybody's.
    """
    if isinstance(message, Message):
        return message
    if said_by_program and current.get() is None:
        return Message(content=message, origin=Origin.MODEL)
    return Message(content=message)


def _checked_name(tool_class: type[ToolMessage]) -> str:
    name = tool_class.name()
    if not name:
        raise ToolDefinitionError(
            f'{tool_class.__name__} needs a name: write `request: str = "…"`', tool_class.__name__
        )
    return name


def recipient_of(arguments: str) -> str:
    """Whom a call says that it is for; "" is nobody in particular."""
    try:
        found = json.loads(arguments, strict=False)
    except ValueError:
        return ""
    return str(found.get("recipient") or "") if isinstance(found, dict) else ""  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType]
