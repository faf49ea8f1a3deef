"""The base of all events: what happens at a node, as listeners receive it."""

# pyright: reportPrivateUsage=false
# A user's Job is a node, so what views need of a node is underscored there, and public here.
from __future__ import annotations

from collections.abc import Callable, Mapping
from logging import INFO, WARNING
from time import time
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    get_args,
    get_origin,
    runtime_checkable,
)

from typing_extensions import TypeVar, get_original_bases

from trivium.events._json import JSONObject
from trivium.exceptions import RecordedError

if TYPE_CHECKING:
    from trivium.commander import TaskNode
    from trivium.events._union import RunEvent
    from trivium.schema import Usage

D_co = TypeVar("D_co", covariant=True, default=Any)
K_co = TypeVar("K_co", covariant=True, bound=str, default=str)

_LONGEST_LINE: Final = 200


class Display(NamedTuple):
    """The part of a run that an event shows to a user who follows it.

    Args:
        part: "answer" and "thought": the next piece of a model's text; "call" and "result": the beginning and the end
            of a tool call; "response": the response of a responder in a task's step; "note": a line of its own.
        text: the text; of a response "" where it has none, or is none that counts.
        speaker: the responder.
        sender: the name of the speaker where it is an agent or its model.
    """

    part: Literal["answer", "thought", "call", "result", "response", "note"]
    text: str
    speaker: str = ""
    sender: str = ""


class Event(Generic[D_co, K_co]):
    """Something that happened at a node; it describes itself to people, to logs and to other programs.

    Each kind of event is a class with a literal `kind`, which is its second type argument. Where an event is typed as
    the union `trivium.events.RunEvent`, as those of a stream are, a type checker knows the type of `data` after
    `event.kind == "delta"` as well as after `isinstance(event, DeltaEvent)`.

    Views (the live tree, the record, the screen, the server) know no kinds: they show what an event says of itself.
    So a subclass of your own, emitted by your own code, appears in all of them. Its level is an argument of the class:
    `class MyEvent(Event[str, Literal["mine"]], level=logging.WARNING)`.

    Args:
        node: the node where it happened.
        data: the value that belongs to this kind.

    Attributes:
        kind: the kind as a word; "note" for the base class.
        time: when it happened, in seconds since the epoch.
        level: how much it matters, as in `logging`: DEBUG (10) for events of every run, which views leave out, INFO
            (20, the default), WARNING (30) for what went wrong and was mended.

    Example:
        >>> class PagesEvent(Event[int, Literal["pages"]]):
        ...     def detail(self, content=False):
        ...         return f"{self.data} pages read"
        >>> from trivium.commander import CallNode
        >>> event = PagesEvent(CallNode("read"), 3)
        >>> event.kind, event.name, event.summary()
        ('pages', 'read', 'pages: 3 pages read')
    """

    __slots__ = ("data", "node", "time")
    if TYPE_CHECKING:

        @property
        def kind(self) -> K_co:
            """The kind as a word."""
            ...
    else:
        kind = "note"
    level: ClassVar[int] = INFO

    def __init_subclass__(cls, level: int | None = None) -> None:
        cls.level = cls.level if level is None else level
        for base in get_original_bases(cls):
            for argument in get_args(base)[1:2]:
                if get_origin(argument) is Literal:
                    (cls.kind,) = get_args(argument)  # type: ignore[misc] - a property to type checkers only

    def __init__(self, node: TaskNode, data: D_co) -> None:
        self.node, self.data, self.time = node, data, time()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.data!r})"

    # ---- the node: what views need of it; on a node itself users may have names of their own
    @property
    def name(self) -> str:
        """The name of the node: of an agent, "model", "tool:add" and so on."""
        return self.node._name

    @property
    def path(self) -> str:
        """The names and ordinals of the nodes from the root to this one, for people."""
        return self.node._path()

    @property
    def key(self) -> str:
        """The identity of the node: equal in every run that takes the same path."""
        return self.node._get_key()

    @property
    def parent(self) -> TaskNode | None:
        """The node above; None at the root of a run."""
        return self.node._parent

    @property
    def caller(self) -> str:
        """The name of the node above, as the agent of a model call; at the root the node's own name."""
        return self.node._name if self.node._parent is None else self.node._parent._name

    @property
    def node_kind(self) -> str:
        """The kind of node: "call", "job", "handler" or "commander"."""
        return self.node._kind

    # ---- the description; subclasses override these where they know better
    def detail(self, content: bool = False) -> str:
        """Describe `data` on one line, for people; "" if there is nothing to add to the kind.

        Args:
            content: include what was said, asked and returned; without it the line holds names, numbers and errors.
        """
        data: object = self.data
        if isinstance(data, BaseException):
            return exception_line(data)
        if isinstance(data, str) and (content or self.kind == "note"):
            return on_one_line(data)
        return ""

    def fields(self, content: bool = False) -> JSONObject:
        """Return `data` as named JSON values.

        Args:
            content: as for `detail`.
        """
        data: object = self.data
        if isinstance(data, BaseException):
            return {"error": exception_line(data)}
        return {"data": to_json_value(data)} if content and data is not None else {}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Any:
        """Return the `data` of an event that another process sent; the inverse of `fields(content=True)`."""
        return fields.get("data")

    def display(self) -> Display | None:
        """Return what a screen shows of the event while the run goes on; by default a line for the level WARNING."""
        return Display("note", self.summary()) if self.level >= WARNING else None

    def is_for_clients(self) -> bool:
        """Return True if servers send this event, with its content, to the client that made the call; default no."""
        return False

    @property
    def piece(self) -> str | None:
        """The text by which this event extends an answer that still grows; None for events that are no pieces.

        It is "" for pieces of something else than the text, as of reasoning.
        """
        return None

    @property
    def usage(self) -> Usage | None:
        """The tokens that this event reports; None for all others."""
        return None

    # ---- the same for every kind
    def summary(self, content: bool = False) -> str:
        """Describe the event on one line: its kind, and `detail`."""
        detail = self.detail(content)
        return f"{self.kind}: {detail}" if detail else self.kind

    def as_json(self, content: bool = False) -> JSONObject:
        """Return the event as JSON values: kind, time, the node's name, key and path, and the `fields` of its kind.

        Args:
            content: include prompts, messages, arguments and results; default: names, numbers and errors only.
        """
        head = {"kind": self.kind, "time": self.time, "node": self.name, "key": self.key, "path": self.path}
        return {**head, **self.fields(content)}


if TYPE_CHECKING:
    Listener: TypeAlias = Callable[[RunEvent], object]
else:
    Listener = Callable[[Event], object]
"""A function that is called in place for each event: it must be quick, must not raise and must not wait."""


def exception_line(error: BaseException) -> str:
    """Return an error as its class and its text; of one that was recorded those that it had then."""
    kind = (isinstance(error, RecordedError) and error.kind) or type(error).__name__
    try:
        text = str(error)
    except Exception:  # a user's error whose text cannot be made
        return kind
    return f"{kind}: {text}" if text else kind


def exception_text(error: BaseException) -> str:
    """Return the text of an error, or its class where it has none; the `__str__` of a user's error may itself fail."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def on_one_line(text: str) -> str:
    """Return a text on one line of at most 200 characters; the rest becomes an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def escape_controls(text: str) -> str:
    """Return the text with control characters escaped, so that it cannot steer a terminal."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else repr(sign)[1:-1] for sign in text)


def to_json_value(value: object) -> Any:
    """Return a value as JSON values; what JSON does not have becomes text."""
    from pydantic_core import to_jsonable_python  # loaded for contents only

    if isinstance(value, _NamedTuple):
        value = value._asdict()
    try:
        return to_jsonable_python(value, fallback=_as_text, inf_nan_mode="null", bytes_mode="base64")
    except (ValueError, RecursionError):  # a cycle, or nested too deeply
        return _as_text(value)


@runtime_checkable
class _NamedTuple(Protocol):
    def _asdict(self) -> JSONObject: ...


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # a user's object that cannot be written
        return f"<{type(value).__name__}>"
