"""Memory: messages in order, by session, and sessions that never mix."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trivium import Agent, ChatAgent, ChatAgentConfig, Message, Module, Task
from trivium.events import RunEvent
from trivium.exceptions import ArgumentTypeError, ConfigurationError, MissingEntryError, TriviumError
from trivium.memory import Memory, MemoryManager
from trivium.schema import LLMMessage, Role, ToolCall
from trivium.testing import ScriptedModel

texts = st.text("abc", max_size=3)


def contents(messages: Iterable[Message]) -> list[Any]:
    return [message.content for message in messages]


def memory_of(*said: str, recent_n: int | None = None) -> Memory:
    memory = Memory(recent_n)
    memory.add(said)
    return memory


def test_a_memory_shows_how_much_it_holds():
    manager = MemoryManager()
    manager.add(["a" * 10_000, "b"], "Ada")
    assert repr(manager) == "MemoryManager(sessions=1)"
    assert repr(manager.get("Ada")) == "Memory(messages=2)"
    assert repr(memory_of("a", recent_n=3)) == "Memory(messages=1, recent_n=3)"


# ---- one session
def test_what_can_be_added():
    memory = Memory()
    memory.add("a")
    memory.add(Message(content="b", sender="x"))
    memory.add(["c", Message(content="d")])
    memory.add(each for each in "ef")
    memory.add(None)
    memory.add([])
    assert contents(memory.get_memory()) == list("abcdef")
    assert len(memory) == 6
    assert [message.sender for message in memory.get_memory()][:2] == ["user", "x"]


@given(st.lists(texts, max_size=6), st.none() | st.integers(1, 8), st.none() | st.integers(0, 8))
def test_the_latest_messages(said: list[str], own: int | None, asked: int | None):
    memory = memory_of(*said, recent_n=own)
    count = own if asked is None else asked
    assert contents(memory.get_memory(asked)) == (said[-count:] if count else said)
    assert len(memory) == len(said)


def test_whole_numbers_of_other_classes_are_numbers():
    class Whole:
        """A whole number, as numpy has them."""

        def __index__(self) -> int:
            return 2

    asked: Any = Whole()
    assert contents(memory_of(*"abc", recent_n=asked).get_memory()) == ["b", "c"]
    assert contents(memory_of(*"abc").get_memory(asked)) == ["b", "c"]


@pytest.mark.parametrize(("asked", "shown"), [(1, "d"), (2, "bcd"), (3, "bcd"), (4, "abcd"), (0, "abcd"), (9, "abcd")])
def test_a_result_among_the_latest_brings_its_call_along(asked: int, shown: str):
    calls = [ToolCall(f"call_{at}", "f", "{}") for at in range(2)]
    memory = Memory(asked or None)
    memory.add([Message(content="a"), Message(content="b", sender="me", tool_calls=calls[:1])])
    memory.add([Message(content="c", tool_call_id="call_0"), Message(content="d")])
    assert contents(memory.get_memory()) == list(shown)
    assert contents(memory.get_memory(asked)) == list("abcd")[-asked:]  # who says a number gets that


def test_the_filter_sees_the_latest_only():
    memory = memory_of("a", "b", "c", "d")
    seen: list[tuple[int, str]] = []

    def odd(index: int, message: Message) -> bool:
        seen.append((index, message.content))
        return index % 2 == 1

    assert contents(memory.get_memory(3, odd)) == ["c"]
    assert seen == [(0, "b"), (1, "c"), (2, "d")]


@given(st.lists(texts, max_size=6), st.lists(st.integers(-8, 8), max_size=4))
def test_positions_are_of_the_list_as_it_was(said: list[str], positions: list[int]):
    memory = memory_of(*said)
    memory.delete(positions)
    gone = {range(len(said))[at] for at in positions if -len(said) <= at < len(said)}
    assert contents(memory.get_memory()) == [text for at, text in enumerate(said) if at not in gone]


def test_one_position_can_be_deleted():
    memory = memory_of("a", "b", "c")
    memory.delete(-1)
    assert contents(memory.get_memory()) == ["a", "b"]


def test_what_is_read_is_a_list_of_its_own():
    memory = memory_of("a")
    memory.get_memory().clear()
    assert len(memory) == 1


@given(st.lists(texts, max_size=5), st.lists(texts, max_size=5), st.booleans())
def test_saved_messages_are_loaded(said: list[str], before: list[str], overwrite: bool):
    memory = memory_of(*before)
    memory.load(json.loads(json.dumps(memory_of(*said, recent_n=1).save())), overwrite)
    assert contents(memory.get_memory()) == (said if overwrite else before + said)


def test_what_can_be_loaded():
    for given_messages in ({"content": "a"}, Message(content="a"), [{"content": "a"}], (Message(content="a"),)):
        memory = Memory()
        memory.load(given_messages)
        assert contents(memory.get_memory()) == ["a"]


@pytest.mark.parametrize("bad", ["text", 3, None, [3], ["text"], [{"content": "ok"}, {"contnet": "a"}]])
def test_what_is_no_memory_is_refused_and_changes_nothing(bad: Any):
    memory = memory_of("before")
    with pytest.raises((TypeError, ValueError)):
        memory.load(bad)
    assert contents(memory.get_memory()) == ["before"]


@pytest.mark.parametrize(
    "bad",
    [
        {"entity": "x"}, {"status": "x"}, {"status": 7}, {"tool_calls": "x"}, {"tool_calls": [{"a": 1}]}, {"usage": 3},
        {"files": 3}, {"files": [3]}, {"attachments": 3}, {"logprobs": 3}, {"sources": [["moon", "x"]]},
    ],
)  # fmt: skip
def test_an_edited_message_is_an_error_where_it_is_loaded(bad: dict[str, Any]):
    memory = memory_of("before")
    with pytest.raises(TriviumError):
        memory.load([{"content": "a"}, {"content": "b", **bad}])
    assert contents(memory.get_memory()) == ["before"]


# ---- many sessions
class Sessions(RuleBasedStateMachine):
    """A manager does what a dict of lists does."""

    names = st.sampled_from([0, "", "a", ("a", 1), None])

    def __init__(self) -> None:
        super().__init__()
        self.manager = MemoryManager()
        self.model: dict[Hashable, list[str]] = {}

    @rule(session=names, said=st.lists(texts, min_size=1, max_size=3))
    def add(self, session: Hashable, said: list[str]) -> None:
        self.manager.add(said, session)
        self.model.setdefault(session, []).extend(said)

    @rule(session=names)
    def reset(self, session: Hashable) -> None:
        self.manager.reset(session)
        self.model.pop(session, None)

    @rule(session=names)
    def look(self, session: Hashable) -> None:
        memory = self.manager.get(session)
        assert (memory is None) == (session not in self.model)
        if memory is None:
            with pytest.raises(KeyError):
                self.manager.get_memory(session)

    @rule(session=names, other=names)
    def load(self, session: Hashable, other: Hashable) -> None:
        self.manager.open(session).load([*self.manager.open(other).save()])
        self.model[session] = list(self.model.setdefault(other, []))

    @invariant()
    def every_session_holds_what_was_said_in_it(self) -> None:
        found = {name: contents(memory.get_memory()) for name, memory in self.manager.memory_map.items()}
        assert found == self.model


TestSessions = Sessions.TestCase


def test_each_session_gets_a_memory_from_the_factory():
    manager = MemoryManager(lambda: Memory(recent_n=1))
    manager.add(["a", "b"], "s")
    assert contents(manager.get_memory("s")) == ["b"]
    assert contents(manager.get_memory("s", recent_n=2)) == ["a", "b"]
    assert manager.open("s") is manager.open("s")
    assert manager.open("t") is not manager.open("s")


@pytest.mark.parametrize("factory", [list, lambda: None])
def test_a_factory_that_makes_no_memory_is_told_so(factory: Callable[[], Any]):
    with pytest.raises(ArgumentTypeError, match=r"a memory derives from trivium\.memory\.Memory, and .* does not"):
        Agent(ScriptedModel(["yes"]), memory=factory)("hi")


def test_threads_that_open_one_session_share_it():
    manager = MemoryManager()
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        for turn in range(200):
            manager.add("x", turn)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {len(memory) for memory in manager.memory_map.values()} == {8}


# ---- every change is an event
def changes(work: Callable[[Module], object], *said: str) -> list[tuple[Any, ...]]:
    """The events of the changes that work makes to the memory of a module, below a call of it."""
    found: list[tuple[Any, ...]] = []

    def listen(event: RunEvent) -> None:
        if event.kind == "memory":
            found.append((event.data.action, contents(list(event.data.messages))))
        elif event.kind == "message":
            found.append(("add", event.data.content))

    module = Module("keeper", memory=MemoryManager())
    module.forward = lambda *messages: Message(content=str(work(module) or ""))
    assert module.memory is not None
    module.memory.open().add(said)
    module("go", listeners=[listen])
    assert found[0] == ("add", "go")
    assert found[-1][0] == "add"  # the answer
    return found[1:-1]


def of(module: Module) -> Memory:
    memory = module.current_memory()
    assert memory is not None
    return memory


def test_each_change_of_a_memory_is_an_event():
    assert changes(lambda module: of(module).add(["x", Message(content="y")])) == [("add", "x"), ("add", "y")]
    assert changes(lambda module: of(module).erase([0, -1]), "a", "b") == [("erase", ["a", "go"])]
    assert changes(lambda module: of(module).delete(0), "a", "b") == [("erase", ["a"])]
    assert changes(lambda module: of(module).load([Message(content="z")]), "a") == [("load", ["z"])]
    assert changes(lambda module: of(module).edit(0, "A"), "a") == [("edit", ["A"])]
    assert changes(lambda module: of(module).reset(), "a") == [("reset", ["a", "go"])]
    assert changes(lambda module: module.reset(), "a") == [("reset", ["a", "go"])]
    assert changes(lambda module: len(of(module)), "a") == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("append", [1]), ("extend", [[1]]), ("insert", [0, 1]), ("pop", []), ("remove", [1]), ("clear", []),
        ("sort", []), ("reverse", []), ("__setitem__", [0, 1]), ("__delitem__", [0]), ("__iadd__", [[1]]),
        ("__imul__", [2]),
    ],
)  # fmt: skip
def test_what_a_memory_shows_cannot_be_changed_past_its_methods(name: str, arguments: list[Any]):
    memory = memory_of("a", "b")
    with pytest.raises(TypeError, match="change only by its methods"):
        getattr(memory.messages, name)(*arguments)
    memory.get_memory().clear()
    assert contents(memory.messages) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("clear", []), ("pop", [0]), ("popitem", []), ("update", [{0: Memory()}]), ("setdefault", [1, Memory()]),
        ("__setitem__", [0, Memory()]), ("__delitem__", [0]), ("__ior__", [{0: Memory()}]),
    ],
)  # fmt: skip
def test_what_a_manager_shows_cannot_be_changed_past_its_methods(name: str, arguments: list[Any]):
    manager = MemoryManager()
    manager.add("a")
    with pytest.raises(TypeError, match="change only by its methods: open, add, create_instance, reset"):
        getattr(manager.memory_map, name)(*arguments)
    for each in (manager, copy.deepcopy(manager), pickle.loads(pickle.dumps(manager))):
        assert contents(each.get_memory()) == ["a"]
        assert list(each.memory_map) == [0]


def test_a_new_memory_in_the_place_of_one_is_an_event():
    assert changes(lambda module: module.memory and module.memory.create_instance(), "a") == [("reset", ["a", "go"])]


def test_the_messages_are_a_live_sequence_to_read():
    memory = memory_of("a", "b")
    seen = memory.messages
    memory.add("c")
    assert (contents(seen), contents(reversed(seen)), contents(seen[1:])) == (
        ["a", "b", "c"],
        ["c", "b", "a"],
        ["b", "c"],
    )
    assert seen == memory.get_memory() == memory.messages
    assert repr(seen) == repr(memory.get_memory())
    assert seen[0] in seen
    for copied in (copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert contents(copied.messages) == contents(seen)


def test_a_session_without_a_memory_is_an_error_that_says_what_to_do():
    manager = MemoryManager()
    manager.add("x", "ada")
    with pytest.raises(MissingEntryError, match=r"the session 'x' has no memory; there are 'ada'. `get") as raised:
        manager.get_memory("x")
    assert isinstance(raised.value, KeyError)
    assert manager.get("x") is None


def test_a_new_system_message_is_an_event_of_the_run():
    def set_it(module: Module) -> None:
        agent = Agent(None, "A")
        agent.template = "B"
        assert agent.system_message == "B"

    assert changes(set_it) == [("edit", ["B"])]


def test_a_message_is_edited_in_place():
    memory = memory_of("a", "b")
    last = memory.messages[-1]
    memory.edit(-1, "c")
    assert (last.content, contents(memory.get_memory())) == ("c", ["a", "c"])
    with pytest.raises(IndexError):
        memory.edit(2, "d")


def test_a_change_outside_a_call_is_told_to_nobody():
    memory = memory_of("a")
    memory.reset()
    assert len(memory) == 0


def test_the_edits_of_a_message_history_are_changes_of_its_memory():
    found: list[tuple[str, list[Any]]] = []

    def listen(event: RunEvent) -> None:
        if event.kind == "memory":
            found.append((event.data.action, contents(list(event.data.messages))))
        elif event.kind == "message":
            found.append(("add", [event.data.content]))

    class Editing(ChatAgent):
        def agent_response(self, msg: Any = None) -> Any:
            history = self.message_history
            history.append(entry("one"))
            history.extend([entry("two"), entry("three")])
            history[-1].content = "last"
            del history[-2:]
            history[1:2] = [entry("four"), entry("five")]
            history.insert(1, entry("zero"))
            del history[1]
            history.clear()
            return "done"

    agent = Editing(ChatAgentConfig(llm=None, system_message="Be brief."))
    task = Task(agent, interactive=False, single_round=True)
    task.run("hi", listeners=[listen])
    assert found[:3] == [("add", [text]) for text in ("one", "two", "three")]
    assert found[3:6] == [("edit", ["last"]), ("erase", ["two", "last"]), ("load", ["four", "five"])]
    assert found[6:9] == [("load", ["zero", "four", "five"]), ("erase", ["zero"]), ("erase", ["five"])]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("reverse", []), ("insert", [0, "c"]), ("pop", [0]), ("__delitem__", [0]), ("__delitem__", [slice(0, 2)]),
        ("__setitem__", [0, "c"]), ("__setitem__", [slice(None), ["c"]]),
    ],
)  # fmt: skip
def test_the_system_message_stays_the_first_of_a_history(name: str, arguments: list[Any]):
    given = [[entry("c")] if each == ["c"] else entry("c") if each == "c" else each for each in arguments]
    agent = ChatAgent(ChatAgentConfig(llm=None, system_message="Be brief."))
    agent.message_history = [entry("a"), entry("b")]
    with pytest.raises(ConfigurationError, match=r"set agent\.system_message"):
        getattr(agent.message_history, name)(*given)
    assert [each.content for each in agent.message_history] == ["Be brief.", "a", "b"]


def test_entries_of_a_history_change_places_and_a_system_message_becomes_the_agents():
    agent = ChatAgent(ChatAgentConfig(llm=None, system_message="Be brief."))
    agent.message_history = [entry("a"), entry("b")]
    history = agent.message_history
    history[1], history[2] = history[2], history[1]
    history.insert(0, LLMMessage(role=Role.SYSTEM, content="Be kind."))
    assert [each.content for each in history] == ["Be kind.", "b", "a"]
    assert agent.system_message == "Be kind."


def entry(text: str) -> LLMMessage:
    return LLMMessage(role=Role.USER, content=text)
