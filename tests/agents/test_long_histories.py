"""What a long history is rendered to: as if each turn rendered all of it, whoever changed it in between."""

# The history is edited in every way, also behind the memory's methods.

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import Agent, ChatAgent, ChatAgentConfig
from trivium.agents.aggregator import DefaultAggregator
from trivium.http import HTTPRequest, HTTPResponse
from trivium.llms import ClaudeModel, GoogleModel, ModelProtocol, OpenAIModel, ReasoningState, Request
from trivium.memory import Memory
from trivium.schema import Entity, FileAttachment, Message, ToolCall, ToolSpec
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


def unpickled(memory: Memory) -> Memory:
    return pickle.loads(pickle.dumps(memory))


COPIES: tuple[Callable[[Memory], Memory], ...] = (copy.copy, copy.deepcopy, unpickled)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_of_a_long_memory_is_rendered_and_sent_as_the_memory_is(copied: Callable[[Memory], Memory]) -> None:
    kept, memory, aggregator = Keeps(), Memory(), DefaultAggregator()
    model = OpenAIModel("m", base_url="http://a/v1", api_key="k", client=kept)
    memory.add([Message(content=str(number), sender=("user", NAME)[number % 2]) for number in range(40)])
    for _ in range(2):
        before = sent(model, kept, Request(aggregator.aggregate(memory, NAME)))
        assert sent(model, kept, Request(aggregator.aggregate(copied(memory), NAME))) == before
    other = copied(memory)
    other.add([Message(content="new", sender=("user", NAME)[number % 2]) for number in range(20)])
    assert aggregator.aggregate(other, NAME) == plain(other, None)


class Keeps:
    """Sends nothing, and keeps the bodies."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def send(self, request: HTTPRequest) -> HTTPResponse:
        self.bodies.append(request.content)
        answer = next(answer for path, answer in ANSWERS.items() if path in request.url)
        return HTTPResponse(200, {"content-type": "application/json"}, self.pieces(answer))

    async def pieces(self, answer: object) -> AsyncGenerator[bytes]:
        yield json.dumps(answer).encode()


ANSWERS: dict[str, object] = {
    "/chat/completions": {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]},
    "/responses": {"status": "completed", "output": [{"type": "message", "content": [{"text": "ok"}]}]},
    "/messages": {"type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"},
    ":streamGenerateContent": {"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]},
}


def models_at(kept: Keeps) -> list[ModelProtocol]:
    """A model of each format, and of variants of it."""
    here: Any = {"base_url": "http://a/v1", "api_key": "k", "client": kept}
    return [
        OpenAIModel("m", **here),
        OpenAIModel("m", **here, provider="deepseek"),
        OpenAIModel("m", **here, provider="openrouter"),
        OpenAIModel("m", **here, interface="responses"),
        ClaudeModel("m", **here),
        GoogleModel("m", **here),
    ]


def sent(model: ModelProtocol, kept: Keeps, request: Request) -> str:
    """The body of a request, as a text that tells 1 from True."""

    async def drain() -> None:
        async for _ in cast("AsyncGenerator[object]", model.stream(request)):
            pass

    asyncio.run(drain())
    return json.dumps(json.loads(kept.bodies.pop()), sort_keys=True)


def calling(call: ToolCall) -> Message:
    return Message(content="", sender=NAME, tool_calls=(call,), reasoning="so")


def thoughtful(form: str) -> Message:
    items = ({"type": "thinking", "thinking": "so", "signature": "s"}, {"role": "assistant", "content": "a"})
    return Message(content="a", sender=NAME, reasoning_state=ReasoningState(form, "m", items))


LONG = st.lists(
    st.one_of(
        st.builds(
            Message, content=st.sampled_from(["a", "ü\ud800", '"', "{", " "]), sender=st.sampled_from([NAME, "you"])
        ),
        st.builds(
            calling,
            st.builds(
                ToolCall,
                id=st.just("1"),
                name=st.sampled_from(["f", "f", "Maps.route"]),
                arguments=st.sampled_from(["{}", "[", '{"a": 1}']),
            ),
        ),
        st.just(Message(content="r", sender="f", tool_call_id="1")),
        st.just(Message(content="s", entity=Entity.SYSTEM)),
        st.builds(thoughtful, st.sampled_from(["openai-responses", "anthropic", "gemini"])),
    ),
    min_size=10,
    max_size=40,
)
ODD = st.sampled_from([
    Message(content="see", files=[FileAttachment(content=b"x", filename="x.png", mime_type="image/png")]),
    Message(content="", sender=NAME, reasoning_state=("openai-chat", "m", ({"index": 1, "text": "so"},))),
    Message(content=["a"]),
])  # fmt: skip


def change(data: st.DataObject, prompt: list[dict[str, Any]]) -> None:
    """Change a prompt in one way, as a hook or a wrapper of a model might."""
    at = data.draw(st.integers(0, len(prompt) - 1))
    match data.draw(st.integers(0, 8)):
        case 0:
            prompt[at]["content"] = data.draw(TEXTS)
        case 1:
            prompt[at]["seen"] = data.draw(st.sampled_from([1, True, 1.0, {"a": 1}, {"a": True}]))
        case 2:
            for call in prompt[at].get("tool_calls", ()):
                call["function"]["arguments"] = data.draw(st.sampled_from(["{}", '{"b": 2}']))
        case 3:
            prompt[0]["content"] += "!"
        case 4:
            prompt.insert(at, {"role": "user", "content": "inserted"})
        case 5:
            prompt.pop(at)
        case _:
            pass


@settings(max_examples=60)
@given(st.data())
def test_what_is_sent_in_pieces_is_what_is_sent_at_once(data: st.DataObject) -> None:
    kept = Keeps()
    models = models_at(kept)
    memory, aggregator, instruction = Memory(), DefaultAggregator(), data.draw(INSTRUCTIONS)
    model = data.draw(st.sampled_from(models))
    for _ in range(data.draw(st.integers(2, 8))):
        memory.add([copy.deepcopy(each) for each in data.draw(LONG)])
        match data.draw(st.integers(0, 9)):
            case 0:
                memory.delete(data.draw(st.lists(st.integers(-30, 30), max_size=3)))
            case 1:
                memory.get_memory()[data.draw(st.integers(0, len(memory) - 1))].content = "changed"
            case 2:
                memory.add(copy.deepcopy(data.draw(ODD)))
            case 3:
                memory.load([Message(content="new")], overwrite=True)
            case 4:
                model = data.draw(st.sampled_from(models))
            case _:
                pass
        names = data.draw(st.sampled_from([[], ["f"], ["Maps_route"]]))
        tools = [ToolSpec(name, "", {"type": "object", "properties": {}}) for name in names]
        schema = data.draw(st.sampled_from([None, {"type": "object"}]))
        for _ in "ab":
            prompt = aggregator.aggregate(memory, NAME, None, instruction)
            change(data, prompt)
            whole = Request([*copy.deepcopy(prompt)], tools, output_schema=schema)
            expected = sent(model, kept, whole)
            assert sent(model, kept, whole._replace(messages=prompt)) == expected


def test_equal_values_that_are_written_differently_are_told_apart() -> None:
    kept, memory = Keeps(), Memory()
    model = OpenAIModel("m", base_url="http://a/v1", api_key="k", client=kept)
    memory.add([Message(content="a", sender=NAME) for _ in range(40)])
    for value in (1, True):
        prompt = DefaultAggregator().aggregate(memory, NAME)
        prompt[3]["seen"] = value
        assert f'"seen": {json.dumps(value)}' in sent(model, kept, Request(prompt))


CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda entry: entry.update(content=entry["content"] + "b"),
    lambda entry: entry.__ior__({"content": "b"}),
    lambda entry: entry.pop("reasoning", None),
    lambda entry: entry.popitem(),
    lambda entry: entry.__delitem__("reasoning") if "reasoning" in entry else None,
    lambda entry: entry.__setitem__("seen", "b"),
    lambda entry: entry.setdefault("seen", "b"),
    lambda entry: entry["seen"].update(a="c") if "seen" in entry else entry.update(seen={"a": "b"}),
    lambda entry: (entry.clear(), dict[str, Any].update(entry, role="user", content="b")),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_in_an_old_message_of_a_request_is_sent(change: Callable[[dict[str, Any]], object]) -> None:
    kept, memory = Keeps(), Memory()
    model = OpenAIModel("m", base_url="http://a/v1", api_key="k", client=kept, provider="deepseek")  # takes thoughts
    memory.add([Message(content="a", sender=NAME, reasoning="so") for _ in range(40)])
    sent(model, kept, Request(DefaultAggregator().aggregate(memory, NAME)))
    for _ in "ab":
        prompt = DefaultAggregator().aggregate(memory, NAME)
        assert type(copy.deepcopy(prompt[3])) is dict
        change(prompt[3])
        expected = sent(model, kept, Request(copy.deepcopy([*prompt])))
        assert sent(model, kept, Request(prompt)) == expected


def calls_of(agent: Agent) -> int:
    """The calls of Python functions in one turn."""
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        asyncio.run(agent.acall("and now?"))  # in this thread
    finally:
        sys.setprofile(None)
    return len(calls)


@pytest.mark.parametrize("model", models_at(Keeps())[2:], ids=str)
def test_what_was_sent_before_costs_no_call_for_each_message(model: ModelProtocol) -> None:
    agent = Agent(model)
    counts: list[int] = []
    for _ in range(2):
        agent.memory.add([Message(content="a", sender=("user", agent.name)[number % 2]) for number in range(400)])
        for _ in range(6):
            agent("again")
        counts.append(calls_of(agent))
    assert counts[1] < counts[0] + 12
