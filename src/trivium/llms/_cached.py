"""A model whose answers are stored: an equal request is answered from a cache, delta by delta."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, astuple
from pathlib import PurePath
from typing import Any, Final, Literal, NamedTuple, Protocol, cast, runtime_checkable

from trivium.caches import Cache
from trivium.caches.lowlevel import Flights, hash_json
from trivium.commander import Event, current, invoke, wait
from trivium.commander.lowlevel import emit
from trivium.events import JSONObject, exception_line, on_one_line
from trivium.exceptions import CacheError, ConfigurationError
from trivium.llms._chat_model import identity_of
from trivium.llms._parameters import python_value
from trivium.llms._protocol import (
    Delta,
    Finish,
    Logprobs,
    ModelProtocol,
    Reasoning,
    ReasoningState,
    Request,
    TokenLogprob,
    ToolCallPart,
)
from trivium.llms._wrapped import WrappedModel, deltas_of
from trivium.llms.wire._fields import is_json
from trivium.schema import Usage
from trivium.schema.lowlevel import checked, unfence
from trivium.settings import settings

FORMAT: Final = 3  # raised by each change of the stored form or of the values in a key
_COMPLETE: Final = (None, "stop", "tool_calls")


class Lookup(NamedTuple):
    """A look into a cache.

    Args:
        key: the key.
        hit: True if the cache had the answer.
        saved: the usage that a hit saved.
        error: the error for which an answer could not be stored; the caller got it all the same.
    """

    key: str
    hit: bool
    saved: Usage | None = None
    error: CacheError | None = None


class CacheEvent(Event[Lookup, Literal["cache"]]):
    """A request was looked up in a cache, or its answer could not be stored."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Say whether the answer was there, and what that saved."""
        _, hit, saved, error = self.data
        if error is not None:
            return f"the answer is not stored: {on_one_line(exception_line(error))}"
        return f"hit, {saved.total:,} tokens saved" if hit and saved is not None else "hit" if hit else "miss"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the key, whether the answer was there, what that saved, and the error."""
        key, hit, saved, error = self.data
        found = {} if saved is None else {"saved": asdict(saved)}
        return {"cache_key": key, "hit": hit, **found, **({} if error is None else {"error": exception_line(error)})}


class CachedModel(WrappedModel):
    """A model that is called once for each request; an equal request gets the same deltas again.

    Requests are equal if everything is equal that can change an answer: the model, its server, its own parameters and
    those of the request, messages with their images and files, tools, and the schema. The API key does not count.
    Complete answers are stored, at any temperature; an answer is not stored if it failed, was cut off at its length,
    was filtered, has a tool call whose arguments are not JSON, or does not fit the type of the agent that asks (of a
    request without a `reader`: is not JSON with the keys that its schema requires). A stored answer that does not fit
    is requested again. An answer from the cache counts as a turn, and costs no tokens and no dollars: its usage is
    zero, and a `CacheEvent` holds the saved usage. Equal concurrent requests of one process call the model once.

    The key contains the `cache_identity` of the model. All models of trivium have one. A model class of your own
    without this attribute is known by its class and name alone: if its options change its answers, give it a
    `cache_identity`, a JSON value.

    Args:
        model: the model that is called.
        cache: the store of the answers.
        ttl: seconds for which an answer is stored; None: without end.

    Raises:
        ConfigurationError: `model` is not a model, or `cache` is not a cache.

    Example:
        >>> import tempfile
        >>> from trivium.caches import SQLiteCache
        >>> from trivium.testing import ScriptedModel
        >>> folder = tempfile.TemporaryDirectory()
        >>> cache = SQLiteCache(f"{folder.name}/answers.db")
        >>> model = CachedModel(ScriptedModel(["one", "two"]), cache)
        >>> model.chat("hi"), model.chat("hi"), model.chat("and now?")
        ('one', 'one', 'two')
        >>> cache.close(); folder.cleanup()
    """

    @checked
    def __init__(self, model: ModelProtocol, cache: Cache, *, ttl: float | None = None) -> None:
        if not isinstance(model, ModelProtocol) or not isinstance(cache, Cache):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("CachedModel takes a model and a cache, as SQLiteCache('answers.db')")
        super().__init__(model)
        self._cache, self._ttl = cache, ttl
        self._flights = Flights()

    def __repr__(self) -> str:
        return f"CachedModel({self._model!r}, {self._cache!r})"

    def key(self, request: Request) -> str:
        """Return the key of a request's answer.

        Raises:
            ConfigurationError: the request, or the identity of the model, has a value that is not JSON.
        """
        request = self._completed(request)
        tools = [[tool.name, tool.description, tool.parameters, tool.strict] for tool in request.tools]
        try:
            values = identity_of(self._model), request.messages, request.output_schema, request.parameters
            return hash_json(FORMAT, tools, request.tool_choice, *map(json_value, values))
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"a message, a parameter or an option of the model is no JSON value ({error}): change it, or give the "
                "model a cache_identity"
            ) from error

    def _completed(self, request: Request) -> Request:
        return request._replace(parameters=self.update_gen_params(**request.parameters)) if self.gen_params else request

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Yield the stored answer; or call the model, yield its deltas, and store them.

        Raises:
            CacheError: the cache cannot be used; the model was not called.
            ModelError: the model could not answer.
        """
        request = self._completed(request)
        key = self.key(request) if settings.cache else ""
        stored = await self.look_up(key, request) if key else None
        if stored is not None:
            for delta in stored:
                yield delta
            return
        try:
            answer: list[Delta] = []
            async with aclosing(deltas_of(self._model, request)) as deltas:
                async for delta in deltas:
                    answer.append(delta)
                    yield delta
            if key and is_reusable(answer, request):
                await self._store(key, answer)
        finally:
            if key:
                self._flights.leave(key)

    async def look_up(self, key: str, request: Request) -> list[Delta] | None:
        """Return the stored answer. None: this caller must call the model, and no other caller does so meanwhile."""
        while (stored := await self._get(key, request)) is None:
            other = self._flights.enter(key)
            if other is not None:
                await wait(event=other)
                continue
            try:
                stored = await self._get(key, request)  # another call may have stored it meanwhile
            except BaseException:
                self._flights.leave(key)
                raise
            if stored is None:
                _emit_lookup(Lookup(key, hit=False))
                return None
            self._flights.leave(key)
            break
        saved = next((each for each in stored if isinstance(each, Usage)), None)
        _emit_lookup(Lookup(key, hit=True, saved=saved))
        free = [Usage() if isinstance(each, Usage) else each for each in stored]
        return [*free, Usage()] if saved is None else free

    async def _get(self, key: str, request: Request) -> list[Delta] | None:
        text = await invoke(self._cache.get, key)
        stored = None if text is None else parse_deltas(text)
        return stored if stored and is_reusable(stored, request) else None

    async def _store(self, key: str, answer: list[Delta]) -> None:
        text = json.dumps([_entry(each) for each in answer if each != ""], separators=(",", ":"))
        try:
            await invoke(self._cache.set, key, text, self._ttl)
        except CacheError as error:  # the answer was paid for: it is not lost because it cannot be stored
            _emit_lookup(Lookup(key, hit=False, error=error))


def json_value(value: object) -> object:
    """Return the JSON value of what messages and parameters hold: mappings and tuples of any kind, paths as text,
    bytes by content, numbers of NumPy as Python's. Any other value is returned as it is.

    Raises:
        ConfigurationError: there is an array in it.
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, NamedTupleLike):
        return json_value(value._asdict())  # pyright: ignore[reportPrivateUsage] - a public method of named tuples
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Sequence | frozenset | set) and not isinstance(value, str):
        items = [json_value(each) for each in cast("Sequence[object]", value)]
        return items if isinstance(value, Sequence) else sorted(cast("list[str]", items))
    return python_value(value)


@runtime_checkable
class NamedTupleLike(Protocol):
    """A value with names for its parts."""

    def _asdict(self) -> dict[str, object]: ...


# ---- an answer as text
def is_reusable(answer: list[Delta], request: Request) -> bool:
    """Tell whether an answer came to its own end, is not empty, all its calls have JSON as arguments, and its text is
    what the request asks for."""
    reason = next((each.reason for each in reversed(answer) if isinstance(each, Finish)), None)
    calls: dict[int, str] = {}
    for each in answer:
        if isinstance(each, ToolCallPart):
            calls[each.index] = calls.get(each.index, "") + each.arguments
    text = "".join(each for each in answer if isinstance(each, str))
    if reason not in _COMPLETE or not (calls or text) or not (calls or _fits(text, request)):
        return False
    return all(is_json(each or "{}") for each in calls.values())


def _fits(text: str, request: Request) -> bool:
    try:
        if request.reader is not None:
            request.reader(text)
        elif request.output_schema is not None:
            found, required = json.loads(unfence(text)), request.output_schema.get("required")
            return not required or (isinstance(found, dict) and {*found} >= {*required})
    except Exception:  # a reader raises what it likes: whoever asks reads the answer too, and tells of it
        return False
    return True


def _entry(delta: Delta) -> object:
    if isinstance(delta, str):
        return delta
    return [type(delta).__name__, *(astuple(delta) if isinstance(delta, Usage) else delta)]


def parse_deltas(text: str) -> list[Delta] | None:
    """Return the deltas of a stored answer; None for a text in another form, as another program may have stored it."""
    try:
        entries = json.loads(text)
        if not isinstance(entries, list) or not entries:
            return None
        found = cast("list[Any]", entries)
        return [each if isinstance(each, str) else _READERS[each[0]](*each[1:]) for each in found]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None


def _logprobs(tokens: Any) -> Logprobs:
    return Logprobs(
        tuple(TokenLogprob(token, each, tuple((near, how) for near, how in top)) for token, each, top in tokens)
    )


def _state(form: str, model: str, items: list[object]) -> ReasoningState:
    return ReasoningState(form, model, tuple(items))


_READERS: Final[Mapping[str, Callable[..., Delta]]] = {
    "Finish": Finish,
    "Logprobs": _logprobs,
    "Reasoning": Reasoning,
    "ReasoningState": _state,
    "ToolCallPart": ToolCallPart,
    "Usage": Usage,
}


def _emit_lookup(lookup: Lookup) -> None:
    if (node := current.get()) is not None:
        emit(node, CacheEvent, lookup)
