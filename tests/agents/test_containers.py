"""Containers: agents in lists, dicts and sequences, each at its place in the state and in the tree."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import UserDict, UserList
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry
from trivium import Agent, Message, Module, RunRecord
from trivium.agents import AgentDict, AgentList, AsyncSequential, Sequential
from trivium.exceptions import AgentNameError, ConfigurationError, NotAgentError, StateError
from trivium.testing import ScriptedModel


class Mark(Agent):
    """Adds its mark to what it is told."""

    def __init__(self, mark: str = "x") -> None:
        super().__init__(name=f"Mark{mark}")
        self.mark = mark

    def forward(self, *message: Message, suffix: str = "") -> str:  # type: ignore[override]  # pyright: ignore
        return message[-1].content + self.mark + suffix


class AsyncMark(Mark):
    async def forward(self, *message: Message, suffix: str = "") -> str:  # type: ignore[override]  # pyright: ignore
        await asyncio.sleep(0)
        return message[-1].content + self.mark + suffix


class Outer(Agent):
    def __init__(self, **children: Any) -> None:
        for name, child in children.items():
            setattr(self, name, child)
        super().__init__(memory=None)


# ---- lists
def two() -> AgentList:
    return AgentList([Mark("a"), Mark("b")])


def test_a_list_of_agents_is_a_list_and_an_agent():
    team: AgentList = two()
    assert (isinstance(team, UserList), isinstance(team, Agent), len(team)) == (True, True, 2)
    team.append(Mark("c"))
    team.insert(0, Mark("0"))
    team.extend(each for each in [Mark("d")])
    team += [Mark("e")]
    team[1] = Mark("A")
    team[2:3] = [Mark("B"), Mark("B")]
    del team[-1]
    assert [each.name for each in team] == ["Mark0", "MarkA", "MarkB", "MarkB", "Markc", "Markd"]
    assert team.pop().name == "Markd"
    assert type(team[1:]) is type(team + []) is type(team.copy()) is AgentList  # noqa: RUF005  # pyright: ignore[reportUnknownArgumentType]
    assert [name for name, _ in team.named_children()] == ["0", "1", "2", "3", "4"]


WRONG: list[Callable[[AgentList], Any]] = [
    lambda team: team.append(3),  # type: ignore[arg-type]  # pyright: ignore
    lambda team: team.insert(0, "a"),  # type: ignore[arg-type]  # pyright: ignore
    lambda team: team.extend([Mark(), None]),  # type: ignore[list-item]  # pyright: ignore
    lambda team: team.__iadd__([Mark(), None]),  # type: ignore[list-item]  # pyright: ignore
    lambda team: team.__setitem__(0, {}),
    lambda team: team.__setitem__(slice(0, 2), [Mark(), 3]),
    lambda team: team + [3],  # type: ignore[list-item]  # pyright: ignore # noqa: RUF005
    lambda team: AgentList([Mark(), 3]),  # type: ignore[list-item]  # pyright: ignore
]


@pytest.mark.parametrize("change", WRONG)
def test_what_is_no_agent_is_refused_and_the_list_stays_as_it_was(change: Callable[[AgentList], Any]):
    team = two()
    before = list(team)
    with pytest.raises(NotAgentError, match="is no agent") as error:
        change(team)
    assert isinstance(error.value, TypeError)
    assert all(one is other for one, other in zip(team, before, strict=True))


# ---- dicts
def test_a_dict_of_agents_is_a_dict_and_an_agent():
    team = AgentDict({"a": Mark("a")})
    assert (isinstance(team, UserDict), isinstance(team, Agent)) == (True, True)
    team["b"] = Mark("b")
    team.update(c=Mark("c"))
    team |= {"d": Mark("d")}
    team.setdefault("a", Mark("e"))
    del team["b"]
    assert {key: agent.name for key, agent in team.items()} == {"a": "Marka", "c": "Markc", "d": "Markd"}
    assert (team.pop("d").name, "d" in team, len(team.copy())) == ("Markd", False, 2)
    assert len(AgentDict([("a", Mark())])) == 1


def put(team: AgentDict, entries: dict[str, Any]) -> None:
    key = list(entries)[-1]
    team[key] = entries[key]


def make(team: AgentDict, entries: dict[str, Any]) -> AgentDict:
    return AgentDict(entries)


@pytest.mark.parametrize(
    ("entries", "error"),
    [({"b": Mark(), "a": 3}, NotAgentError), ({"b": Mark(), 1: Mark()}, AgentNameError),
     ({"b": Mark(), "a.b": Mark()}, AgentNameError), ({"b": Mark(), "": Mark()}, AgentNameError)],
)  # fmt: skip
@pytest.mark.parametrize("change", [AgentDict.update, AgentDict.__ior__, put, make])
def test_what_a_dict_cannot_hold_is_refused_and_it_stays_as_it_was(
    change: Callable[[AgentDict, Any], Any], entries: Any, error: type[Exception]
):
    team = AgentDict({"a": Mark("a")})
    before = dict(team)
    with pytest.raises(error) as raised:
        change(team, entries)
    assert isinstance(raised.value, KeyError if error is AgentNameError else TypeError)
    assert dict(team) == before


# ---- one after the other
@every_entry
@pytest.mark.parametrize("kind", [Mark, AsyncMark])
def test_each_gets_what_the_one_before_has_answered(entry: Entry, kind: type[Mark]):
    several = Sequential(kind("a"), kind("b"), kind("c"))
    assert entry(several, "-").content == "-abc"
    assert [entry(several, "-", exit_at=at).content for at in range(5)] == ["-a", "-ab", "-abc", "-abca", "-abcab"]
    assert entry(several, "-", suffix="!").content == "-a!b!c!"


def test_several_messages_reach_the_first():
    class Count(Agent):
        def forward(self, *message: Message) -> Any:  # type: ignore[override]  # pyright: ignore
            return len(message)

    assert Sequential(Count(), Count())("a", "b").content == 1
    assert Sequential(Count())("a", "b").content == 2


@pytest.mark.parametrize(
    "several",
    [
        Sequential(("a", Mark("a")), ("b", Mark("b"))),
        Sequential([("a", Mark("a")), ("b", Mark("b"))]),
        Sequential({"a": Mark("a"), "b": Mark("b")}),
        Sequential(iter([("a", Mark("a")), ("b", Mark("b"))])),
    ],
)
def test_agents_may_have_names(several: Sequential):
    assert (several("-").content, len(several)) == ("-ab", 2)
    assert several["b"] is several[1] is several[-1]
    assert list(several.state_dict()) == ["memory", "a.memory", "b.memory"]


def test_without_names_they_are_called_by_position():
    several = Sequential([Mark("a"), Mark("b")])
    several.add_agent(2, Mark("c"))
    assert list(several.state_dict()) == ["memory", "0.memory", "1.memory", "2.memory"]
    assert several["2"].name == "Markc"
    assert list(Sequential(Mark(), memory=None).state_dict()) == ["0.memory"]
    assert Sequential(Sequential(Mark("a")), Mark("b"))("-").content == "-ab"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (Sequential, ConfigurationError), (lambda: Sequential([]), ConfigurationError),
        (lambda: Sequential({}), ConfigurationError), (lambda: Sequential(Mark(), 3), NotAgentError),
        (lambda: Sequential(("a.b", Mark())), AgentNameError),
        (lambda: Sequential(("a", Mark()), ("a", Mark())), AgentNameError),
        (lambda: Sequential("ab"), NotAgentError), (lambda: Sequential(Mark())("x", exit_at=-1), ConfigurationError),
    ],
)  # fmt: skip
def test_a_sequence_that_cannot_be_is_told(make: Callable[[], Any], error: type[Exception]):
    with pytest.raises(error) as raised:
        make()
    assert isinstance(raised.value, ValueError)


def test_the_async_class_gives_a_coroutine():
    async def main() -> Message:
        several: Any = AsyncSequential(Mark("a"), AsyncMark("b"))
        return await several("-")

    assert asyncio.run(main()).content == "-ab"


def test_a_sequence_is_a_node_with_its_agents_below_and_its_session_is_theirs():
    record = RunRecord()
    several = Sequential(Mark("a"), Mark("b"))
    several("-", session_id="s", listeners=[record])
    assert [node.name for node in record.roots[0].walk()] == ["Sequential", "Marka", "Markb"]
    assert {key: len(saved) for key, saved in several.state_dict("s").items()} == {
        "memory": 2, "0.memory": 2, "1.memory": 2,
    }  # fmt: skip


# ---- within others
def test_the_paths_of_what_is_remembered():
    outer = Outer(team=two(), by_name=AgentDict({"k": Mark()}), chain=Sequential(Mark("a"), memory=None))
    assert list(outer.state_dict()) == ["team.0.memory", "team.1.memory", "by_name.k.memory", "chain.0.memory"]
    del outer.team[0]  # type: ignore[attr-defined]  # pyright: ignore
    outer.chain = None  # type: ignore[attr-defined]
    assert list(outer.state_dict()) == ["team.0.memory", "by_name.k.memory"]
    outer.reset(keypath="team.0")
    with pytest.raises(StateError, match=r"team\.1"):
        outer.reset(keypath="team.1")


def test_the_tree_of_containers_is_shown():
    model = ScriptedModel([])
    outer = Outer(team=AgentList([Sequential(("one", Mark()), name="chain")]), by_name=AgentDict({"k": AgentList()}))
    text = repr(outer).replace(repr(model), "")
    assert text == (
        "Outer(name='Outer')(\n"
        "  (team): AgentList(\n"
        "    (0): Sequential(name='chain')(\n"
        "      (one): Mark(name='Markx')\n"
        "    )\n"
        "  )\n"
        "  (by_name): AgentDict(\n"
        "    (k): AgentList()\n"
        "  )\n"
        ")"
    )


def outer_of(children: dict[str, Module]) -> Module:
    return Outer(**children)


def modules() -> st.SearchStrategy[Module]:
    names = st.text("abc", min_size=1, max_size=2)
    return st.recursive(
        st.builds(Mark, st.sampled_from("xyz")),
        lambda inner: (
            st.builds(AgentList, st.lists(inner, max_size=3))
            | st.builds(AgentDict, st.dictionaries(names, inner, max_size=3))
            | st.builds(Sequential, st.lists(inner, min_size=1, max_size=3))
            | st.dictionaries(names, inner, max_size=3).map(outer_of)
        ),
        max_leaves=8,
    )


contents = st.text(max_size=4) | st.integers() | st.lists(st.booleans(), max_size=2)


@settings(max_examples=60, deadline=None)
@given(modules(), st.data(), st.sampled_from([0, "s", 7]))
def test_every_tree_is_saved_and_loaded_exactly(module: Module, data: st.DataObject, session: Hashable):
    for _, each in module.named_modules():
        if each.memory is not None:
            each.memory.add(
                [Message(content=data.draw(contents)) for _ in range(data.draw(st.integers(0, 2)))], session
            )
    saved = module.state_dict(session)
    other = copy.deepcopy(module)
    other.reset(session, recursive=True)
    other.load_state_dict(json.loads(json.dumps(saved)), session)
    assert json.dumps(other.state_dict(session)) == json.dumps(saved)
    assert other.state_dict(session) == saved
