"""What a long history is rendered to: as if each turn rendered all of it, whoever changed it in between."""

# The history is edited in every way, also behind the memory's methods.

from __future__ import annotations

import copy
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, ChatAgent, ChatAgentConfig
from trivium.agents.aggregator import DefaultAggregator
from trivium.llms import Request
from trivium.memory import Memory
from trivium.schema import Entity, Message, ToolCall
from trivium.testing import ScriptedModel

NAME = "me"
TEXTS = st.sampled_from(["a", "b", ""])
CALLS = (ToolCall(id="1", name="f", arguments="{}"),)
MESSAGES = st.one_of(
    st.builds(Message, content=TEXTS),
    st.builds(Message, content=TEXTS, sender=st.just(NAME)),
    st.just(Message(content="", sender=NAME, tool_calls=CALLS)),
    st.just(Message(content="r", sender="f", tool_call_id="1")),
    st.just(Message(content="s", entity=Entity.SYSTEM)),
    st.builds(lambda: Message(content=["a"])),
)
INSTRUCTIONS = st.sampled_from([None, "be kind", [{"role": "user", "content": "x"}]])


def plain(memory: Memory, instruction: Any) -> list[dict[str, Any]]:
    """The same history, rendered whole."""
    return DefaultAggregator().aggregate(Memory.of(memory.messages), NAME, None, instruction)


@given(st.data())
def test_what_is_rendered_in_steps_is_what_is_rendered_at_once(data: st.DataObject) -> None:
    memory, aggregator = Memory(), DefaultAggregator()
    instruction = data.draw(INSTRUCTIONS)
    for _ in range(data.draw(st.integers(1, 12))):
        memory.add([copy.deepcopy(each) for each in data.draw(st.lists(MESSAGES, max_size=9))])
        match data.draw(st.integers(0, 9)):
            case 0:
                memory.delete(data.draw(st.lists(st.integers(-30, 30), max_size=3)))
            case 1:
                memory.erase(range(data.draw(st.integers(0, 30)), len(memory) - 1))
            case 2:
                memory.erase(range(data.draw(st.integers(0, 30)), len(memory)))
            case 3:
                memory.load([Message(content="new")], overwrite=data.draw(st.booleans()))
            case 4:
                instruction = data.draw(INSTRUCTIONS)
            case 5 if len(memory):
                memory.get_memory()[data.draw(st.integers(0, len(memory) - 1))].content = "changed"
            case 6 if len(memory):
                data.draw(st.sampled_from(memory.messages)).metadata.sender_name = NAME
            case 7:
                for content in [cast("object", each.content) for each in memory.messages]:
                    if isinstance(content, list):
                        cast("list[Any]", content).append("more")
            case _:
                pass
        found = aggregator.aggregate(memory, NAME, None, instruction)
        assert found == plain(memory, instruction)
        if found:
            found[-1]["content"] = "of the model"  # as a model might, which is told not to


def test_a_history_that_is_changed_through_its_view_is_seen_by_the_model() -> None:
    model = ScriptedModel(["ok"] * 41)
    agent = ChatAgent(ChatAgentConfig(llm=model))
    for number in range(20):
        agent.llm_response(f"question {number}")
    assert agent.memory.get() is not None
    agent.message_history[3].content = "changed"
    agent.llm_response("what did I say?")
    assert "changed" in [each["content"] for each in model.requests[-1].messages]
    del agent.message_history[1:5]
    agent.llm_response("and now?")
    assert [each["content"] for each in model.requests[-1].messages][1:3] == ["question 2", "ok"]


def test_what_a_model_does_to_the_end_of_a_request_is_not_remembered() -> None:
    seen: list[str] = []

    class Adds:
        name = "adds"

        def stream(self, request: Request) -> Any:
            seen.append(request.messages[-1]["content"])
            for each in (request.messages[0], request.messages[-1]):
                each["content"] += "!"  # type: ignore[index] - what a model must not do
            yield "ok"

    agent = Agent(Adds(), "Be kind.")
    for number in range(30):
        agent(f"question {number}")
    assert seen == [f"question {number}" for number in range(30)]
    memory = agent.memory.get()
    assert memory is not None
    rendered = agent.aggregator.aggregate(memory, agent.name, None, "Be kind.")
    assert not [each for each in rendered if each["content"].endswith("!")]


def test_a_message_that_its_owner_changes_is_seen_by_the_models_of_all_who_remember_it() -> None:
    models = [ScriptedModel(["ok"] * 22) for _ in "ab"]
    agents = [Agent(model, name=name) for model, name in zip(models, "ab", strict=True)]
    mine = Message(content="mine", sender="somebody")
    for agent in agents:
        agent.memory.add(mine)
        for number in range(20):
            agent(f"question {number}")
    mine.content = "changed"
    for agent, model in zip(agents, models, strict=True):
        agent("what did I say?")
        assert model.requests[-1].messages[0]["content"] == "changed\n\nquestion 0"
