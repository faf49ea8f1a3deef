"""Strategies for messages that do not fit into a model's context window; each use emits an event."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from itertools import count
from logging import WARNING
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from trivium.commander import Event, current, invoke
from trivium.commander.lowlevel import emit
from trivium.events import JSONObject, exception_line, to_json_value
from trivium.exceptions import ConfigurationError, ContextOverflowError
from trivium.llms._prices import count_characters
from trivium.llms._protocol import ChatMessage, Delta, ModelProtocol, Request
from trivium.llms._wrapped import WrappedModel, deltas_of, first_delta
from trivium.llms.http._refusals import SHORTEN
from trivium.schema.lowlevel import checked

ChatMessages: TypeAlias = Sequence[ChatMessage]
Strategy: TypeAlias = Literal["drop_oldest"] | Callable[[ChatMessages], ChatMessages | Awaitable[ChatMessages]]
MAX_TRIES: Final = 4
_SHORTER: Final = "shorten the system message, the last message or the tools, or take a model with a larger window"
_MORE_TRIES: Final = "raise max_tries, or have the strategy leave out more at once"
_ROOM = 0.9
"""The share of the window that is filled again: the tokens of a message are only estimated, by its characters."""


class Overflow(NamedTuple):
    """Messages that did not fit, and the messages that are sent instead.

    Args:
        error: the error, with the tokens of the messages and of the window where they are known.
        dropped: the messages that are no longer sent.
        kept: number of messages that are sent now.
    """

    error: ContextOverflowError
    dropped: tuple[ChatMessage, ...]
    kept: int


class OverflowEvent(Event[Overflow, Literal["overflow"]], level=WARNING):
    """The messages of a request did not fit into the model's window, and fewer are sent."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Say how many messages were left out."""
        return f"{len(self.data.dropped)} messages are left out, {self.data.kept} are sent"

    def fields(self, content: bool = False) -> JSONObject:
        """Return how many messages were left out and are sent, the error, and the messages that were left out."""
        dropped = {"messages": to_json_value(self.data.dropped)} if content else {}
        counts = {"dropped": len(self.data.dropped), "kept": self.data.kept}
        return {**counts, "error": exception_line(self.data.error), **dropped}


class OverflowModel(WrappedModel):
    """A model that is called again with fewer messages if they do not fit into its context window.

    Without it such a request raises a `ContextOverflowError`. The memory of an agent does not change: only the request
    is shortened. An `OverflowEvent` at the node of the model call names the dropped messages.

    Args:
        model: the model that is called.
        strategy: "drop_oldest" drops the oldest complete turns: a user's message and everything up to the next. System
            messages and the last user message stay, and tool calls stay together with their results. If only the last
            turn is left, its oldest calls are dropped. Or a sync or async function from the messages to those to send.
        max_tries: the most calls of the model for one request. Default: 4 for a function; for "drop_oldest" no limit,
            since each call has fewer messages than the one before.

    Raises:
        ConfigurationError: there is no such strategy.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> small = ScriptedModel(
        ...     lambda request: "yes" if len(request.messages) < 3 else ContextOverflowError("too long")
        ... )
        >>> turns = [{"role": role, "content": "hi"} for role in ("user", "assistant", "user")]
        >>> OverflowModel(small, "drop_oldest").chat(turns)
        'yes'
    """

    @checked
    def __init__(self, model: ModelProtocol, strategy: Strategy, *, max_tries: int | None = None) -> None:
        if strategy != "drop_oldest" and not callable(strategy):
            raise ConfigurationError("a strategy is 'drop_oldest' or a function from messages to messages")
        if max_tries is not None and max_tries < 1:
            raise ConfigurationError("max_tries is at least 1")
        super().__init__(model)
        self._strategy = strategy
        self._max_tries = MAX_TRIES if max_tries is None and callable(strategy) else max_tries

    def _identity(self) -> dict[str, object]:
        strategy = self._strategy if isinstance(self._strategy, str) else getattr(self._strategy, "__qualname__", None)
        return {**super()._identity(), "strategy": strategy}

    def __repr__(self) -> str:
        return f"OverflowModel({self._model!r}, {self._strategy!r})"

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Call the model, with fewer messages if they do not fit, and yield its deltas.

        Raises:
            ContextOverflowError: nothing more can be dropped, or the messages did not fit after `max_tries` calls.
        """
        request = request._replace(parameters=self.update_gen_params(**request.parameters))
        total = len(request.messages)
        for attempt in count(1):
            begun = False
            try:
                async with aclosing(deltas_of(self._model, request)) as deltas:
                    for delta in await first_delta(deltas):
                        begun = True
                        yield delta
                    async for delta in deltas:
                        yield delta
                return
            except ContextOverflowError as error:
                if begun:
                    raise
                is_last = attempt == self._max_tries
                found = None if is_last else await self.shortened(request.messages, error)
                if found is None:
                    advice = _MORE_TRIES if is_last else _SHORTER
                    raise _ended(error, total - len(request.messages), total, advice) from None
                request = request._replace(messages=found)

    async def shortened(self, messages: ChatMessages, error: ContextOverflowError) -> ChatMessages | None:
        """Apply the strategy to messages that did not fit, and emit an `OverflowEvent`; None if it changed nothing.

        Raises:
            ConfigurationError: the user's strategy did not return messages.
        """
        if isinstance(self._strategy, str):
            share = _ROOM * error.window / error.tokens if error.window and error.tokens > error.window else 0.5
            found = without_oldest(messages, share)
        else:
            given: object = await invoke(self._strategy, list(messages))
            if not isinstance(given, Sequence) or isinstance(given, str):
                raise ConfigurationError(f"a strategy returns the messages to send, not {type(given).__name__}")
            found = list(cast("ChatMessages", given))
        if found == list(messages):
            return None
        if (node := current.get()) is not None:
            kept = {id(each) for each in found}
            dropped = tuple(each for each in messages if id(each) not in kept)
            emit(node, OverflowEvent, Overflow(error, dropped, len(found)))
        return found


def _ended(error: ContextOverflowError, left_out: int, total: int, advice: str) -> ContextOverflowError:
    """Return the error of messages that do not fit although some were left out."""
    if left_out < 1:
        return error
    told = str(error).removesuffix(f"; {SHORTEN}")
    return ContextOverflowError(
        f"{told}; {left_out} of {total} messages were left out, and the rest is too long: {advice}",
        error.raw,
        error.status,
        error.tokens,
        error.window,
        error.request_id,
    )


def without_oldest(messages: ChatMessages, share: float) -> list[ChatMessage]:
    """Drop the oldest messages until the rest has at most a share of the characters.

    A turn, or a call with its results, is dropped as one. At least one is dropped, if any can be.

    Args:
        messages: the messages, oldest first.
        share: share of the characters of all messages, between 0 and 1; a file counts as 1,000 tokens.
    """
    sizes = list(map(count_characters, messages))
    wanted, dropped = sum(sizes) * share, set[int]()
    left = sum(sizes)
    for piece in _pieces(messages):
        if dropped and left <= wanted:
            break
        dropped.update(piece)
        left -= sum(sizes[at] for at in piece)
    return [message for at, message in enumerate(messages) if at not in dropped]


def _pieces(messages: ChatMessages) -> list[list[int]]:
    """Return groups of indices to drop together, oldest first: complete turns, then calls of the last turn."""
    roles = [str(message.get("role")) for message in messages]
    users = [at for at, role in enumerate(roles) if role == "user"]
    last = users[-1] if users else -1
    turns: list[list[int]] = []
    calls: list[list[int]] = []
    for at, role in enumerate(roles):
        if role in ("system", "developer") or at == last:
            continue
        pieces, begins = (turns, role == "user") if at < last else (calls, role == "assistant")
        if begins or not pieces:
            pieces.append([])
        pieces[-1].append(at)
    return turns + calls[:-1]  # the newest results are what the model was to go on from
