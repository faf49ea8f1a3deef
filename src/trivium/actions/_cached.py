"""A tool with a cache: calls with equal arguments return the cached result."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from trivium.actions._tool import Tool
from trivium.caches import Cache
from trivium.caches.lowlevel import Flights, hash_json
from trivium.commander import current, driver_neutral, invoke, wait
from trivium.commander.lowlevel import note_sources, sources_of
from trivium.policies import as_sources
from trivium.settings import settings

FORMAT = 2


def cached(tool: Tool | Callable[..., Any], cache: Cache, *, ttl: float | None = None) -> Tool:
    """Make a tool that runs once for equal arguments; later calls return the cached result.

    It is for tools that only read: a result from the cache has no effect. The sources that it may repeat (see
    `trivium.policies`) are cached with it. Tools with equal names, descriptions and
    schemas share results, also between programs; give tools that differ otherwise another name or cache. Errors, and
    results that JSON cannot represent exactly, are not cached. Each use counts as a tool call. Equal calls at once, in
    one process, run once.

    Args:
        tool: the tool, or a function.
        cache: the cache for results.
        ttl: the time to live in seconds; None: no limit.

    Example:
        >>> import tempfile
        >>> from trivium.caches import SQLiteCache
        >>> def lookup(city: str) -> dict[str, int]:
        ...     print("looked up")
        ...     return {"people": 100}
        >>> folder = tempfile.TemporaryDirectory()
        >>> cache = SQLiteCache(f"{folder.name}/results.db")
        >>> tool = cached(lookup, cache)
        >>> from trivium import ActionExecutor, Message
        >>> executor = ActionExecutor(tool)
        >>> call = Message(content={"name": "lookup", "parameters": {"city": "Ulm"}})
        >>> [executor(call).content.format_result() for _ in range(2)]
        looked up
        ['{"people": 100}', '{"people": 100}']
        >>> cache.close(); folder.cleanup()
    """
    made, flights = Tool.of(tool), Flights()
    identity = [FORMAT, made.spec.name, made.spec.description, made.spec.parameters]

    @driver_neutral
    async def call(**values: object) -> Any:
        key = _key(identity, values) if settings.cache else None
        if key is None:
            return await invoke(made.call, **values)
        while (kept := await invoke(cache.get, key)) is None:
            event = flights.enter(key)
            if event is not None:
                await wait(event=event)
                continue
            try:
                kept = await invoke(cache.get, key)  # another call may have stored it in the meantime
                if kept is not None:
                    break
                result = await invoke(made.call, **values)
                if (text := _as_json(result)) is not None:
                    read = [] if (node := current.get()) is None else sorted(sources_of(node))
                    await invoke(cache.set, key, f"[{json.dumps(read)}, {text}]", ttl)
                return result
            finally:
                flights.leave(key)
        read, result = json.loads(kept)
        if read and (node := current.get()) is not None:
            note_sources(node, as_sources(read))
        return result

    return made.replace(call=call)


def _key(identity: list[Any], values: dict[str, Any]) -> str | None:
    """The key of a result; None for arguments without a JSON form."""
    try:
        return hash_json(*identity, to_jsonable_python(values, inf_nan_mode="strings"))
    except (PydanticSerializationError, TypeError, ValueError):
        return None


def _as_json(result: object) -> str | None:
    """A result as JSON text; None if the text would not decode to an equal result."""
    try:
        text = json.dumps(result, allow_nan=False)
        return text if _same(json.loads(text), result) else None
    except (TypeError, ValueError, RecursionError):
        return None


def _same(one: Any, other: Any) -> bool:
    kind = cast("type[Any]", type(one))
    if kind is not type(other):
        return False
    if kind is list:
        return len(one) == len(other) and all(map(_same, one, other))
    if kind is dict:
        return list(one) == list(other) and all(map(_same, one.values(), other.values()))
    return one == other
