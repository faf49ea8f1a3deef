"""Hooks: they change messages on their way in and out, in their order, and can be taken out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry
from trivium import Agent, Hook, Message, Module
from trivium.actions import ActionExecutor
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.hooks import RemovableHandle
from trivium.memory import MemoryManager
from trivium.schema import ActionReturn
from trivium.testing import ScriptedModel, call_tool


class Echo(Module):
    def forward(self, *messages: Message) -> str:
        return "|".join(str(message.content) for message in messages)


class Mark(Hook):
    """Adds its mark to what goes in and what comes out."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> Any:
        for message in messages:
            message.content += self.mark

    def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> Any:
        message.content += self.mark.upper()


class AsyncMark(Mark):
    async def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> Any:
        await asyncio.sleep(0)
        super().before_agent(agent, messages, session_id)

    async def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> Any:
        await asyncio.sleep(0)
        super().after_agent(agent, message, session_id)


Function = Callable[[Any], Any]


def nothing(_: Any) -> None: ...


class Doing(Hook):
    """Returns what its functions return."""

    def __init__(self, before: Function = nothing, after: Function = nothing) -> None:
        self.before, self.after = before, after

    def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> Any:
        return self.before(messages)

    def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> Any:
        return self.after(message)


# ---- order and removal
@every_entry
@pytest.mark.parametrize("kind", [Mark, AsyncMark])
def test_hooks_run_in_the_order_of_registration_both_ways(entry: Entry, kind: type[Mark]):
    echo = Echo(hooks=[kind("a"), Mark("b")])
    echo.register_hook(kind("c"))
    assert entry(echo, "x").content == "xabcABC"


@given(st.lists(st.sampled_from("abc"), max_size=6), st.sets(st.integers(0, 5)))
def test_what_is_removed_does_not_run(marks: list[str], removed: set[int]):
    echo = Echo()
    handles = [echo.register_hook(Mark(mark)) for mark in marks]
    assert len({handle.id for handle in handles}) == len(handles)
    for at in removed:
        for handle in handles[at : at + 1] * 2:  # twice is harmless
            handle.remove()
    left = "".join(mark for at, mark in enumerate(marks) if at not in removed)
    assert echo("x").content == f"x{left}{left.upper()}"


def test_a_hook_of_two_modules_leaves_each_by_its_own_handle():
    hook, first, second = Mark("a"), Echo(), Echo()
    handle = first.register_hook(hook)
    second.register_hook(hook)
    handle.remove()
    assert (first("x").content, second("x").content) == ("x", "xaA")


def test_a_hook_that_removes_itself_finishes_its_call():
    handles: list[RemovableHandle] = []
    echo = Echo()
    handles.append(
        echo.register_hook(Doing(before=lambda _: handles[0].remove(), after=lambda m: m.replace(content="end")))
    )
    assert [echo("x").content, echo("x").content] == ["end", "x"]


# ---- what a hook may return
def edited(messages: list[Message]) -> None:
    messages[0].content = "new"


BEFORE: list[tuple[Function, str]] = [
    (nothing, "x|y"),
    (edited, "new|y"),
    (lambda messages: messages[:1], "x"),
    (lambda messages: tuple(reversed(messages)), "y|x"),
    (lambda messages: messages[1].replace(content="one"), "one"),
    (lambda messages: messages.append(Message(content="z")), "x|y|z"),
    (lambda messages: [], "x|y"),
]


@every_entry
@pytest.mark.parametrize(("before", "seen"), BEFORE)
def test_what_goes_in_can_be_edited_or_replaced(entry: Entry, before: Function, seen: str):
    echo = Echo(hooks=Doing(before=before), memory=MemoryManager())
    assert entry(echo, "x", "y").content == seen
    assert echo.memory is not None
    assert "|".join(m.content for m in echo.memory.get_memory()[:-1]) == seen, "memory keeps what forward got"


@every_entry
def test_what_comes_out_can_be_replaced_and_memory_keeps_what_was_said(entry: Entry):
    echo = Echo(hooks=[Mark("a"), Doing(after=lambda message: message.replace(content=f"<{message.content}>"))])
    echo.memory = MemoryManager()
    assert entry(echo, "x").content == "<xaA>"
    assert [message.content for message in echo.memory.get_memory()] == ["xa", "xa"]


def test_the_callers_message_is_never_changed():
    given_message = Message(content="x", extra_info={"a": [1]})
    Echo(hooks=Doing(before=lambda messages: messages[0].extra_info["a"].append(2)))(given_message)
    assert given_message == Message(content="x", extra_info={"a": [1]})


def test_hooks_know_the_module_and_the_session():
    seen: list[Any] = []

    class Spy(Hook):
        def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> Any:
            seen.append((agent, session_id))

        def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> Any:
            seen.append((agent, session_id))

    echo = Echo(hooks=Spy())
    echo("x", session_id="ada")
    assert seen == [(echo, "ada")] * 2


# ---- errors
@every_entry
def test_a_hook_that_fails_on_the_way_in_leaves_memory_untouched(entry: Entry):
    echo = Echo(hooks=Doing(before=lambda _: 1 / 0), memory=MemoryManager())
    with pytest.raises(ZeroDivisionError):
        entry(echo, "x")
    assert echo.memory is not None
    assert echo.memory.get() is None


@every_entry
def test_a_hook_that_fails_on_the_way_out_fails_the_call(entry: Entry):
    echo = Echo(hooks=Doing(after=lambda _: 1 / 0), memory=MemoryManager())
    with pytest.raises(ZeroDivisionError):
        entry(echo, "x")
    assert echo.memory is not None
    assert len(echo.memory.get_memory()) == 2


class Returning(Hook):
    """Every method returns one value."""

    def __init__(self, method: str, value: Any) -> None:
        def returned(*_: object) -> Any:
            return value

        setattr(self, method, returned)


@pytest.mark.parametrize("method", ["before_agent", "after_agent", "before_action", "after_action"])
@pytest.mark.parametrize("value", [5, [5], {"a": 1}])
def test_what_is_no_message_is_an_error_that_names_the_hook(method: str, value: Any):
    def add(a: int, b: int) -> int:
        return a + b

    hook = Returning(method, value)
    module = ActionExecutor(add, hooks=hook) if "action" in method else Echo(hooks=hook)
    with pytest.raises(ConfigurationError, match=rf"Returning.{method} returns messages, or None, not"):
        module(Message(content={"name": "add", "parameters": {"a": 1, "b": 2}}))


# ---- an executor's hooks
class OnAction(Hook):
    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Any:
        return message.replace(content={"name": "add", "parameters": {"a": message.content, "b": session_id}})

    def after_action(self, executor: Any, message: Message, session_id: Hashable) -> Any:
        assert isinstance(message.content, ActionReturn)
        return message.replace(content=message.content.format_result())


class AsyncOnAction(OnAction):
    async def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Any:
        await asyncio.sleep(0)
        return super().before_action(executor, message, session_id)


@every_entry
@pytest.mark.parametrize("hook", [OnAction(), AsyncOnAction()])
def test_an_executor_has_moments_of_its_own(entry: Entry, hook: Hook):
    def add(a: int, b: int) -> int:
        return a + b

    executor = ActionExecutor(add, hooks=[hook, Mark("never")])
    assert entry(executor, Message(content=2), session_id=3).content == "5"


class Guarded(Hook):
    """Refuses some paths, changes others, and marks what comes out."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any, Hashable]] = []

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Any:
        call = message.content
        self.seen.append((call.name, {**call.parameters}, session_id))
        if call.parameters["path"] == "/":
            raise PermissionError("not this one")
        call.parameters["path"] = f"safe/{call.parameters['path']}"

    def after_action(self, executor: Any, message: Message, session_id: Hashable) -> Any:
        return message.replace(content=f"{message.content.format_result()}!")


@every_entry
def test_hooks_of_an_executor_surround_the_calls_of_an_agents_model_too(entry: Entry):
    deleted: list[str] = []

    def delete(path: str) -> str:
        """Delete a file."""
        deleted.append(path)
        return f"{path} is gone"

    guard, model = Guarded(), ScriptedModel([call_tool("delete", path="a"), "Done.", call_tool("delete", path="/")])
    agent = Agent(model, tools=[delete])
    agent.executor.register_hook(guard)
    assert entry(agent, "Delete a", session_id="s").content == "Done."
    assert model.requests[-1].messages[-1]["content"] == "safe/a is gone!"
    with pytest.raises(PermissionError, match="not this one"):
        entry(agent, "Delete all", session_id="s")
    assert deleted == ["safe/a"]
    assert guard.seen == [("delete", {"path": "a"}, "s"), ("delete", {"path": "/"}, "s")]


def test_a_plain_hook_changes_nothing():
    agent = Agent(ScriptedModel(["ok"]), hooks=[Hook(), Hook()])
    assert agent("x").content == "ok"


@pytest.mark.parametrize(("name", "meant"), [("before_agnt", "before_agent"), ("after_actions", "after_action")])
def test_a_misspelt_method_is_refused_where_its_class_is_written(name: str, meant: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"nothing calls its {name}: did you mean {meant}?") as error:
        type("Typo", (Mark,), {name: nothing})
    assert error.value.argument == name


def test_the_class_of_a_hook_is_refused_where_it_is_registered() -> None:
    agent = Agent(ScriptedModel(["hello"]))
    for register in (agent.register_hook, agent.executor.register_hook):
        with pytest.raises(ConfigurationError, match="the class Hook is no hook: give an object"):
            register(Hook)  # type: ignore[arg-type]
    assert agent("hi").content == "hello"
