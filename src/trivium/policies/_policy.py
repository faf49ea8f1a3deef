"""The policy: rules by what a call does and by the sources of its arguments. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, get_args

from pydantic_core import to_jsonable_python

from trivium.exceptions import ConfigurationError
from trivium.policies._sources import Source, SourceKind, Sources
from trivium.policies._trusted_text import TrustedText

Sink: TypeAlias = Literal["sends", "spends", "executes"]
"""The effect of a tool by which an attacker gains: data leave, money or another good is spent, code is executed."""

Action: TypeAlias = Literal["run", "ask", "refuse"]
"""The decision on a call, the mildest first: it runs, it runs if it is approved (see `ApprovalRequest`), or never."""

_PHRASES: Final[Mapping[Sink, str]] = {
    "sends": "sends data out",
    "spends": "spends",
    "executes": "executes what it is given",
}
_USER, _MODEL = Source("user"), Source("model")
_SHOWN: Final = 80
"""The most characters of an argument in a reason."""
_LISTED: Final = 10
"""The most arguments in a reason."""
_COMMAND: Final = "as any command does once other text was read"
_DEEP: Final = "as it is nested too deeply to compare"
_LARGE: Final = "as there is too much to compare"
_VAGUE: Final = "as only a text of at least three characters, one of them a letter, shows that"


class Decision(NamedTuple):
    """The decision on a call.

    Args:
        action: the call runs, asks or is refused.
        why: the reason, in a sentence; "" for a call that runs.
        sources: the sources of the arguments that decided it.
    """

    action: Action
    why: str = ""
    sources: Sources = frozenset()


@dataclass(frozen=True, slots=True)
class SinkCall:
    """A call of a tool that sends, spends or executes, as policies see it.

    Args:
        tool: the name of the tool.
        sinks: its effects, each with the names of the arguments that direct it; True: all of them.
        arguments: the validated arguments, by name.
        read: the sources of everything that was read before the call.
        trusted: the texts of the session that no source has touched: what the user and the program wrote.
    """

    tool: str
    sinks: Mapping[Sink, bool | tuple[str, ...]]
    arguments: Mapping[str, object]
    read: Sources
    trusted: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """The action for a call whose arguments may come from a source. A field that is left out matches everything.

    Args:
        action: "run", "ask" or "refuse".
        sink: the effect of the tool: "sends", "spends" or "executes".
        source: the kind of source: "user", "program", "model", "tool", "web", "document" or "server".
        name: the name of the source, in which `*` stands for any text: a tool, a document, or `server.tool`.

    Raises:
        ConfigurationError: one of them is none of these.

    Example:
        >>> Rule("run", source="server", name="calendar.*").matches("sends", Source("server", "calendar.today"))
        True
    """

    action: Action
    sink: Sink | None = None
    source: SourceKind | None = None
    name: str = "*"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("action", self.action, get_args(Action)),
            ("sink", self.sink, (None, *get_args(Sink))),
            ("source", self.source, (None, *get_args(SourceKind))),
        ):
            if value not in known:
                listed = ", ".join(repr(each) for each in known)
                raise ConfigurationError(f"the {name} of a rule is one of {listed}, not {value!r}")
        if not isinstance(self.name, str):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(
                f"the name of a rule is text, as Rule('ask', name='calendar.*'), not {self.name!r}"
            )

    def matches(self, sink: Sink, source: Source) -> bool:
        """Test whether the rule is for this effect and this source."""
        return (
            self.sink in (None, sink)
            and self.source in (None, source.kind)
            and (self.name == "*" or bool(_pattern(self.name).fullmatch(source.name)))
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """Decides on the calls of tools that declare that they send data out, spend or execute.

    The arguments come from the user and the program if all of them stand in what these wrote, and one of them is a text
    of at least three characters, one of them a letter; those of a tool that executes never do once anything else was
    read. Else they come from the model, and may repeat anything that was read in the session so far. For each source
    the first rule that matches decides; without one, a call whose arguments come from the user, the program or the
    model alone runs, and for any other source it is `otherwise`. Of several decisions the strictest counts.

    Args:
        rules: the rules, the first match first.
        otherwise: the decision where the arguments may come from what was read, and no rule matches.

    Raises:
        ConfigurationError: `otherwise` is no action, or a rule is no `Rule`.

    Example:
        >>> policy = Policy([Rule("refuse", sink="executes", source="web")])
        >>> call = SinkCall("send", {"sends": ("to",)}, {"to": "eve@x.org"}, frozenset({Source("web", "open")}), ["Hi"])
        >>> policy.decide(call).action
        'ask'
        >>> print(policy.decide(call).why)
        send sends data out, and to='eve@x.org' stands in nothing that you wrote; it may come from the web (open)
    """

    rules: Sequence[Rule] = ()
    otherwise: Action = "ask"

    def __post_init__(self) -> None:
        if self.otherwise not in get_args(Action):
            raise ConfigurationError(f'otherwise is "run", "ask" or "refuse", not {self.otherwise!r}')
        if isinstance(self.rules, Rule | str) or not isinstance(self.rules, Iterable):  # type: ignore[unnecessary]
            raise ConfigurationError(f"a policy takes a list of rules, as Policy([Rule('ask')]), not {self.rules!r}")
        object.__setattr__(self, "rules", tuple(self.rules))  # it may be an iterator
        for rule in self.rules:
            if not isinstance(rule, Rule):  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"a policy is made of rules, as Rule('ask', source='web'), not {rule!r}")

    def decide(self, call: SinkCall) -> Decision:
        """Decide on a call."""
        trusted, decisions = TrustedText(call.trusted), [Decision("run")]
        for sink, directing in call.sinks.items():
            names = {*call.arguments} if directing is True else {*(directing or ())}
            given = {name: value for name, value in call.arguments.items() if name in names}
            foreign, doubt = _find_foreign(given, trusted)
            if sink == "executes" and call.read:  # cut short or joined anew, a command of the user's is another one
                foreign, doubt = given, _COMMAND
            sources = {_USER} if given and not foreign else {_MODEL, *call.read}
            actions: dict[Source, Action] = {source: self._action(sink, source) for source in sources}
            action = max(actions.values(), key=_severity)
            if action != "run":
                deciding = frozenset(source for source in sources if actions[source] == action)
                decisions.append(Decision(action, _reason(call.tool, sink, foreign, doubt, deciding), deciding))
        return max(decisions, key=lambda decision: _severity(decision.action))

    @property
    def own_classes(self) -> tuple[type, ...]:
        """The classes of a program's own that it, and each of its rules, has; none: `as_json` tells all of it."""
        return tuple(kind for kind in map(type, (self, *self.rules)) if kind not in (Policy, Rule))

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, for `from_json`.

        Raises:
            ConfigurationError: it has classes of a program's own, whose decisions these do not tell.
        """
        if own := self.own_classes:
            raise ConfigurationError(
                f"a policy with the class {own[0].__name__} cannot be written as JSON: write it as Policy([Rule(…)])"
            )
        return {"rules": [asdict(each) for each in self.rules], "otherwise": self.otherwise}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Self:
        """Return the policy that `as_json` has written.

        Example:
            >>> policy = Policy([Rule("refuse", sink="executes")])
            >>> Policy.from_json(policy.as_json()) == policy
            True
        """
        return cls([Rule(**each) for each in written["rules"]], written["otherwise"])

    def _action(self, sink: Sink, source: Source) -> Action:
        for rule in self.rules:
            if rule.matches(sink, source):
                return rule.action
        return "run" if source.kind in ("user", "program", "model") else self.otherwise


def decide(policies: Sequence[Policy], call: SinkCall) -> Decision:
    """Decide on a call by several policies: the strictest decision counts."""
    decisions = [policy.decide(call) for policy in policies]
    return max(decisions, key=lambda decision: _severity(decision.action), default=Decision("run"))


def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a source's name, in which `*` stands for any text and everything else for itself."""
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", name))), re.DOTALL)


def _severity(action: Action) -> int:
    return get_args(Action).index(action)


def _find_foreign(given: Mapping[str, object], trusted: TrustedText) -> tuple[Mapping[str, object], str]:
    """Find the arguments that do not stand in what the user wrote; all that do, if none of them identifies anything.

    Returns:
        These arguments, and the reason why they count as foreign where it is another; else "".
    """
    try:
        values = to_jsonable_python(given, bytes_mode="base64", fallback=str)
    except (ValueError, RecursionError):
        return given, _DEEP
    foreign, is_identified = dict[str, object](), False
    for name, value in values.items():
        for leaf in leaves(value):
            if not trusted.holds(leaf):
                foreign[name] = value
                break
            is_identified = is_identified or _identifies(leaf)
    doubt = _LARGE if trusted.is_exhausted else ""
    if foreign or is_identified:
        return foreign, doubt
    return values, doubt or _VAGUE  # numbers and short words stand in many texts, and a call without a value in none


def _identifies(value: object) -> bool:
    """Test whether a value has at least three characters, one of them a letter."""
    return isinstance(value, str) and len(value) > 2 and any(map(str.isalpha, value))


def leaves(value: object) -> Iterator[object]:
    """Iterate over the values in lists and objects, and the names in objects, that a model has to make up."""
    waiting = [value]
    while waiting:
        match each := waiting.pop():
            case dict():
                waiting += [*each, *each.values()]
            case list():
                waiting += each
            case _:
                yield each


def _reason(tool: str, sink: Sink, foreign: Mapping[str, object], doubt: str, sources: Sources) -> str:
    said = ", ".join(sorted(map(str, sources)))
    said = " ".join("".join(each if each.isprintable() else " " for each in said).split())  # a name forges no lines
    if not foreign:
        return f"{tool} {_PHRASES[sink]}, directed by {said}"
    names = [*foreign][:_LISTED]
    listed = ", ".join(f"{name}={_shorten(foreign[name])}" for name in names) + ", …" * (len(foreign) > _LISTED)
    stands, counts = ("stands", "counts") if len(foreign) == 1 else ("stand", "count")
    finding = f"{counts} as not yours, {doubt}" if doubt else f"{stands} in nothing that you wrote"
    return f"{tool} {_PHRASES[sink]}, and {listed} {finding}; it may come from {said}"


def _shorten(value: object) -> str:
    """Render a value for a reason, a long one by both of its ends."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__}(…)"
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN // 2]}…{shown[-_SHOWN // 2 :]}"
