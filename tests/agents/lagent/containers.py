"""Containers: sequences, lists and dicts of agents."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import Run, script


def adding(on: Run, word: str, **options: Any) -> Any:
    """An agent that adds a word."""

    class Adds(on.Agent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return f"{message[-1].content}{word}"

    class AsyncAdds(on.Agent):
        async def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            return f"{message[-1].content}{word}"

    return (AsyncAdds if on.is_async else Adds)(name=word, **options)


@script
def agents_in_a_row(on: Run) -> Any:
    made = on.Sequential(adding(on, "a"), adding(on, "b"), adding(on, "c"))
    on.ask(made, "x", session_id=1)
    on.say(len(made), made[0].name, made[-1].name, made["1"].name)
    on.remembered(made, 1)
    on.remembered(made[1], 1)


@script
def a_row_from_other_collections(on: Run) -> Any:
    agents = [adding(on, "a"), adding(on, "b")]
    on.ask(on.Sequential(agents), "x")
    named = on.Sequential({"first": agents[0], "last": agents[1]})
    on.ask(named, "x")
    on.say(named["first"].name, list(named.state_dict()))
    on.ask(on.Sequential([("p", agents[0]), ("q", agents[1])]), "x")
    on.ask(on.Sequential(tuple(agents)), "x")


@script
def a_row_of_pairs(on: Run) -> Any:
    on.tried(lambda: on.ask(on.Sequential(("p", adding(on, "a")), ("q", adding(on, "b"))), "x"))


@script
def a_row_of_nothing(on: Run) -> Any:
    on.tried(lambda: on.Sequential(), ValueError)
    on.tried(lambda: on.Sequential([]), ValueError)
    on.tried(lambda: on.Sequential({}), ValueError)
    on.tried(lambda: on.Sequential("ab"), AssertionError)
    on.tried(lambda: on.Sequential(adding(on, "a"), 3), AssertionError)


@script
def a_row_ends_where_it_is_told(on: Run) -> Any:
    made = on.Sequential(adding(on, "a"), adding(on, "b"), adding(on, "c"))
    for exit_at in (0, 1, 2, 4, 7, None):
        on.ask(made, "x", exit_at=exit_at)
    on.tried(lambda: made("x", exit_at=-1), AssertionError)


@script
def a_row_grows(on: Run) -> Any:
    made = on.Sequential(adding(on, "a"))
    made.add_agent("more", adding(on, "b"))
    on.say(len(made), made["more"].name)
    on.ask(made, "x")
    on.say(list(made.state_dict()))
    on.tried(lambda: made.add_agent("no", 3), AssertionError)
    on.tried(lambda: made["none"], KeyError)
    on.tried(lambda: made[5], KeyError)
    on.tried(lambda: made[-5], AssertionError)


@script
def a_row_in_a_row(on: Run) -> Any:
    made = on.Sequential(on.Sequential(adding(on, "a"), adding(on, "b")), adding(on, "c"))
    on.ask(made, "x")
    on.say(list(made.state_dict()), repr(made).replace("Async", ""))


@script
def a_row_with_a_name_and_hooks(on: Run) -> Any:
    class Says(on.hooks.Hook):
        def before_agent(self, agent: Any, message: Any, session_id: Any) -> None:
            on.say("before", agent.name)

    made = on.Sequential(adding(on, "a"), name="row", hooks=[Says()])
    on.ask(made, "x")
    on.say(made.name, repr(made).replace("Async", ""))


@script
def several_messages_to_a_row(on: Run) -> Any:
    made = on.Sequential(adding(on, "a"), adding(on, "b"))
    on.ask(made, "x", "y")
    on.remembered(made[0])


@script
def a_list_of_agents(on: Run) -> Any:
    made = on.agents.AgentList([adding(on, "a"), adding(on, "b")])
    on.say(len(made), made[0].name, made[-1].name, [each.name for each in made], made.name, made.memory)
    on.say(repr(made), list(made.state_dict()))
    made.append(adding(on, "c"))
    made.insert(0, adding(on, "d"))
    made.extend([adding(on, "e")])
    on.say([each.name for each in made], list(made.state_dict()))
    on.say(made.pop().name, [each.name for each in made])
    made.reverse()
    made.sort(key=lambda each: each.name)
    del made[0]
    made.remove(made[0])
    made[0] = adding(on, "z")
    on.say([each.name for each in made], list(made.state_dict()))
    made += [adding(on, "y")]
    on.say([each.name for each in made])
    made.clear()
    on.say(len(made), made.state_dict())


@script
def a_list_refuses_what_is_no_agent(on: Run) -> Any:
    made = on.agents.AgentList([adding(on, "a")])

    def put() -> None:
        made[0] = "text"

    for work in (
        lambda: made.append(3),
        lambda: made.extend([adding(on, "b"), None]),
        lambda: made.insert(0, "x"),
        put,
    ):
        on.tried(work, TypeError)
    on.tried(lambda: on.agents.AgentList([3]), TypeError)
    on.say([each.name for each in made])


@script
def a_dict_of_agents(on: Run) -> Any:
    made = on.agents.AgentDict({"a": adding(on, "x"), "b": adding(on, "y")})
    on.say(len(made), list(made), made["a"].name, "b" in made, made.name, made.memory)
    on.say(repr(made), list(made.state_dict()))
    made["c"] = adding(on, "z")
    made.update({"d": adding(on, "w")})
    on.say(made.pop("a").name, list(made.keys()), [each.name for each in made.values()], list(made.state_dict()))
    del made["b"]
    on.say([(key, each.name) for key, each in made.items()])
    made.clear()
    on.say(len(made))
    on.tried(lambda: made["none"], KeyError)


@script
def a_dict_refuses_what_is_no_agent_or_name(on: Run) -> Any:
    made = on.agents.AgentDict({"a": adding(on, "x")})

    def put(key: Any, value: Any) -> Any:
        made[key] = value

    on.tried(lambda: put("b", 3), TypeError)
    on.tried(lambda: put(3, adding(on, "y")), KeyError)
    on.tried(lambda: put("a.b", adding(on, "y")), KeyError)
    on.tried(lambda: made.update({"c": None}), TypeError)
    on.tried(lambda: on.agents.AgentDict({1: adding(on, "y")}), KeyError)
    on.say(list(made))


@script
def containers_in_an_agent(on: Run) -> Any:
    class Team(on.Agent):
        def __init__(self) -> None:
            super().__init__(name="team")
            self.members = on.agents.AgentList([adding(on, "a"), adding(on, "b")])
            self.roles = on.agents.AgentDict({"chief": adding(on, "c")})

    made = Team()
    on.ask(made.members[1], "x")
    on.ask(made.roles["chief"], "y")
    on.say({key: len(value) for key, value in made.state_dict().items()})
    state = made.state_dict()
    other = Team()
    other.load_state_dict(state)
    on.say(other.state_dict() == state, repr(made).replace("Async", ""))
    made.reset(keypath="members.1")
    on.say(made.members[1].memory.get())
    made.members.append(adding(on, "d"))
    on.say(list(made.state_dict()))
    made.reset(recursive=True)
    on.say(made.roles["chief"].memory.get())


@script
def containers_are_agents(on: Run) -> Any:
    made = on.agents.AgentList()
    on.say(isinstance(made, on.agents.Agent), isinstance(made, list), len(made), bool(made))
    on.say(isinstance(on.agents.AgentDict(), dict), bool(on.agents.AgentDict()))
    on.say(len(on.agents.AgentList([adding(on, "a")]) + on.agents.AgentList([adding(on, "b")])))
