"""The base of all models of trivium: complete answers, growing answers, prices and the identity for caches."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from trivium.commander import AsyncStream, CallNode, Event, Stream, driver_neutral, gather, sync_method
from trivium.exceptions import ConfigurationError
from trivium.llms._call import DeltaEvent, call_model, model_node
from trivium.llms._parameters import check_spelling
from trivium.llms._prices import Pricing
from trivium.llms._protocol import ChatMessage, Delta, ModelProtocol, Parameters, Reply, Request
from trivium.schema import ModelStatusCode

Messages: TypeAlias = Sequence[ChatMessage]
Growing: TypeAlias = tuple[ModelStatusCode, str, None]
Answers: TypeAlias = Any
"""A text, or a list of texts for several conversations; a coroutine of it where a model's methods are async."""


class ChatModel:
    """A model that can also be called without an agent; a subclass writes `stream`.

    Attributes:
        name: the model's name.
        gen_params: sampling parameters of every request; those of a call override them for that call. A change
            applies from the next call on.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> ScriptedModel(["hello"]).chat([{"role": "user", "content": "hi"}])
        'hello'
    """

    name: str = "model"  # of one that sets none, as where `super().__init__()` was left out
    gen_params: dict[str, Any]
    _price: Pricing | None = None
    _cache_identity: object = None

    @property
    def price(self) -> Pricing | None:
        """The price of the model's tokens: the one that was set, else the published one; None if neither is known."""
        return self._price or self.published_price()

    @price.setter
    def price(self, price: Pricing | None) -> None:
        if price is not None and not isinstance(price, Pricing):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"a model's price is Price(…), or what has a method usd(usage), not {price!r}")
        self._price = price

    def published_price(self) -> Pricing | None:
        """The published price of the model; None if it has none. A subclass overrides it."""
        return None

    @property
    def cache_identity(self) -> object:
        """A JSON value that differs between models whose answers may differ; nothing secret stands in it.

        The default is `_identity()`. A model may set another value as an attribute.
        """
        return self._identity() if self._cache_identity is None else self._cache_identity

    @cache_identity.setter
    def cache_identity(self, identity: object) -> None:
        self._cache_identity = identity

    def _identity(self) -> dict[str, object]:
        """Return class, name and parameters of the model. A subclass adds its own options to those of `super()`."""
        kind = type(self)
        return {"class": f"{kind.__module__}.{kind.__qualname__}", "name": self.name, "parameters": self.gen_params}

    def inner_models(self) -> Sequence[tuple[ModelProtocol, Parameters]]:
        """The models that this one calls, each with parameters for it alone; none for most."""
        return ()

    def stream(self, request: Request) -> Iterable[Delta] | AsyncIterable[Delta]:
        """Request an answer and yield its deltas."""
        raise NotImplementedError(f"{type(self).__name__} has no stream: write `def stream(self, request)`")

    def update_gen_params(self, **gen_params: object) -> dict[str, Any]:
        """Return a copy of `gen_params` with these parameters put in."""
        return {**self.gen_params, **gen_params}

    @driver_neutral
    async def chat_async(self, inputs: object, session_ids: object = None, **gen_params: object) -> Answers:
        """Call the model and return the text of its answer.

        Args:
            inputs: chat messages, one of them, or the text of a user; or several lists of messages, which are
                answered concurrently.
            session_ids: ids of the conversations, for models that keep state for each.
            **gen_params: sampling parameters of this call.

        Returns:
            The text; a list of texts for several lists.

        Raises:
            ModelError: the model could not answer.
            ArgumentTypeError: the name of a parameter is misspelt.
        """
        gen_params.pop("session_id", None)  # a forward may hand on all that it was given
        messages = as_messages(inputs)
        parts = list(messages) if isinstance(messages, Sequence) else [None]  # type: ignore[unnecessary] - users pass anything
        if not all(isinstance(each, Mapping | Sequence) for each in parts):
            raise ConfigurationError(
                "a model is called with a list of chat messages, each a dict with role and content"
            )
        if not parts or isinstance(parts[0], Mapping):
            return (await self._reply_to(messages, gen_params, session_ids)).text
        given = cast("Sequence[object]", session_ids) if isinstance(session_ids, list | tuple) else ()
        many: Sequence[object] = given if len(given) == len(parts) else [cast("object", session_ids)] * len(parts)
        works = [
            partial(self._reply_to, as_messages(each), gen_params, session)
            for each, session in zip(parts, many, strict=True)
        ]
        return [reply.text for reply in await gather(*works)]

    chat = sync_method(chat_async)

    @driver_neutral
    async def _reply_to(self, messages: Messages, gen_params: Parameters, session: object = None) -> Reply:
        """Call the model as `chat` does and return the complete reply."""
        return await call_model(self._model_for("chat", session), self._request_for(messages, gen_params))

    def _request_for(self, messages: Messages, gen_params: Parameters) -> Request:
        """Make the request of the built-in `chat` and `stream_chat`."""
        if gen_params:
            check_spelling(gen_params, self.gen_params)
        return Request(messages, parameters=gen_params)

    def _model_for(self, method: str, session: object = None) -> ModelProtocol:
        """Return the model that the built-in `chat` or `stream_chat` calls: this one, if no subclass says otherwise."""
        return self

    def stream_chat(self, inputs: object, session_id: object = None, **gen_params: object) -> Generator[Growing]:
        """Call the model and yield its answer as it grows: a status, the text so far, and None.

        Args:
            inputs: chat messages.
            session_id: id of the conversation, for models that keep state for each.
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
        self, inputs: object, session_id: object = None, **gen_params: object
    ) -> AsyncGenerator[Growing]:
        """Do the same as `stream_chat`, from async code."""
        text = ""
        async with AsyncStream(*self._call(inputs, gen_params)) as events:
            async for event in events:
                if piece := _text(event):
                    text += piece
                    yield ModelStatusCode.STREAM_ING, text, None
        yield ModelStatusCode.END, text, None

    def _call(
        self, inputs: object, gen_params: Parameters
    ) -> tuple[CallNode, Callable[[], Coroutine[Any, Any, Reply]]]:
        node, request = model_node(), self._request_for(as_messages(inputs), gen_params)
        return node, partial(call_model, self._model_for("stream_chat"), request, node)


class AsyncModelMixin(ChatModel):
    """A mixin before a model's class: `chat` returns a coroutine, and `stream_chat` an async generator."""

    def chat(self, inputs: object, session_ids: object = None, **gen_params: object) -> Answers:
        """Call the model; see `ChatModel.chat_async`."""
        return self.chat_async(inputs, session_ids, **gen_params)

    def stream_chat(self, inputs: object, session_id: object = None, **gen_params: object) -> Any:
        """Call the model and yield its answer as it grows; see `ChatModel.stream_chat`."""
        return self.stream_chat_async(inputs, session_id, **gen_params)


def identity_of(model: ModelProtocol) -> object:
    """Return the `cache_identity` of a model; class and name of a model that has none."""
    kind = type(model)
    own = getattr(model, "cache_identity", None)
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "name": model.name} if own is None else own


def as_messages(inputs: object) -> Messages:
    """Return chat messages: a text becomes a user's message, and a single message a list of one."""
    if isinstance(inputs, str):
        return [{"role": "user", "content": inputs}]
    return [cast("ChatMessage", inputs)] if isinstance(inputs, Mapping) else cast("Messages", inputs)


def _text(event: Event[object]) -> str:
    return event.piece if isinstance(event, DeltaEvent) else ""
