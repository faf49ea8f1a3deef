"""The agent: what it asks its model, how it runs its tools, what it remembers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Entry, aadd, add, calling, every_entry
from trivium import (
    Agent,
    AgentConfig,
    AsyncAgent,
    AsyncChatAgent,
    ChatAgent,
    ChatAgentConfig,
    Entity,
    Event,
    Limits,
    Message,
    Module,
    ToolMessage,
)
from trivium.agents.aggregator import DefaultAggregator
from trivium.exceptions import ConfigurationError, LimitExceededError, MalformedAnswerError, NoModelError
from trivium.llms import Request, ToolCallPart
from trivium.memory import Memory, MemoryManager
from trivium.schema import Origin, ToolCall, Usage
from trivium.testing import ScriptedModel, call_tool


def roles(request: Request) -> list[str]:
    return [message["role"] for message in request.messages]


# ---- a turn
@every_entry
def test_a_turn(entry: Entry):
    model = ScriptedModel([["hel", "lo", Usage(3, 2)]])
    agent = Agent(model, "Be kind.")
    answer = entry(agent, "hi")
    assert (answer.content, answer.sender, answer.origin, answer.usage) == ("hello", "Agent", Origin.MODEL, Usage(3, 2))
    assert model.requests[0].messages == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]
    assert [message.content for message in agent.memory.get_memory()] == ["hi", "hello"]  # type: ignore[union-attr]


@every_entry
def test_the_next_turn_knows_the_last(entry: Entry):
    model = ScriptedModel(["one", "two"])
    agent = Agent(model)
    entry(agent, "a")
    entry(agent, "b")
    assert [(m["role"], m["content"]) for m in model.requests[1].messages] == [
        ("user", "a"), ("assistant", "one"), ("user", "b"),
    ]  # fmt: skip


def test_without_memory_each_turn_is_the_first():
    model = ScriptedModel(["ok"])
    agent = Agent(model, memory=False)
    for text in "ab":
        agent(text)
    assert [request.messages for request in model.requests] == [[{"role": "user", "content": text}] for text in "ab"]
    assert agent.state_dict() == {}


@pytest.mark.parametrize("kind", [AgentConfig, ChatAgentConfig])
def test_an_agent_of_a_config_answers_one_shot_and_a_chat_agent_remembers(kind: type[AgentConfig]):
    model = ScriptedModel(["ok"])
    config = kind(name="Ada", llm=model, parameters={"seed": 1, "top_p": 1})
    for agent in (Agent(config), Agent(config=config)):
        assert (agent.name, agent.memory, agent.llm) == ("Ada", None, model)
    chat = ChatAgent(config if isinstance(config, ChatAgentConfig) else model)
    chat("hi")
    assert len(chat.state_dict()["memory"]) == 2
    agent = Agent(config, parameters={"seed": 2, "stop": "x"}, memory=True)
    agent("hi", top_p=0)
    assert model.requests[-1].parameters == {"seed": 2, "stop": "x", "top_p": 0}
    assert (config.parameters, agent.parameters["top_p"]) == ({"seed": 1, "top_p": 1}, 1)


def test_names():
    model = ScriptedModel(["x"])
    named = ChatAgentConfig(name="conf", llm=model)
    agents = [Agent(model), Agent(model, name="a"), ChatAgent(model), ChatAgent(named), ChatAgent(named, name="b")]
    assert [agent.name for agent in agents] == ["Agent", "a", "ChatAgent", "conf", "b"]


def test_system_messages():
    model = ScriptedModel(["x"])
    assert ChatAgent(model).system_message == ChatAgentConfig().system_message
    assert ChatAgent(ChatAgentConfig(llm=model, system_message="A")).system_message == "A"
    agent = ChatAgent(ChatAgentConfig(llm=model, system_message="A"), system_message="B")
    agent("hi")
    assert model.requests[0].messages[0] == {"role": "system", "content": "B"}


def test_an_agent_without_a_model_says_what_it_needs():
    with pytest.raises(NoModelError, match="Agent has no model"):
        Agent()("hi")
    with pytest.raises(ConfigurationError, match="object is no model"):
        Agent(object())("hi")  # type: ignore[arg-type]
    assert [Agent().has_model(), Agent(ScriptedModel([])).has_model(), ChatAgent().has_model()] == [False, True, True]

    class Own(Agent):
        def forward(self, *message: Message, **kwargs: Any) -> str:  # type: ignore[override]
            return "own"

    assert Own().has_model()
    assert Own()("hi").content == "own"


@every_entry
@pytest.mark.parametrize("kind", [Agent, ChatAgent])
@pytest.mark.parametrize("said", ["", " ", "\n\t\u2003"])
def test_a_model_that_says_nothing_is_an_error_and_the_question_stays(said: str, kind: type[Agent], entry: Entry):
    agent = kind(ScriptedModel([[said], "ok"]))
    with pytest.raises(MalformedAnswerError, match="scripted gave an empty response") as caught:
        entry(agent, "hi")
    assert caught.value.raw == said
    assert entry(agent, "again").content == "ok"
    assert [message.content for message in agent.memory.get_memory()] == ["hi", "again", "ok"]  # type: ignore[union-attr]


@every_entry
def test_an_answer_can_be_parsed(entry: Entry):
    class Parser:
        def parse_response(self, text: str) -> Any:
            return json.loads(text)

    answer = entry(Agent(ScriptedModel(['{"a": 1}']), output_format=Parser()), "hi")
    assert (answer.content, answer.formatted) == ('{"a": 1}', {"a": 1})


@pytest.mark.parametrize("kind", [AsyncAgent, AsyncChatAgent])
def test_the_async_classes_give_a_coroutine(kind: Any):
    assert asyncio.run(kind(ScriptedModel(["ok"]))("hi")).content == "ok"


def test_memory_can_be_made_or_given():
    manager, model = MemoryManager(), ScriptedModel(["ok"])
    assert Agent(model, memory=manager).memory is manager
    recent = Agent(model, memory=lambda: Memory(recent_n=1))
    for text in "ab":
        recent(text)
    assert model.requests[-1].messages == [{"role": "user", "content": "b"}]
    assert [message.content for message in recent.memory.get_memory(recent_n=0)] == ["a", "ok", "b", "ok"]  # type: ignore[union-attr]


# ---- tools that it runs itself
@every_entry
@pytest.mark.parametrize("tool", [add, aadd])
@pytest.mark.parametrize("parallel", [False, True])
def test_tools_run_within_the_call_and_are_remembered(entry: Entry, tool: Callable[..., Any], parallel: bool):
    model = calling(tool.__name__, times=2, width=3, a=1, b=2)
    agent = Agent(model, tools=[tool], parallel=parallel)
    assert entry(agent, "go").content == "done:3,3,3,3,3,3"
    a_round = ["assistant", "tool", "tool", "tool"]
    assert roles(model.requests[-1]) == ["user", *a_round, *a_round]
    assert [message.sender for message in agent.memory.get_memory()] == [  # type: ignore[union-attr]
        "user", *["Agent", tool.__name__, tool.__name__, tool.__name__] * 2, "Agent",
    ]  # fmt: skip
    asked = [call["id"] for call in model.requests[-1].messages[1]["tool_calls"]]
    answered = [message["tool_call_id"] for message in model.requests[-1].messages[2:5]]
    assert asked == answered


@every_entry
def test_a_history_is_never_half_when_a_tool_ends_the_run(entry: Entry):
    agent = Agent(calling("add", times=3, a=1, b=2), tools=[add])
    with pytest.raises(LimitExceededError):
        entry(agent, "go", limits=Limits(tool_calls=1))
    history = [message.tool_call_id or bool(message.tool_calls) for message in agent.memory.get_memory()]  # type: ignore[union-attr]
    assert history == [False, True, "call_0"], "the second call was not run, so it was not made"


@every_entry
def test_a_model_that_never_stops_calling_is_stopped(entry: Entry):
    agent = Agent(ScriptedModel([call_tool("add", a=1, b=2)]), tools=[add], max_rounds=4)
    with pytest.raises(LimitExceededError, match=r"4 rounds; raise Agent\(max_rounds=…\)"):
        entry(agent, "go")
    assert len(agent.model.requests) == 4  # type: ignore[attr-defined]


@every_entry
def test_unknown_tools_are_told_to_the_model(entry: Entry):
    model = calling("nope")
    said = entry(Agent(model, tools=[add]), "go").content
    assert said.startswith("done:error: The action is invalid")
    assert "there is no tool 'nope'; there are add" in said
    assert "there is no tool 'nope'; there are none" in entry(Agent(calling("nope")), "go").content


def test_the_model_is_told_of_its_tools():
    model = ScriptedModel(["ok"])
    agent = ChatAgent(model, tools=[add])
    agent.enable_message([Note, Other])
    agent("hi")
    assert [spec.name for spec in model.requests[0].tools] == ["add", "note", "other"]
    assert model.requests[0].tool_choice == "auto"


@every_entry
def test_an_agent_is_a_tool_of_another(entry: Entry):
    inner = Agent(ScriptedModel(["four"]), name="inner")

    def ask(question: str) -> str:
        return inner(question).content

    outer = Agent(ScriptedModel([call_tool("ask", question="2+2?"), "it is four"]), tools=[ask])
    assert entry(outer, "go", session_id="s").content == "it is four"
    assert [message.content for message in inner.memory.get_memory("s")] == ["2+2?", "four"]  # type: ignore[union-attr]


# ---- tool messages
class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note a <text>."
    text: str

    def handle(self) -> str:
        return f"noted {self.text}"


class Other(ToolMessage):
    request: str = "other"
    purpose: str = "none"

    async def handle(self, agent: ChatAgent, chat_doc: Message) -> Any:
        await asyncio.sleep(0)
        return {"agent": agent.name, "from": chat_doc.sender}


def test_tool_messages_can_be_used_handled_and_forced():
    model = ScriptedModel(["ok"])
    agent = ChatAgent(model)
    agent.enable_message(Note, force=True)
    agent.enable_message(Other, use=False)
    agent("a")
    agent.enable_message(Note, handle=False, force=True)
    agent("b")
    agent.enable_message([Note, Other])
    agent("c")
    offered = [([spec.name for spec in request.tools], request.tool_choice) for request in model.requests]
    assert offered == [(["note"], "auto"), (["note"], "note"), (["note", "other"], "auto")]


@every_entry
@pytest.mark.parametrize("answer", [call_tool("note", text="x"), 'So: {"request": "note", "text": "x"}'])
def test_a_tool_message_is_left_to_who_handles_it(entry: Entry, answer: Any):
    config = ChatAgentConfig(llm=ScriptedModel([answer]), search_for_tools_everywhere=True)
    agent = ChatAgent(config, tools=[add])
    agent.enable_message(Note)
    said = entry(agent, "go")
    assert [(call.name, json.loads(call.arguments)) for call in said.tool_calls] == [("note", {"text": "x"})]
    result = agent.agent_response(said)
    assert result is not None
    assert (result.content, result.entity, result.tool_call_id) == (
        "noted x",
        Entity.AGENT,
        said.tool_calls[0].id or None,
    )
    assert agent.llm_response(said) is None, "a call that the agent handles is not the model's to answer"


# ---- responders
def model_said(*parts: ToolCallPart, content: str = "") -> Message:
    calls = [ToolCall(f"id-{at}", part.name or "", part.arguments) for at, part in enumerate(parts)]
    return Message(content=content, sender="Agent", origin=Origin.MODEL, tool_calls=tuple(calls))


def responding() -> ChatAgent:
    agent = ChatAgent(ScriptedModel(["ok"]), name="R")
    agent.enable_message([Note, Other])
    return agent


def test_one_result_is_given_as_it_is_and_several_by_name():
    agent = responding()
    one = agent.agent_response(model_said(call_tool("other")))
    assert one is not None
    assert (one.content, one.attachments) == ('{"agent": "R", "from": "Agent"}', ({"agent": "R", "from": "Agent"},))
    both = agent.agent_response(model_said(call_tool("note", text="a"), call_tool("note", text="b"), call_tool("add")))
    assert both is not None
    assert both.content == "Result from note: noted a\n\nResult from note: noted b"


@pytest.mark.parametrize("arguments", ["{", "[]", '{"text": 3}', "{}", ""])
def test_bad_arguments_are_told_to_the_model(arguments: str):
    result = responding().agent_response(model_said(ToolCallPart(0, None, "note", arguments)))
    assert result is not None
    assert result.content.startswith("error: the arguments of note")


def test_what_nobody_handles_and_what_fails_are_told_too():
    class Lost(ToolMessage):
        request: str = "lost"
        purpose: str = "none"

    class Fails(Lost):
        request: str = "fails"

        def handle(self) -> str:
            raise LookupError("gone")

    agent = responding()
    agent.enable_message([Lost, Fails])
    lost = agent.agent_response(model_said(call_tool("lost")))
    fails = agent.agent_response(model_said(call_tool("fails")))
    assert lost is not None
    assert fails is not None
    assert lost.content.startswith("error: nothing handles lost: write `def lost(self, message)`")
    assert fails.content == "error: gone"


@pytest.mark.parametrize("given_message", [None, "hi", Message(content="hi")])
def test_without_a_call_the_agent_says_what_its_fallback_says(given_message: Any):
    class Talking(ChatAgent):
        async def handle_message_fallback(self, msg: Message) -> Any:
            return f"to {msg.content}"

    assert responding().agent_response(given_message) is None
    said = Talking(ScriptedModel([])).agent_response(given_message)
    assert (said and said.content) == (None if given_message is None else "to hi")


def test_the_models_response_is_the_call_by_another_name():
    agent = responding()
    said = agent.llm_response("hi")
    assert said is not None
    assert (said.content, said.entity) == ("ok", Entity.LLM)
    assert [message.content for message in agent.memory.get_memory()] == ["hi", "ok"]  # type: ignore[union-attr]
    assert asyncio.run(agent.llm_response_async("hi")).content == "ok"  # type: ignore[union-attr]
    assert Agent().llm_response("hi") is None


@every_entry
def test_what_the_model_said_itself_is_not_told_to_it_twice(entry: Entry):
    agent, one_shot = responding(), Agent(ScriptedModel(["ok"]), memory=False)
    for each in (agent, one_shot):
        said = each.llm_response("hi")
        assert said is not None
        entry(Calling(lambda each=each, said=said: each.llm_response(said)), "x")
    assert roles(agent.model.requests[-1]) == ["system", "user", "assistant"]  # type: ignore[attr-defined]
    assert roles(one_shot.model.requests[-1]) == ["assistant"]  # type: ignore[attr-defined]


class Calling(Module):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self.work = work

    def forward(self, message: Message) -> None:
        self.work()


def test_the_user_is_asked_where_it_makes_sense():
    agent, asked = responding(), list[str]()

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return " sure \n"

    agent.ask_user = ask
    said = agent.user_response(Message(content="Well?"))
    assert said is not None
    assert (said.content, said.sender, said.entity, asked) == ("sure", "user", Entity.USER, ["Well?"])
    agent.interactive = False
    assert agent.user_response("Well?") is None
    assert agent.user_response(Message(content="You?", receiver="user")) is not None
    agent.default_human_response = ""
    assert agent.user_response(Message(content="You?", receiver="User")) is None
    agent.default_human_response = "fine"
    said = agent.user_response(Message(content="You?", receiver="User"))
    assert (said and said.content, len(asked)) == ("fine", 2)


@pytest.mark.parametrize("which", ["llm_response", "agent_response", "user_response"])
@pytest.mark.parametrize("form", ["", "_async"])
def test_either_form_of_a_responder_can_be_overridden(which: str, form: str):
    from trivium.commander.lowlevel import invoke, run_on_loop

    def plain(self: Any, message: Any = None) -> str:
        return "mine"

    async def coroutine(self: Any, message: Any = None) -> str:
        return "mine"

    kind = type("Own", (ChatAgent,), {f"{which}{form}": coroutine if form else plain})
    agent = kind(ScriptedModel(["theirs"]))
    assert getattr(agent, which)("x") == "mine", "called by its plain name"
    found = run_on_loop(lambda: invoke(getattr(agent, which), Message(content="x")))
    assert found == "mine", "called as a task calls it"


# ---- the aggregator
senders = st.sampled_from(["user", "me", "tool", "somebody"])
said = st.lists(st.tuples(senders, st.text(max_size=5), st.none() | st.sampled_from(Entity)), max_size=8)


@given(said)
def test_every_word_reaches_the_model_in_order_and_users_never_follow_each_other(parts: list[Any]):
    memory = Memory()
    for sender, content, entity in parts:
        memory.add(Message(content=content, sender=sender).replace(entity=entity))
    aggregator = DefaultAggregator()
    aggregator.separator = ""  # as in Lagent
    found = aggregator.aggregate(memory, "me", None, "system")
    assert found[0] == {"role": "system", "content": "system"}
    assert "".join(message["content"] for message in found[1:]) == "".join(content for _, content, _ in parts)
    kinds = [message["role"] for message in found]
    assert ("user", "user") not in pairwise(kinds)
    assert set(kinds) <= {"system", "user", "assistant"}


def test_users_messages_that_follow_each_other_stay_apart():
    """An answer failed between them: "transfer 1" and "0 euros" are not "transfer 10 euros"."""
    model = ScriptedModel([ValueError("no answer"), "ok"])
    agent = Agent(model)
    with pytest.raises(ValueError, match="no answer"):
        agent("transfer 1")
    agent("0 euros")
    assert model.requests[-1].messages == [{"role": "user", "content": "transfer 1\n\n0 euros"}]


@given(st.lists(st.sampled_from(["call", "call2", "result", "user", "me"]), max_size=8))
def test_no_history_has_open_calls(parts: list[str]):
    """Where a plain message follows a model's calls, it is sent as their result."""
    memory = Memory()
    for at, part in enumerate(parts):
        calls = tuple(ToolCall(f"{at}-{n}", "f", "{}") for n in range(int(part[4:] or 1))) if "call" in part else ()
        message = Message(content="x", sender="me" if calls or part == "me" else "user")
        memory.add(message.replace(tool_calls=calls or None))
    found = DefaultAggregator().aggregate(memory, "me")
    for at, message in enumerate(found[:-1]):
        ids = [call["id"] for call in message.get("tool_calls", ())]
        follower = found[at + 1]
        if ids and follower["role"] != "assistant":
            answered = [each["tool_call_id"] for each in found[at + 1 : at + 1 + len(ids)] if each["role"] == "tool"]
            assert answered == ids


def test_system_instructions():
    aggregator = DefaultAggregator()
    one = {"role": "system", "content": "a"}
    for given_instruction, result in ((None, []), ("", []), ("a", [one]), (one, [one]), ([one, one], [one, one])):
        assert aggregator.aggregate_system_intruction(given_instruction) == result
    with pytest.raises(TypeError, match="not int"):
        aggregator.aggregate_system_instruction([3])  # type: ignore[list-item]
    with pytest.raises(KeyError, match="lacks 'content'"):
        aggregator.aggregate_system_instruction({"role": "system"})


# ---- streaming is listening
@every_entry
def test_a_listener_hears_the_words_as_they_come(entry: Entry):
    events: list[Event] = []
    model = ScriptedModel([[call_tool("add", a=1, b=2), Usage(1, 1)], ["a", "b", Usage(2, 2)]])
    answer = entry(Agent(model, tools=[add]), "go", listeners=[events.append])
    kinds = [event.kind for event in events if event.kind not in ("started", "ended")]
    assert kinds == [
        "message", "delta", "usage", "tool_call", "tool_result", "message", "message", "delta", "delta", "usage",
        "message",
    ]  # fmt: skip
    assert "".join(e.data for e in events if e.kind == "delta" and isinstance(e.data, str)) == answer.content
    assert [e.data.content for e in events if e.kind == "message"] == ["go", "", "3", "ab"]


def test_the_answer_of_a_stream_is_that_of_the_call():
    agent = Agent(ScriptedModel([["a", "b"]]), hooks=())
    stream = agent.stream("hi", session_id="s")
    assert [event.data for event in stream if event.kind == "delta"] == ["a", "b"]
    assert stream.result.content == "ab"
    assert [message.content for message in agent.memory.get_memory("s")] == ["hi", "ab"]  # type: ignore[union-attr]


def test_a_listener_of_the_whole_hears_all_below():
    inner = Agent(ScriptedModel([["x", "y"]]), name="inner")

    class Outer(Module):
        async def forward(self, message: Message) -> Message:
            return await inner.acall(message)

    heard = [event.data for event in Outer().stream("hi") if event.kind == "delta"]
    assert heard == ["x", "y"]
