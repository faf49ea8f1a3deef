"""The tool messages that an agent knows: one immutable value, and the documented tables as views of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, MutableSet, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

from trivium.actions import ToolMessage
from trivium.actions.lowlevel import classes_by_name, guidance_of, refuse_twins
from trivium.exceptions import ArgumentTypeError
from trivium.schema import ToolSpec
from trivium.schema.lowlevel import check_name

if TYPE_CHECKING:
    from trivium.agents._names import AgentNames
    from trivium.schema import LLMFunctionSpec

ToolClass: TypeAlias = type[ToolMessage]
ToolClasses: TypeAlias = ToolClass | Iterable[ToolClass] | None

_STEERING = ("agent_done", "agent_send", "done", "done_pass", "final_result", "forward", "pass", "result", "send")
ORCHESTRATION: Final = MappingProxyType({f"{each}_tool": f"{each.title().replace('_', '')}Tool" for each in _STEERING})
"""The classes of the tools that steer tasks: every agent handles them unless its config says otherwise."""


@dataclass(frozen=True, eq=False)
class Toolbox:
    """The tool messages that an agent knows. It never changes: enabling a tool gives a new toolbox.

    Args:
        known: the classes by name, in the order in which they were first enabled.
        usable: the names that the model may use, in the order in which they became usable.
        handled: the names that the agent handles, in the order in which they became so.
        without_defaults: the names whose fields with defaults are not described to the model.
        forced: the name of the tool that the model must answer with.
        own: the names whose calls run within the agent's own call, and whether those run alone; the others are left to
            a task.
        written: attributes about the tools that were set by hand, by name; gone when a tool is enabled or disabled.

    Example:
        >>> from trivium.actions import PassTool
        >>> box = Toolbox().enabled([PassTool], usable=True)
        >>> box.usable, box.handled, box.known["pass_tool"] is PassTool
        (('pass_tool',), (), True)
    """

    known: Mapping[str, ToolClass] = field(default_factory=dict[str, ToolClass])
    usable: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    without_defaults: frozenset[str] = frozenset()
    forced: str | None = None
    own: Mapping[str, bool] = field(default_factory=dict[str, bool])
    written: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("known", "own", "written"):
            given: Any = getattr(self, name)
            if isinstance(given, dict):  # one that nobody else holds
                object.__setattr__(self, name, MappingProxyType(cast("dict[str, Any]", given)))

    def __reduce__(self) -> tuple[Any, ...]:  # views of dicts are not pickled
        names = (self.usable, self.handled, self.without_defaults, self.forced)
        return Toolbox, (dict(self.known), *names, dict(self.own), dict(self.written))

    def enabled(
        self, classes: Iterable[ToolClass], *, usable: bool | None = None, handled: bool | None = None
    ) -> Toolbox:
        """Return a toolbox that knows these classes.

        Where both is said, whether they are usable and handled, the classes take the place of their older forms.

        Args:
            classes: the tool messages.
            usable: let the model use them, or not; None leaves that as it is.
            handled: let the agent handle them, or not; None leaves that as it is.

        Raises:
            ToolDefinitionError: a class has no name, or that of another class.
        """
        is_whole = None not in (usable, handled)
        given = classes_by_name(classes, self.known if is_whole else {})
        names, handles = self.usable, self.handled
        if usable is not None:
            allowed = [name for name, each in given.items() if usable and each.is_for_models()]
            names = _plus(_minus(names, given.keys() - set(allowed)), allowed)
        if handled is not None:
            handles = _plus(handles, given) if handled else _minus(handles, given)
        known = {**self.known, **given} if is_whole else {**self.known, **{**given, **self.known}}
        return replace(self, known=known, usable=names, handled=handles, written={})

    def classes_of(self, given: ToolClasses) -> list[ToolClass]:
        """Return the classes that an argument means: one, several, or with None all that are known.

        Raises:
            ArgumentTypeError: one of them is no ToolMessage class.
        """
        if given is None:
            return list(self.known.values())
        is_one = isinstance(given, str | type | ToolMessage) or not isinstance(given, Iterable)  # type: ignore[unnecessary] - users pass anything
        many: list[Any] = [given] if is_one else list(cast("Iterable[Any]", given))
        if isinstance(given, set | frozenset):  # a set has no order of its own
            many.sort(key=lambda each: each.__name__)
        for each in many:
            if not (isinstance(each, type) and issubclass(each, ToolMessage)):  # type: ignore[unnecessary] - users pass anything
                text = f"{each!r} is no ToolMessage class: give the class itself, or a function in tools=[…]"
                raise ArgumentTypeError(text, "message_class")
        return many

    def with_own(self, classes: Sequence[ToolClass]) -> Toolbox:
        """Return a toolbox with tools whose calls run within the agent's own call.

        Raises:
            ToolDefinitionError: a class has no name, or two have the same.
        """
        refuse_twins([each.spec() for each in classes])
        own = {**self.own, **{each.name(): each.runs_alone() for each in classes}}
        return replace(self.enabled(classes, usable=True, handled=True), own=own)

    @cached_property
    def usable_classes(self) -> tuple[ToolClass, ...]:
        """The classes that the model may use.

        Raises:
            ArgumentTypeError: the agent does not know one of them.
        """
        for name in self.usable:
            check_name(name, self.known, "the model may use a tool that its agent does not know:")
        return tuple(self.known[name] for name in self.usable)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The descriptions that are sent to the model."""
        kinds, own = self.usable_classes, {*self.written.get("llm_functions_map", ()), *self.without_defaults}
        return tuple(self.functions[of].to_tool_spec() if (of := each.name()) in own else each.spec() for each in kinds)

    @cached_property
    def explained(self) -> bool:
        """True if a class that the model may use says more of itself than its form."""
        return any(guidance_of(each) or each.examples() for each in self.usable_classes)

    @cached_property
    def functions(self) -> Mapping[str, LLMFunctionSpec]:
        """The descriptions of all known tools for a model, by name."""
        short = self.without_defaults
        made = {name: each.llm_function_schema(defaults=name not in short) for name, each in self.known.items()}
        return MappingProxyType({**made, **self.written.get("llm_functions_map", {})})


def _plus(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))


def _minus(names: tuple[str, ...], gone: Collection[str]) -> tuple[str, ...]:
    return tuple(each for each in names if each not in gone)


def as_toolbox(toolbox: Any) -> Toolbox:
    """Return what is set as an agent's toolbox.

    Raises:
        ArgumentTypeError: it is none.
    """
    if isinstance(toolbox, Toolbox):
        return toolbox
    raise ArgumentTypeError(f"a toolbox is a Toolbox, not {toolbox!r}: use enable_message and its relatives", "toolbox")


V = TypeVar("V", bound="NameSet | ToolTable")


class ToolProperty(Generic[V]):
    """A documented table of an agent's tools, as a view of its toolbox, which is filled anew where the table is set.

    Args:
        view: makes the view of an agent.
        doc: the documentation.
        of: what `view` takes beside the agent.
    """

    def __init__(self, view: Callable[..., V], doc: str, *of: str) -> None:
        self.fget, self.__doc__, self._of = view, doc, of

    def __get__(self, agent: Any, owner: type | None = None) -> V:
        return cast("V", self) if agent is None else self.fget(agent, *self._of)

    def __set__(self, agent: Any, given: Any) -> None:
        self.fget(agent, *self._of).fill(given)


def tool_attribute(name: str, compute: Callable[[Any], Any], doc: str) -> Any:
    """Return an attribute about an agent's tools: computed, or what was set since a tool was enabled.

    Args:
        name: of the attribute.
        compute: gives the value of an agent.
        doc: the documentation.
    """

    def read(agent: AgentNames) -> Any:
        written = agent.toolbox.written
        return written[name] if name in written else compute(agent)

    def write(agent: AgentNames, value: Any) -> None:
        agent.toolbox = replace(agent.toolbox, written={**agent.toolbox.written, name: value})

    return property(read, write, doc=doc)


class NameSet(MutableSet[str]):
    """Names of tools in their order; a change of it is a change of the agent's toolbox.

    Args:
        agent: holds the toolbox.
        field: the names of the toolbox that are shown.
    """

    __slots__ = ("_agent", "_field")

    def __init__(self, agent: AgentNames, field: Literal["known", "usable", "handled"]) -> None:
        self._agent, self._field = agent, field

    def _names(self) -> tuple[str, ...]:
        names = tuple(attrgetter(self._field)(self._agent.toolbox))
        return _plus(names, ORCHESTRATION) if self._field == "known" and self._agent.orchestrates else names

    def fill(self, names: Iterable[str]) -> None:
        """Have the toolbox hold these names instead."""
        box, names = self._agent.toolbox, tuple(names)
        if self._field == "known":
            ToolTable(self._agent).fill({name: box.known[name] for name in names if name in box.known})
        else:
            self._agent.toolbox = replace(box, **dict[str, Any]({self._field: names}))

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def add(self, value: str) -> None:
        """Add the name of a known tool, as the last."""
        self.fill(_plus(self._names(), [value]))

    def discard(self, value: str) -> None:
        """Take a name out, if it is there."""
        self.fill(_minus(self._names(), [value]))

    def update(self, *names: Iterable[str]) -> None:
        """Add names of known tools."""
        self.fill(_plus(self._names(), chain(*names)))

    def copy(self) -> set[str]:
        """The names as a set of their own."""
        return set(self)

    def union(self, *others: Iterable[str]) -> set[str]:
        """The names here or in one of the others."""
        return self.copy().union(*others)

    def intersection(self, *others: Iterable[str]) -> set[str]:
        """The names here and in all others."""
        return self.copy().intersection(*others)

    def difference(self, *others: Iterable[str]) -> set[str]:
        """The names here and in no other."""
        return self.copy().difference(*others)

    def symmetric_difference(self, other: Iterable[str]) -> set[str]:
        """The names here or in the other, but not in both."""
        return self.copy().symmetric_difference(other)

    def issubset(self, other: Iterable[str]) -> bool:
        """True if all names are in the other."""
        return self.copy().issubset(other)

    def issuperset(self, other: Iterable[str]) -> bool:
        """True if all of the other are names here."""
        return self.copy().issuperset(other)

    def difference_update(self, *others: Iterable[str]) -> None:
        """Take names out."""
        self.fill(_minus(self._names(), {*chain(*others)}))

    def intersection_update(self, *others: Iterable[str]) -> None:
        """Take out the names that are not in all others."""
        self.difference_update(self.difference(self.intersection(*others)))

    def symmetric_difference_update(self, other: Iterable[str]) -> None:
        """Take out the names that are in the other, and add its other ones."""
        self.__ixor__(set(other))

    _from_iterable = set  # pyright: ignore[reportAssignmentType] - what the operators of sets make

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._names()))}}}"


class ToolTable(MutableMapping[str, ToolClass]):
    """The known tool messages by name; a change of it is a change of the agent's toolbox."""

    __slots__ = ("_agent",)

    def __init__(self, agent: AgentNames) -> None:
        self._agent = agent

    def __getitem__(self, name: str) -> ToolClass:
        return self._agent.toolbox.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._agent.toolbox.known)

    def __len__(self) -> int:
        return len(self._agent.toolbox.known)

    def fill(self, tools: Mapping[str, ToolClass]) -> None:
        """Have the toolbox hold these tools instead."""
        box = self._agent.toolbox
        gone = box.known.keys() - tools.keys()
        usable, handled, own = (_minus(names, gone) for names in (box.usable, box.handled, tuple(box.own)))
        box = replace(box, own={name: box.own[name] for name in own}, forced=None if box.forced in gone else box.forced)
        self._agent.toolbox = replace(box, known=dict(tools), usable=usable, handled=handled)

    def __setitem__(self, name: str, value: ToolClass) -> None:
        self.fill({**self, name: value})

    def __delitem__(self, name: str) -> None:
        self.fill({each: kind for each, kind in self.items() if each != name})

    def __or__(self, other: Mapping[str, ToolClass]) -> dict[str, ToolClass]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, ToolClass]) -> dict[str, ToolClass]:
        return {**other, **self}

    def copy(self) -> dict[str, ToolClass]:
        """Return the tool messages as a dict."""
        return dict(self)

    def __repr__(self) -> str:
        return repr(dict(self))
