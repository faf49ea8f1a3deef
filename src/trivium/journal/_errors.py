"""The form of errors in a journal: their class by its module and name, their arguments, and what they carry."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import GetSetDescriptorType, MemberDescriptorType, WrapperDescriptorType
from typing import Any, Final, cast

import trivium.exceptions as exceptions
from trivium.events import exception_text
from trivium.exceptions import RecordedError

_LEFT_OUT: Final = ("args", "obj")
"""The first is recorded by itself; the second is any object of the program, as that which lacks an attribute."""
_TEXT: Final = "_recorded_text"
"""Where an error has the text that was recorded of it; such a name is not recorded."""


class ShownText(str):
    """In place of an argument that no JSON tells, such as a date: its text, with its `repr`, for texts of errors."""

    def __new__(cls, text: str, shown: str = "") -> ShownText:
        made = super().__new__(cls, text)
        made.shown = shown
        return made

    shown: str

    def __repr__(self) -> str:
        return self.shown


class ShownSet(set[Any]):
    """A set with the `repr` that it had: that of an equal one has another order in another process."""

    def __init__(self, elements: Iterable[Any] = (), shown: str = "") -> None:
        super().__init__(elements)
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


def told_of(error: BaseException, returned: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what is recorded of an error, but for the members of a group.

    Args:
        error: the error.
        returned: returns a value as it comes back from the journal.
    """
    kind = type(error)
    told: dict[str, Any] = {
        "kind": kind.__name__,
        "class": [kind.__module__, kind.__qualname__],
        "args": [_shown(each, returned) for each in error.args],
        "data": {name: each for name, each in vars(error).items() if not name.startswith("_")},
        "text": exception_text(error),
    }
    own = {name: getattr(error, name, None) for name in _own_names(kind)}
    is_set = {"errno", "strerror"} if len(error.args) > 1 else set[str]()  # those of an OSError may be None
    if own := {name: _shown(each, returned) for name, each in own.items() if each is not None or name in is_set}:
        told["own"] = own
    if kind.__str__ is KeyError.__str__:
        told["is_key"] = True
    return told


def error_of(told: Mapping[str, Any], known: Iterable[type[Exception]], members: Sequence[Exception]) -> Exception:
    """Return the error of what `told_of` gave, in its own class if that is one of Python's, of ours or known.

    Its text is always the recorded one. Programs go on by the class, models by the text.
    """
    text, name = told["text"], told["kind"]
    kind = next(_kinds_of(told, known), None)
    error = None if kind is None else _made(kind, told, members)
    if kind is not None and error is not None and exception_text(error) != text:
        error = _with_text(kind, told, members)
    if error is not None:
        return error
    recorded = RecordedError(text, name)
    recorded.is_key = told.get("is_key", False)
    return recorded


def _kinds_of(told: Mapping[str, Any], known: Iterable[type[Exception]]) -> Iterator[type[Exception]]:
    """Yield the classes that an error may be of: never another one that only has the same name."""
    name, place = told["kind"], told.get("class")  # the second is missing in journals of older versions
    yield from (each for each in known if (each.__name__ == name if place is None else stands_at(each, place)))
    for module in (builtins, exceptions):
        kind = getattr(module, name, None)
        is_it = isinstance(kind, type) and issubclass(kind, Exception) and place in (None, [module.__name__, name])
        if is_it:
            yield cast("type[Exception]", kind)


def stands_at(kind: type, place: Sequence[str]) -> bool:
    """Return whether a class is the one of a module and a name; a module that is run as a script has no name."""
    module, name = place
    return kind.__qualname__ == name and (kind.__module__ == module or "__main__" in (kind.__module__, module))


def _made(kind: type[Exception], told: Mapping[str, Any], members: Sequence[Exception]) -> Exception | None:
    """Return an error without a user's `__init__`, which has run when it was raised; None: it cannot be made."""
    args = tuple(told["args"])
    try:
        error = kind.__new__(kind, *args, members) if members else kind.__new__(kind)
    except TypeError:  # the class makes no empty one
        return None
    if "own" not in told and not members and isinstance(kind.__init__, WrapperDescriptorType):
        with suppress(Exception):  # the arguments give `errno` and the like, which older versions did not record
            error = kind(*args)
    if not members:
        error.args = args
    vars(error).update(told["data"])
    own = told.get("own", {})
    for name in _own_names(kind):
        if name in own:
            with suppress(AttributeError):  # a property of the user's, of that name
                setattr(error, name, own[name])
    return error


def _with_text(kind: type[Exception], told: Mapping[str, Any], members: Sequence[Exception]) -> Exception | None:
    """Return an error that has the recorded text, where its class makes it of what is not recorded."""
    text = told["text"]
    if kind.__str__ is KeyError.__str__:  # it stays so: models are told the class of such an error too
        return _made(kind, {**told, "args": [ShownText(" ".join(map(str, told["args"])), text)]}, members)
    try:
        kind = _saying(kind)
    except Exception:  # a class of a user's that allows none below it
        return None
    return _made(kind, {**told, "data": {**told["data"], _TEXT: text}}, members)


@lru_cache(maxsize=256)
def _saying(kind: type[Exception]) -> type[Exception]:
    """Return a class below another one, with its name, whose errors say the text that they are given."""
    place = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (kind,), {**place, "__str__": _said, "__reduce__": _reduced})


def _said(error: Exception) -> str:
    return vars(error)[_TEXT]


def _reduced(error: Exception) -> tuple[object, ...]:
    """Return how to make a copy: by the class above, as no module has the error's own one."""
    kind = type(error).__bases__[0]
    own = {name: getattr(error, name, None) for name in _own_names(kind)}
    told = {"text": _said(error), "args": error.args, "data": dict(vars(error))}
    told["own"] = {name: each for name, each in own.items() if each is not None}
    if isinstance(error, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", error)
        return _with_text, (kind, told | {"args": [group.message]}, group.exceptions)
    return _with_text, (kind, told, ())


def _own_names(kind: type[BaseException]) -> list[str]:
    """Return the names of what Python's own errors have beside their arguments, such as `errno` and `filename`."""
    bases = [each for each in kind.__mro__ if each.__module__ == "builtins"]
    if BaseExceptionGroup in bases:  # which is made of its arguments
        return []
    kinds = (GetSetDescriptorType, MemberDescriptorType)
    found = {name for base in bases for name, each in vars(base).items() if isinstance(each, kinds)}
    return sorted(name for name in found if not name.startswith("_") and name not in _LEFT_OUT)


def _shown(value: Any, returned: Callable[[Any], Any]) -> Any:
    """Return an argument, or what stands for it where the one that comes back does not show itself as it does."""
    if value is None or (value.__class__ is str and value.isascii()):
        return value
    try:
        shown, back = repr(value), returned(value)
        if repr(back) == shown and not _has_set(back):
            return value
        return ShownSet(value, shown) if isinstance(back, (set, frozenset)) else ShownText(str(value), shown)
    except Exception:  # an object of a user's that has no text; the text of the error tells what it was
        return value


def _has_set(value: object) -> bool:
    if isinstance(value, dict):
        value = [*cast("dict[object, object]", value).values()]
    parts = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    return isinstance(value, (set, frozenset)) or any(map(_has_set, parts))
