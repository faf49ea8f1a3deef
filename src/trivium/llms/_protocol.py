"""The contract of a model: a name and one method, `stream`, from a request to deltas."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from trivium.schema import ToolCall, ToolSpec, Usage

ChatMessage: TypeAlias = Mapping[str, Any]
"""A chat message in the common form: a mapping with `role` and `content`."""

Parameters: TypeAlias = Mapping[str, Any]
"""Sampling parameters by name."""

_TEXTS: Final = frozenset({str, NoneType})
_MANY: Final = 32
"""The messages of one call from which on it is cheaper to keep how they were written than to write them again."""


def is_of_texts(message: ChatMessage) -> bool:
    """Return whether all values of a chat message are texts, or missing."""
    return _TEXTS.issuperset(map(type, message.values()))


class KeptMessage(dict[str, Any]):
    """A chat message of texts alone in a long history: whoever changes it clears what was written of the history.

    So nobody has to compare its values in order to know that it is as it was.
    """

    __slots__ = ("written",)
    written: dict[Hashable, Any]

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Copy and store it as a plain dict."""
        return dict, ({**self},)


def _clearing(change: Callable[..., Any]) -> Callable[..., Any]:
    def changed(self: KeptMessage, *args: Any, **kwargs: Any) -> Any:
        self.written.clear()
        return change(self, *args, **kwargs)

    return changed


for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(KeptMessage, _name, _clearing(getattr(dict, _name)))


class LongHistory(list[dict[str, Any]]):
    """Chat messages of a long history, which grows at its end; a part of it is a plain list.

    Attributes:
        written: how wire formats have written the beginning, for the next request of the same history: their cache,
            which nothing else reads.
    """

    __slots__ = ("_ids", "_last", "_seen", "written")
    written: dict[Hashable, Any]
    _ids: set[object]  # of calls in it, or in what was once sent behind it
    _seen: int  # messages whose calls are among them, the last of which is `_last`
    _last: object

    @classmethod
    def of(cls, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return messages as they are where they are few, or a long history already; else as one."""
        return messages if len(messages) < _MANY or isinstance(messages, cls) else cls.begin(messages)

    @classmethod
    def begin(cls, messages: Iterable[dict[str, Any]]) -> LongHistory:
        """Begin a history with copies of messages; nothing of it was written."""
        begun = cls({**each} for each in messages)
        begun.written, begun._ids, begun._seen, begun._last = {}, set(), 0, None
        return begun

    def continued(self, fresh: int = 0) -> LongHistory:
        """Return the same history as a list of its own; its first `fresh` messages are copies."""
        found = LongHistory(self)
        found.written, found._ids, found._seen, found._last = self.written, self.call_ids(), self._seen, self._last
        found[:fresh] = [{**each} for each in self[:fresh]]
        return found

    def keep(self, start: int, end: int | None = None) -> None:
        """Put messages that notice their changes in place of those between two places that are of texts alone."""
        for at in range(start, len(self) if end is None else end):
            message = self[at]
            if message.__class__ is dict and is_of_texts(message):
                self[at] = kept = KeptMessage(message)
                kept.written = self.written

    def call_ids(self) -> set[object]:
        """Return the ids of the calls in it; only messages that are new are looked at, unless some were taken away."""
        is_longer = 0 < self._seen <= len(self) and self[self._seen - 1] == self._last
        self._ids |= call_ids(self[self._seen if is_longer else 0 :])
        self._seen, self._last = len(self), self[-1] if self else None
        return self._ids

    def __reduce__(self) -> tuple[Callable[[list[dict[str, Any]]], LongHistory], tuple[list[dict[str, Any]]]]:
        """Copy and store the messages alone."""
        return LongHistory.begin, ([*self],)


def call_ids(messages: Sequence[ChatMessage]) -> set[object]:
    """Return the ids of the calls in chat messages."""
    if isinstance(messages, LongHistory):
        return messages.call_ids()
    return {call.get("id") for each in messages if "tool_calls" in each for call in each["tool_calls"] or ()}


class Request(NamedTuple):
    """One request to a model.

    Args:
        messages: chat messages, oldest first, as dicts with `role` and `content` (the common chat form;
            an assistant message may carry `tool_calls`, a tool message its `tool_call_id`). An assistant message may
            also carry `reasoning`, a text, and `reasoning_state`; each wire format sends back the parts that its
            provider expects. The list goes on growing with the call that asks: who keeps a request keeps `as_sent()`.
        tools: the tools that the model may call.
        tool_choice: "auto", "none", "required", or the name of the one tool that it must call.
        output_schema: a JSON schema that the answer's text must satisfy, or None for free text.
        parameters: sampling parameters by their common names (temperature, max_tokens, stop, seed, …).
        reader: what reads the answer's text, and raises where that does not fit; a cache asks it what to keep.
    """

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec] = ()
    tool_choice: str = "auto"
    output_schema: Mapping[str, Any] | None = None
    parameters: Parameters = MappingProxyType({})
    reader: Callable[[str], object] | None = None

    def as_sent(self) -> Request:
        """Return the request with the messages that it has now: what is said later does not change it."""
        return self._replace(messages=[*self.messages])


class ToolCallPart(NamedTuple):
    """A piece of a tool call; pieces of one call share `index`, and their arguments are joined in order."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride] - hides tuple.index, which nobody needs here
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class Reasoning(NamedTuple):
    """A piece of the model's reasoning before its answer."""

    text: str


class ReasoningState(NamedTuple):
    """Reasoning in the provider's own form, signed or encrypted, that the provider expects back with the next request.

    A stream yields it once, when the answer is complete; it stands in the assistant's message as `reasoning_state`. A
    wire format sends back a state of its own form and leaves out any other.

    Args:
        form: the wire format: "openai-responses", "anthropic", "gemini", "openai-chat".
        model: the model that made it.
        items: JSON values, as the provider sent them.
    """

    form: str
    model: str
    items: tuple[Any, ...]


class TokenLogprob(NamedTuple):
    """A token of the answer and its log probability.

    Args:
        token: the token's text.
        logprob: the natural logarithm of its probability.
        top: the most likely tokens at its position and their log probabilities, most likely first.
    """

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Logprobs(NamedTuple):
    """Log probabilities of tokens of the answer, in order; requested by the parameter `logprobs`."""

    tokens: tuple[TokenLogprob, ...]


class Finish(NamedTuple):
    """The reason why the answer ended: "stop", "length", "tool_calls", "content_filter" or a provider's own word."""

    reason: str


class Written(NamedTuple):
    """The whole text as the model wrote it, of a model made of another that shows a different one."""

    text: str


Delta: TypeAlias = str | ToolCallPart | Reasoning | ReasoningState | Logprobs | Usage | Finish | Written
"""An item of a model's stream; text is plain `str`, and "" is a keep-alive at which a cancelled run ends."""


_WHY: Final = {
    "length": "the answer was cut off by max_tokens or the window: allow more",
    "content_filter": "the answer was refused by the model or stopped by a filter: ask otherwise, or another model",
}


class Reply(NamedTuple):
    """A complete answer; `written` is the text as the model wrote it, "" if that is `text`."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    reasoning: str = ""
    reasoning_state: ReasoningState | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    written: str = ""

    @property
    def why(self) -> str:
        """The reason why the answer did not come to its own end, and what to do then; "" if it did."""
        return _WHY.get(self.finish_reason or "", "")


@runtime_checkable
class ModelProtocol(Protocol):
    """The complete contract of a model.

    `stream` may be a plain or an async generator function; each item is a `Delta`. It raises a
    `ProviderError` (or another `ModelError`) when the model cannot answer. A model may have three more attributes,
    which all models of trivium have: `price` (see `Pricing`), `gen_params`, and `cache_identity` (see `CachedModel`).
    """

    name: str

    def stream(self, request: Request) -> Iterable[Delta] | AsyncIterable[Delta]:
        """Request an answer and yield its deltas."""
        ...
