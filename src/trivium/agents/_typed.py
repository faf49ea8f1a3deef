"""Classes in brackets: `Agent[A]` makes agents whose answers are of type A."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import GenericAlias, NoneType
from typing import TYPE_CHECKING, Any, Protocol, cast

from typing_extensions import TypeVar, get_original_bases

from trivium.agents._answer_format import name_of_type
from trivium.exceptions import AnswerTypeError

if TYPE_CHECKING:
    from trivium.actions import ApprovalRequest
    from trivium.commander import Limits, Listener
    from trivium.journal import Journal
    from trivium.policies import Policy

T_co = TypeVar("T_co", default=Any, covariant=True)
"""The type of the answers of an agent."""


class CallMethod(Protocol[T_co]):
    """A way to call an agent, as type checkers see it: all of them take the same keywords."""

    def __call__(
        self,
        *message: Any,
        session_id: Hashable = ...,
        timeout: float | None = None,
        limits: Limits | None = None,
        listeners: Sequence[Listener] = (),
        context: Any = None,
        approve: Callable[[ApprovalRequest], Any] | None = None,
        policy: Policy | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **kwargs: Any,
    ) -> T_co: ...


class TypedClass(GenericAlias):
    """A class with the type of its results, as `Agent[A]` or `Task[A]`.

    Calling it makes an object that knows the type before its `__init__` runs; a class may inherit from it.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made: Any = object.__new__(cast("type[Any]", self.__origin__))
        made.answer_type = self.__args__[0]
        made.__init__(*args, **kwargs)
        return made

    def __repr__(self) -> str:
        return f"{self.__origin__.__name__}[{name_of_type(self.__args__[0])}]"


def type_argument(cls: type, inherited: Any) -> Any:
    """Return the type in the brackets of a class's bases, as in `class Mine(Agent[A])`; else the inherited one."""
    for base in get_original_bases(cls):
        if isinstance(base, TypedClass):
            return base.__args__[0]
    return inherited


def typed_class(origin: type, argument: Any) -> TypedClass | None:
    """Return the class for this type; None where the brackets hold a type variable."""
    if isinstance(argument, tuple):
        argument, *others = cast("tuple[Any, ...]", argument)  # one from an evaluated type hint
        if others:
            name = origin.__name__
            raise AnswerTypeError(f"{name}[…] takes one type: for either of two write {name}[A | B]", argument)
    return None if isinstance(argument, TypeVar) else TypedClass(origin, NoneType if argument is None else argument)
