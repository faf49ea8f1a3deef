"""The module: what a call does to its messages, its entry points, and the tree of modules."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Hashable
from typing import Any

import pytest

from commander._helpers import AsyncNest, Entry, MixedNest, Nest, SyncNest, every_entry, nest
from trivium import Agent, AsyncAgent, Hook, Message, Module, this_call
from trivium.actions import ActionExecutor
from trivium.commander import CallNode, current, driver_neutral
from trivium.exceptions import StateError
from trivium.memory import MemoryManager
from trivium.module import AsyncModule
from trivium.testing import ScriptedModel


class Shout(Module):
    def forward(self, message: Message) -> str:
        return message.content.upper()


class AsyncShout(Module):
    async def forward(self, message: Message) -> str:
        await asyncio.sleep(0)
        return message.content.upper()


class CoreShout(Module):
    @driver_neutral
    async def forward(self, message: Message) -> str:
        return message.content.upper()


every_kind = pytest.mark.parametrize("kind", [Shout, AsyncShout, CoreShout])


# ---- a call
@every_entry
@every_kind
def test_a_call_answers_with_a_message(entry: Entry, kind: type[Module]):
    answer = entry(kind(), "hi")
    assert (answer.content, answer.sender) == ("HI", kind.__name__)
    assert entry(kind("Bob"), Message(content="hi", sender="Ada")).sender == "Bob"
    assert current.get() is None


def test_a_message_is_passed_on_as_it_is():
    class Answering(Module):
        def forward(self, message: Message) -> Message:
            return Message(content="x", sender="somebody", type="t")

    answer = Answering()("hi")
    assert (answer.sender, answer.type) == ("somebody", "t")


@every_entry
def test_several_messages_and_keywords_reach_forward(entry: Entry):
    class Many(Module):
        def forward(self, *messages: Message, mark: str) -> str:
            return mark.join(message.content for message in messages)

    assert entry(Many(), "a", Message(content="b"), None, "c", mark="-").content == "a-b-c"
    assert entry(Many(), mark="-").content == ""


@every_entry
@pytest.mark.parametrize("session", [0, "ada", ("a", 1)])
def test_forward_may_ask_for_its_session(entry: Entry, session: Hashable):
    class Asking(Module):
        def forward(self, message: Message, session_id: Hashable) -> list[Any]:
            return [session_id]

    class Outer(Module):
        async def forward(self, message: Message) -> Message:
            return await Asking().acall(message)

    assert entry(Outer(), "x", session_id=session).content == [session]


@every_entry
def test_an_omitted_session_is_the_callers(entry: Entry):
    inner = Agent(ScriptedModel(["ok"]))

    class Outer(Module):
        def forward(self, message: Message) -> str:
            inner("plain")
            inner("named", session_id="other")
            inner("zero", session_id=0)
            return "ok"

    entry(Outer(), "x", session_id="mine")
    said = {name: inner.memory.get_memory(name)[0].content for name in ("mine", "other", 0)}  # type: ignore[union-attr]
    assert said == {"mine": "plain", "other": "named", 0: "zero"}


@every_entry
def test_a_call_in_a_session_of_its_own_shares_all_else_with_its_caller(entry: Entry):
    """By pointer: most calls name a session, and must not pay for a copy of what they inherit."""
    calls: list[CallNode] = []

    class Inner(Module):
        def forward(self, message: Message) -> str:
            calls.append(this_call())
            return "ok"

    class Outer(Inner):
        def forward(self, message: Message) -> str:
            Inner()("x", session_id="other")
            return super().forward(message)

    entry(Outer(), "x", session_id="mine", context="shared")
    inner, outer = calls
    assert (inner.session_id, outer.session_id) == ("other", "mine")
    assert inner.scope is outer.scope
    assert inner.context == "shared"


@every_entry
@every_kind
def test_callers_objects_are_never_changed_or_kept(entry: Entry, kind: type[Module]):
    class Editing(Module):
        def forward(self, message: Message) -> Message:
            message.content.append("forward")
            return message

    module, given = Editing(memory=MemoryManager()), Message(content=["mine"])
    answer = entry(module, given)
    answer.content.append("callers")
    assert given.content == ["mine"]
    assert module.memory is not None
    assert [message.content for message in module.memory.get_memory()] == [["mine", "forward"]] * 2


def test_a_module_without_forward_says_so():
    class Empty(Module): ...

    with pytest.raises(NotImplementedError, match="Empty has no forward"):
        Empty()("x")


# ---- sync and async calls, nested both ways, inside a running loop
@every_entry
@every_kind
@pytest.mark.parametrize(
    "kinds", [(SyncNest, AsyncNest), (AsyncNest, SyncNest), (MixedNest, AsyncNest, SyncNest), (AsyncNest, MixedNest)]
)
def test_sync_and_async_nest_both_ways(entry: Entry, kind: type[Module], kinds: tuple[type[Nest], ...]):
    assert entry(nest(kinds, kind()), "hi").content == "HI" + "".join(map(str, range(len(kinds))))


@every_kind
def test_sync_and_async_side_by_side_in_one_running_loop(kind: type[Module]):
    module = nest((AsyncNest, SyncNest, MixedNest), kind())

    async def main() -> list[str]:
        first = asyncio.gather(*[module.acall(f"a{n}") for n in range(10)])
        second = [module(f"b{n}").content for n in range(10)]
        third = await asyncio.gather(*[asyncio.to_thread(module, f"c{n}") for n in range(10)])
        return [*[each.content for each in await first], *second, *[each.content for each in third]]

    assert asyncio.run(main()) == [f"{letter}{n}012" for letter in "ABC" for n in range(10)]


def test_the_async_class_gives_a_coroutine():
    class Both(AsyncModule, Shout): ...

    async def main() -> str:
        coroutine: Any = Both()("hi")
        assert inspect.iscoroutine(coroutine)
        return (await coroutine).content

    assert asyncio.run(main()) == "HI"
    assert asyncio.run(AsyncAgent(ScriptedModel(["ok"]))("hi")).content == "ok"  # type: ignore[arg-type]


def test_one_object_serves_many_threads_and_loops_at_once():
    module = nest((AsyncNest, SyncNest), AsyncShout())
    found: list[str] = []

    def work(n: int) -> None:
        entry = (lambda: module(f"t{n}")) if n % 2 else (lambda: asyncio.run(module.acall(f"t{n}")))
        found.extend(entry().content for _ in range(10))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"T{n}01" for n in range(8) for _ in range(10))


# ---- what it remembers, and when
class Failing(Module):
    def forward(self, message: Message) -> str:
        raise ValueError("broken")


@every_entry
def test_question_and_answer_are_remembered(entry: Entry):
    module = Shout(memory=MemoryManager())
    entry(module, "a", session_id="s")
    entry(module, "b", session_id="s")
    assert module.memory is not None
    assert [(m.sender, m.content) for m in module.memory.get_memory("s")] == [
        ("user", "a"), ("Shout", "A"), ("user", "b"), ("Shout", "B"),
    ]  # fmt: skip


@every_entry
def test_a_question_that_was_not_answered_stays(entry: Entry):
    module = Failing(memory=MemoryManager())
    with pytest.raises(ValueError, match="broken"):
        entry(module, "x")
    assert module.memory is not None
    assert [message.content for message in module.memory.get_memory()] == ["x"]
    assert current.get() is None


# ---- the tree of modules
class Pair(Module):
    """Sub-modules may be set before the constructor runs, and after it."""

    def __init__(self, name: str | None = None, memory: MemoryManager | None = None) -> None:
        self.first: Module | None = Agent(ScriptedModel(["1"]), name="one")
        super().__init__(name, memory)
        self.second: Module = Shout("two")

    def forward(self, message: Message) -> str:
        return "pair"


def test_children_are_the_modules_among_the_attributes():
    pair = Pair()
    assert [name for name, _ in pair.named_children()] == ["first", "second"]
    pair.third = pair.second  # type: ignore[attr-defined]
    pair.first = None
    assert [name for name, _ in pair.named_children()] == ["second", "third"]


def test_each_path_to_a_module_is_named_and_no_circle_is_entered():
    outer = Pair()
    outer.second = Pair()
    outer.again = outer.second  # type: ignore[attr-defined]
    outer.second.up = outer  # type: ignore[attr-defined]
    agent, pair = ["first", "first.executor"], ["", ".first", ".first.executor", ".second"]
    assert [name for name, _ in outer.named_modules()] == [
        "", *agent, *[path + name for path in ("second", "again") for name in pair]
    ]  # fmt: skip


def test_names_are_the_class_name_unless_given():
    class Named(Module):
        name = "own"

    class Below(Named): ...

    assert [Shout().name, Shout("x").name, Named().name, Below().name, ActionExecutor().name] == [
        "Shout", "x", "own", "Below", "ActionExecutor",
    ]  # fmt: skip


def test_a_tree_in_which_a_child_knows_its_parent_is_shown():
    class Node(Module):
        parent: Module
        child: Module

    outer, inner = Node("outer"), Node("inner")
    outer.child, inner.parent = inner, outer
    assert repr(outer) == "Node(name='outer')(\n  (child): Node(name='inner')(\n    (parent): ...\n  )\n)"
    assert str(inner).count("outer") == 1
    twice = Node("twice")
    twice.parent = twice.child = Module("shared")
    assert repr(twice).count("shared") == 2, "what is held twice is no cycle"


def test_the_tree_is_shown():
    assert repr(Pair()) == ("Pair(name='Pair')(\n  (first): Agent(name='one')\n  (second): Shout(name='two')\n)")


# ---- forgetting
def talked() -> Pair:
    pair = Pair(memory=MemoryManager())
    assert pair.first is not None
    for session in (0, "s"):
        pair("x", session_id=session)
        pair.first("x", session_id=session)
    return pair


def remembered(pair: Pair, session: Hashable) -> list[int]:
    return [len(messages) for messages in pair.state_dict(session).values()]


@pytest.mark.parametrize(
    ("how", "left"),
    [({}, [0, 2]), ({"keypath": "first"}, [2, 0]), ({"recursive": True}, [0, 0]), ({"keypath": "second"}, [2, 2])],
)
def test_a_session_is_forgotten_where_it_was_asked_for(how: dict[str, Any], left: list[int]):
    for session, other in ((0, "s"), ("s", 0)):
        pair = talked()
        pair.reset(session, **how)
        pair.reset(session, **how)
        assert remembered(pair, session) == left
        assert remembered(pair, other) == [2, 2]


def test_forgetting_at_an_unknown_place_names_the_places():
    with pytest.raises(StateError, match=r"no module at 'frist'; there are first, first\.executor, second"):
        Pair().reset(keypath="frist")
    with pytest.raises(AssertionError, match="either"):
        Pair().reset(keypath="first", recursive=True)


# ---- hooks stay with their module
def test_hooks_given_to_the_constructor_are_registered():
    class Add(Hook):
        def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> None:
            message.content += "!"

    assert Shout(hooks=Add())("x").content == "X!"
    assert Shout(hooks=[Add(), Add()])("x").content == "X!!"
    assert Shout()("x").content == "X"
