"""The options that a tool has from the function that it wraps, or from the method that it overrides."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from types import FunctionType
from typing import Any

import pytest

from trivium import Agent, Tool
from trivium.actions import ActionExecutor, BaseAction, tool, tool_api
from trivium.exceptions import ToolDefinitionError
from trivium.testing import ScriptedModel, call_tool


@tool(needs_approval=True, sends=("to",), effect="once")
def pay(amount: int, to: str) -> str:
    """Pay."""
    return f"paid {to} {amount}"


def logged(wrapped: Callable[..., Any]) -> Callable[..., str]:
    @wraps(wrapped)
    def wrapper(**given: Any) -> str:
        return f"logged: {pay(**given)}"

    return wrapper


class Till:
    """Pays."""

    @tool(needs_approval=True, sends=("to",), effect="once")
    def pay(self, amount: int, to: str) -> str:
        """Pay."""
        return f"paid {to} {amount}"

    @classmethod
    @tool(needs_approval=True, sends=("to",), effect="once")
    def pay_all(cls, amount: int, to: str) -> str:
        """Pay all."""
        return f"paid {to} {amount}"

    @tool(needs_approval=True, sends=("to",), effect="once")
    def __call__(self, amount: int, to: str) -> str:
        """Pay."""
        return self.pay(amount, to)


class LoggedTill(Till):
    def pay(self, amount: int, to: str) -> str:
        """Pay, and log it."""
        return f"logged: {super().pay(amount, to)}"

    @classmethod
    def pay_all(cls, amount: int, to: str) -> str:
        """Pay all, and log it."""
        return f"logged: {super().pay_all(amount, to)}"

    def __call__(self, amount: int, to: str) -> str:
        """Pay, and log it."""
        return self.pay(amount, to)


class Kit(BaseAction):
    """Pays."""

    @tool_api(needs_approval=True, sends=("to",), effect="once")
    def pay(self, amount: int, to: str) -> str:
        """Pay."""
        return f"paid {to} {amount}"


class LoggedPay:
    """A mixin for kits."""

    def pay(self, amount: int, to: str) -> str:
        """Pay, and log it."""
        return f"logged: {super().pay(amount, to)}"  # type: ignore[misc]  # pyright: ignore


class LoggedKit(LoggedPay, Kit):
    pass


class RenamedKit(Kit):
    pay = lambda self, amount, to: f"logged: paid {to} {amount}"  # noqa: E731  # pyright: ignore


class MarkedKit(Kit):
    @tool_api
    def pay(self, amount: int, to: str) -> str:
        """Pay, and log it."""
        return f"logged: {super().pay(amount, to)}"


WRAPPERS: dict[str, Any] = {
    "a partial": partial(pay, amount=5),
    "a partial of a partial": partial(partial(pay, 5)),
    "a partial of a method": partial(Till().pay, amount=5),
    "an object": Till(),
}
LOGGED: dict[str, Any] = {
    "a wrapper": logged(pay),
    "a wrapper of a partial": logged(partial(pay)),
    "a wrapper of an object": logged(Till()),
    "a wrapper of an override": logged(LoggedTill().pay),
    "a subclass's object": LoggedTill(),
    "a subclass's method": LoggedTill().pay,
    "a subclass's class method": LoggedTill.pay_all,
    "an API of a mixin": LoggedKit(),
    "an API of another name": RenamedKit(),
    "an API without options": MarkedKit(),
}


@pytest.mark.parametrize("kind", [*WRAPPERS, *LOGGED])
def test_what_wraps_or_overrides_a_tool_has_its_options_and_is_what_runs(kind: str):
    made = {**WRAPPERS, **LOGGED}[kind]
    (found,) = ActionExecutor([made]).tools.values()
    assert (found.needs_approval, found.sends, found.effect) == (True, ("to",), "once")
    given = {"amount": 5, "to": "Ada"} if "amount" in found.spec.parameters["required"] else {"to": "Ada"}
    agent = Agent(ScriptedModel([call_tool(found.name, **given), "ok"]), tools=[made], approve=lambda request: True)
    agent("Pay.")
    assert agent.memory.get_memory()[-2].content == ("logged: " if kind in LOGGED else "") + "paid Ada 5"


def test_options_that_are_written_on_an_override_replace_all_others():
    class FreeKit(Kit):
        @tool_api(effect="idempotent")
        def pay(self, amount: int, to: str) -> str:
            return "paid"

    (made,) = FreeKit().tools()
    assert (made.needs_approval, made.sends, made.effect) == (False, False, "idempotent")


def test_options_that_are_written_on_a_partial_add_to_those_of_its_function():
    to_ada = partial(pay, to="Ada")
    for _ in range(2):
        made = Tool.of(tool(sends=("amount",))(to_ada))
        assert (made.needs_approval, made.sends, made.effect) == (True, ("amount",), "once")
    free = Tool.of(tool(sends=False, needs_approval=False)(to_ada))
    assert (free.needs_approval, free.sends, free.effect) == (False, False, "once")
    assert Tool.of(pay).sends == ("to",)


def test_an_override_has_no_option_that_says_that_the_other_method_is_harmless():
    class Shop:
        @tool(effect="read", retries=2, retry_on=(OSError,), source="program", timeout=5)
        def find(self, word: str) -> str:
            return word

    class Seller(Shop):
        def find(self, word: str) -> str:
            return super().find(word)

    made, inherited = Tool.of(Seller().find), Tool.of(lambda: "")
    assert made.timeout == 5
    for option in ("effect", "retries", "retry_on", "source"):
        assert getattr(made, option) == getattr(inherited, option)
    assert Tool.of(partial(Shop().find, word="tea")).retries == 2


def test_a_partial_that_fixes_what_directs_the_effect_must_say_what_directs_it_now():
    with pytest.raises(ToolDefinitionError, match="sends names the argument to, which it does not have"):
        Tool.of(partial(Till.pay, Till(), 5, "Ada"))


def is_much(amount: int, to: str = "Ada") -> bool:
    return amount > 100


class Guarded:
    @tool(needs_approval=is_much)
    def pay(self, amount: int, to: str) -> str:
        """Pay."""
        return f"paid {to} {amount}"


class Noted(Guarded):
    def pay(self, amount: int, to: str, note: str = "") -> str:
        """Pay."""
        return super().pay(amount, to)


def test_an_inherited_condition_of_approval_must_take_the_arguments():
    for made, wrong in ((partial(Guarded().pay, 5), "argument: 'amount'"), (Noted().pay, "argument 'note'")):
        with pytest.raises(ToolDefinitionError, match=f"needs_approval is called with .* {wrong}: write one"):
            Tool.of(made)
    for fitting in (Guarded().pay, Guarded.pay, partial(Guarded().pay, to="Bob"), partial(Guarded().pay, amount=5)):
        assert Tool.of(fitting).needs_approval is is_much
    assert Tool.of(tool(needs_approval=True)(partial(Guarded().pay, 5))).needs_approval is True


def of_class(cls: Any, amount: int) -> int:
    return amount


def of_none(amount: int) -> int:
    return amount


@pytest.mark.parametrize(("kind", "function"), [(classmethod, of_class), (staticmethod, of_none)])
@pytest.mark.parametrize("mark", [tool, tool_api])
def test_a_class_method_or_a_static_one_may_stand_above_its_mark_or_below(kind: Any, function: Any, mark: Any):
    marked = mark(needs_approval=True)
    for method in (
        kind(marked(FunctionType(function.__code__, {}))),
        marked(kind(FunctionType(function.__code__, {}))),
    ):
        made = type("Till", (BaseAction,) if mark is tool_api else (), {"pay": method})()
        (found,) = made.tools() if mark is tool_api else (Tool.of(made.pay),)
        assert (found.needs_approval, [*found.spec.parameters["properties"]]) == (True, ["amount"])
        assert made.pay(amount=5) == 5
