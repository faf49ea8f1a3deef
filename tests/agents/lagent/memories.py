"""Memories: what they keep, give, delete, load and save; the sessions of a manager."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import Run, script


def filled(on: Run, *words: str, **options: Any) -> Any:
    memory = on.memories.Memory(**options)
    memory.add([on.message(word) for word in words or ("a", "b", "c", "d")])
    return memory


def contents(memory: Any, **options: Any) -> list[Any]:
    return [each.content for each in memory.get_memory(**options)]


@script
def what_is_added_is_given(on: Run) -> Any:
    memory = filled(on)
    memory.add("text")
    memory.add(on.message("one", sender="ada"))
    memory.add((on.message("two"), "three"))
    for each in memory.get_memory():
        on.say(each)


@script
def what_is_no_message_is_not_added(on: Run) -> Any:
    memory = filled(on, "a")
    for value in (None, 3, {"content": "x"}, [None, 4, "b"], []):
        on.tried(lambda value=value: memory.add(value))
    on.say(contents(memory))


@script
def the_last_n(on: Run) -> Any:
    memory = filled(on)
    on.say(contents(memory, recent_n=2), contents(memory, recent_n=9), contents(memory, recent_n=None))
    on.say(contents(memory, recent_n=0), contents(filled(on, recent_n=3)), contents(filled(on, recent_n=3), recent_n=1))


@script
def what_a_filter_lets_through(on: Run) -> Any:
    memory = filled(on)
    on.say(contents(memory, filter_func=lambda i, m: i % 2 == 0))
    on.say(contents(memory, filter_func=lambda i, m: m.content > "b"))
    on.say(contents(memory, recent_n=2, filter_func=lambda i, m: i == 0))


@script
def messages_are_deleted(on: Run) -> Any:
    memory = filled(on)
    memory.delete(1)
    on.say(contents(memory))
    memory.delete(-1)
    on.say(contents(memory))
    on.tried(lambda: memory.delete(9), IndexError)
    memory.delete([0])
    on.say(contents(memory))


@script
def several_messages_are_deleted(on: Run) -> Any:
    memory = filled(on)
    memory.delete([0, 2])
    on.say(contents(memory))
    on.tried(lambda: memory.delete([0, 9]), IndexError)
    on.say(contents(memory))


@script
def a_memory_is_saved_and_loaded(on: Run) -> Any:
    memory = filled(on, "a", "b", recent_n=1)
    saved = memory.save()
    on.say(saved)
    other = filled(on, "x")
    other.load(saved)
    on.say(contents(other), other.save() == saved)
    other.load([{"content": "more", "sender": "ada"}], overwrite=False)
    on.say(other.save())


@script
def one_dict_is_loaded(on: Run) -> Any:
    memory = filled(on, "x")
    memory.load({"content": "a"})
    memory.load({"content": "b", "sender": "ada"}, overwrite=False)
    for each in memory.get_memory():
        on.say(each)


@script
def what_cannot_be_loaded(on: Run) -> Any:
    memory = filled(on, "x")
    on.tried(lambda: memory.load("text"), TypeError)
    on.tried(lambda: memory.load(3), TypeError)
    on.tried(lambda: memory.load(None), TypeError)
    on.tried(lambda: memory.load([{"sender": "ada"}]), ValueError)
    on.tried(lambda: memory.load(["text"]), TypeError)


@script
def a_load_that_fails_half_way(on: Run) -> Any:
    memory = filled(on, "x")
    on.tried(lambda: memory.load([{"content": "a"}, {"sender": "ada"}]), ValueError)
    on.say(contents(memory))


@script
def a_memory_list_is_read(on: Run) -> Any:
    memory = filled(on)
    on.say([each.content for each in memory.memory], len(memory.memory), memory.memory[0].content, memory.recent_n)
    memory.recent_n = 2
    on.say(contents(memory))


@script
def the_given_list_belongs_to_the_caller(on: Run) -> Any:
    memory = filled(on)
    given = memory.get_memory()
    given.append(on.message("mine"))
    on.say(contents(memory))


@script
def a_manager_makes_sessions_when_they_are_needed(on: Run) -> Any:
    manager = on.memories.MemoryManager({"type": on.memories.Memory, "recent_n": 1})
    on.say(manager.get(), manager.memory_map)
    manager.add(on.message("a"))
    manager.add([on.message("b"), on.message("c")], session_id="ada")
    on.say(list(manager.memory_map), [each.content for each in manager.get_memory("ada")])
    on.say([each.content for each in manager.get_memory("ada", recent_n=2)])
    manager.create_instance(7)
    on.say(manager.get(7).save(), list(manager.memory_map))


@script
def a_manager_resets_sessions(on: Run) -> Any:
    manager = on.memories.MemoryManager({"type": on.memories.Memory})
    for session in (0, 1):
        manager.add(on.message("a"), session_id=session)
    manager.reset()
    on.say(list(manager.memory_map))
    manager.reset(1)
    manager.reset(9)
    on.say(list(manager.memory_map))


@script
def a_session_that_is_not_there(on: Run) -> Any:
    manager = on.memories.MemoryManager({"type": on.memories.Memory})
    on.tried(lambda: manager.get_memory("ada"), KeyError)
    on.say(manager.get("ada"))


@script
def a_memory_of_ones_own(on: Run) -> Any:
    class Short(on.memories.Memory):
        def get_memory(self, recent_n: Any = None, filter_func: Any = None) -> list[Any]:
            return super().get_memory(recent_n, filter_func)[-1:]

        def add(self, memories: Any) -> None:
            on.say("add", memories)
            super().add(memories)

    agent = on.Agent(on.model("one", "two"), memory={"type": Short}, name="ada")
    on.ask(agent, "a")
    on.ask(agent, "b")
    on.say(len(agent.state_dict()["memory"]))


@script
def an_agent_with_a_short_memory(on: Run) -> Any:
    agent = on.Agent(on.model("one", "two", "three"), "Sum.", memory={"type": on.memories.Memory, "recent_n": 2})
    for word in "abc":
        on.ask(agent, word)
    on.say(len(agent.memory.get().save()))


@script
def a_memory_with_arguments_of_its_own(on: Run) -> Any:
    class Sized(on.memories.Memory):
        def __init__(self, size: int) -> None:
            super().__init__(recent_n=size)

    manager = on.memories.MemoryManager({"type": Sized, "size": 3})
    manager.add("a")
    on.say(manager.get().recent_n)


@script
def a_memory_is_given_to_an_agent_by_hand(on: Run) -> Any:
    agent = on.Agent(on.model("fine"), name="ada")
    agent.memory.add(on.message("before"), session_id=3)
    agent.memory.get(3).delete(0)
    agent.memory.add("text", session_id=3)
    on.ask(agent, "hi", session_id=3)
    agent.memory.reset(3)
    on.say(agent.memory.get(3))
