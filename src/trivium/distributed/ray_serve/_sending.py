"""What is sent to the processes of a Ray cluster, and what keeps it from being sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any, cast

from trivium.exceptions import ConfigurationError
from trivium.module import Module

Dumps = Callable[[object], bytes]


def to_send(dumps: Dumps, what: str, value: object) -> bytes:
    """Return a value as it is sent.

    Args:
        dumps: Ray's function that pickles a value.
        what: how the value is called in an error.
        value: the value.

    Raises:
        ConfigurationError: it cannot be pickled; the text names the attribute that cannot.
    """
    try:
        return dumps(value)
    except Exception as error:
        part = _broken_part(dumps, value)
        raise ConfigurationError(
            f"{what} cannot be sent to Ray: {type(error).__name__}: {error}{part and f' ({part})'}: give what can be "
            "pickled, as a model's name, or leave it out by `__getstate__` and make it there at its first use"
        ) from error


def _broken_part(dumps: Dumps, value: object) -> str:
    """Return the innermost part of a value that cannot be pickled, as an attribute of its agent or task."""
    owner, path, seen = "", "", dict[int, object]()
    found: tuple[str, object] | None = ("", value)
    while found is not None:
        name, part = found
        owner, path = (f"{type(part).__name__} {part.name!r}", "") if isinstance(part, Module) else (owner, path + name)
        found, seen[id(part)] = None, part
        with suppress(Exception):  # what cannot even be looked at ends the path
            broken = (each for each in _parts(part) if id(each[1]) not in seen and not _is_picklable(dumps, each[1]))
            found = next(broken, None)
    return f"{path.lstrip('.')} of {owner}" if owner and path else owner


def _is_picklable(dumps: Dumps, value: object) -> bool:
    try:
        dumps(value)
    except Exception:
        return False
    return True


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    """Yield what is pickled with a value, each with what follows the value's name."""
    if isinstance(value, partial):
        yield from (("", each) for each in (value.func, *value.args, *value.keywords.values()))
    elif isinstance(value, MethodType):
        yield "", value.__self__
    elif isinstance(value, FunctionType):
        yield from (("", cell.cell_contents) for cell in value.__closure__ or ())
    elif isinstance(value, Mapping):
        yield from ((f"[{key!r}]", each) for key, each in cast("Mapping[object, object]", value).items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{at}]", each) for at, each in enumerate(cast("list[object]", value)))
    elif type(value).__reduce__ is object.__reduce__ and hasattr(value, "__dict__"):  # else it says itself what is sent
        state: object = value.__getstate__()
        if isinstance(state, Mapping):
            fields = cast("Mapping[str, Any]", state)
            yield from ((f".{name}", each) for name, each in fields.get("__dict__", fields).items())  # of pydantic
