"""The policy: rules by what a call does and by the sources of its arguments. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from pydantic_core import to_jsonable_python

from trivium.exceptions import ConfigurationError
from trivium.policies._sources import Source, SourceKind, Sources
from trivium.policies._trusted_text import TrustedText

__all__ = ["Action", "Decision", "Policy", "Rule", "Sink", "SinkCall", "decide"]

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
    """What happens to a call whose arguments may come from a source. A field that is left out matches everything.

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

    def matches(self, sink: Sink, source: Source) -> bool:
        """Test whether the rule is for this effect and this source."""
        return (
            self.sink in (None, sink)
            and self.source in (None, source.kind)
            and (self.name == "*" or fnmatchcase(source.name, self.name))
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """Decides on the calls of tools that declare that they send data out, spend or execute.

    The arguments come from the user and the program if all of them stand in what these wrote, and one of them is more
    than a number. Else they come from the model, and may repeat anything that was read in the session so far. For each
    source the first rule that matches decides; without one, a call whose arguments come from the user, the program or
    the model alone runs, and for any other source it is `otherwise`. Of several decisions the strictest counts.

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
        for rule in self.rules:
            if not isinstance(rule, Rule):  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"a policy is made of rules, as Rule('ask', source='web'), not {rule!r}")
        object.__setattr__(self, "rules", tuple(self.rules))

    def decide(self, call: SinkCall) -> Decision:
        """Decide on a call."""
        trusted, decisions = TrustedText(call.trusted), [Decision("run")]
        for sink, directing in call.sinks.items():
            names = {*call.arguments} if directing is True else {*(directing or ())}
            given = {name: value for name, value in call.arguments.items() if name in names}
            values = to_jsonable_python(given, bytes_mode="base64", fallback=str)
            foreign = {name: value for name, value in values.items() if not all(map(trusted.holds, leaves(value)))}
            if not any(trusted.identifies(value) for value in leaves(values)):
                foreign = values  # numbers stand in many texts, and a call without a value in none
            sources = {_USER} if values and not foreign else {_MODEL, *call.read}
            actions: dict[Source, Action] = {source: self._action(sink, source) for source in sources}
            action = max(actions.values(), key=_severity)
            if action != "run":
                deciding = frozenset(source for source in sources if actions[source] == action)
                decisions.append(Decision(action, _reason(call.tool, sink, foreign, deciding), deciding))
        return max(decisions, key=lambda decision: _severity(decision.action))

    def _action(self, sink: Sink, source: Source) -> Action:
        for rule in self.rules:
            if rule.matches(sink, source):
                return rule.action
        return "run" if source.kind in ("user", "program", "model") else self.otherwise


def decide(policies: Sequence[Policy], call: SinkCall) -> Decision:
    """Decide on a call by several policies: the strictest decision counts."""
    decisions = [policy.decide(call) for policy in policies]
    return max(decisions, key=lambda decision: _severity(decision.action), default=Decision("run"))


def _severity(action: Action) -> int:
    return get_args(Action).index(action)


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


def _reason(tool: str, sink: Sink, foreign: Mapping[str, object], sources: Sources) -> str:
    said = " ".join(", ".join(sorted(map(str, sources))).split())  # a document's name forges no lines
    if not foreign:
        return f"{tool} {_PHRASES[sink]}, directed by {said}"
    shown = (f"{name}={value!r}" for name, value in foreign.items())
    listed = ", ".join(each if len(each) <= _SHOWN else f"{each[:_SHOWN]}…" for each in shown)
    verb = "stands" if len(foreign) == 1 else "stand"
    return f"{tool} {_PHRASES[sink]}, and {listed} {verb} in nothing that you wrote; it may come from {said}"
