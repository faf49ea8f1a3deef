"""A chain of models: if one cannot answer, the next is called."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from logging import WARNING
from typing import Final, Literal, NamedTuple, TypeAlias

from trivium.commander import Event, current
from trivium.commander.lowlevel import emit
from trivium.events import JSONObject, exception_line, on_one_line
from trivium.exceptions import (
    AllModelsFailedError,
    ConfigurationError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderQuotaError,
)
from trivium.llms._chat_model import ChatModel, identity_of
from trivium.llms._locks import OwnLock
from trivium.llms._prices import priced
from trivium.llms._protocol import Delta, ModelProtocol, Parameters, Request
from trivium.llms._wrapped import deltas_of
from trivium.schema import Usage
from trivium.schema.lowlevel import checked

PASSING: Final = (ProviderConnectionError, ProviderBusyError, ProviderQuotaError, AllModelsFailedError)
Link: TypeAlias = ModelProtocol | str | tuple[ModelProtocol | str, Parameters]


class Fallback(NamedTuple):
    """A step along a chain.

    Args:
        failed: name of the model that could not answer.
        error: its error.
        model: name of the model that is called instead.
    """

    failed: str
    error: Exception
    model: str


class FallbackEvent(Event[Fallback, Literal["fallback"]], level=WARNING):
    """A model of a chain could not answer, and the next is called; the last such event names the one that answered."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name both models, and the error."""
        failed, error, model = self.data
        return f"{model} is called instead of {failed}: {on_one_line(exception_line(error))}"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the names of both models, and the error."""
        return {"failed": self.data.failed, "model": self.data.model, "error": exception_line(self.data.error)}


class FallbackModel(ChatModel):
    """Calls the first of several models, and the next one if it cannot answer, and so on.

    A model is called after the one before has used up its own retries, and never after the first delta of an answer
    was yielded. Each step is a `FallbackEvent` at the node of the model call.

    Args:
        models: the models in order. Each is a model, or a name for `resolve`, which is looked up at the first use; or a
            pair of one of these and parameters, which override those of a request for this model only.
        on: classes of errors after which the next model is called. Default: the server cannot be reached
            (`ProviderConnectionError`), cannot answer now (`ProviderBusyError`, for 408, 429 and 5xx), or the account
            has no quota left (`ProviderQuotaError`). Any other error is raised at once: a bad request is bad
            everywhere, and a wrong key must be noticed.
        name: name of the chain; default: the names of the models.

    Raises:
        ConfigurationError: there is no model, or `on` has an item that is not a class of errors.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> broken = ScriptedModel([ProviderConnectionError("no answer")], "broken")
        >>> FallbackModel([broken, ScriptedModel(["hello"])]).chat("hi")
        'hello'
    """

    @checked
    def __init__(
        self,
        models: Sequence[Link],
        *,
        on: Sequence[type[Exception]] = PASSING,
        name: str | None = None,
    ) -> None:
        ends = [each[0] if isinstance(each, tuple) and len(each) in (1, 2) else each for each in models]  # type: ignore[unnecessary] - users pass anything
        if not all(isinstance(each, str | ModelProtocol) for each in ends):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("a chain is of models, their names, or pairs of one and parameters for it")
        if not models:
            raise ConfigurationError("a chain has at least one model: FallbackModel([model, 'openai:…'])")
        if not all(isinstance(each, type) and issubclass(each, Exception) for each in on):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("on= has the classes of errors after which the next model is asked")
        self._links = [_Link(*each) if isinstance(each, tuple) else _Link(each) for each in models]
        self._on = tuple(on)
        self.name = name or " | ".join(link.name for link in self._links)
        self.gen_params = {}

    def __repr__(self) -> str:
        return f"FallbackModel({[link.name for link in self._links]})"

    def inner_models(self) -> Sequence[tuple[ModelProtocol, Parameters]]:
        """Return the models of the chain that exist so far, each with its own parameters."""
        return [(link.made, link.parameters) for link in self._links if not isinstance(link.made, str)]

    def _identity(self) -> dict[str, object]:
        links = [[identity_of(link.model()), link.parameters] for link in self._links]
        return {**super()._identity(), "links": links}

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Call one model after the other until one answers, and yield its deltas.

        Raises:
            AllModelsFailedError: none could answer; the error holds the error of each.
            ModelError: one failed with an error that is not in `on`.
        """
        request = request._replace(parameters=self.update_gen_params(**request.parameters))
        errors: list[Exception] = []
        spent = Usage()  # by the models that failed
        for link in self._links:
            begun, used = False, Usage()
            if errors and (node := current.get()) is not None:
                emit(node, FallbackEvent, Fallback(self._links[len(errors) - 1].name, errors[-1], link.name))
            try:
                model = link.model()
                async with aclosing(deltas_of(model, link.request_for(request))) as deltas:
                    async for delta in deltas:
                        counts = type(delta) is Usage  # it is no beginning of an answer, and no keep-alive is
                        begun = begun or not (counts or delta == "")
                        used = priced(model, delta) if type(delta) is Usage else used  # at the price of who was asked
                        yield spent + used if counts else delta
                return
            except self._on as error:
                if begun:
                    raise
                errors.append(error)
                spent += used
        causes = "; ".join(f"{link.name}: {error}" for link, error in zip(self._links, errors, strict=True))
        text = f"none of {len(errors)} models could answer ({causes}): look into each, or add another"
        raise AllModelsFailedError(text, tuple(errors)) from errors[-1]


class _Link:
    """A model of a chain, made when it is first needed, and its own parameters."""

    def __init__(self, model: ModelProtocol | str, parameters: Parameters | None = None) -> None:
        self.made, self.parameters, self._lock = model, dict(parameters or {}), OwnLock()
        self.name = model if isinstance(model, str) else model.name

    def model(self) -> ModelProtocol:
        with self._lock:
            if isinstance(self.made, str):
                from trivium.llms._resolve import resolve

                self.made = resolve(self.made)
            return self.made

    def request_for(self, request: Request) -> Request:
        if not self.parameters:
            return request
        return request._replace(parameters={**request.parameters, **self.parameters})
