"""Annotations hold at run time too: arguments of the wrong class are refused by the call that passes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from itertools import chain
from numbers import Integral, Real
from operator import attrgetter
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Final, Literal, TypeGuard, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from typing_extensions import is_protocol

from trivium.exceptions import ArgumentTypeError, ConfigurationError

Function = TypeVar("Function", bound=Callable[..., Any])
_WORDS: Final[Mapping[str, str]] = {
    "str": "text", "int": "a whole number", "Integral": "a whole number", "float": "a number", "Real": "a number",
    "bool": "True or False", "NoneType": "None", "Path": "a path", "type": "a class", "Callable": "a function",
    "Mapping": "a dict", "dict": "a dict", **dict.fromkeys(("Sequence", "list", "Collection", "Iterable"), "a list"),
    "Module": "an agent or another Module", "Journal": "Journal('runs.db')",
}  # fmt: skip
_WIDER: Final[Mapping[Any, list[type]]] = {  # what most arguments are stands first: abstract classes are slow to ask
    int: [int, Integral], float: [float, Real], Mapping: [dict, Mapping], Sequence: [list, Sequence],
}  # fmt: skip
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def checked(function: Function) -> Function:
    """Have a function, mostly a constructor, refuse arguments of another class than their annotations allow.

    So are keywords that it does not take. Only the outermost class counts, so that nothing is converted or consumed: a
    list is a list whatever is in it. Text is no list of texts. What only type checkers can look up is not checked.

    Raises:
        ArgumentTypeError: from the function; the text names the argument and what it takes, or the nearest keyword.

    Example:
        >>> @checked
        ... def greet(name: str, times: int = 1) -> str:
        ...     return f"Hello, {name}!" * times
        >>> greet("Ada", None)
        Traceback (most recent call last):
        ...
        trivium.exceptions.ArgumentTypeError: greet takes a whole number as times, not NoneType
    """
    names = [each.name for each in inspect.signature(function).parameters.values() if each.kind is _NAMED[0]]
    places = cache(lambda: [(at, kinds) for at, name in enumerate(names) if (kinds := _allowed(function).get(name))])

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_sure, number = not kwargs, len(args)
        for at, kinds in places():  # most calls have values of these very classes
            is_sure = is_sure and (at >= number or args[at].__class__ in kinds)
        if not is_sure:
            check_arguments(function, args[0] if args else None, chain(zip(names, args, strict=False), kwargs.items()))
        return function(*args, **kwargs)

    return cast("Function", call)


def attribute(constructor: Callable[..., Any], name: str, made: Callable[[Any], Any]) -> Any:
    """Return an attribute for a class, which takes what the constructor takes by its name, also when it is set later.

    The value stands in the attribute `_name`, which the class reads and sets itself: that is quicker.

    Args:
        constructor: its annotations count.
        name: the name of the attribute.
        made: makes the value of what is given.
    """

    def put(owner: object, given: Any) -> None:
        check_arguments(constructor, owner, [(name, given)])
        setattr(owner, f"_{name}", made(given))

    return property(attrgetter(f"_{name}"), put)


def check_arguments(function: Callable[..., Any], owner: object, given: Iterable[tuple[str, Any]]) -> None:
    """Check some arguments of a function, as `checked` does with all: for constructors that are called often.

    Args:
        function: the function, whose annotations count.
        owner: the object whose method it is.
        given: the arguments by name.
    """
    allowed = _allowed(function)
    for name, value in given:
        kinds = allowed[name] if name in allowed else allowed.get("**")
        if kinds is None or (kinds and value.__class__ not in kinds and not _fits(value, kinds)):
            is_class = function.__name__ == "__init__"
            who = type(owner).__name__ if is_class else function.__qualname__.removesuffix("_async")
            if kinds is None:  # a constructor below may hand on what it does not know
                below = inspect.signature(type(owner).__init__ if is_class else function).parameters.values()
                known = allowed.keys() | {each.name for each in below if each.kind in _NAMED}
                raise ArgumentTypeError.unknown(name, sorted(known - {"self"}), f"{who} takes no")
            said = " or ".join(dict.fromkeys(_WORDS.get(kind.__name__, kind.__name__) for kind in kinds))
            got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise ArgumentTypeError(f"{who} takes {said} as {name}, not {got}", name)


@cache
def _allowed(function: Callable[..., Any]) -> dict[str, tuple[type, ...]]:
    """Return the classes that each argument may have; none: any. "**" stands for all others, where it takes them.

    They are read at the first call: annotations may name what comes later.
    """
    names = keywords_of(function)
    found: dict[str, tuple[type, ...]] = dict.fromkeys(("**",) if names is None else names, ())
    for name in function.__annotations__.keys() - {"return"}:
        one = SimpleNamespace(__annotations__={name: function.__annotations__[name]})
        with suppress(NameError):  # imported for type checkers alone
            if (kinds := _classes(get_type_hints(one, function.__globals__)[name])) is not None:  # type: ignore[attr-defined]
                found[name] = tuple(dict.fromkeys(kinds))
    return found


def _classes(hint: Any) -> list[type] | None:
    """Return the classes that a hint allows; None if it allows anything, or no class could tell."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        many = [_classes(each) for each in parts]
        return None if None in many else [kind for each in many for kind in each or ()]
    if origin is Annotated:
        return _classes(parts[0])
    if origin is Literal:
        return [type(each) for each in parts]
    kind = origin or hint
    is_class = isinstance(kind, type) and kind is not Any and not is_protocol(kind)
    return _WIDER.get(kind, [cast("type", kind)]) if is_class else None


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, str | bytes):  # an iterable, but not one that anybody means
        return any(isinstance(value, kind) for kind in kinds if kind in (str, bytes) or not issubclass(kind, Iterable))
    return isinstance(value, kinds)


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return True if a value is a dict, or is used like one."""
    return isinstance(value, (dict, Mapping))  # the class first: an abstract one is slow to ask


def check_name(name: str, known: Iterable[str], text: str, advice: str = "") -> None:
    """Refuse a keyword, or another name, that is none of those that there are.

    Args:
        name: the name.
        known: the names that there are; the error suggests the closest.
        text: the beginning of the error.
        advice: the end of the error.

    Raises:
        ArgumentTypeError: the name is unknown.
    """
    if name not in (known := list(known)):
        raise ArgumentTypeError.unknown(name, known, text, advice)


def keywords_of(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names that a function takes as keywords; None: any."""
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return None if takes_any else frozenset(each.name for each in parameters if each.kind in _NAMED)


def positive(**numbers: float) -> None:
    """Refuse numbers that are not above 0, not finite, or none (NaN).

    Raises:
        ConfigurationError: the text names the argument.
    """
    for name, value in numbers.items():
        if not isinstance(value, Real) or not 0 < value < float("inf"):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"{name} is a number above 0, not {value!r}")
