"""An environment of AgentDojo with its functions as tools of trivium, which note the calls that really ran."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from goals import Call, copied
from obedient import USER
from pydantic_core import to_json
from sinks import SINKS, SOURCES
from suites import VERSION, FunctionCall, FunctionsRuntime, get_suite

from trivium.actions import ApprovalRequest, Tool, ToolMessage
from trivium.exceptions import ToolError

RENAMED = {"id": "transaction_id", "recipient": "receiver"}
"""Arguments that have another name in a `ToolMessage`: a message has an id of its own, and goes to its recipient."""


class Ran(NamedTuple):
    """A call that ran; whose it was, and if it was approved."""

    origin: str
    call: Call
    approved: bool


class World:
    """The environment of a suite, which its tools act on.

    Args:
        suite: the suite's name.
        named: sinks declare only the arguments that direct them; else all.

    Attributes:
        environment: the environment of the case that runs.
        origin: whose calls the model makes at the moment.
        ran: the calls that ran.
        asked: the calls that asked for approval, with whose they were.
        tools: the functions as tools.
        messages: the same as classes of `ToolMessage`.
    """

    def __init__(self, suite: str, named: bool = False) -> None:
        functions = get_suite(VERSION, suite).tools
        self._runtime = FunctionsRuntime(functions)
        self.environment: Any = None
        self.origin = USER
        self.ran: list[Ran] = []
        self.asked: list[tuple[str, Call]] = []
        self._approved: list[Call] = []
        self.tools = [_tool(each, self, named) for each in functions]
        self.messages = [_message(each, self, named) for each in functions]

    def begin(self, environment: Any) -> None:
        """Begin a case in a copy of its environment."""
        self.environment = copied(environment)
        self.origin = USER
        self.ran, self.asked, self._approved = [], [], []

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run a function on the environment, and return its result as text."""
        call = self.normal(name, arguments)
        approved = call in self._approved
        if approved:
            self._approved.remove(call)
        self.ran.append(Ran(self.origin, call, approved))
        result, error = self._runtime.run_function(self.environment, name, dict(arguments))
        if error:
            raise ToolError(error, name)
        return result if isinstance(result, str) else to_json(result, fallback=str).decode()

    def approver(self, calls: list[Call]) -> Callable[[ApprovalRequest], bool]:
        """Make an approver who approves some calls, once each, and refuses all others."""
        left = [self.normal(*each) for each in calls]

        def approve(request: ApprovalRequest) -> bool:
            call = self.normal(request.name, request.arguments)
            self.asked.append((self.origin, call))
            if call not in left:
                return False
            left.remove(call)
            self._approved.append(call)
            return True

        return approve

    def normal(self, name: str, arguments: Mapping[str, Any]) -> Call:
        """Return a call with its arguments validated and all defaults put in, so that calls can be compared."""
        own = {new: old for old, new in RENAMED.items()}
        named = {own.get(key, key): value for key, value in arguments.items()}
        return Call(name, self._runtime.functions[name].parameters.model_validate(named).model_dump())

    def as_call(self, call: Call) -> Any:
        """Return a call as AgentDojo has it."""
        return FunctionCall(function=call.name, args=call.arguments)


def _tool(function: Any, world: World, named: bool) -> Tool:
    """Make a tool of one of the environment's functions, from its own parameters and documentation."""

    def call(**arguments: Any) -> str:
        return world.run(function.name, arguments)

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.is_required() else each.default,
            annotation=each.annotation,
        )
        for name, each in function.parameters.model_fields.items()
    ]
    call.__name__, call.__doc__ = function.name, function.description
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return Tool.of(call).replace(**_options(function.name, named))


def _options(name: str, named: bool, renamed: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Return what a policy has to know of a function: its effect, the arguments that direct it, and what it reads."""
    options: dict[str, Any] = {"source": SOURCES.get(name, "tool")}
    if sink := SINKS.get(name):
        options[sink.effect] = tuple(renamed.get(each, each) for each in sink.directs) if named else True
    return options


def _message(function: Any, world: World, named: bool) -> type[ToolMessage]:
    """Make a class of tool messages of one of the environment's functions."""
    fields = {RENAMED.get(name, name): each for name, each in function.parameters.model_fields.items()}

    def handle(self: ToolMessage) -> str:
        own = {new: old for old, new in RENAMED.items()}
        return world.run(function.name, {own.get(name, name): value for name, value in self.arguments().items()})

    values = {name: each.default for name, each in fields.items() if not each.is_required()}
    kinds = {name: each.annotation for name, each in fields.items()}
    body = {
        "__module__": __name__,
        "__annotations__": {"request": str, "purpose": str, **kinds},
        "request": function.name,
        "purpose": function.description,
        "handle": handle,
        **{f"_{name}": each for name, each in _options(function.name, named, RENAMED).items()},
        **values,
    }
    return type(function.name, (ToolMessage,), body)
