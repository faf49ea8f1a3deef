"""The message between modules. No I/O, no logic."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, Self, cast, get_args, overload

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer, model_validator
from typing_extensions import TypeVar

from trivium.exceptions import AnswerFormatError, ArgumentTypeError
from trivium.policies import NOTHING, Source, Sources, as_sources, sources_within
from trivium.schema._chat_document import OF_ITSELF, OLDER_FORM, ChatDocumentForm, from_older_form, links_of
from trivium.schema._conversions import as_files
from trivium.schema._documents import ChatDocMetaData, as_metadata
from trivium.schema._models import OlderNames
from trivium.schema._status import AgentStatusCode, Entity, ModelStatusCode, Origin, StatusCode
from trivium.schema._values import ATOMS, USAGE, ToolCall, Usage, as_calls, as_tuple, as_usage, copied

if TYPE_CHECKING:
    from trivium.schema._files import FileAttachment

MessageExtra = Literal[
    "attachments", "entity", "files", "logprobs", "metadata", "origin", "output", "reasoning", "reasoning_state",
    "sources", "status", "tool_call_id", "tool_calls", "tool_choice", "tool_results", "usage", "why",
]  # fmt: skip
"""The values of a message beside its seven fields; any other is an error, so that typing errors are seen.

Each has one form, into which `_FORMS` brings it where it enters: by the constructor, by validation of what was dumped,
by `replace` and by setting it. Readers need no other. A program below that writes into the extras writes that form.

| name | form | who writes it | dumped | copied | compared |
| --- | --- | --- | --- | --- | --- |
| attachments | tuple of any values | tools, parsers of answers, users | as JSON has them | deep | yes |
| entity, status | `Entity`, `StatusCode` | tasks and their agents | yes | itself | yes |
| files | list of `FileAttachment` | users | yes | deep | yes |
| logprobs | tuple of `TokenLogprob` | agents, of a model's answer | as JSON has them | deep | yes |
| metadata | `ChatDocMetaData` | the first reader, users | its own values | with a new id | its own values |
| origin | `Origin`, else it counts as USER | agents | no: what is read is nobody's word | itself | yes |
| output | any value, or an `AnswerFormatError` | typed agents and tasks | no: it stands elsewhere too | deep | yes |
| reasoning, why | text | agents, tasks | yes | itself | yes |
| reasoning_state | `ReasoningState`, or its data | agents | as JSON has it | deep | yes |
| sources | frozenset of `Source` | calls within a run, memories, tools | yes, unless empty | itself | yes |
| tool_call_id, tool_choice | text, or a dict as models take it | executors, users | yes | deep | yes |
| tool_calls | tuple of `ToolCall` | agents | yes | itself | yes |
| tool_results | mapping of texts by id | agents | yes | deep | yes |
| usage | `Usage` | agents, calls | the counts that are known | itself | yes |
"""

_USER = Origin.USER  # a member is slow to look up
_FOR_MODELS = """a call takes text or a Message, not messages with role and content: a model takes those, as \
agent.llm.chat(…). An agent remembers what was said, by session_id; as data give them as Message(content=…)"""
_EXTRA = frozenset(get_args(MessageExtra))
_HOLDING = frozenset(("content", "formatted", "extra_info", "attachments"))  # the values that can hold other messages
_FORMS: Final[Mapping[str, tuple[type | tuple[()], Callable[[Any], Any]]]] = {
    "attachments": ((), partial(as_tuple, "attachments")), "entity": (Entity, Entity), "files": ((), as_files),
    "logprobs": ((), partial(as_tuple, "logprobs")), "metadata": (ChatDocMetaData, as_metadata),
    "sources": ((), as_sources), "status": (StatusCode, StatusCode), "tool_calls": ((), as_calls),
    "usage": (Usage, as_usage),
}  # fmt: skip
"""The class of an extra that has its form, if that tells, and what brings others into it."""
_FREE = (object, str)  # of the others any value is one
_UNSHOWN = ("logprobs", "metadata", "origin", "output", "reasoning_state", "sources", "usage")


def _put(extra: Any, name: str, value: Any) -> None:
    """Set an extra in its form; None takes it away."""
    if value is None:
        extra.pop(name, None)
        return
    kind, form = _FORMS.get(name, _FREE)
    extra[name] = value if isinstance(value, kind) else form(value)


class Message(ChatDocumentForm, OlderNames):
    """A message between modules.

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
    further_names = get_args(MessageExtra)
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
            sources: Sources = ...,
            entity: Entity = ...,
            status: StatusCode = ...,
            attachments: Sequence[Any] = ...,
            files: Sequence[Any] = ...,
            reasoning: str = ...,
            reasoning_state: Any = ...,
            logprobs: Sequence[Any] = ...,
            tool_results: Mapping[str, str] = ...,
            metadata: Any = ...,
            content_any: Any = ...,
            function_call: Any = ...,
            oai_tool_calls: Any = ...,
            oai_tool_id2result: Mapping[str, str] | None = ...,
            tool_messages: Sequence[Any] = ...,
            attachment: Any = ...,
            oai_tool_choice: Any = ...,
        ) -> None: ...
    else:

        def __init__(self, *given, **values):
            values = from_older_form(values) if OLDER_FORM & values.keys() else values
            if values.get("sources") is not None:
                values["sources"] = as_sources(values["sources"])
            super().__init__(*given, **values)

        __init__.__pydantic_base_init__ = True  # so that validation goes without it

    def _formed(self) -> Self:
        """Bring the extras into their forms; note the sources of messages within."""
        extra: Any = self.__pydantic_extra__
        try:
            for name in _FORMS.keys() & extra.keys():
                _put(extra, name, extra[name])
        except TypeError as error:
            raise ValueError(str(error)) from error
        return self._noting(self.content, self.formatted, self.extra_info, extra.get("attachments"))

    _checked = model_validator(mode="after")(_formed)

    def _noting(self, *values: Any) -> Self:
        for value in values:
            if value and value.__class__ is not str and (read := sources_within(value, Message)):
                self.__pydantic_extra__["sources"] = read | self.sources
        return self

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that a model asks for; empty for most messages."""
        return self.__pydantic_extra__.get("tool_calls", ())

    @property
    def tool_call_id(self) -> str | None:
        """In a tool's result: the call that it answers."""
        return self.__pydantic_extra__.get("tool_call_id")

    @property
    def usage(self) -> Usage | None:
        """The cost of the message, if a model wrote it."""
        return self.__pydantic_extra__.get("usage")

    @property
    def origin(self) -> Origin:
        """The author of the message, see `Origin`; USER unless a model or a program has written it in this process.

        It travels with the message through every hand-off; tool calls run only if it is not USER. It is neither shown
        nor dumped: what is read again is nobody's word but the reader's.
        """
        found = self.__pydantic_extra__.get("origin")
        return found if isinstance(found, Origin) else _USER

    @property
    def sources(self) -> Sources:
        """The outside that the message may repeat: all that its author had read; none for what a user wrote.

        It travels with the message, also through memories and saved states. See `trivium.policies`.
        """
        return self.__pydantic_extra__.get("sources", NOTHING)

    @property
    def documents(self) -> Sources:
        """The files that go with the message, as sources."""
        return frozenset(Source("document", each.filename or "") for each in self.files)

    @property
    def entity(self) -> Entity | None:
        """The responder of a task that spoke, if there is a task."""
        return self.__pydantic_extra__.get("entity")

    @property
    def status(self) -> StatusCode | None:
        """The end of the task whose result this is."""
        return self.__pydantic_extra__.get("status")

    @property
    def attachments(self) -> tuple[Any, ...]:
        """Typed values that travel with the message, a tool message for instance."""
        return self.__pydantic_extra__.get("attachments", ())

    @property
    def output(self) -> Any:
        """The value of the answer: of the type that was asked for, else what a parser made of the text, else the text.

        `model_dump` writes it as JSON has it, and does not write its type: what is read again has a dict in its place,
        of which `City.model_validate(message.output)` makes the value.

        Raises:
            AnswerFormatError: a type was asked for, and the answer has no value of it, as where it calls a tool that is
                left to a task.

        Example:
            >>> Message(content="hello").output
            'hello'
        """
        extra = self.__pydantic_extra__
        if "output" in extra:
            if isinstance(extra["output"], AnswerFormatError):
                raise extra["output"]
            return extra["output"]
        value = self.content_any if self.formatted is None else self.formatted
        return self.content if value is None else value

    @property
    def why(self) -> str:
        """The reason why a task has no result, or ended as it did, or a model's answer did; "" if all went well."""
        return self.__pydantic_extra__.get("why", "")

    @property
    def reasoning(self) -> str:
        """The thoughts of the model before it answered, if it gave them."""
        return self.__pydantic_extra__.get("reasoning", "")

    @property
    def reasoning_state(self) -> Any:
        """The part of its thoughts that the model's provider wants back: a `ReasoningState`, or None."""
        return self.__pydantic_extra__.get("reasoning_state")

    @property
    def logprobs(self) -> tuple[Any, ...]:
        """The probability of each token, a `TokenLogprob` each, if they were requested."""
        return self.__pydantic_extra__.get("logprobs", ())

    @property
    def files(self) -> list[FileAttachment]:
        """The files that go with the message; see `FileAttachment`."""
        return [*self.__pydantic_extra__.get("files", ())]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OLDER_FORM:
            for key, each in from_older_form({name: value}, self).items():
                self._take(key, each)
        elif name not in vars(self) and name not in _EXTRA and name not in type(self).model_fields:
            raise ArgumentTypeError(f"a message has no '{name}': put what is your own into extra_info", name)
        else:
            self._take(name, value)

    def _take(self, name: str, value: Any) -> None:
        """Set one value; what is none of the seven fields is taken away by None."""
        if name in vars(self):
            OlderNames.__setattr__(self, name, value)
        else:
            _put(self.__pydantic_extra__, name, value)
        if name in _HOLDING:
            self._noting(value)
        if "metadata" in self.__pydantic_extra__:
            _ = self.metadata  # a view that somebody holds shows it too
        for changes in links_of(self).get("watched", ()):
            changes.count += 1

    def replace(self, **changes: Any) -> Self:
        """A shallow copy with some of its values replaced; None takes away what is not one of the seven fields."""
        new = cast("Self", copy_message(self))
        fields = vars(new)
        extra: Any = new.__pydantic_extra__
        for name, value in changes.items():
            if name in fields:
                fields[name] = value
            elif name not in _EXTRA:
                raise ArgumentTypeError(f"a message has no '{name}'", name)
            elif value is None:
                extra.pop(name, None)
            else:  # as `_put` does it, which is called more rarely
                kind, form = _FORMS.get(name, _FREE)
                extra[name] = value if isinstance(value, kind) else form(value)
        return new._noting(*map(changes.get, _HOLDING.intersection(changes)))

    __replace__ = replace

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Message:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """A copy, deep or shallow, with some of its values replaced."""
        return (copy.deepcopy(self) if deep else self).replace(**update or {})

    def copy(self, *, deep: bool = False, update: Mapping[str, Any] | None = None) -> Message:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """A copy, deep or shallow, with some of its values replaced."""
        return self.model_copy(update=update, deep=deep)

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Make a message without validation, with the forms of its extras and the sources of messages within."""
        return super().model_construct(_fields_set, **values)._formed()

    def __getstate__(self) -> dict[Any, Any]:
        """Return what is pickled: all but the place in the conversation, which is this process's own."""
        return {**super().__getstate__(), "__pydantic_private__": None}

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Message:
        # The meaning of pydantic's own, at the price of two dict copies: most values are immutable.
        return copy_message(self, {} if memo is None else memo)

    @model_serializer(mode="wrap")
    def _dumped(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped = handler(self)
        dumped.pop("origin", None)
        dumped.pop("output", None)  # it stands in the attachments or in the text
        if dumped.pop("metadata", None) is not None and (own := self.metadata.own_values()):
            dumped["metadata"] = own
        if isinstance(usage := dumped.get("usage"), dict):  # without the parts of which the provider said nothing
            counts = cast("dict[str, Any]", usage).items()
            dumped["usage"] = {name: count for name, count in counts if count or name in USAGE[:3]}
        if dumped.pop("sources", None) and self.sources:
            dumped["sources"] = [list(each) for each in sorted(self.sources)]
        for name in dumped.keys() & {"attachments", "tool_calls"}:
            dumped[name] = list(dumped[name])  # as JSON has it, so that what was read again dumps the same
        return dumped

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return (each for each in super().__repr_args__() if each[0] not in _UNSHOWN)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes

    def __eq__(self, other: object) -> bool:
        is_message = isinstance(other, Message)
        return vars(self) == vars(other) and self._compared() == other._compared() if is_message else NotImplemented

    def _compared(self) -> dict[str, Any]:
        """The extras as equality sees them: without the ids that were made for a view."""
        extra = cast("dict[str, Any]", self.__pydantic_extra__)
        return {**extra, "metadata": self.metadata.own_values()} if "metadata" in extra else {"metadata": {}, **extra}

    def __repr_name__(self) -> str:
        return "AgentMessage"

    def __class_getitem__(cls, output: Any) -> builtins.type[Message]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """Return the class itself: `Answer[T]` says to type checkers alone which type `output` has."""
        return cls


R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True, default=Any)

if TYPE_CHECKING:

    class _Unknown: ...

    class _Output(Protocol):
        """The output of a task without a type, whose `run` gives a message or None, may be anything."""

        @overload
        def __get__(self, answer: Answer[_Unknown], owner: Any) -> Any: ...  # an `Answer[Any]` fits the first
        @overload
        def __get__(self, answer: Answer[None], owner: Any) -> None: ...
        @overload
        def __get__(self, answer: Answer[Message | None], owner: Any) -> Any: ...
        @overload
        def __get__(self, answer: Answer[R], owner: Any) -> R: ...

    class Answer(Message, Generic[T_co]):
        """A message whose `output` is of a type; at run time it is `Message`."""

        output: _Output  # pyright: ignore[reportIncompatibleMethodOverride]
else:
    Answer = Message


# What a pydantic model is made of: to fill these slots costs half of a validation.
_new = object.__new__
_set_fields, _set_given, _set_extras, _set_links = (vars(BaseModel)[slot].__set__ for slot in BaseModel.__slots__)
_FIELDS = {name: field.default for name, field in Message.model_fields.items()}


def message_of(
    content: Any, sender: str = "user", formatted: Any = None, extra: dict[MessageExtra, Any] | None = None
) -> Message:
    """The message that the constructor makes of values that need no check: for those of every turn."""
    new, fields, extra = _new(Message), _FIELDS.copy(), extra or {}
    fields["content"], fields["sender"], fields["formatted"] = content, sender, formatted
    _set_fields(new, fields)
    _set_given(new, {"content", "sender", *extra})
    _set_extras(new, extra)
    _set_links(new, None)
    return new


def check_content(given: Any) -> Any:
    """Return what is given for a message's content.

    Raises:
        ArgumentTypeError: it is messages as models take them, or was not awaited.
    """
    if hasattr(given.__class__, "__await__"):
        raise ArgumentTypeError(f"a call takes text or a Message, not a {type(given).__name__}: await it", "message")
    many = cast("list[Any]", given if isinstance(given, list) else [given])
    if many and all(isinstance(each, dict) and {"role", "content"} <= each.keys() for each in many):
        raise ArgumentTypeError(_FOR_MODELS, "message")
    return cast("Any", given)


def copy_message(message: Message, memo: dict[int, Any] | None = None) -> Message:
    """Return a copy of a message: a shallow one, or with the memo of a deep copy a deep one."""
    new = _new(message.__class__)
    fields: dict[str, Any] = message.__dict__.copy()
    extra: Any = message.__pydantic_extra__.copy()
    if "metadata" in extra:
        extra["metadata"] = extra["metadata"].for_copy()
    if memo is not None and not ATOMS.issuperset(map(type, (*fields.values(), *extra.values()))):
        for values in (fields, extra):
            for name, each in values.items():
                if each.__class__ not in ATOMS and not (each.__class__ is tuple and ATOMS.issuperset(map(type, each))):
                    values[name] = copied(each, memo)
    if links := message.__pydantic_private__:
        links = links.copy()
        for name in OF_ITSELF & links.keys():
            del links[name]
    _set_fields(new, fields)
    _set_given(new, message.__pydantic_fields_set__.copy())
    _set_extras(new, extra)
    _set_links(new, links)
    return new
