"""A model whose answers are kept: an equal request is answered from a cache, piece by piece."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from pathlib import PurePath
from typing import Any, Final, Literal, NamedTuple, cast

from trivium._arguments import checked
from trivium._settings import settings
from trivium.caches import Cache
from trivium.caches.lowlevel import Flights, hash_json
from trivium.commander import Event, current, invoke, wait
from trivium.events import JSONObject, exception_line, on_one_line
from trivium.exceptions import CacheError, ConfigurationError
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
from trivium.schema import Usage
from trivium.schema._values import USAGE

__all__ = ["CacheEvent", "CachedModel", "Lookup"]

FORMAT: Final = 2  # a change of what is kept, or of what is in a key, makes it one more
_COMPLETE: Final = (None, "stop", "tool_calls")
_NOT_IN_KEY: Final = frozenset({"api_key", "headers", "litellm_proxy"})


class Lookup(NamedTuple):
    """A look into a cache.

    Args:
        key: what was looked up.
        hit: whether it was there.
        saved: what the request would have used, where it was.
        error: why an answer could not be kept; it was given out all the same.
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
        return {"key": key, "hit": hit, **found, **({} if error is None else {"error": exception_line(error)})}


class CachedModel(WrappedModel):
    """A model that is asked once for each request; an equal one gets the same answer again, in the same pieces.

    Requests are equal if everything is that can change an answer: the model, where it is asked, its own parameters and
    those of the request, messages with their images and files, tools, and the schema. The API key is no part of it.
    Whole answers are kept, at whatever temperature; one that failed, was cut off at its longest, was filtered, or calls
    a tool with what is not JSON is not. An answer from the cache counts as a turn, and costs no tokens and no dollars:
    its usage is zero, and a `CacheEvent` tells what was saved. Equal requests at once, in one process, ask once.

    A model class of your own whose options change its answers says so by an attribute `cache_identity`, a JSON value.

    Args:
        model: who is asked.
        cache: where answers are kept.
        ttl: for how many seconds; None is for ever.

    Raises:
        ConfigurationError: one of them is none.

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
        """Under which key the answer of a request is kept.

        Raises:
            ConfigurationError: the request holds what is no JSON value.
        """
        request = self._completed(request)
        tools = [[tool.name, tool.description, tool.parameters, tool.strict] for tool in request.tools]
        try:
            asked = _plain(request.messages), _plain(request.output_schema), _plain(request.parameters)
            return hash_json(FORMAT, identity_of(self._model), tools, request.tool_choice, *asked)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"a message, a parameter or an option of the model is no JSON value ({error}): change it, or give the "
                "model a cache_identity"
            ) from error

    def _completed(self, request: Request) -> Request:
        return request._replace(parameters=self.update_gen_params(**request.parameters)) if self.gen_params else request

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Yield the answer that is kept, or ask the model, yield its answer piece by piece, and keep it.

        Raises:
            CacheError: the cache cannot be used; the model was not asked.
            ModelError: the model could not answer.
        """
        request = self._completed(request)
        key = self.key(request) if settings.cache else ""
        kept = await self._kept_or_mine(key) if key else None
        if kept is not None:
            for delta in kept:
                yield delta
            return
        try:
            answer: list[Delta] = []
            async with aclosing(deltas_of(self._model, request)) as deltas:
                async for delta in deltas:
                    answer.append(delta)
                    yield delta
            if key and _is_complete(answer):
                await self._keep(key, answer)
        finally:
            if key:
                self._flights.leave(key)

    async def _kept_or_mine(self, key: str) -> list[Delta] | None:
        """The answer that is kept; None where it is to be asked for now, by who called this and by nobody else."""
        while (kept := await self._kept(key)) is None:
            event = self._flights.enter(key)
            if event is not None:
                await wait(event=event)
                continue
            try:
                kept = await self._kept(key)  # it may have come in between
            except BaseException:
                self._flights.leave(key)
                raise
            if kept is None:
                _tell(Lookup(key, hit=False))
                return None
            self._flights.leave(key)
            break
        _tell(Lookup(key, hit=True, saved=next((each for each in kept if isinstance(each, Usage)), None)))
        return [Usage() if isinstance(each, Usage) else each for each in kept]

    async def _kept(self, key: str) -> list[Delta] | None:
        text = await invoke(self._cache.get, key)
        return None if text is None else _read(text)

    async def _keep(self, key: str, answer: list[Delta]) -> None:
        try:
            await invoke(self._cache.set, key, _written(answer), self._ttl)
        except CacheError as error:  # the answer was paid for: it is not lost with its copy
            _tell(Lookup(key, hit=False, error=error))


def identity_of(model: Any) -> Any:
    """What of a model can change its answers, as JSON values, and nothing secret."""
    if (own := getattr(model, "cache_identity", None)) is not None:
        return own
    kind = cast("type[Any]", type(model))
    found: dict[str, Any] = {"class": f"{kind.__module__}.{kind.__qualname__}", "name": getattr(model, "name", None)}
    found["parameters"] = _plain(getattr(model, "gen_params", None) or {})
    found["url"] = getattr(getattr(model, "_transport", None), "known_url", None)
    paths = (getattr(model, name, None) for name in ("_path", "path"))
    found["path"] = next((str(path) for path in paths if isinstance(path, str | PurePath)), None)
    found["template"] = _plain(getattr(model, "meta_template", None))
    if (config := getattr(model, "config", None)) is not None and hasattr(config, "model_dump"):
        given = cast("dict[str, Any]", vars(config)).items()
        shown = ((name, each) for name, each in given if name not in _NOT_IN_KEY)
        found["config"] = {name: each for name, each in shown if isinstance(each, str | int | float | None)}
        if (more := getattr(config, "params", None)) is not None:
            found["more"] = _plain(more.model_dump())
    for name in ("capabilities", "interface", "profile"):
        found[name] = _plain(each) if isinstance(each := getattr(model, name, None), tuple | str) else None
    if callable(getattr(model, "_strategy", None)):
        found["strategy"] = getattr(model._strategy, "__qualname__", None)
    if (inner := getattr(model, "_model", None)) is not None:
        found["inner"] = identity_of(inner)
    if links := getattr(model, "_links", None):
        found["links"] = [[identity_of(each.model()), _plain(each._parameters)] for each in links]
    return found


def _plain(value: Any) -> Any:
    """JSON values of what messages and parameters hold: mappings and tuples of any kind, bytes by content."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[Any, Any]", value).items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, Sequence | frozenset | set) and not isinstance(value, str):
        items = [_plain(each) for each in cast("Sequence[Any]", value)]
        return items if isinstance(value, Sequence) else sorted(items)
    return value


# ---- an answer as text
def _is_complete(answer: list[Delta]) -> bool:
    """Whether an answer came to its own end and says something that can be used again."""
    reason = next((each.reason for each in reversed(answer) if isinstance(each, Finish)), None)
    calls: dict[int, str] = {}
    for each in answer:
        if isinstance(each, ToolCallPart):
            calls[each.index] = calls.get(each.index, "") + each.arguments
    says = bool(calls) or any(isinstance(each, str) and each for each in answer)
    return says and reason in _COMPLETE and all(map(_is_json, calls.values()))


def _is_json(text: str) -> bool:
    try:
        json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    return True


def _written(answer: list[Delta]) -> str:
    return json.dumps([_entry(each) for each in answer if each != ""], separators=(",", ":"))


def _entry(delta: Delta) -> Any:
    if isinstance(delta, str):
        return delta
    if isinstance(delta, Usage):
        return ["Usage", *(getattr(delta, name) for name in USAGE)]
    return [type(delta).__name__, *delta]


def _read(text: str) -> list[Delta] | None:
    """The deltas of what was written; None for what is not to be read, as what another program put there."""
    try:
        entries = json.loads(text)
        if not isinstance(entries, list) or not entries:
            return None
        found = cast("list[Any]", entries)
        return [each if isinstance(each, str) else _READERS[each[0]](*each[1:]) for each in found]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None


def _logprobs(tokens: list[Any]) -> Logprobs:
    return Logprobs(
        tuple(TokenLogprob(token, each, tuple((near, how) for near, how in top)) for token, each, top in tokens)
    )


def _state(form: str, model: str, items: list[Any]) -> ReasoningState:
    return ReasoningState(form, model, tuple(items))


_READERS: Final[Mapping[str, Any]] = {
    "Finish": Finish,
    "Logprobs": _logprobs,
    "Reasoning": Reasoning,
    "ReasoningState": _state,
    "ToolCallPart": ToolCallPart,
    "Usage": Usage,
}


def _tell(lookup: Lookup) -> None:
    if (node := current.get()) is not None:
        node._emit(CacheEvent, lookup)
