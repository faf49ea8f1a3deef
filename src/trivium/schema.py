"""What travels between modules: messages, documents, tool calls, usage, status codes. No I/O, no logic."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from trivium._older_names import OlderNames

__all__ = [
    "ActionReturn",
    "ActionStatusCode",
    "ActionValidCode",
    "AgentMessage",
    "AgentStatusCode",
    "ChatDocument",
    "DocMetaData",
    "Document",
    "Entity",
    "FunctionCall",
    "Message",
    "MessageExtra",
    "ModelStatusCode",
    "Origin",
    "StatusCode",
    "ToolCall",
    "ToolSpec",
    "ToolStatusCode",
    "Usage",
]


class ModelStatusCode(IntEnum):
    """What a model says about its stream."""

    END = 0
    STREAM_ING = 1
    SERVER_ERR = -1
    SESSION_CLOSED = -2
    SESSION_OUT_OF_LIMIT = -3
    SESSION_INVALID_ARG = -4
    SESSION_READY = 2


class AgentStatusCode(IntEnum):
    """What an agent says about its message; 0 is final."""

    END = 0
    STREAM_ING = 1
    SERVER_ERR = -1
    SESSION_CLOSED = -2
    SESSION_OUT_OF_LIMIT = -3
    SESSION_INVALID_ARG = -4
    SESSION_READY = 2
    PLUGIN_START = 3
    PLUGIN_END = 4
    PLUGIN_RETURN = 5
    CODING = 6
    CODE_END = 7
    CODE_RETURN = 8


class ActionStatusCode(IntEnum):
    """How a tool call went."""

    ING = 1
    SUCCESS = 0
    HTTP_ERROR = -1000
    ARGS_ERROR = -1001
    API_ERROR = -1002


class ActionValidCode(IntEnum):
    """Whether a tool call could be made at all, and whether it ends the run."""

    FINISH = 1
    OPEN = 0
    CLOSED = -1
    INVALID = -2
    ABSENT = -3


class ToolStatusCode(IntEnum):
    """What a parser found in an answer: an action, none, or one that cannot be read."""

    NO_TOOL = 0
    VALID_TOOL = 1
    PARSING_ERROR = -1


class Entity(str, Enum):
    """Who speaks in a task. Equal to its name as text in any case: `Entity.USER == "user"`."""

    AGENT = "Agent"
    LLM = "LLM"
    USER = "User"
    SYSTEM = "System"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.value.lower() == str.lower(other)

    def __hash__(self) -> int:
        return hash(self.value.lower())

    def __str__(self) -> str:
        return self.value


class Origin(str, Enum):
    """Who wrote a message. The member counts, not its text: no data that is read makes itself a model's."""

    MODEL = "model"
    USER = "user"


class StatusCode(str, Enum):
    """How a task ended."""

    OK = "OK"
    ERROR = "ERROR"
    DONE = "DONE"
    STALLED = "STALLED"
    INF_LOOP = "INF_LOOP"
    KILL = "KILL"
    FIXED_TURNS = "FIXED_TURNS"
    MAX_TURNS = "MAX_TURNS"
    MAX_COST = "MAX_COST"
    MAX_TOKENS = "MAX_TOKENS"
    TIMEOUT = "TIMEOUT"
    NO_ANSWER = "NO_ANSWER"
    USER_QUIT = "USER_QUIT"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or a sum of them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool: its name, what it does, and a JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool. `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A tool call as content of a message to an executor."""

    name: str
    parameters: dict[str, Any] | str = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class ActionReturn:
    """The outcome of a tool call."""

    args: dict[str, Any] | None = None
    url: str | None = None
    type: str | None = None
    result: list[dict[str, Any]] | None = None
    errmsg: str | None = None
    state: ActionStatusCode = ActionStatusCode.SUCCESS
    thought: str | None = None
    valid: ActionValidCode = ActionValidCode.OPEN

    def but(self, **changes: Any) -> ActionReturn:
        """A shallow copy with some of its values replaced."""
        new = ActionReturn(
            self.args, self.url, self.type, self.result, self.errmsg, self.state, self.thought, self.valid
        )
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> ActionReturn:
        # The meaning of the standard library's own, at a fifth of its price: each tool's result is copied.
        args, result = _copied(self.args, memo), _copied(self.result, memo)
        return ActionReturn(args, self.url, self.type, result, self.errmsg, self.state, self.thought, self.valid)

    def format_result(self) -> str:
        """The result as text: text items as they are, others as `[type](content)`, one a line."""
        return "\n".join(
            str(item["content"]) if item["type"] == "text" else f"[{item['type']}]({item['content']})"
            for item in self.result or ()
        )


MessageExtra = Literal["attachments", "entity", "origin", "status", "tool_call_id", "tool_calls", "usage"]
"""What a message may carry beside its seven fields; anything else is an error, so that typing errors are seen."""

_MODEL, _USER = Origin  # a member is slow to look up
_EXTRA = get_args(MessageExtra)
_ENUMS = (AgentStatusCode, ModelStatusCode, Entity, Origin, StatusCode, ToolStatusCode)
_ATOMS = frozenset({str, int, float, bool, bytes, NoneType, Usage, *_ENUMS})


class Message(OlderNames):
    """What travels between modules.

    The seven fields are always there; the others (`MessageExtra`) are given by keyword, read as attributes,
    and appear in `repr` and dumps only when they are set.

    Args:
        content: text, or a tool call for an executor, or any value.
        sender: the name of who speaks.
        formatted: what an output parser made of the content.
        extra_info: anything that a user wants to send along.
        type: free.
        receiver: the name of who is addressed; None is everybody.
        stream_state: END for a whole message.

    Example:
        >>> Message(content="hi")
        AgentMessage(content='hi', sender='user', formatted=None, extra_info=None, type=None, receiver=None, \
stream_state=<AgentStatusCode.END: 0>)
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)
    __pydantic_extra__: dict[MessageExtra, Any]  # pyright: ignore[reportIncompatibleVariableOverride] - narrower keys

    content: Any = None
    sender: str = "user"
    formatted: Any = None
    extra_info: Any = None
    type: str | None = None
    receiver: str | None = None
    stream_state: AgentStatusCode | ModelStatusCode = AgentStatusCode.END

    if TYPE_CHECKING:  # editors and type checkers see the other keywords too; pydantic's own runs

        def __init__(
            self,
            *,
            content: Any = None,
            sender: str = "user",
            formatted: Any = None,
            extra_info: Any = None,
            type: str | None = None,
            receiver: str | None = None,
            stream_state: AgentStatusCode | ModelStatusCode = AgentStatusCode.END,
            tool_calls: Sequence[ToolCall] = ...,
            tool_call_id: str = ...,
            usage: Usage | None = ...,
            origin: Origin = ...,
            entity: Entity = ...,
            status: StatusCode = ...,
            attachments: Sequence[Any] = ...,
        ) -> None: ...

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that a model asks for; empty for most messages."""
        calls = self.__pydantic_extra__.get("tool_calls", ())
        return calls if not calls or isinstance(calls[0], ToolCall) else tuple(ToolCall(**each) for each in calls)

    @property
    def tool_call_id(self) -> str | None:
        """In a tool's result: the call that it answers."""
        return self.__pydantic_extra__.get("tool_call_id")

    @property
    def usage(self) -> Usage | None:
        """The tokens that the message cost, where a model wrote it."""
        usage = self.__pydantic_extra__.get("usage")
        return Usage(**cast("dict[str, int]", usage)) if isinstance(usage, dict) else usage

    @property
    def origin(self) -> Origin:
        """Who wrote the message: MODEL only where a model did so in this process, else USER.

        It travels with the message through every hand-off; tool calls run only if it is MODEL. It is neither shown
        nor dumped: what is read again is nobody's word but the reader's.
        """
        return _MODEL if self.__pydantic_extra__.get("origin") is _MODEL else _USER

    @property
    def entity(self) -> Entity | None:
        """Who of a task's responders spoke, where a task is concerned."""
        entity = self.__pydantic_extra__.get("entity")
        return None if entity is None else Entity(entity)

    @property
    def status(self) -> StatusCode | None:
        """How the task ended whose result this is."""
        status = self.__pydantic_extra__.get("status")
        return None if status is None else StatusCode(status)

    @property
    def attachments(self) -> tuple[Any, ...]:
        """Typed values that travel with the message, a tool message for instance."""
        return tuple(self.__pydantic_extra__.get("attachments", ()))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).model_fields and name not in _EXTRA:
            raise TypeError(f"a message has no '{name}': put what is your own into extra_info")
        super().__setattr__(name, value)

    def but(self, **changes: Any) -> Message:
        """A shallow copy with some of its values replaced; None takes away what is not one of the seven fields."""
        new = _shallow(self)
        fields, extra = vars(new), cast("dict[str, Any]", new.__pydantic_extra__)
        for name, value in changes.items():
            if name in fields:
                fields[name] = value
            elif name not in _EXTRA:
                raise TypeError(f"a message has no '{name}'")
            elif value is not None:
                extra[name] = value
            else:
                extra.pop(name, None)
        return new

    def copy(self, *, deep: bool = False, update: Mapping[str, Any] | None = None) -> Message:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """A copy, deep or shallow, with some of its values replaced."""
        new = copy.deepcopy(self) if deep else _shallow(self)
        return new.but(**update) if update else new

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Message:
        # The meaning of pydantic's own, at the price of two dict copies: most values are immutable.
        new = _shallow(self)
        for values in (vars(new), cast("dict[str, Any]", new.__pydantic_extra__)):
            for name, value in values.items():
                if value.__class__ not in _ATOMS:
                    memo = {} if memo is None else memo
                    values[name] = _copied(value, memo)
        return new

    @model_serializer(mode="wrap")
    def _dumped(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped = handler(self)
        dumped.pop("origin", None)
        for name in dumped.keys() & {"attachments", "tool_calls"}:
            dumped[name] = list(dumped[name])  # as JSON has it, so that what was read again dumps the same
        return dumped

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        shown = (each for each in super().__repr_args__() if each[0] not in ("origin", "usage"))
        return ((name, getattr(self, str(name)) if name in _EXTRA else value) for name, value in shown)

    def __repr_name__(self) -> str:
        return "AgentMessage"


message_of = cast("Callable[[dict[str, Any]], Message]", Message.__pydantic_validator__.validate_python)
"""The message that the constructor makes of these keywords, at two thirds of its price: for those of every turn."""
_new, _set = object.__new__, object.__setattr__


def _shallow(message: Message) -> Message:
    new = _new(message.__class__)
    _set(new, "__dict__", message.__dict__.copy())
    _set(new, "__pydantic_fields_set__", message.__pydantic_fields_set__.copy())
    _set(new, "__pydantic_extra__", message.__pydantic_extra__.copy())
    _set(new, "__pydantic_private__", None)
    return new


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy: `copy.deepcopy`, with a short way for what messages mostly hold."""
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if kind is not dict and kind is not list and kind is not ActionReturn:
        return copy.deepcopy(value, memo)
    new = memo.get(id(value))
    if new is None and kind is ActionReturn:
        new = memo[id(value)] = value.__deepcopy__(memo)
    elif new is None:
        new = memo[id(value)] = value.copy()
        for key, each in new.items() if kind is dict else enumerate(new):
            if each.__class__ not in _ATOMS:
                new[key] = _copied(each, memo)
    return new


AgentMessage = ChatDocument = Message


class DocMetaData(BaseModel):
    """What is known about a document; other keys may be added."""

    model_config = ConfigDict(extra="allow")

    source: str = "context"
    title: str | None = None
    media_type: str = "text/plain"
    pages: tuple[int, ...] = ()
    """Offset in the content at which each page begins; empty where the format has no pages."""


class Document(BaseModel):
    """A text and what is known about it."""

    content: str
    metadata: DocMetaData = DocMetaData()
