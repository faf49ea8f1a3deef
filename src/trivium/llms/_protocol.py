"""What a provider writes: a name and one method, `stream`, from a request to deltas."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from trivium.schema import ToolCall, ToolSpec, Usage

__all__ = [
    "Delta",
    "Finish",
    "Logprobs",
    "ModelProtocol",
    "Reasoning",
    "ReasoningState",
    "Reply",
    "Request",
    "TokenLogprob",
    "ToolCallPart",
]


class Request(NamedTuple):
    """One question to a model.

    Args:
        messages: chat messages, oldest first, as dicts with `role` and `content` (the common chat form;
            an assistant message may carry `tool_calls`, a tool message its `tool_call_id`). An assistant message may
            also carry `reasoning`, a text, and `reasoning_state`; a provider sends what it wants back of them.
        tools: what the model may call.
        tool_choice: "auto", "none", "required", or the name of the one tool that it must call.
        output_schema: a JSON schema that the answer's text must satisfy, or None for free text.
        parameters: sampling parameters by their common names (temperature, max_tokens, stop, seed, …).
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[ToolSpec] = ()
    tool_choice: str = "auto"
    output_schema: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = MappingProxyType({})


class ToolCallPart(NamedTuple):
    """A piece of a tool call; pieces of one call share `index`, and their arguments are joined in order."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride] - hides tuple.index, which nobody needs here
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class Reasoning(NamedTuple):
    """A piece of what the model thinks before it answers."""

    text: str


class ReasoningState(NamedTuple):
    """What a provider wants back with the next request: its thoughts in its own form, signed or encrypted.

    It is given once, when the answer is whole, and stands in the assistant's message as `reasoning_state`. A wire
    format sends back what is of its own form and leaves out all other.

    Args:
        form: the wire format whose it is: "openai-responses", "anthropic", "gemini", "openai-chat".
        model: the model that made it.
        items: JSON values, as the provider sent them.
    """

    form: str
    model: str
    items: tuple[Any, ...]


class TokenLogprob(NamedTuple):
    """A token of the answer, with how likely it was.

    Args:
        token: its text.
        logprob: the logarithm of its probability.
        top: the likeliest tokens at its place with theirs, likeliest first.
    """

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Logprobs(NamedTuple):
    """How likely some tokens of the answer were, in order; asked for by the parameter `logprobs`."""

    tokens: tuple[TokenLogprob, ...]


class Finish(NamedTuple):
    """Why the model stopped: "stop", "length", "tool_calls", "content_filter" or a provider's own word."""

    reason: str


Delta: TypeAlias = str | ToolCallPart | Reasoning | ReasoningState | Logprobs | Usage | Finish
"""What a model's stream yields; text is plain `str`, and "" is a sign of life at which a stopped run ends."""


class Reply(NamedTuple):
    """A whole answer."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    reasoning: str = ""
    reasoning_state: ReasoningState | None = None
    logprobs: tuple[TokenLogprob, ...] = ()


@runtime_checkable
class ModelProtocol(Protocol):
    """The whole contract of a provider.

    `stream` may be a plain or an async generator function; each item is a `Delta`. It raises a
    `ProviderError` (or another `ModelError`) when the model cannot answer.
    """

    name: str

    def stream(self, request: Request) -> Iterable[Delta] | AsyncIterable[Delta]:
        """Ask the model and yield what it answers, piece by piece."""
        ...
