"""What every model of trivium can do beside `stream`: be asked for a whole answer, or for one that grows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from trivium.commander import AsyncStream, CallNode, Event, Stream, driver_neutral, gather, sync_method
from trivium.exceptions import ConfigurationError
from trivium.llms._call import DeltaEvent, call_model, model_node
from trivium.llms._prices import Pricing
from trivium.llms._protocol import Delta, ModelProtocol, Reply, Request
from trivium.schema import ModelStatusCode

__all__ = ["AsyncModelMixin", "ChatModel", "as_messages"]

Messages = Sequence[Mapping[str, Any]]
Growing = tuple[ModelStatusCode, str, None]


class ChatModel:
    """A model that can be asked without an agent too; a subclass writes `stream`.

    Attributes:
        name: how the model is called.
        gen_params: sampling parameters of every request; those of a call go before, for that call only. A change of
            them counts from the next call on.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> ScriptedModel(["hello"]).chat([{"role": "user", "content": "hi"}])
        'hello'
    """

    name: str
    gen_params: dict[str, Any]
    _price: Pricing | None = None

    @property
    def price(self) -> Pricing | None:
        """What its tokens cost: the `Price` that was set, else what is published; None where nothing is known."""
        return self._price or self._published_price()

    @price.setter
    def price(self, price: Pricing | None) -> None:
        if price is not None and not isinstance(price, Pricing):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"a model's price is Price(…), or what has a method usd(usage), not {price!r}")
        self._price = price

    def _published_price(self) -> Pricing | None:
        return None

    def _asked_models(self) -> list[tuple[Any, Mapping[str, Any]]]:
        """The models that answer for one that is made of others, each with parameters for it alone."""
        return []

    def stream(self, request: Request) -> Iterable[Delta] | AsyncIterable[Delta]:
        """Ask the model and yield what it answers, piece by piece."""
        raise NotImplementedError(f"{type(self).__name__} has no stream: write `def stream(self, request)`")

    def update_gen_params(self, **gen_params: Any) -> dict[str, Any]:
        """The parameters of one call: a copy of `gen_params` with these put in."""
        return {**self.gen_params, **gen_params}

    @driver_neutral
    async def chat_async(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        """Ask the model and return the text of its answer.

        Args:
            inputs: chat messages, one of them, or the text of a user; or several lists of messages, which are
                answered at once.
            session_ids: which conversations these are, where the model keeps something for each.
            **gen_params: sampling parameters of this call.

        Returns:
            The text; a list of texts for several lists.

        Raises:
            ModelError: the model could not answer.
        """
        gen_params.pop("session_id", None)  # a forward may hand on all that it was given
        asked = as_messages(inputs)
        parts: list[Any] = list(cast("Sequence[Any]", asked)) if isinstance(asked, Sequence) else [None]
        if not all(isinstance(each, Mapping | Sequence) for each in parts):
            raise ConfigurationError("a model is asked with a list of chat messages, each a dict with role and content")
        if not parts or isinstance(parts[0], Mapping):
            return (await self._asked(parts, gen_params)).text
        works = [partial(self._asked, as_messages(each), gen_params) for each in parts]
        return [reply.text for reply in await gather(*works)]

    chat = sync_method(chat_async)

    @driver_neutral
    async def _asked(self, messages: Messages, gen_params: Mapping[str, Any]) -> Reply:
        return await call_model(self._asked_by("chat"), self._question(messages, gen_params))

    def _question(self, messages: Messages, gen_params: Mapping[str, Any]) -> Request:
        """What the built-in `chat` and `stream_chat` ask."""
        return Request(messages, parameters=gen_params)

    def _asked_by(self, method: str) -> ModelProtocol:
        """Whom the built-in `chat` or `stream_chat` asks."""
        return self

    def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Generator[Growing]:
        """Ask the model and yield its answer as it grows: a status, the text so far, and None.

        Args:
            inputs: chat messages.
            session_id: which conversation this is, where the model keeps something for each.
            **gen_params: sampling parameters of this call.

        Raises:
            ModelError: the model could not answer.
        """
        text = ""
        with Stream(*self._call(inputs, gen_params)) as events:
            for event in events:
                if piece := _text(event):
                    text += piece
                    yield ModelStatusCode.STREAM_ING, text, None
        yield ModelStatusCode.END, text, None

    async def stream_chat_async(
        self, inputs: Any, session_id: Any = None, **gen_params: Any
    ) -> AsyncGenerator[Growing]:
        """The same from async code."""
        text = ""
        async with AsyncStream(*self._call(inputs, gen_params)) as events:
            async for event in events:
                if piece := _text(event):
                    text += piece
                    yield ModelStatusCode.STREAM_ING, text, None
        yield ModelStatusCode.END, text, None

    def _call(self, messages: Any, gen_params: Mapping[str, Any]) -> tuple[CallNode, Any]:
        node = model_node()
        return node, partial(
            call_model, self._asked_by("stream_chat"), self._question(as_messages(messages), gen_params), node
        )


class AsyncModelMixin(ChatModel):
    """Put before a model's class, it makes `chat` give a coroutine and `stream_chat` an async generator."""

    def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        """Ask the model; see `ChatModel.chat_async`."""
        return self.chat_async(inputs, session_ids, **gen_params)

    def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Any:
        """Ask the model and yield its answer as it grows; see `ChatModel.stream_chat`."""
        return self.stream_chat_async(inputs, session_id, **gen_params)


def as_messages(inputs: Any) -> Any:
    """Chat messages; a text is a user's, and one message may stand alone."""
    if isinstance(inputs, str):
        return [{"role": "user", "content": inputs}]
    return [cast("Any", inputs)] if isinstance(inputs, Mapping) else inputs


def _text(event: Event[Any]) -> str:
    return event.data if isinstance(event, DeltaEvent) and isinstance(event.data, str) else ""
